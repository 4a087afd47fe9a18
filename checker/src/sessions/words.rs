//! Cycles of transactions in words.

use super::clocks::Points;
use super::graph::{Edge, Why};
use super::history::{INITIAL, Sessions, Txn};
use super::parse::{Event, Parsed, Transaction};
use super::reads::{Misread, MisreadKind};
use crate::Example;
use crate::txn::cycle::{Cycle, Edge as Drawn, EdgeKind, Node, Step};
use crate::txn::picture::draw;
use std::fmt::Write;

/// Reads and writes of a transaction that are shown.
const EVENTS: usize = 12;
/// Steps of a cycle that are told.
const STEPS: usize = 24;

/// What explains things needs to know.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) parsed: &'a Parsed,
    pub(super) sessions: &'a Sessions,
}

/// A cycle of orders between transactions, and what it is called where it has a name of its own.
#[derive(Clone, Debug)]
pub(super) struct Proof {
    pub(super) name: Option<&'static str>,
    pub(super) edges: Vec<Edge>,
}

/// A cycle of points as one of transactions: what is within a transaction is left out, and a walk along a session is
/// one step.
pub(super) fn proof(points: Points<'_>, cycle: &[Edge]) -> Proof {
    let mut edges: Vec<Edge> = Vec::new();
    let of_txns = cycle.iter().map(|edge| Edge {
        from: points.txn(edge.from),
        to: points.txn(edge.to),
        why: edge.why,
    });
    for edge in of_txns.filter(|edge| edge.from != edge.to) {
        match edges.last_mut() {
            Some(last) if last.why == Why::Session && edge.why == Why::Session => last.to = edge.to,
            _ => edges.push(edge),
        }
    }
    if let [first, .., last] = edges.as_slice()
        && first.why == Why::Session
        && last.why == Why::Session
    {
        let from = last.from;
        edges.pop();
        edges[0].from = from;
    }
    Proof {
        name: name(&edges),
        edges,
    }
}

/// The name of a cycle's shape.
fn name(edges: &[Edge]) -> Option<&'static str> {
    let is_before = |edge: &Edge| matches!(edge.why, Why::Before { .. });
    let befores: Vec<usize> = (0..edges.len())
        .filter(|place| is_before(&edges[*place]))
        .collect();
    let seen = |edge: &Edge| matches!(edge.why, Why::Read { .. } | Why::Session);
    match (edges, befores.as_slice()) {
        ([a, b], [_, _]) => match (a.why, b.why) {
            (Why::Before { key, .. }, Why::Before { key: other, .. }) if key != other => Some("write-skew"),
            _ => None,
        },
        ([a, b], []) => match (a.why, b.why) {
            (
                Why::Overwritten { reader, key },
                Why::Overwritten {
                    reader: same,
                    key: other,
                },
            ) if reader == same && key == other => Some("non-repeatable-read"),
            _ => None,
        },
        ([a, b], [_]) if matches!(a.why, Why::Read { .. }) || matches!(b.why, Why::Read { .. }) => {
            Some("fractured-read")
        }
        (all, []) if all.iter().all(seen) => Some("causality-cycle"),
        (all, [first, second])
            if all.len() > 3
                && second - first > 1
                && first + all.len() - second > 1
                && all.iter().all(|edge| seen(edge) || is_before(edge)) =>
        {
            Some("long-fork")
        }
        _ => None,
    }
}

