//! The search for any model: Wing and Gong's (1993), depth first, with Lowe's cache (2017) over windows. A place is
//! the next completion, the state, and which of the open operations are done; all before it is done, and nothing
//! after it is begun, so that a place's size does not depend on the history's.
//!
//! Reads are taken as soon as they fit. What completes next is tried first, then the nearest completion; of equal
//! operations the one that completes first. Pending operations come last, counted by sort.

use super::seen::{Place, Seen, mix};
use super::states::{FIRST, States};
use super::{Found, Search};
use crate::linear::Model;
use crate::linear::crashed::{Multisets, NONE_USED};
use crate::linear::limits::{Limits, Meter};
use crate::linear::mask::Mask;
use crate::linear::timeline::{Placed, Seat, Timeline};

/// Where the search is.
#[derive(Clone, PartialEq, Eq)]
struct Here<K> {
    event: u32,
    state: u32,
    done: K,
}

impl<K: Mask> Place for Here<K> {
    fn mixed(&self) -> u64 {
        mix(self.event, self.state, self.done.mixed())
    }

    fn outside(&self) -> u64 {
        self.done.outside()
    }
}

/// A choice that was made, and what else there was to choose.
struct Choice<K> {
    here: Here<K>,
    used: u32,
    path: u32,
    /// The choices that are left are the last ones of [`Window::left`], from here on.
    left: u32,
}

/// The search.
pub(crate) struct Window<'a, M: Model, K> {
    timeline: &'a Timeline<'a, M::Op>,
    states: States<'a, M>,
    sets: Multisets,
    seen: Seen<Here<K>>,
    here: Here<K>,
    used: u32,
    open: K,
    /// By slot: the operation that has it.
    at: Vec<u32>,
    /// By sort of pending operations: how many were invoked.
    invoked: Vec<u32>,
    choices: Vec<Choice<K>>,
    left: Vec<Placed>,
    path: Vec<Placed>,
    /// By kind, of what is certain and of what is not: the turn in which it was last listed.
    listed: Vec<[u64; 2]>,
    turn: u64,
    furthest: u32,
    next: Next,
}

/// What a search does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Advance,
    Choose,
    Over(Found),
}

