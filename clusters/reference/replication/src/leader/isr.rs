//! The ISR of a leader: who may join, who must leave, and the controller's word on it.
//!
//! A follower joins when its log reaches the high watermark *and* the start of this leader epoch
//! (KAFKA-7128), and the broker is neither fenced nor shutting down, and fetched under the very broker
//! epoch that is registered (KIP-903). It leaves when it has not caught up for
//! `replica.lag.time.max.ms`. One proposal is in flight at a time; no other is made until it is settled.

use std::collections::BTreeSet;

use super::{Effects, Leader, NO_BROKER_EPOCH, Now};
use crate::metadata::Brokers;

/// An `AlterPartition` to send. It always says that the leader has recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterIsr {
    /// To be quoted with the answer.
    pub proposal: u64,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// The partition epoch on which the proposal rests.
    pub partition_epoch: i32,
    /// The new ISR.
    pub isr: Vec<IsrMember>,
}

/// A member of a proposed ISR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsrMember {
    /// The broker.
    pub broker: i32,
    /// The broker epoch under which it last fetched (the leader's own for the leader); -1 when it named
    /// none.
    pub broker_epoch: i64,
}

/// What the controller committed, in answer to an [`AlterIsr`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlteredIsr {
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The partition epoch after the change.
    pub partition_epoch: i32,
    /// The ISR.
    pub isr: Vec<i32>,
}

/// How the controller refused an [`AlterIsr`], by what the leader must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterIsrError {
    /// OPERATION_NOT_ATTEMPTED, INELIGIBLE_REPLICA: give the proposal up.
    Rejected,
    /// UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, FENCED_LEADER_EPOCH, INVALID_UPDATE_VERSION,
    /// INVALID_REQUEST, NEW_LEADER_ELECTED: our metadata is behind; stay pending until more arrives.
    Outdated,
    /// Anything else, and no answer at all: send it again, since it may have been committed.
    Retriable,
}

/// The committed ISR, and the proposal to change it, if one is in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IsrState {
    pub(super) committed: BTreeSet<i32>,
    pub(super) pending: Option<AlterIsr>,
}

impl IsrState {
    pub(super) fn committed(isr: &[i32]) -> Self {
        Self {
            committed: isr.iter().copied().collect(),
            pending: None,
        }
    }

    /// Committed or proposed: a proposed expansion may be committed already, a proposed shrink may not.
    pub(super) fn maximal_contains(&self, replica: i32) -> bool {
        self.committed.contains(&replica)
            || self
                .pending
                .iter()
                .flat_map(|pending| &pending.isr)
                .any(|member| member.broker == replica)
    }

    pub(super) fn maximal(&self) -> BTreeSet<i32> {
        let proposed = self
            .pending
            .iter()
            .flat_map(|pending| &pending.isr)
            .map(|member| member.broker);
        self.committed.iter().copied().chain(proposed).collect()
    }
}

impl Leader {
    /// The controller answered `proposal`, or will not. An answer to any but the proposal in flight is
    /// ignored: what it says has been overtaken.
    pub fn isr_answer(
        &mut self,
        proposal: u64,
        answer: Result<AlteredIsr, AlterIsrError>,
        now: Now<'_, impl Brokers>,
    ) -> Effects {
        let Some(pending) = self
            .isr
            .pending
            .as_ref()
            .filter(|pending| pending.proposal == proposal)
        else {
            return Effects::default();
        };
        match answer {
            Ok(altered) => self.isr_committed(&altered, &now),
            Err(AlterIsrError::Rejected) => {
                self.isr.pending = None;
                // Whoever was to join no longer holds the high watermark back by that alone.
                Effects {
                    high_watermark: self.advance_high_watermark(&now),
                    alter_isr: None,
                }
            }
            Err(AlterIsrError::Outdated) => Effects::default(),
            Err(AlterIsrError::Retriable) => Effects {
                high_watermark: None,
                alter_isr: Some(pending.clone()),
            },
        }
    }

    fn isr_committed(&mut self, altered: &AlteredIsr, now: &Now<'_, impl Brokers>) -> Effects {
        // The same partition epoch means that the controller found nothing to change.
        if altered.leader_epoch != self.leader_epoch || altered.partition_epoch < self.partition_epoch {
            return Effects::default();
        }
        self.partition_epoch = altered.partition_epoch;
        self.isr = IsrState::committed(&altered.isr);
        Effects {
            high_watermark: self.advance_high_watermark(now),
            alter_isr: None,
        }
    }

    /// Proposes to add `replica`, which has just fetched, if it may join.
    pub(super) fn propose_expansion(&mut self, replica: i32, brokers: &impl Brokers) -> Option<AlterIsr> {
        if self.isr.pending.is_some() || self.isr.committed.contains(&replica) {
            return None;
        }
        let log_end = self.followers.get(&replica)?.log_end()?;
        let has_the_log = log_end >= self.high_watermark && log_end >= self.epoch_start_offset;
        if !has_the_log || !self.is_eligible(replica, brokers) {
            return None;
        }
        let mut isr = self.isr.committed.clone();
        isr.insert(replica);
        self.propose(&isr)
    }

    /// Proposes to remove those that have not caught up for too long.
    pub(super) fn propose_shrink(&mut self, now: &Now<'_, impl Brokers>) -> Option<AlterIsr> {
        if self.isr.pending.is_some() {
            return None;
        }
        let keeps_up = |replica: &i32| {
            *replica == self.id
                || self.followers.get(replica).is_some_and(|progress| {
                    progress.is_caught_up(now.log_end, now.ms, self.settings.replica_lag_time_max_ms)
                })
        };
        let isr: BTreeSet<i32> = self.isr.committed.iter().copied().filter(keeps_up).collect();
        if isr.len() == self.isr.committed.len() {
            None
        } else {
            self.propose(&isr)
        }
    }

    fn propose(&mut self, isr: &BTreeSet<i32>) -> Option<AlterIsr> {
        let member = |&broker: &i32| {
            let fetched = || {
                self.followers
                    .get(&broker)
                    .and_then(|progress| progress.broker_epoch())
            };
            let broker_epoch = if broker == self.id {
                self.broker_epoch
            } else {
                fetched().unwrap_or(NO_BROKER_EPOCH)
            };
            IsrMember { broker, broker_epoch }
        };
        let proposal = AlterIsr {
            proposal: self.next_proposal,
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            isr: isr.iter().map(member).collect(),
        };
        self.next_proposal += 1;
        self.isr.pending = Some(proposal.clone());
        Some(proposal)
    }

    /// Whether the broker of `replica` may be in an ISR: known, unfenced, not shutting down, and the one
    /// that fetched is the one that is registered.
    pub(super) fn is_eligible(&self, replica: i32, brokers: &impl Brokers) -> bool {
        let fetched = self
            .followers
            .get(&replica)
            .and_then(|progress| progress.broker_epoch());
        match (fetched, brokers.broker(replica)) {
            (Some(fetched), Some(registered)) => {
                !registered.fenced
                    && !registered.in_controlled_shutdown
                    && (fetched == NO_BROKER_EPOCH || fetched == registered.broker_epoch)
            }
            _ => false,
        }
    }
}
