//! `ackall bench`: boot to the first acknowledged record, and operations recorded a second. Ratios against a peer are
//! not made here; the figures go to `docs/` with the machine.

use crate::cli::SystemArgs;
use crate::error::{Error, Status};
use crate::scenario::Scenario;
use history::{Body, Header, Key, Kind, Process, Recorder, Send};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The steady part of a boot that is measured: long enough for one ack.
const STEADY: &str = "1s";

/// What was measured.
#[derive(Serialize)]
struct Figures {
    boots: usize,
    boots_without_ack: u32,
    boot_to_first_ack_s_median: Option<f64>,
    boot_to_first_ack_s_worst: Option<f64>,
    operations: u64,
    operations_recorded_per_s: f64,
    operations_in_the_file_after_sigkill: u64,
    cores: usize,
}

/// Measures and prints.
pub fn bench(system: &SystemArgs, boots: u32, operations: u64, json: bool) -> Result<Status, Error> {
    let folder = Folder::make()?;
    let (recorded_per_s, kept) = record(&folder.0, operations)?;
    let (mut seconds, mut without_ack) = (Vec::new(), 0);
    for boot in 0..boots {
        if !json {
            eprintln!("boot {} of {boots}", boot + 1);
        }
        match boot_once(system, &folder.0, boot)? {
            Some(figure) => seconds.push(figure),
            None => without_ack += 1,
        }
    }
    seconds.sort_by(f64::total_cmp);
    let figures = Figures {
        boots: seconds.len(),
        boots_without_ack: without_ack,
        boot_to_first_ack_s_median: seconds.get(seconds.len() / 2).copied(),
        boot_to_first_ack_s_worst: seconds.last().copied(),
        operations,
        operations_recorded_per_s: recorded_per_s,
        operations_in_the_file_after_sigkill: kept,
        cores: std::thread::available_parallelism().map_or(0, |n| n.get()),
    };
    let text = serde_json::to_string_pretty(&figures)
        .map_err(|e| Error::internal("writing the figures", e, "report this: it is a bug"))?;
    if json {
        say!("{text}");
    } else {
        for line in text.lines().filter(|line| line.contains(':')) {
            say!(
                "{}",
                line.trim().trim_end_matches(',').replace(['"', '_'], " ").trim()
            );
        }
    }
    Ok(Status::Pass)
}

/// A folder of the benchmark's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Folder, Error> {
        let path = std::env::current_dir()
            .unwrap_or_else(|_| std::env::temp_dir())
            .join(format!("ackall-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| {
            Error::internal(
                format!("making {}", path.display()),
                e,
                "run it in a folder of yours",
            )
        })?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One run of `calm` in a process of its own; the seconds from the first node's exec to the first ack.
fn boot_once(system: &SystemArgs, folder: &Path, boot: u32) -> Result<Option<f64>, Error> {
    let mut command = Command::new("/proc/self/exe");
    if let Some(home) = &system.kafka_home {
        command.env("ACKALL_KAFKA_HOME", home);
    }
    let failed =
        |why: String| Error::internal("measuring a boot", why, "run `ackall calm --time 1s` by hand");
    let run_dir = folder.join(format!("boot-{boot}"));
    let output = command
        .args([
            "run",
            "calm",
            "--time",
            STEADY,
            "--json",
            "--no-progress",
            "--keep-disks",
            "never",
        ])
        .args(["--system", &system.system])
        .args(["--seed", &boot.to_string(), "--run-dir"])
        .arg(&run_dir)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| failed(e.to_string()))?;
    let result: results::RunResult =
        serde_json::from_slice(&output.stdout).map_err(|e| failed(format!("its result: {e}")))?;
    let _ = std::fs::remove_dir_all(run_dir);
    Ok(result.meta.boot_to_first_ack_s)
}

/// The first argument of the process that records until it is killed.
pub const RECORD_ROLE: &str = "__record";

/// A process records operations as fast as it can and is then killed by SIGKILL; gives operations a second while it
/// recorded, and how many whole operations are in the file afterwards.
fn record(folder: &Path, operations: u64) -> Result<(f64, u64), Error> {
    use std::io::BufRead;
    let failed =
        |why: String| Error::internal("measuring the recorder", why, "see whether the disk has room");
    let path = folder.join("history.jsonl");
    let mut child = Command::new("/proc/self/exe")
        .args([RECORD_ROLE, &operations.to_string()])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| failed(e.to_string()))?;
    let mut said = String::new();
    if let Some(out) = child.stdout.take() {
        std::io::BufReader::new(out)
            .read_line(&mut said)
            .map_err(|e| failed(e.to_string()))?;
    }
    child
        .kill()
        .and_then(|()| child.wait().map(|_| ()))
        .map_err(|e| failed(e.to_string()))?;
    let seconds: f64 = said
        .trim()
        .parse()
        .map_err(|_| failed(format!("it said {said:?}")))?;
    let history = history::read_path(&path).map_err(|e| failed(e.to_string()))?;
    Ok((operations as f64 / seconds, history.entries.len() as u64 / 2))
}

/// The recording process: says how many seconds it took, and waits to be killed.
pub fn record_until_killed(args: &[String]) -> Status {
    let [operations, path] = args else {
        return Status::Usage;
    };
    let (Ok(operations), Ok(file)) = (operations.parse::<u64>(), std::fs::File::create(path)) else {
        return Status::Usage;
    };
    match record_operations(file, operations) {
        Ok(took) => {
            say!("{}", took.as_secs_f64());
            // Bounded: whoever started us kills us at once, or is gone.
            std::thread::sleep(Duration::from_secs(10));
            Status::Pass
        }
        Err(_) => Status::Internal,
    }
}

fn record_operations(file: std::fs::File, operations: u64) -> std::io::Result<Duration> {
    let scenario = Scenario::find("calm").map_err(|e| std::io::Error::other(e.to_string()))?;
    let header = Header {
        schema: history::SCHEMA,
        ackall_version: env!("CARGO_PKG_VERSION").into(),
        started_at: humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string(),
        scenario: scenario.name,
        seed: 0,
        system: "none".into(),
        promises: Vec::new(),
        requirements: Vec::new(),
        topics: Vec::new(),
        features: Default::default(),
        server: None,
    };
    let recorder = Recorder::new(file, &header, Instant::now())?;
    let key = Key {
        topic: "night".into(),
        id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
        partition: 0,
    };
    let began = Instant::now();
    for value in 0..operations {
        let send = Send {
            key: key.clone(),
            value,
            acks: -1,
            node: Some(0),
            offset: None,
            error: None,
        };
        recorder.record(Process::Client(0), Kind::Invoke, Body::Send(send.clone()))?;
        let done = Send {
            offset: Some(value as i64),
            ..send
        };
        recorder.record(Process::Client(0), Kind::Ok, Body::Send(done))?;
    }
    Ok(began.elapsed())
}
