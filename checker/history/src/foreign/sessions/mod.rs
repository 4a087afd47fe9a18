//! Formats of sessions: transactions of reads and writes, in the order of their session and in no other.
//!
//! Each transaction becomes an `invoke` and an `ok`, with the session as process and a list of `[w key value]` and
//! `[r key value]` as value. What is initial in these formats, the value 0, is nil, in reads and in writes alike: files
//! that write the initial state out write nil.

mod awdit;
mod dbcop;
mod plume;

pub(super) use awdit::Awdit;
pub(super) use dbcop::Dbcop;
pub(super) use plume::Plume;

use super::names::Names;
use super::raw::Raw;
use crate::{Kind, Process, ReadError, Value};
use std::sync::Arc;

/// The value that is there before anything is written.
const INITIAL: i64 = 0;

/// The most reads and writes that one transaction may have: as many as fit in the longest form.
const MOST_STEPS: usize = super::window::FORM_LIMIT / 16;

/// A read or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    is_write: bool,
    key: i64,
    value: i64,
}

/// A committed transaction.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    session: u64,
    steps: Vec<Step>,
}

/// Where transactions come from.
pub(super) trait Transactions {
    /// Reads the beginning.
    fn begin(&mut self) -> Result<(), ReadError>;
    /// The next one that is not empty.
    fn next(&mut self) -> Result<Option<Transaction>, ReadError>;
}

/// Reads entries from transactions.
#[derive(Debug)]
pub(super) struct Sessions<T> {
    from: T,
    names: Names,
    /// The completion of the entry that was given last.
    completion: Option<Raw>,
}

impl<T: Transactions> Sessions<T> {
    pub fn new(from: T) -> Sessions<T> {
        Sessions {
            from,
            names: Names::default(),
            completion: None,
        }
    }

    pub fn begin(&mut self) -> Result<(), ReadError> {
        self.from.begin()
    }

    pub fn next(&mut self) -> Result<Option<Raw>, ReadError> {
        if let Some(completion) = self.completion.take() {
            return Ok(Some(completion));
        }
        let Some(transaction) = self.from.next()? else {
            return Ok(None);
        };
        self.completion = Some(self.entry(&transaction, Kind::Ok));
        Ok(Some(self.entry(&transaction, Kind::Invoke)))
    }

    fn entry(&mut self, transaction: &Transaction, kind: Kind) -> Raw {
        let mut raw = Raw::new(self.names.none());
        raw.process = Process::Client(transaction.session);
        raw.kind = Some(kind);
        raw.f = self.names.get("txn");
        let (write, read) = (self.names.get("w"), self.names.get("r"));
        let step = |step: &Step| {
            let known = step.is_write || kind == Kind::Ok;
            let name = if step.is_write { &write } else { &read };
            Value::List(Box::new([
                Value::Keyword(Arc::clone(name)),
                Value::Int(step.key),
                match step.value {
                    INITIAL => Value::Nil,
                    value if known => Value::Int(value),
                    _ => Value::Nil,
                },
            ]))
        };
        raw.value = Value::List(transaction.steps.iter().map(step).collect());
        raw
    }
}
