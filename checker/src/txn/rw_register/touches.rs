//! What a committed transaction had to do with a key.

use crate::txn::store::{Step, Store};
use rustc_hash::FxHashMap;

/// That.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    /// The transaction.
    pub(super) transaction: u32,
    /// The key.
    pub(super) key: u32,
    /// The version that it read first, before it wrote; inside, none is nil.
    pub(super) read: Option<Option<u32>>,
    /// The version that it wrote last.
    pub(super) wrote: Option<u32>,
}

impl Touch {
    /// The version that it left behind.
    pub(super) fn left(&self) -> Option<u32> {
        self.wrote.or(self.read.flatten())
    }
}

/// All of them, each transaction's together.
pub(super) fn touches(store: &Store) -> Vec<Touch> {
    let mut all: Vec<Touch> = Vec::new();
    let mut places: FxHashMap<u32, usize> = FxHashMap::default();
    for (transaction, steps) in store.committed() {
        places.clear();
        for step in steps {
            let key = store.key(*step);
            let place = *places.entry(key).or_insert_with(|| {
                all.push(Touch {
                    transaction,
                    key,
                    read: None,
                    wrote: None,
                });
                all.len() - 1
            });
            let touch = &mut all[place];
            match *step {
                Step::Write { element } => touch.wrote = Some(element),
                Step::Value { element, .. } if touch.read.is_none() && touch.wrote.is_none() => {
                    touch.read = Some(element.map(|element| element.get()));
                }
                Step::Value { .. } | Step::List { .. } => {}
            }
        }
    }
    all
}