impl<'a, M: Model, K: Mask> Window<'a, M, K> {
    pub(crate) fn new(model: &'a M, timeline: &'a Timeline<'a, M::Op>) -> Window<'a, M, K> {
        let width = timeline.width;
        Window {
            timeline,
            states: States::new(model, timeline.samples.clone()),
            sets: Multisets::new(),
            seen: Seen::new(),
            here: Here {
                event: 0,
                state: FIRST,
                done: K::empty(width),
            },
            used: NONE_USED,
            open: K::empty(width),
            at: vec![0; width],
            invoked: vec![0; timeline.pending.len()],
            choices: Vec::new(),
            left: Vec::new(),
            path: Vec::new(),
            listed: vec![[0; 2]; timeline.samples.len()],
            turn: 0,
            furthest: 0,
            next: Next::Advance,
        }
    }

    /// Walks over events that need no choice. Whether it stands at a completion that does.
    fn advance(&mut self) -> bool {
        let timeline = self.timeline;
        while let Some(event) = timeline.events.get(self.here.event as usize) {
            let op = event.op();
            match (timeline.seats[op], event.completes()) {
                (Seat::Pending(sort), _) => self.invoked[sort as usize] += 1,
                (Seat::Slot(slot), true) => {
                    let slot = slot as usize;
                    if !self.here.done.has(slot) {
                        self.furthest = self.furthest.max(self.here.event);
                        return true;
                    }
                    self.here.done.cut(slot);
                    self.open.cut(slot);
                }
                (Seat::Slot(slot), false) => {
                    self.at[slot as usize] = op as u32;
                    self.open.put(slot as usize);
                    self.read(slot as usize);
                }
            }
            self.here.event += 1;
        }
        false
    }

    /// Goes back to an event.
    fn rewind(&mut self, to: u32) {
        let timeline = self.timeline;
        while self.here.event > to {
            self.here.event -= 1;
            let event = timeline.events[self.here.event as usize];
            let op = event.op();
            match (timeline.seats[op], event.completes()) {
                (Seat::Pending(sort), _) => self.invoked[sort as usize] -= 1,
                (Seat::Slot(slot), true) => {
                    self.at[slot as usize] = op as u32;
                    self.open.put(slot as usize);
                }
                (Seat::Slot(slot), false) => self.open.cut(slot as usize),
            }
        }
    }

    /// Takes the operation in a slot where it only reads and fits.
    fn read(&mut self, slot: usize) {
        let op = self.at[slot];
        let kind = self.timeline.kinds[op as usize];
        if self.timeline.reads[kind as usize] && self.states.step(self.here.state, kind).is_some() {
            self.here.done.put(slot);
            self.path.push(Placed::Operation(op));
        }
    }

    /// Lists what can be done at a completion, the best last.
    fn list(&mut self) {
        let from = self.left.len();
        let timeline = self.timeline;
        for (sort, kind) in (0u32..).zip(&timeline.pending) {
            let spare = self.invoked[sort as usize] > self.sets.count(self.used, sort);
            let after = if spare {
                self.states.step(self.here.state, *kind)
            } else {
                None
            };
            // One that changes nothing may as well never happen.
            if after.is_some_and(|after| after != self.here.state) {
                self.left.push(Placed::Pending(sort));
            }
        }
        let slots = self.left.len();
        self.open.without(&self.here.done).each(|slot| {
            let op = self.at[slot];
            let kind = timeline.kinds[op as usize];
            if !timeline.reads[kind as usize] && self.states.step(self.here.state, kind).is_some() {
                self.left.push(Placed::Operation(op));
            }
        });
        let by_completion = |placed: &Placed| match placed {
            Placed::Operation(op) => timeline.completions[*op as usize],
            Placed::Pending(_) | Placed::Never => u32::MAX,
        };
        self.left[slots..].sort_unstable_by_key(|placed| std::cmp::Reverse(by_completion(placed)));
        self.leave_out_equals(from);
    }

    /// Of equal operations, only the one that completes first is worth a try; of those that may never take effect, too,
    /// but they are no substitute for those that must.
    fn leave_out_equals(&mut self, from: usize) {
        self.turn += 1;
        let mut kept = self.left.len();
        for place in (from..self.left.len()).rev() {
            let placed = self.left[place];
            let optional = matches!(placed, Placed::Operation(op) if self.timeline.optional[op as usize]);
            let listed = &mut self.listed[self.timeline.kind(placed) as usize][usize::from(optional)];
            if *listed != self.turn {
                *listed = self.turn;
                kept -= 1;
                self.left[kept] = placed;
            }
        }
        self.left.drain(from..kept);
    }

    /// Does what was chosen.
    fn take(&mut self, placed: Placed) {
        if placed == Placed::Never {
            let event = self.timeline.events[self.here.event as usize];
            if let Seat::Slot(slot) = self.timeline.seats[event.op()] {
                self.open.cut(slot as usize);
            }
            self.here.event += 1;
            return;
        }
        let kind = self.timeline.kind(placed);
        let Some(after) = self.states.step(self.here.state, kind) else {
            return;
        };
        match placed {
            Placed::Operation(op) => {
                if let Seat::Slot(slot) = self.timeline.seats[op as usize] {
                    self.here.done.put(slot as usize);
                }
            }
            Placed::Pending(sort) => self.used = self.sets.with(self.used, sort),
            Placed::Never => {}
        }
        self.path.push(placed);
        if after != self.here.state {
            self.here.state = after;
            let undone = self.open.without(&self.here.done);
            undone.each(|slot| self.read(slot));
        }
    }

    /// Makes the next choice that is left; false where none is.
    fn choose(&mut self) -> bool {
        while let Some(choice) = self.choices.last() {
            if self.left.len() <= choice.left as usize {
                self.choices.pop();
                continue;
            }
            let (here, used, path) = (choice.here.clone(), choice.used, choice.path);
            self.rewind(here.event);
            self.here = here;
            self.used = used;
            self.path.truncate(path as usize);
            if let Some(placed) = self.left.pop() {
                self.take(placed);
            }
            return true;
        }
        false
    }

    /// Whether what has to come can never come, whatever is done before.
    fn hopeless(&self) -> bool {
        let timeline = self.timeline;
        let Some(ahead) = timeline.ahead.get(self.here.event as usize) else {
            return false;
        };
        let op = timeline.events[self.here.event as usize].op();
        let now = (!timeline.optional[op]).then_some(timeline.kinds[op]);
        let mut must = [now, *ahead].into_iter().flatten();
        if must.all(|kind| self.states.reaches(self.here.state, kind)) {
            return false;
        }
        let mut resets = false;
        self.open.without(&self.here.done).each(|slot| {
            resets |= self.states.resets(timeline.kinds[self.at[slot] as usize]);
        });
        let spare = |(sort, kind): (u32, &u32)| {
            self.invoked[sort as usize] > self.sets.count(self.used, sort) && self.states.resets(*kind)
        };
        !resets && !(0u32..).zip(&timeline.pending).any(spare)
    }

    /// Comes to a completion that is not done yet.
    fn decide(&mut self, remember: bool) {
        if self.hopeless() {
            return;
        }
        if remember && !self.seen.come(self.here.clone(), self.used, &self.sets) {
            return;
        }
        self.choices.push(Choice {
            here: self.here.clone(),
            used: self.used,
            path: self.path.len() as u32,
            left: self.left.len() as u32,
        });
        self.list();
        let event = self.timeline.events[self.here.event as usize];
        if self.timeline.optional[event.op()] {
            self.left.push(Placed::Never);
        }
    }
}

impl<M: Model, K: Mask> Search for Window<'_, M, K> {
    fn run(&mut self, limits: &Limits<'_>) -> Option<Found> {
        let mut meter = Meter::new(limits);
        loop {
            match self.next {
                Next::Over(found) => return Some(found),
                Next::Advance => {
                    let made = self.states.made();
                    self.next = match self.advance() {
                        false => Next::Over(Found::Order),
                        true => {
                            // Without room for more the search goes on, and may come to a place twice.
                            self.decide(self.bytes() < limits.memory);
                            Next::Choose
                        }
                    };
                    // A step of the model may take long.
                    let made = (self.states.made() - made) as u32;
                    if meter.steps(1 + made.saturating_mul(STEPS_OF_A_MODEL_STEP)) {
                        return None;
                    }
                }
                Next::Choose => {
                    self.next = match self.choose() {
                        true => Next::Advance,
                        false => Next::Over(Found::Stuck {
                            event: self.furthest as usize,
                        }),
                    };
                }
            }
        }
    }

    fn bytes(&self) -> u64 {
        let choice = (size_of::<Choice<K>>() + self.here.done.outside() as usize) as u64;
        self.seen.bytes()
            + self.states.bytes()
            + self.sets.bytes()
            + self.choices.capacity() as u64 * choice
            + (self.left.capacity() + self.path.capacity()) as u64 * size_of::<Placed>() as u64
    }

    fn order(&self) -> Vec<usize> {
        self.timeline.resolve(&self.path)
    }
}

/// The clock is looked at as often as if a model's step took so many of the search's.
const STEPS_OF_A_MODEL_STEP: u32 = 64;
