//! Cycles in the order of transactions.
//!
//! In each strongly connected component a short cycle by breadth-first search.

use super::history::Txn;
use crate::txn::cycle::EdgeKind;
use crate::txn::graph::GraphBuilder;
use crate::txn::kinds::Kinds;
use crate::txn::scc::components;
use std::collections::VecDeque;

/// How many cycles are looked for: as many as a finding shows.
const CYCLES: usize = crate::Finding::EXAMPLES;
/// From how many nodes of a component a short cycle is looked for.
const STARTS: usize = 16;

/// Why something comes before something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It is earlier in its session.
    Session,
    /// What it wrote to the key was read.
    Read { key: u32 },
    /// Both wrote the key; the reader saw the first one, yet read what the second one wrote: so that was later.
    Overwritten { key: u32, reader: Txn },
    /// It read what the writer wrote to the key, and the other overwrote that.
    Before { key: u32, writer: Txn },
    /// Both wrote the key, and the second was not over before the first began: so it began after it.
    Conflict { key: u32 },
    /// Both wrote the key, and one of the two orders was tried.
    Tried { key: u32 },
}

/// An edge between nodes: transactions, or their beginnings and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) why: Why,
}

/// Edges by the node that they leave, in one row after another.
pub(super) struct Rows {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Rows {
    pub(super) fn new(nodes: usize, edges: &[Edge]) -> Rows {
        let mut starts = vec![0u32; nodes + 1];
        for edge in edges {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0u32; edges.len()];
        for (place, edge) in edges.iter().enumerate() {
            let slot = &mut next[edge.from as usize];
            sorted[*slot as usize] = place as u32;
            *slot += 1;
        }
        Rows {
            starts,
            edges: sorted,
        }
    }

    /// The places of the edges that leave a node.
    pub(super) fn leaving(&self, node: u32) -> &[u32] {
        &self.edges[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// Nodes in an order that all edges agree with; fewer than all where there is a cycle.
pub(super) fn topological(nodes: usize, edges: &[Edge], rows: &Rows) -> Vec<u32> {
    let mut entering = vec![0u32; nodes];
    for edge in edges {
        entering[edge.to as usize] += 1;
    }
    let mut order: Vec<u32> = (0..nodes as u32)
        .filter(|node| entering[*node as usize] == 0)
        .collect();
    let mut done = 0;
    while let Some(node) = order.get(done).copied() {
        done += 1;
        for place in rows.leaving(node) {
            let to = edges[*place as usize].to;
            entering[to as usize] -= 1;
            if entering[to as usize] == 0 {
                order.push(to);
            }
        }
    }
    order
}

/// The cycles of a graph.
#[derive(Debug, Default)]
pub(super) struct Cycles {
    /// How many components have one.
    pub(super) components: u64,
    /// A short one of each of the first components.
    pub(super) short: Vec<Vec<Edge>>,
}

/// Finds cycles.
pub(super) fn cycles(nodes: usize, edges: &[Edge]) -> Cycles {
    let rows = Rows::new(nodes, edges);
    if topological(nodes, edges, &rows).len() == nodes {
        return Cycles::default();
    }
    let mut graph = GraphBuilder::new(nodes as u32);
    for edge in edges {
        // The kinds matter to nobody here: all edges are of one.
        graph.edge(edge.from, edge.to, EdgeKind::Ww);
    }
    let components = components(&graph.build(), Kinds::of(EdgeKind::Ww));
    let mut found = Cycles {
        components: components.cyclic.len() as u64,
        short: Vec::new(),
    };
    for group in components.cyclic.iter().take(CYCLES) {
        let within = |node: u32| components.of[node as usize] == components.of[group[0] as usize];
        let starts = group.iter().step_by(group.len().div_ceil(STARTS));
        let shortest = starts.filter_map(|start| path(*start, *start, edges, &rows, &within));
        found.short.extend(shortest.min_by_key(Vec::len));
    }
    found
}

/// A shortest path of at least one edge between two nodes, through nodes that `within` allows.
pub(super) fn path(
    from: u32,
    to: u32,
    edges: &[Edge],
    rows: &Rows,
    within: &impl Fn(u32) -> bool,
) -> Option<Vec<Edge>> {
    let mut reached: hashbrown::HashMap<u32, u32, rustc_hash::FxBuildHasher> = hashbrown::HashMap::default();
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for place in rows.leaving(node) {
            let next = edges[*place as usize].to;
            if !within(next) || reached.contains_key(&next) {
                continue;
            }
            reached.insert(next, *place);
            if next == to {
                return Some(back(from, to, edges, &reached));
            }
            queue.push_back(next);
        }
    }
    None
}

fn back(
    from: u32,
    to: u32,
    edges: &[Edge],
    reached: &hashbrown::HashMap<u32, u32, rustc_hash::FxBuildHasher>,
) -> Vec<Edge> {
    let mut steps = Vec::new();
    let mut node = to;
    while let Some(place) = reached.get(&node) {
        let edge = edges[*place as usize];
        steps.push(edge);
        node = edge.from;
        if node == from {
            break;
        }
    }
    steps.reverse();
    steps
}
