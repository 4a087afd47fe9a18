//! The order of each key's versions: the longest list that was read of it.

use crate::txn::store::{Order, Store};

/// Of an element that is not in the order of its key.
const NOWHERE: u32 = u32::MAX;

/// The orders of versions.
#[derive(Debug)]
pub(super) struct Versions<'a> {
    /// The transactions.
    pub(super) store: &'a Store,
    /// For each key its longest list.
    longest: Vec<Option<u32>>,
    /// For each element its place in the longest list of its key.
    places: Vec<u32>,
    /// For each list how many of its elements, from the first, are those of the longest.
    common: Vec<u32>,
    /// For each element whether it is in any list.
    seen: Vec<bool>,
}

impl Versions<'_> {
    /// From what was read.
    pub(super) fn new(store: &Store) -> Versions<'_> {
        let mut versions = Versions {
            store,
            longest: Vec::with_capacity(store.keys.count() as usize),
            places: vec![NOWHERE; store.elements.count() as usize],
            common: vec![0; store.orders.all().len()],
            seen: vec![false; store.elements.count() as usize],
        };
        for key in 0..store.keys.count() {
            versions.key(key);
        }
        versions
    }

    fn key(&mut self, key: u32) {
        let length = |order: &u32| self.store.orders.get(*order).elements.len();
        let orders = self.store.orders.of_key(key);
        // Of several that are longest, the first.
        let longest = orders.iter().copied().rev().max_by_key(length);
        self.longest.push(longest);
        let Some(longest) = longest else { return };
        let list = &self.store.orders.get(longest).elements;
        for (place, element) in list.iter().enumerate() {
            let known = &mut self.places[*element as usize];
            // One that is there twice has its first place.
            *known = (*known).min(place as u32);
        }
        for order in orders {
            let other = &self.store.orders.get(*order).elements;
            let same = other
                .iter()
                .zip(list)
                .take_while(|(one, other)| one == other)
                .count();
            self.common[*order as usize] = same as u32;
            for element in other {
                self.seen[*element as usize] = true;
            }
        }
    }

    /// The longest list of a key, where one was read that is not empty.
    pub(super) fn longest(&self, key: u32) -> Option<&Order> {
        Some(self.store.orders.get(self.longest[key as usize]?))
    }

    /// The longest list of a key; empty where none was read.
    pub(super) fn list(&self, key: u32) -> &[u32] {
        self.longest(key).map_or(&[], |order| &order.elements)
    }

    /// The place of an element in the longest list.
    pub(super) fn place(&self, element: u32) -> Option<usize> {
        Some(self.places[element as usize])
            .filter(|place| *place != NOWHERE)
            .map(|place| place as usize)
    }

    /// Whether an element is in any list.
    pub(super) fn is_seen(&self, element: u32) -> bool {
        self.seen[element as usize]
    }

    /// Whether a list begins the longest one of its key.
    pub(super) fn agrees(&self, order: u32, length: u32) -> bool {
        length == 0 || length <= self.common[order as usize]
    }

    /// The place in the longest list after what a read saw; none where that cannot be told.
    pub(super) fn after(&self, order: u32, length: u32) -> Option<usize> {
        if self.agrees(order, length) {
            return Some(length as usize);
        }
        let last = self.store.list(order, length).last()?;
        self.place(*last).map(|place| place + 1)
    }

    /// The first element of a key's longest list, from a place on, that some transaction installed; with that.
    pub(super) fn next(&self, key: u32, from: usize) -> Option<(u32, u32)> {
        let rest = self.list(key).get(from..)?;
        rest.iter()
            .find_map(|element| self.store.installer(*element).map(|by| (*element, by)))
    }

    /// The last such element before a place.
    pub(super) fn previous(&self, key: u32, before: usize) -> Option<(u32, u32)> {
        let rest = self.list(key).get(..before)?;
        rest.iter()
            .rev()
            .find_map(|element| self.store.installer(*element).map(|by| (*element, by)))
    }
}
