//! A committed transaction read what nobody appended.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::Step;

/// Finds them.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    // For each list where its first element is that nobody appended.
    let firsts: Vec<Option<usize>> = store
        .orders
        .all()
        .iter()
        .map(|order| {
            let nobody = |element: &u32| store.elements.writer(*element).is_none();
            order.elements.iter().position(nobody)
        })
        .collect();
    let mut found = Instances::default();
    if firsts.iter().all(Option::is_none) {
        return found;
    }
    for (reader, steps) in store.committed() {
        for step in steps {
            let Step::List { key, order, length } = *step else {
                continue;
            };
            let first = firsts.get(order as usize).copied().flatten();
            let Some(element) = first.and_then(|first| store.list(order, length).get(first)) else {
                continue;
            };
            found.add(|| {
                let text = format!(
                    "T1 = {}\nT1 read {} in {}, which nobody appended",
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
