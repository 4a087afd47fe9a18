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
pub mod check;
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
pub use result::{
    AnomalyResult, EXAMPLES, Environment, Example, PromiseResult, RunMeta, RunResult, SCHEMA, result,
};
pub use text::{grouped, quoted};

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
pub fn write_all(
    run_dir: &Path,
    history: &History,
    verdict: &Verdict,
    meta: &RunMeta,
) -> io::Result<RunResult> {
    let result = result(history, verdict, meta);
    store::write_whole(&run_dir.join(store::ANOMALIES), &anomalies::lines(verdict)?)?;
    store::write_whole(&run_dir.join(store::JUNIT), junit::suite(&result).as_bytes())?;
    store::write_whole(
        &run_dir.join(store::REPORT),
        page::page(history, verdict, &result)?.as_bytes(),
    )?;
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
    store::write_whole(
        &run_dir.join(store::REPORT),
        page::page(history, verdict, &result)?.as_bytes(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Temporary(std::path::PathBuf);
    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
    fn temporary(name: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("ackall-results-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Temporary(path)
    }

    #[test]
    fn a_judged_run_leaves_four_files_and_a_result_that_follows_the_schema() {
        let folder = temporary("all");
        let history = night::night(false);
        let result = write_all(
            &folder.0,
            &history,
            &night::judged(&history, false),
            &night::meta(),
        )
        .unwrap();
        let mut names: Vec<_> = fs::read_dir(&folder.0)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [store::ANOMALIES, store::JUNIT, store::REPORT, store::RESULT]
        );
        let json: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.0.join(store::RESULT)).unwrap()).unwrap();
        let schema = serde_json::from_str(RESULT_SCHEMA).unwrap();
        assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&json));
        assert_eq!(serde_json::from_value::<RunResult>(json).unwrap(), result);
        let anomalies = fs::read_to_string(folder.0.join(store::ANOMALIES)).unwrap();
        assert_eq!(anomalies.lines().count(), 651);
    }

    #[test]
    fn a_run_whose_files_cannot_be_written_has_no_result() {
        let folder = temporary("none");
        // A folder stands where the report should go: a rename onto it fails.
        fs::create_dir_all(folder.0.join(store::REPORT).join("in the way")).unwrap();
        let history = night::night(true);
        assert!(
            write_all(
                &folder.0,
                &history,
                &night::judged(&history, true),
                &night::meta()
            )
            .is_err()
        );
        assert!(!folder.0.join(store::RESULT).exists());
    }

    #[test]
    fn a_report_alone_is_written_again_as_it_was() {
        let folder = temporary("report");
        let history = night::night(true);
        let verdict = night::judged(&history, true);
        write_all(&folder.0, &history, &verdict, &night::meta()).unwrap();
        let first = fs::read(folder.0.join(store::REPORT)).unwrap();
        fs::remove_file(folder.0.join(store::REPORT)).unwrap();
        fs::remove_file(folder.0.join(store::RESULT)).unwrap();
        write_report(&folder.0, &history, &verdict, &night::meta()).unwrap();
        assert_eq!(fs::read(folder.0.join(store::REPORT)).unwrap(), first);
        assert!(!folder.0.join(store::RESULT).exists());
    }
}
