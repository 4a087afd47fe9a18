//! The store of runs and their reports. Runs nothing.
//!
//! What it does: makes a run's folder ([`store`]), writes `result.json`, `anomalies.jsonl`, `junit.xml` and the
//! report, one HTML file that needs no network ([`write_all`]), and tells a result in five lines ([`summary`]).
//! What it does not: decide anything; a plot shows what the checker found, and a run is judged without it. It opens
//! no file but those in the run's folder.
//!
//! Invariants:
//! 1. Two runs never share a folder: it is made with mkdir.
//! 2. Each file is whole where it is there (written aside, synced, renamed), and `result.json` comes last: while it
//!    is absent, the run is unfinished.
//! 3. Everything that came from a run (names, texts, errors) is escaped in what it is written into.
//! 4. The report tells at most so much as a person reads ([`RECORDS_TOLD`]); `anomalies.jsonl` has everything.

mod anomalies;
mod faults;
mod junit;
#[cfg(test)]
mod night;
mod page;
mod result;
mod steps;
pub mod store;
mod story;
pub mod summary;
mod text;
mod timeline;

pub use faults::FaultResult;
pub use page::RECORDS_TOLD;
pub use result::{AnomalyResult, EXAMPLES, Environment, Example, PromiseResult, RunMeta, RunResult, SCHEMA, result};

use checker::Verdict;
use history::History;
use std::io;
use std::path::Path;

/// The JSON Schema of `result.json`.
pub const RESULT_SCHEMA: &str = include_str!("../schema/result.schema.json");

/// Writes everything that a judged run leaves in its folder; `result.json` last.
///
/// # Errors
/// Where the folder takes a file no more.
pub fn write_all(run_dir: &Path, history: &History, verdict: &Verdict, meta: &RunMeta) -> io::Result<RunResult> {
    let result = result(history, verdict, meta);
    store::write_whole(&run_dir.join(store::ANOMALIES), &anomalies::lines(verdict)?)?;
    store::write_whole(&run_dir.join(store::JUNIT), junit::suite(&result).as_bytes())?;
    store::write_whole(&run_dir.join(store::REPORT), page::page(history, verdict, &result)?.as_bytes())?;
    let mut json = serde_json::to_vec_pretty(&result)?;
    json.push(b'\n');
    store::write_whole(&run_dir.join(store::RESULT), &json)?;
    Ok(result)
}

/// Writes a run's report, and nothing else.
///
/// # Errors
/// Where the folder takes no file.
pub fn write_report(run_dir: &Path, history: &History, verdict: &Verdict, meta: &RunMeta) -> io::Result<()> {
    let result = result(history, verdict, meta);
    store::write_whole(&run_dir.join(store::REPORT), page::page(history, verdict, &result)?.as_bytes())
}
