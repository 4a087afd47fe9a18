//! One object's history decided.

use super::limits::Limits;
use super::mask::{Mask, Wide};
use super::operations::{Event, Operation};
use super::search::window::Window;
use super::search::{Found, Search};
use super::timeline::Timeline;
use super::{Answer, Model, Stuck};
use crate::{Budget, Spent};
use std::sync::atomic::AtomicBool;

/// What a history without its order is: decided, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// There is an order of all operations.
    Linearizable,
    /// There is none: where the search got stuck.
    Stuck(Depth),
    /// Not decided within a limit.
    Unknown(Spent),
}

/// How far orders come: all operations that completed before one can be ordered, but not with that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Depth {
    /// The operation that cannot be placed.
    pub(crate) at: usize,
    /// The place of its completion among the events.
    pub(crate) event: usize,
}

/// Decides the history of one object.
pub(crate) fn decide<M: Model>(operations: &[Operation<M::Op>], model: &M, budget: &Budget) -> Decision {
    let timeline = Timeline::new(model, operations);
    let (found, _) = search(model, &timeline, budget);
    match found {
        Some(Found::Order) => Decision::Linearizable,
        Some(Found::Stuck { event }) => Decision::Stuck(Depth {
            at: timeline.events[event].op(),
            event,
        }),
        None => Decision::Unknown(budget.spent().unwrap_or(Spent::Memory(budget.memory_left()))),
    }
}

/// Decides the history of one object, and says how far its operations can be ordered where not all can.
pub(crate) fn explain<M: Model>(operations: &[Operation<M::Op>], model: &M, budget: &Budget) -> Answer {
    match decide(operations, model, budget) {
        Decision::Linearizable => Answer::Linearizable,
        Decision::Unknown(spent) => Answer::Unknown(spent),
        Decision::Stuck(depth) => Answer::NotLinearizable(stuck(operations, model, depth, budget)),
    }
}

/// The order of all that completed before the operation that cannot be placed.
pub(crate) fn stuck<M: Model>(
    operations: &[Operation<M::Op>],
    model: &M,
    depth: Depth,
    budget: &Budget,
) -> Stuck {
    let events = super::operations::events(operations, |operation| {
        operation.completed_at().is_some() || !model.reads_only(&operation.op)
    });
    let (before, numbers) = cut(operations, &events[..depth.event]);
    let timeline = Timeline::new(model, &before);
    let (_, order) = search(model, &timeline, budget);
    Stuck {
        at: depth.at,
        linearized: order.into_iter().map(|op| numbers[op]).collect(),
    }
}

/// The history of some first events: what completes later is pending. With each operation's number in the whole.
fn cut<Op: Clone>(operations: &[Operation<Op>], events: &[Event]) -> (Vec<Operation<Op>>, Vec<usize>) {
    let mut places = vec![usize::MAX; operations.len()];
    let (mut cut, mut numbers): (Vec<Operation<Op>>, Vec<usize>) = Default::default();
    for event in events {
        let whole = &operations[event.op()];
        if event.completes() {
            cut[places[event.op()]] = whole.clone();
        } else {
            places[event.op()] = cut.len();
            cut.push(Operation::pending(whole.op.clone(), whole.invoked_at()));
            numbers.push(event.op());
        }
    }
    (cut, numbers)
}

fn search<M: Model>(
    model: &M,
    timeline: &Timeline<'_, M::Op>,
    budget: &Budget,
) -> (Option<Found>, Vec<usize>) {
    if timeline.width <= <u64 as Mask>::MOST {
        run::<_, u64>(model, timeline, budget)
    } else if timeline.width <= <u128 as Mask>::MOST {
        run::<_, u128>(model, timeline, budget)
    } else {
        run::<_, Wide>(model, timeline, budget)
    }
}

fn run<M: Model, K: Mask>(
    model: &M,
    timeline: &Timeline<'_, M::Op>,
    budget: &Budget,
) -> (Option<Found>, Vec<usize>) {
    let mut search = Window::<M, K>::new(model, timeline);
    let limits = Limits {
        steps: u64::MAX,
        memory: budget.memory_left(),
        budget,
        stop: &AtomicBool::new(false),
    };
    let found = search.run(&limits);
    (found, search.order())
}
