//! `epoch-lineage`: the leader epochs of a log's records do not fit. They fall as offsets rise, in what one poll was
//! answered or in the final read; or one record was shown with two epochs; or an epoch is read that the metadata log
//! never gave. Each such offset (or epoch) is one instance.
//!
//! Not this: two values at one offset (`inconsistent-offsets`); an epoch that the observer may only not have seen yet.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::answers;
use crate::log::facts::{How, Partition, Sighting};
use crate::log::faults::OBSERVER_LAG;
use crate::log::promise::Span;
use std::collections::BTreeSet;

/// The anomaly.
pub(super) const NAME: &str = "epoch-lineage";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let mut findings = falls_in_polls(case, partition);
    let told: BTreeSet<i64> = findings
        .iter()
        .filter_map(|found| found.instance.offset)
        .collect();
    let at_end = falls_at_end(case, partition);
    findings.extend(
        at_end
            .into_iter()
            .filter(|found| found.instance.offset.is_none_or(|offset| !told.contains(&offset))),
    );
    findings.extend(
        partition
            .by_offset()
            .filter_map(|group| changes(case, partition, group)),
    );
    findings.extend(never_given(case, partition));
    findings
}

fn falls_in_polls(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let answers = case.answers.partition(&partition.key);
    let mut told = BTreeSet::new();
    let falls = answers.into_iter().flat_map(|answers| &answers.falls);
    falls
        .filter(|fall| told.insert(fall.after.0))
        .map(|fall| Finding {
            span: Some(Span {
                since: fall.invoked.time,
                known: fall.done.time,
                until: fall.done.time,
                shown_only: true,
                ..Span::default()
            }),
            follows: None,
            instance: Instance {
                offset: Some(fall.after.0),
                epoch: Some(fall.after.1),
                ..instance(
                    partition,
                    &[fall.done.index],
                    fall_text(partition, fall.before, fall.after),
                )
            },
        })
        .collect()
}

fn falls_at_end(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let is_last = |s: &&Sighting| s.how == How::Poll { last: true } && s.value.is_some();
    let last: Vec<&Sighting> = partition.sightings.iter().filter(is_last).collect();
    let of = |s: &Sighting| (s.offset, s.epoch.unwrap_or_default());
    let read: Vec<(i64, i32)> = last.iter().map(|s| of(s)).collect();
    let mut findings: Vec<Finding> = answers::falls(&read)
        .into_iter()
        .map(|(highest, shown)| {
            let (highest, shown) = (last[highest], last[shown]);
            let operations = [case.facts.op(highest).done.index, case.facts.op(shown).done.index];
            Finding {
                span: Some(Span {
                    shown_only: true,
                    ..case.span(highest, shown)
                }),
                follows: None,
                instance: Instance {
                    offset: Some(shown.offset),
                    epoch: shown.epoch,
                    ..instance(
                        partition,
                        &operations,
                        fall_text(partition, of(highest), of(shown)),
                    )
                },
            }
        })
        .collect();
    findings.dedup_by_key(|found| found.instance.offset);
    findings
}

fn fall_text(partition: &Partition<'_>, before: (i64, i32), after: (i64, i32)) -> String {
    format!(
        "offset {} of {} has leader epoch {}, and offset {} above it has {}",
        before.0, partition.key, before.1, after.0, after.1
    )
}

/// One record with two epochs.
fn changes(case: &Case<'_>, partition: &Partition<'_>, group: &[Sighting]) -> Option<Finding> {
    let read = || group.iter().filter(|s| s.epoch.is_some() && s.value.is_some());
    let (first, other) = read().find_map(|first| {
        let other = read().find(|s| s.value == first.value && s.epoch != first.epoch)?;
        Some((first, other))
    })?;
    let (first, other) = if other.op < first.op {
        (other, first)
    } else {
        (first, other)
    };
    let text = format!(
        "value {} at offset {} of {} was read in leader epoch {}, and then in {}",
        first.value.unwrap_or_default(),
        first.offset,
        partition.key,
        first.epoch.unwrap_or_default(),
        other.epoch.unwrap_or_default(),
    );
    let operations = [case.facts.op(first).done.index, case.facts.op(other).done.index];
    Some(Finding {
        span: Some(Span {
            shown_only: true,
            ..case.span(first, other)
        }),
        follows: None,
        instance: Instance {
            offset: Some(first.offset),
            epoch: other.epoch,
            ..instance(partition, &operations, text)
        },
    })
}

/// Epochs that no committed record gave: below the highest that one gave, or read long before the last was seen.
fn never_given(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let steps = case.metadata.steps(&partition.key);
    let is_whole = case.metadata.is_whole && steps.first().is_some_and(|step| step.is_judged);
    if !is_whole {
        return Vec::new();
    }
    let given: BTreeSet<i32> = steps.iter().map(|step| step.state.leader_epoch).collect();
    let highest = given.last().copied().unwrap_or_default();
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for shown in partition.sightings.iter().filter(|s| s.value.is_some()) {
        let op = case.facts.op(shown);
        let is_told = |epoch: &i32| {
            *epoch < highest || op.done.time.saturating_add(OBSERVER_LAG) < case.metadata.last_seen
        };
        let Some(epoch) = shown.epoch.filter(|epoch| !given.contains(epoch)).filter(is_told) else {
            continue;
        };
        if told.insert(epoch) {
            let text = format!(
                "offset {} of {} was read in leader epoch {epoch}, which the metadata log never gave",
                shown.offset, partition.key
            );
            findings.push(Finding {
                span: case.unless_quorum_void(op.done.time),
                follows: None,
                instance: Instance {
                    offset: Some(shown.offset),
                    epoch: Some(epoch),
                    ..instance(partition, &[op.done.index], text)
                },
            });
        }
    }
    findings
}
