//! Internal: a transaction's read contradicts its own earlier steps.

use super::versions::Versions;
use crate::txn::found::{Instances, example};
use crate::txn::store::Step;
use rustc_hash::FxHashMap;

/// What a transaction knows of a key.
#[derive(Default)]
struct Known {
    /// The last list that it read: order and length.
    read: Option<(u32, u32)>,
    /// What it appended since, or from its beginning.
    appended: Vec<u32>,
}

/// Finds them: one for each read.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut found = Instances::default();
    let mut known: FxHashMap<u32, Known> = FxHashMap::default();
    for (transaction, steps) in store.committed() {
        if steps.len() < 2 {
            continue;
        }
        known.clear();
        for step in steps {
            match *step {
                Step::Write { element } => {
                    let key = store.elements.key(element);
                    known.entry(key).or_default().appended.push(element);
                }
                Step::List { key, order, length } => {
                    let before = known.entry(key).or_default();
                    let list = store.list(order, length);
                    if !fits(
                        store.list_of(before.read),
                        &before.appended,
                        before.read.is_some(),
                        list,
                    ) {
                        found.add(|| {
                            let text = format!(
                                "T1 = {}\nT1's own steps contradict its read of {} as {}",
                                store.text(transaction),
                                store.key_name(key),
                                store.list_text(order, length)
                            );
                            example(vec![store.transactions[transaction as usize].index], text)
                        });
                    }
                    before.read = Some((order, length));
                    before.appended.clear();
                }
                Step::Value { .. } => {}
            }
        }
    }
    found
}

/// Whether a list is what was read before and then appended; only its end is known where nothing was read before.
fn fits(read: &[u32], appended: &[u32], from_the_beginning: bool, list: &[u32]) -> bool {
    let Some(beginning) = list.strip_suffix(appended) else {
        return false;
    };
    !from_the_beginning || beginning == read
}
