//! `log-start-moved`: the start of a log rises although the topic has no retention, compaction or DeleteRecords.
//! Without this rule a truncation from the front would excuse every loss.
//!
//! An answer that names a log start says where it is; a record that was read or acknowledged says that the start
//! is no higher. A rise is a start named by an operation that was invoked after one that knew of a lower place
//! had completed. Each start that a log rose to is one instance. Two operations that overlap are in no order.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::{LogStart, Mark, Partition};
use crate::log::promise::Span;
use std::collections::BTreeSet;

/// The anomaly.
pub(super) const NAME: &str = "log-start-moved";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    if partition.plan.log_start_may_move || partition.log_starts.iter().all(|start| start.offset == 0) {
        return Vec::new();
    }
    let lowest = Lowest::of(case, partition);
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for start in &partition.log_starts {
        let Some(before) = lowest.before(start.invoked.time) else {
            continue;
        };
        if before.offset < start.offset && told.insert(start.offset) {
            findings.push(finding(partition, &before, start));
        }
    }
    findings
}

fn finding(partition: &Partition<'_>, before: &LogStart, start: &LogStart) -> Finding {
    let text = format!(
        "the log of {} began at offset {} or below (operation {}), then at {} (operation {})",
        partition.key, before.offset, before.done.index, start.offset, start.done.index
    );
    Finding {
        span: Some(Span {
            since: before.invoked.time,
            node: None,
            known: before.done.time,
            until: start.done.time,
            ..Span::default()
        }),
        follows: None,
        instance: Instance {
            offset: Some(start.offset),
            ..instance(partition, &[before.done.index, start.done.index], text)
        },
    }
}

/// The lowest place that the log is known to have reached down to, by the time at which that was known: each
/// element is lower than the one before.
struct Lowest(Vec<LogStart>);

impl Lowest {
    fn of(case: &Case<'_>, partition: &Partition<'_>) -> Lowest {
        let mut known: Vec<LogStart> = partition.log_starts.clone();
        // By offset, then by completion: only one that completed before all lower ones can ever be the lowest.
        let mut earliest: Option<Mark> = None;
        for group in partition.by_offset() {
            let op = case.facts.op(&group[0]);
            if earliest.is_none_or(|earliest| op.done < earliest) {
                earliest = Some(op.done);
                known.push(LogStart {
                    offset: group[0].offset,
                    invoked: op.invoked,
                    done: op.done,
                });
            }
        }
        known.sort_by_key(|start| start.done);
        let mut lowest: Vec<LogStart> = Vec::new();
        for start in known {
            if lowest.last().is_none_or(|last| start.offset < last.offset) {
                lowest.push(start);
            }
        }
        Lowest(lowest)
    }

    /// The lowest that was known strictly before a time.
    fn before(&self, time: u64) -> Option<LogStart> {
        self.0[..self.0.partition_point(|start| start.done.time < time)]
            .last()
            .copied()
    }
}
