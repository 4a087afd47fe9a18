//! CreatePartitions, for one topic.

use super::{ANY_VERSION, Administered, only, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use kafka_protocol::messages::{BrokerId, CreatePartitionsRequest};
use std::time::Duration;

const CALL: &str = "CreatePartitions";

/// A topic that is to grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatePartitions {
    /// The topic.
    pub topic: String,
    /// How many partitions it is to have.
    pub count: i32,
    /// Each new partition's replicas, the preferred leader first; none: the cluster places them.
    pub assignment: Option<Vec<Vec<i32>>>,
    /// How long the server may take.
    pub timeout: Duration,
}

impl Connection {
    /// Gives a topic more partitions.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn create_partitions(&mut self, growth: &CreatePartitions) -> Result<Administered, Error> {
        let version = self.version::<CreatePartitionsRequest>(CALL, ANY_VERSION)?;
        let assigned = |replicas: &Vec<i32>| {
            CreatePartitionsAssignment::default()
                .with_broker_ids(replicas.iter().copied().map(BrokerId).collect())
        };
        let assignment = growth.assignment.as_ref();
        let topic = CreatePartitionsTopic::default()
            .with_name(topic_name(&growth.topic))
            .with_count(growth.count)
            .with_assignments(assignment.map(|all| all.iter().map(assigned).collect()));
        let request = CreatePartitionsRequest::default()
            .with_topics(vec![topic])
            .with_timeout_ms(i32::try_from(growth.timeout.as_millis()).unwrap_or(i32::MAX));
        let limit = growth.timeout + self.limit();
        let answer = self.call(CALL, version, &request, limit).await?;
        let grown = only(answer.results).ok_or_else(|| self.lacks(CALL, &growth.topic))?;
        Ok(Administered::new(grown.error_code, grown.error_message))
    }
}
