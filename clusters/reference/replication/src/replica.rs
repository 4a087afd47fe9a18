//! The two roles of a replica, and the way between them.

use crate::fetch::{FetchCheck, FetchRequest};
use crate::follower::Follower;
use crate::leader::{Effects, Leader};
use crate::metadata::{Brokers, Partition, Settings};
use crate::view::LogView;

/// What new metadata made of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Transition {
    /// It was older than what is known, or the same.
    Stale,
    /// It leads, in a new leader epoch. Before anyone is served, the log's epoch cache must be told
    /// that `leader_epoch` begins at `start_offset`, durably; all that waits for an older epoch fails.
    BecameLeader {
        /// The epoch.
        leader_epoch: i32,
        /// The log's end.
        start_offset: i64,
        /// The high watermark may have moved.
        effects: Effects,
    },
    /// It follows, in a new leader epoch: begin fetching (or stop, if there is no leader).
    BecameFollower {
        /// The leader, if there is one.
        leader: Option<i32>,
        /// The epoch.
        leader_epoch: i32,
    },
    /// Same role, same leader epoch, newer partition epoch.
    Updated(Effects),
}

/// A replica of a partition.
#[derive(Debug, Clone)]
pub struct Replica {}

#[allow(unused_variables)]
impl Replica {
    /// A replica on broker `id` that has heard nothing yet, with the high watermark of its checkpoint
    /// (clamped to its log).
    pub fn new(id: i32, settings: Settings, high_watermark: i64) -> Self {
        todo!()
    }
    /// Metadata about the partition arrived.
    pub fn metadata(
        &mut self,
        partition: &Partition,
        log: &impl LogView,
        now_ms: u64,
        brokers: &impl Brokers,
    ) -> Transition {
        todo!()
    }
    /// The topic's settings changed.
    pub fn set_settings(&mut self, settings: Settings) {
        todo!()
    }
    /// The high watermark, for the checkpoint.
    pub fn high_watermark(&self) -> i64 {
        todo!()
    }
    /// The latest leader epoch heard of; -1 if none.
    pub fn leader_epoch(&self) -> i32 {
        todo!()
    }
    /// The role of a leader.
    pub fn leader(&self) -> Option<&Leader> {
        todo!()
    }
    /// The role of a leader.
    pub fn leader_mut(&mut self) -> Option<&mut Leader> {
        todo!()
    }
    /// The role of a follower.
    pub fn follower(&self) -> Option<&Follower> {
        todo!()
    }
    /// The role of a follower.
    pub fn follower_mut(&mut self) -> Option<&mut Follower> {
        todo!()
    }
    /// The leader's checks of a Fetch.
    pub fn check_fetch(&self, request: &FetchRequest, log: &impl LogView) -> FetchCheck {
        todo!()
    }
    /// Up to which offset records may be returned: a follower reads to the log's end, a consumer to the
    /// high watermark.
    pub fn fetch_bound(&self, request: &FetchRequest, log: &impl LogView) -> i64 {
        todo!()
    }
}
