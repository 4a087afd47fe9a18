//! Metadata: brokers, and one topic's leaders, as one broker knows them.

use super::{ANY_VERSION, nodes, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TopicId;
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{MetadataResponsePartition, MetadataResponseTopic};

const CALL: &str = "Metadata";
/// The first version that can say "do not create the topic".
const NO_AUTO_CREATION: i16 = 4;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicMetadata {
    /// Brokers that are not fenced, as far as the answering one knows.
    pub brokers: Vec<MetadataBroker>,
    /// The topic.
    pub topic: MetadataTopic,
}

/// A broker's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataBroker {
    /// Its id.
    pub node: i32,
    /// Its advertised host.
    pub host: String,
    /// Its advertised port.
    pub port: i32,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataTopic {
    /// NONE where the rest counts.
    pub error: ErrorCode,
    /// Its id; nil from servers that do not say.
    pub id: TopicId,
    /// Its partitions.
    pub partitions: Vec<MetadataPartition>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataPartition {
    /// NONE, or LEADER_NOT_AVAILABLE where there is no leader.
    pub error: ErrorCode,
    /// Its number.
    pub partition: i32,
    /// Its leader; −1 is none.
    pub leader: i32,
    /// The leader's epoch; −1 from servers that do not say.
    pub leader_epoch: i32,
    /// Its replicas.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
}

impl Connection {
    /// Asks for a topic's leaders. A topic that is not there is not created.
    ///
    /// # Errors
    /// Where there is no answer; the server's own errors are in the answer.
    pub async fn metadata(&mut self, topic: &str) -> Result<TopicMetadata, Error> {
        let version = self.version::<MetadataRequest>(CALL, ANY_VERSION)?;
        let asked = MetadataRequestTopic::default().with_name(Some(topic_name(topic)));
        let request = MetadataRequest::default()
            .with_topics(Some(vec![asked]))
            .with_allow_auto_topic_creation(version < NO_AUTO_CREATION);
        let answer = self.call(CALL, version, &request, self.limit()).await?;
        let found = super::only(answer.topics).ok_or_else(|| self.lacks(CALL, topic))?;
        let brokers = answer.brokers.into_iter().map(|broker| MetadataBroker {
            node: broker.node_id.0,
            host: broker.host.to_string(),
            port: broker.port,
        });
        Ok(TopicMetadata {
            brokers: brokers.collect(),
            topic: metadata_topic(found),
        })
    }
}

fn metadata_topic(topic: MetadataResponseTopic) -> MetadataTopic {
    MetadataTopic {
        error: ErrorCode(topic.error_code),
        id: topic.topic_id,
        partitions: topic.partitions.into_iter().map(partition).collect(),
    }
}

fn partition(partition: MetadataResponsePartition) -> MetadataPartition {
    MetadataPartition {
        error: ErrorCode(partition.error_code),
        partition: partition.partition_index,
        leader: partition.leader_id.0,
        leader_epoch: partition.leader_epoch,
        replicas: nodes(partition.replica_nodes),
        isr: nodes(partition.isr_nodes),
    }
}
