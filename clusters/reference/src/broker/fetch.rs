//! Fetch, as a leader serves it: to followers and to consumers.
//!
//! A request that finds too little waits until a partition of it grows, its high watermark moves, its
//! leadership changes, or its time is up. No sessions: every request names all it wants (session id 0).

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, PartitionData,
};
use kafka_protocol::messages::{BrokerId, FetchRequest, FetchResponse, TopicName};
use replication::{FetchCheck, FetchRefusal, FollowerFetch, FollowerId};
use storage::StorageError;
use uuid::Uuid;

use super::Broker;
use super::partition::{Key, View};
use crate::net::server::Reply;

/// Bytes of records in one answer, whatever was asked for.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// The longest that a consumer may let a request wait.
const MAX_WAIT_MS: u64 = 60_000;
/// The session epoch of a request that wants no session, and of one that begins one.
const SESSIONLESS: [i32; 2] = [-1, 0];
/// The first version that names topics by id.
const FIRST_VERSION_WITH_IDS: i16 = 13;
/// The first version whose answers tell errors of the whole request.
const FIRST_VERSION_WITH_REPLICA_STATE: i16 = 15;

/// A partition of a request.
#[derive(Debug, Clone)]
struct Wanted {
    /// Where it is, or that it is not known.
    key: Result<Key, ResponseError>,
    index: i32,
    max_bytes: usize,
    request: replication::FetchRequest,
}

/// A topic of a request.
#[derive(Debug, Clone)]
struct WantedTopic {
    name: TopicName,
    id: Uuid,
    partitions: Vec<Wanted>,
}

/// A Fetch that waits.
#[derive(Debug)]
struct Parked {
    reply: Reply,
    topics: Vec<WantedTopic>,
    min_bytes: usize,
    max_bytes: usize,
    deadline: u64,
}

/// The Fetch requests that wait.
#[derive(Debug, Default)]
pub struct Fetches {
    next: u64,
    parked: BTreeMap<u64, Parked>,
    /// Who waits for which partition.
    by_partition: BTreeMap<Key, BTreeSet<u64>>,
}

impl Fetches {
    /// When the time of the first of them is up.
    pub fn next_deadline(&self) -> Option<u64> {
        self.parked.values().map(|parked| parked.deadline).min()
    }

    fn park(&mut self, parked: Parked) {
        let id = self.next;
        self.next += 1;
        for key in parked.keys() {
            self.by_partition.entry(key).or_default().insert(id);
        }
        self.parked.insert(id, parked);
    }

    fn unpark(&mut self, id: u64) -> Option<Parked> {
        let parked = self.parked.remove(&id)?;
        for key in parked.keys() {
            if let Some(ids) = self.by_partition.get_mut(&key) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.by_partition.remove(&key);
                }
            }
        }
        Some(parked)
    }

    fn waiting_for(&self, keys: &BTreeSet<Key>) -> BTreeSet<u64> {
        keys.iter()
            .filter_map(|key| self.by_partition.get(key))
            .flatten()
            .copied()
            .collect()
    }

    fn late(&self, now: u64) -> Vec<u64> {
        let late = self.parked.iter().filter(|(_, parked)| parked.deadline <= now);
        late.map(|(id, _)| *id).collect()
    }
}

impl Parked {
    fn keys(&self) -> impl Iterator<Item = Key> {
        self.topics
            .iter()
            .flat_map(|topic| &topic.partitions)
            .filter_map(|wanted| wanted.key.ok())
    }
}

/// An answer, and whether it may be sent before the time is up.
struct Attempt {
    topics: Vec<FetchableTopicResponse>,
    bytes: usize,
    /// An error or a divergence is told at once.
    urgent: bool,
}

