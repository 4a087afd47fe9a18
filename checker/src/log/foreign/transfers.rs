//! A Kafka history in columns: what was sent to and polled from each partition, without the tree of values that it
//! was read as.

use crate::Operations;
use history::{Kind, Moment, Value};
use std::fmt;
use std::sync::Arc;

/// What a history's clients did.
#[derive(Default)]
pub(super) struct Transfers {
    /// The operations that send, poll, assign or subscribe, in the order of their completions; those that never
    /// completed stand at the end, as indeterminate.
    pub operations: Vec<Operation>,
    /// The partitions, in the order in which they were met.
    pub partitions: Vec<Partition>,
    /// By process: when it changed what it reads, ascending.
    pub assignments: Vec<Vec<Assignment>>,
    /// By process: its successful operations that poll, ascending.
    pub polls: Vec<Vec<u32>>,
    /// Client operations by outcome, of whatever name.
    pub counts: Operations,
}

impl Transfers {
    /// How many records were sent and polled.
    pub fn records(&self) -> usize {
        self.partitions
            .iter()
            .map(|partition| partition.sends.len() + partition.polls.len())
            .sum()
    }
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// Its client, a number of ours.
    pub process: u32,
    /// How it ended.
    pub kind: Kind,
    /// When it began.
    pub invoked: Moment,
    /// When it ended; none where it never did.
    pub completed: Option<Moment>,
    /// Whether it is `poll` or `txn`: what sends only has no position to fall behind with.
    pub polls: bool,
}

impl Operation {
    /// The entry that people know it by: its completion, or its invocation where there is none.
    pub fn done(&self) -> u64 {
        self.completed.unwrap_or(self.invoked).index
    }
}

/// A process read other partitions from here on.
#[derive(Debug)]
pub(super) struct Assignment {
    /// The operation.
    pub op: u32,
    /// The partitions that it may read now, ascending.
    pub kept: Vec<u32>,
    /// Whether it is `assign`: `subscribe` leaves it to the group which partitions those are.
    pub manual: bool,
    /// Whether it succeeded.
    pub ok: bool,
}

/// A partition's records, as they were sent and polled. Both lists are in the order of operations, and within one
/// in that of its micro-operations.
pub(super) struct Partition {
    pub name: Name,
    pub sends: Vec<Record>,
    pub polls: Vec<Record>,
}

/// A value sent or polled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The operation.
    pub op: u32,
    /// The value, or the number of one that is no whole number.
    pub value: i64,
    offset: i64,
}

impl Record {
    pub fn new(op: u32, offset: Option<i64>, value: i64) -> Record {
        // Kafka's −1 is no offset.
        let offset = offset.unwrap_or(-1);
        Record { op, value, offset }
    }

    /// Its offset, where that is known.
    pub fn offset(&self) -> Option<i64> {
        (self.offset >= 0).then_some(self.offset)
    }
}

/// What a history calls a partition. JSON's maps have strings where the rest of the history has numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Number(i64),
    Text(Arc<str>),
}

impl Name {
    /// The name that a value stands for.
    pub fn of(value: &Value) -> Option<Name> {
        match value {
            Value::Int(number) => Some(Name::Number(*number)),
            Value::Text(text) | Value::Keyword(text) => Some(match text.parse() {
                Ok(number) => Name::Number(number),
                Err(_) => Name::Text(text.clone()),
            }),
            _ => None,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Number(number) => number.fmt(f),
            Name::Text(text) => text.fmt(f),
        }
    }
}

/// A list of records by operation.
pub(super) fn by_operation(records: &[Record]) -> impl Iterator<Item = &[Record]> {
    records.chunk_by(|a, b| a.op == b.op)
}
