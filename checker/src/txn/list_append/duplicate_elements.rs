//! Duplicate elements: a list has an element twice, though it was appended once.

use super::first_places::reads_of;
use super::versions::Versions;
use crate::txn::found::{Instances, example};
use rustc_hash::FxHashSet;

/// Finds them: one for each read that has one.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut met: FxHashSet<u32> = FxHashSet::default();
    let again = |list: &[u32]| {
        met.clear();
        list.iter().position(|element| !met.insert(*element))
    };
    let mut found = Instances::default();
    for (reader, key, element) in reads_of(store, again) {
        found.add(|| {
            let text = format!(
                "T1 = {}\nT1 read {} twice in {}",
                store.text(reader),
                store.value(element),
                store.key_name(key)
            );
            example(vec![store.transactions[reader as usize].index], text)
        });
    }
    found
}