impl Broker {
    /// Takes a Fetch: notes what a follower's tells, and answers now or later.
    pub fn fetch(&mut self, request: FetchRequest, reply: Reply) -> Result<(), StorageError> {
        if !SESSIONLESS.contains(&request.session_epoch) {
            let code = ResponseError::FetchSessionIdNotFound.code();
            reply.send(&FetchResponse::default().with_error_code(code));
            return Ok(());
        }
        let follower = follower(&request, reply.version());
        let wait = u64::try_from(request.max_wait_ms).unwrap_or(0).min(MAX_WAIT_MS);
        let parked = Parked {
            topics: self.wanted(&request, follower, reply.version()),
            reply,
            min_bytes: usize::try_from(request.min_bytes).unwrap_or(0),
            max_bytes: usize::try_from(request.max_bytes)
                .unwrap_or(0)
                .min(MAX_ANSWER_BYTES),
            deadline: self.clock.ms() + wait,
        };
        if follower.is_some() {
            self.note_progress(&parked);
        }
        let attempt = self.attempt(&parked)?;
        if attempt.urgent || attempt.bytes >= parked.min_bytes || wait == 0 {
            parked.answer(attempt);
        } else {
            self.fetches.park(parked);
        }
        Ok(())
    }

    fn wanted(&self, request: &FetchRequest, follower: Option<FollowerId>, version: i16) -> Vec<WantedTopic> {
        let topic = |topic: &kafka_protocol::messages::fetch_request::FetchTopic| {
            let id = self.topic_id(version >= FIRST_VERSION_WITH_IDS, topic.topic_id, &topic.topic);
            let partition = |partition: &kafka_protocol::messages::fetch_request::FetchPartition| Wanted {
                key: id.map(|id| (id, partition.partition)),
                index: partition.partition,
                max_bytes: usize::try_from(partition.partition_max_bytes).unwrap_or(0),
                request: replication::FetchRequest {
                    follower,
                    current_leader_epoch: known(partition.current_leader_epoch),
                    fetch_offset: partition.fetch_offset,
                    last_fetched_epoch: known(partition.last_fetched_epoch),
                },
            };
            WantedTopic {
                name: topic.topic.clone(),
                id: topic.topic_id,
                partitions: topic.partitions.iter().map(partition).collect(),
            }
        };
        request.topics.iter().map(topic).collect()
    }

    /// What a follower asks for, it lacks; what lies below, it has.
    fn note_progress(&mut self, parked: &Parked) {
        let now = self.clock.ms();
        for wanted in parked.topics.iter().flat_map(|topic| &topic.partitions) {
            let (Ok(key), Some(follower)) = (wanted.key, wanted.request.follower) else {
                continue;
            };
            let Some(partition) = self.partitions.get_mut(&key) else {
                continue;
            };
            let check = partition.replica.check_fetch(
                &wanted.request,
                &View(&partition.log),
                &self.image.brokers_view(),
            );
            if check != FetchCheck::Valid {
                continue;
            }
            let fetch = FollowerFetch {
                replica: follower.replica,
                broker_epoch: follower.broker_epoch,
                fetch_offset: wanted.request.fetch_offset,
            };
            let effects = partition.fetched(&fetch, now, &self.image.brokers_view());
            self.effects(key, effects);
        }
    }

    fn attempt(&self, parked: &Parked) -> Result<Attempt, StorageError> {
        let mut attempt = Attempt {
            topics: Vec::new(),
            bytes: 0,
            urgent: false,
        };
        for topic in &parked.topics {
            let mut partitions = Vec::new();
            for wanted in &topic.partitions {
                let room = parked.max_bytes.saturating_sub(attempt.bytes);
                let data = self.partition_data(wanted, room, attempt.bytes == 0)?;
                attempt.bytes += data.records.as_ref().map_or(0, Bytes::len);
                attempt.urgent |= data.error_code != 0 || data.diverging_epoch.epoch >= 0;
                partitions.push(data);
            }
            attempt.topics.push(
                FetchableTopicResponse::default()
                    .with_topic(topic.name.clone())
                    .with_topic_id(topic.id)
                    .with_partitions(partitions),
            );
        }
        Ok(attempt)
    }

