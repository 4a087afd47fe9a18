//! Future read: a transaction read what it appended only later.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::Step;
use rustc_hash::FxHashSet;

/// Finds them: one for each read.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut found = Instances::default();
    let mut later: FxHashSet<u32> = FxHashSet::default();
    let mut keys: FxHashSet<u32> = FxHashSet::default();
    for (transaction, steps) in store.committed() {
        later.clear();
        keys.clear();
        for step in steps.iter().rev() {
            match *step {
                Step::Write { element } => {
                    later.insert(element);
                    keys.insert(store.elements.key(element));
                }
                Step::List { key, order, length } if keys.contains(&key) => {
                    let list = store.list(order, length);
                    let Some(element) = list.iter().find(|element| later.contains(element)) else {
                        continue;
                    };
                    found.add(|| {
                        let text = format!(
                            "T1 = {}\nT1 read {} in {} before it appended it",
                            store.text(transaction),
                            store.value(*element),
                            store.key_name(key)
                        );
                        example(vec![store.transactions[transaction as usize].index], text)
                    });
                }
                _ => {}
            }
        }
    }
    found
}
