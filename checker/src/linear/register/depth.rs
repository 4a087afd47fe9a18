//! Depth first over a register: one place at a time, and a memory of those from which there was no way on.

use super::board::{Board, Move, Spot};
use super::walk::Walk;
use crate::linear::crashed::Multisets;
use crate::linear::limits::{Limits, Meter};
use crate::linear::mask::Mask;
use crate::linear::search::seen::{Place, Seen, mix};
use crate::linear::search::{Found, Search};
use crate::linear::timeline::Placed;

/// Where the search was.
#[derive(PartialEq, Eq)]
struct Was<K> {
    event: u32,
    state: u32,
    done: K,
    hidden: K,
}

impl<K: Mask> Place for Was<K> {
    #[inline(always)]
    fn mixed(&self) -> u64 {
        let masks = self.done.mixed()
            ^ self
                .hidden
                .mixed()
                .wrapping_mul(0xA076_1D64_78BD_642F)
                .rotate_left(17);
        mix(self.event, self.state, masks)
    }

    fn outside(&self) -> u64 {
        self.done.outside() + self.hidden.outside()
    }
}

/// A place at which there was more than one move.
struct Choice<K> {
    event: u32,
    spot: Spot<K>,
    path: u32,
    /// The moves that are left are the last ones of [`Depth::moves`], from here on.
    moves: u32,
    /// Whether the place is among those that were seen.
    remembered: bool,
}

/// A step of the way.
#[derive(Clone, Copy)]
enum Step {
    Happened(Placed),
    /// Just before the last write.
    Hidden(u32),
}

/// The search.
pub(crate) struct Depth<'a, K> {
    board: Board<'a, K>,
    spot: Spot<K>,
    sets: Multisets,
    seen: Seen<Was<K>>,
    choices: Vec<Choice<K>>,
    moves: Vec<Move>,
    /// Whether the way is noted.
    noting: bool,
    path: Vec<Step>,
    furthest: u32,
    /// Whether the last move was a pending operation.
    came_by_pending: bool,
    next: Next,
}

enum Next {
    Advance,
    Choose,
    Over(Found),
}

/// Places with one move only are remembered at one event in so many: the next one will do.
const SPARSE: u32 = 32;

