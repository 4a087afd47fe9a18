//! A counter: `add` a whole number, which may be negative, and `read` the sum. It begins at 0, or at what is given.
//!
//! An add that failed did not happen; one without an answer may have. Sums are of 128 bits: no history overflows them.

use super::values::whole;
use crate::linear::Model;
use crate::linear::model::{Completion, Decoded, Recorded};
use crate::linear::operations::Operation;
use history::Value;

/// A counter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counter {
    initial: i64,
    /// Whether it is known that nothing is ever taken off it.
    grows: bool,
}

impl Counter {
    /// One that begins at this; at 0 where nothing is given.
    ///
    /// # Errors
    /// Where that is no whole number.
    pub(crate) fn new(initial: Option<&Value>) -> Result<Counter, String> {
        Ok(Counter {
            initial: initial.map_or(Ok(0), |value| whole("the initial value", value))?,
            grows: false,
        })
    }
}

/// What was done to a counter, and what it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CounterOp {
    /// This was added.
    Add(i64),
    /// It was read, and stood at this.
    Read(i64),
}

impl Model for Counter {
    type Op = CounterOp;
    type State = i128;

    fn initial(&self) -> i128 {
        i128::from(self.initial)
    }

    fn step(&self, sum: &i128, op: &CounterOp) -> Option<i128> {
        match *op {
            CounterOp::Add(more) => sum.checked_add(i128::from(more)),
            CounterOp::Read(seen) => (i128::from(seen) == *sum).then_some(*sum),
        }
    }

    fn reads_only(&self, op: &CounterOp) -> bool {
        matches!(op, CounterOp::Read(_) | CounterOp::Add(0))
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn fitted(&self, operations: &[Operation<CounterOp>]) -> Option<Counter> {
        let grows = operations
            .iter()
            .all(|operation| !matches!(operation.op, CounterOp::Add(more) if more < 0));
        Some(Counter { grows, ..*self })
    }

    fn bound(&self, op: &CounterOp) -> Option<u64> {
        match op {
            // In the order of the sums.
            CounterOp::Read(seen) if self.grows => Some(seen.abs_diff(i64::MIN)),
            _ => None,
        }
    }

    fn reaches(&self, sum: &i128, op: &CounterOp) -> bool {
        match op {
            CounterOp::Read(seen) if self.grows => *sum <= i128::from(*seen),
            _ => true,
        }
    }
}

impl Recorded for Counter {
    fn decode(
        &mut self,
        f: &str,
        invoked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<CounterOp>, String> {
        Ok(match (f, completion) {
            ("add" | "read", Completion::Fail) | ("read", Completion::Unknown) => Decoded::Skip,
            ("add", _) => Decoded::One(CounterOp::Add(whole("what is added", invoked)?)),
            ("read", Completion::Ok(seen)) => Decoded::One(CounterOp::Read(whole("what was read", seen)?)),
            _ => return Err(format!("expected add or read, found {f:?}")),
        })
    }

    fn words(&self, op: &CounterOp) -> String {
        match op {
            CounterOp::Add(more) => format!("add {more}"),
            CounterOp::Read(seen) => format!("read {seen}"),
        }
    }
}
