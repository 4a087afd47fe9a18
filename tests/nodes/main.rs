//! Nodes of the reference cluster as processes on the loopback interface, and `ackall admin` against them: what it
//! says and changes, and what of bad input is refused, with nothing written over.

#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

#[path = "../kafka/process.rs"]
mod process;

mod admin;
mod bad_input;
mod night;
