//! The typed calls, one a file. Each is a method of [`crate::Connection`]: one request, one answer, no retry.

mod administered;
mod api_versions;
mod configs;
mod create_partitions;
mod create_topic;
mod delete_topic;
mod describe_cluster;
mod describe_quorum;
mod describe_topic_partitions;
mod elect_leader;
mod fetch;
mod fetch_snapshot;
mod list_offsets;
mod metadata;
mod produce;
mod raft_voters;
mod reassignments;
mod unregister_broker;
mod update_feature;

pub use administered::Administered;
pub use configs::{ConfigResource, DescribedConfig, DescribedConfigs};
pub use create_partitions::CreatePartitions;
pub use create_topic::{CreateTopic, Created, Layout};
pub use describe_cluster::{ClusterDescription, DescribedBroker};
pub use describe_quorum::{QuorumDescription, QuorumNode, QuorumReplica};
pub use describe_topic_partitions::{DescribedPartition, DescribedTopic};
pub use elect_leader::Election;
pub use fetch::{CurrentLeader, Diverging, Fetch, Fetched, SnapshotId};
pub use fetch_snapshot::{FetchSnapshot, FetchedSnapshot};
pub use list_offsets::{ListedOffset, OffsetQuestion};
pub use metadata::{MetadataBroker, MetadataPartition, MetadataTopic, TopicMetadata};
pub use produce::{Acks, Produce, Produced};
pub use raft_voters::{AddVoter, RemoveVoter, VoterChanged};
pub use reassignments::{Reassignment, Reassignments};
pub use update_feature::FeatureChange;

use crate::ids::TopicId;
use kafka_protocol::messages::BrokerId;
use kafka_protocol::messages::TopicName;
use kafka_protocol::protocol::StrBytes;

/// The highest version of a call, for calls that need no other limit.
const ANY_VERSION: i16 = i16::MAX;

/// A topic, by name and, where known, by id. Versions that take only ids are used only where the id is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicRef {
    /// Its name.
    pub name: String,
    /// Its id; nil where not known.
    pub id: TopicId,
}

impl TopicRef {
    /// A topic whose id is not known.
    pub fn named(name: impl Into<String>) -> TopicRef {
        TopicRef {
            name: name.into(),
            id: TopicId::nil(),
        }
    }

    fn topic_name(&self) -> TopicName {
        topic_name(&self.name)
    }
}

/// Where a node listens, as an answer names the leader's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEndpoint {
    /// The node.
    pub node: i32,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: i32,
}

/// A listener of a controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listener {
    /// The listener's name.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
}

fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

fn nodes(ids: Vec<BrokerId>) -> Vec<i32> {
    ids.into_iter().map(|id| id.0).collect()
}

/// What an answer says of one topic's one partition, out of the lists it came in.
fn only<T>(list: Vec<T>) -> Option<T> {
    let mut items = list.into_iter();
    let first = items.next()?;
    items.next().is_none().then_some(first)
}
