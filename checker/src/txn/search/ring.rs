//! A cycle as the search has it: hops between nodes, joints taken out.

use crate::txn::anomaly::adjacent;
use crate::txn::cycle::EdgeKind;
use crate::txn::graph::Graph;
use rustc_hash::FxHashMap;

/// A hop from a node to the next hop's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// The node.
    pub(crate) from: u32,
    /// Why it comes before the next.
    pub(crate) kind: EdgeKind,
}

/// A cycle. No node is in it twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    /// Its hops; the last one's leads to the first.
    pub(crate) hops: Vec<Hop>,
}

impl Ring {
    /// The kinds of its edges, in order.
    pub(crate) fn kinds(&self) -> Vec<EdgeKind> {
        self.hops.iter().map(|hop| hop.kind).collect()
    }

    /// From a closed walk: each node with the kind of the edge that leaves it; none where it leaves a joint. Joints
    /// are taken out; where a transaction comes twice, the walk is cut there, and the half is kept in which no rw
    /// follows on another, where there is one. None where nothing is left.
    pub(super) fn from_walk(graph: &Graph, walk: &[(u32, Option<EdgeKind>)]) -> Option<Ring> {
        let mut hops: Vec<Hop> = walk
            .iter()
            .filter(|(node, _)| !graph.is_joint(*node))
            .filter_map(|(from, kind)| kind.map(|kind| Hop { from: *from, kind }))
            .collect();
        while let Some((first, second)) = twice(&hops) {
            let inner = hops[first..second].to_vec();
            let outer = [&hops[..first], &hops[second..]].concat();
            hops = better(inner, outer);
        }
        (hops.len() > 1).then_some(Ring { hops })
    }
}

/// The places of a transaction that comes twice.
fn twice(hops: &[Hop]) -> Option<(usize, usize)> {
    let mut places: FxHashMap<u32, usize> = FxHashMap::default();
    for (place, hop) in hops.iter().enumerate() {
        if let Some(before) = places.insert(hop.from, place) {
            return Some((before, place));
        }
    }
    None
}

/// Of two halves the one without rw after rw; of two such the one that has an rw; of two such the shorter.
fn better(one: Vec<Hop>, other: Vec<Hop>) -> Vec<Hop> {
    let rank = |hops: &[Hop]| {
        let kinds: Vec<EdgeKind> = hops.iter().map(|hop| hop.kind).collect();
        (
            hops.len() < 2 || adjacent(&kinds),
            !kinds.contains(&EdgeKind::Rw),
            hops.len(),
        )
    };
    if rank(&one) <= rank(&other) { one } else { other }
}
