//! `epoch-regression`: an epoch falls. In the committed metadata log, the leader epoch or the partition epoch of one
//! partition (of a topic's id), or the quorum's own; or one process answers ListOffsets in a leader epoch, and then in
//! a lower one. Nothing excuses it but a quorum that lost its disks. Each fall is one instance.
//!
//! Not this: epochs after committed metadata vanished (that is `committed-metadata-lost`); answers of a process that
//! was started between them.

use super::{Case, Finding, instance, of_cluster};
use crate::Instance;
use crate::log::answers::End;
use crate::log::facts::Partition;
use std::collections::BTreeMap;

/// The anomaly.
pub(super) const NAME: &str = "epoch-regression";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let mut findings = in_log(case, partition);
    findings.extend(in_answers(case, partition));
    findings
}

fn in_log(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for step in case
        .metadata
        .steps(&partition.key)
        .iter()
        .filter(|step| step.is_judged)
    {
        let Some(before) = step.before else { continue };
        let epochs = [
            ("leader", before.leader_epoch, step.state.leader_epoch),
            ("partition", before.partition_epoch, step.state.partition_epoch),
        ];
        for (what, was, is) in epochs.into_iter().filter(|(_, was, is)| is < was) {
            let text = format!(
                "the {what} epoch of {} falls from {was} to {is} in the metadata log at offset {}",
                partition.key, step.state.at.log_offset
            );
            findings.push(Finding {
                span: case.unless_quorum_void(step.seen.time),
                follows: None,
                instance: Instance {
                    epoch: Some(is),
                    ..instance(partition, &[step.seen.index], text)
                },
            });
        }
    }
    findings
}

/// By each life of a broker's process: each answer in a lower epoch than one that was complete before it was asked for.
fn in_answers(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let Some(answers) = case.answers.partition(&partition.key) else {
        return Vec::new();
    };
    let mut by_invocation: Vec<&End> = answers.ends.iter().collect();
    by_invocation.sort_by_key(|end| end.invoked);
    // They come in the order of their completions.
    let mut completed = answers.ends.iter().peekable();
    let mut highest: BTreeMap<(i32, usize), &End> = BTreeMap::new();
    let mut findings = Vec::new();
    for later in by_invocation {
        while let Some(end) = completed.next_if(|end| end.done.time < later.invoked.time) {
            let restarts = case.answers.restarts(end.node);
            let life = restarts.partition_point(|at| *at < end.invoked.time);
            let known = highest.entry((end.node, life)).or_insert(end);
            if known.epoch < end.epoch {
                *known = end;
            }
        }
        let restarts = case.answers.restarts(later.node);
        let life = restarts.partition_point(|at| *at <= later.done.time);
        if let Some(before) = highest
            .get(&(later.node, life))
            .filter(|before| before.epoch > later.epoch)
        {
            findings.push(falls_back(case, partition, before, later));
        }
    }
    findings
}

fn falls_back(case: &Case<'_>, partition: &Partition<'_>, before: &End, later: &End) -> Finding {
    let text = format!(
        "broker {} answered for {} in leader epoch {}, and then in {}",
        later.node, partition.key, before.epoch, later.epoch
    );
    let operations = [before.done.index, later.invoked.index, later.done.index];
    Finding {
        span: case.unless_quorum_void(later.done.time),
        follows: None,
        instance: Instance {
            epoch: Some(later.epoch),
            ..instance(partition, &operations, text)
        },
    }
}

/// Of the quorum: the records that begin its epochs, in the log's order.
pub(super) fn find_in_quorum(case: &Case<'_>) -> Vec<Finding> {
    let records: Vec<_> = case
        .metadata
        .quorum_leaders
        .iter()
        .filter(|seen| seen.is_record)
        .collect();
    let falls = records
        .windows(2)
        .filter(|pair| pair[1].epoch <= pair[0].epoch && pair[1].is_judged);
    falls
        .map(|pair| {
            let text = format!(
                "the epoch of the metadata quorum goes from {} to {} in its log",
                pair[0].epoch, pair[1].epoch
            );
            Finding {
                span: case.unless_quorum_void(pair[1].by.time),
                follows: None,
                instance: Instance {
                    epoch: Some(pair[1].epoch),
                    ..of_cluster(&[pair[0].by.index, pair[1].by.index], text)
                },
            }
        })
        .collect()
}
