//! DescribeTopicPartitions: leaders, ISR and, what Metadata does not tell, the eligible leader replicas.

use super::{ANY_VERSION, nodes, only, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TopicId;
use kafka_protocol::messages::DescribeTopicPartitionsRequest;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::describe_topic_partitions_response::DescribeTopicPartitionsResponsePartition;

const CALL: &str = "DescribeTopicPartitions";

/// A topic as one broker knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedTopic {
    /// NONE where the rest counts.
    pub error: ErrorCode,
    /// Its id.
    pub id: TopicId,
    /// Its partitions.
    pub partitions: Vec<DescribedPartition>,
}

/// A partition as one broker knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedPartition {
    /// NONE where the rest counts.
    pub error: ErrorCode,
    /// Its number.
    pub partition: i32,
    /// Its leader; −1 is none.
    pub leader: i32,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// Its replicas.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
    /// Eligible leader replicas; none where the server does not say.
    pub elr: Option<Vec<i32>>,
    /// The last known ELR; none where the server does not say.
    pub last_known_elr: Option<Vec<i32>>,
}

impl Connection {
    /// Asks for a topic's partitions, page by page until the server says that there are no more.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn describe_topic_partitions(&mut self, topic: &str) -> Result<DescribedTopic, Error> {
        let version = self.version::<DescribeTopicPartitionsRequest>(CALL, ANY_VERSION)?;
        let mut described: Option<DescribedTopic> = None;
        let mut next = 0;
        loop {
            let cursor = Cursor::default()
                .with_topic_name(topic_name(topic))
                .with_partition_index(next);
            let request = DescribeTopicPartitionsRequest::default()
                .with_topics(vec![TopicRequest::default().with_name(topic_name(topic))])
                .with_cursor((next > 0).then_some(cursor));
            let answer = self.call(CALL, version, &request, self.limit()).await?;
            let page = only(answer.topics).ok_or_else(|| self.lacks(CALL, topic))?;
            let whole = described.get_or_insert_with(|| DescribedTopic {
                error: ErrorCode(page.error_code),
                id: page.topic_id,
                partitions: Vec::new(),
            });
            whole
                .partitions
                .extend(page.partitions.into_iter().map(partition));
            match answer.next_cursor.map(|cursor| cursor.partition_index) {
                // A cursor that does not move on would be asked for ever.
                Some(further) if further > next => next = further,
                _ => break,
            }
        }
        described.ok_or_else(|| self.lacks(CALL, topic))
    }
}

fn partition(partition: DescribeTopicPartitionsResponsePartition) -> DescribedPartition {
    DescribedPartition {
        error: ErrorCode(partition.error_code),
        partition: partition.partition_index,
        leader: partition.leader_id.0,
        leader_epoch: partition.leader_epoch,
        replicas: nodes(partition.replica_nodes),
        isr: nodes(partition.isr_nodes),
        elr: partition.eligible_leader_replicas.map(nodes),
        last_known_elr: partition.last_known_elr.map(nodes),
    }
}
