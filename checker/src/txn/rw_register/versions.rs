//! The order of each register's versions, as far as it can be told.
//!
//! Versions are what was written last by a transaction, what was read, and the initial nil. Nil comes first. Where
//! writes follow reads, what a transaction read comes before what it then wrote. Where keys are sequential, versions
//! come in the order in which a process had to do with them; where they are linearizable, in that of real time. A key
//! whose versions precede each other in a circle is told of, and its order is dropped.

use super::Assumptions;
use super::touches::{Touch, touches};
use crate::txn::cycle::EdgeKind;
use crate::txn::graph::{Graph, GraphBuilder};
use crate::txn::kinds::Kinds;
use crate::txn::realtime::{Span, realtime};
use crate::txn::scc::components;
use crate::txn::store::Store;
use rustc_hash::{FxHashMap, FxHashSet};

/// The versions.
#[derive(Debug)]
pub(super) struct Versions<'a> {
    /// The transactions.
    pub(super) store: &'a Store,
    /// What precedes what at once. Nodes are elements, and after them a nil for each key.
    order: Graph,
    /// For each key the versions that follow on nil at once.
    firsts: FxHashMap<u32, Vec<u32>>,
    /// Versions in a circle, one circle for each key that has any.
    pub(super) cyclic: Vec<(u32, Vec<u32>)>,
    /// The keys of those: their order is dropped.
    dropped: FxHashSet<u32>,
}

impl Versions<'_> {
    /// From what was read and written.
    pub(super) fn new<'a>(store: &'a Store, assumptions: &Assumptions) -> Versions<'a> {
        let touches = touches(store);
        let mut builder = GraphBuilder::new(store.elements.count() + store.keys.count());
        if assumptions.writes_follow_reads {
            for touch in &touches {
                if let (Some(read), Some(wrote)) = (touch.read, touch.wrote) {
                    precede(&mut builder, node(store, touch.key, read), wrote);
                }
            }
        }
        if assumptions.sequential_keys {
            sequential(store, &touches, &mut builder);
        }
        if assumptions.linearizable_keys {
            linearizable(store, &touches, &mut builder);
        }
        let mut versions = Versions {
            store,
            order: builder.build_merged(),
            firsts: FxHashMap::default(),
            cyclic: Vec::new(),
            dropped: FxHashSet::default(),
        };
        versions.drop_cyclic();
        versions.find_firsts(&touches);
        versions
    }

    /// The node of a version.
    pub(super) fn node(&self, key: u32, version: Option<u32>) -> u32 {
        node(self.store, key, version)
    }

    /// The version of a node; none is nil.
    pub(super) fn version(&self, node: u32) -> Option<u32> {
        (node < self.store.elements.count()).then_some(node)
    }

    fn key(&self, node: u32) -> u32 {
        match self.version(node) {
            Some(element) => self.store.elements.key(element),
            None => node - self.store.elements.count(),
        }
    }

    /// Who installed a version: the transaction whose last write under the key it is.
    pub(super) fn installer(&self, node: u32) -> Option<u32> {
        let element = self.version(node)?;
        self.store
            .installer(element)
            .filter(|_| self.store.elements.is_last(element))
    }

    /// The versions with an installer that follow on a version, with no such one in between.
    pub(super) fn next(&self, node: u32) -> Vec<u32> {
        let key = self.key(node);
        if self.dropped.contains(&key) {
            return Vec::new();
        }
        let mut next = Vec::new();
        let mut met: FxHashSet<u32> = FxHashSet::default();
        let mut open = self.at_once(node);
        while let Some(version) = open.pop() {
            if !met.insert(version) {
                continue;
            }
            if self.installer(version).is_some() {
                next.push(version);
            } else {
                open.extend(self.at_once(version));
            }
        }
        next.sort_unstable();
        next
    }

    fn at_once(&self, node: u32) -> Vec<u32> {
        let mut next: Vec<u32> = self.order.edges(node).map(|(target, _)| target).collect();
        if self.version(node).is_none() {
            next.extend(self.firsts.get(&self.key(node)).into_iter().flatten());
        }
        next
    }

    fn drop_cyclic(&mut self) {
        let any = Kinds::of(EdgeKind::Ww);
        for circle in components(&self.order, any).cyclic {
            let key = self.key(circle[0]);
            // One circle a key is told.
            if self.dropped.insert(key) {
                self.cyclic.push((key, circle));
            }
        }
        for node in 0..self.store.elements.count() {
            for (target, _) in self.order.edges(node) {
                // Nil comes before all: whatever comes before nil closes a circle.
                if self.version(target).is_none() && self.dropped.insert(self.key(target)) {
                    self.cyclic.push((self.key(target), vec![target, node]));
                }
            }
        }
        self.cyclic.sort_unstable();
    }

    /// Nil is followed at once by the versions that follow on no other that was installed.
    fn find_firsts(&mut self, touches: &[Touch]) {
        let mut follows: Vec<bool> = vec![false; self.store.elements.count() as usize];
        for node in 0..self.store.elements.count() {
            if self.installer(node).is_some() {
                for (target, _) in self.order.edges(node) {
                    if let Some(later) = follows.get_mut(target as usize) {
                        *later = true;
                    }
                }
            }
        }
        let read = touches.iter().filter_map(|touch| touch.read.flatten());
        let installed = (0..self.store.elements.count()).filter(|node| self.installer(*node).is_some());
        let mut firsts: Vec<u32> = read
            .chain(installed)
            .filter(|version| !follows[*version as usize])
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        for version in firsts {
            let key = self.store.elements.key(version);
            self.firsts.entry(key).or_default().push(version);
        }
    }
}

