//! The store of runs and their reports. Runs nothing.
//!
//! What it does: makes a run's folder ([`store`]), writes `result.json`, `anomalies.jsonl`, `junit.xml` and the
//! report, one HTML file that needs no network. What it does not: decide anything; a plot shows what the checker
//! found, and a run is judged without it.
//!
//! Invariants:
//! 1. Two runs never share a folder: it is made with mkdir.
//! 2. `result.json` is absent while a run is unfinished, and whole when it is there (written aside, synced, renamed).

pub mod store;
