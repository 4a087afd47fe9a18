//! How far behind polls were, by real time: informational, for Kafka promises nothing about it.
//!
//! An offset is known to be in a log from the first completion that shows it, or a greater one. A process that has
//! read up to an offset, and polls later than a greater one was known, is late by the time between. A process
//! stands before the log's start in each partition that it was assigned and has not read.

use super::case::Case;
use super::transfers::{Assignment, Transfers};
use crate::Reason;
use history::Kind;
use rustc_hash::FxHashMap;

/// A poll that was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lag {
    /// By so many nanoseconds.
    nanoseconds: u64,
    /// The operation.
    op: u32,
    /// The partition's place.
    partition: u32,
}

impl Lag {
    pub fn reason(self, transfers: &Transfers) -> Reason {
        let (op, partition) = (
            &transfers.operations[self.op as usize],
            &transfers.partitions[self.partition as usize],
        );
        let milliseconds = self.nanoseconds as f64 / 1e6;
        let message = format!(
            "informational: operation {} did not show records of partition {} that were there {milliseconds:.3} ms \
             before it began",
            op.done(),
            partition.name
        );
        Reason::new("worst-realtime-lag", message)
    }
}

/// The poll of a partition that was late by the most; none where none was late.
pub(super) fn worst(case: &Case<'_>) -> Option<Lag> {
    let mut positions = Positions {
        case,
        known: known(case),
        worst: None,
        at: FxHashMap::default(),
    };
    let reads = reads(case);
    let mut changes: Vec<Change<'_>> = reads
        .iter()
        .map(|(op, offset)| Change::Read(*op, *offset))
        .collect();
    for assignments in &case.transfers.assignments {
        changes.extend(assignments.iter().filter(|a| a.ok).map(Change::Assigned));
    }
    changes.sort_by_key(Change::op);
    for change in changes {
        positions.take(change);
    }
    positions.end()
}

/// A process comes to stand elsewhere.
enum Change<'a> {
    /// An operation and the greatest offset that it read or sent.
    Read(u32, i64),
    Assigned(&'a Assignment),
}

impl Change<'_> {
    fn op(&self) -> u32 {
        match self {
            Change::Read(op, _) => *op,
            Change::Assigned(assignment) => assignment.op,
        }
    }
}

/// Greatest offsets by operation: of polls, and of sends by what polls as well.
fn reads(case: &Case<'_>) -> Vec<(u32, i64)> {
    let moved = case.polls().chain(case.sends());
    let mine = moved.filter(|moved| case.op(moved.op).polls && case.op(moved.op).kind == Kind::Ok);
    mine.filter_map(|moved| Some((moved.op, greatest(moved.records)?)))
        .collect()
}

fn greatest(records: &[super::transfers::Record]) -> Option<i64> {
    records.iter().filter_map(|record| record.offset()).max()
}

/// From when on a log was known to reach an offset: both rise.
fn known(case: &Case<'_>) -> Vec<(i64, u64)> {
    let moved = case.polls().chain(case.sends());
    let shown = moved.filter(|moved| case.op(moved.op).kind != Kind::Fail);
    let mut shown: Vec<(u64, i64)> = shown
        .filter_map(|moved| Some((case.op(moved.op).completed?.time, greatest(moved.records)?)))
        .collect();
    shown.sort_unstable();
    let mut known: Vec<(i64, u64)> = Vec::new();
    for (time, offset) in shown {
        if known.last().is_none_or(|(last, _)| *last < offset) {
            known.push((offset, time));
        }
    }
    known
}

/// Where each process stands: the last offset it read, and since which operation.
struct Positions<'c, 'a> {
    case: &'c Case<'a>,
    known: Vec<(i64, u64)>,
    worst: Option<Lag>,
    at: FxHashMap<u32, (i64, u32)>,
}

impl Positions<'_, '_> {
    fn take(&mut self, change: Change<'_>) {
        let op = change.op();
        let process = self.case.op(op).process;
        let stood = self.at.get(&process).copied();
        if let Some((position, since)) = stood {
            self.late(process, position, since, op);
        }
        match change {
            Change::Read(_, offset) => {
                let position = stood.map_or(offset, |(position, _)| position.max(offset));
                self.at.insert(process, (position, op));
            }
            Change::Assigned(assignment) => {
                let kept = assignment.manual && assignment.kept.binary_search(&self.case.place).is_ok();
                if kept {
                    self.at
                        .insert(process, (stood.map_or(-1, |(position, _)| position), op));
                } else {
                    self.at.remove(&process);
                }
            }
        }
    }

    /// A process stood at a position from one operation until before another: the last poll in between was the
    /// latest, so it was late by the most.
    fn late(&mut self, process: u32, position: i64, since: u32, until: u32) {
        let polls = &self.case.transfers.polls[process as usize];
        let Some(poll) = polls[..polls.partition_point(|poll| *poll < until)]
            .last()
            .filter(|poll| **poll >= since)
        else {
            return;
        };
        let next = self.known.partition_point(|(offset, _)| *offset <= position);
        if let Some((_, time)) = self.known.get(next) {
            let nanoseconds = self.case.op(*poll).invoked.time.saturating_sub(*time);
            let lag = Lag {
                nanoseconds,
                op: *poll,
                partition: self.case.place,
            };
            if nanoseconds > 0 {
                self.worst = self.worst.max(Some(lag));
            }
        }
    }

    fn end(mut self) -> Option<Lag> {
        for (process, (position, since)) in std::mem::take(&mut self.at) {
            self.late(process, position, since, u32::MAX);
        }
        self.worst
    }
}
