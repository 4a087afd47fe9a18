//! What is open at an event, and what can be done about it: the part that both searches share.
//!
//! A place is a state of the register, the open operations that are *done*, and those that are *hidden*: blind writes
//! that were open when the last write took effect. A hidden write may be taken to have happened just before that
//! one, where nobody could see it, or may still happen later; which of the two need not be said before it completes.
//!
//! Reads are done as soon as they fit. Everything else waits until somebody needs it: the operation that completes
//! next, or an open one that looks for a value. So pending operations are used only where their value is wanted.

use super::walk::{NO_SORT, Walk, reads};
use crate::linear::crashed::{Multisets, NONE_USED};
use crate::linear::mask::Mask;
use crate::linear::models::register::RegisterOp;

/// A place, at some event.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Spot<K> {
    pub(crate) state: u32,
    /// The pending operations that were used.
    pub(crate) used: u32,
    pub(crate) done: K,
    pub(crate) hidden: K,
}

/// What can be done at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// The operation that completes next happened just before the last write.
    Hide,
    /// The operation in a slot happens.
    Slot(u32),
    /// A pending operation of a sort happens.
    Pending(u32),
}

/// What is open at an event.
pub(crate) struct Board<'a, K> {
    pub(crate) walk: &'a Walk,
    /// The event.
    pub(crate) event: u32,
    open: K,
    writes: K,
    reads: K,
    /// By slot: the operation in it, and what it is.
    at: Vec<(u32, RegisterOp)>,
    /// By sort of pending operations: how many were invoked.
    invoked: Vec<u32>,
    /// By value: the turn in which it was last wanted.
    wanted: Vec<u32>,
    turn: u32,
    /// Values that are wanted, and whose makers among the pending operations were not looked at.
    looking: Vec<u32>,
}

