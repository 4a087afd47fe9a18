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
mod elr_invariant;
mod epoch_lineage;
mod epoch_regression;
mod g1a;
mod high_watermark_regression;
mod inconsistent_offsets;
mod ineligible_leader;
mod log_start_moved;
mod loss;
mod lost_write;
mod metadata_conformance;
pub(crate) mod metadata_lost;
mod min_isr_violated;
mod nonmonotonic_poll;
mod offset_reassigned;
mod phantom;
mod poll_skip;
mod stuck;
mod two_leaders_in_one_epoch;
mod visible_then_lost;

use crate::log::answers::Answers;
use crate::log::facts::{Facts, Fate, How, Partition, Sighting};
use crate::log::faults::Faults;
use crate::log::metadata::Metadata;
use crate::log::parallel;
use crate::log::profile::Profile;
use crate::log::promise::{Promises, Span};
use crate::{Anomaly, Instance};

/// A rule: its anomaly's name, and how it is looked for.
type Rule = (&'static str, fn(&Case<'_>, &Partition<'_>) -> Vec<Finding>);

const RULES: [Rule; 26] = [
    (acked_then_lost::NAME, acked_then_lost::find),
    (acked_tail_lost::NAME, acked_tail_lost::find),
    (visible_then_lost::NAME, visible_then_lost::find),
    (lost_write::NAME, lost_write::find),
    (log_start_moved::NAME, log_start_moved::find),
    (dirty_leader::NAME, dirty_leader::find),
    (ineligible_leader::NAME, ineligible_leader::find),
    (two_leaders_in_one_epoch::NAME, two_leaders_in_one_epoch::find),
    (epoch_regression::NAME, epoch_regression::find),
    (elr_invariant::NAME, elr_invariant::find),
    (metadata_conformance::NAME, metadata_conformance::find),
    (min_isr_violated::NAME, min_isr_violated::find),
    (stuck::NAME, stuck::find),
    (corrupt::NAME, corrupt::find),
    (phantom::NAME, phantom::find),
    (g1a::NAME, g1a::find),
    (offset_reassigned::NAME, offset_reassigned::find),
    (inconsistent_offsets::NAME, inconsistent_offsets::find),
    (duplicate::NAME, duplicate::find),
    (append_order::NAME, append_order::find),
    (epoch_lineage::NAME, epoch_lineage::find),
    (high_watermark_regression::NAME, high_watermark_regression::find),
    (nonmonotonic_poll::WITHIN, nonmonotonic_poll::find_within),
    (nonmonotonic_poll::BEFORE, nonmonotonic_poll::find_before),
    (poll_skip::WITHIN, poll_skip::find_within),
    (poll_skip::BEFORE, poll_skip::find_before),
];

/// An anomaly's name, and how it is looked for in no partition.
type OfCluster = (&'static str, fn(&Case<'_>) -> Vec<Finding>);

/// What the same names accuse the cluster of, in no partition.
const OF_CLUSTER: [OfCluster; 3] = [
    (
        two_leaders_in_one_epoch::NAME,
        two_leaders_in_one_epoch::find_in_quorum,
    ),
    (epoch_regression::NAME, epoch_regression::find_in_quorum),
    (metadata_conformance::NAME, metadata_conformance::find_in_brokers),
];

/// What rules look at.
pub(crate) struct Case<'a> {
    pub facts: &'a Facts<'a>,
    pub promises: &'a Promises<'a>,
    pub metadata: &'a Metadata<'a>,
    pub answers: &'a Answers,
    pub faults: &'a Faults<'a>,
    pub profile: Profile,
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

/// Applies every rule to every partition, partitions at once.
pub(crate) fn find_all(case: &Case<'_>) -> Vec<Anomaly> {
    let mut by_partition: Vec<[Vec<Judged>; RULES.len()]> =
        parallel::map(&case.facts.partitions, case.facts.records(), |partition| {
            RULES.map(|(_, find)| judged(case, partition, find))
        });
    let mut anomalies = Vec::new();
    for (rule, (name, _)) in RULES.into_iter().enumerate() {
        let mut sides: [Vec<(Option<&'static str>, Instance)>; 2] = Default::default();
        for found in &mut by_partition {
            for judged in std::mem::take(&mut found[rule]) {
                sides[usize::from(!judged.inside)].push((judged.follows, judged.instance));
            }
        }
        for (_, of_cluster) in OF_CLUSTER.iter().filter(|(of, _)| *of == name) {
            for finding in of_cluster(case) {
                // No ledger speaks of what is in no partition: it has no span unless something excuses it.
                sides[usize::from(finding.span.is_some())].push((finding.follows, finding.instance));
            }
        }
        for (found, inside_promise) in sides.into_iter().zip([true, false]) {
            anomalies.extend(anomaly(name, inside_promise, found));
        }
    }
    anomalies
}

/// An accusation, on one side of the promise.
struct Judged {
    inside: bool,
    follows: Option<&'static str>,
    instance: Instance,
}

fn judged(
    case: &Case<'_>,
    partition: &Partition<'_>,
    find: fn(&Case<'_>, &Partition<'_>) -> Vec<Finding>,
) -> Vec<Judged> {
    let findings = find(case, partition).into_iter();
    let side = |finding: Finding| Judged {
        inside: finding
            .span
            .is_none_or(|span| case.promises.covers(&partition.key, &span)),
        follows: finding.follows,
        instance: finding.instance,
    };
    findings.map(side).collect()
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

/// An instance that is about no partition.
fn of_cluster(operations: &[u64], text: String) -> Instance {
    let mut operations = operations.to_vec();
    operations.sort_unstable();
    operations.dedup();
    Instance {
        operations,
        text,
        ..Instance::default()
    }
}

impl Case<'_> {
    /// The span of what nothing excuses but a quorum that lost its disks: none where it has not, and one that no
    /// promise covers where it has.
    fn unless_quorum_void(&self, at: u64) -> Option<Span> {
        let is_void = self.promises.quorum_void().is_some_and(|void| void <= at);
        is_void.then_some(Span {
            since: at,
            known: at,
            until: at,
            ..Span::default()
        })
    }

    /// When the committed leader was last asked for what it then showed of a record, before the final read.
    fn reread(&self, partition: &Partition<'_>, group: &[Sighting], value: u64) -> Option<u64> {
        let ledger = self.promises.ledger(&partition.key)?;
        let shown = group
            .iter()
            .filter(|s| s.value == Some(value) && s.how == How::Poll { last: false });
        let asked = shown.map(|s| self.facts.op(s));
        asked
            .filter(|op| op.node.is_some_and(|node| ledger.leads(node, op.invoked.time)))
            .map(|op| op.invoked.time)
            .max()
    }

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
