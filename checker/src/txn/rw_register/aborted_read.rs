//! G1a: a committed transaction read what an aborted one wrote.

use super::read_of_write;
use crate::txn::found::Instances;
use crate::txn::store::{End, Step, Store};

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
            let writer = store.elements.writer(element);
            if let Some(writer) = writer.filter(|writer| store.end(*writer) == End::Aborted) {
                found.add(|| read_of_write(store, writer, reader, element, "but T1 was aborted"));
            }
        }
    }
    found
}
