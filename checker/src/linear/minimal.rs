//! The counterexample: few operations that no order explains, of which none can be left out.
//!
//! To leave out a read is to forget it. To leave out an operation that changes the object is to allow that it never
//! happened, or that it did while it was open: whether it did makes no difference then. (To forget it would be too
//! easy: without the write of what it read, any read is a counterexample.) So what is left fails by itself, from the
//! initial value on, and it fails whatever became of the rest.
//!
//! First the shortest beginning of the history that fails; then delta debugging (Zeller and Hildebrandt, 2002): chunks
//! are left out, ever smaller ones, and at last single operations until none can go.

use super::decide::{Decision, decide};
use super::limits::Limits;
use super::mask::{Mask, Wide};
use super::search::window::Window;
use super::search::{Found, Search};
use super::timeline::Timeline;
use super::{Model, Operation};
use crate::Budget;
use std::sync::atomic::AtomicBool;

/// A counterexample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Minimal {
    /// Its operations, by their invocations.
    pub(crate) operations: Vec<usize>,
    /// Whether it is known that none of them can be left out.
    pub(crate) settled: bool,
}

/// A counterexample within a history that fails, of which the first operations can be ordered up to a moment before
/// `stuck`. Past the budget it is the smallest that was found.
pub(crate) fn minimal<M: Model>(
    operations: &[Operation<M::Op>],
    model: &M,
    stuck: u64,
    budget: &Budget,
) -> Minimal {
    let mut reduction = Reduction {
        operations: operations.iter().cloned().enumerate().collect(),
        model,
        budget,
        spent: false,
    };
    reduction.beginning(stuck);
    // Of what is pending nothing is certain: it is left out from the first.
    let certain = reduction
        .operations
        .iter()
        .map(|(_, operation)| operation.certain());
    let mut kept: Vec<usize> = certain
        .enumerate()
        .filter(|(_, certain)| *certain)
        .map(|(at, _)| at)
        .collect();
    let mut chunk = kept.len();
    loop {
        chunk = chunk.div_ceil(2);
        let before = kept.len();
        kept = reduction.pass(kept, chunk);
        if reduction.spent || (chunk <= 1 && kept.len() == before) {
            break;
        }
        chunk = chunk.min(kept.len());
    }
    Minimal {
        operations: kept.into_iter().map(|at| reduction.operations[at].0).collect(),
        settled: !reduction.spent,
    }
}

struct Reduction<'a, M: Model> {
    /// What was not cut off, by invocation, each with its place in the whole.
    operations: Vec<(usize, Operation<M::Op>)>,
    model: &'a M,
    budget: &'a Budget,
    /// Whether something was given up.
    spent: bool,
}

impl<M: Model> Reduction<'_, M> {
    /// Cuts off what comes after the shortest beginning that fails.
    fn beginning(&mut self, stuck: u64) {
        self.operations
            .sort_by_key(|(at, operation)| (operation.invoked_at(), *at));
        let mut ends: Vec<u64> = self
            .operations
            .iter()
            .filter_map(|(_, operation)| operation.completed_at())
            .collect();
        ends.sort_unstable();
        // Mostly the search got stuck just there; where it knew something of the future, further on.
        let (mut passes, mut fails) = (
            ends.partition_point(|end| *end < stuck),
            ends.len().saturating_sub(1),
        );
        let mut step = 0;
        while passes < fails {
            let end = (passes + step).min(passes + (fails - passes) / 2);
            match self.fails_until(ends[end]) {
                None => break,
                Some(true) => fails = end,
                Some(false) => passes = end + 1,
            }
            step = step * 2 + 1;
        }
        if let Some(end) = ends.get(fails) {
            self.operations = self.until(*end);
        }
    }

    /// The history up to a moment: what completes later is pending.
    fn until(&self, moment: u64) -> Vec<(usize, Operation<M::Op>)> {
        let begun = self
            .operations
            .iter()
            .take_while(|(_, operation)| operation.invoked_at() <= moment);
        let cut = begun.map(|(at, operation)| match operation.completed_at() {
            Some(completed) if completed > moment => (
                *at,
                Operation::pending(operation.op.clone(), operation.invoked_at()),
            ),
            _ => (*at, operation.clone()),
        });
        cut.collect()
    }

    /// Whether the history up to a moment fails, where that is decided.
    fn fails_until(&mut self, moment: u64) -> Option<bool> {
        let cut: Vec<_> = self
            .until(moment)
            .into_iter()
            .map(|(_, operation)| operation)
            .collect();
        match decide(&cut, self.model, self.budget) {
            Decision::Stuck(_) => Some(true),
            Decision::Linearizable => Some(false),
            Decision::Unknown(_) => {
                self.spent = true;
                None
            }
        }
    }

    /// Leaves out chunks, the earliest first, where what is left fails still.
    fn pass(&mut self, mut kept: Vec<usize>, chunk: usize) -> Vec<usize> {
        let mut from = 0;
        while from < kept.len() && !self.spent {
            let to = (from + chunk).min(kept.len());
            let rest: Vec<usize> = kept[..from].iter().chain(&kept[to..]).copied().collect();
            match self.fails(&rest) {
                true => kept = rest,
                false => from = to,
            }
        }
        kept
    }

    /// Whether these fail, whatever became of the rest. What was not decided counts as no.
    fn fails(&mut self, kept: &[usize]) -> bool {
        let mut next = kept.iter().copied().peekable();
        let mut operations = Vec::with_capacity(self.operations.len());
        for (at, (_, operation)) in self.operations.iter().enumerate() {
            if next.next_if_eq(&at).is_some() {
                operations.push(operation.clone());
            } else if !self.model.reads_only(&operation.op) {
                operations.push(operation.clone().or_never());
            }
        }
        let decided = has_order(&operations, self.model, self.budget);
        self.spent |= decided.is_none();
        decided == Some(false)
    }
}

/// Whether there is an order, where that is decided. Only the search over windows knows what may never have happened.
fn has_order<M: Model>(operations: &[Operation<M::Op>], model: &M, budget: &Budget) -> Option<bool> {
    let fitted = model.fitted(operations);
    let model = fitted.as_ref().unwrap_or(model);
    let timeline = Timeline::new(model, operations);
    let limits = Limits {
        steps: u64::MAX,
        memory: budget.memory_left(),
        budget,
        stop: &AtomicBool::new(false),
    };
    let found = if timeline.width <= <u64 as Mask>::MOST {
        Window::<M, u64>::new(model, &timeline).run(&limits)
    } else if timeline.width <= <u128 as Mask>::MOST {
        Window::<M, u128>::new(model, &timeline).run(&limits)
    } else {
        Window::<M, Wide>::new(model, &timeline).run(&limits)
    };
    found.map(|found| found == Found::Order)
}
