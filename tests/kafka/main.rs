//! Apache Kafka on our side of the fence: its tools read our files and ask our quorum, its controller votes in
//! our quorum and leads it, our observer reads its metadata log, and whole runs have it under test.
//!
//! Where Kafka's jars cannot be had (see `docs/ci.md`) these say SKIPPED and pass, unless `ACKALL_REQUIRE` names
//! `kafka`. One JVM, or one cluster of them, runs at a time, on any machine.

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
mod nights;
mod process;
mod quorum;
mod reference;
mod starts;
