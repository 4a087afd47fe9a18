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

impl Follower {
    pub(crate) fn new(partition: &Partition, high_watermark: i64) -> Self {
        Self {
            leader: partition.leader,
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            high_watermark,
        }
    }

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
        Some(FetchPlan {
            leader: self.leader?,
            current_leader_epoch: self.leader_epoch,
            fetch_offset: log.end_offset(),
            last_fetched_epoch: log.latest_epoch(),
        })
    }

    /// What to do with the answer to `plan`.
    pub fn answer(&self, plan: &FetchPlan, answer: &FetchAnswer, log: &impl LogView) -> Step {
        if let Some(reason) = self.overtaken(plan, log) {
            return Step::Ignore(reason);
        }
        match answer {
            FetchAnswer::Records {
                batches,
                high_watermark,
                log_start_offset,
            } => match appendable(plan, batches) {
                Some(batches) => Step::Append {
                    batches,
                    leader_high_watermark: *high_watermark,
                    leader_log_start: *log_start_offset,
                },
                None => Step::Ignore(IgnoreReason::NotContiguous),
            },
            FetchAnswer::Diverging(end) => truncation(plan, end, log),
            FetchAnswer::Error(FetchError::OffsetOutOfRange) => Step::AskLeaderRange,
            FetchAnswer::Error(FetchError::FencedLeaderEpoch) => Step::AwaitMetadata,
            FetchAnswer::Error(FetchError::Other) => Step::Backoff,
        }
    }

    /// What to do about an offset out of range, once the leader has said, in the epoch of `plan`, where
    /// its log starts and ends (its end, not its high watermark).
    pub fn out_of_range(
        &self,
        plan: &FetchPlan,
        leader_start: i64,
        leader_end: i64,
        log: &impl LogView,
    ) -> Step {
        if let Some(reason) = self.overtaken(plan, log) {
            return Step::Ignore(reason);
        }
        if leader_end < plan.fetch_offset {
            // Only an unclean election makes a leader shorter than its follower.
            Step::Truncate { to: leader_end }
        } else if leader_start > plan.fetch_offset {
            Step::Reset { to: leader_start }
        } else {
            // In range by now; or an epoch that this leader never had, which its next answers tell.
            Step::Backoff
        }
    }

    /// The log was truncated or reset. Before anything else: a high watermark above the log's end would
    /// show records that are gone (KAFKA-14704).
    pub fn truncated(&mut self, log: &impl LogView) {
        self.high_watermark = self.high_watermark.min(log.end_offset()).max(log.start_offset());
    }

    /// The batches of a [`Step::Append`] were appended, if any. The high watermark becomes the leader's,
    /// as far as this log goes. Returns it.
    pub fn appended(&mut self, leader_high_watermark: i64, log: &impl LogView) -> i64 {
        self.high_watermark = leader_high_watermark
            .min(log.end_offset())
            .max(log.start_offset());
        self.high_watermark
    }

    /// Metadata of the same leader epoch arrived.
    pub(crate) fn update(&mut self, partition: &Partition) {
        self.partition_epoch = partition.partition_epoch;
    }

    /// Why an answer to `plan` says nothing any more.
    fn overtaken(&self, plan: &FetchPlan, log: &impl LogView) -> Option<IgnoreReason> {
        if Some(plan.leader) != self.leader || plan.current_leader_epoch != self.leader_epoch {
            return Some(IgnoreReason::OtherEpoch);
        }
        (Some(*plan) != self.plan(log)).then_some(IgnoreReason::LogMoved)
    }
}

/// How many batches may be appended; `None` when they do not continue the log.
fn appendable(plan: &FetchPlan, batches: &[BatchSummary]) -> Option<usize> {
    let mut next_offset = plan.fetch_offset;
    for (at, batch) in batches.iter().enumerate() {
        if batch.leader_epoch > plan.current_leader_epoch {
            return Some(at);
        }
        if batch.base_offset != next_offset || batch.next_offset <= next_offset {
            return None;
        }
        next_offset = batch.next_offset;
    }
    Some(batches.len())
}

/// How far to truncate, when the leader says that its epoch, at or below our last, ended at `end`.
///
/// If we know that epoch, the logs agree up to whichever end of it is smaller. If we do not, they agree
/// at most up to the end of our largest epoch below it; the next fetch names that one (KIP-279).
fn truncation(plan: &FetchPlan, end: &EpochEnd, log: &impl LogView) -> Step {
    let Some(asked) = plan.last_fetched_epoch else {
        return Step::Ignore(IgnoreReason::Impossible);
    };
    if end.leader_epoch > asked || end.end_offset < 0 {
        return Step::Ignore(IgnoreReason::Impossible);
    }
    let to = match log.end_offset_for(end.leader_epoch) {
        Some(own) if own.leader_epoch == end.leader_epoch => own.end_offset.min(end.end_offset),
        Some(own) => own.end_offset,
        None => end.end_offset,
    };
    let to = to.min(log.end_offset());
    // The same epoch and no shorter: nothing diverges, and truncating would never end.
    if end.leader_epoch == asked && to == log.end_offset() {
        return Step::Ignore(IgnoreReason::Impossible);
    }
    Step::Truncate { to }
}
