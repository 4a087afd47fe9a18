//! G1a: a committed transaction read what an aborted one appended.

use super::first_places::reads_of;
use super::versions::Versions;
use crate::txn::found::{Instances, read_of};
use crate::txn::store::End;

/// Finds them.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let aborted = |element: u32| {
        let writer = store.elements.writer(element)?;
        (store.end(writer) == End::Aborted).then_some(writer)
    };
    let mut found = Instances::default();
    let first = |list: &[u32]| list.iter().position(|element| aborted(*element).is_some());
    for (reader, _, element) in reads_of(store, first) {
        if let Some(writer) = aborted(element) {
            found.add(|| read_of(store, "append", writer, reader, element, "but T1 was aborted"));
        }
    }
    found
}
