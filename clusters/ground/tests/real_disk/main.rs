//! Real file systems, cut by their own shutdown: what a cut takes and what is told of it, the remainders of
//! `docs/durability.md`, and random streams of operations. Needs root, loop devices and mkfs; says SKIPPED without.
#![cfg(target_os = "linux")]

mod bench;
mod door;
mod found;
#[path = "../../disk/tests/support/home.rs"]
mod home;
#[path = "../../disk/tests/support/legal.rs"]
mod legal;
mod named;
mod nudge;
#[path = "../../disk/tests/support/remainders.rs"]
mod remainders;
mod streams;
