//! Transactions of small histories: appends to lists, or writes to registers, and reads.

mod agree;
mod definitions;
mod make;
mod mutate;
mod serial;

pub use agree::agree;
pub use definitions::{Anomalies, Assumed, anomalies};
pub use make::make;
pub use mutate::mutate;
pub use serial::{observes_all, serial};

use history::{Call, Kind, Op, Process, Value};

/// One step. What a register holds is a list of one value, or of none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes a value under a key, or appends it.
    Write(i64, i64),
    /// Reads.
    Read(i64, Vec<i64>),
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct Txn {
    /// Its process.
    pub process: u64,
    /// When it began: its place among all beginnings and ends.
    pub began: usize,
    /// When it ended.
    pub ended: usize,
    /// How.
    pub kind: Kind,
    /// What it did.
    pub steps: Vec<Step>,
}

impl Txn {
    /// Whether it committed.
    pub fn ok(&self) -> bool {
        self.kind == Kind::Ok
    }

    /// Whether this one had ended when the other began. Nothing is known to follow on what did not commit.
    pub fn before(&self, other: &Txn) -> bool {
        self.ok() && self.ended < other.began
    }

    /// Its writes to a key, in order.
    pub fn writes(&self, key: i64) -> Vec<i64> {
        let written = self.steps.iter().filter_map(|step| match step {
            Step::Write(to, value) if *to == key => Some(*value),
            _ => None,
        });
        written.collect()
    }
}

/// Numbers beginnings and ends anew, in their order.
pub fn renumber(txns: &mut [Txn]) {
    let mut events: Vec<(usize, usize, bool)> = Vec::new();
    for (which, txn) in txns.iter().enumerate() {
        events.push((txn.began, which, false));
        events.push((txn.ended, which, true));
    }
    events.sort_unstable();
    for (place, (_, which, ends)) in events.into_iter().enumerate() {
        if ends {
            txns[which].ended = place;
        } else {
            txns[which].began = place;
        }
    }
}

/// As entries of a history.
pub fn entries(txns: &[Txn], lists: bool) -> Vec<Op> {
    let mut entries = Vec::new();
    for txn in txns {
        entries.push(entry(txn, txn.began, Kind::Invoke, lists));
        entries.push(entry(txn, txn.ended, txn.kind, lists));
    }
    entries.sort_by_key(|entry| entry.index);
    entries
}

fn entry(txn: &Txn, place: usize, kind: Kind, lists: bool) -> Op {
    let steps = txn.steps.iter().map(|step| {
        let (name, key, value) = match step {
            Step::Write(key, value) => (if lists { "append" } else { "w" }, key, Value::Int(*value)),
            Step::Read(key, _) if kind != Kind::Ok => ("r", key, Value::Nil),
            Step::Read(key, list) if lists => (
                "r",
                key,
                Value::List(list.iter().map(|value| Value::Int(*value)).collect()),
            ),
            Step::Read(key, list) => (
                "r",
                key,
                list.first().map_or(Value::Nil, |value| Value::Int(*value)),
            ),
        };
        Value::List([Value::Keyword(name.into()), Value::Int(*key), value].into())
    });
    Op {
        index: place as u64,
        time: place as u64,
        process: Process::Client(txn.process),
        kind,
        body: Call {
            f: "txn".into(),
            value: Value::List(steps.collect()),
        },
    }
}

/// For people.
pub fn print(txns: &[Txn]) -> String {
    let lines = txns.iter().map(|txn| {
        format!(
            "{}..{} process {} {:?} {:?}",
            txn.began, txn.ended, txn.process, txn.kind, txn.steps
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
