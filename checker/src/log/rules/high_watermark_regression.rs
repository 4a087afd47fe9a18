//! `high-watermark-regression`: the end of a log that consumers may see falls. ListOffsets(latest) answered n in leader
//! epoch e, and asked later, in the same or a later epoch, less. Or the polls of one broker showed it: within one life
//! of its process, far from any change of the leadership. Each answer that is too low is one instance; it names the
//! highest before it.
//!
//! Not this: answers to questions that overlapped; a deposed leader that is merely stale; polls of two leaders, since
//! a new one's mark may lag. Off for versions of Apache Kafka without the strict rule.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::answers::{End, HighWatermark};
use crate::log::facts::{Mark, Partition};
use crate::log::faults::OBSERVER_LAG;
use crate::log::promise::Span;
use std::collections::BTreeMap;

/// The anomaly.
pub(super) const NAME: &str = "high-watermark-regression";

/// A high watermark, and how it was told.
#[derive(Clone, Copy)]
struct Told {
    node: i32,
    offset: i64,
    invoked: Mark,
    done: Mark,
}

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let Some(answers) = case.answers.partition(&partition.key) else {
        return Vec::new();
    };
    if !case.profile.strict_high_watermark {
        return Vec::new();
    }
    let mut findings = by_epoch(partition, &answers.ends);
    let mut stretches: BTreeMap<(i32, usize), Vec<Told>> = BTreeMap::new();
    let terms = terms(case, partition);
    for mark in &answers.marks {
        if let Some(stretch) = stretch(case, &terms, mark) {
            stretches.entry((mark.node, stretch)).or_default().push(Told {
                node: mark.node,
                offset: mark.offset,
                invoked: mark.invoked,
                done: mark.done,
            });
        }
    }
    for told in stretches.values() {
        let pairs = too_low(told);
        findings.extend(
            pairs
                .into_iter()
                .map(|(high, low)| finding(partition, "a poll", &high, &low)),
        );
    }
    findings
}

/// ListOffsets: each answer against all of the same or an earlier epoch.
fn by_epoch(partition: &Partition<'_>, ends: &[End]) -> Vec<Finding> {
    let latest = ends.iter().filter_map(|end| {
        let told = Told {
            node: end.node,
            offset: end.latest?,
            invoked: end.invoked,
            done: end.done,
        };
        Some((end.epoch, told))
    });
    let mut by_invocation: Vec<(i32, Told)> = latest.collect();
    let mut by_completion = by_invocation.clone();
    by_invocation.sort_by_key(|(_, told)| told.invoked);
    by_completion.sort_by_key(|(_, told)| told.done);
    let mut completed = by_completion.iter().peekable();
    let mut highest: BTreeMap<i32, Told> = BTreeMap::new();
    let mut findings = Vec::new();
    for (epoch, later) in &by_invocation {
        while let Some((of, told)) = completed.next_if(|(_, told)| told.done.time < later.invoked.time) {
            let known = highest.entry(*of).or_insert(*told);
            if known.offset < told.offset {
                *known = *told;
            }
        }
        let high = highest
            .range(..=*epoch)
            .map(|(_, told)| told)
            .max_by_key(|told| told.offset);
        if let Some(high) = high.filter(|high| high.offset > later.offset) {
            findings.push(finding(partition, "ListOffsets", high, later));
        }
    }
    findings
}

/// Each mark that is lower than one which was known before it was asked for, with the highest of those.
fn too_low(told: &[Told]) -> Vec<(Told, Told)> {
    let mut by_invocation = told.to_vec();
    by_invocation.sort_by_key(|told| told.invoked);
    // They come in the order of their completions.
    let mut completed = told.iter().peekable();
    let mut highest: Option<Told> = None;
    let mut pairs = Vec::new();
    for later in by_invocation {
        while let Some(told) = completed.next_if(|told| told.done.time < later.invoked.time) {
            if highest.is_none_or(|highest| highest.offset < told.offset) {
                highest = Some(*told);
            }
        }
        pairs.extend(
            highest
                .filter(|high| high.offset > later.offset)
                .map(|high| (high, later)),
        );
    }
    pairs
}

/// When leader epochs were seen to begin.
fn terms(case: &Case<'_>, partition: &Partition<'_>) -> Vec<u64> {
    let steps = case.metadata.steps(&partition.key);
    let begins = steps.windows(2).filter(|pair| {
        let unseen = !pair[1].is_judged;
        unseen || pair[0].state.leader_epoch != pair[1].state.leader_epoch
    });
    steps
        .first()
        .into_iter()
        .chain(begins.map(|pair| &pair[1]))
        .map(|step| step.seen.time)
        .collect()
}

/// The stretch between two changes in which an answer stands, where it stands clear of both.
fn stretch(case: &Case<'_>, terms: &[u64], mark: &HighWatermark) -> Option<usize> {
    if !case.metadata.is_whole {
        return None;
    }
    let restarts = case.answers.restarts(mark.node);
    let (from, to) = (
        mark.invoked.time.saturating_sub(OBSERVER_LAG),
        mark.done.time.saturating_add(OBSERVER_LAG),
    );
    let before = |times: &[u64], time: u64| times.partition_point(|at| *at < time);
    let at = |time| before(terms, time) + before(restarts, time);
    (at(from) == at(to)).then_some(at(from))
}

fn finding(partition: &Partition<'_>, what: &str, high: &Told, low: &Told) -> Finding {
    let text = format!(
        "{what} was answered with the high watermark {} of {} by broker {}, and later with {} by broker {}",
        high.offset, partition.key, high.node, low.offset, low.node
    );
    let operations = [
        high.invoked.index,
        high.done.index,
        low.invoked.index,
        low.done.index,
    ];
    Finding {
        span: Some(Span {
            since: high.invoked.time,
            node: Some(high.node),
            known: high.done.time,
            until: low.done.time,
            shown_only: true,
            ..Span::default()
        }),
        follows: None,
        instance: Instance {
            offset: Some(low.offset),
            lost_at: Some(low.done.time),
            ..instance(partition, &operations, text)
        },
    }
}