impl<'a, K: Mask> Board<'a, K> {
    pub(crate) fn new(walk: &'a Walk) -> Board<'a, K> {
        let empty = K::empty(walk.width);
        Board {
            walk,
            event: 0,
            open: empty.clone(),
            writes: empty.clone(),
            reads: empty,
            at: vec![(0, RegisterOp::Read(0)); walk.width],
            invoked: vec![0; walk.pending.len()],
            wanted: vec![0; walk.values as usize],
            turn: 0,
            looking: Vec::new(),
        }
    }

    /// The first place.
    pub(crate) fn first(&self) -> Spot<K> {
        Spot {
            state: self.walk.initial,
            used: NONE_USED,
            done: K::empty(self.walk.width),
            hidden: K::empty(self.walk.width),
        }
    }

    /// The operation in a slot.
    pub(crate) fn operation(&self, slot: u32) -> u32 {
        self.at[slot as usize].0
    }

    fn enter(&mut self, op: usize) {
        let what = self.walk.ops[op];
        let slot = self.walk.seats[op] as usize;
        self.at[slot] = (op as u32, what);
        self.open.put(slot);
        match what {
            RegisterOp::Write(_) => self.writes.put(slot),
            RegisterOp::Read(_) | RegisterOp::Differs(_) => self.reads.put(slot),
            RegisterOp::Cas(..) => {}
        }
    }

    fn leave(&mut self, op: usize) {
        let slot = self.walk.seats[op] as usize;
        self.open.cut(slot);
        self.writes.cut(slot);
        self.reads.cut(slot);
    }

    /// Goes on over an invocation. The slot of a read, which may fit.
    #[inline]
    pub(crate) fn invoke(&mut self, op: usize) -> Option<usize> {
        self.event += 1;
        if self.walk.is_pending[op] {
            self.invoked[self.walk.seats[op] as usize] += 1;
            return None;
        }
        self.enter(op);
        reads(self.walk.ops[op]).then_some(self.walk.seats[op] as usize)
    }

    /// Goes on over a completion.
    #[inline]
    pub(crate) fn complete(&mut self, op: usize) {
        self.event += 1;
        self.leave(op);
    }

    /// Goes back to an event.
    pub(crate) fn rewind(&mut self, to: u32) {
        while self.event > to {
            self.event -= 1;
            let event = self.walk.events[self.event as usize];
            let op = event.op();
            if event.completes() {
                self.enter(op);
            } else if self.walk.is_pending[op] {
                self.invoked[self.walk.seats[op] as usize] -= 1;
            } else {
                self.leave(op);
            }
        }
    }

    /// Whether the operation in a slot is possible in a state.
    #[inline(always)]
    pub(crate) fn fits(&self, slot: usize, state: u32) -> bool {
        after(state, self.at[slot].1).is_some()
    }

    /// Lists what can be done at a place before a slot's operation completes, the best last.
    pub(crate) fn list(&mut self, spot: &Spot<K>, due: usize, sets: &Multisets, moves: &mut Vec<Move>) {
        let undone = self.open.without(&spot.done);
        let mut blocked = false;
        self.next_turn();
        let (at, wanted, turn, looking) = (&self.at, &mut self.wanted, self.turn, &mut self.looking);
        let watch = !self.walk.pending.is_empty();
        undone.each(|slot| match at[slot].1 {
            // A read that fits is done.
            RegisterOp::Read(value) | RegisterOp::Cas(value, _) => {
                if watch && wanted[value as usize] != turn {
                    looking.push(value);
                }
                wanted[value as usize] = turn;
            }
            RegisterOp::Differs(_) => blocked = true,
            RegisterOp::Write(_) => {}
        });
        if watch {
            self.list_pending(spot, blocked, sets, moves);
        }
        let from = moves.len();
        undone.each(|slot| {
            let needed = match self.at[slot].1 {
                RegisterOp::Write(value) => blocked || self.wanted[value as usize] == self.turn,
                RegisterOp::Cas(old, _) => old == spot.state,
                RegisterOp::Read(_) | RegisterOp::Differs(_) => false,
            };
            if needed && slot != due {
                moves.push(Move::Slot(slot as u32));
            }
        });
        if self.fits(due, spot.state) {
            moves.push(Move::Slot(due as u32));
        }
        if moves.len() > from + 1 {
            self.leave_out_equals(from, due, moves);
        }
        if spot.hidden.has(due) {
            moves.push(Move::Hide);
        }
    }

    fn next_turn(&mut self) {
        if self.turn == u32::MAX {
            self.wanted.fill(0);
            self.turn = 0;
        }
        self.turn += 1;
        self.looking.clear();
    }

    /// Lists the pending operations that are needed: those that make a wanted value, by way of others where need be;
    /// where a failed compare-and-set is open, all that make the register hold something else.
    fn list_pending(&mut self, spot: &Spot<K>, blocked: bool, sets: &Multisets, moves: &mut Vec<Move>) {
        let walk = self.walk;
        let spare = |sort: u32| self.invoked[sort as usize] > sets.count(spot.used, sort);
        if blocked {
            for (sort, what) in (0u32..).zip(&walk.pending) {
                let moves_on = after(spot.state, *what).is_some_and(|after| after != spot.state);
                if moves_on && spare(sort) {
                    moves.push(Move::Pending(sort));
                }
            }
            return;
        }
        while let Some(value) = self.looking.pop() {
            let writing = walk.writing[value as usize];
            if writing != NO_SORT && value != spot.state && spare(writing) {
                moves.push(Move::Pending(writing));
            }
            for setting in walk.setting.get(&value).into_iter().flatten() {
                let RegisterOp::Cas(old, _) = walk.pending[*setting as usize] else {
                    continue;
                };
                if !spare(*setting) {
                    continue;
                }
                if old == spot.state {
                    moves.push(Move::Pending(*setting));
                }
                if self.wanted[old as usize] != self.turn {
                    self.wanted[old as usize] = self.turn;
                    self.looking.push(old);
                }
            }
        }
    }

    /// Of equal operations, only the one that completes first is worth a try: the other can stand wherever it could.
    fn leave_out_equals(&self, from: usize, due: usize, moves: &mut Vec<Move>) {
        let what = |slot: u32| self.at[slot as usize].1;
        let mut place = from;
        while place < moves.len() {
            let Move::Slot(slot) = moves[place] else {
                place += 1;
                continue;
            };
            let earlier = |other: u32| other as usize == due || self.completes_before(other, slot);
            let left_out = slot as usize != due
                && moves[from..].iter().any(|other| match other {
                    Move::Slot(other) => *other != slot && what(*other) == what(slot) && earlier(*other),
                    _ => false,
                });
            if left_out {
                moves.remove(place);
            } else {
                place += 1;
            }
        }
    }

    fn completes_before(&self, one: u32, other: u32) -> bool {
        let completion = |slot: u32| self.walk.completions[self.at[slot as usize].0 as usize];
        completion(one) < completion(other)
    }

    /// Makes a move. Whether the slot that was due is done with.
    pub(crate) fn make(&self, spot: &mut Spot<K>, due: usize, choice: Move, sets: &mut Multisets) {
        let what = match choice {
            Move::Hide => {
                spot.hidden.cut(due);
                spot.done.put(due);
                return;
            }
            Move::Slot(slot) => {
                spot.done.put(slot as usize);
                spot.hidden.cut(slot as usize);
                self.at[slot as usize].1
            }
            Move::Pending(sort) => {
                spot.used = sets.with(spot.used, sort);
                self.walk.pending[sort as usize]
            }
        };
        if let RegisterOp::Write(_) = what {
            spot.hidden = spot.hidden.or(&self.writes.without(&spot.done));
        }
        let Some(after) = after(spot.state, what) else {
            return;
        };
        spot.state = after;
        let done = spot.done.clone();
        self.reads.without(&done).each(|slot| {
            if self.fits(slot, after) {
                spot.done.put(slot);
            }
        });
    }

    /// Forgets a slot whose operation completed.
    #[inline(always)]
    pub(crate) fn clear(&self, spot: &mut Spot<K>, slot: usize) {
        spot.done.cut(slot);
        spot.hidden.cut(slot);
    }
}

/// The state after an operation, where it is possible.
#[inline(always)]
fn after(state: u32, op: RegisterOp) -> Option<u32> {
    match op {
        RegisterOp::Read(value) => (value == state).then_some(state),
        RegisterOp::Write(value) => Some(value),
        RegisterOp::Cas(old, new) => (old == state).then_some(new),
        RegisterOp::Differs(value) => (value != state).then_some(state),
    }
}
