//! Is there one order of the transactions in which each reads what those before it wrote?

use super::{Step, Txn};
use history::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Tries every order. Those that committed are all in it; those of which nobody knows may be. With `realtime` one that
/// had ended when another began comes before it.
pub fn serial(txns: &[Txn], lists: bool, realtime: bool) -> bool {
    let open: Vec<&Txn> = txns.iter().filter(|txn| txn.kind != Kind::Fail).collect();
    go(&open, &BTreeMap::new(), lists, realtime)
}

fn go(open: &[&Txn], state: &BTreeMap<i64, Vec<i64>>, lists: bool, realtime: bool) -> bool {
    if !open.iter().any(|txn| txn.ok()) {
        return true;
    }
    (0..open.len()).any(|which| {
        let txn = open[which];
        if realtime && open.iter().any(|other| other.before(txn)) {
            return false;
        }
        let mut rest = open.to_vec();
        rest.remove(which);
        run(txn, state, lists).is_some_and(|state| go(&rest, &state, lists, realtime))
    })
}

/// The state after it; none where it reads something else. What one of which nobody knows read, nobody knows.
fn run(txn: &Txn, state: &BTreeMap<i64, Vec<i64>>, lists: bool) -> Option<BTreeMap<i64, Vec<i64>>> {
    let mut state = state.clone();
    for step in &txn.steps {
        match step {
            Step::Write(key, value) => {
                let list = state.entry(*key).or_default();
                if !lists {
                    list.clear();
                }
                list.push(*value);
            }
            Step::Read(key, seen) => {
                let held = state.get(key).map_or(&[][..], Vec::as_slice);
                if txn.ok() && held != seen.as_slice() {
                    return None;
                }
            }
        }
    }
    Some(state)
}

/// Whether what was read shows the order of all versions of lists: each append of a committed transaction is in some
/// list, all are known to have committed or aborted, and no list has an element that nobody appended.
pub fn observes_all(txns: &[Txn]) -> bool {
    let mut read: BTreeSet<(i64, i64)> = BTreeSet::new();
    let mut written: BTreeSet<(i64, i64)> = BTreeSet::new();
    for step in txns.iter().filter(|txn| txn.ok()).flat_map(|txn| &txn.steps) {
        match step {
            Step::Write(key, value) => _ = written.insert((*key, *value)),
            Step::Read(key, list) => read.extend(list.iter().map(|value| (*key, *value))),
        }
    }
    read == written && txns.iter().all(|txn| txn.kind != Kind::Info)
}
