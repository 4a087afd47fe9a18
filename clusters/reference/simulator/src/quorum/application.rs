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

    /// A node started: it has no memory yet.
    fn started(&mut self, now: Nanos, node: usize);

    /// A node crashed.
    fn crashed(&mut self, now: Nanos, node: usize, random: &mut Random);

    /// Whether a node is not to be crashed now, for the sake of what the run is to show.
    fn spares(&self, _node: usize) -> bool {
        false
    }

    /// A node learnt that this record (none: a LeaderChange) is committed.
    ///
    /// # Errors
    ///
    /// When that breaks a rule of the application's.
    fn apply(
        &mut self,
        now: Nanos,
        node: usize,
        offset: Offset,
        epoch: Epoch,
        payload: Option<&Self::Payload>,
    ) -> Result<(), Violation>;

    /// A node's state is that of a snapshot of all below `end` from now on. Only where the settings
    /// have snapshots.
    ///
    /// # Errors
    ///
    /// When that breaks a rule of the application's.
    fn restored(&mut self, _now: Nanos, _node: usize, _end: Offset) -> Result<(), Violation> {
        Ok(())
    }

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

    /// One of its events happens.
    ///
    /// # Errors
    ///
    /// When a rule of the application's is broken.
    fn on_event(&mut self, now: Nanos, event: Self::Event, random: &mut Random) -> Result<(), Violation>;

    /// What is to happen because of what has happened. Asked after every call.
    fn take_posts(&mut self) -> Vec<Post<Self::Event>>;

    /// Faults are over: from now on all nodes are up and all messages arrive.
    fn calm(&mut self, now: Nanos);

    /// Whether what the application promises for calm times has come true.
    fn recovered(&self, now: Nanos) -> bool;

    /// Where it stands, for the report of a run that does not recover.
    fn summary(&self) -> String;
}

/// What an application asks of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish<P> {
    /// Append these records, in one batch, as the leader of that epoch.
    Append(Epoch, Vec<P>),
    /// Give up leading.
    Resign,
    /// Stop the node in good order, and start it again after so long.
    Stop(Nanos),
}

/// An event that an application causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Post<E> {
    /// It happens after so long.
    Later(Nanos, E),
    /// It is a message from one node to another: it happens when and if it arrives.
    Message {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// The event of its arrival.
        event: E,
    },
}
