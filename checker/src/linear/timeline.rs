//! The events of a history as searches walk them: which slot of the window each operation has while it is open, and
//! of which kind it is.

use super::Model;
use super::operations::{Event, Operation, events};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// In a slot of the window, from its invocation to its completion.
    Slot(u32),
    /// Among the pending ones of its kind, from its invocation on.
    Pending(u32),
}

/// A history as a search walks it.
pub(crate) struct Timeline<'a, Op> {
    pub(crate) events: Vec<Event>,
    /// By operation; those that are left out have any.
    pub(crate) seats: Vec<Seat>,
    /// By operation: its kind.
    pub(crate) kinds: Vec<u32>,
    /// By kind: an operation of it.
    pub(crate) samples: Vec<&'a Op>,
    /// By kind: whether it only reads.
    pub(crate) reads: Vec<bool>,
    /// By operation: the place of its completion among the events.
    pub(crate) completions: Vec<u32>,
    /// By operation: whether it completed, and may still never have taken effect.
    pub(crate) optional: Vec<bool>,
    /// By sort of pending operations: its kind.
    pub(crate) pending: Vec<u32>,
    /// Slots.
    pub(crate) width: usize,
    /// By event: of the operations that are invoked there or later, and complete before anything that is invoked there
    /// or later resets, the kind that has to come earliest. Empty where no kind has to.
    pub(crate) ahead: Vec<Option<u32>>,
}

impl<'a, Op: Clone + Eq + std::hash::Hash> Timeline<'a, Op> {
    /// Of a history, as a model sees it: reads that never completed say nothing, and are left out.
    pub(crate) fn new<M: Model<Op = Op>>(model: &M, operations: &'a [Operation<Op>]) -> Timeline<'a, Op> {
        let mut timeline = Timeline {
            events: events(operations, says_something(model, operations)),
            seats: vec![Seat::Slot(0); operations.len()],
            kinds: Vec::with_capacity(operations.len()),
            samples: Vec::new(),
            reads: Vec::new(),
            completions: vec![u32::MAX; operations.len()],
            optional: operations
                .iter()
                .map(|operation| !operation.certain() && operation.completed_at().is_some())
                .collect(),
            pending: Vec::new(),
            width: 0,
            ahead: Vec::new(),
        };
        let mut numbers: FxHashMap<&Op, u32> = FxHashMap::default();
        for operation in operations {
            let kind = *numbers.entry(&operation.op).or_insert_with(|| {
                timeline.samples.push(&operation.op);
                timeline.reads.push(model.reads_only(&operation.op));
                timeline.samples.len() as u32 - 1
            });
            timeline.kinds.push(kind);
        }
        timeline.seat(operations);
        timeline.look_ahead(model);
        timeline
    }

    fn look_ahead<M: Model<Op = Op>>(&mut self, model: &M) {
        let bounds: Vec<Option<u64>> = self.samples.iter().map(|op| model.bound(op)).collect();
        if bounds.iter().all(Option::is_none) {
            return;
        }
        self.ahead = vec![None; self.events.len()];
        let mut earliest: Option<(u64, u32)> = None;
        let mut reset = u32::MAX;
        for (place, event) in self.events.iter().enumerate().rev() {
            if !event.completes() {
                let kind = self.kinds[event.op()];
                let completion = self.completions[event.op()];
                if model.resets(self.samples[kind as usize]) {
                    (earliest, reset) = (None, place as u32);
                } else if let Some(bound) = bounds[kind as usize]
                    && completion < reset
                    && !self.optional[event.op()]
                {
                    earliest = Some(earliest.map_or((bound, kind), |known| known.min((bound, kind))));
                }
            }
            self.ahead[place] = earliest.map(|(_, kind)| kind);
        }
    }

    fn seat(&mut self, operations: &[Operation<Op>]) {
        let mut sorts: FxHashMap<u32, u32> = FxHashMap::default();
        let mut free: Vec<u32> = Vec::new();
        for (place, event) in (0u32..).zip(&self.events) {
            let op = event.op();
            if event.completes() {
                self.completions[op] = place;
                if let Seat::Slot(slot) = self.seats[op] {
                    free.push(slot);
                }
                continue;
            }
            self.seats[op] = if operations[op].completed_at().is_none() {
                let kind = self.kinds[op];
                Seat::Pending(*sorts.entry(kind).or_insert_with(|| {
                    self.pending.push(kind);
                    self.pending.len() as u32 - 1
                }))
            } else {
                Seat::Slot(free.pop().unwrap_or_else(|| {
                    self.width += 1;
                    self.width as u32 - 1
                }))
            };
        }
    }

    /// The kind of what stands in an order.
    #[inline]
    pub(crate) fn kind(&self, placed: Placed) -> u32 {
        match placed {
            Placed::Operation(op) => self.kinds[op as usize],
            Placed::Pending(sort) => self.pending[sort as usize],
            Placed::Never => NO_KIND,
        }
    }

    /// The operations of an order in which pending ones stand as sorts: the first invoked is used first.
    pub(crate) fn resolve(&self, order: &[Placed]) -> Vec<usize> {
        let pending = |op: usize| match self.seats[op] {
            Seat::Pending(sort) => Some(sort),
            Seat::Slot(_) => None,
        };
        resolve(order, &self.events, self.pending.len(), pending)
    }
}

/// The operations of an order in which pending ones stand as sorts, of which `pending` gives each pending operation's:
/// the first invoked is used first.
pub(crate) fn resolve(
    order: &[Placed],
    events: &[Event],
    sorts: usize,
    pending: impl Fn(usize) -> Option<u32>,
) -> Vec<usize> {
    let mut invoked: Vec<VecDeque<usize>> = vec![VecDeque::new(); sorts];
    for event in events.iter().filter(|event| !event.completes()) {
        if let Some(sort) = pending(event.op()) {
            invoked[sort as usize].push_back(event.op());
        }
    }
    let placed = order.iter().filter_map(|placed| match placed {
        Placed::Operation(op) => Some(*op as usize),
        Placed::Pending(sort) => invoked[*sort as usize].pop_front(),
        Placed::Never => None,
    });
    placed.collect()
}

/// What stands in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// An operation.
    Operation(u32),
    /// Some pending operation of a sort.
    Pending(u32),
    /// What completes next never takes effect.
    Never,
}

/// Which operations say something: all but reads that never completed.
pub(crate) fn says_something<M: Model>(model: &M, operations: &[Operation<M::Op>]) -> impl Fn(usize) -> bool {
    |op| operations[op].completed_at().is_some() || !model.reads_only(&operations[op].op)
}
/// The kind of nothing.
const NO_KIND: u32 = u32::MAX;
