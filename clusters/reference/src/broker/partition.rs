//! One partition on this broker: its log and its replica, kept in step.
//!
//! Invariant: what a leader counts of its own log ([`Partition::counted_end`]) is what an acknowledgement may
//! rest on: the synced end where every record is synced, else the end.

use bytes::Bytes;
use replication::{
    AlterIsr, Brokers, Effects, EpochEnd, FetchAnswer, FetchPlan, LogView, Now, Replica, Step, Transition,
};
use storage::{Appended, Log, ReadLimit, StorageError};
use uuid::Uuid;

use super::produce::Waiting;

/// Which partition: its topic's id, and its number.
pub type Key = (Uuid, i32);

/// A log as replication sees it.
pub struct View<'a>(pub &'a Log);

impl LogView for View<'_> {
    fn start_offset(&self) -> i64 {
        self.0.start_offset()
    }

    fn end_offset(&self) -> i64 {
        self.0.end_offset()
    }

    fn latest_epoch(&self) -> Option<i32> {
        self.0.epochs().latest()
    }

    fn end_offset_for(&self, leader_epoch: i32) -> Option<EpochEnd> {
        self.0
            .epochs()
            .end_offset_for(leader_epoch, self.0.end_offset())
            .map(|end| EpochEnd {
                leader_epoch: end.leader_epoch,
                end_offset: end.end_offset,
            })
    }
}

/// What a follower is doing about its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetching {
    /// Its next fetch may be sent.
    Ready,
    /// A request is under way.
    InFlight,
    /// It waits until this time, in milliseconds.
    Until(u64),
    /// It waits for metadata of a newer leader epoch.
    AwaitsMetadata,
}

/// A partition.
#[derive(Debug)]
pub struct Partition {
    /// Its topic's name.
    pub topic: String,
    /// The log.
    pub log: Log,
    /// The replica.
    pub replica: Replica,
    /// What it does as a follower.
    pub fetching: Fetching,
    /// Produce requests that wait for the log to be synced, or replicated.
    pub waiting: Vec<Waiting>,
    /// After how many records the log is synced.
    flush_interval: i64,
}

impl Partition {
    /// A partition whose log was opened and whose replica has heard nothing yet.
    pub fn new(topic: String, log: Log, replica: Replica, flush_interval: i64) -> Self {
        Self {
            topic,
            log,
            replica,
            fetching: Fetching::Ready,
            waiting: Vec::new(),
            flush_interval,
        }
    }

    /// How replication sees the log.
    pub fn view(&self) -> View<'_> {
        View(&self.log)
    }

    /// The end of the log as far as this replica itself may count.
    pub fn counted_end(&self) -> i64 {
        if self.flush_interval == 1 {
            self.log.synced_offset()
        } else {
            self.log.end_offset()
        }
    }

    /// Syncs the log if enough records have gathered.
    pub fn flush(&mut self) -> Result<(), StorageError> {
        if self.log.end_offset() - self.log.synced_offset() >= self.flush_interval {
            self.log.sync()?;
        }
        Ok(())
    }

    fn now<'a, B: Brokers>(&self, ms: u64, brokers: &'a B) -> Now<'a, B> {
        Now {
            ms,
            log_end: self.counted_end(),
            brokers,
        }
    }

    /// Metadata arrived. A new leader's epoch is in the log's cache, durably, when this returns.
    pub fn metadata(
        &mut self,
        state: &replication::Partition,
        ms: u64,
        brokers: &impl Brokers,
    ) -> Result<Transition, StorageError> {
        if state.leader_epoch > self.replica.leader_epoch() {
            // Whatever an earlier leader's records left unsynced counts for this leader from the start.
            self.flush()?;
        }
        let now = self.now(ms, brokers);
        let transition = self.replica.metadata(state, &View(&self.log), now);
        match &transition {
            Transition::BecameLeader { leader_epoch, .. } => {
                self.fetching = Fetching::Ready;
                self.log.assign_epoch(*leader_epoch)?;
            }
            Transition::BecameFollower { .. } => self.fetching = Fetching::Ready,
            Transition::Stale | Transition::Updated(_) => {}
        }
        Ok(transition)
    }

    /// The log grew, or was synced.
    pub fn appended(&mut self, ms: u64, brokers: &impl Brokers) -> Effects {
        let now = self.now(ms, brokers);
        match self.replica.leader_mut() {
            Some(leader) => leader.appended(now),
            None => Effects::default(),
        }
    }

    /// A follower fetched, validly.
    pub fn fetched(
        &mut self,
        fetch: &replication::FollowerFetch,
        ms: u64,
        brokers: &impl Brokers,
    ) -> Effects {
        let now = self.now(ms, brokers);
        match self.replica.leader_mut() {
            Some(leader) => leader.fetched(fetch, now),
            None => Effects::default(),
        }
    }

    /// Time passed.
    pub fn tick(&mut self, ms: u64, brokers: &impl Brokers) -> Effects {
        let now = self.now(ms, brokers);
        match self.replica.leader_mut() {
            Some(leader) => leader.tick(now),
            None => Effects::default(),
        }
    }

    /// The controller answered a proposal, or will not.
    pub fn isr_answer(
        &mut self,
        asked: &AlterIsr,
        answer: Result<replication::AlteredIsr, replication::AlterIsrError>,
        ms: u64,
        brokers: &impl Brokers,
    ) -> Effects {
        let now = self.now(ms, brokers);
        match self.replica.leader_mut() {
            Some(leader) => leader.isr_answer(asked.proposal, answer, now),
            None => Effects::default(),
        }
    }

    /// Reads whole batches below `bound`, from `offset` on.
    pub fn read(
        &self,
        offset: i64,
        bound: i64,
        max_bytes: usize,
        at_least_one: bool,
    ) -> Result<Bytes, StorageError> {
        let limit = ReadLimit {
            max_bytes,
            at_least_one,
            upper_bound: bound,
        };
        self.log.read(offset, limit)
    }

    /// What the follower must do with its leader's answer.
    pub fn answer(&self, plan: &FetchPlan, answer: &FetchAnswer) -> Option<Step> {
        Some(self.replica.follower()?.answer(plan, answer, &self.view()))
    }

    /// Appends what a leader sent, and syncs it if that is due: the next fetch tells the leader that this
    /// replica has it.
    pub fn append_as_follower(
        &mut self,
        batches: &[u8],
        leader_high_watermark: i64,
        leader_start: i64,
    ) -> Result<(), StorageError> {
        if !batches.is_empty() {
            let _: Appended = self.log.append_as_follower(batches)?;
            self.flush()?;
        }
        if leader_start > self.log.start_offset() && leader_start <= self.log.end_offset() {
            self.log.advance_start(leader_start)?;
        }
        if let Some(follower) = self.replica.follower_mut() {
            follower.appended(leader_high_watermark, &View(&self.log));
        }
        Ok(())
    }

    /// Cuts the log, synced where every record is: a tail that comes back after a loss of power would be
    /// taken for this replica's own.
    pub fn truncate(&mut self, to: i64) -> Result<(), StorageError> {
        self.log.truncate_to(to)?;
        if self.flush_interval == 1 {
            self.log.sync()?;
        }
        self.truncated();
        Ok(())
    }

    /// Drops the log, to start afresh.
    pub fn reset(&mut self, to: i64) -> Result<(), StorageError> {
        self.log.reset_to(to)?;
        self.truncated();
        Ok(())
    }

    fn truncated(&mut self) {
        if let Some(follower) = self.replica.follower_mut() {
            follower.truncated(&View(&self.log));
        }
    }
}
