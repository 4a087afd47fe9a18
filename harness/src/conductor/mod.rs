//! The conductor: the harness's own process, inside the ground. It knows the plan, and runs it: cluster, load, steps,
//! healing, final read, verdict.

mod boot;
mod condition;
mod faults;
mod hand;
mod nodes;
pub mod progress;
mod start;
mod steps;
mod wire;

use crate::error::{Error, Status};
use crate::hand::Hand;
use crate::judge;
use crate::plan::Plan;
use boot::Booted;
use clusters::System;
use faults::Undone;
pub use hand::unknown_fault;
use nodes::Alarm;
use progress::Progress;
use results::store;
use start::Unready;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Threads of the runtime: the machine may have two cores, which wire and disks share.
const WORKERS: usize = 2;
/// How long the final read may take, settling included.
const FINAL_READ_LIMIT: Duration = Duration::from_secs(20);

/// How the steps ended.
pub(crate) enum Ending {
    /// All of them, or the time, ran out as planned.
    Done,
    /// One did not reach its state: what is in the history decides, and nothing more is done but the final read.
    Stuck,
    /// A signal.
    Interrupted(i32),
}

/// Starts the harness's process: `__harness RUN_DIR [--json] [--no-progress] [--as-root] [--by-hand HAND]`.
pub fn main(args: &[String]) -> Status {
    let json = args.iter().any(|arg| arg == "--json");
    let progress = Progress {
        shown: !args.iter().any(|arg| arg == "--no-progress"),
    };
    let as_root = args.iter().any(|arg| arg == "--as-root");
    let Some(run_dir) = args.first().map(PathBuf::from) else {
        return Status::Usage;
    };
    if let Err(e) = ground::act_as_owner() {
        crate::tell(
            &Error::internal("acting as the one who typed sudo", e, "run it without sudo"),
            json,
        );
        return Status::Internal;
    }
    die_of_panics(&run_dir, json);
    let hand = args
        .iter()
        .position(|arg| arg == crate::BY_HAND)
        .and_then(|at| args.get(at + 1));
    let conducted = match hand {
        Some(hand) => stand(&run_dir, hand, (progress, json)),
        None => conduct(&run_dir, progress, as_root),
    };
    match conducted {
        Ok(status) => status,
        Err(error) => {
            log(&run_dir, &error.to_string());
            crate::tell(&error, json);
            error.status
        }
    }
}

/// A panic in any thread ends the run, in three lines and with status 70; the ground ends with it.
fn die_of_panics(run_dir: &Path, json: bool) {
    let run_dir = run_dir.to_path_buf();
    std::panic::set_hook(Box::new(move |panic| {
        let log_path = run_dir.join(store::LOG);
        log(
            &run_dir,
            &format!("{panic}\n{}", std::backtrace::Backtrace::force_capture()),
        );
        let error = Error::internal(
            "running the scenario",
            format!("the harness panicked: {panic}"),
            format!("report this, with {}", log_path.display()),
        );
        crate::tell(&error, json);
        std::process::exit(Status::Internal as i32);
    }));
}

/// Adds lines to the harness's log. A log that cannot be written is no reason to end a run.
fn log(run_dir: &Path, text: &str) {
    use std::io::Write;
    if let Ok(mut file) = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(run_dir.join(store::LOG))
    {
        let _ = writeln!(
            file,
            "{} {text}",
            humantime::format_rfc3339_millis(SystemTime::now())
        );
    }
}

/// What a mistake of the front's would be.
const BUG: &str = "report this: the front has written it";

fn read_plan(run_dir: &Path) -> Result<Plan, Error> {
    read_toml(&run_dir.join(store::PLAN))
}

/// The system, as the front has described it: not held against the rules for users' files again, for what the front
/// filled in is no user's words.
pub(crate) fn read_system(run_dir: &Path) -> Result<System, Error> {
    read_toml(&run_dir.join(store::SYSTEM))
}

/// A file that the front has written.
fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let failed = |e: &dyn std::fmt::Display| Error::internal(format!("reading {}", path.display()), e, BUG);
    let text = fs::read_to_string(path).map_err(|e| failed(&e))?;
    toml::from_str(&text).map_err(|e| failed(&e))
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|e| Error::internal("starting the harness's threads", e, "see `ulimit -u`"))
}

