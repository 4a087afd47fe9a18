//! A recorded history as the objects that it is about, each with its operations: linearizability is local (Herlihy and
//! Wing, 1990), so that each object is judged by itself.

use super::Operation;
use super::model::{Completion, Decoded, Recorded};
use crate::{JudgeError, Operations};
use history::{Kind, Op, Process, ReadError, Value};
use rustc_hash::FxHashMap;

/// Who did an operation, and which entries of the history tell of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// Who did it.
    pub(crate) process: Process,
    /// The index of its invocation.
    pub(crate) invoked: u64,
    /// The index of its completion, where it has one.
    pub(crate) completed: Option<u64>,
}

/// One object.
pub(crate) struct Object<Op> {
    /// Its key, where there are several.
    pub(crate) key: Option<Value>,
    /// What was done to it. Times are positions in the history.
    pub(crate) operations: Vec<Operation<Op>>,
    /// Where each of them comes from.
    pub(crate) origins: Vec<Origin>,
}

impl<Op> Object<Op> {
    /// Keeps operations.
    pub(crate) fn keep(&mut self, keep: impl Fn(&Op) -> bool) {
        let mut kept = self.operations.iter().map(|operation| keep(&operation.op));
        self.origins.retain(|_| kept.next().unwrap_or(true));
        self.operations.retain(|operation| keep(&operation.op));
    }
}

/// Objects, and how many operations the history has.
pub(crate) type Read<Op> = (Vec<Object<Op>>, Operations);

/// Reads the objects of a history, in the order in which they first appear, and counts its operations.
///
/// # Errors
/// Where the history cannot be read, or an operation is none of the model's.
pub(crate) fn read<M: Recorded>(
    model: &mut M,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Read<M::Op>, JudgeError> {
    let mut objects: Vec<Object<M::Op>> = Vec::new();
    let mut places: FxHashMap<Option<Value>, usize> = FxHashMap::default();
    let mut counts = Operations::default();
    for operation in history::pairs(history) {
        let operation = operation?;
        let none = Value::Nil;
        let answered = operation.answered.as_ref().unwrap_or(&none);
        let completion = match operation.outcome {
            Kind::Ok => Completion::Ok(answered),
            Kind::Fail => Completion::Fail,
            Kind::Info | Kind::Invoke => Completion::Unknown,
        };
        match operation.outcome {
            Kind::Ok => counts.ok += 1,
            Kind::Fail => counts.fail += 1,
            Kind::Info | Kind::Invoke => counts.info += 1,
        }
        let decoded = model.decode(&operation.f, &operation.asked, completion);
        let (key, op) = match decoded {
            Ok(Decoded::Skip) => continue,
            Ok(Decoded::One(op)) => (None, op),
            Ok(Decoded::Keyed(key, op)) => (Some(key), op),
            Err(why) => {
                return Err(JudgeError::Entry {
                    index: operation.invoked.index,
                    why,
                });
            }
        };
        let place = *places.entry(key).or_insert_with_key(|key| {
            objects.push(Object {
                key: key.clone(),
                operations: Vec::new(),
                origins: Vec::new(),
            });
            objects.len() - 1
        });
        let object = &mut objects[place];
        let pending = matches!(completion, Completion::Unknown);
        let completed = operation.completed.filter(|_| !pending);
        let invoked = operation.invoked.position;
        // Pairing never gives a completion before its invocation; were it to, nothing would be known of its end.
        let interval = match completed {
            Some(at) => Operation::completed(op.clone(), invoked, at.position)
                .unwrap_or_else(|_| Operation::pending(op, invoked)),
            None => Operation::pending(op, invoked),
        };
        object.operations.push(interval);
        object.origins.push(Origin {
            process: operation.process,
            invoked: operation.invoked.index,
            completed: operation.completed.map(|at| at.index),
        });
    }
    Ok((objects, counts))
}
