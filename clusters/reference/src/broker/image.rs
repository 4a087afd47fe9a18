//! The cluster as the applied metadata says it is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use records::Record;
use storage::Records;
use uuid::Uuid;

use super::partition::Key;
use crate::config;
use crate::quorum::Committed;

/// The configuration that matters here.
pub const MIN_INSYNC_REPLICAS: &str = "min.insync.replicas";

/// The number of topics among the resources that can be configured.
pub const TOPIC_RESOURCE: i8 = 2;
/// The number of brokers; the empty name is all of them.
pub const BROKER_RESOURCE: i8 = 4;

/// Where clients reach a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its host, as registered.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// A registered broker.
#[derive(Debug, Clone)]
pub struct BrokerState {
    /// The epoch of its registration.
    pub epoch: i64,
    /// It may not lead.
    pub fenced: bool,
    /// It is on its way out.
    pub in_controlled_shutdown: bool,
    /// Where clients reach it, by the name of the listener that they came in by.
    pub endpoints: BTreeMap<String, Endpoint>,
    /// Where this node reaches it.
    pub address: Option<SocketAddr>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionState {
    /// All replicas, the preferred leader first.
    pub replicas: Vec<i32>,
    /// The in-sync replicas.
    pub isr: Vec<i32>,
    /// The eligible leader replicas.
    pub elr: Vec<i32>,
    /// The last known eligible leader replicas.
    pub last_known_elr: Vec<i32>,
    /// The leader, if there is one.
    pub leader: Option<i32>,
    /// Grows with every election.
    pub leader_epoch: i32,
    /// Grows with every change.
    pub partition_epoch: i32,
}

impl PartitionState {
    /// What replication must know of it.
    pub fn replication(&self) -> replication::Partition {
        replication::Partition {
            leader: self.leader,
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            isr: self.isr.clone(),
            replicas: self.replicas.clone(),
        }
    }
}

/// A topic.
#[derive(Debug, Clone)]
pub struct Topic {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its partitions.
    pub partitions: BTreeMap<i32, PartitionState>,
}

/// The cluster.
#[derive(Debug)]
pub struct Image {
    /// The listener that brokers use among themselves.
    between_brokers: String,
    brokers: BTreeMap<i32, BrokerState>,
    topics: BTreeMap<Uuid, Topic>,
    names: BTreeMap<String, Uuid>,
    features: BTreeMap<String, i16>,
    /// (resource type, resource) to its keys.
    configs: BTreeMap<(i8, String), BTreeMap<String, String>>,
}

impl Image {
    /// An empty one, of a broker that reaches others by their listener of that name.
    pub fn new(between_brokers: &str) -> Self {
        Self {
            between_brokers: between_brokers.to_owned(),
            brokers: BTreeMap::new(),
            topics: BTreeMap::new(),
            names: BTreeMap::new(),
            features: BTreeMap::new(),
            configs: BTreeMap::new(),
        }
    }

    /// Applies a committed batch, as a whole, and notes which partitions it may matter to.
    ///
    /// # Errors
    /// When a record cannot be read: applying only what can would show another cluster.
    pub fn apply(&mut self, batch: &Committed, changed: &mut BTreeSet<Key>) -> Result<(), String> {
        if batch.is_control {
            return Ok(());
        }
        let place = |error: &dyn std::fmt::Display| {
            format!("the metadata batch at offset {}: {error}", batch.base_offset)
        };
        for record in Records::of(&batch.bytes).map_err(|error| place(&error))? {
            let record = record.map_err(|error| place(&error))?;
            let decoded = Record::decode(record.value.unwrap_or_default()).map_err(|error| place(&error))?;
            self.apply_record(decoded, changed);
        }
        Ok(())
    }

