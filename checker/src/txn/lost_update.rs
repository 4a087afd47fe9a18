//! Lost update: two transactions read one version of a key and then both wrote the key. Of lists and registers alike.

use super::found::{Instances, example};
use super::store::{Step, Store};
use rustc_hash::FxHashMap;

/// A version of a key: its last element; none is the initial one.
type Version = (u32, Option<u32>);

/// Finds them: one for each version.
pub(super) fn find(store: &Store) -> Instances {
    let mut updates: FxHashMap<Version, Vec<u32>> = FxHashMap::default();
    let mut first: FxHashMap<u32, Option<Version>> = FxHashMap::default();
    for (transaction, steps) in store.committed() {
        if steps.len() < 2 {
            continue;
        }
        first.clear();
        for step in steps {
            match *step {
                Step::List { key, order, length } => {
                    let version = (key, store.list(order, length).last().copied());
                    first.entry(key).or_insert(Some(version));
                }
                Step::Value { key, element } => {
                    let version = (key, element.map(|element| element.get()));
                    first.entry(key).or_insert(Some(version));
                }
                Step::Write { element } => {
                    // A write first: what it reads later is no version of others. And one update a key is enough.
                    let read = first.entry(store.elements.key(element)).or_insert(None);
                    if let Some(version) = read.take() {
                        updates.entry(version).or_default().push(transaction);
                    }
                }
            }
        }
    }
    let mut lost: Vec<(Version, Vec<u32>)> = updates.into_iter().filter(|(_, by)| by.len() > 1).collect();
    lost.sort_unstable();
    let mut found = Instances::default();
    for ((key, version), by) in lost {
        found.add(|| told(store, key, version, &by));
    }
    found
}

fn told(store: &Store, key: u32, version: Option<u32>, by: &[u32]) -> crate::Example {
    let key = store.key_name(key);
    let read = version.map_or("the initial value".into(), |element| store.value(element));
    let mut lines: Vec<String> = (1..)
        .zip(by)
        .take(SHOWN)
        .map(|(number, one)| format!("T{number} = {}", store.text(*one)))
        .collect();
    lines.push(format!(
        "{} transactions read {key} at {read} and then wrote it: none saw the other's write",
        by.len()
    ));
    let operations = by
        .iter()
        .take(SHOWN)
        .map(|one| store.transactions[*one as usize].index)
        .collect();
    example(operations, lines.join("\n"))
}

/// Transactions that are shown of one lost update.
const SHOWN: usize = 10;
