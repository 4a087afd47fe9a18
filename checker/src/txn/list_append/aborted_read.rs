//! G1a: a committed transaction read what an aborted one appended.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::{End, Step};

/// Finds them.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let aborted = |element: &u32| {
        let writer = store.elements.writer(*element)?;
        (store.end(writer) == End::Aborted).then_some(writer)
    };
    // For each list where its first aborted element is.
    let firsts: Vec<Option<usize>> = store
        .orders
        .all()
        .iter()
        .map(|order| {
            order
                .elements
                .iter()
                .position(|element| aborted(element).is_some())
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
            let list = store.list(order, length);
            let Some(first) = firsts.get(order as usize).copied().flatten() else {
                continue;
            };
            let Some((element, writer)) = list.get(first).and_then(|one| Some((*one, aborted(one)?))) else {
                continue;
            };
            found.add(|| {
                let operations = vec![
                    store.transactions[writer as usize].index,
                    store.transactions[reader as usize].index,
                ];
                let text = format!(
                    "T1 = {}\nT2 = {}\nT2 read T1's append of {} to {}, but T1 was aborted",
                    store.text(writer),
                    store.text(reader),
                    store.value(element),
                    store.key_name(key)
                );
                example(operations, text)
            });
        }
    }
    found
}
