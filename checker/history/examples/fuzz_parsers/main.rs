//! Fuzzing the parsers: `cargo run --release -p history --example fuzz_parsers -- [FORMAT|all] [--minutes N] [--seed N]`.
//!
//! Inputs are mutations of small histories, each from a seed of its own, so that a finding is a number; the input is
//! saved too. Caught are panics, an input that takes long, and memory beyond a bound (where /proc tells). Each format
//! has the minutes (10 by default) for itself.

mod mutation;
mod random;
mod seeds;
mod targets;

use history::Format;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{ExitCode, exit};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An input is at most 64 KiB: whatever takes that long does not end.
const LONGEST: Duration = Duration::from_secs(10);
/// A thousand times the longest input.
const MOST_MEMORY_KIB: u64 = 64 << 10;
/// How often memory is looked at, in inputs.
const LOOK_EVERY: u64 = 1024;

/// What is being tried: since when, and which.
static TRIED: Mutex<Option<(Instant, Format, u64)>> = Mutex::new(None);

/// What the command line asks for.
struct Asked {
    formats: Vec<Format>,
    minutes: f64,
    seed: u64,
}

fn main() -> ExitCode {
    let asked = match asked(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(why) => {
            eprintln!("{why}\nusage: fuzz_parsers [FORMAT|all] [--minutes N] [--seed N]");
            return ExitCode::from(64);
        }
    };
    std::thread::spawn(watch);
    let findings: u64 = asked.formats.iter().map(|format| fuzz(*format, &asked)).sum();
    match findings {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn asked(mut words: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked {
        formats: Format::ALL.to_vec(),
        minutes: 10.0,
        seed: 1,
    };
    while let Some(word) = words.next() {
        let mut number = || words.next().ok_or_else(|| format!("{word} needs a number"));
        match word.as_str() {
            "all" => {}
            "--minutes" => asked.minutes = number()?.parse().map_err(|_| "--minutes needs a number")?,
            "--seed" => asked.seed = number()?.parse().map_err(|_| "--seed needs a number")?,
            name => asked.formats = vec![name.parse()?],
        }
    }
    Ok(asked)
}

/// Fuzzes one format; gives the count of findings.
fn fuzz(format: Format, asked: &Asked) -> u64 {
    let (mut findings, mut tried) = (0, 0_u64);
    let ends = Instant::now() + Duration::from_secs_f64(asked.minutes * 60.0);
    for seed in asked.seed.. {
        if Instant::now() >= ends {
            break;
        }
        let input = targets::input(format, seed);
        note(Some((Instant::now(), format, seed)));
        if catch_unwind(AssertUnwindSafe(|| targets::run(format, &input))).is_err() {
            found(format, seed, "a panic, above");
            findings += 1;
        }
        note(None);
        tried += 1;
        if tried.is_multiple_of(LOOK_EVERY) && peak_kib() > MOST_MEMORY_KIB {
            found(format, seed, "at or before this: too much memory");
            exit(1);
        }
    }
    let peak = peak_kib() >> 10;
    println!(
        "{format}: {tried} inputs from seed {}, {findings} findings, peak {peak} MiB",
        asked.seed
    );
    findings
}

fn note(tried: Option<(Instant, Format, u64)>) {
    *TRIED.lock().unwrap_or_else(PoisonError::into_inner) = tried;
}

/// Ends the program where an input does not end.
fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let tried = *TRIED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, format, seed)) = tried
            && since.elapsed() > LONGEST
        {
            found(format, seed, "it does not end");
            exit(1);
        }
    }
}

/// Says what was found, and saves the input.
fn found(format: Format, seed: u64, what: &str) {
    let path: PathBuf = std::env::temp_dir().join(format!("ackall-fuzz-{format}-{seed}.input"));
    let saved = match std::fs::write(&path, targets::input(format, seed)) {
        Ok(()) => format!("the input is {}", path.display()),
        Err(why) => format!("the input could not be saved: {why}"),
    };
    println!("{format}, seed {seed}: {what}; {saved}");
}

/// The most memory that the process ever had; 0 where /proc does not tell.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
    number.unwrap_or(0)
}
