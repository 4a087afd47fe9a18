//! A simulated quorum: nodes with disks on a bad network, under an application.

mod application;
mod checks;
mod disk;
mod execution;
mod faults;
mod ledger;
mod network;
mod sabotage;
mod settings;
mod world;

pub use application::{Application, Post, Wish};
pub use checks::{Checks, LogView, NAMED, Violation};
pub use disk::{Disk, Record};
pub use ledger::{Ledger, simulate};
pub use sabotage::Sabotage;
pub use settings::{MILLISECOND, Outcome, Settings};
pub use world::World;
