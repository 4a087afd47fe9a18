//! G1a: a committed transaction read what an aborted one wrote.

use crate::txn::found::{Instances, read_of};
use crate::txn::store::{End, Store};

/// Finds them.
pub(super) fn find(store: &Store) -> Instances {
    let mut found = Instances::default();
    for (reader, _, element) in store.values_read() {
        let writer = store.elements.writer(element);
        if let Some(writer) = writer.filter(|writer| store.end(*writer) == End::Aborted) {
            found.add(|| read_of(store, "write", writer, reader, element, "but T1 was aborted"));
        }
    }
    found
}
