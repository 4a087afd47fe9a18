//! G1b: a committed transaction read a value that its writer, another one, overwrote itself.

use super::read_of_write;
use crate::txn::found::Instances;
use crate::txn::store::{Step, Store};

/// Finds them.
pub(super) fn find(store: &Store) -> Instances {
    let mut found = Instances::default();
    for (reader, steps) in store.committed() {
        for step in steps {
            let Step::Value {
                element: Some(element),
                ..
            } = *step
            else {
                continue;
            };
            let element = element.get();
            let writer = store.installer(element).filter(|writer| *writer != reader);
            if let (Some(writer), false) = (writer, store.elements.is_last(element)) {
                found.add(|| read_of_write(store, writer, reader, element, "but T1 overwrote it"));
            }
        }
    }
    found
}
