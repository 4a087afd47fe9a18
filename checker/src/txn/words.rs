//! A cycle in words, and ready to be drawn.

use super::cycle::{Cycle, Edge, EdgeKind, Node, Step};
use super::picture;
use super::search::Ring;
use super::store::Store;
use crate::Example;
use std::fmt::Write;

/// Tells why one transaction comes before another.
pub(super) trait Explain {
    /// The reason for an edge that data prove, with the names that the two go by; none where there is no such edge.
    fn reason(&self, from: (u32, &str), to: (u32, &str), kind: EdgeKind) -> Option<String>;
}

/// Transactions of a cycle that are told; more do not help anyone to read it.
const TOLD: usize = 16;

/// A cycle, explained.
pub(super) fn tell(store: &Store, explain: &impl Explain, ring: &Ring) -> Example {
    let cycle = told(store, explain, ring);
    let mut operations: Vec<u64> = ring
        .hops
        .iter()
        .take(PROOF)
        .map(|hop| store.transactions[hop.from as usize].index)
        .collect();
    operations.sort_unstable();
    Example {
        operations,
        text: text(&cycle),
        picture: Some(picture::draw(&cycle)),
    }
}

/// Entries that are named as the proof of one cycle.
const PROOF: usize = 1000;

fn told(store: &Store, explain: &impl Explain, ring: &Ring) -> Cycle {
    let count = ring.hops.len();
    let steps = ring.hops.iter().enumerate().take(PROOF).map(|(place, hop)| {
        let next = (place + 1) % count;
        let (from, to) = (format!("T{}", place + 1), format!("T{}", next + 1));
        let transaction = store.transactions[hop.from as usize];
        Step {
            node: Node {
                index: transaction.index,
                text: format!(
                    "{from} = process {}: {}",
                    transaction.process,
                    store.text(hop.from)
                ),
            },
            edge: Edge {
                kind: hop.kind,
                reason: reason(explain, (hop.from, &from), (ring.hops[next].from, &to), hop.kind),
            },
        }
    });
    Cycle {
        steps: steps.collect(),
    }
}

fn reason(explain: &impl Explain, from: (u32, &str), to: (u32, &str), kind: EdgeKind) -> String {
    match kind {
        EdgeKind::Realtime => format!("{} had ended when {} began", from.1, to.1),
        EdgeKind::Process => format!("the same process did {} before {}", from.1, to.1),
        EdgeKind::Ww | EdgeKind::Wr | EdgeKind::Rw => explain
            .reason(from, to, kind)
            .unwrap_or_else(|| format!("of a {} dependency", kind.text())),
    }
}

/// "Let T1 be ... T1 precedes T2, because ...; however, T2 precedes T1, because ...: a contradiction."
fn text(cycle: &Cycle) -> String {
    let mut text = String::from("Let\n");
    let count = cycle.steps.len();
    // Writing to a text cannot fail.
    for step in cycle.steps.iter().take(TOLD) {
        let _ = writeln!(text, "  {} (entry {})", step.node.text, step.node.index);
    }
    if count > TOLD {
        let _ = writeln!(text, "  and {} more", count - TOLD);
    }
    text.push_str("Then\n");
    for (place, step) in cycle.steps.iter().enumerate() {
        let next = (place + 1) % count;
        let last = next == 0;
        if place >= TOLD && !last {
            continue;
        }
        let however = if last { "however, " } else { "" };
        let end = if last { ": a contradiction" } else { "," };
        let _ = writeln!(
            text,
            "  {however}T{} precedes T{} ({}), because {}{end}",
            place + 1,
            next + 1,
            step.edge.kind.text(),
            step.edge.reason
        );
    }
    text.truncate(text.trim_end().len());
    text
}
