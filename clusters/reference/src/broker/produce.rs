//! Produce: what is accepted, and when it is acknowledged.
//!
//! A request waits until each of its partitions has an outcome. acks=1 waits for the leader's own log to be
//! synced as far as the configuration asks, acks=all for the high watermark; neither is polled: the log and
//! the high watermark say when they move.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::produce_response::{
    LeaderIdAndEpoch, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::{BrokerId, ProduceRequest, ProduceResponse, TopicName};
use kafka_protocol::protocol::StrBytes;
use replication::Completion;
use storage::{BatchError, BatchHeader, Batches, Records, StorageError};
use uuid::Uuid;

use super::Broker;
use super::partition::{Key, Partition};
use crate::net::server::Reply;

/// Offset of a record that was not appended.
const NO_OFFSET: i64 = -1;
/// The first version that names topics by id.
const FIRST_VERSION_WITH_IDS: i16 = 13;

/// What an append waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acks {
    None,
    Leader,
    All,
}

/// An append that has not been acknowledged.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    request: u64,
    slot: usize,
    acks: Acks,
    /// The log's end after the append.
    required_offset: i64,
    base_offset: i64,
    leader_epoch: i32,
}

/// A Produce that waits.
#[derive(Debug)]
struct Pending {
    reply: Reply,
    topics: Vec<TopicProduceResponse>,
    /// Where in `topics` the partition of each slot is.
    slots: Vec<(usize, usize)>,
    outstanding: usize,
    deadline: u64,
    acks: Acks,
}

/// The Produce requests that wait.
#[derive(Debug, Default)]
pub struct Produces {
    next: u64,
    pending: BTreeMap<u64, Pending>,
}

/// How an append ended.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    error: i16,
    base_offset: i64,
    log_start: i64,
}

impl Produces {
    /// When the first of them times out.
    pub fn next_deadline(&self) -> Option<u64> {
        self.pending.values().map(|pending| pending.deadline).min()
    }

    fn settle(&mut self, request: u64, slot: usize, outcome: Outcome) {
        let Some(pending) = self.pending.get_mut(&request) else {
            return; // it has timed out
        };
        let (topic, partition) = pending.slots[slot];
        let response = &mut pending.topics[topic].partition_responses[partition];
        response.error_code = outcome.error;
        response.base_offset = outcome.base_offset;
        response.log_start_offset = outcome.log_start;
        pending.outstanding -= 1;
        self.finish_if_complete(request);
    }

    fn finish_if_complete(&mut self, request: u64) {
        if self
            .pending
            .get(&request)
            .is_some_and(|pending| pending.outstanding == 0)
            && let Some(pending) = self.pending.remove(&request)
        {
            pending.answer();
        }
    }

    /// Whoever waits here gets this error: the partition is gone.
    pub fn fail(&mut self, waiting: &[Waiting], error: ResponseError) {
        let outcome = Outcome {
            error: error.code(),
            base_offset: NO_OFFSET,
            log_start: NO_OFFSET,
        };
        for waiting in waiting {
            self.settle(waiting.request, waiting.slot, outcome);
        }
    }

    /// Answers those whose time is up: what has no outcome yet timed out.
    pub fn expire(&mut self, now: u64) {
        let late: Vec<u64> = self
            .pending
            .iter()
            .filter(|(_, pending)| pending.deadline <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            if let Some(pending) = self.pending.remove(&id) {
                pending.answer();
            }
        }
    }
}

impl Pending {
    fn answer(self) {
        if self.acks == Acks::None {
            // acks=0 has no answer; an error is told by closing the connection.
            let fine = |response: &PartitionProduceResponse| response.error_code == 0;
            if self
                .topics
                .iter()
                .flat_map(|topic| &topic.partition_responses)
                .all(fine)
            {
                self.reply.nothing();
            }
            return;
        }
        self.reply
            .send(&ProduceResponse::default().with_responses(self.topics));
    }
}