impl<'a, K: Mask> Depth<'a, K> {
    /// A search; `noting` makes [`Search::order`] tell the order.
    pub(crate) fn new(walk: &'a Walk, noting: bool) -> Depth<'a, K> {
        let board = Board::new(walk);
        Depth {
            spot: board.first(),
            board,
            sets: Multisets::new(),
            seen: Seen::new(),
            choices: Vec::new(),
            moves: Vec::new(),
            noting,
            path: Vec::new(),
            furthest: 0,
            came_by_pending: false,
            next: Next::Advance,
        }
    }

    /// Goes on over events that need no choice. The slot whose operation must happen next.
    #[inline]
    fn advance(&mut self) -> Option<usize> {
        let walk = self.board.walk;
        while let Some(event) = walk.events.get(self.board.event as usize) {
            let op = event.op();
            if event.completes() {
                let slot = walk.seats[op] as usize;
                if !self.spot.done.has(slot) {
                    self.furthest = self.furthest.max(self.board.event);
                    return Some(slot);
                }
                self.board.clear(&mut self.spot, slot);
                self.board.complete(op);
            } else if let Some(slot) = self.board.invoke(op)
                && self.board.fits(slot, self.spot.state)
            {
                self.spot.done.put(slot);
                self.note(Step::Happened(Placed::Operation(op as u32)));
            }
        }
        None
    }

    #[inline(always)]
    fn note(&mut self, step: Step) {
        if self.noting {
            self.path.push(step);
        }
    }

    /// Comes to a completion that is not done.
    fn decide(&mut self, due: usize, remember: bool) -> Next {
        let from = self.moves.len();
        self.board.list(&self.spot, due, &self.sets, &mut self.moves);
        let found = self.moves.len() - from;
        if found == 0 {
            return Next::Choose;
        }
        // Of a history that has an order most places never come again: those with several moves are remembered when
        // none is left. But by way of pending operations a place may lead to itself.
        let at_once = self.came_by_pending || (found == 1 && self.board.event.is_multiple_of(SPARSE));
        if (found > 1 || at_once) && !self.is_new(at_once && remember) {
            self.moves.truncate(from);
            return Next::Choose;
        }
        if found > 1 {
            self.choices.push(Choice {
                event: self.board.event,
                spot: self.spot.clone(),
                path: self.path.len() as u32,
                moves: from as u32,
                remembered: at_once,
            });
        }
        if let Some(choice) = self.moves.pop() {
            self.make(due, choice);
        }
        Next::Advance
    }

    /// Whether the search was not here before; it may be remembered that now it was.
    fn is_new(&mut self, remember: bool) -> bool {
        let was = Was {
            event: self.board.event,
            state: self.spot.state,
            done: self.spot.done.clone(),
            hidden: self.spot.hidden.clone(),
        };
        if remember {
            self.seen.come(was, self.spot.used, &self.sets)
        } else {
            !self.seen.knows(&was, self.spot.used, &self.sets)
        }
    }

    fn make(&mut self, due: usize, choice: Move) {
        self.came_by_pending = matches!(choice, Move::Pending(_));
        let before = self.noting.then(|| self.spot.done.clone());
        self.board.make(&mut self.spot, due, choice, &mut self.sets);
        let Some(before) = before else {
            return;
        };
        let (made, step) = match choice {
            Move::Hide => (due, Step::Hidden(self.board.operation(due as u32))),
            Move::Slot(slot) => (
                slot as usize,
                Step::Happened(Placed::Operation(self.board.operation(slot))),
            ),
            Move::Pending(sort) => (usize::MAX, Step::Happened(Placed::Pending(sort))),
        };
        self.path.push(step);
        // What else is done now is what read.
        self.spot.done.without(&before).each(|slot| {
            if slot != made {
                let op = self.board.operation(slot as u32);
                self.path.push(Step::Happened(Placed::Operation(op)));
            }
        });
    }

    /// Goes back to the last place with a move that is left, and makes it; false where there is none.
    fn choose(&mut self, remember: bool) -> bool {
        while let Some(choice) = self.choices.last() {
            if self.moves.len() > choice.moves as usize {
                break;
            }
            if let Some(choice) = self.choices.pop()
                && remember
                && !choice.remembered
            {
                let was = Was {
                    event: choice.event,
                    state: choice.spot.state,
                    done: choice.spot.done,
                    hidden: choice.spot.hidden,
                };
                self.seen.come(was, choice.spot.used, &self.sets);
            }
        }
        let (Some(choice), Some(next)) = (self.choices.last(), self.moves.pop()) else {
            return false;
        };
        self.board.rewind(choice.event);
        self.path.truncate(choice.path as usize);
        self.spot = choice.spot.clone();
        let walk = self.board.walk;
        let op = walk.events[self.board.event as usize].op();
        self.make(walk.seats[op] as usize, next);
        true
    }
}

impl<K: Mask> Search for Depth<'_, K> {
    fn run(&mut self, limits: &Limits<'_>) -> Option<Found> {
        let mut meter = Meter::new(limits);
        loop {
            match self.next {
                Next::Over(found) => return Some(found),
                Next::Advance => {
                    self.next = match self.advance() {
                        None => Next::Over(Found::Order),
                        // Without room for more the search goes on, and may come to a place twice.
                        Some(due) => self.decide(due, self.bytes() < limits.memory),
                    };
                    if meter.step() {
                        return None;
                    }
                }
                Next::Choose => {
                    self.next = if self.choose(self.bytes() < limits.memory) {
                        Next::Advance
                    } else {
                        let event = self.furthest as usize;
                        Next::Over(Found::Stuck { event })
                    };
                }
            }
        }
    }

    fn bytes(&self) -> u64 {
        let choice = size_of::<Choice<K>>() as u64 + 2 * self.spot.done.outside();
        self.seen.bytes()
            + self.sets.bytes()
            + self.choices.capacity() as u64 * choice
            + (self.moves.capacity() * size_of::<Move>() + self.path.capacity() * size_of::<Step>()) as u64
    }

    fn order(&self) -> Vec<usize> {
        let mut order: Vec<Placed> = Vec::with_capacity(self.path.len());
        let mut last_write = 0;
        for step in &self.path {
            match *step {
                Step::Hidden(op) => {
                    order.insert(last_write, Placed::Operation(op));
                    last_write += 1;
                }
                Step::Happened(placed) => {
                    if self.board.walk.writes(placed) {
                        last_write = order.len();
                    }
                    order.push(placed);
                }
            }
        }
        self.board.walk.resolve(&order)
    }
}
