//! Strongly connected components (Tarjan, 1972), by a stack of our own: a component of a million nodes overflows
//! nothing.

use super::graph::Graph;
use super::kinds::Kinds;

/// The components of a graph, or of a projection of it to some kinds of edges.
#[derive(Debug)]
pub(crate) struct Components {
    /// For each node, the number of its component. Numbers fall along edges: an edge that leaves a component leads
    /// to one of a lower number.
    pub(crate) of: Vec<u32>,
    /// The components of more than one node.
    pub(crate) cyclic: Vec<Vec<u32>>,
}

/// Of a node whose component is not known yet.
const OPEN: u32 = u32::MAX;

/// A node on the path of the search.
struct Frame {
    node: u32,
    /// The place of the next edge to look at.
    next: u32,
    /// When it was met, counted from 1.
    met: u32,
}

/// The search while it runs.
struct Search<'a> {
    graph: &'a Graph,
    kinds: Kinds,
    /// For each node the earliest node on the stack that it reaches, as met; 0 where it was not met, [`OPEN`] where
    /// its component is done.
    low: Vec<u32>,
    met: u32,
    stack: Vec<u32>,
    path: Vec<Frame>,
    found: Components,
    numbers: u32,
}

/// The components of what is left of a graph with edges of some kinds alone. [`Kinds::ONWARD`] is always among them.
pub(crate) fn components(graph: &Graph, kinds: Kinds) -> Components {
    let nodes = graph.nodes();
    let mut search = Search {
        graph,
        kinds: kinds.and(Kinds::ONWARD),
        low: vec![0; nodes as usize],
        met: 0,
        stack: Vec::new(),
        path: Vec::new(),
        found: Components {
            of: vec![OPEN; nodes as usize],
            cyclic: Vec::new(),
        },
        numbers: 0,
    };
    for root in 0..nodes {
        if search.low[root as usize] == 0 {
            search.meet(root);
            while search.step() {}
        }
    }
    search.found
}

impl Search<'_> {
    /// Enters a node.
    fn meet(&mut self, node: u32) {
        self.met += 1;
        self.low[node as usize] = self.met;
        self.stack.push(node);
        self.path.push(Frame {
            node,
            next: self.graph.row(node).start,
            met: self.met,
        });
    }

    /// Looks at one edge, or leaves a node. False where the path is empty.
    fn step(&mut self) -> bool {
        let Some(top) = self.path.last_mut() else {
            return false;
        };
        let node = top.node;
        if top.next < self.graph.row(node).end {
            let (target, kinds) = self.graph.at(top.next);
            top.next += 1;
            if kinds.meets(self.kinds) {
                let low = self.low[target as usize];
                if low == 0 {
                    self.meet(target);
                } else if low < self.low[node as usize] {
                    self.low[node as usize] = low;
                }
            }
            return true;
        }
        let (met, low) = (top.met, self.low[node as usize]);
        self.path.pop();
        if low == met {
            self.close(node);
        } else if let Some(parent) = self.path.last() {
            let parent = parent.node as usize;
            self.low[parent] = self.low[parent].min(low);
        }
        true
    }

    /// Takes a whole component, of which a node is the first that was met, off the stack.
    fn close(&mut self, first: u32) {
        // The node itself is on the stack: it was put there when it was met.
        let from = self.stack.iter().rposition(|node| *node == first).unwrap_or(0);
        for node in &self.stack[from..] {
            self.low[*node as usize] = OPEN;
            self.found.of[*node as usize] = self.numbers;
        }
        if self.stack.len() - from > 1 {
            self.found.cyclic.push(self.stack[from..].to_vec());
        }
        self.stack.truncate(from);
        self.numbers += 1;
    }
}
