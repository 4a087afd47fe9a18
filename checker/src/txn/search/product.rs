//! Cycles in which no rw follows on another: the cycles of a product graph, whose nodes are a node and whether the
//! edge into it was an rw.

use super::Ring;
use super::walk::{Walk, shortest};
use crate::txn::cycle::EdgeKind;
use crate::txn::graph::{Graph, GraphBuilder};
use crate::txn::kinds::Kinds;
use crate::txn::scc::components;

/// The product.
pub(super) struct Product<'a> {
    graph: &'a Graph,
    product: Graph,
}

/// The node of the product for a node that was come to by an rw, or not.
fn state(node: u32, by_rw: bool) -> u32 {
    2 * node + u32::from(by_rw)
}

impl Product<'_> {
    /// The product over edges of some kinds, and rw.
    pub(super) fn new(graph: &Graph, dependencies: Kinds) -> Product<'_> {
        let mut builder = GraphBuilder::new(2 * graph.nodes());
        for node in 0..graph.nodes() {
            for (target, kinds) in graph.edges(node) {
                for by_rw in [false, true] {
                    let from = state(node, by_rw);
                    if kinds.meets(dependencies) {
                        builder.push(from, state(target, false), kinds.within(dependencies));
                    }
                    if kinds.meets(Kinds::ONWARD) {
                        builder.push(from, state(target, by_rw), Kinds::ONWARD);
                    }
                }
                if kinds.meets(Kinds::RW) {
                    builder.edge(state(node, false), state(target, true), EdgeKind::Rw);
                }
            }
        }
        Product {
            graph,
            product: builder.build(),
        }
    }

    /// Whether it has a cycle.
    pub(super) fn has_cycle(&self, kinds: Kinds) -> bool {
        !components(&self.product, kinds.and(Kinds::RW)).cyclic.is_empty()
    }

    /// A short cycle in which no rw follows on another, and one rw at least is, where such a one is found.
    pub(super) fn shortest(&self, kinds: Kinds) -> Option<Ring> {
        let walk = shortest(&self.product, kinds.and(Kinds::RW), Kinds::RW)?;
        let walk: Walk = walk.iter().map(|(state, kind)| (state / 2, *kind)).collect();
        Ring::from_walk(self.graph, &walk)
    }
}
