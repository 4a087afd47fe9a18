//! A cycle of operations in words, and drawn.

use super::Cycles;
use crate::Example;
use crate::log::foreign::transfers::Record;
use crate::txn::cycle::{Cycle, Edge, EdgeKind, Node, Step};
use crate::txn::picture;
use crate::txn::search::Ring;

/// What tells of cycles.
pub(super) struct Words<'a> {
    pub cycles: &'a Cycles<'a>,
}

impl Words<'_> {
    /// A cycle as an example.
    pub fn example(&self, ring: &Ring) -> Example {
        let steps: Vec<Step> = ring
            .hops
            .iter()
            .enumerate()
            .map(|(place, hop)| {
                let to = ring.hops[(place + 1) % ring.hops.len()].from;
                Step {
                    node: self.node(hop.from),
                    edge: Edge {
                        kind: hop.kind,
                        reason: self.reason(hop.from, to, hop.kind),
                    },
                }
            })
            .collect();
        let mut operations: Vec<u64> = steps.iter().map(|step| step.node.index).collect();
        operations.sort_unstable();
        operations.dedup();
        let lines: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(place, step)| {
                let to = steps[(place + 1) % steps.len()].node.index;
                format!(
                    "operation {} comes before operation {to}: {}",
                    step.node.index, step.edge.reason
                )
            })
            .collect();
        let text = format!(
            "{}\nEach comes before the next, and the last before the first: a contradiction",
            lines.join("\n")
        );
        let picture = picture::draw(&Cycle { steps });
        Example {
            operations,
            text,
            picture: Some(picture),
        }
    }

    fn node(&self, op: u32) -> Node {
        let mut parts = Vec::new();
        for partition in &self.cycles.transfers.partitions {
            for (records, what) in [(&partition.sends, "send"), (&partition.polls, "poll")] {
                let mine = of(records, op);
                if let (Some(first), Some(last)) = (mine.first(), mine.last()) {
                    let values = match mine.len() {
                        1 => first.value.to_string(),
                        2 => format!("{} {}", first.value, last.value),
                        count => format!("{} ... {} ({count})", first.value, last.value),
                    };
                    parts.push(format!("{what} {}: {values}", partition.name));
                }
            }
        }
        Node {
            index: self.cycles.op(op).done(),
            text: parts.join(", "),
        }
    }

    /// Why one operation comes before another.
    fn reason(&self, from: u32, to: u32, kind: EdgeKind) -> String {
        match kind {
            EdgeKind::Process => return "the same process did it earlier".to_owned(),
            EdgeKind::Realtime => return "it had completed when the other was begun".to_owned(),
            EdgeKind::Ww | EdgeKind::Wr | EdgeKind::Rw => {}
        }
        let partitions = self.cycles.transfers.partitions.iter().zip(self.cycles.versions);
        let mut reasons = partitions.filter_map(|(partition, versions)| {
            let (name, index) = (&partition.name, |record: &Record| versions.index_of(record));
            let (sent, polled) = (of(&partition.sends, from), of(&partition.polls, from));
            let (other_sent, other_polled) = (of(&partition.sends, to), of(&partition.polls, to));
            match kind {
                EdgeKind::Wr => {
                    let met = |record: &&Record| other_polled.iter().any(|poll| poll.value == record.value);
                    let value = sent.iter().find(met)?.value;
                    Some(format!("it sent value {value} to partition {name}, and the other polled that"))
                }
                EdgeKind::Ww => sent.iter().find_map(|one| {
                    let next = index(one)? + 1;
                    let other = other_sent.iter().find(|other| index(other) == Some(next))?;
                    let (one, other) = (one.value, other.value);
                    Some(format!("its value {one} of partition {name} stands right before the other's {other}"))
                }),
                _ => {
                    let reached = polled.iter().max_by_key(|poll| index(poll))?;
                    let behind = other_sent.iter().filter(|send| index(send) > index(reached)).min_by_key(|send| index(send))?;
                    let (reached, behind) = (reached.value, behind.value);
                    Some(format!(
                        "it polled partition {name} up to value {reached}, and the other sent {behind}, which stands behind that"
                    ))
                }
            }
        });
        reasons.next().unwrap_or_default()
    }
}

/// The records of one operation.
fn of(records: &[Record], op: u32) -> &[Record] {
    let rest = &records[records.partition_point(|record| record.op < op)..];
    &rest[..rest.partition_point(|record| record.op == op)]
}
