//! The reference cluster: nodes that speak Kafka's protocol.
//!
//! `ackall node` formats a node's folder and runs the node: a controller, which is a member of the metadata
//! quorum, or a broker, which holds partitions. The decisions are elsewhere: of the quorum in [`raft`], of the
//! active controller in [`controller`], of a replica in [`replication`]; the files are in [`storage`]. What is
//! here: the sockets, the clock, the command line, the mapping to Kafka's messages, and the order in which
//! things happen.
//!
//! What it does not: consumer groups, idempotent producers, transactions, retention, compaction, fetch
//! sessions, authentication. Nothing of it is advertised.
//!
//! Invariants:
//! - One task owns a node's state, and handles one event at a time.
//! - Nothing is acknowledged, voted or fetched on the strength of bytes that a configuration wants synced and
//!   that are not.
//! - Bytes from others never end a node: a malformed request closes its connection.
//! - A disk that refuses ends the node at once, with status 1: what it then holds is unknown.

mod admin;
mod api;
mod broker;
mod clock;
mod command;
pub mod config;
mod controller_node;
mod diary;
mod failure;
mod features;
pub mod format;
mod names;
mod net;
pub mod node;
mod quorum;

pub use command::main;
pub use failure::Failure;
