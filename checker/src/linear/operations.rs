//! Operations with their intervals, and the one order of events that searches walk.
//!
//! Intervals are closed: two that touch are concurrent. So of equal times all invocations come before all
//! completions, and then one operation precedes another exactly where its completion stands before the other's
//! invocation.

use std::fmt;

/// An operation and when it was open: from its invocation to its completion, both included. Without a completion it
/// may have taken effect at any time since its invocation, or never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<Op> {
    /// What was asked and answered.
    pub op: Op,
    invoked: u64,
    completed: Option<u64>,
    optional: bool,
}

/// An operation that completed before it was invoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backwards {
    /// Its invocation.
    pub invoked: u64,
    /// Its completion.
    pub completed: u64,
}

impl fmt::Display for Backwards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an operation completed at {}, before it was invoked at {}: a completion comes at or after its invocation",
            self.completed, self.invoked
        )
    }
}

impl std::error::Error for Backwards {}

impl<Op> Operation<Op> {
    /// An operation that completed.
    ///
    /// # Errors
    /// Where it completed before it was invoked.
    pub fn completed(op: Op, invoked: u64, completed: u64) -> Result<Operation<Op>, Backwards> {
        if completed < invoked {
            return Err(Backwards { invoked, completed });
        }
        Ok(Operation {
            op,
            invoked,
            completed: Some(completed),
            optional: false,
        })
    }

    /// An operation of which nobody knows whether it took effect, or will.
    pub fn pending(op: Op, invoked: u64) -> Operation<Op> {
        Operation {
            op,
            invoked,
            completed: None,
            optional: true,
        }
    }

    /// The same, which now may have taken effect while it was open, or never. What it answered holds only if it did.
    pub(crate) fn or_never(self) -> Operation<Op> {
        Operation {
            optional: true,
            ..self
        }
    }

    /// Whether it took effect for certain.
    pub fn certain(&self) -> bool {
        !self.optional
    }

    /// When it was invoked.
    pub fn invoked_at(&self) -> u64 {
        self.invoked
    }

    /// When it completed, where it did.
    pub fn completed_at(&self) -> Option<u64> {
        self.completed
    }
}

/// The invocation or the completion of an operation, by its place among the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event(u32);

impl Event {
    /// Operations that one search can number.
    pub(crate) const MOST_OPERATIONS: usize = (u32::MAX >> 1) as usize;

    fn invoked(op: u32) -> Event {
        Event(op << 1)
    }

    fn completed(op: u32) -> Event {
        Event(op << 1 | 1)
    }

    /// Which operation.
    #[inline(always)]
    pub(crate) fn op(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether it is the completion.
    #[inline(always)]
    pub(crate) fn completes(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The events of those operations that `keep` keeps, in their order.
pub(crate) fn events<Op>(operations: &[Operation<Op>], keep: impl Fn(usize) -> bool) -> Vec<Event> {
    let kept = || (0u32..).zip(operations).filter(|(op, _)| keep(*op as usize));
    by_place(kept).unwrap_or_else(|| {
        let mut timed: Vec<(u64, Event)> = Vec::with_capacity(operations.len() * 2);
        for (op, operation) in kept() {
            timed.push((operation.invoked, Event::invoked(op)));
            timed.extend(operation.completed.map(|time| (time, Event::completed(op))));
        }
        timed.sort_unstable_by_key(|(time, event)| (*time, event.completes(), event.op()));
        timed.into_iter().map(|(_, event)| event).collect()
    })
}

/// Times per event up to which a table of all times is made instead of sorting.
const SPREAD: u64 = 4;

/// Events put where their times say, where the times lie close together and no two are equal.
fn by_place<'a, Op: 'a, I: Iterator<Item = (u32, &'a Operation<Op>)>>(
    kept: impl Fn() -> I,
) -> Option<Vec<Event>> {
    const NOTHING: Event = Event(u32::MAX);
    let (mut first, mut last, mut count) = (u64::MAX, 0, 0);
    for (_, operation) in kept() {
        first = first.min(operation.invoked);
        last = last.max(operation.completed.unwrap_or(operation.invoked));
        count += 1;
    }
    let span = last.checked_sub(first)?;
    if span / SPREAD >= 2 * count {
        return None;
    }
    let mut places = vec![NOTHING; span as usize + 1];
    for (op, operation) in kept() {
        let mut put = |time: u64, event: Event| {
            let place = &mut places[(time - first) as usize];
            let free = *place == NOTHING;
            *place = event;
            free
        };
        let free = put(operation.invoked, Event::invoked(op));
        let completed = operation.completed.map(|time| put(time, Event::completed(op)));
        if !free || completed == Some(false) {
            return None;
        }
    }
    places.retain(|event| *event != NOTHING);
    Some(places)
}
