//! Incompatible order: a list that does not begin the longest one of its key, or that has what one transaction
//! appended in another order than it did. There is no one order of versions.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::{Step, Store};
use rustc_hash::{FxHashMap, FxHashSet};

/// Finds them: one for each such read.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let turned = turned(store);
    let mut found = Instances::default();
    for (reader, steps) in store.committed() {
        for step in steps {
            let Step::List { key, order, length } = *step else {
                continue;
            };
            let why = if !versions.agrees(order, length) {
                differs(versions, key, order, length)
            } else if let Some(place) = turned.get(&order).filter(|place| **place < length as usize) {
                let element = store.list(order, length)[*place];
                let value = store.value(element);
                format!(", where {value} comes after what its transaction appended later")
            } else {
                continue;
            };
            found.add(|| {
                let text = format!(
                    "T1 = {}\nT1 read {} as {}{why}",
                    store.text(reader),
                    store.key_name(key),
                    store.list_text(order, length)
                );
                example(vec![store.transactions[reader as usize].index], text)
            });
        }
    }
    found
}

/// Where a list and the longest one of its key part.
fn differs(versions: &Versions<'_>, key: u32, order: u32, length: u32) -> String {
    let store = versions.store;
    let list = store.list(order, length);
    let differ = list
        .iter()
        .zip(versions.list(key))
        .find(|(one, other)| one != other);
    let differ = differ.map_or(String::new(), |(one, other)| {
        format!(
            ": {} where the other has {}",
            store.value(*one),
            store.value(*other)
        )
    });
    format!(", which does not begin the longest list that was read of it{differ}")
}

/// For each list that has some transaction's elements in another order than it appended them, the place of the first
/// that comes too late.
fn turned(store: &Store) -> FxHashMap<u32, usize> {
    let mut turned = FxHashMap::default();
    // Most transactions append once to a key: only the others can be turned.
    let several: FxHashSet<u32> = (0..store.elements.count())
        .filter(|element| !store.elements.is_last(*element))
        .filter_map(|element| store.elements.writer(element))
        .collect();
    let mut written: FxHashMap<u32, usize> = FxHashMap::default();
    for writer in &several {
        for (at, step) in store.steps(*writer).iter().enumerate() {
            if let Step::Write { element } = step {
                written.insert(*element, at);
            }
        }
    }
    let mut latest: FxHashMap<u32, usize> = FxHashMap::default();
    for (which, order) in (0u32..).zip(store.orders.all()) {
        latest.clear();
        for (place, element) in order.elements.iter().enumerate() {
            let Some(writer) = store
                .elements
                .writer(*element)
                .filter(|writer| several.contains(writer))
            else {
                continue;
            };
            let at = written.get(element).copied().unwrap_or(0);
            if latest.insert(writer, at).is_some_and(|before| before > at) {
                turned.insert(which, place);
                break;
            }
        }
    }
    turned
}