    /// Applies a record of a batch, or of a snapshot, and notes which partitions it may matter to.
    pub fn apply_record(&mut self, record: Record, changed: &mut BTreeSet<Key>) {
        match record {
            // Who may be in an ISR matters to every leader's high watermark.
            Record::RegisterBroker(record) => {
                self.register(record);
                changed.extend(self.partition_keys());
            }
            Record::UnregisterBroker(record) => {
                self.brokers.remove(&record.broker_id);
                changed.extend(self.partition_keys());
            }
            Record::BrokerRegistrationChange(record) => {
                self.change_registration(&record);
                changed.extend(self.partition_keys());
            }
            Record::Topic(record) => self.add_topic(record),
            Record::RemoveTopic(id) => {
                if let Some(topic) = self.topics.remove(&id) {
                    changed.extend(topic.partitions.keys().map(|index| (id, *index)));
                    self.names.remove(&topic.name);
                    self.configs.remove(&(TOPIC_RESOURCE, topic.name));
                }
            }
            Record::Partition(record) => {
                changed.insert((record.topic_id, record.partition_id));
                if let Some(topic) = self.topics.get_mut(&record.topic_id) {
                    topic.partitions.insert(record.partition_id, partition(record));
                }
            }
            Record::PartitionChange(record) => {
                changed.insert((record.topic_id, record.partition_id));
                self.change_partition(record);
            }
            Record::Config(record) => self.configure(record, changed),
            Record::FeatureLevel(record) => {
                self.features.insert(record.name, record.level);
            }
            Record::ClearElr(name) => self.clear_elr(&name, changed),
            // The first two say nothing to a broker; the active controller writes none of the others.
            Record::NoOp
            | Record::RegisterController(_)
            | Record::ProducerIds(_)
            | Record::FenceBroker { .. }
            | Record::UnfenceBroker { .. }
            | Record::BeginTransaction { .. }
            | Record::EndTransaction
            | Record::AbortTransaction { .. }
            | Record::Unknown { .. } => {}
        }
    }

    fn register(&mut self, record: records::RegisterBroker) {
        let fitting = record
            .end_points
            .iter()
            .find(|end_point| end_point.name == self.between_brokers);
        let address = fitting
            .or(record.end_points.first())
            .and_then(|end_point| config::resolve(&end_point.host, end_point.port).ok());
        let endpoints = record.end_points.into_iter().map(|end_point| {
            let endpoint = Endpoint {
                host: end_point.host,
                port: end_point.port,
            };
            (end_point.name, endpoint)
        });
        let broker = BrokerState {
            epoch: record.broker_epoch,
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            endpoints: endpoints.collect(),
            address,
        };
        self.brokers.insert(record.broker_id, broker);
    }

    fn change_registration(&mut self, record: &records::BrokerRegistrationChange) {
        let Some(broker) = self.brokers.get_mut(&record.broker_id) else {
            return;
        };
        match record.fenced {
            0 => {}
            change => broker.fenced = change > 0,
        }
        broker.in_controlled_shutdown |= record.in_controlled_shutdown > 0;
    }

    fn add_topic(&mut self, record: records::Topic) {
        self.names.insert(record.name.clone(), record.topic_id);
        let topic = Topic {
            id: record.topic_id,
            name: record.name,
            partitions: BTreeMap::new(),
        };
        self.topics.insert(record.topic_id, topic);
    }

    fn change_partition(&mut self, record: records::PartitionChange) {
        let state = self
            .topics
            .get_mut(&record.topic_id)
            .and_then(|topic| topic.partitions.get_mut(&record.partition_id));
        let Some(state) = state else { return };
        state.partition_epoch += 1;
        if let Some(leader) = record.leader {
            state.leader = (leader >= 0).then_some(leader);
            state.leader_epoch += 1;
        }
        let lists = [
            (record.replicas, &mut state.replicas),
            (record.isr, &mut state.isr),
            (record.eligible_leader_replicas, &mut state.elr),
            (record.last_known_elr, &mut state.last_known_elr),
        ];
        for (new, old) in lists {
            if let Some(new) = new {
                *old = new;
            }
        }
    }

