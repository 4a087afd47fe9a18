//! How long histories of sessions take to judge:
//!
//! `cargo run --release -p checker --example sessions -- [--transactions N] [--sessions N] [--keys N] [--level NAME]`
//!
//! The history is one that a serializable database made, ten reads and writes a transaction: valid at every level. The
//! time is without making it, and with taking it in.

use checker::{Budget, Level, ModelName, Options, judge};
use history::{Call, Kind, Op, Process, Value};
use std::time::{Duration, Instant};

/// Reads and writes of a transaction.
const EVENTS: u64 = 10;
/// Time and memory of a check.
const BUDGET: (Duration, u64) = (Duration::from_secs(20), 4 << 30);

/// What the command line asks for.
struct Arguments {
    transactions: u64,
    sessions: u64,
    keys: u64,
    level: Option<Level>,
}

fn main() -> Result<(), String> {
    let arguments = parse(std::env::args().skip(1))?;
    let history = make(&arguments);
    println!(
        "{} transactions of {EVENTS} reads and writes, {} sessions, {} keys",
        arguments.transactions, arguments.sessions, arguments.keys
    );
    let levels = [
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
        Level::ParallelSnapshotIsolation,
        Level::SnapshotIsolation,
        Level::Serializable,
    ];
    for level in levels
        .into_iter()
        .filter(|level| arguments.level.is_none_or(|asked| asked == *level))
    {
        let options = Options {
            level: Some(level),
            ..Options::default()
        };
        let budget = Budget::new(BUDGET.0, BUDGET.1);
        let began = Instant::now();
        let judged = judge(
            ModelName::RwRegisterSessions,
            &options,
            &budget,
            history.iter().cloned().map(Ok),
        )
        .map_err(|error| error.to_string())?;
        let why: Vec<_> = judged.reasons.iter().map(|reason| &*reason.message).collect();
        println!(
            "{:28} {} in {:.0?}, {} MiB {}",
            level.text(),
            judged.verdict.text(),
            began.elapsed(),
            budget.peak() >> 20,
            why.join("; ")
        );
    }
    Ok(())
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    const USAGE: &str = "usage: sessions [--transactions N] [--sessions N] [--keys N] [--level NAME]";
    let mut parsed = Arguments {
        transactions: 100_000,
        sessions: 50,
        keys: 10_000,
        level: None,
    };
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{flag} {value}: not a whole number"))
        };
        match flag.as_str() {
            "--transactions" => parsed.transactions = number()?,
            "--sessions" => parsed.sessions = number()?.max(1),
            "--keys" => parsed.keys = number()?.max(1),
            "--level" => parsed.level = Some(value.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(parsed)
}

/// Transactions one after another, each by a session drawn at random; sessions one after another in the file.
fn make(arguments: &Arguments) -> Vec<Op> {
    let mut random = 1u64;
    let mut below = |limit: u64| {
        // xorshift64: it only has to be scattered.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    let mut values = vec![0i64; arguments.keys as usize];
    let mut next = 0;
    let mut sessions: Vec<Vec<Value>> = vec![Vec::new(); arguments.sessions as usize];
    for _ in 0..arguments.transactions {
        let mut micros = Vec::new();
        for _ in 0..EVENTS {
            let key = below(arguments.keys);
            let write = below(2) == 0;
            if write {
                next += 1;
                values[key as usize] = next;
            }
            let name = Value::Text(if write { "w" } else { "r" }.into());
            let value = Value::Int(values[key as usize]);
            micros.push(Value::List([name, Value::Int(key as i64), value].into()));
        }
        sessions[below(arguments.sessions) as usize].push(Value::List(micros.into()));
    }
    let mut history = Vec::new();
    for (session, transactions) in (0u64..).zip(sessions) {
        for value in transactions {
            let index = history.len() as u64;
            history.push(Op {
                index,
                time: index,
                process: Process::Client(session),
                kind: Kind::Ok,
                body: Call {
                    f: "txn".into(),
                    value,
                },
            });
        }
    }
    history
}