fn node(store: &Store, key: u32, version: Option<u32>) -> u32 {
    version.unwrap_or(store.elements.count() + key)
}

/// One version precedes another. Edges of versions have one kind.
fn precede(builder: &mut GraphBuilder, from: u32, to: u32) {
    builder.edge(from, to, EdgeKind::Ww);
}

/// Whatever one touch left, precedes what a later one met.
fn follow(store: &Store, from: &Touch, to: &Touch, builder: &mut GraphBuilder) {
    let left = node(store, from.key, from.left());
    if let Some(read) = to.read {
        precede(builder, left, node(store, to.key, read));
    }
    if let Some(wrote) = to.wrote {
        precede(builder, left, wrote);
    }
}

fn sequential(store: &Store, touches: &[Touch], builder: &mut GraphBuilder) {
    let mut order: Vec<&Touch> = touches.iter().collect();
    order.sort_by_key(|touch| store.transactions[touch.transaction as usize].began);
    let mut last: FxHashMap<(u64, u32), &Touch> = FxHashMap::default();
    for touch in order {
        let process = store.transactions[touch.transaction as usize].process;
        if let Some(before) = last.insert((process, touch.key), touch) {
            follow(store, before, touch, builder);
        }
    }
}

fn linearizable(store: &Store, touches: &[Touch], builder: &mut GraphBuilder) {
    let mut order: Vec<&Touch> = touches.iter().collect();
    order.sort_by_key(|touch| touch.key);
    for of_key in order.chunk_by(|one, other| one.key == other.key) {
        let spans: Vec<Span> = (0u32..)
            .zip(of_key)
            .map(|(node, touch)| {
                let transaction = store.transactions[touch.transaction as usize];
                Span {
                    node,
                    began: transaction.began,
                    ended: transaction.ended,
                }
            })
            .collect();
        let mut graph = GraphBuilder::new(spans.len() as u32);
        // No joints: a version that is left and met again would seem to precede itself.
        realtime(&spans, usize::MAX, &mut graph);
        let graph = graph.build();
        for (from, touch) in (0u32..).zip(of_key) {
            for (to, _) in graph.edges(from) {
                follow(store, touch, of_key[to as usize], builder);
            }
        }
    }
}
