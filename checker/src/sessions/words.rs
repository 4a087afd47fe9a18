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
        name: shape(points.sessions, &edges),
        edges,
    }
}

/// The name of a cycle's shape, where it has one.
fn shape(sessions: &Sessions, edges: &[Edge]) -> Option<&'static str> {
    let befores: Vec<usize> = (0..edges.len())
        .filter(|place| matches!(edges[*place].why, Why::Before { .. }))
        .collect();
    let seen = |edge: &Edge| matches!(edge.why, Why::Read { .. } | Why::Session);
    let others = edges.iter().filter(|edge| !seen(edge)).count() - befores.len();
    match (befores.as_slice(), others) {
        ([], 0) => Some("causality-cycle"),
        ([], _) => older(sessions, edges),
        ([_], 0) if edges.len() == 2 => stale(edges),
        ([_, _], 0) if edges.len() == 2 => skew(edges),
        ([first, second], 0) if second - first > 1 && first + edges.len() - second > 1 => Some("long-fork"),
        _ => None,
    }
}

/// One transaction read from another one, and yet the initial state of a key that this one wrote.
fn stale(edges: &[Edge]) -> Option<&'static str> {
    let key = |edge: &Edge| match edge.why {
        Why::Read { key } | Why::Before { key, .. } => Some(key),
        _ => None,
    };
    match (key(&edges[0])?, key(&edges[1])?) {
        (one, other) if one == other => Some("non-repeatable-read"),
        _ => Some("fractured-read"),
    }
}

/// Each of two transactions overwrote another key that the other one read.
fn skew(edges: &[Edge]) -> Option<&'static str> {
    match (edges[0].why, edges[1].why) {
        (Why::Before { key, .. }, Why::Before { key: other, .. }) if key != other => Some("write-skew"),
        _ => None,
    }
}

/// A reader read from one transaction, and yet an older version of a key that this one wrote.
fn older(sessions: &Sessions, edges: &[Edge]) -> Option<&'static str> {
    let mut names = edges.iter().filter_map(|edge| {
        let Why::Overwritten { key, reader } = edge.why else {
            return None;
        };
        let mut from = sessions
            .reads_of(reader)
            .iter()
            .filter(|read| read.writer == edge.from)
            .peekable();
        from.peek()?;
        Some(match from.any(|read| read.key == key) {
            true => "non-repeatable-read",
            false => "fractured-read",
        })
    });
    names.next()
}

impl Words<'_> {
    /// A cycle, told and drawn.
    pub(super) fn cycle(self, proof: &Proof) -> Example {
        let edges = &proof.edges;
        let readers = readers(edges);
        let of_cycle = edges.iter().map(|edge| edge.from).chain(readers);
        let mut operations: Vec<u64> = of_cycle.map(|txn| self.index(txn)).collect();
        operations.sort_unstable();
        operations.dedup();
        Example {
            operations,
            text: self.told(edges),
            picture: Some(draw(&self.drawn(edges))),
        }
    }

    fn told(self, edges: &[Edge]) -> String {
        let keys = keys(edges);
        let mut text = String::new();
        for (number, edge) in edges.iter().enumerate().take(STEPS) {
            let (index, what) = (self.index(edge.from), self.txn(edge.from, &keys));
            put(
                &mut text,
                format_args!("T{} is operation {index}: {what}\n", number + 1),
            );
        }
        for reader in readers(edges).into_iter().take(STEPS) {
            let (index, what) = (self.index(reader), self.txn(reader, &keys));
            put(&mut text, format_args!("operation {index} is {what}\n"));
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
        let keys = keys(edges);
        let step = |edge: &Edge| Step {
            node: Node {
                index: self.index(edge.from),
                text: self.txn(edge.from, &keys),
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
                "{from} read key {} as it was at first, and {to} wrote {}",
                self.key(key),
                self.version(edge.to, key)
            ),
            Why::Before { key, writer } => format!(
                "{from} read {}, which {to} overwrote with {}",
                self.version(writer, key),
                self.version(edge.to, key)
            ),
            Why::Conflict { key } => format!(
                "both wrote key {}, and {to} was not over when {from} began: so it began when {from} was over",
                self.key(key)
            ),
            Why::Tried { key } => format!("one of two writers of key {} is the first", self.key(key)),
        }
    }

    /// All transactions, which have no order.
    pub(super) fn core(self, why: String) -> Example {
        let mut text = why;
        for txn in self.sessions.all().take(STEPS) {
            let process = self.of(txn).and_then(|transaction| transaction.process);
            let whose = process.map_or_else(String::new, |process| format!(" of process {process}"));
            put(
                &mut text,
                format_args!("\noperation {}{whose}: {}", self.index(txn), self.txn(txn, &[])),
            );
        }
        let more = self.sessions.len().saturating_sub(STEPS);
        if more > 0 {
            put(&mut text, format_args!("\n... and {more} more ..."));
        }
        let mut operations: Vec<u64> = self.sessions.all().map(|txn| self.index(txn)).collect();
        operations.sort_unstable();
        Example {
            operations,
            text,
            picture: None,
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
            self.transaction(reader, &[misread.event.key])
        );
        if let Some(writer) = shown {
            put(
                &mut text,
                format_args!(
                    "\n{}: {}",
                    writer.index,
                    self.transaction(writer, &[misread.event.key])
                ),
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
            INITIAL => format!("key {} as it was at first", self.key(key)),
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
                self.txn(first, &[key]),
                self.txn(second, &[key])
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

    fn txn(self, txn: Txn, keys: &[u32]) -> String {
        let of = self.of(txn);
        of.map_or_else(
            || "the initial state".to_owned(),
            |transaction| self.transaction(transaction, keys),
        )
    }

    /// What a transaction did; of a long one what it did with some keys, or its beginning.
    fn transaction(self, transaction: &Transaction, keys: &[u32]) -> String {
        let events = self.parsed.events_of(transaction);
        let long = events.len() > EVENTS;
        let chosen = |event: &&Event| !long || keys.is_empty() || keys.contains(&event.key);
        let shown: Vec<String> = events
            .iter()
            .filter(chosen)
            .take(EVENTS)
            .map(|event| self.event(event))
            .collect();
        let more = if long { " ..." } else { "" };
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
        format!("key {} = {value}", self.key(key))
    }
}

/// Transactions that are no step of a cycle, but the reason for one.
fn readers(edges: &[Edge]) -> Vec<Txn> {
    let mut readers: Vec<Txn> = Vec::new();
    for edge in edges {
        if let Why::Overwritten { reader, .. } = edge.why
            && edges.iter().all(|other| other.from != reader)
            && !readers.contains(&reader)
        {
            readers.push(reader);
        }
    }
    readers
}

/// The keys that a cycle is about.
fn keys(edges: &[Edge]) -> Vec<u32> {
    let key = |edge: &Edge| match edge.why {
        Why::Session => None,
        Why::Read { key }
        | Why::Overwritten { key, .. }
        | Why::Before { key, .. }
        | Why::Conflict { key }
        | Why::Tried { key } => Some(key),
    };
    edges.iter().filter_map(key).collect()
}

fn put(text: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = text.write_fmt(words);
}
