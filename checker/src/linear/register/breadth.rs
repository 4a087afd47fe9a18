//! Breadth first over a register: all places at once, from event to event (after Lowe's just-in-time
//! linearization, 2017). Nothing is remembered of earlier events, so that memory does not grow with the history.
//!
//! Of two places at one event that have the same state, one is dropped where the other can do all that it can: it
//! has used no more pending operations, and what it may still do or leave hidden takes in what the other may.
//!
//! Where there are pending operations the search first goes through the history as if each could happen any number of
//! times. Then nothing has to be counted; and a history that has no order so has none at all.

use super::board::{Board, Move, Spot};
use super::walk::Walk;
use crate::linear::crashed::Multisets;
use crate::linear::limits::{Limits, Meter};
use crate::linear::mask::Mask;
use crate::linear::search::seen::mix;
use crate::linear::search::{Found, Search};
use hashbrown::HashTable;

/// How many places of a state each is compared with.
const COMPARED: usize = 64;

/// The search.
pub(crate) struct Breadth<'a, K> {
    board: Board<'a, K>,
    sets: Multisets,
    /// The places at the event.
    now: Vec<Spot<K>>,
    /// Of these, those at which the operation that completes is done.
    next: Vec<Spot<K>>,
    /// Those at which it is not done yet.
    work: Vec<Spot<K>>,
    /// All that were ever in `work` at this event.
    met: HashTable<Spot<K>>,
    moves: Vec<Move>,
    /// Whether `work` was begun at this event.
    begun: bool,
    /// Whether pending operations are counted.
    counting: bool,
    found: Option<Found>,
}

impl<'a, K: Mask> Breadth<'a, K> {
    /// A search; where there are pending operations one that does not count them goes before it.
    pub(crate) fn relaxed_first(walk: &'a Walk) -> Breadth<'a, K> {
        Breadth::new(walk, walk.pending.is_empty())
    }

    fn new(walk: &'a Walk, counting: bool) -> Breadth<'a, K> {
        let board = Board::new(walk);
        Breadth {
            now: vec![board.first()],
            board,
            sets: Multisets::new(),
            next: Vec::new(),
            work: Vec::new(),
            met: HashTable::new(),
            moves: Vec::new(),
            begun: false,
            counting,
            found: None,
        }
    }

    fn invoke(&mut self, op: usize) {
        let Some(slot) = self.board.invoke(op) else {
            return;
        };
        for spot in &mut self.now {
            if self.board.fits(slot, spot.state) {
                spot.done.put(slot);
            }
        }
    }

    /// Comes to a completion: whether it is done in all places.
    fn begin(&mut self, due: usize) -> bool {
        if self.now.iter().all(|spot| spot.done.has(due)) {
            for spot in &mut self.now {
                self.board.clear(spot, due);
            }
            return true;
        }
        self.begun = true;
        self.next.clear();
        self.met.clear();
        for mut spot in self.now.drain(..) {
            if spot.done.has(due) {
                self.board.clear(&mut spot, due);
                self.next.push(spot);
            } else {
                self.work.push(spot);
            }
        }
        false
    }

    /// Makes all moves of one place.
    fn expand(&mut self, spot: Spot<K>, due: usize) {
        self.moves.clear();
        self.board.list(&spot, due, &self.sets, &mut self.moves);
        for choice in &self.moves {
            let mut after = spot.clone();
            self.board.make(&mut after, due, *choice, &mut self.sets);
            if !self.counting {
                after.used = spot.used;
            }
            if after.done.has(due) {
                self.board.clear(&mut after, due);
                self.next.push(after);
            } else {
                let hash = mixed(&after);
                if self.met.find(hash, |met| *met == after).is_none() {
                    self.met.insert_unique(hash, after.clone(), mixed);
                    self.work.push(after);
                }
            }
        }
    }

    /// Goes on to the next event with the places that are worth it.
    fn end(&mut self) {
        self.begun = false;
        let next = &mut self.next;
        let sorted = next.len() > COMPARED;
        if sorted {
            next.sort_unstable_by_key(|spot| (spot.state, spot.done.count(), mixed(spot)));
            next.dedup();
        }
        let mut group = 0;
        for spot in next.drain(..) {
            if sorted && self.now.get(group).is_some_and(|first| first.state != spot.state) {
                group = self.now.len();
            }
            keep(&mut self.now, group, spot, &self.sets);
        }
    }
}

/// Keeps a place unless another is as good; drops those that it is better than. Looks at some from `from` on.
fn keep<K: Mask>(kept: &mut Vec<Spot<K>>, from: usize, spot: Spot<K>, sets: &Multisets) {
    let mut place = from;
    while place < kept.len().min(from + COMPARED) {
        if kept[place].state != spot.state {
            place += 1;
        } else if as_good(&kept[place], &spot, sets) {
            return;
        } else if as_good(&spot, &kept[place], sets) {
            kept.swap_remove(place);
        } else {
            place += 1;
        }
    }
    kept.push(spot);
}

/// Whether a place can do all that another of the same state can: what it has done beyond the other's it could leave
/// undone, and what the other has done it has done, or may take for hidden.
fn as_good<K: Mask>(one: &Spot<K>, other: &Spot<K>, sets: &Multisets) -> bool {
    one.done.within(&other.done)
        && other.done.within(&one.done.or(&one.hidden))
        && other.hidden.within(&one.hidden)
        && sets.within(one.used, other.used)
}

#[inline(always)]
fn mixed<K: Mask>(spot: &Spot<K>) -> u64 {
    let masks = spot.done.mixed()
        ^ spot
            .hidden
            .mixed()
            .wrapping_mul(0xA076_1D64_78BD_642F)
            .rotate_left(17);
    mix(spot.used, spot.state, masks)
}

impl<K: Mask> Search for Breadth<'_, K> {
    fn run(&mut self, limits: &Limits<'_>) -> Option<Found> {
        let mut meter = Meter::new(limits);
        let walk = self.board.walk;
        while self.found.is_none() {
            let Some(event) = walk.events.get(self.board.event as usize) else {
                if self.counting {
                    self.found = Some(Found::Order);
                } else {
                    *self = Breadth::new(walk, true);
                }
                continue;
            };
            let op = event.op();
            if !event.completes() {
                self.invoke(op);
                continue;
            }
            let due = walk.seats[op] as usize;
            if !self.begun && self.begin(due) {
                self.board.complete(op);
                if meter.steps(self.now.len() as u32) {
                    return None;
                }
                continue;
            }
            while let Some(spot) = self.work.pop() {
                self.expand(spot, due);
                if meter.step() || self.bytes() > limits.memory {
                    return None;
                }
            }
            self.end();
            if self.now.is_empty() {
                let event = self.board.event as usize;
                self.found = Some(Found::Stuck { event });
            }
            self.board.complete(op);
        }
        self.found
    }

    fn bytes(&self) -> u64 {
        let spot = size_of::<Spot<K>>() as u64;
        let outside = self
            .work
            .first()
            .or(self.now.first())
            .map_or(0, |spot| 2 * spot.done.outside());
        let spots =
            self.now.capacity() + self.next.capacity() + self.work.capacity() + self.met.capacity() * 9 / 7;
        self.sets.bytes() + spots as u64 * (spot + outside)
    }

    /// Nothing: no place knows how it was come to.
    fn order(&self) -> Vec<usize> {
        Vec::new()
    }
}
