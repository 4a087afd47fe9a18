//! Times the crate `adya` on histories of list appends, for `cargo run --release --example peers`.
//!
//! ```text
//! adya-peer list-append ROUNDS FILE...
//! ```
//!
//! Prints a line of JSON for each file: the verdict, the times in seconds, parsing with them, and the peak of resident
//! memory during the first of them, less what was resident before.

use adya::{History, Opts, Valid, Workload, check};
use std::time::{Duration, Instant};

/// After so long no further round is begun, once there are three.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rounds = args.get(1).and_then(|rounds| rounds.parse().ok());
    let (Some("list-append"), Some(rounds)) = (args.first().map(String::as_str), rounds) else {
        eprintln!("usage: adya-peer list-append ROUNDS FILE...");
        std::process::exit(1);
    };
    for file in &args[2..] {
        println!("{}", measure(file, rounds));
    }
}

fn measure(file: &str, rounds: usize) -> serde_json::Value {
    // A component's own limit is lifted: what is measured is the whole check.
    let opts = Opts {
        timeout: PATIENCE,
        ..Opts::default()
    };
    let mut times = Vec::new();
    let mut verdict = "unknown";
    let mut memory = 0;
    let mut operations = 0;
    let began = Instant::now();
    for round in 0..rounds {
        if round >= 3 && began.elapsed() > PATIENCE {
            break;
        }
        let before = resident();
        let start = Instant::now();
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| fail(file, &e));
        let history = History::parse(&text).unwrap_or_else(|e| fail(file, &e));
        let report = check(&history, Workload::ListAppend, &opts);
        times.push(start.elapsed().as_secs_f64());
        if round == 0 {
            memory = status("VmHWM:").saturating_sub(before);
        }
        operations = history.ops.len() / 2;
        verdict = match report.valid {
            Valid::True => "pass",
            Valid::False => "fail",
            Valid::Unknown => "unknown",
        };
    }
    serde_json::json!({
        "file": file, "verdict": verdict, "operations": operations, "times_s": times, "memory_bytes": memory,
    })
}

fn fail(file: &str, why: &dyn std::fmt::Display) -> ! {
    eprintln!("{file}: {why}");
    std::process::exit(1);
}

/// The resident bytes; a new peak begins.
fn resident() -> u64 {
    // Where the system refuses, the peak is that of the process: it is told as more, never as less.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.trim().strip_suffix("kB"));
    line.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or_default() * 1024
}
