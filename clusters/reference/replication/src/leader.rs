//! A leader: how far the high watermark may go, who is in sync, what acks=all may be told.

use std::collections::BTreeSet;

use crate::metadata::{Brokers, Settings};

/// A Fetch of a follower that passed the checks ([`crate::FetchCheck::Valid`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerFetch {
    /// The follower.
    pub replica: i32,
    /// The broker epoch it names, -1 if none (`ReplicaEpoch`, Fetch 15 and later).
    pub broker_epoch: i64,
    /// Where it fetches from: the end of its log.
    pub fetch_offset: i64,
    /// When, in milliseconds of the driver's monotonic clock.
    pub now_ms: u64,
}

/// What follows from an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Effects {
    /// The high watermark moved to this: complete what waits for it.
    pub high_watermark: Option<i64>,
    /// Send this to the controller. At most one is in flight.
    pub alter_isr: Option<AlterIsr>,
}

/// An `AlterPartition` to send. It always says that the leader has recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterIsr {
    /// To be quoted with the answer.
    pub proposal: u64,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// The partition epoch on which the proposal rests.
    pub partition_epoch: i32,
    /// The new ISR.
    pub isr: Vec<IsrMember>,
}

/// A member of a proposed ISR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsrMember {
    /// The broker.
    pub broker: i32,
    /// The broker epoch under which it last fetched; -1 when it named none.
    pub broker_epoch: i64,
}

/// What the controller committed, in answer to an [`AlterIsr`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlteredIsr {
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The partition epoch after the change.
    pub partition_epoch: i32,
    /// The ISR.
    pub isr: Vec<i32>,
}

/// How the controller refused an [`AlterIsr`], by what the leader must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterIsrError {
    /// OPERATION_NOT_ATTEMPTED, INELIGIBLE_REPLICA: give the proposal up.
    Rejected,
    /// UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, FENCED_LEADER_EPOCH, INVALID_UPDATE_VERSION,
    /// INVALID_REQUEST, NEW_LEADER_ELECTED: our metadata is behind; stay pending until more arrives.
    Outdated,
    /// Anything else, and no answer at all: send it again.
    Retriable,
}

/// Why a request of a client cannot be served now. The names are those of the protocol's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// NOT_ENOUGH_REPLICAS: the committed ISR is smaller than the effective min ISR. Nothing may be
    /// appended for acks=all.
    NotEnoughReplicas,
    /// OFFSET_NOT_AVAILABLE: the high watermark has not reached this leader's epoch yet, and may be
    /// behind the last leader's.
    OffsetNotAvailable,
}

/// The state of an acks=all append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Not yet replicated to all of the maximal ISR.
    Waiting,
    /// Acknowledge it.
    Acknowledged,
    /// NOT_ENOUGH_REPLICAS_AFTER_APPEND: replicated, but by then to fewer than the min ISR.
    NotEnoughReplicasAfterAppend,
}

/// A replica that leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {}

#[allow(unused_variables)]
impl Leader {
    /// The leader epoch.
    pub fn leader_epoch(&self) -> i32 {
        todo!()
    }
    /// The partition epoch.
    pub fn partition_epoch(&self) -> i32 {
        todo!()
    }
    /// The log's end when this epoch began.
    pub fn epoch_start_offset(&self) -> i64 {
        todo!()
    }
    /// The high watermark: consumers read below it.
    pub fn high_watermark(&self) -> i64 {
        todo!()
    }
    /// The ISR that the controller has committed.
    pub fn committed_isr(&self) -> &BTreeSet<i32> {
        todo!()
    }
    /// The committed ISR with whom the leader is about to add to it.
    pub fn maximal_isr(&self) -> BTreeSet<i32> {
        todo!()
    }
    /// The proposal in flight.
    pub fn pending(&self) -> Option<&AlterIsr> {
        todo!()
    }
    /// The log grew; `log_end` is as far as the leader itself may count.
    pub fn appended(&mut self, log_end: i64, now_ms: u64, brokers: &impl Brokers) -> Effects {
        todo!()
    }
    /// A follower fetched, validly.
    pub fn fetched(&mut self, fetch: &FollowerFetch, log_end: i64, brokers: &impl Brokers) -> Effects {
        todo!()
    }
    /// Time passed: to be called every half of `replica.lag.time.max.ms` or more often.
    pub fn tick(&mut self, now_ms: u64, log_end: i64, brokers: &impl Brokers) -> Effects {
        todo!()
    }
    /// The controller answered `proposal`.
    pub fn isr_answer(
        &mut self,
        proposal: u64,
        answer: Result<AlteredIsr, AlterIsrError>,
        log_end: i64,
        now_ms: u64,
        brokers: &impl Brokers,
    ) -> Effects {
        todo!()
    }
    /// The topic's settings changed.
    pub fn set_settings(&mut self, settings: Settings) {
        todo!()
    }
    /// Whether an acks=all append may begin.
    pub fn admit_acks_all(&self) -> Result<(), Refusal> {
        todo!()
    }
    /// How an acks=all append stands, whose last record lies just below `required_offset`.
    pub fn completion(&self, required_offset: i64) -> Completion {
        todo!()
    }
    /// ListOffsets "latest", for a consumer.
    pub fn latest_offset(&self) -> Result<i64, Refusal> {
        todo!()
    }
}
