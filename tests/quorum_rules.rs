//! The rules that `quorum`, and the campaign of that name, hold a cluster to: each fires, and each has a case in which
//! it does not. (`quorum` itself is all the roles of a run, and has no test harness.)
#![cfg(target_os = "linux")]
#![allow(dead_code, unused_imports)] // what makes a run is not run here

#[path = "quorum/campaign/mod.rs"]
mod campaign;
