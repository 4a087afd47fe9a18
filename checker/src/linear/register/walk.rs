//! A register's history, made ready for the searches.
//!
//! What is left out or made simpler, and why that changes no verdict:
//! 1. A compare-and-set of a value to itself only reads. Pending operations that only read say nothing.
//! 2. A value that nothing looks for any more, from the moment on at which it is written, is as good as any other
//!    such value: all of them become one ([`Walk::junk`]).
//! 3. What looks for a value that nothing made before it completed cannot happen: that needs no search.
//! 4. A pending operation that leaves such a value behind is needed only by a compare-and-set that failed, since
//!    that one needs the register to hold something else. Where none completes later it is left out.

use crate::linear::models::register::{Register, RegisterOp};
use crate::linear::operations::{Event, Operation, events};
use crate::linear::timeline::{self, Placed};
use rustc_hash::FxHashMap;

/// No number of a sort.
pub(crate) const NO_SORT: u32 = u32::MAX;

/// A history as the searches walk it.
pub(crate) struct Walk {
    pub(crate) events: Vec<Event>,
    /// By operation: what it is.
    pub(crate) ops: Vec<RegisterOp>,
    /// By operation: the place of its completion among the events.
    pub(crate) completions: Vec<u32>,
    /// By operation: its slot of the window, or its sort where it is pending.
    pub(crate) seats: Vec<u32>,
    /// By operation: whether it is pending.
    pub(crate) is_pending: Vec<bool>,
    /// By sort of pending operations: what it is.
    pub(crate) pending: Vec<RegisterOp>,
    /// By value: the sort of pending operations that write it.
    pub(crate) writing: Vec<u32>,
    /// By value: the sorts of pending operations that set it if they find what they expect.
    pub(crate) setting: FxHashMap<u32, Vec<u32>>,
    /// The value that it begins with.
    pub(crate) initial: u32,
    /// Values are below this.
    pub(crate) values: u32,
    /// Slots.
    pub(crate) width: usize,
    /// The first operation to complete that looked for a value which nothing had made.
    pub(crate) impossible: Option<usize>,
}

impl Walk {
    /// Makes a history ready. What `op` makes of an operation is what the register did.
    pub(crate) fn new<Op>(
        register: Register,
        operations: &[Operation<Op>],
        op: impl Fn(&Op) -> RegisterOp,
    ) -> Walk {
        let mut ops: Vec<RegisterOp> = operations
            .iter()
            .map(|operation| simple(op(&operation.op)))
            .collect();
        let mut initial = register.initial;
        let values = number(&mut ops, &mut initial);
        let is_pending: Vec<bool> = operations
            .iter()
            .map(|operation| operation.completed_at().is_none())
            .collect();
        let mut walk = Walk {
            events: events(operations, |op| !(is_pending[op] && reads(ops[op]))),
            completions: vec![u32::MAX; ops.len()],
            seats: vec![0; ops.len()],
            ops,
            is_pending,
            pending: Vec::new(),
            writing: vec![NO_SORT; values as usize + 1],
            setting: FxHashMap::default(),
            initial,
            values: values + 1,
            width: 0,
            impossible: None,
        };
        walk.impossible = walk.first_impossible();
        walk.forget_unseen(values);
        walk.seat();
        walk
    }

    fn first_impossible(&self) -> Option<usize> {
        let mut made = vec![false; self.values as usize];
        made[self.initial as usize] = true;
        for event in &self.events {
            match (self.ops[event.op()], event.completes()) {
                (RegisterOp::Write(value) | RegisterOp::Cas(_, value), false) => made[value as usize] = true,
                (RegisterOp::Read(value) | RegisterOp::Cas(value, _), true) if !made[value as usize] => {
                    return Some(event.op());
                }
                _ => {}
            }
        }
        None
    }

    /// Makes values that nothing looks for any more one, and leaves out pending operations that nothing needs.
    fn forget_unseen(&mut self, junk: u32) {
        let (looked_for, differing) = self.last_looks();
        let (ops, is_pending) = (&mut self.ops, &self.is_pending);
        let mut place = 0u32;
        let mut keeps = |event: &Event| {
            let now = place;
            place += 1;
            if event.completes() {
                return true;
            }
            let op = event.op();
            let left = match ops[op] {
                RegisterOp::Write(value) | RegisterOp::Cas(_, value) => value,
                RegisterOp::Read(_) | RegisterOp::Differs(_) => return true,
            };
            if looked_for[left as usize] > now {
                return true;
            }
            match &mut ops[op] {
                RegisterOp::Write(value) | RegisterOp::Cas(_, value) => *value = junk,
                RegisterOp::Read(_) | RegisterOp::Differs(_) => {}
            }
            !is_pending[op] || differing > now
        };
        self.events.retain(&mut keeps);
    }

