//! The cluster as the applied metadata says it is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use records::MetadataRecord;
use uuid::Uuid;

use super::partition::Key;
use crate::config;
use crate::quorum::Committed;

/// The topic configuration that matters here.
const MIN_INSYNC_REPLICAS: &str = "min.insync.replicas";

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
    /// Where clients reach it.
    pub endpoint: Option<Endpoint>,
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
#[derive(Debug, Default)]
pub struct Image {
    brokers: BTreeMap<i32, BrokerState>,
    topics: BTreeMap<Uuid, Topic>,
    names: BTreeMap<String, Uuid>,
    features: BTreeMap<String, i16>,
    /// `min.insync.replicas` of topics that set their own.
    topic_min_isr: BTreeMap<String, i32>,
    /// `min.insync.replicas` of the cluster, where it is set.
    cluster_min_isr: Option<i32>,
}

impl Image {
    /// The partition.
    pub fn partition(&self, key: Key) -> Option<&PartitionState> {
        self.topics.get(&key.0)?.partitions.get(&key.1)
    }

    /// All partitions.
    pub fn partition_keys(&self) -> BTreeSet<Key> {
        let keys = |topic: &Topic| {
            let id = topic.id;
            topic.partitions.keys().map(move |index| (id, *index)).collect::<Vec<_>>()
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
        self.topic_min_isr.get(name).copied().or(self.cluster_min_isr)
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
