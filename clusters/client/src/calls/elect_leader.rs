//! ElectLeaders, for one partition.

use super::{ANY_VERSION, Administered, only, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use kafka_protocol::messages::ElectLeadersRequest;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use std::time::Duration;

const CALL: &str = "ElectLeaders";
/// The first version that knows unclean elections.
const WITH_KINDS: i16 = 1;

/// Who is to be elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {
    /// The first replica.
    Preferred,
    /// Any replica, where nobody leads.
    Unclean,
}

impl Connection {
    /// Has a leader elected.
    ///
    /// # Errors
    /// Where there is no answer, or the server knows no unclean elections; its own error is in the answer.
    pub async fn elect_leader(
        &mut self,
        election: Election,
        topic: &str,
        partition: i32,
        timeout: Duration,
    ) -> Result<Administered, Error> {
        let version = self.version::<ElectLeadersRequest>(CALL, ANY_VERSION)?;
        if election == Election::Unclean && version < WITH_KINDS {
            return Err(self.lacks(CALL, "unclean elections"));
        }
        let of_topic = TopicPartitions::default()
            .with_topic(topic_name(topic))
            .with_partitions(vec![partition]);
        let request = ElectLeadersRequest::default()
            .with_election_type(match election {
                Election::Preferred => 0,
                Election::Unclean => 1,
            })
            .with_topic_partitions(Some(vec![of_topic]))
            .with_timeout_ms(i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX));
        let answer = self.call(CALL, version, &request, timeout + self.limit()).await?;
        let result = only(answer.replica_election_results).and_then(|topic| only(topic.partition_result));
        match result {
            Some(result) => Ok(Administered::new(result.error_code, result.error_message)),
            None if answer.error_code != 0 => Ok(Administered::new(answer.error_code, None)),
            None => Err(self.lacks(CALL, topic)),
        }
    }
}
