//! Holds the checkers against literal, slow ones, on a great many small random histories.
//!
//! `cargo run --release -p checker --example fuzz -- KIND [--model NAME] [--count N] [--seed N]`
//!
//! A kind is one file here, and one line in [`KINDS`]. The first disagreement is printed, with its seed and its history;
//! the exit status is then 1.

mod invariants;
mod kafka;
mod linear;
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
#[path = "../../tests/literal/mod.rs"]
mod literal;
mod seeds;
mod sessions;
mod txn;

use std::process::ExitCode;

/// What the command line asks for.
pub struct Arguments {
    /// The model, where a kind has several.
    pub model: Option<String>,
    /// How many histories; of each model where none is named.
    pub count: u64,
    /// The first seed: each history has its own, counted up from it.
    pub seed: u64,
}

/// A kind of history: its name, and what runs it. It answers a line a model, or the first disagreement.
type Kind = (&'static str, fn(&Arguments) -> Result<Vec<String>, String>);

const KINDS: &[Kind] = &[
    ("invariants", invariants::run),
    ("kafka", kafka::run),
    ("linear", linear::run),
    ("list-append", txn::lists),
    ("rw-register", txn::registers),
    ("sessions", sessions::run),
];

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|(run, arguments)| run(&arguments)) {
        Ok(lines) => {
            println!("{}", lines.join("\n"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs each of a kind's models, or the one that is named: `one` answers its line without the name.
fn each<M: Copy>(
    arguments: &Arguments,
    models: &[M],
    name: fn(M) -> &'static str,
    one: impl Fn(M) -> Result<String, String>,
) -> Result<Vec<String>, String> {
    let asked = |model: &&M| {
        arguments
            .model
            .as_ref()
            .is_none_or(|asked| asked == name(**model))
    };
    let wanted: Vec<M> = models.iter().filter(asked).copied().collect();
    if wanted.is_empty() {
        let names: Vec<_> = models.iter().map(|model| name(*model)).collect();
        return Err(format!("--model: not one of {}", names.join(", ")));
    }
    let line = |model: M| match one(model) {
        Ok(line) => Ok(format!("{}: {line}", name(model))),
        Err(why) => Err(format!("{}: {why}", name(model))),
    };
    wanted.into_iter().map(line).collect()
}

type Parsed = (fn(&Arguments) -> Result<Vec<String>, String>, Arguments);

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Parsed, String> {
    let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
    let usage = format!(
        "usage: fuzz KIND [--model NAME] [--count N] [--seed N], KIND one of {}",
        names.join(", ")
    );
    let kind = arguments.next().ok_or_else(|| usage.clone())?;
    let (_, run) = *KINDS
        .iter()
        .find(|(name, _)| *name == kind)
        .ok_or_else(|| usage.clone())?;
    let mut parsed = Arguments {
        model: None,
        count: 100_000,
        seed: 1,
    };
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| usage.clone())?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{flag} {value}: not a whole number"))
        };
        match flag.as_str() {
            "--model" => parsed.model = Some(value),
            "--count" => parsed.count = number()?,
            "--seed" => parsed.seed = number()?,
            _ => return Err(usage),
        }
    }
    Ok((run, parsed))
}
