//! What the committed metadata log said, in its order: each state of a partition with all that was in force when it was
//! written. Nothing is judged here.
//!
//! Of what was not seen nothing is told: a state that showed after a gap stands for itself, without the one before it,
//! and after a record that could not be understood nothing is said any more.

mod policy;
mod walk;

pub(crate) use policy::{Allowed, Policy};

use super::facts::{Mark, Names};
use super::faults::Faults;
use history::{History, Key, PartitionState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The metadata log of a history.
pub(crate) struct Metadata<'a> {
    steps: BTreeMap<Key, Vec<Step<'a>>>,
    /// Records of brokers that the state before them does not allow.
    pub offences: Vec<Offence>,
    /// Whether all of it was seen.
    pub is_whole: bool,
    /// When the last of it was seen.
    pub last_seen: u64,
    /// When min ISR was set, for any topic or for all.
    pub min_isr_set: Vec<u64>,
    /// Who led the quorum, as answers and the log's own records name it, in the order in which that was seen.
    pub quorum_leaders: Vec<QuorumLed>,
    /// Brokers that are registered, unfenced and not shutting down at the end, and since when.
    pub active_since: BTreeMap<i32, u64>,
    /// When a process of a node last began or ended.
    pub last_restart: u64,
    /// The ids of topics that were removed.
    removed: BTreeSet<Arc<str>>,
}

/// A leader of the quorum.
pub(crate) struct QuorumLed {
    /// The controller.
    pub leader: i32,
    /// Its epoch.
    pub epoch: i32,
    /// The entry.
    pub by: Mark,
    /// Whether the log's own record says so, not an answer.
    pub is_record: bool,
    /// Whether the log was seen up to it.
    pub is_judged: bool,
}

/// A state of a partition after a committed record.
pub(crate) struct Step<'a> {
    /// The entry.
    pub seen: Mark,
    /// The state.
    pub state: &'a PartitionState,
    /// The state before the record; none where the record created the partition.
    pub before: Option<&'a PartitionState>,
    /// Whether record and state before it were both seen.
    pub is_judged: bool,
    /// Whether it is the partition's last record of its batch.
    pub ends_batch: bool,
    /// Brokers that were registered, unfenced and not shutting down when the record was written.
    pub active: Vec<i32>,
    /// Brokers that were fenced or not registered at the end of the batch.
    pub fenced: Vec<i32>,
    /// M before the batch and after it.
    pub min_isr: (usize, usize),
    /// The level of the ELR feature before the batch and after it, where the history tells.
    pub elr_level: (Option<i16>, Option<i16>),
    /// Whether the batch clears ELRs: min ISR is set in it, or a feature's level.
    pub may_clear_elr: bool,
    /// What the configuration allows of elections.
    pub allowed: Allowed,
    /// Whether an operator may have asked for an unclean election.
    pub is_asked: bool,
    /// Whether the partition may have been recovering before the record.
    pub may_be_recovering: bool,
    /// Replicas whose registration, or its end, follows at once: they came back uncleanly, or went for good.
    pub registers: Vec<i32>,
    /// The same, of whom it was not seen what follows.
    pub may_register: Vec<i32>,
}

/// An election that policy or an operator allowed, of a leader that lacks records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overruled {
    /// The leader.
    pub leader: i32,
    /// Whether ISR or ELR had members that were passed over.
    pub past_members: bool,
}

/// A record that the state before it does not allow.
pub(crate) struct Offence {
    /// Its entry.
    pub seen: Mark,
    /// What is wrong with it.
    pub text: String,
}

impl<'a> Metadata<'a> {
    /// Reads a history.
    pub fn of(history: &'a History, names: &Names, faults: &Faults<'a>) -> Metadata<'a> {
        walk::walk(history, names, faults)
    }

    /// The elections that policy or an operator allowed though the leader lacks records, by their entries.
    pub fn overruled(&self) -> BTreeMap<u64, Overruled> {
        let steps = self.steps.values().flatten();
        steps
            .filter_map(|step| Some((step.seen.index, step.overruled()?)))
            .collect()
    }

    /// Whether a partition's topic was removed.
    pub fn is_removed(&self, key: &Key) -> bool {
        self.removed.contains(&key.id)
    }

    /// The states of a partition, in the log's order.
    pub fn steps(&self, key: &Key) -> &[Step<'a>] {
        self.steps.get(key).map_or(&[], Vec::as_slice)
    }
}

impl Step<'_> {
    /// Whether the record makes somebody else the leader.
    pub fn elects_another(&self) -> bool {
        self.state.leader >= 0
            && self
                .before
                .is_some_and(|before| before.leader != self.state.leader)
    }

    /// Whether a broker was in ISR or ELR before the record.
    pub fn was_member(&self, broker: i32) -> bool {
        self.before
            .is_some_and(|before| before.isr.contains(&broker) || before.elr.contains(&broker))
    }

    /// Whether ISR or ELR had members before the record that it does not itself take away since they come back uncleanly.
    pub fn had_members(&self) -> bool {
        let members = self
            .before
            .iter()
            .flat_map(|before| before.isr.iter().chain(&before.elr));
        members.into_iter().any(|id| !self.registers.contains(id))
    }

    /// Whether the record may be a leader's AlterPartition: there was a leader, who stays in the ISR, or gives its
    /// replica up in a reassignment.
    pub fn may_be_alter_partition(&self) -> bool {
        self.before.is_some_and(|before| {
            let stays = self.state.isr.contains(&before.leader);
            before.leader >= 0 && (stays || !self.state.replicas.contains(&before.leader))
        })
    }

    /// Whether the new leader lacks records, as the record says: it is elected past ISR and ELR, and sets RECOVERING
    /// (or the partition was recovering still).
    pub fn elects_unclean(&self) -> bool {
        self.elects_another()
            && !self.was_member(self.state.leader)
            && !self.may_be_alter_partition()
            && (self.state.recovering || self.may_be_recovering)
    }

    /// Where policy or an operator allowed this election of a leader that lacks records. Where the history does not tell
    /// what the nodes were started with, the policy may have allowed it.
    fn overruled(&self) -> Option<Overruled> {
        let before = self.before?;
        let leader = self.state.leader;
        let past_members = self.had_members();
        let is_last_known = !past_members && before.last_known_elr == [leader];
        let may = self.is_asked || matches!(self.allowed, Allowed::Always | Allowed::Untold);
        (self.elects_unclean() && may && !is_last_known).then_some(Overruled { leader, past_members })
    }
}
