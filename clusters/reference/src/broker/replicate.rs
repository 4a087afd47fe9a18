//! Following: fetches from leaders, one request for all partitions of a leader that are ready.
//!
//! A partition that turns ready while a request to its leader is under way gets one of its own, so that it
//! does not wait for an idle long poll; [`MAX_REQUESTS_A_LEADER`] bounds how many there are.

use std::collections::BTreeMap;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::error::ParseResponseErrorCode;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ReplicaState};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{
    BrokerId, FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use replication::{BatchSummary, EpochEnd, FetchAnswer, FetchError, FetchPlan, IgnoreReason, Step};
use storage::{BatchHeader, StorageError};

use super::list_offsets::{EARLIEST, LATEST};
use super::partition::{Fetching, Key};
use super::{Broker, Event};
use crate::diary::{info, warning};

/// The version that this broker fetches in: topics by id, the replica's state, its directory.
const FETCH_VERSION: i16 = 17;
/// The version in which a leader is asked for its log's range.
const LIST_OFFSETS_VERSION: i16 = 6;
/// Fetches under way to one leader.
const MAX_REQUESTS_A_LEADER: usize = 8;
/// Bytes of one answer, and of one partition in it.
const MAX_BYTES: i32 = 8 << 20;
/// Bytes of one partition in an answer.
const MAX_PARTITION_BYTES: i32 = 1 << 20;
/// Records of an answer are wanted as soon as there is one.
const MIN_BYTES: i32 = 1;

/// What one fetch asked for.
pub type Plans = BTreeMap<Key, FetchPlan>;

/// The fetches under way, by leader.
#[derive(Debug, Default)]
pub struct Fetchers {
    in_flight: BTreeMap<i32, usize>,
}

impl Broker {
    /// Sends whatever fetches can be sent.
    pub fn fetch_from_leaders(&mut self) {
        let now = self.clock.ms();
        let mut by_leader: BTreeMap<i32, Plans> = BTreeMap::new();
        for (key, partition) in &self.partitions {
            let ready = match partition.fetching {
                Fetching::Ready => true,
                Fetching::Until(at) => at <= now,
                Fetching::InFlight | Fetching::AwaitsMetadata => false,
            };
            if ready
                && let Some(follower) = partition.replica.follower()
                && let Some(plan) = follower.plan(&partition.view())
            {
                by_leader.entry(plan.leader).or_default().insert(*key, plan);
            }
        }
        for (leader, plans) in by_leader {
            self.fetch_from(leader, plans);
        }
    }

    fn fetch_from(&mut self, leader: i32, plans: Plans) {
        let in_flight = self.fetchers.in_flight.entry(leader).or_default();
        let address = self.image.broker(leader).and_then(|broker| broker.address);
        let (Some(address), true) = (address, *in_flight < MAX_REQUESTS_A_LEADER) else {
            // Its registration is on its way to us, or one of the requests will end soon.
            for (key, plan) in &plans {
                self.back_off(*key, plan);
            }
            return;
        };
        *in_flight += 1;
        for key in plans.keys() {
            self.set_fetching(*key, Fetching::InFlight);
        }
        let request = self.fetch_request(&plans);
        self.ask(address, FETCH_VERSION, request, move |answer| Event::Fetched {
            leader,
            plans,
            answer,
        });
    }

    fn fetch_request(&self, plans: &Plans) -> FetchRequest {
        let mut topics: BTreeMap<uuid::Uuid, FetchTopic> = BTreeMap::new();
        for ((topic, index), plan) in plans {
            let log_start = self
                .partitions
                .get(&(*topic, *index))
                .map_or(0, |partition| partition.log.start_offset());
            let partition = FetchPartition::default()
                .with_partition(*index)
                .with_current_leader_epoch(plan.current_leader_epoch)
                .with_fetch_offset(plan.fetch_offset)
                .with_last_fetched_epoch(plan.last_fetched_epoch.unwrap_or(-1))
                .with_log_start_offset(log_start)
                .with_partition_max_bytes(MAX_PARTITION_BYTES)
                .with_replica_directory_id(self.directory_id);
            topics
                .entry(*topic)
                .or_insert_with(|| FetchTopic::default().with_topic_id(*topic))
                .partitions
                .push(partition);
        }
        let state = ReplicaState::default()
            .with_replica_id(BrokerId(self.config.node_id))
            .with_replica_epoch(self.registration.epoch.unwrap_or(-1));
        FetchRequest::default()
            .with_replica_state(state)
            .with_max_wait_ms(i32::try_from(self.config.replica_fetch_wait.as_millis()).unwrap_or(i32::MAX))
            .with_min_bytes(MIN_BYTES)
            .with_max_bytes(MAX_BYTES)
            .with_session_epoch(-1)
            .with_topics(topics.into_values().collect())
    }

    fn set_fetching(&mut self, key: Key, fetching: Fetching) {
        if let Some(partition) = self.partitions.get_mut(&key) {
            partition.fetching = fetching;
        }
    }

    /// A fetch ended.
    pub fn fetched(
        &mut self,
        leader: i32,
        plans: Plans,
        answer: Option<FetchResponse>,
    ) -> Result<(), StorageError> {
        if let Some(in_flight) = self.fetchers.in_flight.get_mut(&leader) {
            *in_flight = in_flight.saturating_sub(1);
        }
        let mut answers: BTreeMap<Key, PartitionData> = BTreeMap::new();
        for topic in answer
            .into_iter()
            .filter(|answer| answer.error_code == 0)
            .flat_map(|answer| answer.responses)
        {
            for data in topic.partitions {
                answers.insert((topic.topic_id, data.partition_index), data);
            }
        }
        for (key, plan) in plans {
            match answers.remove(&key) {
                Some(data) => self.take_answer(key, &plan, &data)?,
                None => self.back_off(key, &plan),
            }
        }
        Ok(())
    }

    fn take_answer(&mut self, key: Key, plan: &FetchPlan, data: &PartitionData) -> Result<(), StorageError> {
        let answer = fetch_answer(data);
        let Some(step) = self
            .partitions
            .get(&key)
            .and_then(|partition| partition.answer(plan, &answer))
        else {
            return Ok(()); // it leads by now, or is gone
        };
        let records = data.records.clone().unwrap_or_default();
        self.step(key, plan, step, &records)
    }

    /// Carries out what the follower's rules say.
    fn step(&mut self, key: Key, plan: &FetchPlan, step: Step, records: &Bytes) -> Result<(), StorageError> {
        match step {
            Step::Append {
                batches,
                leader_high_watermark,
                leader_log_start,
            } => {
                return self.append_fetched(
                    key,
                    plan,
                    prefix(records, batches),
                    leader_high_watermark,
                    leader_log_start,
                );
            }
            Step::Truncate { to } => {
                if let Some(partition) = self.partitions.get_mut(&key) {
                    let end = partition.log.end_offset();
                    // Otherwise only epochs without a record go.
                    if to < end {
                        info!(
                            "{}-{} is cut from {end} to {to}, where it departs from its leader {}",
                            partition.topic, key.1, plan.leader
                        );
                    }
                    partition.truncate(to)?;
                }
                self.set_fetching_of(key, plan, Fetching::Ready);
            }
            Step::Reset { to } => {
                if let Some(partition) = self.partitions.get_mut(&key) {
                    info!(
                        "{}-{} begins anew at {to}, the start of its leader {}",
                        partition.topic, key.1, plan.leader
                    );
                    partition.reset(to)?;
                }
                self.set_fetching_of(key, plan, Fetching::Ready);
            }
            Step::AskLeaderRange => self.ask_range(key, plan),
            Step::Backoff => self.back_off(key, plan),
            Step::AwaitMetadata => self.set_fetching_of(key, plan, Fetching::AwaitsMetadata),
            Step::Ignore(IgnoreReason::OtherEpoch | IgnoreReason::LogMoved) => {
                self.set_fetching_of(key, plan, Fetching::Ready);
            }
            // A leader that answers nonsense is not asked again at once.
            Step::Ignore(IgnoreReason::NotContiguous | IgnoreReason::Impossible) => self.back_off(key, plan),
        }
        Ok(())
    }

    fn append_fetched(
        &mut self,
        key: Key,
        plan: &FetchPlan,
        records: &[u8],
        high_watermark: i64,
        log_start: i64,
    ) -> Result<(), StorageError> {
        let Some(partition) = self.partitions.get_mut(&key) else {
            return Ok(());
        };
        match partition.append_as_follower(records, high_watermark, log_start) {
            Ok(()) => self.set_fetching_of(key, plan, Fetching::Ready),
            // What the leader sent is wrong, not the disk.
            Err(
                error @ (StorageError::Batch { .. }
                | StorageError::NotContiguous { .. }
                | StorageError::EpochWentBack { .. }),
            ) => {
                warning!("{error}");
                self.back_off(key, plan);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sets what a partition does next, unless a newer leader epoch has begun and set that itself.
    fn set_fetching_of(&mut self, key: Key, plan: &FetchPlan, fetching: Fetching) {
        if let Some(partition) = self.partitions.get_mut(&key)
            && partition.replica.leader_epoch() == plan.current_leader_epoch
        {
            partition.fetching = fetching;
        }
    }

    fn back_off(&mut self, key: Key, plan: &FetchPlan) {
        let pause = u64::try_from(self.config.replica_fetch_backoff.as_millis()).unwrap_or(u64::MAX);
        let until = self.clock.ms().saturating_add(pause);
        self.set_fetching_of(key, plan, Fetching::Until(until));
    }

    fn ask_range(&mut self, key: Key, plan: &FetchPlan) {
        let (Some(partition), Some(address)) = (
            self.partitions.get(&key),
            self.image.broker(plan.leader).and_then(|broker| broker.address),
        ) else {
            return self.back_off(key, plan);
        };
        let asked = |timestamp| {
            let partition = ListOffsetsPartition::default()
                .with_partition_index(key.1)
                .with_current_leader_epoch(plan.current_leader_epoch)
                .with_timestamp(timestamp);
            ListOffsetsTopic::default().with_partitions(vec![partition])
        };
        let name = TopicName(StrBytes::from_string(partition.topic.clone()));
        let topics = [EARLIEST, LATEST].map(|timestamp| asked(timestamp).with_name(name.clone()));
        let request = ListOffsetsRequest::default()
            .with_replica_id(BrokerId(self.config.node_id))
            .with_topics(topics.into());
        let plan = *plan;
        self.ask(address, LIST_OFFSETS_VERSION, request, move |answer| {
            Event::Ranged { key, plan, answer }
        });
    }

    /// The leader said where its log starts and ends.
    pub fn ranged(
        &mut self,
        key: Key,
        plan: &FetchPlan,
        answer: Option<ListOffsetsResponse>,
    ) -> Result<(), StorageError> {
        let offsets: Vec<i64> = answer
            .into_iter()
            .flat_map(|answer| answer.topics)
            .flat_map(|topic| topic.partitions)
            .filter(|partition| partition.error_code == 0)
            .map(|partition| partition.offset)
            .collect();
        let step = match (&offsets[..], self.partitions.get(&key)) {
            (&[start, end], Some(partition)) => partition
                .replica
                .follower()
                .map(|follower| follower.out_of_range(plan, start, end, &partition.view())),
            _ => Some(Step::Backoff),
        };
        match step {
            Some(step) => self.step(key, plan, step, &Bytes::new()),
            None => Ok(()),
        }
    }

    /// When the first partition that backed off may fetch again.
    pub fn next_fetch(&self) -> Option<u64> {
        let until = |partition: &super::partition::Partition| match partition.fetching {
            Fetching::Until(at) if partition.replica.follower()?.leader().is_some() => Some(at),
            _ => None,
        };
        self.partitions.values().filter_map(until).min()
    }
}

fn fetch_answer(data: &PartitionData) -> FetchAnswer {
    match data.error_code.err() {
        Some(ResponseError::OffsetOutOfRange) => return FetchAnswer::Error(FetchError::OffsetOutOfRange),
        Some(ResponseError::FencedLeaderEpoch) => return FetchAnswer::Error(FetchError::FencedLeaderEpoch),
        Some(_) => return FetchAnswer::Error(FetchError::Other),
        None => {}
    }
    if data.diverging_epoch.epoch >= 0 {
        return FetchAnswer::Diverging(EpochEnd {
            leader_epoch: data.diverging_epoch.epoch,
            end_offset: data.diverging_epoch.end_offset,
        });
    }
    FetchAnswer::Records {
        batches: headers(data.records.as_deref().unwrap_or_default())
            .iter()
            .map(summary)
            .collect(),
        high_watermark: data.high_watermark,
        log_start_offset: data.log_start_offset,
    }
}

/// The headers of the whole batches. What follows the last whole one is a cut that the leader made for size.
fn headers(mut records: &[u8]) -> Vec<BatchHeader> {
    let mut headers = Vec::new();
    while let Ok(header) = BatchHeader::parse(records)
        && header.total_bytes <= records.len()
    {
        records = &records[header.total_bytes..];
        headers.push(header);
    }
    headers
}

fn summary(header: &BatchHeader) -> BatchSummary {
    BatchSummary {
        base_offset: header.base_offset,
        next_offset: header.next_offset(),
        leader_epoch: header.leader_epoch,
    }
}

/// The bytes of the first batches.
fn prefix(records: &[u8], batches: usize) -> &[u8] {
    let bytes: usize = headers(records)
        .iter()
        .take(batches)
        .map(|header| header.total_bytes)
        .sum();
    &records[..bytes]
}
