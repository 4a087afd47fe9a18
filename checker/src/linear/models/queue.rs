//! A first-in first-out queue: `enqueue` a value, `dequeue` the oldest. It begins empty, or with what is given.
//!
//! A dequeue that answers nil found it empty. One that failed did not happen, and says nothing; one without an answer
//! may have taken what was the oldest then.

use super::values::{Values, elements};
use crate::linear::Model;
use crate::linear::model::{Completion, Decoded, Recorded};
use history::Value;

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

    fn reads_only(&self, op: &QueueOp) -> bool {
        matches!(op, QueueOp::Empty)
    }

    fn state_bytes(&self, state: &Box<[u32]>) -> u64 {
        state.len() as u64 * 4
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
            ("enqueue" | "dequeue", Completion::Fail(_)) => Decoded::Skip,
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
