//! A seeded simulator for the reference cluster's state machines.
//!
//! Nodes, disks, a network and time, all simulated, drive the very state machines that the server
//! drives, and every rule that must never break is checked after every step. One seed gives one
//! run, to the last step, on any machine: a seed that fails can be replayed.
//!
//! * [`quorum`]: voters and observers of `raft`, with an [`quorum::Application`] on top. The disk
//!   loses what was not synced, the network delays, drops, duplicates, reorders and parts, nodes
//!   crash between any two actions and come back.
//!
//! * [`cluster`]: the controller on such a quorum, and brokers, clients and the promise of KIP-966.
//!
//! What it does not: it simulates no bytes, no record format and no real scheduling; those are
//! tested where they live. Sabotage (see [`quorum::Sabotage`]) breaks a promise of the
//! *environment*, never the machine's code, to show that the checks can fail.
//!
//! Invariants: nothing here reads a clock, the machine's randomness or the order of a hash map.

pub mod cluster;
pub mod quorum;
mod random;
pub mod seeds;

pub use random::Random;
