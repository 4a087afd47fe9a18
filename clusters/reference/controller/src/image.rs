//! The image of the cluster that the metadata records build.

use records::{EndPoint, Feature, Record};
use std::collections::BTreeMap;
use uuid::Uuid;

/// A topic's resource type in configurations.
pub(crate) const TOPIC_RESOURCE: i8 = 2;
/// A broker's resource type in configurations; the empty name is all brokers.
pub(crate) const BROKER_RESOURCE: i8 = 4;
/// The feature whose level says how records are written: a snapshot begins with it, as in Kafka.
pub(crate) const METADATA_VERSION: &str = "metadata.version";
/// The recovery state of a leader that has not recovered.
pub(crate) const RECOVERING: i8 = 1;
/// "Nobody", of a broker and its epoch.
pub(crate) const NOBODY: i32 = -1;

/// A record that cannot follow what was replayed before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// Its offset.
    pub offset: i64,
    /// What is wrong.
    pub why: String,
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the metadata record at offset {} cannot follow those before it: {}",
            self.offset, self.why
        )
    }
}

impl std::error::Error for ReplayError {}

/// A registered broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its epoch.
    pub epoch: i64,
    /// One for each start of its process.
    pub incarnation: Uuid,
    /// Whether it is fenced.
    pub fenced: bool,
    /// Whether it is in controlled shutdown, and the offset of the batch that began it.
    pub controlled_shutdown_at: Option<i64>,
    /// The offset of its registration record: it may be unfenced once it has seen that.
    pub registered_at: i64,
    /// Where it listens.
    pub end_points: Vec<EndPoint>,
    /// What it supports.
    pub features: Vec<Feature>,
    /// Its rack.
    pub rack: Option<String>,
    /// Its log folders' ids.
    pub log_dirs: Vec<Uuid>,
}

impl Broker {
    /// Whether it may be in an ISR or lead.
    pub fn is_active(&self) -> bool {
        !self.fenced && self.controlled_shutdown_at.is_none()
    }
}

/// A registered controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredController {
    /// One for each start of its process.
    pub incarnation: Uuid,
    /// Where it listens.
    pub end_points: Vec<EndPoint>,
    /// What it supports.
    pub features: Vec<Feature>,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Its partitions.
    pub partitions: BTreeMap<i32, Partition>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// In assignment order.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
    /// Eligible leader replicas.
    pub elr: Vec<i32>,
    /// The last known ELR; while unclean recovery is not there: the last known leader.
    pub last_known_elr: Vec<i32>,
    /// The leader; −1 is none.
    pub leader: i32,
    /// Whether the leader came from an unclean election and has not said that it recovered.
    pub recovering: bool,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// The partition's epoch.
    pub partition_epoch: i32,
    /// Replicas that a reassignment takes away.
    pub removing_replicas: Vec<i32>,
    /// Replicas that a reassignment adds.
    pub adding_replicas: Vec<i32>,
    /// The log folders of the replicas, where they are known.
    pub directories: Vec<Uuid>,
}

/// The image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub(crate) brokers: BTreeMap<i32, Broker>,
    pub(crate) controllers: BTreeMap<i32, RegisteredController>,
    pub(crate) topics: BTreeMap<Uuid, Topic>,
    names: BTreeMap<String, Uuid>,
    /// (resource type, resource) to its keys.
    pub(crate) configs: BTreeMap<(i8, String), BTreeMap<String, String>>,
    pub(crate) features: BTreeMap<String, i16>,
    /// The first producer id that was not handed out.
    pub(crate) next_producer_id: Option<i64>,
}

impl Image {
    /// The registered brokers.
    pub fn brokers(&self) -> &BTreeMap<i32, Broker> {
        &self.brokers
    }

    /// The registered controllers.
    pub fn controllers(&self) -> &BTreeMap<i32, RegisteredController> {
        &self.controllers
    }

    /// The topics by id.
    pub fn topics(&self) -> &BTreeMap<Uuid, Topic> {
        &self.topics
    }

    /// A topic's id by its name.
    pub fn topic_id(&self, name: &str) -> Option<Uuid> {
        self.names.get(name).copied()
    }

