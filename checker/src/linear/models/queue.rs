//! A first-in first-out queue: `enqueue` a value, `dequeue` the oldest. It begins empty, or with what is given.
//!
//! A dequeue that answers nil found it empty; so nil is no element. One that failed did not happen, and says nothing; one without an answer
//! may have taken what was the oldest then.

use super::values::{Values, elements};
use crate::linear::Model;
use crate::linear::model::{Completion, Decoded, Recorded};
use crate::linear::operations::Operation;
use history::Value;
use rustc_hash::FxHashMap;

/// A queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    values: Values,
    initial: Box<[u32]>,
}

/// What was done to a queue, and what it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum QueueOp {
    /// This was put at its end.
    Enqueue(u32),
    /// This was at its head, and was taken.
    Dequeue(u32),
    /// It was empty.
    Empty,
    /// Whatever was at its head was taken.
    DequeueAny,
}

/// When a value was put in, and when it was certainly taken out: from when, until when.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    puts: u32,
    put: (u64, u64),
    taken: Option<(u64, u64)>,
}

impl Passage {
    fn all(operations: &[Operation<QueueOp>]) -> FxHashMap<u32, Passage> {
        let mut passages: FxHashMap<u32, Passage> = FxHashMap::default();
        for operation in operations {
            let span = (
                operation.invoked_at(),
                operation.completed_at().unwrap_or(u64::MAX),
            );
            match operation.op {
                QueueOp::Enqueue(value) => {
                    let passage = passages.entry(value).or_default();
                    passage.puts += 1;
                    passage.put = span;
                }
                QueueOp::Dequeue(value) if operation.certain() => {
                    passages.entry(value).or_default().taken = Some(span);
                }
                QueueOp::Dequeue(_) | QueueOp::DequeueAny | QueueOp::Empty => {}
            }
        }
        passages
    }
}

impl Queue {
    /// One that begins with these; empty where nothing is given.
    ///
    /// # Errors
    /// Where that is no list.
    pub(crate) fn new(initial: Option<&Value>) -> Result<Queue, String> {
        let mut queue = Queue::default();
        if let Some(initial) = initial {
            let elements = elements("the initial value", initial)?;
            queue.initial = elements
                .iter()
                .map(|element| queue.values.number(element))
                .collect();
        }
        Ok(queue)
    }
}

impl Model for Queue {
    type Op = QueueOp;
    /// The oldest first.
    type State = Box<[u32]>;

    fn initial(&self) -> Box<[u32]> {
        self.initial.clone()
    }

    fn step(&self, state: &Box<[u32]>, op: &QueueOp) -> Option<Box<[u32]>> {
        match *op {
            QueueOp::Enqueue(value) => {
                let mut after = Vec::with_capacity(state.len() + 1);
                after.extend_from_slice(state);
                after.push(value);
                Some(after.into())
            }
            QueueOp::Dequeue(value) => {
                let (head, rest) = state.split_first()?;
                (*head == value).then(|| rest.into())
            }
            QueueOp::Empty => state.is_empty().then(Box::default),
            QueueOp::DequeueAny => state.split_first().map(|(_, rest)| rest.into()),
        }
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn reads_only(&self, op: &QueueOp) -> bool {
        matches!(op, QueueOp::Empty)
    }

    fn state_bytes(&self, state: &Box<[u32]>) -> u64 {
        state.len() as u64 * 4
    }

    /// Of two values that were put in one after the other, each once, the second was taken before the first (the order
    /// violation of Henzinger, Sezgin and Vafeiadis, 2013).
    fn refutes(&self, operations: &[Operation<QueueOp>]) -> bool {
        let mut passages = Passage::all(operations);
        for value in &self.initial {
            passages.remove(value);
        }
        let mut passages: Vec<Passage> = passages
            .into_values()
            .filter(|passage| passage.puts == 1)
            .collect();
        passages.retain(|passage| passage.taken.is_some());
        let mut by_end: Vec<Passage> = passages.clone();
        by_end.sort_unstable_by_key(|passage| passage.put.1);
        passages.sort_unstable_by_key(|passage| passage.put.0);
        let (mut before, mut latest) = (by_end.into_iter().peekable(), 0);
        passages.into_iter().any(|second| {
            while let Some(first) = before.next_if(|first| first.put.1 < second.put.0) {
                latest = latest.max(first.taken.map_or(0, |taken| taken.0));
            }
            second.taken.is_some_and(|taken| taken.1 < latest)
        })
    }
}

impl Recorded for Queue {
    fn decode(
        &mut self,
        f: &str,
        invoked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<QueueOp>, String> {
        Ok(match (f, completion) {
            ("enqueue" | "dequeue", Completion::Fail) => Decoded::Skip,
            ("enqueue", _) if *invoked == Value::Nil => {
                return Err(
                    "an element was expected, found nil, which is what a dequeue of the empty queue answers"
                        .into(),
                );
            }
            ("enqueue", _) => Decoded::One(QueueOp::Enqueue(self.values.number(invoked))),
            ("dequeue", Completion::Ok(Value::Nil)) => Decoded::One(QueueOp::Empty),
            ("dequeue", Completion::Ok(value)) => Decoded::One(QueueOp::Dequeue(self.values.number(value))),
            ("dequeue", Completion::Unknown) => Decoded::One(QueueOp::DequeueAny),
            _ => return Err(format!("expected enqueue or dequeue, found {f:?}")),
        })
    }

    fn words(&self, op: &QueueOp) -> String {
        match op {
            QueueOp::Enqueue(value) => format!("enqueue {}", self.values.value(*value)),
            QueueOp::Dequeue(value) => format!("dequeue {}", self.values.value(*value)),
            QueueOp::Empty => "dequeue of the empty queue".into(),
            QueueOp::DequeueAny => "dequeue".into(),
        }
    }
}
