//! One file a command.

pub mod bench;
pub mod doctor;
pub mod run;
pub mod scenarios;
pub mod schema;
pub mod stored;