/// A cluster by hand.
fn stand(run_dir: &Path, hand: &str, shown: (Progress, bool)) -> Result<Status, Error> {
    let plan = read_plan(run_dir)?;
    let hand: Hand =
        serde_json::from_str(hand).map_err(|e| Error::internal("reading what is wanted", e, BUG))?;
    let runtime = runtime()?;
    let stood = runtime.block_on(hand::by_hand(&plan, run_dir, &hand, shown, Instant::now()));
    runtime.shutdown_background();
    stood
}

fn conduct(run_dir: &Path, progress: Progress, as_root: bool) -> Result<Status, Error> {
    let plan = read_plan(run_dir)?;
    let runtime = runtime()?;
    let began = Instant::now();
    let (ending, boot_s) = runtime.block_on(run(&plan, run_dir, progress, began))?;
    // Tasks that wait for answers from dead nodes are not waited for.
    runtime.shutdown_background();
    let duration_s = began.elapsed().as_secs_f64();
    let measured = judge::Measured {
        duration_s,
        boot_to_first_ack_s: boot_s,
        as_root,
    };
    let verdict = judge::judge_run(&plan, run_dir, &measured, interrupted(&ending))?;
    judge::keep_disks(&plan, run_dir, verdict);
    Ok(interrupted(&ending).map_or(verdict, Status::of_signal))
}

fn interrupted(ending: &Ending) -> Option<i32> {
    if let Ending::Interrupted(signal) = ending {
        Some(*signal)
    } else {
        None
    }
}

/// Runs the plan; gives how it ended, and the seconds from the first node's exec to the first acknowledged record.
async fn run(
    plan: &Plan,
    run_dir: &Path,
    progress: Progress,
    began: Instant,
) -> Result<(Ending, Option<f64>), Error> {
    let mut booted = match Booted::boot(plan, run_dir, began).await {
        Ok(booted) => booted,
        Err(Unready::Interrupted(signal)) => return Ok((Ending::Interrupted(signal), None)),
        Err(Unready::Failed(error)) => return Err(error),
    };
    let limit = Duration::from_millis(plan.limit_ms);
    let ending = match tokio::time::timeout(limit, steps::steps(plan, &mut booted, progress)).await {
        Ok(ending) => ending?,
        Err(_) => {
            booted.step(
                "run",
                false,
                &format!("the run did not end within its limit of {limit:?}"),
            )?;
            Ending::Stuck
        }
    };
    let boot_s = booted.boot_to_first_ack().await;
    if let Ending::Interrupted(_) = ending {
        wire::write(&booted.cluster, run_dir)?;
        return Ok((ending, boot_s));
    }
    // The heal and the final read have limits of their own; only an alarm can end them early.
    let mut alarms = booted.alarms.take();
    let heal = async {
        match booted.heal_all().await {
            Ok(_) => {}
            // The final read still tells what is left, and the verdict that this was not reached.
            Err(Undone::NotStarted(error)) => {
                let why = steps::not_up_again(&error);
                progress.line(&why);
                booted.step("heal", false, &format!("not reached: {why}"))?;
            }
            Err(Undone::Failed(error)) => return Err(error),
        }
        progress.line("the final read: every partition, from its start to its end, on fresh clients");
        booted.finish(plan, FINAL_READ_LIMIT).await
    };
    let ended = tokio::select! {
        done = heal => done.map(|()| None),
        alarm = alarms.fatal() => Ok(Some(alarm)),
    };
    let ended = ended?;
    wire::write(&booted.cluster, run_dir)?;
    match ended {
        None => Ok((ending, boot_s)),
        Some(Alarm::Interrupted(signal)) => Ok((Ending::Interrupted(signal), boot_s)),
        Some(alarm) => Err(alarm_error(&alarm)),
    }
}

/// An alarm that is a failure of the harness's own ground.
pub(crate) fn alarm_error(alarm: &Alarm) -> Error {
    match alarm {
        Alarm::Full(why) => Error::internal(
            "recording the run",
            why,
            "free some space, or name another place with --out; `df` shows what is full",
        ),
        Alarm::NodeDied { node, how } => Error::internal(format!("running node {node}"), how, "read its log"),
        Alarm::Interrupted(signal) => {
            Error::internal("running the scenario", format!("signal {signal}"), "run it again")
        }
    }
}
