//! A stream of entries into transactions: who did what, and what became of it.
//!
//! A transaction is a completed entry, or an invocation that nothing completed (it may have committed). Formats of
//! sessions alone may give completions without invocations.

use crate::{Budget, JudgeError, Operations};
use history::{Kind, Op, Process, ReadError, Value};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// How often the budget is asked, in entries.
const ASK: u64 = 1 << 14;

/// A read or a write. Keys and values are numbers: their places in [`Parsed`]'s lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) key: u32,
    pub(super) value: u32,
    pub(super) write: bool,
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Committed,
    Aborted,
    /// Nobody knows.
    Perhaps,
}

/// A transaction as the history has it.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    /// Entries without a process are sessions of their own.
    pub(super) process: Option<u64>,
    /// The index of the entry that tells most of it.
    pub(super) index: u64,
    pub(super) fate: Fate,
    /// Where its events are in [`Parsed::events`].
    pub(super) events: Range<usize>,
}

/// All transactions, in the order in which each session made them.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) transactions: Vec<Transaction>,
    pub(super) events: Vec<Event>,
    pub(super) keys: Vec<Value>,
    pub(super) values: Vec<Value>,
    pub(super) operations: Operations,
    key_numbers: FxHashMap<Value, u32>,
    value_numbers: FxHashMap<Value, u32>,
}

/// Reads them all. It stops early where the budget is spent: the caller asks it again.
pub(super) fn parse(
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Parsed, JudgeError> {
    let mut parsed = Parsed::default();
    let mut open: FxHashMap<u64, Op> = FxHashMap::default();
    let mut left: Vec<Op> = Vec::new();
    for (count, op) in (0u64..).zip(history) {
        let op = op?;
        if count % ASK == 0 {
            budget.tell("reading the history", count, 0);
            if budget.spent().is_some() {
                break;
            }
        }
        let process = match op.process {
            Process::Client(process) => Some(process),
            Process::Unnamed => None,
            Process::Harness | Process::Nemesis | Process::Observer => continue,
        };
        if op.kind == Kind::Invoke {
            match process {
                Some(process) => left.extend(open.insert(process, op)),
                None => left.push(op),
            }
            continue;
        }
        let invoked = process.and_then(|process| open.remove(&process));
        parsed.completed(process, op, invoked)?;
    }
    left.extend(open.into_values());
    left.sort_unstable_by_key(|op| op.index);
    for op in left {
        parsed.add(client(&op), op.index, Fate::Perhaps, &op.body.value)?;
    }
    Ok(parsed)
}

fn client(op: &Op) -> Option<u64> {
    match op.process {
        Process::Client(process) => Some(process),
        _ => None,
    }
}

impl Parsed {
    fn completed(&mut self, process: Option<u64>, op: Op, invoked: Option<Op>) -> Result<(), JudgeError> {
        let fate = match op.kind {
            Kind::Ok => Fate::Committed,
            Kind::Fail => Fate::Aborted,
            Kind::Info | Kind::Invoke => Fate::Perhaps,
        };
        // What an operation that did not complete well was asked for stands in its invocation.
        let value = match (&op.body.value, &invoked) {
            (Value::Nil, Some(invoked)) => &invoked.body.value,
            (_, Some(invoked)) if fate != Fate::Committed => &invoked.body.value,
            (value, _) => value,
        };
        self.add(process, op.index, fate, value)
    }

    fn add(&mut self, process: Option<u64>, index: u64, fate: Fate, value: &Value) -> Result<(), JudgeError> {
        match fate {
            Fate::Committed => self.operations.ok += 1,
            Fate::Aborted => self.operations.fail += 1,
            Fate::Perhaps => self.operations.info += 1,
        }
        let micros = value.list().ok_or_else(|| JudgeError::Entry {
            index,
            why: format!(
                "expected a transaction, a list of [r key value] and [w key value], and found {value}"
            ),
        })?;
        let first = self.events.len();
        for micro in micros {
            let event = self.event(micro).ok_or_else(|| JudgeError::Entry {
                index,
                why: format!(
                    "expected [r key value] or [w key value], and found {micro}. This model is of registers alone"
                ),
            })?;
            self.events.push(event);
        }
        self.transactions.push(Transaction {
            process,
            index,
            fate,
            events: first..self.events.len(),
        });
        Ok(())
    }

    fn event(&mut self, micro: &Value) -> Option<Event> {
        let (name, key, value) = match micro.list()? {
            [name, key, value] => (name.name()?, key, value),
            // A read that was asked for and never answered.
            [name, key] => (name.name()?, key, &Value::Nil),
            _ => return None,
        };
        let write = match name {
            "w" | "write" => true,
            "r" | "read" => false,
            _ => return None,
        };
        Some(Event {
            key: number(&mut self.keys, &mut self.key_numbers, key),
            value: number(&mut self.values, &mut self.value_numbers, value),
            write,
        })
    }

    /// A value's number, where the history has it at all.
    pub(super) fn value_number(&self, value: &Value) -> Option<u32> {
        self.value_numbers.get(value).copied()
    }

    /// A transaction's events.
    pub(super) fn events_of(&self, transaction: &Transaction) -> &[Event] {
        &self.events[transaction.events.clone()]
    }
}

fn number(list: &mut Vec<Value>, numbers: &mut FxHashMap<Value, u32>, value: &Value) -> u32 {
    if let Some(number) = numbers.get(value) {
        return *number;
    }
    // Four thousand million different values do not fit into memory.
    let next = list.len() as u32;
    list.push(value.clone());
    numbers.insert(value.clone(), next);
    next
}
