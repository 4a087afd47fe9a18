//! A committed transaction read what nobody appended.

use super::first_places::reads_of;
use super::versions::Versions;
use crate::txn::found::{Instances, example};

/// Finds them.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let nobody = |element: &u32| store.elements.writer(*element).is_none();
    let mut found = Instances::default();
    for (reader, key, element) in reads_of(store, |list| list.iter().position(nobody)) {
        found.add(|| {
            let text = format!(
                "T1 = {}\nT1 read {} in {}, which nobody appended",
                store.text(reader),
                store.value(element),
                store.key_name(key)
            );
            example(vec![store.transactions[reader as usize].index], text)
        });
    }
    found
}
