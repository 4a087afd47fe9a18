//! G1b: a committed transaction read a list that ends in the midst of what another appended.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::Step;

/// Finds them.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut found = Instances::default();
    for (reader, steps) in store.committed() {
        for step in steps {
            let Step::List { key, order, length } = *step else {
                continue;
            };
            let Some(last) = store.list(order, length).last() else {
                continue;
            };
            let Some(writer) = store.installer(*last).filter(|writer| *writer != reader) else {
                continue;
            };
            if store.elements.is_last(*last) {
                continue;
            }
            found.add(|| {
                let operations = vec![
                    store.transactions[writer as usize].index,
                    store.transactions[reader as usize].index,
                ];
                let text = format!(
                    "T1 = {}\nT2 = {}\nT2 read T1's append of {} to {}, but T1 appended more to it",
                    store.text(writer),
                    store.text(reader),
                    store.value(*last),
                    store.key_name(key)
                );
                example(operations, text)
            });
        }
    }
    found
}
