//! Shortest closed walks, breadth first.

use super::Ring;
use crate::txn::cycle::EdgeKind;
use crate::txn::graph::Graph;
use crate::txn::kinds::Kinds;
use crate::txn::scc::{Components, components};

/// A closed walk: each node with the kind of the edge that leaves it to the next; none out of a joint.
pub(super) type Walk = Vec<(u32, Option<EdgeKind>)>;

/// After so many edges no further beginning is tried: a shorter cycle reads better, but one has been found.
const STEPS: u64 = 1 << 22;

/// A short cycle of a projection, one that begins with an edge of the kinds `must` where those are any. None where
/// there is none.
pub(super) fn in_projection(graph: &Graph, kinds: Kinds, must: Kinds) -> Option<Ring> {
    Ring::from_walk(graph, &shortest(graph, kinds, must)?)
}

/// A short closed walk of a projection: the shortest of all, unless there are too many beginnings to try.
pub(super) fn shortest(graph: &Graph, kinds: Kinds, must: Kinds) -> Option<Walk> {
    let kinds = kinds.and(Kinds::ONWARD);
    let parts = components(graph, kinds);
    let mut walker = Walker::new(graph, kinds, &parts);
    for members in &parts.cyclic {
        for node in members {
            if walker.steps > STEPS && walker.best.is_some() {
                return walker.best;
            }
            if !graph.is_joint(*node) {
                walker.from(*node, must);
            }
        }
    }
    walker.best
}

/// The search from one beginning after another.
pub(super) struct Walker<'a> {
    graph: &'a Graph,
    kinds: Kinds,
    parts: &'a Components,
    /// For each node the place in the queue of the one that led to it, by beginning.
    seen: Vec<u32>,
    round: u32,
    /// Nodes, each with the queue's place of the one before and the kinds of the edge between.
    queue: Vec<(u32, u32, Kinds)>,
    steps: u64,
    /// The shortest walk so far.
    pub(super) best: Option<Walk>,
}

/// The place before the first of the queue: the beginning itself.
const BEGINNING: u32 = u32::MAX;

impl<'a> Walker<'a> {
    /// A search within the components of a projection.
    pub(super) fn new(graph: &'a Graph, kinds: Kinds, parts: &'a Components) -> Walker<'a> {
        Walker {
            graph,
            kinds: kinds.and(Kinds::ONWARD),
            parts,
            seen: vec![0; graph.nodes() as usize],
            round: 0,
            queue: Vec::new(),
            steps: 0,
            best: None,
        }
    }

    /// Looks for a shorter walk from a node back to it. Where `must` has kinds, the first edge has one of them.
    pub(super) fn from(&mut self, start: u32, must: Kinds) {
        self.round += 1;
        self.queue.clear();
        let first = if must == Kinds::NONE { self.kinds } else { must };
        self.spread(start, BEGINNING, first, start);
        let (mut place, mut length) = (0, 1);
        let mut level = self.queue.len();
        while place < self.queue.len() {
            if place == level {
                length += 1;
                level = self.queue.len();
            }
            if self.best.as_ref().is_some_and(|best| length + 1 >= best.len()) {
                return;
            }
            let node = self.queue[place].0;
            if let Some(last) = self.spread(node, place as u32, self.kinds, start) {
                self.best = Some(self.walk(start, place as u32, last));
                return;
            }
            place += 1;
        }
    }

    /// Queues the targets of a node that were not met. Gives the kinds of its edge to the beginning, if it has one.
    fn spread(&mut self, node: u32, place: u32, kinds: Kinds, start: u32) -> Option<Kinds> {
        let part = self.parts.of[start as usize];
        for (target, edge) in self.graph.edges(node) {
            self.steps += 1;
            let edge = edge.within(kinds);
            if edge == Kinds::NONE || self.parts.of[target as usize] != part {
                continue;
            }
            if target == start {
                return Some(edge);
            }
            if self.seen[target as usize] != self.round {
                self.seen[target as usize] = self.round;
                self.queue.push((target, place, edge));
            }
        }
        None
    }

    /// The walk that ends with an edge of `last` from the node at a place.
    fn walk(&self, start: u32, place: u32, last: Kinds) -> Walk {
        let mut walk = Vec::new();
        let (mut place, mut leaves) = (place, last);
        while place != BEGINNING {
            let (node, before, came) = self.queue[place as usize];
            walk.push((node, leaves.first()));
            (place, leaves) = (before, came);
        }
        walk.push((start, leaves.first()));
        walk.reverse();
        walk
    }
}
