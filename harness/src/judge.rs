//! From a stored history to a verdict and its files. The run and `ackall analyze` come here alike.

use crate::error::{Error, Status};
use crate::plan::{KeepDisks, Plan};
use checker::{Outcome, Verdict};
use history::{Body, History};
use results::{Environment, RunMeta, store};
use std::fs;
use std::path::Path;

/// What only the run itself can measure.
pub struct Measured {
    /// Seconds from its start to its last entry.
    pub duration_s: f64,
    /// Seconds from the first node's exec to the first acknowledged record.
    pub boot_to_first_ack_s: Option<f64>,
    /// Whether root ran it.
    pub as_root: bool,
}

/// Reads a stored history.
///
/// # Errors
/// 65, where it is malformed; usage, where there is none.
pub fn read(run_dir: &Path) -> Result<History, Error> {
    let path = run_dir.join(store::HISTORY);
    history::read_path(&path).map_err(|e| match e {
        history::ReadError::Io(e) => Error::usage(
            format!("reading {}", path.display()),
            e,
            "name a run's folder; `latest` is the newest",
        ),
        e => Error::new(
            Status::Data,
            format!("reading {}", path.display()),
            e,
            "mend or remove that line; a torn last line would be dropped by itself",
        ),
    })
}

/// The verdict on a history.
pub fn judge(history: &History) -> Verdict {
    checker::check(history)
}

/// The exit status of a verdict.
pub fn status(verdict: &Verdict) -> Status {
    status_of(verdict.verdict)
}

/// The exit status of an outcome.
pub fn status_of(outcome: Outcome) -> Status {
    match outcome {
        Outcome::Pass => Status::Pass,
        Outcome::Fail => Status::Fail,
        Outcome::Unknown => Status::Unknown,
    }
}

/// Judges a run that has just ended, and writes everything that says so.
///
/// # Errors
/// 70, where its files cannot be written.
pub fn judge_run(
    plan: &Plan,
    run_dir: &Path,
    measured: &Measured,
    interrupted: Option<i32>,
) -> Result<Status, Error> {
    let history = read(run_dir)?;
    let mut verdict = judge(&history);
    if let Some(signal) = interrupted {
        // An interrupted run can still have failed; it can never have passed.
        if verdict.verdict == Outcome::Pass {
            verdict.verdict = Outcome::Unknown;
        }
        verdict.reasons.insert(
            0,
            checker::Reason {
                code: "interrupted".into(),
                message: format!("signal {signal} ended the run before its plan did"),
            },
        );
    }
    let meta = meta(plan, run_dir, &history, measured);
    results::write_all(run_dir, &history, &verdict, &meta).map_err(|e| {
        Error::internal(
            format!("writing the result in {}", run_dir.display()),
            e,
            "free some space",
        )
    })?;
    Ok(status(&verdict))
}

/// What a report says beside the verdict.
pub fn meta(plan: &Plan, run_dir: &Path, history: &History, measured: &Measured) -> RunMeta {
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_name)
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    RunMeta {
        scenario: plan.scenario.clone(),
        seed: plan.seed,
        system: plan.system.clone(),
        // A system without a version of its own is part of this program, or nobody has said.
        version: Some(&plan.system_version)
            .filter(|version| !version.is_empty())
            .unwrap_or(&plan.ackall_version)
            .clone(),
        ackall_version: plan.ackall_version.clone(),
        ground: "local".into(),
        command: plan.command.clone(),
        run: format!("{}/{}", name(run_dir.parent()), name(Some(run_dir))),
        path: run_dir.display().to_string(),
        history: store::HISTORY.into(),
        started_at: history.header.started_at.clone(),
        duration_s: measured.duration_s,
        boot_to_first_ack_s: measured.boot_to_first_ack_s,
        environment: environment(history, measured.as_root),
    }
}

fn environment(history: &History, as_root: bool) -> Environment {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let kib = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
    Environment {
        kernel: read("/proc/sys/kernel/osrelease").trim().to_string(),
        arch: std::env::consts::ARCH.into(),
        cores: std::thread::available_parallelism().map_or(0, |n| n.get() as u64),
        memory_bytes: kib.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0) * 1024,
        as_root,
        stalls: history
            .entries
            .iter()
            .filter(|entry| matches!(entry.body, Body::Stall(_)))
            .count() as u64,
    }
}

/// Removes the nodes' disks, and what power cuts took from them, where the plan says so.
pub fn keep_disks(plan: &Plan, run_dir: &Path, status: Status) {
    let keep = match plan.keep_disks {
        KeepDisks::Always => true,
        KeepDisks::OnFail => status != Status::Pass,
        KeepDisks::Never => false,
    };
    if keep {
        return;
    }
    // Nodes may still run and write: what cannot be removed now is only space, and the ground ends in a moment.
    for node in fs::read_dir(run_dir.join(store::NODES))
        .into_iter()
        .flatten()
        .flatten()
    {
        for folder in ["disk", "lost", "trash"] {
            let _ = fs::remove_dir_all(node.path().join(folder));
        }
    }
}
