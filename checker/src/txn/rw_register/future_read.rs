//! Future read: a transaction read what it wrote only later.

use crate::txn::found::{Instances, example};
use crate::txn::store::{Step, Store};
use rustc_hash::FxHashSet;

/// Finds them: one for each read.
pub(super) fn find(store: &Store) -> Instances {
    let mut found = Instances::default();
    let mut later: FxHashSet<u32> = FxHashSet::default();
    for (transaction, steps) in store.committed() {
        later.clear();
        for step in steps.iter().rev() {
            match *step {
                Step::Write { element } => {
                    later.insert(element);
                }
                Step::Value {
                    key,
                    element: Some(element),
                } if later.contains(&element.get()) => {
                    found.add(|| {
                        let text = format!(
                            "T1 = {}\nT1 read {} in {} before it wrote it",
                            store.text(transaction),
                            store.value(element.get()),
                            store.key_name(key)
                        );
                        example(vec![store.transactions[transaction as usize].index], text)
                    });
                }
                Step::Value { .. } | Step::List { .. } => {}
            }
        }
    }
    found
}