impl Words<'_> {
    /// A cycle, told and drawn.
    pub(super) fn cycle(self, proof: &Proof) -> Example {
        let edges = &proof.edges;
        let mut operations: Vec<u64> = edges.iter().map(|edge| self.index(edge.from)).collect();
        operations.extend(edges.iter().filter_map(|edge| match edge.why {
            Why::Overwritten { reader, .. } => Some(self.index(reader)),
            _ => None,
        }));
        operations.sort_unstable();
        operations.dedup();
        Example {
            operations,
            text: self.told(edges),
            picture: Some(draw(&self.drawn(edges))),
        }
    }

    fn told(self, edges: &[Edge]) -> String {
        let mut text = String::new();
        for (number, edge) in edges.iter().enumerate().take(STEPS) {
            put(
                &mut text,
                format_args!(
                    "T{} is operation {}: {}\n",
                    number + 1,
                    self.index(edge.from),
                    self.txn(edge.from)
                ),
            );
        }
        let last = edges.len().saturating_sub(1);
        for (number, edge) in edges.iter().enumerate() {
            if number >= STEPS && number != last {
                continue;
            }
            if number == last && last > STEPS {
                put(
                    &mut text,
                    format_args!("... and {} more steps ...\n", last - STEPS),
                );
            }
            let (from, to) = (number + 1, if number == last { 1 } else { number + 2 });
            let however = if number == last { "However, " } else { "" };
            put(
                &mut text,
                format_args!(
                    "{however}T{from} comes before T{to}, because {}",
                    self.because(edge)
                ),
            );
            text.push_str(if number == last {
                ": a contradiction."
            } else {
                ".\n"
            });
        }
        text
    }

    fn drawn(self, edges: &[Edge]) -> Cycle {
        let step = |edge: &Edge| Step {
            node: Node {
                index: self.index(edge.from),
                text: self.txn(edge.from),
            },
            edge: Drawn {
                kind: match edge.why {
                    Why::Session => EdgeKind::Process,
                    Why::Read { .. } => EdgeKind::Wr,
                    Why::Before { .. } => EdgeKind::Rw,
                    Why::Overwritten { .. } | Why::Conflict { .. } | Why::Tried { .. } => EdgeKind::Ww,
                },
                reason: self.because(edge),
            },
        };
        Cycle {
            steps: edges.iter().map(step).collect(),
        }
    }

    fn because(self, edge: &Edge) -> String {
        let (from, to) = (self.index(edge.from), self.index(edge.to));
        match edge.why {
            Why::Session => format!("one session did {from} before {to}"),
            Why::Read { key } => format!("{to} read {}, which {from} wrote", self.version(edge.from, key)),
            Why::Overwritten { key, reader } => format!(
                "{} saw {from}, which wrote {}, and yet read {}, which {to} wrote: so that is newer",
                self.index(reader),
                self.version(edge.from, key),
                self.version(edge.to, key)
            ),
            Why::Before { key, writer: INITIAL } => format!(
                "{from} read {} as it was at first, and {to} wrote {}",
                self.key(key),
                self.version(edge.to, key)
            ),
            Why::Before { key, writer } => format!(
                "{from} read {}, which {to} overwrote with {}",
                self.version(writer, key),
                self.version(edge.to, key)
            ),
            Why::Conflict { key } => format!(
                "both wrote {}, and {to} was not over when {from} began: so it began when {from} was over",
                self.key(key)
            ),
            Why::Tried { key } => format!("one of two writers of {} is the first", self.key(key)),
        }
    }

    /// A read that is wrong by itself.
    pub(super) fn misread(self, misread: &Misread) -> Example {
        let reader = &self.parsed.transactions[misread.reader];
        let writer = misread.writer.map(|place| &self.parsed.transactions[place]);
        let what = format!(
            "{} = {}",
            self.key(misread.event.key),
            self.value(misread.event.value)
        );
        let whose = writer.map_or_else(String::new, |writer| format!("operation {}", writer.index));
        let wrong = match misread.kind {
            MisreadKind::ThinAir => "which nobody ever wrote".to_owned(),
            MisreadKind::Aborted => format!("which only {whose} wrote, and that was aborted (G1a)"),
            MisreadKind::Intermediate => {
                format!("which {whose} wrote and then overwrote itself: no other may see it (G1b)")
            }
            MisreadKind::Internal => "although it had itself written another value before".to_owned(),
            MisreadKind::Future => "which it wrote itself, but later".to_owned(),
        };
        let shown = match misread.kind {
            MisreadKind::Aborted | MisreadKind::Intermediate => writer,
            _ => None,
        };
        let mut operations = vec![reader.index];
        operations.extend(shown.map(|writer| writer.index));
        operations.sort_unstable();
        operations.dedup();
        let mut text = format!(
            "operation {} read {what}, {wrong}.\n{}: {}",
            reader.index,
            reader.index,
            self.transaction(reader)
        );
        if let Some(writer) = shown {
            put(
                &mut text,
                format_args!("\n{}: {}", writer.index, self.transaction(writer)),
            );
        }
        Example {
            operations,
            text,
            picture: None,
        }
    }

    /// Two transactions that both replaced what they both read.
    pub(super) fn lost_update(self, key: u32, writer: Txn, first: Txn, second: Txn) -> Example {
        let was = match writer {
            INITIAL => format!("{} as it was at first", self.key(key)),
            writer => format!(
                "{}, which {} wrote",
                self.version(writer, key),
                self.index(writer)
            ),
        };
        let (a, b) = (self.index(first), self.index(second));
        let mut operations = vec![a, b];
        operations.sort_unstable();
        Example {
            operations,
            text: format!(
                "operations {a} and {b} both read {was}, and both overwrote it, with {} and {}: one of the two updates \
                 is lost.\n{a}: {}\n{b}: {}",
                self.version(first, key),
                self.version(second, key),
                self.txn(first),
                self.txn(second)
            ),
            picture: None,
        }
    }

    /// The index of a transaction's entry.
    pub(super) fn index(self, txn: Txn) -> u64 {
        self.of(txn).map_or(0, |transaction| transaction.index)
    }

    fn of(&self, txn: Txn) -> Option<&Transaction> {
        let place = self.sessions.places.get(txn as usize)?;
        self.parsed.transactions.get(*place)
    }

    fn txn(self, txn: Txn) -> String {
        self.of(txn).map_or_else(
            || "the initial state".to_owned(),
            |transaction| self.transaction(transaction),
        )
    }

    fn transaction(self, transaction: &Transaction) -> String {
        let events = self.parsed.events_of(transaction);
        let shown: Vec<String> = events
            .iter()
            .take(EVENTS)
            .map(|event| self.event(event))
            .collect();
        let more = if events.len() > EVENTS { " ..." } else { "" };
        format!("[{}{more}]", shown.join(" "))
    }

    fn event(self, event: &Event) -> String {
        let name = if event.write { "w" } else { "r" };
        format!("[{name} {} {}]", self.key(event.key), self.value(event.value))
    }

    fn key(self, key: u32) -> String {
        self.parsed
            .keys
            .get(key as usize)
            .map_or_else(String::new, ToString::to_string)
    }

    fn value(self, value: u32) -> String {
        self.parsed
            .values
            .get(value as usize)
            .map_or_else(String::new, ToString::to_string)
    }

    /// What a transaction left under a key.
    fn version(self, txn: Txn, key: u32) -> String {
        let written = self.of(txn).and_then(|transaction| {
            let events = self.parsed.events_of(transaction).iter().rev();
            events.filter(|event| event.write).find(|event| event.key == key)
        });
        let value = written.map_or_else(|| "its first value".to_owned(), |event| self.value(event.value));
        format!("{} = {value}", self.key(key))
    }
}

fn put(text: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = text.write_fmt(words);
}
