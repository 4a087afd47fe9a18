//! The counterexample: few operations that no order explains, of which none can be left out.
//!
//! To leave out a read is to forget it. To leave out an operation that changes the object is to allow that it never
//! happened, or that it did while it was open: whether it did makes no difference then. (To forget it would be too
//! easy: without the write of what it read, any read is a counterexample.) So what is left fails by itself, from the
//! initial value on, and it fails whatever became of the rest.
//!
//! First the shortest beginning of the history that fails; then delta debugging (Zeller and Hildebrandt, 2002): chunks
//! are left out, ever smaller ones, and at last single operations until none can go. Reads go first: what was written
//! explains more than that it was read.

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
    /// The one that completes last, without which there is an order.
    pub(crate) stuck: usize,
    /// That order, where it was found. It may have operations that were left out.
    pub(crate) order: Option<Vec<usize>>,
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
    loop {
        let before = kept.len();
        for reads in [true, false] {
            kept = reduction.leave_out(kept, reads);
        }
        if reduction.spent || kept.len() == before {
            break;
        }
    }
    reduction.conclude(kept)
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

    /// Leaves out reads, or what is none: ever smaller chunks, at last one by one.
    fn leave_out(&mut self, kept: Vec<usize>, reads: bool) -> Vec<usize> {
        let (mut these, mut others): (Vec<usize>, Vec<usize>) = kept
            .into_iter()
            .partition(|at| self.model.reads_only(&self.operations[*at].1.op) == reads);
        let mut chunk = these.len();
        while chunk > 0 && !self.spent {
            these = self.pass(these, &others, chunk);
            chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
        }
        others.extend(these);
        others.sort_unstable();
        others
    }

    /// Leaves out chunks, the earliest first, where what is left fails still.
    fn pass(&mut self, mut these: Vec<usize>, others: &[usize], chunk: usize) -> Vec<usize> {
        let mut from = 0;
        while from < these.len() && !self.spent {
            let to = (from + chunk).min(these.len());
            let rest: Vec<usize> = these[..from].iter().chain(&these[to..]).copied().collect();
            let mut kept: Vec<usize> = rest.iter().chain(others).copied().collect();
            kept.sort_unstable();
            match self.order(&kept) {
                Looked::Nowhere => these = rest,
                Looked::Order(_) | Looked::Undecided => from = to,
            }
        }
        these
    }

    fn conclude(mut self, kept: Vec<usize>) -> Minimal {
        let settled = !self.spent;
        let ends = |at: &&usize| self.operations[**at].1.completed_at();
        let stuck = kept.iter().max_by_key(ends).copied().unwrap_or_default();
        let without: Vec<usize> = kept.iter().copied().filter(|at| *at != stuck).collect();
        let order = match self.order(&without) {
            Looked::Order(order) => Some(order),
            Looked::Nowhere | Looked::Undecided => None,
        };
        let whole = |at: usize| self.operations[at].0;
        Minimal {
            operations: kept.into_iter().map(whole).collect(),
            stuck: whole(stuck),
            order: order.map(|order| order.into_iter().map(whole).collect()),
            settled,
        }
    }

    /// An order of these, in which the rest may be.
    fn order(&mut self, kept: &[usize]) -> Looked {
        let mut next = kept.iter().copied().peekable();
        let (mut places, mut operations) = (Vec::new(), Vec::new());
        for (at, (_, operation)) in self.operations.iter().enumerate() {
            let certain = next.next_if_eq(&at).is_some();
            if certain || !self.model.reads_only(&operation.op) {
                places.push(at);
                operations.push(if certain {
                    operation.clone()
                } else {
                    operation.clone().or_never()
                });
            }
        }
        match look(&operations, self.model, self.budget) {
            Looked::Order(order) => Looked::Order(order.into_iter().map(|at| places[at]).collect()),
            Looked::Undecided => {
                self.spent = true;
                Looked::Undecided
            }
            Looked::Nowhere => Looked::Nowhere,
        }
    }
}

/// What came of looking for an order.
enum Looked {
    Order(Vec<usize>),
    Nowhere,
    Undecided,
}

/// Looks for an order. Only the search over windows knows what may never have happened.
fn look<M: Model>(operations: &[Operation<M::Op>], model: &M, budget: &Budget) -> Looked {
    let fitted = model.fitted(operations);
    let model = fitted.as_ref().unwrap_or(model);
    if model.refutes(operations) {
        return Looked::Nowhere;
    }
    let timeline = Timeline::new(model, operations);
    let mut search: Box<dyn Search + '_> = match timeline.width {
        width if width <= <u64 as Mask>::MOST => Box::new(Window::<M, u64>::new(model, &timeline)),
        width if width <= <u128 as Mask>::MOST => Box::new(Window::<M, u128>::new(model, &timeline)),
        _ => Box::new(Window::<M, Wide>::new(model, &timeline)),
    };
    let found = search.run(&Limits {
        steps: u64::MAX,
        memory: budget.memory_left(),
        budget,
        stop: &AtomicBool::new(false),
    });
    match found {
        Some(Found::Order) => Looked::Order(search.order()),
        Some(Found::Stuck { .. }) => Looked::Nowhere,
        None => Looked::Undecided,
    }
}
