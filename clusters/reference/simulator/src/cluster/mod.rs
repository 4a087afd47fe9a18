//! A simulated cluster: controllers on a quorum, brokers that observe it, and clients.
//!
//! The first nodes are the quorum's voters, each with a [`controller::Controller`]; the others are
//! brokers, which learn the metadata as observers of the quorum. Brokers register, send heartbeats,
//! stop in good order or crash (and then lose the end of their logs), lead and follow partitions,
//! and change ISRs. What they replicate is a model, kept to the rules of KIP-966; the state machine
//! for it is tested where it lives.
//!
//! Checked after every committed record: the rules of ISR and ELR (`rules`), and that every
//! controller's and broker's image is the same at the same offset. Checked whenever a broker begins
//! to lead: that it has every record that was acknowledged, unless the cluster has lost more than
//! KIP-966 promises to bear (`promise`).

mod app;
mod broker;
mod controllers;
mod following;
mod leading;
mod lifecycle;
mod log;
mod message;
mod promise;
mod rules;
mod settings;

pub use app::{Cluster, simulate};
pub use settings::{ClusterSettings, Flaw};
