//! `two-leaders-in-one-epoch`: two brokers led one partition in one leader epoch. A broker led an epoch where a record
//! that it acknowledged is read in a batch of that epoch, or where it answered ListOffsets with that current leader
//! epoch. Of the metadata quorum: two controllers, each named as leader of one epoch. Nothing excuses it but a quorum
//! that lost its disks. Each epoch is one instance.
//!
//! Not this: a deposed leader that answers in its own, earlier epoch; a Fetch, which followers answer too.

use super::{Case, Finding, instance, of_cluster};
use crate::Instance;
use crate::log::facts::{How, Mark, Partition};
use std::collections::BTreeMap;

/// The anomaly.
pub(super) const NAME: &str = "two-leaders-in-one-epoch";

/// The first leader that was seen of an epoch, how, and the entry that shows it.
type Leaders = BTreeMap<i32, Vec<Led>>;

struct Led {
    node: i32,
    by: Mark,
    how: String,
}

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let mut leaders = Leaders::new();
    for group in partition.by_offset() {
        for acked in group.iter().filter(|s| matches!(s.how, How::Ack { .. })) {
            let op = case.facts.op(acked);
            let read = group.iter().filter(|s| s.value == acked.value);
            for (node, epoch) in read.filter_map(|s| op.node.zip(s.epoch)) {
                led(&mut leaders, epoch, node, op.done, || {
                    format!("acknowledged offset {}", acked.offset)
                });
            }
        }
    }
    let answers = case.answers.partition(&partition.key);
    for end in answers.into_iter().flat_map(|answers| &answers.ends) {
        led(&mut leaders, end.epoch, end.node, end.done, || {
            "answered ListOffsets".to_owned()
        });
    }
    let twice = leaders.iter().filter(|(_, led)| led.len() > 1);
    twice
        .map(|(epoch, led)| {
            let (text, marks) = told(led, &format!("leader epoch {epoch} of {}", partition.key));
            let at = led.iter().map(|led| led.by.time).max().unwrap_or_default();
            Finding {
                span: case.unless_quorum_void(at),
                follows: None,
                instance: Instance {
                    epoch: Some(*epoch),
                    ..instance(partition, &marks, text)
                },
            }
        })
        .collect()
}

/// Of the quorum.
pub(super) fn find_in_quorum(case: &Case<'_>) -> Vec<Finding> {
    let mut leaders = Leaders::new();
    for seen in &case.metadata.quorum_leaders {
        led(&mut leaders, seen.epoch, seen.leader, seen.by, || {
            "was named as leader".to_owned()
        });
    }
    let twice = leaders.iter().filter(|(_, led)| led.len() > 1);
    twice
        .map(|(epoch, led)| {
            let (text, marks) = told(led, &format!("epoch {epoch} of the metadata quorum"));
            let at = led.iter().map(|led| led.by.time).max().unwrap_or_default();
            Finding {
                span: case.unless_quorum_void(at),
                follows: None,
                instance: Instance {
                    epoch: Some(*epoch),
                    ..of_cluster(&marks, text)
                },
            }
        })
        .collect()
}

fn led(leaders: &mut Leaders, epoch: i32, node: i32, by: Mark, how: impl FnOnce() -> String) {
    let known = leaders.entry(epoch).or_default();
    if known.iter().all(|led| led.node != node) {
        known.push(Led { node, by, how: how() });
    }
}

fn told(led: &[Led], what: &str) -> (String, Vec<u64>) {
    let each: Vec<String> = led
        .iter()
        .map(|led| format!("{} ({})", led.node, led.how))
        .collect();
    let text = format!("in {what} more than one led: {}", each.join(", "));
    (text, led.iter().map(|led| led.by.index).collect())
}
