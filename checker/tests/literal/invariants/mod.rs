//! Bank, long-fork and set-full word for word, and makers of small histories of each.
//!
//! Each literal checker answers how many instances of each anomaly there are.

pub mod bank;
pub mod long_fork;
pub mod set_full;

use super::random::Random;
use checker::ModelName;
use history::{Call, Kind, Op, Process, Value};
use std::collections::BTreeMap;

/// How many instances of each anomaly, those that are none left out.
pub type Counts = BTreeMap<&'static str, u64>;

/// The models here.
pub const MODELS: [ModelName; 3] = [ModelName::Bank, ModelName::LongFork, ModelName::SetFull];

/// A small history of a model, often spoilt.
pub fn make(model: ModelName, random: &mut Random) -> Vec<Op> {
    match model {
        ModelName::Bank => bank::make(random),
        ModelName::LongFork => long_fork::make(random),
        _ => set_full::make(random),
    }
}

/// What is wrong with a history.
pub fn counts(model: ModelName, history: &[Op]) -> Counts {
    let mut counts = match model {
        ModelName::Bank => bank::counts(history),
        ModelName::LongFork => long_fork::counts(history),
        _ => set_full::counts(history),
    };
    counts.retain(|_, count| *count > 0);
    counts
}

/// Adds an entry.
pub fn add(history: &mut Vec<Op>, process: u64, kind: Kind, f: &str, value: Value) {
    let index = history.len() as u64;
    history.push(Op {
        index,
        time: index * 10,
        process: Process::Client(process),
        kind,
        body: Call { f: f.into(), value },
    });
}

/// Whole numbers as a list.
pub fn list(values: &[i64]) -> Value {
    Value::List(values.iter().map(|value| Value::Int(*value)).collect())
}

/// A history as text, an entry a line.
pub fn print(history: &[Op]) -> String {
    let line = |op: &Op| format!("{:?} {:?} {} {}\n", op.process, op.kind, op.body.f, op.body.value);
    history.iter().map(line).collect()
}