    /// By value, the place of the last completion of what looks for it; and of any failed compare-and-set.
    fn last_looks(&self) -> (Vec<u32>, u32) {
        let mut looked_for = vec![0; self.values as usize];
        let mut differing = 0;
        for (place, event) in (0u32..).zip(&self.events) {
            let op = event.op();
            let until = match (event.completes(), self.is_pending[op]) {
                (true, _) => place,
                (false, true) => u32::MAX,
                (false, false) => continue,
            };
            // What is pending looks for ever, whatever completes after it.
            match self.ops[op] {
                RegisterOp::Read(value) | RegisterOp::Cas(value, _) | RegisterOp::Differs(value) => {
                    looked_for[value as usize] = looked_for[value as usize].max(until);
                }
                RegisterOp::Write(_) => {}
            }
            if let RegisterOp::Differs(_) = self.ops[op] {
                differing = until;
            }
        }
        (looked_for, differing)
    }

    /// Gives each operation its slot or sort.
    fn seat(&mut self) {
        let mut free: Vec<u32> = Vec::new();
        let mut sorts: FxHashMap<RegisterOp, u32> = FxHashMap::default();
        for (place, event) in (0u32..).zip(&self.events) {
            let op = event.op();
            if event.completes() {
                self.completions[op] = place;
                free.push(self.seats[op]);
            } else if !self.is_pending[op] {
                self.seats[op] = free.pop().unwrap_or_else(|| {
                    self.width += 1;
                    self.width as u32 - 1
                });
            } else {
                let what = self.ops[op];
                let next = self.pending.len() as u32;
                self.seats[op] = *sorts.entry(what).or_insert(next);
                if self.seats[op] == next {
                    self.pending.push(what);
                    match what {
                        RegisterOp::Cas(_, new) => self.setting.entry(new).or_default().push(next),
                        RegisterOp::Write(value) => self.writing[value as usize] = next,
                        RegisterOp::Read(_) | RegisterOp::Differs(_) => {}
                    }
                }
            }
        }
    }

    /// Whether what stands in an order is a write.
    pub(crate) fn writes(&self, placed: Placed) -> bool {
        let what = match placed {
            Placed::Operation(op) => self.ops[op as usize],
            Placed::Pending(sort) => self.pending[sort as usize],
            Placed::Never => return false,
        };
        matches!(what, RegisterOp::Write(_))
    }

    /// The operations of an order in which pending ones stand as sorts: the first invoked is used first.
    pub(crate) fn resolve(&self, order: &[Placed]) -> Vec<usize> {
        let pending = |op: usize| self.is_pending[op].then_some(self.seats[op]);
        timeline::resolve(order, &self.events, self.pending.len(), pending)
    }
}

/// A compare-and-set of a value to itself only reads.
pub(crate) fn simple(op: RegisterOp) -> RegisterOp {
    match op {
        RegisterOp::Cas(old, new) if old == new => RegisterOp::Read(old),
        other => other,
    }
}

/// Whether it leaves the register as it is.
#[inline(always)]
pub(crate) fn reads(op: RegisterOp) -> bool {
    matches!(op, RegisterOp::Read(_) | RegisterOp::Differs(_))
}

/// Numbers values from 0, where their own numbers are too far apart for tables. How many there are.
fn number(ops: &mut [RegisterOp], initial: &mut u32) -> u32 {
    let mut largest = *initial;
    for op in ops.iter() {
        let (first, second) = values_of(*op);
        largest = largest.max(first).max(second);
    }
    if (largest as usize) < ops.len() * 2 + 1024 {
        return largest + 1;
    }
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut renumber = |value: &mut u32| {
        let next = numbers.len() as u32;
        *value = *numbers.entry(*value).or_insert(next);
    };
    renumber(initial);
    for op in ops.iter_mut() {
        match op {
            RegisterOp::Read(value) | RegisterOp::Write(value) | RegisterOp::Differs(value) => {
                renumber(value)
            }
            RegisterOp::Cas(old, new) => {
                renumber(old);
                renumber(new);
            }
        }
    }
    numbers.len() as u32
}

fn values_of(op: RegisterOp) -> (u32, u32) {
    match op {
        RegisterOp::Read(value) | RegisterOp::Write(value) | RegisterOp::Differs(value) => (value, value),
        RegisterOp::Cas(old, new) => (old, new),
    }
}
