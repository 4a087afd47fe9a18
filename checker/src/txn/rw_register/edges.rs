//! The dependencies that registers show.
//!
//! wr: from who installed a version to who read it. ww and rw: from who installed a version, and from who read it, to
//! who installed one that follows on it.

use super::versions::Versions;
use crate::txn::cycle::EdgeKind;
use crate::txn::fan::fan;
use crate::txn::graph::GraphBuilder;
use crate::txn::store::Step;

/// Adds them all.
pub(super) fn add(versions: &Versions<'_>, graph: &mut GraphBuilder) {
    let readers = readers(versions);
    for of_version in readers.chunk_by(|one, other| one.0 == other.0) {
        let version = of_version[0].0;
        let readers: Vec<u32> = of_version.iter().map(|(_, reader)| *reader).collect();
        if let Some(writer) = versions.installer(version) {
            for reader in &readers {
                graph.edge(writer, *reader, EdgeKind::Wr);
            }
        }
        fan(&readers, &writers(versions, version), EdgeKind::Rw, graph);
    }
    for version in 0..versions.store.elements.count() {
        if let Some(writer) = versions.installer(version) {
            for later in writers(versions, version) {
                graph.edge(writer, later, EdgeKind::Ww);
            }
        }
    }
}

/// Who installed a version that follows on one: each once.
fn writers(versions: &Versions<'_>, version: u32) -> Vec<u32> {
    let next = versions.next(version);
    let mut writers: Vec<u32> = next.iter().filter_map(|next| versions.installer(*next)).collect();
    writers.sort_unstable();
    writers.dedup();
    writers
}

/// Versions with who read them, by version.
fn readers(versions: &Versions<'_>) -> Vec<(u32, u32)> {
    let mut readers = Vec::new();
    for (reader, steps) in versions.store.committed() {
        for step in steps {
            if let Step::Value { key, element } = *step {
                let version = element.map(|element| element.get());
                readers.push((versions.node(key, version), reader));
            }
        }
    }
    readers.sort_unstable();
    readers.dedup();
    readers
}
