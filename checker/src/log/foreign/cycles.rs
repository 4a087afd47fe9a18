//! Cycles of operations on logs, each operation a transaction.
//!
//! - ww, where asked for: one sent the value before the one that the other sent, in a partition's order.
//! - wr: the other polled what one sent.
//! - rw: one reached a value of a partition, and the other sent one that stands behind it.
//! - process and realtime: the order of a process, and one completed before the other was begun. What failed, or may
//!   happen later, comes after others and before none.
//!
//! The cycles of the workload that these histories come from have no rw in them. So there are two searches: of the
//! first four kinds for G0 and G1c; and of ww, wr and rw for G-single, G-nonadjacent and G2, only where operations
//! both poll and send. Those are no failure (`tolerated`), and without the clocks: a consumer may lag.

mod ranges;
mod words;

use super::found::Found;
use super::transfers::{Operation, Transfers, by_operation};
use super::versions::Versions;
use crate::txn::anomaly::{Class, Clock, CycleAnomaly};
use crate::txn::cycle::EdgeKind;
use crate::txn::graph::GraphBuilder;
use crate::txn::realtime::{Span, realtime};
use crate::txn::search::{Orders, search};
use crate::{Budget, Options, Reason};
use history::Kind;
use ranges::Ranges;
use rustc_hash::FxHashMap;
use words::Words;

/// The three clocks, in turn.
const CLOCKS: [Clock; 3] = [Clock::None, Clock::Process, Clock::Realtime];
/// What an edge holds while the graph is built and after.
const BYTES_AN_EDGE: u64 = 24;

/// The operations as nodes, and what was found of their partitions.
pub(super) struct Cycles<'a> {
    pub transfers: &'a Transfers,
    pub versions: &'a [Versions],
}

