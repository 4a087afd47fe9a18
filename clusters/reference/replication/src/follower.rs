//! A follower: what to fetch, and what to make of the answer.
//!
//! The driver sends a [`FetchPlan`], hands the answer to [`Follower::answer`], carries out the
//! [`Step`], reports it ([`Follower::truncated`], [`Follower::appended`]), and begins again. One fetch
//! at a time: an answer to any but the latest plan of this epoch is ignored.

use crate::metadata::Partition;
use crate::view::{EpochEnd, LogView};

/// What to ask the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPlan {
    /// Whom to ask.
    pub leader: i32,
    /// The leader epoch, sent along so that a wrong leader refuses.
    pub current_leader_epoch: i32,
    /// The end of our log.
    pub fetch_offset: i64,
    /// The latest epoch of our log; `None` when it has none.
    pub last_fetched_epoch: Option<i32>,
}

/// The header of a batch in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSummary {
    /// Its first offset.
    pub base_offset: i64,
    /// The offset after its last.
    pub next_offset: i64,
    /// Its partition leader epoch.
    pub leader_epoch: i32,
}

/// What the leader answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchAnswer {
    /// Records, perhaps none.
    Records {
        /// The whole batches of the answer, in order.
        batches: Vec<BatchSummary>,
        /// The leader's high watermark.
        high_watermark: i64,
        /// The leader's log start offset.
        log_start_offset: i64,
    },
    /// Our log departs from the leader's: where the leader's epoch, at or below our last, ended.
    Diverging(EpochEnd),
    /// An error.
    Error(FetchError),
}

/// The errors that a follower treats apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchError {
    /// OFFSET_OUT_OF_RANGE.
    OffsetOutOfRange,
    /// FENCED_LEADER_EPOCH: newer metadata is on its way to us.
    FencedLeaderEpoch,
    /// Anything else: the leader is not there yet, or in trouble.
    Other,
}

/// What the follower must do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Append the first `batches` batches of the answer (perhaps none), then call
    /// [`Follower::appended`] with the two offsets.
    Append {
        /// How many, from the front. Any later ones are of a later epoch than the fetch was, and are
        /// left out (KAFKA-18723).
        batches: usize,
        /// The leader's high watermark.
        leader_high_watermark: i64,
        /// The leader's log start offset.
        leader_log_start: i64,
    },
    /// Truncate the log *and its epoch cache* to this offset, then call [`Follower::truncated`]; then
    /// fetch again. The offset may be the log's end: then only the cache changes.
    Truncate {
        /// The offset.
        to: i64,
    },
    /// Ask the leader for its log's start and end (ListOffsets earliest and latest log end), and hand
    /// them to [`Follower::out_of_range`].
    AskLeaderRange,
    /// Drop the whole log and start afresh at this offset, then call [`Follower::truncated`].
    Reset {
        /// The leader's log start.
        to: i64,
    },
    /// Wait a little (`replica.fetch.backoff.ms`) and fetch again.
    Backoff,
    /// Stop fetching until metadata with a newer leader epoch arrives.
    AwaitMetadata,
    /// Do nothing with the answer; fetch again.
    Ignore(IgnoreReason),
}

/// Why an answer is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreReason {
    /// It was asked of another leader, or in another leader epoch (KAFKA-18991).
    OtherEpoch,
    /// The log has changed since it was asked.
    LogMoved,
    /// Its batches do not begin at our log's end, or do not follow each other.
    NotContiguous,
    /// A divergence that no leader could have found.
    Impossible,
}

/// A replica that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    leader: Option<i32>,
    leader_epoch: i32,
    partition_epoch: i32,
    high_watermark: i64,
}

#[allow(unused_variables)]
impl Follower {
    /// The offset up to which records are known to be committed.
    pub fn high_watermark(&self) -> i64 {
        self.high_watermark
    }
    /// The leader, when there is one.
    pub fn leader(&self) -> Option<i32> {
        self.leader
    }
    /// The leader epoch.
    pub fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }
    /// The partition epoch.
    pub fn partition_epoch(&self) -> i32 {
        self.partition_epoch
    }
    /// What to fetch now; `None` while there is no leader.
    pub fn plan(&self, log: &impl LogView) -> Option<FetchPlan> {
        todo!()
    }
    /// What to do with the answer to `plan`.
    pub fn answer(&self, plan: &FetchPlan, answer: &FetchAnswer, log: &impl LogView) -> Step {
        todo!()
    }
    /// What to do about an offset out of range, once the leader has said where its log starts and ends.
    pub fn out_of_range(&self, plan: &FetchPlan, leader_start: i64, leader_end: i64, log: &impl LogView) -> Step {
        todo!()
    }
    /// The log was truncated or reset.
    pub fn truncated(&mut self, log: &impl LogView) {
        todo!()
    }
    /// Batches were appended. Returns the high watermark.
    pub fn appended(&mut self, leader_high_watermark: i64, log: &impl LogView) -> i64 {
        todo!()
    }
    pub(crate) fn new(partition: &Partition, high_watermark: i64) -> Self {
        todo!()
    }
}
