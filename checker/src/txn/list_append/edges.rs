//! The dependencies that lists show.
//!
//! ww: from who appended an element to who appended the next one. wr: from who appended the last element of a list to
//! who read it. rw: from who read a list to who appended the next element. Elements of aborted or unknown writers are
//! passed over: they are no versions. An element that committed and is in no list was appended after all that are in
//! one: it comes after the last one, and whoever read up to there comes before it.

use super::versions::Versions;
use crate::txn::cycle::EdgeKind;
use crate::txn::fan::fan;
use crate::txn::graph::GraphBuilder;
use crate::txn::store::{End, Step};
use rustc_hash::FxHashMap;

/// Adds them all.
pub(super) fn add(versions: &Versions<'_>, graph: &mut GraphBuilder) {
    overwrites(versions, graph);
    let mut ends = unseen(versions);
    for (key, end) in &ends {
        let list = versions.list(*key);
        if let Some((_, before)) = versions.previous(*key, list.len()) {
            for writer in &end.writers {
                graph.edge(before, *writer, EdgeKind::Ww);
            }
        }
    }
    reads(versions, &mut ends, graph);
    for end in ends.values_mut() {
        end.readers.sort_unstable();
        end.readers.dedup();
        fan(&end.readers, &end.writers, EdgeKind::Rw, graph);
    }
}

fn overwrites(versions: &Versions<'_>, graph: &mut GraphBuilder) {
    for key in 0..versions.store.keys.count() {
        let mut before = None;
        for element in versions.list(key) {
            let Some(writer) = versions.store.installer(*element) else {
                continue;
            };
            if let Some(before) = before {
                graph.edge(before, writer, EdgeKind::Ww);
            }
            before = Some(writer);
        }
    }
}

/// What is at the end of a key that has elements which nobody saw.
#[derive(Default)]
struct Unseen {
    /// Who appended them, each once.
    writers: Vec<u32>,
    /// Who read all that was seen.
    readers: Vec<u32>,
}

/// The committed elements that are in no list, by key.
fn unseen(versions: &Versions<'_>) -> FxHashMap<u32, Unseen> {
    let store = versions.store;
    let mut ends: FxHashMap<u32, Unseen> = FxHashMap::default();
    for element in 0..store.elements.count() {
        if versions.is_seen(element) {
            continue;
        }
        let Some(writer) = store.elements.writer(element) else {
            continue;
        };
        if store.end(writer) == End::Committed {
            let writers = &mut ends.entry(store.elements.key(element)).or_default().writers;
            writers.push(writer);
        }
    }
    for end in ends.values_mut() {
        end.writers.sort_unstable();
        end.writers.dedup();
    }
    ends
}

fn reads(versions: &Versions<'_>, ends: &mut FxHashMap<u32, Unseen>, graph: &mut GraphBuilder) {
    let store = versions.store;
    for (reader, steps) in store.committed() {
        for step in steps {
            let Step::List { key, order, length } = *step else {
                continue;
            };
            let last = store.list(order, length).last();
            if let Some(writer) = last.and_then(|last| store.installer(*last)) {
                graph.edge(writer, reader, EdgeKind::Wr);
            }
            let Some(after) = versions.after(order, length) else {
                continue;
            };
            match versions.next(key, after) {
                Some((_, writer)) => graph.edge(reader, writer, EdgeKind::Rw),
                None => {
                    if let Some(end) = ends.get_mut(&key) {
                        end.readers.push(reader);
                    }
                }
            }
        }
    }
}
