//! AlterPartitionReassignments, for one partition, and ListPartitionReassignments.

use super::{ANY_VERSION, Administered, nodes, only, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, BrokerId, ListPartitionReassignmentsRequest,
};
use std::time::Duration;

const ALTER: &str = "AlterPartitionReassignments";
const LIST: &str = "ListPartitionReassignments";

/// The answer to ListPartitionReassignments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassignments {
    /// NONE where the rest counts.
    pub error: ErrorCode,
    /// What is under way.
    pub ongoing: Vec<Reassignment>,
}

/// A reassignment that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassignment {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// All replicas.
    pub replicas: Vec<i32>,
    /// Those that come.
    pub adding: Vec<i32>,
    /// Those that go.
    pub removing: Vec<i32>,
}

impl Connection {
    /// Gives a partition other replicas, the preferred leader first; none cancels what is under way. The answer says
    /// that it has begun.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn reassign(
        &mut self,
        topic: &str,
        partition: i32,
        replicas: Option<&[i32]>,
        timeout: Duration,
    ) -> Result<Administered, Error> {
        let version = self.version::<AlterPartitionReassignmentsRequest>(ALTER, ANY_VERSION)?;
        let partition = ReassignablePartition::default()
            .with_partition_index(partition)
            .with_replicas(replicas.map(|replicas| replicas.iter().copied().map(BrokerId).collect()));
        let of_topic = ReassignableTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(vec![partition]);
        let request = AlterPartitionReassignmentsRequest::default()
            .with_topics(vec![of_topic])
            .with_timeout_ms(i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX));
        let answer = self
            .call(ALTER, version, &request, timeout + self.limit())
            .await?;
        let result = only(answer.responses).and_then(|topic| only(topic.partitions));
        match result {
            Some(result) => Ok(Administered::new(result.error_code, result.error_message)),
            None if answer.error_code != 0 => Ok(Administered::new(answer.error_code, answer.error_message)),
            None => Err(self.lacks(ALTER, topic)),
        }
    }

    /// Asks for all reassignments that are under way.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn list_reassignments(&mut self) -> Result<Reassignments, Error> {
        let version = self.version::<ListPartitionReassignmentsRequest>(LIST, ANY_VERSION)?;
        let request = ListPartitionReassignmentsRequest::default()
            .with_topics(None)
            .with_timeout_ms(i32::try_from(self.limit().as_millis()).unwrap_or(i32::MAX));
        let answer = self.call(LIST, version, &request, self.limit()).await?;
        let ongoing = answer.topics.into_iter().flat_map(|topic| {
            let name = topic.name.to_string();
            topic.partitions.into_iter().map(move |partition| Reassignment {
                topic: name.clone(),
                partition: partition.partition_index,
                replicas: nodes(partition.replicas),
                adding: nodes(partition.adding_replicas),
                removing: nodes(partition.removing_replicas),
            })
        });
        Ok(Reassignments {
            error: ErrorCode(answer.error_code),
            ongoing: ongoing.collect(),
        })
    }
}
