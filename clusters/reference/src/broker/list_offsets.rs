//! ListOffsets and OffsetForLeaderEpoch: where logs start and end, and where epochs ended.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_request::ListOffsetsPartition;
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use kafka_protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderTopicResult,
};
use kafka_protocol::messages::{
    ListOffsetsRequest, ListOffsetsResponse, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
};
use replication::LogView;
use storage::StorageError;

use super::Broker;
use super::fetch::refusal_error;
use super::partition::Key;
use crate::net::server::Reply;

/// The timestamp that asks for the log's end: the high watermark for consumers, the very end for replicas.
pub const LATEST: i64 = -1;
/// The timestamp that asks for the log's start.
pub const EARLIEST: i64 = -2;
/// "There is none", of an offset, a timestamp or an epoch.
const NONE: i64 = -1;

/// An offset found, with its timestamp and epoch.
struct Found {
    offset: i64,
    timestamp: i64,
    leader_epoch: i32,
}

impl Broker {
    /// Answers ListOffsets.
    pub fn list_offsets(&mut self, request: ListOffsetsRequest, reply: Reply) -> Result<(), StorageError> {
        let from_replica = request.replica_id.0 >= 0;
        let mut topics = Vec::new();
        for topic in request.topics {
            let id = self.topic_id(false, uuid::Uuid::nil(), &topic.name);
            let mut partitions = Vec::new();
            for asked in topic.partitions {
                let found = match id {
                    Ok(id) => self.find_offset((id, asked.partition_index), &asked, from_replica)?,
                    Err(error) => Err(error),
                };
                partitions.push(offset_response(asked.partition_index, found));
            }
            topics.push(
                ListOffsetsTopicResponse::default()
                    .with_name(topic.name)
                    .with_partitions(partitions),
            );
        }
        reply.send(&ListOffsetsResponse::default().with_topics(topics));
        Ok(())
    }

    fn find_offset(
        &mut self,
        key: Key,
        asked: &ListOffsetsPartition,
        from_replica: bool,
    ) -> Result<Result<Found, ResponseError>, StorageError> {
        let epoch = (asked.current_leader_epoch >= 0).then_some(asked.current_leader_epoch);
        let partition = match self.leading(key) {
            Ok(partition) => partition,
            Err(error) => return Ok(Err(error)),
        };
        if let Err(refusal) = replication::fetch::check_leader_epoch(epoch, partition.replica.leader_epoch())
        {
            return Ok(Err(refusal_error(refusal)));
        }
        let Some(leader) = partition.replica.leader() else {
            return Ok(Err(ResponseError::NotLeaderOrFollower));
        };
        let bound = if from_replica {
            Ok(partition.log.end_offset())
        } else {
            leader
                .latest_offset()
                .map_err(|_| ResponseError::OffsetNotAvailable)
        };
        let log = &partition.log;
        Ok(match asked.timestamp {
            LATEST => bound.map(|offset| Found {
                offset,
                timestamp: NONE,
                leader_epoch: leader.leader_epoch(),
            }),
            EARLIEST => Ok(Found {
                offset: log.start_offset(),
                timestamp: NONE,
                leader_epoch: log.epochs().epoch_at(log.start_offset()).unwrap_or(-1),
            }),
            timestamp if timestamp >= 0 => match bound {
                Err(error) => Err(error),
                Ok(bound) => Ok(by_timestamp(log, timestamp, bound)?),
            },
            _ => Err(ResponseError::UnsupportedVersion),
        })
    }

    /// Answers OffsetForLeaderEpoch.
    pub fn offset_for_leader_epoch(&mut self, request: OffsetForLeaderEpochRequest, reply: Reply) {
        let mut topics = Vec::new();
        for topic in request.topics {
            let id = self.topic_id(false, uuid::Uuid::nil(), &topic.topic);
            let partitions = topic.partitions.iter().map(|asked| match id {
                Ok(id) => self.epoch_end((id, asked.partition), asked),
                Err(error) => epoch_response(asked.partition).with_error_code(error.code()),
            });
            topics.push(
                OffsetForLeaderTopicResult::default()
                    .with_partitions(partitions.collect())
                    .with_topic(topic.topic),
            );
        }
        reply.send(&OffsetForLeaderEpochResponse::default().with_topics(topics));
    }

    fn epoch_end(&mut self, key: Key, asked: &OffsetForLeaderPartition) -> EpochEndOffset {
        let response = epoch_response(key.1);
        let partition = match self.leading(key) {
            Ok(partition) => partition,
            Err(error) => return response.with_error_code(error.code()),
        };
        let current = (asked.current_leader_epoch >= 0).then_some(asked.current_leader_epoch);
        if let Err(refusal) =
            replication::fetch::check_leader_epoch(current, partition.replica.leader_epoch())
        {
            return response.with_error_code(refusal_error(refusal).code());
        }
        match partition.view().end_offset_for(asked.leader_epoch) {
            Some(end) => response
                .with_leader_epoch(end.leader_epoch)
                .with_end_offset(end.end_offset),
            None => response,
        }
    }
}

fn by_timestamp(log: &storage::Log, timestamp: i64, bound: i64) -> Result<Found, StorageError> {
    let found = log
        .offset_for_timestamp(timestamp)?
        .filter(|(offset, _)| *offset < bound);
    Ok(match found {
        Some((offset, timestamp)) => Found {
            offset,
            timestamp,
            leader_epoch: log.epochs().epoch_at(offset).unwrap_or(-1),
        },
        None => Found {
            offset: NONE,
            timestamp: NONE,
            leader_epoch: -1,
        },
    })
}

fn offset_response(index: i32, found: Result<Found, ResponseError>) -> ListOffsetsPartitionResponse {
    let response = ListOffsetsPartitionResponse::default()
        .with_partition_index(index)
        .with_offset(NONE)
        .with_timestamp(NONE)
        .with_leader_epoch(-1);
    match found {
        Ok(found) => response
            .with_offset(found.offset)
            .with_timestamp(found.timestamp)
            .with_leader_epoch(found.leader_epoch),
        Err(error) => response.with_error_code(error.code()),
    }
}

fn epoch_response(index: i32) -> EpochEndOffset {
    EpochEndOffset::default()
        .with_partition(index)
        .with_leader_epoch(-1)
        .with_end_offset(NONE)
}
