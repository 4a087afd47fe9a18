//! One file a rule. Each looks at one partition and accuses; whether a promise covers the accusation is decided
//! afterwards, from the span of time that the rule gives.
//!
//! The order of [`RULES`] is the order in the verdict: what was lost first, what follows from it after.

pub(crate) mod acked_tail_lost;
pub(crate) mod acked_then_lost;
mod append_order;
pub(crate) mod committed_metadata_lost;
mod corrupt;
mod dirty_leader;
mod duplicate;
mod inconsistent_offsets;
mod log_start_moved;
mod loss;
mod offset_reassigned;
mod phantom;

use crate::log::facts::{Facts, Fate, How, Partition, Sighting};
use crate::log::promise::{Promises, Span};
use crate::{Anomaly, Instance};

/// A rule: its anomaly's name, and how it is looked for.
type Rule = (&'static str, fn(&Case<'_>, &Partition<'_>) -> Vec<Finding>);

const RULES: [Rule; 10] = [
    (acked_then_lost::NAME, acked_then_lost::find),
    (acked_tail_lost::NAME, acked_tail_lost::find),
    (log_start_moved::NAME, log_start_moved::find),
    (dirty_leader::NAME, dirty_leader::find),
    (corrupt::NAME, corrupt::find),
    (phantom::NAME, phantom::find),
    (offset_reassigned::NAME, offset_reassigned::find),
    (inconsistent_offsets::NAME, inconsistent_offsets::find),
    (duplicate::NAME, duplicate::find),
    (append_order::NAME, append_order::find),
];

/// What rules look at.
pub(crate) struct Case<'a> {
    pub facts: &'a Facts<'a>,
    pub promises: &'a Promises<'a>,
}

/// An accusation.
pub(crate) struct Finding {
    /// When it happened, for the promise to cover or not; none where nothing excuses it.
    pub span: Option<Span>,
    /// The loss that it follows from.
    pub follows: Option<&'static str>,
    /// The evidence.
    pub instance: Instance,
}

/// Applies every rule to every partition.
pub(crate) fn find_all(case: &Case<'_>) -> Vec<Anomaly> {
    let mut anomalies = Vec::new();
    for (name, find) in RULES {
        let mut sides: [Vec<(Option<&'static str>, Instance)>; 2] = Default::default();
        for partition in &case.facts.partitions {
            for finding in find(case, partition) {
                let inside = finding
                    .span
                    .is_none_or(|span| case.promises.covers(&partition.key, &span));
                sides[usize::from(!inside)].push((finding.follows, finding.instance));
            }
        }
        for (found, inside_promise) in sides.into_iter().zip([true, false]) {
            anomalies.extend(anomaly(name, inside_promise, found));
        }
    }
    anomalies
}

fn anomaly(
    name: &str,
    inside_promise: bool,
    found: Vec<(Option<&'static str>, Instance)>,
) -> Option<Anomaly> {
    let follows = found
        .first()?
        .0
        .filter(|_| found.iter().all(|(follows, _)| follows.is_some()));
    Some(Anomaly {
        name: name.to_owned(),
        inside_promise,
        count: found.len() as u64,
        follows: follows.map(str::to_owned),
        instances: found.into_iter().map(|(_, instance)| instance).collect(),
    })
}

/// An instance that names a partition.
fn instance(partition: &Partition<'_>, operations: &[u64], text: String) -> Instance {
    let mut operations = operations.to_vec();
    operations.sort_unstable();
    operations.dedup();
    Instance {
        operations,
        topic: Some(partition.key.topic.to_string()),
        partition: Some(partition.key.partition),
        text,
        ..Instance::default()
    }
}

impl Case<'_> {
    /// From what one operation showed until another contradicted it.
    fn span(&self, first: &Sighting, then: &Sighting) -> Span {
        let (first, then) = (self.facts.op(first), self.facts.op(then));
        Span {
            since: first.invoked.time,
            node: first.node,
            known: first.done.time,
            until: then.done.time,
            ..Span::default()
        }
    }

    /// The leader epoch of what was shown: read with the record, or that in which the broker led by the metadata.
    fn epoch(&self, partition: &Partition<'_>, group: &[Sighting], shown: &Sighting) -> Option<i32> {
        let read = group
            .iter()
            .filter(|s| s.value == shown.value)
            .find_map(|s| s.epoch);
        read.or_else(|| {
            let op = self.facts.op(shown);
            self.promises
                .ledger(&partition.key)?
                .epoch_of(op.node?, op.done.time)
        })
    }
}

/// The loss of an acknowledged record among these sightings, by its anomaly's name.
fn loss_among(partition: &Partition<'_>, group: &[Sighting]) -> Option<&'static str> {
    group.iter().find_map(|s| match s.how {
        How::Ack { send } => loss_of(partition.fates[send as usize]),
        How::Poll { .. } => None,
    })
}

fn loss_of(fate: Fate) -> Option<&'static str> {
    match fate {
        Fate::Lost => Some(acked_then_lost::NAME),
        Fate::TailLost => Some(acked_tail_lost::NAME),
        Fate::Untold | Fate::Kept => None,
    }
}

/// How people read what an operation showed.
fn shown_by(how: How) -> &'static str {
    match how {
        How::Ack { .. } => "acknowledged",
        How::Poll { .. } => "read",
    }
}

/// An epoch as people read it.
fn epoch_text(epoch: Option<i32>) -> String {
    epoch.map_or("unknown".to_owned(), |epoch| epoch.to_string())
}
