//! An append-only log: `append` a value, which answers its offset, from 0; `read` all of it, or `read` one offset, which
//! answers nil at the log's end and beyond. It begins empty.
//!
//! An append answers its offset, or `[offset value]`, the offset nil where it is not known. One that failed did not
//! happen; one without an answer may have, at any offset.
//!
//! What is at an offset never changes. So all that the history says of an offset, whenever, must be the same, and a
//! state is the log's length alone: what is at an offset of which the history says nothing, nobody can tell.

use super::values::{Values, elements, whole};
use crate::linear::Model;
use crate::linear::model::{Completion, Decoded, Recorded};
use crate::linear::operations::Operation;
use history::Value;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Shared with what is fitted.
    values: Arc<Values>,
    /// By offset: what is there, where the history tells.
    content: FxHashMap<u64, u32>,
}

/// What was done to a log, and what it answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LogOp {
    /// This was appended at an offset, where that is known.
    Append(u32, Option<u64>),
    /// It was read, and had this.
    Read(Arc<[u32]>),
    /// This was at an offset.
    At(u64, u32),
    /// It ended at or before an offset.
    Ends(u64),
}

impl Log {
    fn tell(&mut self, op: &LogOp) {
        // Of two that disagree the first is taken: the other is then possible nowhere, as one of them must be.
        match op {
            LogOp::Append(value, Some(offset)) | LogOp::At(offset, value) => {
                self.content.entry(*offset).or_insert(*value);
            }
            LogOp::Read(all) => {
                for (offset, value) in (0u64..).zip(all.iter()) {
                    self.content.entry(offset).or_insert(*value);
                }
            }
            LogOp::Append(_, None) | LogOp::Ends(_) => {}
        }
    }

    fn may_have(&self, offset: u64, value: u32) -> bool {
        self.content.get(&offset).is_none_or(|known| *known == value)
    }
}

impl Model for Log {
    type Op = LogOp;
    /// Its length.
    type State = u64;

    fn initial(&self) -> u64 {
        0
    }

    fn step(&self, length: &u64, op: &LogOp) -> Option<u64> {
        let length = *length;
        match op {
            LogOp::Append(value, offset) => {
                let here = offset.is_none_or(|offset| offset == length);
                (here && self.may_have(length, *value)).then_some(length + 1)
            }
            LogOp::Read(all) => {
                let same = length == all.len() as u64
                    && (0u64..)
                        .zip(all.iter())
                        .all(|(offset, value)| self.may_have(offset, *value));
                same.then_some(length)
            }
            LogOp::At(offset, value) => {
                (*offset < length && self.may_have(*offset, *value)).then_some(length)
            }
            LogOp::Ends(offset) => (*offset >= length).then_some(length),
        }
    }

    fn reads_only(&self, op: &LogOp) -> bool {
        !matches!(op, LogOp::Append(..))
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn fitted(&self, operations: &[Operation<LogOp>]) -> Option<Log> {
        let mut fitted = Log {
            values: self.values.clone(),
            content: FxHashMap::default(),
        };
        for operation in operations.iter().filter(|operation| operation.certain()) {
            fitted.tell(&operation.op);
        }
        Some(fitted)
    }

    fn bound(&self, op: &LogOp) -> Option<u64> {
        match op {
            LogOp::Append(_, offset) => *offset,
            LogOp::Read(all) => Some(all.len() as u64),
            LogOp::Ends(offset) => Some(*offset),
            LogOp::At(..) => None,
        }
    }

    fn reaches(&self, length: &u64, op: &LogOp) -> bool {
        self.bound(op).is_none_or(|bound| *length <= bound)
    }

    fn refutes(&self, operations: &[Operation<LogOp>]) -> bool {
        let differs = |op: &LogOp| match op {
            LogOp::Append(value, Some(offset)) | LogOp::At(offset, value) => !self.may_have(*offset, *value),
            LogOp::Read(all) => (0u64..)
                .zip(all.iter())
                .any(|(offset, value)| !self.may_have(offset, *value)),
            LogOp::Append(_, None) | LogOp::Ends(_) => false,
        };
        operations
            .iter()
            .any(|operation| operation.certain() && differs(&operation.op))
    }
}

impl Recorded for Log {
    fn decode(
        &mut self,
        f: &str,
        invoked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<LogOp>, String> {
        let values = Arc::make_mut(&mut self.values);
        Ok(match (f, completion) {
            ("append" | "read", Completion::Fail) | ("read", Completion::Unknown) => Decoded::Skip,
            ("append", Completion::Unknown) => Decoded::One(LogOp::Append(values.number(invoked), None)),
            ("append", Completion::Ok(answer)) => {
                Decoded::One(LogOp::Append(values.number(invoked), given(answer)?))
            }
            ("read", Completion::Ok(read)) => Decoded::One(match (invoked, read) {
                (Value::Int(at), Value::Nil) => LogOp::Ends(offset(*at)?),
                (Value::Int(at), value) => LogOp::At(offset(*at)?, values.number(value)),
                (Value::Nil, all) => {
                    let all = elements("what was read", all)?;
                    LogOp::Read(all.iter().map(|value| values.number(value)).collect())
                }
                (other, _) => return Err(format!("expected nil or an offset to read, found {other}")),
            }),
            _ => return Err(format!("expected append or read, found {f:?}")),
        })
    }

    fn words(&self, op: &LogOp) -> String {
        let value = |number: &u32| self.values.value(*number);
        match op {
            LogOp::Append(appended, Some(offset)) => format!("append {} at {offset}", value(appended)),
            LogOp::Append(appended, None) => format!("append {}", value(appended)),
            LogOp::Read(all) => format!("read {}", self.values.list(all)),
            LogOp::At(offset, read) => format!("read {} at {offset}", value(read)),
            LogOp::Ends(offset) => format!("read nothing at {offset}"),
        }
    }
}

fn offset(number: i64) -> Result<u64, String> {
    u64::try_from(number).map_err(|_| format!("expected an offset, 0 or more, found {number}"))
}

/// The offset that an append answered.
fn given(answer: &Value) -> Result<Option<u64>, String> {
    let answer = match answer {
        Value::List(pair) if pair.len() == 2 => &pair[0],
        other => other,
    };
    match answer {
        Value::Nil => Ok(None),
        other => offset(whole("the offset that an append answers", other)?).map(Some),
    }
}