impl Cycles<'_> {
    /// Searches for cycles; gives the reasons where that was given up.
    pub fn find(&self, options: &Options, budget: &Budget, found: &mut Found) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let both = self.both();
        // Nothing that polls sends: then an order of all is known, unless a value was polled before it was sent.
        if both || options.ww_deps || !self.is_ordered() {
            let mut graph = self.graph(options.ww_deps);
            self.clocks(options, &mut graph);
            reasons.extend(self.search(graph, options, &CLOCKS, budget, found));
        }
        if both && reasons.is_empty() {
            let mut graph = self.graph(options.ww_deps);
            self.anti_dependencies(&mut graph);
            reasons.extend(self.search(graph, options, &[Clock::None], budget, found));
        }
        reasons
    }

    /// Whether some operation both polls and sends.
    fn both(&self) -> bool {
        let mut does = vec![0u8; self.transfers.operations.len()];
        for partition in &self.transfers.partitions {
            for (records, bit) in [(&partition.sends, 1), (&partition.polls, 2)] {
                for records in by_operation(records) {
                    does[records[0].op as usize] |= bit;
                }
            }
        }
        does.contains(&3)
    }

    /// Whether every value was sent before what polled it had ended. Where nothing both polls and sends there is no
    /// cycle then: put each that sends at its beginning, each that polls at its end.
    fn is_ordered(&self) -> bool {
        self.transfers
            .partitions
            .iter()
            .zip(self.versions)
            .all(|(partition, versions)| {
                partition
                    .polls
                    .iter()
                    .zip(&versions.polled)
                    .all(|(poll, number)| {
                        let Some(writer) = versions.writer(*number, poll.value) else {
                            return true;
                        };
                        let ended = self.op(poll.op).completed.map_or(u64::MAX, |end| end.position);
                        self.op(writer).invoked.position < ended
                    })
            })
    }

    fn op(&self, op: u32) -> &Operation {
        &self.transfers.operations[op as usize]
    }

    /// The edges that data prove, but for rw.
    fn graph(&self, ww_deps: bool) -> GraphBuilder {
        let mut graph = GraphBuilder::new(self.transfers.operations.len() as u32);
        for (partition, versions) in self.transfers.partitions.iter().zip(self.versions) {
            let mut last = None;
            for (poll, number) in partition.polls.iter().zip(&versions.polled) {
                if let Some(writer) = versions.writer(*number, poll.value)
                    && last != Some((writer, poll.op))
                {
                    graph.edge(writer, poll.op, EdgeKind::Wr);
                    last = Some((writer, poll.op));
                }
            }
            if ww_deps {
                for two in versions.by_index.windows(2) {
                    if let [Some(before), Some(after)] = two {
                        graph.edge(*before, *after, EdgeKind::Ww);
                    }
                }
            }
        }
        graph
    }

    fn clocks(&self, options: &Options, graph: &mut GraphBuilder) {
        let mut last: FxHashMap<u32, u32> = FxHashMap::default();
        for (node, op) in (0..).zip(&self.transfers.operations) {
            if let Some(before) = last.get(&op.process) {
                graph.edge(*before, node, EdgeKind::Process);
            }
            if op.kind == Kind::Ok {
                last.insert(op.process, node);
            }
        }
        if !options.no_real_time {
            realtime(&self.spans(), 0, graph);
        }
    }

    fn spans(&self) -> Vec<Span> {
        let span = |(node, op): (u32, &Operation)| Span {
            node,
            began: op.invoked.position,
            ended: op
                .completed
                .filter(|_| op.kind == Kind::Ok)
                .map(|end| end.position),
        };
        (0..).zip(&self.transfers.operations).map(span).collect()
    }

    /// From each that polled to each other that sent behind what it reached.
    fn anti_dependencies(&self, graph: &mut GraphBuilder) {
        for (partition, versions) in self.transfers.partitions.iter().zip(self.versions) {
            let ranges = Ranges::new(&versions.by_index, graph);
            let mut own: Vec<(u32, usize)> = (0..)
                .zip(&versions.by_index)
                .filter_map(|(index, writer)| Some(((*writer)?, index)))
                .collect();
            own.sort_unstable();
            let mut own = own.into_iter().peekable();
            let mut numbers = versions.polled.iter();
            for polled in by_operation(&partition.polls) {
                let op = polled[0].op;
                while own.next_if(|(writer, _)| *writer < op).is_some() {}
                let indexes = numbers
                    .by_ref()
                    .take(polled.len())
                    .map(|number| versions.index(*number));
                let Some(reached) = indexes.flatten().max() else {
                    continue;
                };
                let mut start = reached as usize + 1;
                while let Some((_, index)) = own.next_if(|(writer, _)| *writer == op) {
                    if index >= start {
                        ranges.edges(op, start..index, EdgeKind::Rw, graph);
                        start = index + 1;
                    }
                }
                ranges.edges(op, start..versions.by_index.len(), EdgeKind::Rw, graph);
            }
        }
    }

    fn search(
        &self,
        graph: GraphBuilder,
        options: &Options,
        clocks: &[Clock],
        budget: &Budget,
        found: &mut Found,
    ) -> Option<Reason> {
        let held = graph.edges() as u64 * BYTES_AN_EDGE;
        budget.take(held);
        let graph = graph.build();
        let spans = self.spans();
        let timed = clocks.contains(&Clock::Realtime) && !options.no_real_time;
        let orders = Orders {
            realtime: timed.then_some(&*spans),
        };
        let answer = search(&graph, clocks, &orders, budget);
        budget.give_back(held);
        let words = Words { cycles: self };
        let anti = clocks == [Clock::None];
        for cycle in &answer.found {
            let CycleAnomaly { class, .. } = cycle.anomaly;
            if anti == (class >= Class::GSingle) {
                let name = cycle.anomaly.name(false);
                found.add_named(name.clone(), || words.example(&cycle.ring));
                if let Some(level) = level_broken(cycle.anomaly) {
                    found.add_following(level, name, || words.example(&cycle.ring));
                }
            }
        }
        if let Some(spent) = answer.spent {
            return Some(Reason::new("budget", format!("cycles of operations: {spent}")));
        }
        (answer.cut_short > 0).then(|| {
            let message = format!(
                "in {} components it is not decided which kind of cycle is the worst",
                answer.cut_short
            );
            Reason::new("budget", message)
        })
    }
}

/// The name that others give to the existence of such a cycle: it follows from the cycle itself.
fn level_broken(anomaly: CycleAnomaly) -> Option<String> {
    let level = match anomaly.class {
        Class::G0 => "PL-1",
        Class::G1c => "PL-2",
        Class::GSingle | Class::GNonadjacent | Class::G2 => return None,
    };
    let order = match anomaly.clock {
        Clock::None => "",
        Clock::Process => "strong-session-",
        Clock::Realtime => "strong-",
    };
    Some(format!("{order}{level}-cycle-exists"))
}
