//! The cluster as the committed metadata log has it, to wait on.

use history::{Body, BrokerChange, BrokerState, ConfigChange, PartitionState, QuorumState, Voter};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A live view, behind a [`tokio::sync::watch`]: wait for a state with `receiver.wait_for(|view| ...)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterView {
    /// Partitions by topic name and number.
    pub partitions: BTreeMap<(Arc<str>, i32), PartitionState>,
    /// Registered brokers.
    pub brokers: BTreeMap<i32, BrokerView>,
    /// Who leads the quorum, as last answered; leader −1, epoch −1 before any answer.
    pub quorum: QuorumState,
    /// The voters of the metadata log, where a record names them (KIP-853); none where they are only configured.
    pub voters: Vec<Voter>,
    /// Finalised feature levels, that of `kraft.version` included where a record sets it.
    pub features: BTreeMap<String, i16>,
    /// Configurations by resource (type 2 topic, 4 broker; name) and key.
    pub configs: BTreeMap<(i8, String), BTreeMap<String, String>>,
    /// The offset after the last applied record of the metadata log. It falls where committed records vanished.
    pub applied: i64,
    /// The last failure to reach a controller, until one answers again.
    pub trouble: Option<String>,
}

/// A broker's registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerView {
    /// Its broker epoch.
    pub epoch: i64,
    /// Its incarnation id, in Kafka's base64 form.
    pub incarnation: String,
    /// Whether it is fenced.
    pub fenced: bool,
    /// Whether it is in controlled shutdown.
    pub in_controlled_shutdown: bool,
}

impl ClusterView {
    /// A topic's partition.
    pub fn partition(&self, topic: &str, partition: i32) -> Option<&PartitionState> {
        self.partitions.get(&(Arc::from(topic), partition))
    }

    /// Whether a partition's ISR has exactly these members, in any order.
    pub fn isr_is(&self, topic: &str, partition: i32, isr: &[i32]) -> bool {
        self.partition(topic, partition)
            .is_some_and(|state| same_members(&state.isr, isr))
    }

    /// Whether a partition's ELR has exactly these members, in any order.
    pub fn elr_is(&self, topic: &str, partition: i32, elr: &[i32]) -> bool {
        self.partition(topic, partition)
            .is_some_and(|state| same_members(&state.elr, elr))
    }

    /// A topic's configuration value, where the log sets one.
    pub fn topic_config(&self, topic: &str, key: &str) -> Option<&str> {
        self.configs
            .get(&(TOPIC_RESOURCE, topic.to_owned()))?
            .get(key)
            .map(String::as_str)
    }
}

impl ClusterView {
    /// Takes in what an entry of the history says. Entries that say nothing of the cluster change nothing.
    pub(super) fn take(&mut self, body: &Body) {
        match body {
            Body::Partition(state) => {
                self.partitions
                    .insert((state.key.topic.clone(), state.key.partition), state.clone());
            }
            Body::TopicRemoved(removed) => self.partitions.retain(|_, state| state.key.id != removed.id),
            Body::Broker(state) => self.take_broker(state),
            Body::Config(change) => self.take_config(change),
            Body::Voters(voters) => self.voters.clone_from(&voters.voters),
            Body::Feature(feature) => {
                self.features.insert(feature.name.clone(), feature.level);
            }
            _ => {}
        }
    }

    fn take_broker(&mut self, state: &BrokerState) {
        if state.change == BrokerChange::Unregistered {
            self.brokers.remove(&state.broker);
            return;
        }
        let broker = self.brokers.entry(state.broker).or_insert_with(|| BrokerView {
            epoch: state.epoch,
            incarnation: state.incarnation.clone(),
            fenced: true,
            in_controlled_shutdown: false,
        });
        match state.change {
            BrokerChange::Registered => {
                // A registration that is not fenced is told by an Unfenced entry of the same record.
                broker.epoch = state.epoch;
                broker.incarnation.clone_from(&state.incarnation);
                broker.fenced = true;
                broker.in_controlled_shutdown = false;
            }
            BrokerChange::Fenced => broker.fenced = true,
            BrokerChange::Unfenced => broker.fenced = false,
            BrokerChange::ControlledShutdown => broker.in_controlled_shutdown = true,
            BrokerChange::Unregistered => {}
        }
    }

    fn take_config(&mut self, change: &ConfigChange) {
        let resource = (change.resource_type, change.resource.clone());
        match &change.value {
            Some(value) => {
                self.configs
                    .entry(resource)
                    .or_default()
                    .insert(change.name.clone(), value.clone());
            }
            None => {
                if let Some(keys) = self.configs.get_mut(&resource) {
                    keys.remove(&change.name);
                }
            }
        }
    }
}

/// The resource type of topics in ConfigRecords.
const TOPIC_RESOURCE: i8 = 2;

fn same_members(found: &[i32], wanted: &[i32]) -> bool {
    let sorted = |list: &[i32]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    sorted(found) == sorted(wanted)
}

impl Default for ClusterView {
    fn default() -> Self {
        ClusterView {
            partitions: BTreeMap::new(),
            brokers: BTreeMap::new(),
            quorum: QuorumState {
                leader: -1,
                epoch: -1,
                high_watermark: -1,
            },
            voters: Vec::new(),
            features: BTreeMap::new(),
            configs: BTreeMap::new(),
            applied: 0,
            trouble: None,
        }
    }
}
