//! A simulated quorum: nodes with disks on a bad network, under an application.

mod administrators;
mod application;
mod campaign;
mod checks;
mod clock;
mod counts;
mod delivery;
mod disk;
mod execution;
mod faults;
mod ledger;
mod log;
mod network;
mod phases;
mod queue;
mod sabotage;
mod schedule;
mod settings;
mod shrink;
mod snapshots;
mod trace;
mod world;

pub use application::{Application, Post, Wish};
pub use campaign::{MIN_EVENTS, Order, Run, TRACE_LINES, run, run_with, settings_for};
pub use checks::{Checks, LogView, NAMED, Violation};
pub use counts::Counts;
pub use disk::{Disk, Snapshot, State};
pub use ledger::{Ledger, simulate};
pub use log::{Log, Record};
pub use phases::NO_LEADER_ROUNDS;
pub use sabotage::Sabotage;
pub use schedule::{Decision, DecisionId, NoDecision, NoScript, Schedule, Script};
pub use settings::{FaultKind, MILLISECOND, Outcome, Settings, VOTERS_MAX};
pub use shrink::{Shrunk, shrink};
pub use trace::Trace;
pub use world::World;
