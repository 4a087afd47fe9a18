//! Times the check of linearizability on constructed histories of a register, and measures its memory.
//!
//! ```text
//! linear_bench [--times N] [NAME ...]      the histories of these names, or all: best and median time, memory
//! linear_bench --write edn|etcd-log NAME   writes a history out, for another checker
//! linear_bench --list                      the names
//! linear_bench --files MODEL FORMAT FILE ... histories of others, read first: the verdict alone
//! ```
//!
//! Times are of the check alone, the history being in memory. Memory is the most that the process had resident while
//! it checked, less what it had before (Linux; elsewhere it is not told).

use checker::linear::{Register, is_linearizable, read};
use checker::{Budget, ModelName, Options};
use history::{Format, read_foreign};
use std::fs::File;
use std::io::BufReader;
use std::process::Command;
use std::time::{Duration, Instant};

mod made;

use made::{MADE, Made};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--list") => MADE.iter().for_each(|made| println!("{}", made.name)),
        Some("--files") => files(&arguments[1..]),
        Some("--write") => write(&arguments[1..]),
        Some("--times") if arguments.len() > 1 => {
            let times = arguments[1].parse().unwrap_or(TIMES);
            arguments.drain(..2);
            measure_all(times, &arguments);
        }
        _ => measure_all(TIMES, &arguments),
    }
}

/// How often each is checked.
const TIMES: usize = 5;

/// The time and memory that each has.
const TIME: Duration = Duration::from_secs(60);
const MEMORY: u64 = 1 << 30;

fn measure_all(times: usize, names: &[String]) {
    println!(
        "{:<34} {:>9} {:>10} {:>10} {:>9}  verdict",
        "history", "ops", "best ms", "median ms", "MiB"
    );
    let asked = MADE
        .iter()
        .filter(|made| names.is_empty() || names.iter().any(|name| name == made.name));
    for made in asked {
        if names.len() == 1 {
            measure(made, times);
        } else {
            alone(made, times);
        }
    }
}

/// Measures one in a process of its own, where no other's memory is left over.
fn alone(made: &Made, times: usize) {
    let ran = std::env::current_exe().and_then(|program| {
        Command::new(program)
            .args(["--times", &times.to_string(), made.name])
            .output()
    });
    match ran {
        // After the heading.
        Ok(output) => String::from_utf8_lossy(&output.stdout)
            .lines()
            .skip(1)
            .for_each(|line| println!("{line}")),
        Err(error) => println!("{:<34} could not be run: {error}", made.name),
    }
}

fn measure(made: &Made, times: usize) {
    let history = (made.make)();
    let register = Register { initial: 0 };
    let before = resident();
    let mut took = Vec::new();
    let mut verdict = "";
    let mut memory = None;
    for _ in 0..times.max(1) {
        let budget = Budget::new(TIME, MEMORY);
        let began = Instant::now();
        verdict = match is_linearizable(&register, &history, &budget) {
            Ok(true) => "linearizable",
            Ok(false) => "not linearizable",
            Err(_) => "unknown",
        };
        took.push(began.elapsed());
        memory = memory.or(peak()
            .zip(before)
            .map(|(peak, before)| peak.saturating_sub(before)));
    }
    took.sort_unstable();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:<34} {:>9} {:>10.3} {:>10.3} {:>9}  {verdict}{}",
        made.name,
        history.len(),
        millis(took[0]),
        millis(took[took.len() / 2]),
        memory.map_or("?".into(), |bytes| format!("{:.1}", bytes as f64 / 1048576.0)),
        if verdict == made.verdict || made.verdict.is_empty() {
            ""
        } else {
            "  UNEXPECTED"
        },
    );
}

/// Resident bytes.
fn resident() -> Option<u64> {
    // The most so far is forgotten, so that the next peak is of what comes.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

/// The most bytes that were resident since [`resident`].
fn peak() -> Option<u64> {
    status("VmHWM:")
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

fn write(arguments: &[String]) {
    let made = arguments
        .get(1)
        .and_then(|name| MADE.iter().find(|made| made.name == *name));
    let (Some(format), Some(made)) = (arguments.first(), made) else {
        eprintln!("expected --write edn|etcd-log NAME, where NAME is one of --list");
        std::process::exit(2);
    };
    let out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = match format.as_str() {
        "edn" => made::write_edn(out, &(made.make)()),
        "etcd-log" => made::write_etcd_log(out, &(made.make)()),
        other => {
            eprintln!("{other} is no format: expected edn or etcd-log");
            std::process::exit(2);
        }
    };
    if let Err(error) = written {
        eprintln!("the history was not written: {error}");
        std::process::exit(1);
    }
}

/// How often each file is checked.
const FILE_TIMES: usize = 21;

fn files(arguments: &[String]) {
    let model = |name: &String| ModelName::ALL.into_iter().find(|model| model.text() == name);
    let format = |name: &String| Format::ALL.into_iter().find(|format| format.text() == name);
    let (Some(model), Some(format)) = (
        arguments.first().and_then(model),
        arguments.get(1).and_then(format),
    ) else {
        eprintln!("expected --files MODEL FORMAT FILE ...");
        std::process::exit(2);
    };
    let mut all = Duration::ZERO;
    for file in &arguments[2..] {
        match one_file(model, format, file) {
            Ok((median, verdict)) => {
                all += median;
                println!("{:>10.4} ms  {verdict:<8} {file}", median.as_secs_f64() * 1e3);
            }
            Err(why) => println!("{file}: {why}"),
        }
    }
    println!(
        "{:>10.4} ms  in all, medians of {FILE_TIMES}",
        all.as_secs_f64() * 1e3
    );
}

fn one_file(model: ModelName, format: Format, file: &str) -> Result<(Duration, &'static str), String> {
    let opened = File::open(file).map_err(|error| error.to_string())?;
    let entries = read_foreign(format, BufReader::new(opened));
    let recording = read(model, &Options::default(), entries).map_err(|error| error.to_string())?;
    let mut took = Vec::new();
    let mut verdict = "";
    for _ in 0..FILE_TIMES {
        let budget = Budget::new(TIME, MEMORY);
        let began = Instant::now();
        verdict = recording.verdict(&budget).text();
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Ok((took[took.len() / 2], verdict))
}
