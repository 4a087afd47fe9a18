//! `ackall analyze` and `ackall report`: a stored run, judged or told again.

use crate::cli::StoredArgs;
use crate::error::{Error, Status};
use crate::judge::{self, Measured};
use crate::plan::Plan;
use results::{RunResult, store};
use std::fs;
use std::path::{Path, PathBuf};

/// Judges a stored run again: the same bytes, the same verdict. Writes nothing.
pub fn analyze(args: &StoredArgs) -> Result<Status, Error> {
    let run_dir = find(args)?;
    let history = judge::read(&run_dir)?;
    if let Some(dropped) = &history.dropped {
        eprintln!(
            "the last line ({} bytes, line {}) is torn and was dropped",
            dropped.bytes, dropped.line
        );
    }
    let verdict = judge::judge(&history);
    let meta = meta(&run_dir, &history)?;
    let result = results::result(&history, &verdict, &meta);
    if args.json {
        let text = serde_json::to_string(&result)
            .map_err(|e| Error::internal("writing the verdict as JSON", e, "report this: it is a bug"))?;
        say!("{text}");
    } else {
        for line in results::summary::lines(&result, false) {
            say!("{line}");
        }
    }
    Ok(judge::status(&verdict))
}

/// Writes a stored run's report again.
pub fn report(args: &StoredArgs) -> Result<Status, Error> {
    let run_dir = find(args)?;
    let history = judge::read(&run_dir)?;
    let verdict = judge::judge(&history);
    let meta = meta(&run_dir, &history)?;
    results::write_report(&run_dir, &history, &verdict, &meta).map_err(|e| {
        Error::internal(
            format!("writing the report in {}", run_dir.display()),
            e,
            "free some space",
        )
    })?;
    let path = run_dir.join(store::REPORT);
    if args.json {
        say!("{}", serde_json::json!({"report": path}));
    } else {
        say!("{}", path.display());
    }
    Ok(Status::Pass)
}

fn find(args: &StoredArgs) -> Result<PathBuf, Error> {
    store::find_run(&args.out, &args.run).map_err(|why| {
        Error::usage(
            format!("finding the run {}", args.run),
            why,
            "name its folder, or `latest`",
        )
    })
}

/// What the run measured of itself is in its result, where it came to have one.
fn meta(run_dir: &Path, history: &history::History) -> Result<results::RunMeta, Error> {
    let path = run_dir.join(store::PLAN);
    let wrong = |e: &dyn std::fmt::Display| {
        Error::new(
            Status::Data,
            format!("reading {}", path.display()),
            e,
            "a run's folder holds its plan.toml",
        )
    };
    let text = fs::read_to_string(&path).map_err(|e| wrong(&e))?;
    let plan: Plan = toml::from_str(&text).map_err(|e| wrong(&e))?;
    let old: Option<RunResult> = fs::read(run_dir.join(store::RESULT))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let last = history
        .entries
        .last()
        .map_or(0.0, |entry| entry.time as f64 / 1e9);
    let measured = Measured {
        duration_s: old.as_ref().map_or(last, |old| old.meta.duration_s),
        boot_to_first_ack_s: old.as_ref().and_then(|old| old.meta.boot_to_first_ack_s),
        as_root: old.as_ref().is_some_and(|old| old.meta.environment.as_root),
    };
    let mut meta = judge::meta(&plan, run_dir, history, &measured);
    if let Some(old) = old {
        meta.environment = old.meta.environment;
    }
    Ok(meta)
}