    /// A topic and its id by its name.
    pub fn topic_named(&self, name: &str) -> Option<(Uuid, &Topic)> {
        let id = self.topic_id(name)?;
        Some((id, self.topics.get(&id)?))
    }

    /// A configuration as the resource itself has it; the empty broker is all brokers.
    pub(crate) fn config(&self, resource_type: i8, resource: &str, key: &str) -> Option<&str> {
        let keys = self.configs.get(&(resource_type, resource.to_string()))?;
        keys.get(key).map(String::as_str)
    }

    /// A partition.
    pub fn partition(&self, topic: Uuid, partition: i32) -> Option<&Partition> {
        self.topics.get(&topic)?.partitions.get(&partition)
    }

    /// The finalised levels.
    pub fn features(&self) -> &BTreeMap<String, i16> {
        &self.features
    }

    /// A feature's finalised level; 0 where none is.
    pub fn feature(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }

    /// A topic's configuration: its own, or the one of all brokers.
    pub fn topic_config(&self, topic: &str, key: &str) -> Option<&str> {
        self.config(TOPIC_RESOURCE, topic, key)
            .or_else(|| self.config(BROKER_RESOURCE, "", key))
    }

    /// Whether a broker may be in an ISR or lead.
    pub fn is_active(&self, broker: i32) -> bool {
        self.brokers.get(&broker).is_some_and(Broker::is_active)
    }

    /// The first producer id that was not handed out, where any was.
    pub fn next_producer_id(&self) -> Option<i64> {
        self.next_producer_id
    }

    /// Takes in one record. `batch` is the base offset of its batch; of a snapshot's record, both are the last
    /// offset that the snapshot stands for.
    ///
    /// # Errors
    /// A record that cannot follow what was taken in before.
    pub fn replay(&mut self, offset: i64, batch: i64, record: &Record) -> Result<(), ReplayError> {
        self.apply(offset, batch, record)
            .map_err(|why| ReplayError { offset, why })
    }

    fn apply(&mut self, offset: i64, batch: i64, record: &Record) -> Result<(), String> {
        match record {
            Record::RegisterBroker(record) => {
                let broker = Broker {
                    epoch: record.broker_epoch,
                    incarnation: record.incarnation_id,
                    fenced: record.fenced,
                    controlled_shutdown_at: record.in_controlled_shutdown.then_some(batch),
                    registered_at: offset,
                    end_points: record.end_points.clone(),
                    features: record.features.clone(),
                    rack: record.rack.clone(),
                    log_dirs: record.log_dirs.clone(),
                };
                self.brokers.insert(record.broker_id, broker);
            }
            Record::UnregisterBroker(record) => {
                self.registered(record.broker_id, record.broker_epoch)?;
                self.brokers.remove(&record.broker_id);
            }
            Record::BrokerRegistrationChange(record) => {
                let broker = self.registered(record.broker_id, record.broker_epoch)?;
                match record.fenced {
                    1 => broker.fenced = true,
                    -1 => broker.fenced = false,
                    _ => {}
                }
                if record.in_controlled_shutdown == 1 {
                    broker.controlled_shutdown_at = Some(batch);
                }
                // None at all is no change: a registered broker has at least one.
                if !record.log_dirs.is_empty() {
                    broker.log_dirs.clone_from(&record.log_dirs);
                }
            }
            Record::Topic(record) => {
                let topic = Topic {
                    name: record.name.clone(),
                    partitions: BTreeMap::new(),
                };
                self.topics.insert(record.topic_id, topic);
                self.names.insert(record.name.clone(), record.topic_id);
            }
            Record::RemoveTopic(id) => {
                let topic = self
                    .topics
                    .remove(id)
                    .ok_or("it removes a topic that is not there")?;
                self.names.remove(&topic.name);
                self.configs.remove(&(TOPIC_RESOURCE, topic.name));
            }
            Record::Partition(record) => self.apply_partition(record)?,
            Record::PartitionChange(record) => self.apply_change(record)?,
            Record::Config(record) => self.apply_config(record),
            Record::FeatureLevel(record) => {
                self.features.insert(record.name.clone(), record.level);
            }
            Record::ClearElr(topic) => self.clear_elr(topic)?,
            Record::RegisterController(record) => {
                let controller = RegisteredController {
                    incarnation: record.incarnation_id,
                    end_points: record.end_points.clone(),
                    features: record.features.clone(),
                };
                self.controllers.insert(record.controller_id, controller);
            }
            Record::ProducerIds(record) => self.next_producer_id = Some(record.next_producer_id),
            Record::NoOp | Record::Unknown { .. } => {}
            // This controller writes none of these: a log that has them is another system's.
            Record::FenceBroker { .. }
            | Record::UnfenceBroker { .. }
            | Record::BeginTransaction { .. }
            | Record::EndTransaction
            | Record::AbortTransaction { .. } => return Err(format!("{record:?} is not written here")),
        }
        Ok(())
    }

