//! Edges from each of many transactions to each of many others.

use super::cycle::EdgeKind;
use super::graph::GraphBuilder;
use rustc_hash::FxHashMap;

/// Up to so many edges for each node they are drawn one by one: cycles through them read as they are.
const EACH: usize = 16;

/// Adds an edge from each of `from` to each of `to`, but for itself. Where that would be too many, through joints:
/// one for each beginning and one for each end of the row of `to`, so that a transaction of both leaves itself out.
pub(crate) fn fan(from: &[u32], to: &[u32], kind: EdgeKind, graph: &mut GraphBuilder) {
    if from.len().saturating_mul(to.len()) <= EACH * (from.len() + to.len()) {
        for source in from {
            for target in to {
                graph.edge(*source, *target, kind);
            }
        }
        return;
    }
    let up_to = chain(to.iter(), graph);
    let mut down_to = chain(to.iter().rev(), graph);
    down_to.reverse();
    let places: FxHashMap<u32, usize> = to
        .iter()
        .zip(0..)
        .map(|(target, place)| (*target, place))
        .collect();
    for source in from {
        match places.get(source) {
            None => graph.edge(*source, up_to[to.len() - 1], kind),
            Some(place) => {
                if let Some(before) = place.checked_sub(1) {
                    graph.edge(*source, up_to[before], kind);
                }
                if let Some(after) = down_to.get(place + 1) {
                    graph.edge(*source, *after, kind);
                }
            }
        }
    }
}

/// Joints in a row: each leads to one target and to the joint before.
fn chain<'a>(to: impl Iterator<Item = &'a u32>, graph: &mut GraphBuilder) -> Vec<u32> {
    let mut joints: Vec<u32> = Vec::new();
    for target in to {
        let joint = graph.joint();
        if let Some(before) = joints.last() {
            graph.onward(joint, *before);
        }
        graph.onward(joint, *target);
        joints.push(joint);
    }
    joints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::kinds::Kinds;

    #[test]
    fn each_leads_to_each_but_itself_however_many_there_are() {
        for (from, to) in [(3u32, 4u32), (90, 70)] {
            // Some are of both.
            let sources: Vec<u32> = (0..from).collect();
            let targets: Vec<u32> = (from - 2..from - 2 + to).collect();
            let mut builder = GraphBuilder::new(from + to);
            fan(&sources, &targets, EdgeKind::Rw, &mut builder);
            let graph = builder.build();
            for source in sources {
                let mut met: Vec<u32> = graph.edges(source).map(|(target, _)| target).collect();
                let mut next = 0;
                while next < met.len() {
                    if graph.is_joint(met[next]) {
                        let onward: Vec<u32> = graph
                            .edges(met[next])
                            .map(|(target, kinds)| {
                                assert_eq!(kinds, Kinds::ONWARD);
                                target
                            })
                            .collect();
                        met.extend(onward);
                    }
                    next += 1;
                }
                met.retain(|node| !graph.is_joint(*node));
                met.sort_unstable();
                met.dedup();
                let expected: Vec<u32> = targets
                    .iter()
                    .copied()
                    .filter(|target| *target != source)
                    .collect();
                assert_eq!(met, expected);
            }
        }
    }
}
