//! Histories on which searches hang, each judged in a process of its own: the verdict, the time and the memory, as the
//! operating system has them.
//!
//! `cargo run --release -p checker --example hard -- [NAME|all|others] [--budget 10s] [--memory 1GiB]`
//!
//! `all` are those that are made here (`tests/literal/linear/hard.rs`), the default; `others` are the hardest third-party
//! ones, in the folder that `ACKALL_HISTORIES` names. The exit status is 1 where a verdict is wrong, or a limit was
//! passed: the time by more than a second, the memory over what the history itself takes.

mod measure;
mod others;

#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
#[path = "../../tests/literal/mod.rs"]
mod literal;

use checker::{Budget, JudgeError, ModelName, Options, Outcome, judge};
use history::{Op, ReadError};
use literal::linear::hard::HARD;
use measure::Measured;
use std::process::ExitCode;
use std::time::Duration;

/// What the command line asks for.
struct Arguments {
    name: String,
    time: Duration,
    memory: u64,
    /// Whether this process is one that judges.
    one: bool,
}

/// A history, and what is known of it.
struct Case {
    model: ModelName,
    options: Options,
    /// None: nobody has said.
    expected: Option<Outcome>,
    history: Vec<Result<Op, ReadError>>,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

const USAGE: &str = "usage: hard [NAME|all|others] [--budget 10s] [--memory 1GiB]";

fn parse(arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut parsed = Arguments {
        name: "all".into(),
        time: Duration::from_secs(10),
        memory: 1 << 30,
        one: false,
    };
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match argument.as_str() {
            "--budget" => parsed.time = seconds(&value()?)?,
            "--memory" => parsed.memory = bytes(&value()?)?,
            "--one" => parsed.one = true,
            flag if flag.starts_with('-') => return Err(USAGE.into()),
            name => parsed.name = name.into(),
        }
    }
    Ok(parsed)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').and_then(|number| number.parse().ok());
    number
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("--budget {text}: expected seconds, as 10s"))
}

fn bytes(text: &str) -> Result<u64, String> {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let parsed = units.iter().find_map(|(unit, shift)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_shl(*shift)
    });
    parsed.ok_or_else(|| format!("--memory {text}: expected a size, as 1GiB"))
}

/// Runs what is asked for; whether all of it is as it should be.
fn run(arguments: &Arguments) -> Result<bool, String> {
    if arguments.one {
        let case = case(&arguments.name)?;
        let measured = judge_here(case, arguments).map_err(|error| error.to_string())?;
        println!("{}", measured.line());
        return Ok(true);
    }
    let names: Vec<String> = match arguments.name.as_str() {
        "all" => HARD.iter().map(|hard| hard.name.to_owned()).collect(),
        "others" => others::NAMES.iter().map(|name| (*name).to_owned()).collect(),
        name => vec![name.into()],
    };
    println!(
        "{:<46} {:>9} {:>8} {:>9} {:>9}  why",
        "history", "verdict", "seconds", "MiB", "of it"
    );
    let mut well = true;
    for name in names {
        well &= measure::child(&name, arguments.time, arguments.memory)?;
    }
    Ok(well)
}

fn case(name: &str) -> Result<Case, String> {
    if let Some(hard) = HARD.iter().find(|hard| hard.name == name) {
        return Ok(Case {
            model: hard.model,
            options: Options::default(),
            expected: Some(hard.verdict),
            history: (hard.make)(hard.size).into_iter().map(Ok).collect(),
        });
    }
    let known: Vec<_> = HARD.iter().map(|hard| hard.name).collect();
    others::case(name).unwrap_or_else(|| {
        Err(format!(
            "{name} is none of {}, nor of the others",
            known.join(", ")
        ))
    })
}

fn judge_here(case: Case, arguments: &Arguments) -> Result<Measured, JudgeError> {
    let before = measure::peak_kib();
    let budget = Budget::new(arguments.time, arguments.memory);
    let judged = judge(case.model, &case.options, &budget, case.history.into_iter())?;
    Ok(Measured {
        verdict: judged.verdict,
        expected: case.expected,
        seconds: (arguments.time.saturating_sub(budget.left())).as_secs_f64(),
        before_kib: before,
        peak_kib: measure::peak_kib(),
        why: judged
            .reasons
            .first()
            .map_or(String::new(), |reason| reason.message.clone()),
    })
}
