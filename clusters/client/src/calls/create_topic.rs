//! CreateTopics, for one topic.

use super::{ANY_VERSION, only, text, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TopicId;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::{BrokerId, CreateTopicsRequest};
use std::collections::BTreeMap;
use std::time::Duration;

const CALL: &str = "CreateTopics";

/// A topic to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTopic {
    /// Its name.
    pub name: String,
    /// Who places its replicas, and where.
    pub layout: Layout,
    /// Its configuration.
    pub configs: BTreeMap<String, String>,
    /// How long the server may take.
    pub timeout: Duration,
}

/// Who places the replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The cluster does.
    Automatic {
        /// How many partitions.
        partitions: i32,
        /// How many replicas each.
        replication_factor: i16,
    },
    /// The caller does: each partition's replicas, the preferred leader first.
    Assigned(Vec<Vec<i32>>),
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// NONE where it was created.
    pub error: ErrorCode,
    /// What the server adds to the error.
    pub message: Option<String>,
    /// The topic's id; nil where the server does not say.
    pub id: TopicId,
}

impl Connection {
    /// Creates a topic.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn create_topic(&mut self, topic: &CreateTopic) -> Result<Created, Error> {
        let version = self.version::<CreateTopicsRequest>(CALL, ANY_VERSION)?;
        let request = CreateTopicsRequest::default()
            .with_topics(vec![creatable(topic)])
            .with_timeout_ms(i32::try_from(topic.timeout.as_millis()).unwrap_or(i32::MAX));
        let answer = self
            .call(CALL, version, &request, topic.timeout + self.limit())
            .await?;
        let created = only(answer.topics).ok_or_else(|| self.lacks(CALL, &topic.name))?;
        Ok(Created {
            error: ErrorCode(created.error_code),
            message: created.error_message.map(|message| message.to_string()),
            id: created.topic_id,
        })
    }
}

fn creatable(topic: &CreateTopic) -> CreatableTopic {
    let configs = topic.configs.iter().map(|(name, value)| {
        CreatableTopicConfig::default()
            .with_name(text(name))
            .with_value(Some(text(value)))
    });
    let base = CreatableTopic::default()
        .with_name(topic_name(&topic.name))
        .with_configs(configs.collect());
    match &topic.layout {
        Layout::Automatic {
            partitions,
            replication_factor,
        } => base
            .with_num_partitions(*partitions)
            .with_replication_factor(*replication_factor),
        // The protocol wants −1 for both where the assignment says it all.
        Layout::Assigned(partitions) => base
            .with_num_partitions(-1)
            .with_replication_factor(-1)
            .with_assignments((0..).zip(partitions).map(assignment).collect()),
    }
}

fn assignment((partition, replicas): (i32, &Vec<i32>)) -> CreatableReplicaAssignment {
    CreatableReplicaAssignment::default()
        .with_partition_index(partition)
        .with_broker_ids(replicas.iter().copied().map(BrokerId).collect())
}
