//! Internal: a transaction's read is not what it wrote or read of the key before.

use crate::txn::found::{Instances, example};
use crate::txn::store::{Element, Step, Store};
use rustc_hash::FxHashMap;

/// Finds them: one for each read.
pub(super) fn find(store: &Store) -> Instances {
    let mut found = Instances::default();
    let mut known: FxHashMap<u32, Option<Element>> = FxHashMap::default();
    for (transaction, steps) in store.committed() {
        if steps.len() < 2 {
            continue;
        }
        known.clear();
        for step in steps {
            match *step {
                Step::Write { element } => {
                    known.insert(store.elements.key(element), Some(Element::new(element)));
                }
                Step::Value { key, element } => {
                    let before = known.insert(key, element);
                    if let Some(before) = before.filter(|before| *before != element) {
                        found.add(|| told(store, transaction, key, before, element));
                    }
                }
                Step::List { .. } => {}
            }
        }
    }
    found
}

fn told(
    store: &Store,
    transaction: u32,
    key: u32,
    before: Option<Element>,
    now: Option<Element>,
) -> crate::Example {
    let value = |element: Option<Element>| element.map_or("nil".into(), |element| store.value(element.get()));
    let text = format!(
        "T1 = {}\nT1 read {} as {}, where its own steps before make it {}",
        store.text(transaction),
        store.key_name(key),
        value(now),
        value(before)
    );
    example(vec![store.transactions[transaction as usize].index], text)
}
