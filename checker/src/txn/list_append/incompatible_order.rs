//! Incompatible order: a list that does not begin the longest one of its key. There is no one order of versions.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::Step;

/// Finds them: one for each such read.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut found = Instances::default();
    for (reader, steps) in store.committed() {
        for step in steps {
            let Step::List { key, order, length } = *step else {
                continue;
            };
            if versions.agrees(order, length) {
                continue;
            }
            found.add(|| {
                let list = store.list(order, length);
                let differ = list.iter().zip(versions.list(key)).find(|(one, other)| one != other);
                let differ = differ.map_or(String::new(), |(one, other)| {
                    format!(": {} where the other has {}", store.value(*one), store.value(*other))
                });
                let text = format!(
                    "T1 = {}\nT1 read {} as {}, which does not begin the longest list that was read of it{differ}",
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
