//! The graph of dependencies between transactions, as compressed rows: one array of targets and kinds, and for each
//! node where its row begins.
//!
//! Nodes below [`Graph::transactions`] are transactions; those above are *joints*, which stand between many and many
//! so that edges stay linear in number. An edge into a joint has its kind; those out of it are
//! [`Kinds::ONWARD`](super::kinds::Kinds::ONWARD) and go on with it.

use super::cycle::EdgeKind;
use super::kinds::Kinds;
use std::ops::Range;

/// An edge in the making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    from: u32,
    to: u32,
    kinds: Kinds,
}

/// Collects edges.
#[derive(Debug)]
pub(crate) struct GraphBuilder {
    transactions: u32,
    nodes: u32,
    edges: Vec<Edge>,
}

impl GraphBuilder {
    /// A graph of so many transactions, without edges.
    pub(crate) fn new(transactions: u32) -> GraphBuilder {
        GraphBuilder {
            transactions,
            nodes: transactions,
            edges: Vec::new(),
        }
    }

    /// Adds an edge, from a transaction to a node. One from a node to itself says nothing and is left out.
    pub(crate) fn edge(&mut self, from: u32, to: u32, kind: EdgeKind) {
        self.push(from, to, Kinds::of(kind));
    }

    /// Adds a joint.
    pub(crate) fn joint(&mut self) -> u32 {
        let joint = self.nodes;
        self.nodes += 1;
        joint
    }

    /// Goes on from a joint.
    pub(crate) fn onward(&mut self, joint: u32, to: u32) {
        self.push(joint, to, Kinds::ONWARD);
    }

    /// Adds an edge of several kinds.
    pub(super) fn push(&mut self, from: u32, to: u32, kinds: Kinds) {
        if from != to {
            self.edges.push(Edge { from, to, kinds });
        }
    }

    /// Whether a node is a joint.
    pub(crate) fn is_joint(&self, node: u32) -> bool {
        node >= self.transactions
    }

    /// How many edges there are so far.
    pub(crate) fn edges(&self) -> usize {
        self.edges.len()
    }

    /// The graph, with one edge from a node to another that has all of the kinds.
    pub(super) fn build_merged(mut self) -> Graph {
        self.edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
        self.edges.dedup_by(|later, kept| {
            let same = (later.from, later.to) == (kept.from, kept.to);
            if same {
                kept.kinds = kept.kinds.and(later.kinds);
            }
            same
        });
        self.build()
    }

    /// The graph, with rows in the order in which edges were added.
    pub(crate) fn build(self) -> Graph {
        let nodes = self.nodes as usize;
        let mut rows = vec![0u32; nodes + 1];
        for edge in &self.edges {
            rows[edge.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            rows[node + 1] += rows[node];
        }
        let mut next = rows.clone();
        let mut targets = vec![0u32; self.edges.len()];
        let mut kinds = vec![Kinds::NONE; self.edges.len()];
        for edge in &self.edges {
            let place = &mut next[edge.from as usize];
            targets[*place as usize] = edge.to;
            kinds[*place as usize] = edge.kinds;
            *place += 1;
        }
        Graph {
            transactions: self.transactions,
            rows,
            targets,
            kinds,
        }
    }
}

/// The graph.
#[derive(Debug)]
pub(crate) struct Graph {
    transactions: u32,
    rows: Vec<u32>,
    targets: Vec<u32>,
    kinds: Vec<Kinds>,
}

impl Graph {
    /// How many nodes there are, joints among them.
    pub(crate) fn nodes(&self) -> u32 {
        self.rows.len() as u32 - 1
    }

    /// How many of the nodes, from 0, are transactions.
    pub(crate) fn transactions(&self) -> u32 {
        self.transactions
    }

    /// Whether a node is a joint.
    pub(crate) fn is_joint(&self, node: u32) -> bool {
        node >= self.transactions
    }

    /// Whether there is no edge at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> u64 {
        4 * self.rows.len() as u64 + 5 * self.targets.len() as u64
    }

    /// The places of a node's edges.
    pub(super) fn row(&self, node: u32) -> Range<u32> {
        self.rows[node as usize]..self.rows[node as usize + 1]
    }

    /// The edge at a place: its target and kinds.
    pub(super) fn at(&self, place: u32) -> (u32, Kinds) {
        (self.targets[place as usize], self.kinds[place as usize])
    }

    /// The edges of a node: targets and kinds.
    pub(crate) fn edges(&self, node: u32) -> impl Iterator<Item = (u32, Kinds)> + '_ {
        self.row(node).map(|place| self.at(place))
    }

    /// All the kinds of edges from one node straight to another.
    pub(crate) fn between(&self, from: u32, to: u32) -> Kinds {
        self.edges(from)
            .filter(|(target, _)| *target == to)
            .fold(Kinds::NONE, |all, (_, kinds)| all.and(kinds))
    }
}