    fn registered(&mut self, id: i32, epoch: i64) -> Result<&mut Broker, String> {
        match self.brokers.get_mut(&id) {
            Some(broker) if broker.epoch == epoch => Ok(broker),
            Some(broker) => Err(format!("broker {id} has epoch {}, not {epoch}", broker.epoch)),
            None => Err(format!("broker {id} is not registered")),
        }
    }

    fn apply_config(&mut self, record: &records::Config) {
        let resource = (record.resource_type, record.resource_name.clone());
        let keys = self.configs.entry(resource.clone()).or_default();
        match &record.value {
            Some(value) => keys.insert(record.name.clone(), value.clone()),
            None => keys.remove(&record.name),
        };
        if keys.is_empty() {
            self.configs.remove(&resource);
        }
    }

    fn apply_partition(&mut self, record: &records::Partition) -> Result<(), String> {
        let topic = self
            .topics
            .get_mut(&record.topic_id)
            .ok_or("its topic is not there")?;
        let partition = Partition {
            replicas: record.replicas.clone(),
            isr: record.isr.clone(),
            elr: record.eligible_leader_replicas.clone(),
            last_known_elr: record.last_known_elr.clone(),
            leader: record.leader,
            recovering: record.leader_recovery_state == RECOVERING,
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
            removing_replicas: record.removing_replicas.clone(),
            adding_replicas: record.adding_replicas.clone(),
            directories: record.directories.clone(),
        };
        topic.partitions.insert(record.partition_id, partition);
        Ok(())
    }

    fn apply_change(&mut self, record: &records::PartitionChange) -> Result<(), String> {
        let topic = self
            .topics
            .get_mut(&record.topic_id)
            .ok_or("its topic is not there")?;
        let partition = topic
            .partitions
            .get_mut(&record.partition_id)
            .ok_or("its partition is not there")?;
        partition.partition_epoch = next_epoch(partition.partition_epoch)?;
        if let Some(leader) = record.leader {
            partition.leader = leader;
            partition.leader_epoch = next_epoch(partition.leader_epoch)?;
        }
        let set = |field: &mut Vec<i32>, value: &Option<Vec<i32>>| {
            if let Some(value) = value {
                field.clone_from(value);
            }
        };
        set(&mut partition.replicas, &record.replicas);
        set(&mut partition.isr, &record.isr);
        set(&mut partition.elr, &record.eligible_leader_replicas);
        set(&mut partition.last_known_elr, &record.last_known_elr);
        set(&mut partition.removing_replicas, &record.removing_replicas);
        set(&mut partition.adding_replicas, &record.adding_replicas);
        if let Some(directories) = &record.directories {
            partition.directories.clone_from(directories);
        }
        if let Some(state) = record.leader_recovery_state {
            partition.recovering = state == RECOVERING;
        }
        Ok(())
    }

    /// Both lists of a topic's partitions (of all, where the name is empty), where one is not empty.
    fn clear_elr(&mut self, name: &str) -> Result<(), String> {
        for topic in self
            .topics
            .values_mut()
            .filter(|topic| name.is_empty() || topic.name == name)
        {
            for partition in topic.partitions.values_mut() {
                if !partition.elr.is_empty() || !partition.last_known_elr.is_empty() {
                    partition.elr.clear();
                    partition.last_known_elr.clear();
                    partition.partition_epoch = next_epoch(partition.partition_epoch)?;
                }
            }
        }
        Ok(())
    }
}

fn next_epoch(epoch: i32) -> Result<i32, String> {
    epoch
        .checked_add(1)
        .ok_or_else(|| format!("no epoch follows {epoch}"))
}
