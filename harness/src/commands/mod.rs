//! One file a command.

pub mod admin;
pub mod bench;
pub mod check;
pub mod doctor;
pub mod explain;
pub mod hand;
pub mod kafka;
pub mod run;
pub mod scenarios;
pub mod schema;
pub mod stored;
pub mod systems;
pub mod up;
