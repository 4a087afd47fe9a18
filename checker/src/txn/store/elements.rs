//! Elements: a value under a key, written once.

use super::keys::Datum;
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;

/// An element's number, where there may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::txn) struct Element(NonZeroU32);

impl Element {
    /// Of a number.
    pub(in crate::txn) fn new(element: u32) -> Element {
        // There are fewer than 2^32 elements.
        Element(NonZeroU32::MIN.saturating_add(element))
    }

    /// The number.
    pub(in crate::txn) fn get(self) -> u32 {
        self.0.get() - 1
    }
}

/// Values below this are looked up in a table of their key's own: most histories count from 1 under each key, and a
/// table stays small however many keys there are.
const SMALL: usize = 128;
/// In the tables: not met yet.
const NONE: u32 = u32::MAX;

/// One of them.
#[derive(Clone, Copy, Debug)]
struct One {
    key: u32,
    /// The transaction that wrote it; [`NONE`] where none did.
    writer: u32,
    datum: Datum,
    /// Whether its writer wrote no later one under the key.
    last: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(in crate::txn) struct Elements {
    all: Vec<One>,
    /// For each key its small values.
    small: Vec<Vec<u32>>,
    rest: FxHashMap<(u32, Datum), u32>,
}

impl Elements {
    /// The number of a value under a key.
    pub(super) fn number(&mut self, key: u32, datum: Datum) -> u32 {
        let next = self.all.len() as u32;
        let number = match datum.small(SMALL) {
            Some(value) => {
                let key = key as usize;
                if self.small.len() <= key {
                    self.small.resize_with(key + 1, Vec::new);
                }
                let table = &mut self.small[key];
                if table.len() <= value {
                    table.resize(value + 1, NONE);
                }
                if table[value] == NONE {
                    table[value] = next;
                }
                table[value]
            }
            None => *self.rest.entry((key, datum)).or_insert(next),
        };
        if number == next {
            self.all.push(One {
                key,
                writer: NONE,
                datum,
                last: true,
            });
        }
        number
    }

    /// Notes who wrote an element. False where somebody did already.
    pub(super) fn written(&mut self, element: u32, by: u32) -> bool {
        let one = &mut self.all[element as usize];
        let first = one.writer == NONE;
        if first {
            one.writer = by;
        }
        first
    }

    /// Notes that its writer wrote a later one under the same key.
    pub(super) fn intermediate(&mut self, element: u32) {
        self.all[element as usize].last = false;
    }

    /// How many there are.
    pub(in crate::txn) fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// The key.
    pub(in crate::txn) fn key(&self, element: u32) -> u32 {
        self.all[element as usize].key
    }

    /// The value.
    pub(in crate::txn) fn datum(&self, element: u32) -> Datum {
        self.all[element as usize].datum
    }

    /// Who wrote it, where it is known.
    pub(in crate::txn) fn writer(&self, element: u32) -> Option<u32> {
        Some(self.all[element as usize].writer).filter(|writer| *writer != NONE)
    }

    /// Whether its writer wrote no later one under the key.
    pub(in crate::txn) fn is_last(&self, element: u32) -> bool {
        self.all[element as usize].last
    }
}