impl Broker {
    /// Takes a Produce: appends what can be appended, and answers once all of it has an outcome.
    pub fn produce(&mut self, request: ProduceRequest, reply: Reply) -> Result<(), StorageError> {
        let acks = match request.acks {
            0 => Some(Acks::None),
            1 => Some(Acks::Leader),
            -1 => Some(Acks::All),
            _ => None,
        };
        let by_id = reply.version() >= FIRST_VERSION_WITH_IDS;
        let id = self.produces.next;
        self.produces.next += 1;
        let mut pending = Pending {
            reply,
            topics: Vec::new(),
            slots: Vec::new(),
            outstanding: 0,
            deadline: self.clock.ms() + u64::try_from(request.timeout_ms).unwrap_or(0),
            acks: acks.unwrap_or(Acks::All),
        };
        for topic in request.topic_data {
            let topic_id = self.topic_id(by_id, topic.topic_id, &topic.name);
            let at = pending.topics.len();
            let mut responses = Vec::new();
            for data in topic.partition_data {
                let slot = pending.slots.len();
                pending.slots.push((at, responses.len()));
                // Until there is an outcome: what is sent when the time is up.
                let mut response = partition_response(data.index, ResponseError::RequestTimedOut.code());
                let appended = match (acks, topic_id) {
                    (None, _) => Err(refused(ResponseError::InvalidRequiredAcks)),
                    (_, Err(error)) => Err(refused(error)),
                    (Some(acks), Ok(topic_id)) => self.append((topic_id, data.index), acks, data.records)?,
                };
                match appended {
                    Ok(waiting) => {
                        pending.outstanding += 1;
                        self.wait(
                            Waiting {
                                request: id,
                                slot,
                                ..waiting
                            },
                            topic_id,
                            data.index,
                        );
                    }
                    Err(refusal) => {
                        response.error_code = refusal.error.code();
                        response.error_message = refusal.message.map(StrBytes::from_string);
                        self.name_leader(&mut response, refusal.error, topic_id, data.index);
                    }
                }
                responses.push(response);
            }
            pending.topics.push(
                TopicProduceResponse::default()
                    .with_name(topic.name)
                    .with_topic_id(topic.topic_id)
                    .with_partition_responses(responses),
            );
        }
        self.produces.pending.insert(id, pending);
        self.produces.finish_if_complete(id);
        Ok(())
    }

    /// The id of a topic that a request names by id or by name.
    pub fn topic_id(&self, by_id: bool, id: Uuid, name: &TopicName) -> Result<Uuid, ResponseError> {
        if by_id {
            let known = self.image.topic(id).is_some();
            return if known {
                Ok(id)
            } else {
                Err(ResponseError::UnknownTopicId)
            };
        }
        self.image
            .topic_named(name.as_str())
            .map(|topic| topic.id)
            .ok_or(ResponseError::UnknownTopicOrPartition)
    }

    fn wait(&mut self, waiting: Waiting, topic: Result<Uuid, ResponseError>, index: i32) {
        if let Ok(topic) = topic
            && let Some(partition) = self.partitions.get_mut(&(topic, index))
        {
            partition.waiting.push(waiting);
            self.grown.insert((topic, index));
        }
    }

    fn append(
        &mut self,
        key: Key,
        acks: Acks,
        records: Option<Bytes>,
    ) -> Result<Result<Waiting, Refused>, StorageError> {
        let max_bytes = self.config.message_max_bytes;
        let partition = match self.leading(key) {
            Ok(partition) => partition,
            Err(error) => return Ok(Err(refused(error))),
        };
        let Some(leader) = partition.replica.leader() else {
            return Ok(Err(refused(ResponseError::NotLeaderOrFollower)));
        };
        if acks == Acks::All && leader.admit_acks_all().is_err() {
            return Ok(Err(refused(ResponseError::NotEnoughReplicas)));
        }
        let leader_epoch = leader.leader_epoch();
        let mut records = BytesMut::from(records.unwrap_or_default());
        if let Err(refusal) = validate(&records, max_bytes) {
            return Ok(Err(refusal));
        }
        let appended = partition.log.append_as_leader(&mut records, leader_epoch)?;
        Ok(Ok(Waiting {
            request: 0,
            slot: 0,
            acks,
            required_offset: appended.end_offset,
            base_offset: appended.first_offset,
            leader_epoch,
        }))
    }

    /// The partition, if this broker leads it.
    pub fn leading(&mut self, key: Key) -> Result<&mut Partition, ResponseError> {
        let known = self.image.partition(key).is_some();
        match self.partitions.get_mut(&key) {
            Some(partition) if partition.replica.leader().is_some() => Ok(partition),
            Some(_) => Err(ResponseError::NotLeaderOrFollower),
            None if known => Err(ResponseError::NotLeaderOrFollower),
            None => Err(ResponseError::UnknownTopicOrPartition),
        }
    }

