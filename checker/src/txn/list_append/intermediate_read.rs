//! G1b: a committed transaction read a list that ends in the midst of what another appended.

use super::versions::Versions;
use crate::txn::found::{Instances, read_of};

/// Finds them.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut found = Instances::default();
    for (reader, _, order, length) in store.lists_read() {
        let Some(last) = store.list(order, length).last().copied() else {
            continue;
        };
        let writer = store.installer(last).filter(|writer| *writer != reader);
        if let (Some(writer), false) = (writer, store.elements.is_last(last)) {
            found.add(|| {
                read_of(
                    store,
                    "append",
                    writer,
                    reader,
                    last,
                    "but T1 appended more to it",
                )
            });
        }
    }
    found
}
