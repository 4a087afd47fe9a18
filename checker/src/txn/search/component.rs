//! One component by itself, with nodes numbered from 0.

use super::{Found, Ring};
use crate::txn::anomaly::CycleAnomaly;
use crate::txn::graph::{Graph, GraphBuilder};
use crate::txn::kinds::Kinds;
use crate::txn::realtime::{self, MANY, Span};
use rustc_hash::FxHashMap;

/// The orders that clients saw. They are added to each component anew, so that its edges of real time lie between
/// members; in the graph as a whole any edges that reach the same will do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Orders<'a> {
    /// For each transaction when it began and ended; none where real time is not looked at.
    pub(crate) realtime: Option<&'a [Span]>,
}

/// A component.
#[derive(Debug)]
pub(crate) struct Component {
    /// Its edges, each pair of nodes once.
    pub(super) graph: Graph,
    /// For each of its transactions the node in the whole graph.
    names: Vec<u32>,
}

impl Component {
    /// The component of some nodes.
    pub(super) fn new(whole: &Graph, members: &[u32], orders: &Orders<'_>) -> Component {
        let mut names: Vec<u32> = members.to_vec();
        // Transactions first, in their order; then joints.
        names.sort_unstable();
        let transactions = names.partition_point(|node| !whole.is_joint(*node));
        let places: FxHashMap<u32, u32> = names
            .iter()
            .zip(0u32..)
            .map(|(node, place)| (*node, place))
            .collect();
        let mut builder = GraphBuilder::new(transactions as u32);
        for _ in transactions..names.len() {
            builder.joint();
        }
        for (from, node) in (0u32..).zip(&names) {
            row(whole, *node, from, &places, orders, &mut builder);
        }
        if let Some(spans) = orders.realtime {
            let spans: Vec<Span> = names[..transactions]
                .iter()
                .zip(0u32..)
                .filter_map(|(node, place)| {
                    spans
                        .get(*node as usize)
                        .map(|span| Span { node: place, ..*span })
                })
                .collect();
            realtime::realtime(&spans, MANY, &mut builder);
        }
        Component {
            graph: builder.build_merged(),
            names,
        }
    }

    /// How many bytes it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.graph.bytes() + 4 * self.names.len() as u64
    }

    /// A cycle of it, as one of the whole graph.
    pub(super) fn found(&self, ring: Option<Ring>) -> Option<Found> {
        let ring = ring?;
        let anomaly = CycleAnomaly::of(&ring.kinds());
        let mut by_data = ring.clone();
        for place in 0..by_data.hops.len() {
            let from = by_data.hops[place].from;
            let to = by_data.hops[(place + 1) % by_data.hops.len()].from;
            let data = self.graph.between(from, to).within(Kinds::DATA);
            if let (true, Some(kind)) = (CycleAnomaly::is_clock(by_data.hops[place].kind), data.first()) {
                by_data.hops[place].kind = kind;
            }
        }
        let other = CycleAnomaly::of(&by_data.kinds());
        Some(Found {
            anomaly,
            ring: self.named(ring),
            by_data: (other != anomaly).then(|| (other, self.named(by_data))),
        })
    }

    fn named(&self, mut ring: Ring) -> Ring {
        for hop in &mut ring.hops {
            hop.from = self.names[hop.from as usize];
        }
        ring
    }
}

/// Adds a node's edges to other members. Edges of real time are made anew.
fn row(
    whole: &Graph,
    node: u32,
    from: u32,
    places: &FxHashMap<u32, u32>,
    orders: &Orders<'_>,
    builder: &mut GraphBuilder,
) {
    let anew = if orders.realtime.is_some() {
        Kinds::of(crate::txn::cycle::EdgeKind::Realtime)
    } else {
        Kinds::NONE
    };
    for (target, kinds) in whole.edges(node) {
        if let (Some(to), false) = (places.get(&target), kinds.meets(anew)) {
            builder.push(from, *to, kinds);
        }
    }
}
