//! Dirty update: a committed transaction appended after an aborted one's element, which stayed in the list.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::End;

/// Finds them: one for each aborted element.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut found = Instances::default();
    for key in 0..store.keys.count() {
        // The nearest element after it that committed.
        let mut later = None;
        for element in versions.list(key).iter().rev() {
            let Some(writer) = store.elements.writer(*element) else {
                continue;
            };
            match (store.end(writer), later) {
                (End::Committed, _) => later = Some((*element, writer)),
                (End::Aborted, Some((next, by))) => found.add(|| {
                    let operations = vec![
                        store.transactions[writer as usize].index,
                        store.transactions[by as usize].index,
                    ];
                    let text = format!(
                        "T1 = {}\nT2 = {}\nT1 was aborted, but its append of {} to {} stayed, and T2's append of {} \
                         went on top of it",
                        store.text(writer),
                        store.text(by),
                        store.value(*element),
                        store.key_name(key),
                        store.value(next)
                    );
                    example(operations, text)
                }),
                _ => {}
            }
        }
    }
    found
}
