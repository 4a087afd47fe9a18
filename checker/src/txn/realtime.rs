//! The order that clients saw: of real time, by transitive reduction, and of each process.
//!
//! Of real time, a buffer holds the transactions that ended and are not known to precede another that ended. One that
//! begins comes after each of them; one that ends drops from the buffer what precedes it, then joins it. Where many
//! run at once the buffer is long; past a limit its members meet in a joint, which takes their place, so that edges
//! stay linear in number.

use super::cycle::EdgeKind;
use super::graph::GraphBuilder;
use rustc_hash::FxHashMap;

/// When a transaction began and ended, by the history's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Its node.
    pub(crate) node: u32,
    /// The place of its invocation.
    pub(crate) began: u64,
    /// The place of its completion; none where it may take effect at any later time.
    pub(crate) ended: Option<u64>,
}

/// Something that ended, in the buffer.
struct Ended {
    node: u32,
    at: u64,
}

/// How many predecessors one transaction has at most before a joint is made.
pub(super) const MANY: usize = 16;

/// Adds edges of real time. `limit` is how many a transaction takes before a joint is made; 0 for fewest edges,
/// [`MANY`] for edges between transactions themselves wherever that is bearable.
pub(crate) fn realtime(spans: &[Span], limit: usize, graph: &mut GraphBuilder) {
    // Each place of a history is one entry: no two of these are equal.
    let mut events: Vec<(u64, bool, u32)> = Vec::with_capacity(2 * spans.len());
    for (which, span) in spans.iter().enumerate() {
        events.push((span.began, false, which as u32));
        if let Some(at) = span.ended {
            events.push((at, true, which as u32));
        }
    }
    events.sort_unstable();
    let mut buffer: Vec<Ended> = Vec::new();
    for (at, ends, which) in events {
        let Span { node, began, .. } = spans[which as usize];
        if ends {
            buffer.retain(|ended| ended.at > began);
            buffer.push(Ended { node, at });
            continue;
        }
        if buffer.len() > limit.max(1) || (limit == 0 && buffer.iter().any(|ended| !is_joint(ended, graph))) {
            let joint = graph.joint();
            for ended in buffer.drain(..) {
                precede(graph, ended.node, joint);
            }
            buffer.push(Ended { node: joint, at });
        }
        for ended in &buffer {
            precede(graph, ended.node, node);
        }
    }
}

fn is_joint(ended: &Ended, graph: &GraphBuilder) -> bool {
    graph.is_joint(ended.node)
}

/// One comes before the other in real time.
fn precede(graph: &mut GraphBuilder, from: u32, to: u32) {
    if graph.is_joint(from) {
        graph.onward(from, to);
    } else {
        graph.edge(from, to, EdgeKind::Realtime);
    }
}

/// A transaction of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// Its node.
    pub(super) node: u32,
    /// Its process.
    pub(super) process: u64,
    /// Whether it committed. Nothing follows on what did not, or may not have.
    pub(super) committed: bool,
}

/// Adds edges from each transaction to the next of the same process. Those given are in the order of their invocations.
pub(super) fn process(turns: impl Iterator<Item = Turn>, graph: &mut GraphBuilder) {
    let mut last: FxHashMap<u64, u32> = FxHashMap::default();
    for Turn {
        node,
        process,
        committed,
    } in turns
    {
        if let Some(before) = last.get(&process) {
            graph.edge(*before, node, EdgeKind::Process);
        }
        if committed {
            last.insert(process, node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ends: &[(u64, Option<u64>)]) -> Vec<Span> {
        (0u32..)
            .zip(ends)
            .map(|(node, (began, ended))| Span {
                node,
                began: *began,
                ended: *ended,
            })
            .collect()
    }

    fn reaches(spans: &[Span], limit: usize, from: u32, to: u32) -> bool {
        let mut builder = GraphBuilder::new(spans.len() as u32);
        realtime(spans, limit, &mut builder);
        let graph = builder.build();
        let (mut met, mut next) = (vec![from], 0);
        while next < met.len() {
            for (target, _) in graph.edges(met[next]) {
                if !met.contains(&target) {
                    met.push(target);
                }
            }
            next += 1;
        }
        met[1..].contains(&to)
    }

    #[test]
    fn edges_lead_from_what_ended_to_what_began_later_and_nowhere_else() {
        let spans = spans(&[
            (0, Some(2)),
            (1, Some(4)),
            (3, Some(6)),
            (5, None),
            (7, Some(9)),
            (8, Some(10)),
            (11, Some(12)),
        ]);
        for limit in [0, 1, 2, MANY] {
            for one in &spans {
                for other in &spans {
                    let precedes = one.ended.is_some_and(|ended| ended < other.began);
                    assert_eq!(
                        reaches(&spans, limit, one.node, other.node),
                        precedes,
                        "{one:?} {other:?} {limit}"
                    );
                }
            }
        }
    }

    #[test]
    fn edges_stay_linear_where_a_thousand_run_at_once() {
        let rounds: Vec<(u64, Option<u64>)> = (0..10_000u64)
            .map(|which| {
                let (round, place) = (which / 1000 * 2000, which % 1000);
                (round + place, Some(round + 1000 + place))
            })
            .collect();
        let mut builder = GraphBuilder::new(10_000);
        realtime(&spans(&rounds), MANY, &mut builder);
        let bytes = builder.build().bytes();
        assert!(bytes < 5 * 10_000 * (MANY as u64 + 4), "{bytes}");
    }
}
