//! What a scenario demands of its runs, so that a pass means something.

use super::timeline::Timeline;
use crate::log::facts::{Facts, How, Mark, Partition, SendOp};
use crate::{Reason, codes};
use history::{LostRecords, Requirement};
use std::collections::BTreeSet;

/// Why a requirement is not met.
pub(super) fn unmet(requirement: &Requirement, timeline: &Timeline<'_>, facts: &Facts<'_>) -> Option<Reason> {
    match requirement {
        Requirement::Acks { at_least } => too_few(count(facts, |_| true), *at_least, "in all"),
        Requirement::AcksBefore { step, at_least } => match timeline.begun(step) {
            None => Some(Reason::new(codes::STEP_NOT_REACHED, format!("step {step} never began"))),
            Some(begun) => too_few(count(facts, |at| at < begun), *at_least, &format!("before step {step}")),
        },
        Requirement::AcksBetween { from, to, at_least } => match (timeline.begun(from), timeline.begun(to)) {
            (Some(begun), Some(end)) => {
                let acks = count(facts, |at| begun < at && at < end);
                too_few(acks, *at_least, &format!("between steps {from} and {to}"))
            }
            (begun, _) => {
                let step = if begun.is_some() { to } else { from };
                Some(Reason::new(codes::STEP_NOT_REACHED, format!("step {step} never began")))
            }
        },
        Requirement::AckedRecordsTaken { fault, at_least } => match taken(fault, timeline, facts) {
            Taken::NotApplied => Some(not_applied(fault, 0, 1)),
            Taken::Untold => Some(untold(fault)),
            Taken::Records(records) => (records < *at_least).then(|| {
                let message = format!(
                    "{fault} took {records} acknowledged records, {at_least} are required: nothing was at stake"
                );
                Reason::new(codes::TOO_FEW_RECORDS_TAKEN, message)
            }),
        },
        Requirement::NoAckedRecordTaken { fault } => match taken(fault, timeline, facts) {
            Taken::NotApplied => Some(not_applied(fault, 0, 1)),
            Taken::Untold => Some(untold(fault)),
            Taken::Records(0) => None,
            Taken::Records(records) => {
                let message = format!("{fault} took {records} acknowledged records where none was to be at stake");
                Some(Reason::new(codes::ACKED_RECORDS_TAKEN, message))
            }
        },
        Requirement::FaultApplied { fault, at_least } => {
            let times = timeline.applied(fault).count() as u64;
            (times < *at_least).then(|| not_applied(fault, times, *at_least))
        }
    }
}

fn too_few(acks: u64, at_least: u64, when: &str) -> Option<Reason> {
    (acks < at_least).then(|| {
        Reason::new(
            codes::TOO_FEW_ACKS,
            format!("{acks} records were acknowledged {when}, {at_least} are required"),
        )
    })
}

fn not_applied(fault: &str, times: u64, at_least: u64) -> Reason {
    Reason::new(
        codes::FAULT_NOT_APPLIED,
        format!("{fault} was applied {times} times, {at_least} are required"),
    )
}

fn untold(fault: &str) -> Reason {
    Reason::new(
        codes::TOO_FEW_RECORDS_TAKEN,
        format!("no disk tells what {fault} took"),
    )
}

/// The acknowledgements whose completion is at such a place.
fn count(facts: &Facts<'_>, counts: impl Fn(Mark) -> bool) -> u64 {
    let sends = facts.partitions.iter().flat_map(|partition| &partition.sends);
    sends
        .filter_map(SendOp::acked)
        .filter(|acked| counts(*acked))
        .count() as u64
}

enum Taken {
    NotApplied,
    Untold,
    Records(u64),
}

/// How many acknowledged records a fault took from disks: those acknowledged before it was in, at offsets that
/// the disks lost. A record that two disks lost counts once.
fn taken(fault: &str, timeline: &Timeline<'_>, facts: &Facts<'_>) -> Taken {
    let applied: Vec<_> = timeline.applied(fault).collect();
    if applied.is_empty() {
        return Taken::NotApplied;
    }
    let mut runs = Vec::new();
    for (fault, at) in applied {
        let mut losses = timeline.losses(fault.id).peekable();
        if losses.peek().is_none() {
            return Taken::Untold;
        }
        runs.extend(losses.flat_map(|loss| &loss.records).map(|run| (run, at)));
    }
    let records = facts
        .partitions
        .iter()
        .map(|partition| taken_of(partition, &runs));
    Taken::Records(records.sum())
}

fn taken_of(partition: &Partition<'_>, runs: &[(&LostRecords, Mark)]) -> u64 {
    let mut taken = BTreeSet::new();
    let mine =
        |run: &LostRecords| run.topic == partition.key.topic && run.partition == partition.key.partition;
    for (run, at) in runs.iter().filter(|(run, _)| mine(run)) {
        for sighting in partition.between(run.from, run.to) {
            let How::Ack { send } = sighting.how else { continue };
            if partition.sends[send as usize]
                .acked()
                .is_some_and(|acked| acked < *at)
            {
                taken.insert(send);
            }
        }
    }
    taken.len() as u64
}