    fn name_leader(
        &self,
        response: &mut PartitionProduceResponse,
        error: ResponseError,
        topic: Result<Uuid, ResponseError>,
        index: i32,
    ) {
        if error == ResponseError::NotLeaderOrFollower
            && let Ok(topic) = topic
            && let Some(state) = self.image.partition((topic, index))
        {
            response.current_leader = LeaderIdAndEpoch::default()
                .with_leader_id(BrokerId(state.leader.unwrap_or(-1)))
                .with_leader_epoch(state.leader_epoch);
        }
    }

    /// Acknowledges what no longer waits at this partition.
    pub fn acknowledge(&mut self, key: Key) {
        let Some(partition) = self.partitions.get_mut(&key) else {
            return;
        };
        let mut settled = Vec::new();
        let (counted_end, log_start) = (partition.counted_end(), partition.log.start_offset());
        let replica = &partition.replica;
        partition.waiting.retain(|waiting| {
            let error = match replica
                .leader()
                .filter(|leader| leader.leader_epoch() == waiting.leader_epoch)
            {
                None => Some(ResponseError::NotLeaderOrFollower.code()),
                Some(_) if waiting.acks != Acks::All => (counted_end >= waiting.required_offset).then_some(0),
                Some(leader) => match leader.completion(waiting.required_offset) {
                    Completion::Waiting => None,
                    Completion::Acknowledged => Some(0),
                    Completion::NotEnoughReplicasAfterAppend => {
                        Some(ResponseError::NotEnoughReplicasAfterAppend.code())
                    }
                },
            };
            settled.extend(error.map(|error| (*waiting, error)));
            error.is_none()
        });
        for (waiting, error) in settled {
            let outcome = Outcome {
                error,
                base_offset: if error == 0 {
                    waiting.base_offset
                } else {
                    NO_OFFSET
                },
                log_start,
            };
            self.produces.settle(waiting.request, waiting.slot, outcome);
        }
    }
}

fn partition_response(index: i32, error: i16) -> PartitionProduceResponse {
    PartitionProduceResponse::default()
        .with_index(index)
        .with_error_code(error)
        .with_base_offset(NO_OFFSET)
        .with_log_append_time_ms(-1)
        .with_log_start_offset(NO_OFFSET)
}

/// Why records are not appended.
#[derive(Debug)]
struct Refused {
    error: ResponseError,
    message: Option<String>,
}

fn refused(error: ResponseError) -> Refused {
    Refused { error, message: None }
}

/// Whether records may be appended as they are: exactly one batch, as every client since Kafka 0.11 sends.
fn validate(records: &[u8], max_bytes: usize) -> Result<(), Refused> {
    let invalid = |message: &str| Refused {
        error: ResponseError::InvalidRecord,
        message: Some(message.to_owned()),
    };
    let mut batches = Batches::new(records);
    let (header, batch) = batches
        .next()
        .ok_or_else(|| invalid("there is no batch"))?
        .map_err(damaged)?;
    if batches.next().is_some() {
        return Err(invalid("there is more than one batch"));
    }
    if header.total_bytes > max_bytes {
        return Err(refused(ResponseError::MessageTooLarge));
    }
    if header.attributes.is_control() {
        return Err(invalid("clients write no control records"));
    }
    if header.attributes.is_transactional() || header.has_producer() {
        return Err(invalid(
            "idempotent and transactional producers are not supported",
        ));
    }
    if header.record_count < 1 || header.last_offset_delta != header.record_count - 1 {
        return Err(invalid("offsets inside the batch are not those of its records"));
    }
    check_records(&header, batch).map_err(|error| invalid(&error.to_string()))
}

/// The records of a compressed batch are taken at the producer's word.
fn check_records(header: &BatchHeader, batch: &[u8]) -> Result<(), BatchError> {
    let records = match Records::of(batch) {
        Ok(records) => records,
        Err(BatchError::Compressed(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    for (expected, record) in (header.base_offset..).zip(records) {
        if record?.offset != expected {
            return Err(BatchError::Field {
                field: "record offset",
                value: expected,
            });
        }
    }
    Ok(())
}

fn damaged(error: BatchError) -> Refused {
    let code = match error {
        BatchError::Magic(_) => ResponseError::UnsupportedForMessageFormat,
        _ => ResponseError::CorruptMessage,
    };
    Refused {
        error: code,
        message: Some(error.to_string()),
    }
}
