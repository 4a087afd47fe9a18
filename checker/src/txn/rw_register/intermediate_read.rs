//! G1b: a committed transaction read a value that its writer, another one, overwrote itself.

use crate::txn::found::{Instances, read_of};
use crate::txn::store::Store;

/// Finds them.
pub(super) fn find(store: &Store) -> Instances {
    let mut found = Instances::default();
    for (reader, _, element) in store.values_read() {
        let writer = store.installer(element).filter(|writer| *writer != reader);
        if let (Some(writer), false) = (writer, store.elements.is_last(element)) {
            found.add(|| read_of(store, "write", writer, reader, element, "but T1 overwrote it"));
        }
    }
    found
}