    fn configure(&mut self, record: records::Config, changed: &mut BTreeSet<Key>) {
        let is_min_isr = record.name == MIN_INSYNC_REPLICAS;
        let resource = (record.resource_type, record.resource_name);
        let keys = self.configs.entry(resource).or_default();
        match record.value {
            Some(value) => keys.insert(record.name, value),
            None => keys.remove(&record.name),
        };
        if is_min_isr {
            changed.extend(self.partition_keys());
        }
    }

    fn clear_elr(&mut self, name: &str, changed: &mut BTreeSet<Key>) {
        let topics = self
            .topics
            .values_mut()
            .filter(|topic| name.is_empty() || topic.name == name);
        for topic in topics {
            for (index, state) in &mut topic.partitions {
                if !state.elr.is_empty() || !state.last_known_elr.is_empty() {
                    state.elr.clear();
                    state.last_known_elr.clear();
                    state.partition_epoch += 1;
                    changed.insert((topic.id, *index));
                }
            }
        }
    }

    /// The partition.
    pub fn partition(&self, key: Key) -> Option<&PartitionState> {
        self.topics.get(&key.0)?.partitions.get(&key.1)
    }

    /// All partitions.
    pub fn partition_keys(&self) -> BTreeSet<Key> {
        let keys = |topic: &Topic| {
            let id = topic.id;
            topic
                .partitions
                .keys()
                .map(move |index| (id, *index))
                .collect::<Vec<_>>()
        };
        self.topics.values().flat_map(keys).collect()
    }

    /// The topic of that id.
    pub fn topic(&self, id: Uuid) -> Option<&Topic> {
        self.topics.get(&id)
    }

    /// The topic of that name.
    pub fn topic_named(&self, name: &str) -> Option<&Topic> {
        self.topics.get(self.names.get(name)?)
    }

    /// A configuration as the resource itself has it.
    pub fn config(&self, resource_type: i8, resource: &str, key: &str) -> Option<&str> {
        let keys = self.configs.get(&(resource_type, resource.to_owned()))?;
        keys.get(key).map(String::as_str)
    }

    /// All topics, by name.
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.names.values().filter_map(|id| self.topics.get(id))
    }

    /// The broker.
    pub fn broker(&self, id: i32) -> Option<&BrokerState> {
        self.brokers.get(&id)
    }

    /// All brokers.
    pub fn brokers(&self) -> impl Iterator<Item = (i32, &BrokerState)> {
        self.brokers.iter().map(|(id, broker)| (*id, broker))
    }

    /// Those that clients may be sent to.
    pub fn unfenced_brokers(&self) -> impl Iterator<Item = (i32, &BrokerState)> {
        self.brokers().filter(|(_, broker)| !broker.fenced)
    }

    /// The features in force.
    pub fn features(&self) -> &BTreeMap<String, i16> {
        &self.features
    }

    /// `min.insync.replicas` of a topic, where it or the cluster sets one.
    pub fn min_insync_replicas(&self, topic: Uuid) -> Option<i32> {
        let name = &self.topics.get(&topic)?.name;
        let of = |resource_type, resource| {
            let value = self.config(resource_type, resource, MIN_INSYNC_REPLICAS)?;
            value.parse().ok()
        };
        of(TOPIC_RESOURCE, name).or_else(|| of(BROKER_RESOURCE, ""))
    }

    /// The brokers as replication sees them.
    pub fn brokers_view(&self) -> impl replication::Brokers + '_ {
        |id: i32| {
            self.brokers.get(&id).map(|broker| replication::Broker {
                broker_epoch: broker.epoch,
                fenced: broker.fenced,
                in_controlled_shutdown: broker.in_controlled_shutdown,
            })
        }
    }
}

fn partition(record: records::Partition) -> PartitionState {
    PartitionState {
        replicas: record.replicas,
        isr: record.isr,
        elr: record.eligible_leader_replicas,
        last_known_elr: record.last_known_elr,
        leader: (record.leader >= 0).then_some(record.leader),
        leader_epoch: record.leader_epoch,
        partition_epoch: record.partition_epoch,
    }
}
