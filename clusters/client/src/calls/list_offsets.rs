//! ListOffsets, for one end of one partition (read_uncommitted).

use super::{only, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use history::LogEnd;
use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};

const CALL: &str = "ListOffsets";
/// The highest version that asks nothing of tiered storage.
const AT_MOST: i16 = 7;
/// The first version that takes the leader epoch.
const WITH_EPOCH: i16 = 4;
const EARLIEST: i64 = -2;
const LATEST: i64 = -1;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetQuestion {
    /// The topic's name.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The leader epoch that the client knows: the answer is then exact for it; −1 is none.
    pub current_leader_epoch: i32,
    /// Which end.
    pub which: LogEnd,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedOffset {
    /// NONE where the rest counts.
    pub error: ErrorCode,
    /// The offset; −1 where not known.
    pub offset: i64,
    /// The epoch of the record there; −1 where not known.
    pub leader_epoch: i32,
}

impl Connection {
    /// Asks for an end of a partition's log.
    ///
    /// # Errors
    /// Where there is no answer, also from servers too old to check the leader epoch; the server's own error
    /// is in the answer.
    pub async fn list_offset(&mut self, question: &OffsetQuestion) -> Result<ListedOffset, Error> {
        let version = self.version::<ListOffsetsRequest>(CALL, AT_MOST)?;
        let mut partition = ListOffsetsPartition::default()
            .with_partition_index(question.partition)
            .with_timestamp(match question.which {
                LogEnd::Earliest => EARLIEST,
                LogEnd::Latest => LATEST,
            });
        if version >= WITH_EPOCH {
            partition = partition.with_current_leader_epoch(question.current_leader_epoch);
        }
        let topic = ListOffsetsTopic::default()
            .with_name(topic_name(&question.topic))
            .with_partitions(vec![partition]);
        let request = ListOffsetsRequest::default()
            .with_replica_id((-1).into())
            .with_topics(vec![topic]);
        let answer = self.call(CALL, version, &request, self.limit()).await?;
        only(answer.topics)
            .and_then(|topic| only(topic.partitions))
            .filter(|found| found.partition_index == question.partition)
            .map(|found| ListedOffset {
                error: ErrorCode(found.error_code),
                offset: found.offset,
                leader_epoch: found.leader_epoch,
            })
            .ok_or_else(|| self.lacks(CALL, &format!("{}-{}", question.topic, question.partition)))
    }
}
