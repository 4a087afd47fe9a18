//! Whether a history shows enough for its verdict to be a pass: each lack is a reason for unknown.

mod requirements;
mod timeline;

use crate::log::facts::{Facts, Partition};
use crate::log::promise::Promises;
use crate::{Reason, codes};
use history::{History, Key, Promise};
use timeline::Timeline;

/// Everything that a history lacks.
pub(crate) fn lacks(
    history: &History,
    facts: &Facts<'_>,
    promises: &Promises<'_>,
    is_released: impl Fn(&Key) -> bool,
) -> Vec<Reason> {
    let timeline = Timeline::of(history);
    let mut reasons = Vec::new();
    steps(&timeline, &mut reasons);
    final_reads(facts, is_released, &mut reasons);
    acks(facts, &mut reasons);
    metadata(facts, promises, &mut reasons);
    for requirement in &history.header.requirements {
        reasons.extend(requirements::unmet(requirement, &timeline, facts));
    }
    reasons
}

fn steps(timeline: &Timeline<'_>, reasons: &mut Vec<Reason>) {
    for step in timeline.unreached_steps() {
        reasons.push(Reason::new(
            codes::STEP_NOT_REACHED,
            format!("step {}: {}", step.name, step.text),
        ));
    }
}

fn final_reads(facts: &Facts<'_>, is_released: impl Fn(&Key) -> bool, reasons: &mut Vec<Reason>) {
    if facts
        .partitions
        .iter()
        .all(|partition| partition.final_end.is_none())
    {
        let message = "the history has no final read: the run ended before its plan did";
        return reasons.push(Reason::new(codes::NO_END, message));
    }
    for partition in &facts.partitions {
        match &partition.final_end {
            // Its topic was deleted on purpose: there is nothing to read.
            None if is_released(&partition.key) => {}
            None => {
                let message = format!("{} was not read at the end", partition.key);
                reasons.push(Reason::new(codes::FINAL_READ_MISSING, message));
            }
            Some(end) if end.complete.is_none() => {
                let why = end.reason.as_deref().unwrap_or("it does not say why");
                let message = format!("the final read of {} did not reach its end: {why}", partition.key);
                reasons.push(Reason::new(codes::FINAL_READ_INCOMPLETE, message));
            }
            Some(_) => {}
        }
    }
}

fn acks(facts: &Facts<'_>, reasons: &mut Vec<Reason>) {
    if !facts.partitions.iter().any(has_acks) {
        let message = "no record was acknowledged with acks=all: there was nothing to lose";
        reasons.push(Reason::new(codes::NO_ACKS, message));
    }
}

fn metadata(facts: &Facts<'_>, promises: &Promises<'_>, reasons: &mut Vec<Reason>) {
    if !promises.names(Promise::Kip966) {
        return;
    }
    for partition in facts.partitions.iter().filter(|partition| has_acks(partition)) {
        match promises.ledger(&partition.key) {
            None => {
                let message = format!(
                    "the history has no metadata of {}: what was promised of it cannot be told",
                    partition.key
                );
                reasons.push(Reason::new(codes::NO_METADATA, message));
            }
            Some(ledger) if ledger.never_started() => {
                let message = format!(
                    "{} never had enough clean in-sync replicas for a promise",
                    partition.key
                );
                reasons.push(Reason::new(codes::PROMISE_NOT_STARTED, message));
            }
            Some(ledger) => {
                if let Some(why) = ledger.hidden_by() {
                    let message = format!(
                        "what was promised of {} cannot be told at all times: {why}",
                        partition.key
                    );
                    reasons.push(Reason::new(codes::METADATA_UNSEEN, message));
                }
            }
        }
    }
}

fn has_acks(partition: &Partition<'_>) -> bool {
    partition.sends.iter().any(|send| send.acked().is_some())
}
