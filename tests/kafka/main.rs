//! Apache Kafka on our side of the fence: its tools read our files and ask our quorum, its controller votes in
//! our quorum and leads it, and our observer reads its metadata log.
//!
//! Where Kafka's jars cannot be had (see `docs/ci.md`) these say SKIPPED and pass, unless `ACKALL_REQUIRE` names
//! `kafka`. One JVM at a time runs, on any machine.

#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod apache;
mod archive;
mod dump;
mod formats;
mod jvm;
mod mixed;
mod names;
mod process;
mod quorum;
mod reference;
