//! One replica of a partition, sans-IO: high watermark, ISR, divergence.
//!
//! A [`Replica`] is told what happened (metadata arrived, a follower fetched, the log grew, time passed,
//! the controller answered) and says what follows (a new high watermark, an `AlterPartition` to send,
//! a truncation to carry out). It knows no clock, socket, file, thread or randomness: time comes in as
//! milliseconds of any monotonic clock, the log as a [`LogView`], the cluster as a [`Brokers`].
//!
//! Layout:
//! - [`metadata`]: what the controller says about the partition and the brokers;
//! - [`view`]: what is asked of the log;
//! - [`fetch`]: the leader's checks of a Fetch: fencing, divergence, range;
//! - [`leader`]: high watermark (with the strict rule of KIP-966), ISR, acks=all;
//! - [`follower`]: what to fetch, and what to make of the answer;
//! - [`replica`]: the two roles, and the way between them.
//!
//! What it does not: elect, append, sync, wait, retry, or know about producers and transactions.
//!
//! Invariants:
//! - A leader's high watermark never decreases within its epoch, and never passes what any member of
//!   the maximal ISR is known to have.
//! - It does not move while the *committed* ISR is smaller than the effective min ISR, whatever the
//!   cluster's ELR level (KIP-966, "Additional High Watermark advance requirement").
//! - A follower's high watermark never exceeds its log's end: a truncation lowers it first.
//! - What was learnt under one leader epoch is not used under another.

pub mod fetch;
pub mod follower;
pub mod leader;
pub mod metadata;
pub mod replica;
pub mod view;

pub use fetch::{FetchCheck, FetchRefusal, FetchRequest, FollowerId};
pub use follower::{BatchSummary, FetchAnswer, FetchError, FetchPlan, Follower, IgnoreReason, Step};
pub use leader::{
    AlterIsr, AlterIsrError, AlteredIsr, Completion, Effects, FollowerFetch, IsrMember, Leader, Now, Refusal,
};
pub use metadata::{Broker, Brokers, Partition, Settings};
pub use replica::{Replica, Transition};
pub use view::{EpochEnd, LogView};
