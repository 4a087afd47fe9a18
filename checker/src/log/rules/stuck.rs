//! `stuck`: long after the last fault was healed a partition has no leader, or acknowledges nothing, although a member
//! of its ISR or ELR is registered and unfenced. Each partition is one instance. Nothing excuses it but a quorum that
//! lost its disks.
//!
//! Not this: a partition that waits for a member of ISR or ELR which is down: waiting is the promise then. Nothing is
//! said where the harness itself was late after the heal.

use super::{Case, Finding, instance};
use crate::log::facts::{Mark, Partition};
use crate::log::metadata::Step;
use crate::log::promise::seconds;

/// The anomaly.
pub(super) const NAME: &str = "stuck";

/// What is long: many times what a session, an election and a replica's lag may take together.
const LONG: u64 = 15_000_000_000;
/// So many sends without an acknowledgement are no accident.
const SENDS: usize = 20;

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let Some(last) = case
        .metadata
        .steps(&partition.key)
        .last()
        .filter(|_| case.metadata.is_whole)
    else {
        return Vec::new();
    };
    // All that may have held it up is over by then.
    let healed = case
        .faults
        .all()
        .map(|act| act.end.map_or(act.asked.time, |end| end.at.time))
        .max();
    let began = healed
        .unwrap_or(0)
        .max(last.seen.time)
        .max(case.metadata.last_restart);
    if case.answers.stalls.iter().any(|at| *at >= began) || case.metadata.is_removed(&partition.key) {
        return Vec::new();
    }
    let found = if last.state.leader < 0 {
        without_leader(case, last, began)
    } else {
        without_acks(case, partition, last, began)
    };
    let found = found.map(|(text, at)| Finding {
        span: case.unless_quorum_void(at.time),
        follows: None,
        instance: instance(
            partition,
            &[last.seen.index, at.index],
            format!("{} {text}", partition.key),
        ),
    });
    found.into_iter().collect()
}

/// Somebody could lead all the time.
fn without_leader(case: &Case<'_>, last: &Step<'_>, began: u64) -> Option<(String, Mark)> {
    let members = last.state.isr.iter().chain(&last.state.elr);
    let up = members.filter_map(|id| Some((*id, *case.metadata.active_since.get(id)?)));
    let (id, since) = up.min_by_key(|(_, since)| *since)?;
    let since = since.max(began);
    (case.answers.end.saturating_sub(since) >= LONG).then(|| {
        let text = format!(
            "has no leader from {} to {}, though broker {id} of the ISR {:?} and the ELR {:?} is registered and unfenced",
            seconds(since),
            seconds(case.answers.end),
            last.state.isr,
            last.state.elr
        );
        (text, last.seen)
    })
}

/// The leader is there, and the ISR large enough; nothing is acknowledged.
fn without_acks(
    case: &Case<'_>,
    partition: &Partition<'_>,
    last: &Step<'_>,
    began: u64,
) -> Option<(String, Mark)> {
    let since = began.saturating_add(LONG);
    let is_able =
        case.metadata.active_since.contains_key(&last.state.leader) && last.state.isr.len() >= last.min_isr.1;
    let done = || partition.sends.iter().filter_map(|send| Some((send, send.done?)));
    let tried: Vec<Mark> = done()
        .filter(|(send, _)| send.invoked.time >= since)
        .map(|(_, done)| done)
        .collect();
    let acked = done().any(|(send, done)| send.acked().is_some() && done.time >= began);
    let at = tried
        .last()
        .copied()
        .filter(|_| is_able && !acked && tried.len() >= SENDS)?;
    let text = format!(
        "acknowledged none of {} sends after {}, though its leader {} is unfenced and the ISR is {:?}",
        tried.len(),
        seconds(since),
        last.state.leader,
        last.state.isr
    );
    Some((text, at))
}
