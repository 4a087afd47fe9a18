//! `ackall bench`: boot to the first acknowledged record, a whole night, and operations recorded a second. Of another
//! system than the reference cluster the figures stand beside the reference cluster's, taken in turn with them. The
//! figures go to `docs/` with the machine.

use crate::cli::{BenchArgs, SystemArgs};
use crate::error::{Error, Status};
use crate::scenario::Scenario;
use crate::system::REFERENCE;
use history::{Body, Header, Key, Kind, Process, Recorder, Send};
use results::store;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A boot that is measured: a steady part long enough for one ack.
const BOOT: [&str; 3] = ["calm", "--time", "1s"];
/// A whole night.
const NIGHT: [&str; 1] = ["last-replica-standing"];

/// What was measured.
#[derive(Serialize)]
struct Figures {
    systems: Vec<OfSystem>,
    operations: u64,
    operations_recorded_per_s: f64,
    operations_in_the_file_after_sigkill: u64,
    cores: usize,
}

/// What was measured of one system.
#[derive(Serialize)]
struct OfSystem {
    system: String,
    /// From the exec of the first node, disks formatted, to the first acknowledged record.
    boot_to_first_ack_s: Spread,
    /// The same from before the first disk is formatted.
    format_to_first_ack_s: Spread,
    /// A whole `last-replica-standing`, verdict and report included, by its command.
    night_s: Spread,
}

/// Some seconds, of which those that gave none are counted.
#[derive(Serialize)]
struct Spread {
    of: usize,
    without: usize,
    median: Option<f64>,
    worst: Option<f64>,
}

impl Spread {
    fn of(all: impl IntoIterator<Item = Option<f64>>) -> Spread {
        let all: Vec<Option<f64>> = all.into_iter().collect();
        let mut seconds: Vec<f64> = all.iter().flatten().copied().collect();
        seconds.sort_by(f64::total_cmp);
        Spread {
            of: all.len(),
            without: all.len() - seconds.len(),
            median: seconds.get(seconds.len() / 2).copied(),
            worst: seconds.last().copied(),
        }
    }

    fn words(&self) -> String {
        let (Some(median), Some(worst)) = (self.median, self.worst) else {
            return format!("none of {}", self.of);
        };
        let without = match self.without {
            0 => String::new(),
            n => format!(", {n} gave none"),
        };
        format!("median {median:.2} s, worst {worst:.2} s of {}{without}", self.of)
    }
}

/// One run: its seconds.
struct Measured {
    boot: Option<f64>,
    with_format: Option<f64>,
    whole: f64,
}

/// Measures and prints.
pub fn bench(args: &BenchArgs) -> Result<Status, Error> {
    let folder = Folder::make()?;
    let (recorded_per_s, kept) = record(&folder.0, args.operations)?;
    let asked = args.system.system.as_str();
    let mut names = vec![REFERENCE];
    names.extend((asked != REFERENCE).then_some(asked));
    let boots = measure(args, &names, &folder.0, (args.boots, &BOOT))?;
    let nights = measure(args, &names, &folder.0, (args.nights, &NIGHT))?;
    let of_system = |((name, boots), nights): ((&&str, Vec<Measured>), Vec<Measured>)| OfSystem {
        system: name.to_string(),
        boot_to_first_ack_s: Spread::of(boots.iter().map(|run| run.boot)),
        format_to_first_ack_s: Spread::of(boots.iter().map(|run| run.with_format)),
        night_s: Spread::of(nights.iter().map(|run| Some(run.whole))),
    };
    let figures = Figures {
        systems: names.iter().zip(boots).zip(nights).map(of_system).collect(),
        operations: args.operations,
        operations_recorded_per_s: recorded_per_s,
        operations_in_the_file_after_sigkill: kept,
        cores: std::thread::available_parallelism().map_or(0, |n| n.get()),
    };
    show(&figures, args.json)?;
    Ok(Status::Pass)
}

fn show(figures: &Figures, json: bool) -> Result<(), Error> {
    if json {
        let text = serde_json::to_string_pretty(figures)
            .map_err(|e| Error::internal("writing the figures", e, "report this: it is a bug"))?;
        say!("{text}");
        return Ok(());
    }
    for system in &figures.systems {
        let name = &system.system;
        say!(
            "{name}: boot to first ack   {}",
            system.boot_to_first_ack_s.words()
        );
        say!(
            "{name}: format to first ack {}",
            system.format_to_first_ack_s.words()
        );
        say!("{name}: whole night         {}", system.night_s.words());
    }
    say!(
        "operations recorded a second: {:.0}; in the file after SIGKILL: {} of {}",
        figures.operations_recorded_per_s,
        figures.operations_in_the_file_after_sigkill,
        figures.operations
    );
    say!("cores: {}", figures.cores);
    Ok(())
}

/// So many runs of each system, in turn.
fn measure(
    args: &BenchArgs,
    names: &[&str],
    folder: &Path,
    (count, words): (u32, &[&str]),
) -> Result<Vec<Vec<Measured>>, Error> {
    let mut all: Vec<Vec<Measured>> = names.iter().map(|_| Vec::new()).collect();
    for n in 0..count {
        for (name, measured) in names.iter().zip(&mut all) {
            if !args.json {
                eprintln!("{} {} of {count}, {name}", words[0], n + 1);
            }
            measured.push(once(name, &args.system, folder, n, words)?);
        }
    }
    Ok(all)
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

/// One run in a process of its own.
fn once(
    name: &str,
    system: &SystemArgs,
    folder: &Path,
    seed: u32,
    words: &[&str],
) -> Result<Measured, Error> {
    let failed = |why: String| {
        let by_hand = format!("run `ackall {} --system {name}` by hand", words.join(" "));
        Error::internal("measuring a run", why, by_hand)
    };
    let run_dir = folder.join("run");
    let mut command = Command::new("/proc/self/exe");
    command
        .arg("run")
        .args(words)
        .args(["--json", "--no-progress", "--keep-disks", "never"])
        .args(["--system", name, "--seed", &seed.to_string(), "--run-dir"])
        .arg(&run_dir);
    if let Some(home) = &system.kafka_home {
        command.arg("--kafka-home").arg(home);
    }
    let began = Instant::now();
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| failed(e.to_string()))?;
    let took = began.elapsed().as_secs_f64();
    let result: results::RunResult =
        serde_json::from_slice(&output.stdout).map_err(|e| failed(format!("its result: {e}")))?;
    let history = history::read_path(&run_dir.join(store::HISTORY)).map_err(|e| failed(e.to_string()))?;
    let first_ack = history
        .entries
        .iter()
        .find(|entry| entry.kind == Kind::Ok && matches!(entry.body, Body::Send(_)));
    let _ = std::fs::remove_dir_all(run_dir);
    Ok(Measured {
        boot: result.meta.boot_to_first_ack_s,
        with_format: first_ack.map(|entry| entry.time as f64 / 1e9),
        whole: took,
    })
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
