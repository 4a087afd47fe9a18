//! A committed transaction read what nobody wrote.

use crate::txn::found::{Instances, example};
use crate::txn::store::Store;

/// Finds them.
pub(super) fn find(store: &Store) -> Instances {
    let mut found = Instances::default();
    for (reader, key, element) in store.values_read() {
        if store.elements.writer(element).is_some() {
            continue;
        }
        found.add(|| {
            let text = format!(
                "T1 = {}\nT1 read {} from {}, which nobody wrote",
                store.text(reader),
                store.value(element),
                store.key_name(key)
            );
            example(vec![store.transactions[reader as usize].index], text)
        });
    }
    found
}
