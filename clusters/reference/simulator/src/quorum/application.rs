//! What runs on top of a quorum: whatever appends records, and applies those committed.

use raft::{Epoch, Nanos, Offset, Raft};

use super::Violation;
use crate::Random;

/// A replicated application, as the simulation sees it: all nodes' instances in one.
pub trait Application: std::fmt::Debug {
    /// What its records say.
    type Payload: Clone + std::fmt::Debug;
    /// Its own events: timers, messages of its own.
    type Event: std::fmt::Debug;

    /// Tells payloads apart.
    fn fingerprint(payload: &Self::Payload) -> u64;

    /// A node lost its memory, or comes back without any.
    fn forget(&mut self, node: usize);

    /// A node learnt that this record (none: a LeaderChange) is committed.
    ///
    /// # Errors
    ///
    /// When that breaks a rule of the application's.
    fn apply(
        &mut self,
        node: usize,
        offset: Offset,
        epoch: Epoch,
        payload: Option<&Self::Payload>,
    ) -> Result<(), Violation>;

    /// Something happened at a node that is up. What it wishes is done at once, and it is asked
    /// again until it wishes nothing.
    ///
    /// # Errors
    ///
    /// When a rule of the application's is broken.
    fn after_step(
        &mut self,
        now: Nanos,
        node: usize,
        raft: &Raft,
    ) -> Result<Option<Wish<Self::Payload>>, Violation>;

    /// One of its events happens. It returns those that follow from it, with their times.
    ///
    /// # Errors
    ///
    /// When a rule of the application's is broken.
    fn on_event(
        &mut self,
        now: Nanos,
        event: Self::Event,
        random: &mut Random,
        up: &[bool],
    ) -> Result<Vec<(Nanos, Self::Event)>, Violation>;

    /// Faults are over: from now on all nodes are up and all messages arrive.
    fn calm(&mut self, now: Nanos);

    /// Whether what the application promises for calm times has come true.
    fn recovered(&self, now: Nanos) -> bool;
}

/// What an application asks of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish<P> {
    /// Append these records, in one batch, as the leader of that epoch.
    Append(Epoch, Vec<P>),
    /// Give up leading.
    Resign,
}
