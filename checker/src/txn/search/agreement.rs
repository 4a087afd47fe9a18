//! The search against a literal one: every simple cycle of a small graph, with every choice of kinds.

use super::*;
use crate::txn::cycle::EdgeKind;
use crate::txn::graph::GraphBuilder;
use crate::txn::kinds::KINDS;
use std::collections::BTreeSet;

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

type Edges = Vec<(u32, u32, EdgeKind)>;

/// All anomalies of all simple cycles.
fn literal(nodes: u32, edges: &Edges) -> BTreeSet<CycleAnomaly> {
    fn go(path: &mut Vec<u32>, kinds: &mut Vec<EdgeKind>, edges: &Edges, all: &mut BTreeSet<CycleAnomaly>) {
        for (from, to, kind) in edges {
            if from != path.last().unwrap() {
                continue;
            }
            kinds.push(*kind);
            if to == &path[0] {
                all.insert(CycleAnomaly::of(kinds));
            } else if *to > path[0] && !path.contains(to) {
                path.push(*to);
                go(path, kinds, edges, all);
                path.pop();
            }
            kinds.pop();
        }
    }
    let mut all = BTreeSet::new();
    for start in 0..nodes {
        go(&mut vec![start], &mut Vec::new(), edges, &mut all);
    }
    all
}

fn searched(nodes: u32, edges: &Edges) -> Vec<Found> {
    let mut builder = GraphBuilder::new(nodes);
    for (from, to, kind) in edges {
        builder.edge(*from, *to, *kind);
    }
    let clocks = [Clock::None, Clock::Process, Clock::Realtime];
    let search = search(
        &builder.build(),
        &clocks,
        &Orders::default(),
        &Budget::unlimited(),
    );
    assert_eq!((search.cut_short, search.spent), (0, None));
    search.found
}

fn holds(nodes: u32, edges: &Edges) {
    let all = literal(nodes, edges);
    let found = searched(nodes, edges);
    for one in &found {
        assert_eq!(CycleAnomaly::of(&one.ring.kinds()), one.anomaly);
        assert!(all.contains(&one.anomaly), "{one:?} of {edges:?}");
        for (place, hop) in one.ring.hops.iter().enumerate() {
            let to = one.ring.hops[(place + 1) % one.ring.hops.len()].from;
            assert!(edges.contains(&(hop.from, to, hop.kind)), "{one:?} of {edges:?}");
        }
    }
    for anomaly in all {
        let told = found.iter().any(|one| one.anomaly.implies(anomaly));
        // A cycle of dependencies rules out whatever one without rw after rw, or with, would.
        let ruled_out = anomaly.class >= Class::GNonadjacent
            && found
                .iter()
                .any(|one| one.anomaly.class <= Class::G1c && one.anomaly.clock <= anomaly.clock);
        assert!(told || ruled_out, "{anomaly:?} of {edges:?}: {found:?}");
    }
}

#[test]
fn agrees_with_a_literal_search() {
    let mut state = 7;
    for round in 0..6000 {
        let nodes = 2 + next(&mut state) as u32 % 5;
        let count = 1 + next(&mut state) % 9;
        let kinds = if round % 2 == 0 { &KINDS[..3] } else { &KINDS[..] };
        let edges: Edges = (0..count)
            .map(|_| {
                let from = next(&mut state) as u32 % nodes;
                let to = (from + 1 + next(&mut state) as u32 % (nodes - 1)) % nodes;
                let kind = kinds[next(&mut state) as usize % kinds.len()];
                // Orders that were seen have no cycles.
                if CycleAnomaly::is_clock(kind) {
                    (from.min(to), from.max(to), kind)
                } else {
                    (from, to, kind)
                }
            })
            .collect();
        holds(nodes, &edges);
    }
}

#[test]
fn a_ring_of_a_million_is_found_without_overflow() {
    let nodes = 1_000_000;
    let edges: Edges = (0..nodes)
        .map(|node| {
            (
                node,
                (node + 1) % nodes,
                if node == 0 { EdgeKind::Rw } else { EdgeKind::Ww },
            )
        })
        .collect();
    let found = searched(nodes, &edges);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].anomaly.name(true), "G-single-item");
    assert_eq!(found[0].ring.hops.len(), nodes as usize);
}
