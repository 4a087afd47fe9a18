//! This project's checker, measured as the peers are: `peers --ours KIND ROUNDS FILE...` prints a line of JSON a file.

use crate::measured::Measured;
use checker::{Budget, ModelName, Options};
use history::{Format, read_foreign};
use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The first argument of this role.
pub const ROLE: &str = "--ours";
/// After so long no further round is begun, once there are three.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn main(args: &[String]) -> ExitCode {
    let [kind, rounds, files @ ..] = args else {
        return ExitCode::from(64);
    };
    let rounds = rounds.parse().unwrap_or(1);
    for file in files {
        match measure(kind, rounds, file) {
            Ok(measured) => println!("{}", serde_json::json!(measured)),
            Err(why) => {
                eprintln!("{file}: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn measure(kind: &str, rounds: usize, file: &str) -> Result<Measured, String> {
    let (format, model, with_parsing) = match kind {
        "etcd" => (Format::PorcupineEtcdLog, ModelName::CasRegister, false),
        "kv" => (Format::PorcupineKvEdn, ModelName::KeyValue, false),
        "list-append" => (Format::JepsenJson, ModelName::ListAppend, true),
        other => return Err(format!("{other} is no kind")),
    };
    let options = Options::default();
    // As Porcupine's events are made before its time begins, so are our operations; and both answer yes or no.
    let parsed = match with_parsing {
        true => None,
        false => {
            let opened = File::open(file).map_err(|e| e.to_string())?;
            let ops = read_foreign(format, BufReader::new(opened));
            Some(checker::linear::read(model, &options, ops).map_err(|e| e.to_string())?)
        }
    };
    let mut measured = Measured {
        file: file.into(),
        verdict: String::new(),
        operations: 0,
        times_s: Vec::new(),
        memory_bytes: 0,
    };
    let began = Instant::now();
    for round in 0..rounds {
        if round >= 3 && began.elapsed() > PATIENCE {
            break;
        }
        let before = resident();
        let start = Instant::now();
        let budget = Budget::unlimited();
        let (verdict, operations) = match &parsed {
            Some(recording) => (recording.verdict(&budget), recording.operations().total()),
            None => {
                let opened = File::open(file).map_err(|e| e.to_string())?;
                let ops = read_foreign(format, BufReader::new(opened));
                let judged = checker::judge(model, &options, &budget, ops).map_err(|e| e.to_string())?;
                (judged.verdict, judged.operations_total)
            }
        };
        measured.times_s.push(start.elapsed().as_secs_f64());
        if round == 0 {
            measured.memory_bytes = status("VmHWM:").saturating_sub(before);
        }
        measured.verdict = verdict.text().into();
        measured.operations = usize::try_from(operations).unwrap_or(usize::MAX);
    }
    Ok(measured)
}

/// The resident bytes; a new peak begins.
fn resident() -> u64 {
    // Where the system refuses, the peak is that of the process: it is told as more, never as less.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.trim().strip_suffix("kB"));
    line.and_then(|kib| kib.trim().parse::<u64>().ok())
        .unwrap_or_default()
        * 1024
}