    fn partition_data(
        &self,
        wanted: &Wanted,
        room: usize,
        first: bool,
    ) -> Result<PartitionData, StorageError> {
        let data = PartitionData::default()
            .with_partition_index(wanted.index)
            .with_high_watermark(-1)
            .with_records(Some(Bytes::new()));
        let key = match wanted.key {
            Ok(key) => key,
            Err(error) => return Ok(data.with_error_code(error.code())),
        };
        let Some(partition) = self.partitions.get(&key) else {
            let error = match self.image.partition(key) {
                Some(_) => ResponseError::NotLeaderOrFollower,
                None => ResponseError::UnknownTopicOrPartition,
            };
            return Ok(self.with_leader(data, key).with_error_code(error.code()));
        };
        let view = View(&partition.log);
        let replica = &partition.replica;
        let check = replica.check_fetch(&wanted.request, &view, &self.image.brokers_view());
        let data = data
            .with_high_watermark(replica.high_watermark())
            .with_last_stable_offset(replica.high_watermark())
            .with_log_start_offset(partition.log.start_offset());
        match check {
            FetchCheck::Refused(refusal) => {
                let error = refusal_error(refusal);
                let data = if error == ResponseError::OffsetOutOfRange {
                    data
                } else {
                    self.with_leader(data, key)
                };
                Ok(data.with_error_code(error.code()))
            }
            FetchCheck::Diverging(end) => Ok(data.with_diverging_epoch(
                EpochEndOffset::default()
                    .with_epoch(end.leader_epoch)
                    .with_end_offset(end.end_offset),
            )),
            FetchCheck::Valid => {
                let bound = replica.fetch_bound(&wanted.request, &view);
                if wanted.request.fetch_offset >= bound {
                    return Ok(data);
                }
                let max_bytes = wanted.max_bytes.min(room);
                let records = partition.read(wanted.request.fetch_offset, bound, max_bytes, first)?;
                Ok(data.with_records(Some(records)))
            }
        }
    }

    fn with_leader(&self, data: PartitionData, key: Key) -> PartitionData {
        match self.image.partition(key) {
            Some(state) => data.with_current_leader(
                LeaderIdAndEpoch::default()
                    .with_leader_id(BrokerId(state.leader.unwrap_or(-1)))
                    .with_leader_epoch(state.leader_epoch),
            ),
            None => data,
        }
    }

    /// Answers whoever waits for one of these partitions and now finds enough.
    pub fn wake_fetches(&mut self, keys: &BTreeSet<Key>) -> Result<(), StorageError> {
        for id in self.fetches.waiting_for(keys) {
            let Some(parked) = self.fetches.parked.get(&id) else {
                continue;
            };
            let attempt = self.attempt(parked)?;
            if (attempt.urgent || attempt.bytes >= parked.min_bytes)
                && let Some(parked) = self.fetches.unpark(id)
            {
                parked.answer(attempt);
            }
        }
        Ok(())
    }

    /// Answers whoever's time is up.
    pub fn expire_fetches(&mut self, now: u64) -> Result<(), StorageError> {
        for id in self.fetches.late(now) {
            if let Some(parked) = self.fetches.unpark(id) {
                let attempt = self.attempt(&parked)?;
                parked.answer(attempt);
            }
        }
        Ok(())
    }
}

impl Parked {
    fn answer(self, attempt: Attempt) {
        self.reply
            .send(&FetchResponse::default().with_responses(attempt.topics));
    }
}

/// A field in which a negative number means that nothing is known.
fn known(value: i32) -> Option<i32> {
    (value >= 0).then_some(value)
}

/// Which follower asks, if one does.
fn follower(request: &FetchRequest, version: i16) -> Option<FollowerId> {
    let (replica, broker_epoch) = if version >= FIRST_VERSION_WITH_REPLICA_STATE {
        let state = &request.replica_state;
        (state.replica_id.0, state.replica_epoch)
    } else {
        (request.replica_id.0, -1)
    };
    (replica >= 0).then_some(FollowerId {
        replica,
        broker_epoch,
    })
}

/// The protocol's error of a refusal.
pub fn refusal_error(refusal: FetchRefusal) -> ResponseError {
    match refusal {
        FetchRefusal::NotLeaderOrFollower => ResponseError::NotLeaderOrFollower,
        FetchRefusal::FencedLeaderEpoch => ResponseError::FencedLeaderEpoch,
        FetchRefusal::UnknownLeaderEpoch => ResponseError::UnknownLeaderEpoch,
        FetchRefusal::OffsetOutOfRange => ResponseError::OffsetOutOfRange,
    }
}
