//! Several registers, read and written in one step: `txn` of `[read key value]` and `[write key value]`, in their order.
//! A register holds nil at first, or what is given: a map by key, or one value for all.
//!
//! A transaction that failed did not happen. Of one without an answer the writes may have happened, and what it read is
//! not known.

use super::values::Values;
use crate::linear::Model;
use crate::linear::model::{Completion, Decoded, Recorded};
use history::Value;

/// Several registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct MultiRegister {
    initial: Value,
    keys: Values,
    values: Values,
}

/// What was done in one step. Equal keys stand in the order of the transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Transaction(Box<[Micro]>);

/// One part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Micro {
    /// The register of a key held this.
    Read(u32, u32),
    /// It was set to this.
    Write(u32, u32),
}

impl MultiRegister {
    /// Those that begin with these.
    pub(crate) fn new(initial: Option<&Value>) -> MultiRegister {
        MultiRegister {
            initial: initial.cloned().unwrap_or_default(),
            ..MultiRegister::default()
        }
    }

    fn initial_of(&self, key: &Value) -> Value {
        match &self.initial {
            // A file's keys may be keywords where the command line's are texts.
            Value::Map(pairs) => {
                let same =
                    |other: &Value| other == key || (key.name().is_some() && other.name() == key.name());
                pairs
                    .iter()
                    .find(|(other, _)| same(other))
                    .map_or(Value::Nil, |(_, value)| value.clone())
            }
            one => one.clone(),
        }
    }

    fn key(&mut self, key: &Value) -> u32 {
        let number = self.keys.number(key);
        // Its first value has a number, too, so that the first state can be told.
        let first = self.initial_of(key);
        self.values.number(&first);
        number
    }
}

impl Model for MultiRegister {
    type Op = Transaction;
    /// By number of the key: the number of its value.
    type State = Box<[u32]>;

    fn initial(&self) -> Box<[u32]> {
        let first = |key: &Value| self.values.find(&self.initial_of(key));
        self.keys.all().iter().map(first).collect()
    }

    fn step(&self, state: &Box<[u32]>, op: &Transaction) -> Option<Box<[u32]>> {
        let mut after = state.clone();
        for micro in &op.0 {
            match *micro {
                Micro::Read(key, value) if after[key as usize] == value => {}
                Micro::Read(..) => return None,
                Micro::Write(key, value) => after[key as usize] = value,
            }
        }
        Some(after)
    }

    fn reads_only(&self, op: &Transaction) -> bool {
        op.0.iter().all(|micro| matches!(micro, Micro::Read(..)))
    }

    fn state_bytes(&self, state: &Box<[u32]>) -> u64 {
        state.len() as u64 * 4
    }
}

impl Recorded for MultiRegister {
    fn decode(
        &mut self,
        f: &str,
        invoked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<Transaction>, String> {
        if !matches!(f, "txn" | "read" | "write") {
            return Err(format!("expected txn, found {f:?}"));
        }
        let (transaction, answered) = match completion {
            Completion::Fail => return Ok(Decoded::Skip),
            // Some files answer nil where nothing was read.
            Completion::Ok(Value::Nil) | Completion::Unknown => (invoked, false),
            Completion::Ok(value) => (value, true),
        };
        let expected =
            || format!("expected a list of [read key value] and [write key value], found {transaction}");
        let mut micros = Vec::new();
        for micro in transaction.list().ok_or_else(expected)? {
            let Some([kind, key, value]) = micro.list() else {
                return Err(expected());
            };
            match kind.name() {
                Some("read" | "r") if answered => {
                    micros.push(Micro::Read(self.key(key), self.values.number(value)))
                }
                Some("read" | "r") => {}
                Some("write" | "w") => micros.push(Micro::Write(self.key(key), self.values.number(value))),
                _ => return Err(expected()),
            }
        }
        // One that neither wrote nor saw anything says nothing.
        Ok(if micros.is_empty() {
            Decoded::Skip
        } else {
            Decoded::One(Transaction(micros.into()))
        })
    }

    fn words(&self, op: &Transaction) -> String {
        let one = |micro: &Micro| match micro {
            Micro::Read(key, value) => {
                format!("read {} of {}", self.values.value(*value), self.keys.value(*key))
            }
            Micro::Write(key, value) => {
                format!("write {} to {}", self.values.value(*value), self.keys.value(*key))
            }
        };
        op.0.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}
