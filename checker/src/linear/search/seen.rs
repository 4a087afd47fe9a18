//! Where a depth-first search has been: places from which there was no way on. Of two that differ only in the pending
//! operations they have used, the one that has used fewer can do all that the other can.

use crate::linear::crashed::Multisets;
use hashbrown::HashTable;

/// A place, but for what pending operations were used on the way to it.
pub(crate) trait Place: Eq {
    /// Its bits, mixed.
    fn mixed(&self) -> u64;
    /// Bytes that it holds outside of itself.
    fn outside(&self) -> u64;
}

struct Been<P> {
    place: P,
    used: u32,
    /// The next in [`Seen::others`], or [`LAST`].
    next: u32,
}

const LAST: u32 = u32::MAX;

/// Places with the least that was used to come there.
pub(crate) struct Seen<P> {
    table: HashTable<Been<P>>,
    others: Vec<(u32, u32)>,
    outside: u64,
}

impl<P: Place> Seen<P> {
    pub(crate) fn new() -> Seen<P> {
        Seen {
            table: HashTable::new(),
            others: Vec::new(),
            outside: 0,
        }
    }

    /// Comes to a place. Whether that is worth it: neither it nor a better one was seen before.
    pub(crate) fn come(&mut self, place: P, used: u32, sets: &Multisets) -> bool {
        let hash = place.mixed();
        let Some(been) = self.table.find_mut(hash, |been| been.place == place) else {
            self.outside += place.outside();
            let been = Been {
                place,
                used,
                next: LAST,
            };
            self.table.insert_unique(hash, been, |been| been.place.mixed());
            return true;
        };
        if covers(been, &self.others, used, sets) {
            return false;
        }
        self.others.push((used, been.next));
        been.next = self.others.len() as u32 - 1;
        true
    }

    /// Whether a place or a better one was seen before.
    pub(crate) fn knows(&self, place: &P, used: u32, sets: &Multisets) -> bool {
        let been = self.table.find(place.mixed(), |been| been.place == *place);
        been.is_some_and(|been| covers(been, &self.others, used, sets))
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> u64 {
        let slot = size_of::<Been<P>>() as u64 + 1;
        // A table is an eighth empty when it grows.
        (self.table.capacity() as u64 * slot / 7 * 8) + self.others.capacity() as u64 * 8 + self.outside
    }
}

/// Whether some of those that were used on the way to a place are no more than others.
fn covers<P>(been: &Been<P>, others: &[(u32, u32)], used: u32, sets: &Multisets) -> bool {
    if sets.within(been.used, used) {
        return true;
    }
    let mut next = been.next;
    while next != LAST {
        let (other, after) = others[next as usize];
        if sets.within(other, used) {
            return true;
        }
        next = after;
    }
    false
}

/// Mixes the numbers of a place.
#[inline(always)]
pub(crate) fn mix(event: u32, state: u32, masks: u64) -> u64 {
    let mut bits = (u64::from(event) << 32 | u64::from(state)) ^ 0x9E37_79B9_7F4A_7C15;
    bits = bits.wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ masks;
    bits ^= bits >> 32;
    bits = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits ^ (bits >> 29)
}
