//! Duplicate elements: a list has an element twice, though it was appended once.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::Step;
use rustc_hash::FxHashMap;

/// Finds them: one for each read that has one.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut met: FxHashMap<u32, usize> = FxHashMap::default();
    // For each list the place of the first element that was there before.
    let again: Vec<Option<usize>> = store
        .orders
        .all()
        .iter()
        .map(|order| {
            met.clear();
            let mut elements = order.elements.iter().enumerate();
            elements.find_map(|(place, element)| met.insert(*element, place).map(|_| place))
        })
        .collect();
    let mut found = Instances::default();
    if again.iter().all(Option::is_none) {
        return found;
    }
    for (reader, steps) in store.committed() {
        for step in steps {
            let Step::List { key, order, length } = *step else {
                continue;
            };
            let list = store.list(order, length);
            let place = again.get(order as usize).copied().flatten();
            let Some(element) = place.and_then(|place| list.get(place)) else {
                continue;
            };
            found.add(|| {
                let text = format!(
                    "T1 = {}\nT1 read {} twice in {}",
                    store.text(reader),
                    store.value(*element),
                    store.key_name(key)
                );
                example(vec![store.transactions[reader as usize].index], text)
            });
        }
    }
    found
}
