//! A leader: how far the high watermark may go, who is in sync, what acks=all may be told.
//!
//! Two sets must be told apart. The *committed* ISR is the one that the controller has stored; the
//! *maximal* ISR adds whom the leader has asked the controller to add, and keeps whom it has asked to
//! remove. Safety rests on the first (whoever is in it may be elected), progress on the second (whoever
//! may already be in it must have a record before that counts as committed).

mod admission;
mod high_watermark;
mod isr;
mod progress;

use std::collections::{BTreeMap, BTreeSet};

pub use admission::{Completion, Refusal};
pub use isr::{AlterIsr, AlterIsrError, AlteredIsr, IsrMember};

use crate::metadata::{Brokers, Partition, Settings};
use isr::IsrState;
use progress::Progress;

/// A Fetch of a follower that passed the checks ([`crate::FetchCheck::Valid`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerFetch {
    /// The follower.
    pub replica: i32,
    /// The broker epoch it names, -1 if none (`ReplicaEpoch`, Fetch 15 and later).
    pub broker_epoch: i64,
    /// Where it fetches from: the end of its log.
    pub fetch_offset: i64,
}

/// What is so at the moment of an event.
#[derive(Debug)]
pub struct Now<'a, B> {
    /// Milliseconds of the driver's monotonic clock.
    pub ms: u64,
    /// The end of the leader's log, as far as the leader itself may count: where every append is
    /// synced before it counts, the synced end.
    pub log_end: i64,
    /// The brokers, as the latest metadata says.
    pub brokers: &'a B,
}

// Not derived: that would ask the same of the brokers.
impl<B> Clone for Now<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Now<'_, B> {}

/// What follows from an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Effects {
    /// The high watermark moved up to this: complete what waits for it.
    pub high_watermark: Option<i64>,
    /// Send this to the controller. At most one is in flight.
    pub alter_isr: Option<AlterIsr>,
}

/// Who leads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) id: i32,
    pub(crate) broker_epoch: i64,
}

/// How things stand when a term begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) high_watermark: i64,
    pub(crate) log_end: i64,
    pub(crate) now_ms: u64,
}

/// A replica that leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    id: i32,
    broker_epoch: i64,
    settings: Settings,
    leader_epoch: i32,
    partition_epoch: i32,
    epoch_start_offset: i64,
    high_watermark: i64,
    isr: IsrState,
    next_proposal: u64,
    /// Every replica but this one.
    followers: BTreeMap<i32, Progress>,
}

impl Leader {
    /// Begins to lead `partition` with a log that ends at `log_end`. Nothing that was learnt about the
    /// followers in an earlier epoch is kept: each must fetch once before it counts.
    pub(crate) fn new(
        identity: Identity,
        settings: Settings,
        partition: &Partition,
        start: Start,
        next_proposal: u64,
    ) -> Self {
        let isr = IsrState::committed(&partition.isr);
        let followers = partition
            .replicas
            .iter()
            .filter(|&&replica| replica != identity.id)
            .map(|&replica| {
                (
                    replica,
                    Progress::new(isr.committed.contains(&replica).then_some(start.now_ms)),
                )
            });
        Self {
            id: identity.id,
            broker_epoch: identity.broker_epoch,
            settings,
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            epoch_start_offset: start.log_end,
            high_watermark: start.high_watermark,
            followers: followers.collect(),
            isr,
            next_proposal,
        }
    }

    /// The leader epoch.
    pub fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    /// The partition epoch.
    pub fn partition_epoch(&self) -> i32 {
        self.partition_epoch
    }

    /// The log's end when this leader epoch began.
    pub fn epoch_start_offset(&self) -> i64 {
        self.epoch_start_offset
    }

    /// The high watermark: consumers read below it.
    pub fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// The ISR that the controller has committed.
    pub fn committed_isr(&self) -> &BTreeSet<i32> {
        &self.isr.committed
    }

    /// The committed ISR, with whom the leader has asked to add to it.
    pub fn maximal_isr(&self) -> BTreeSet<i32> {
        self.isr.maximal()
    }

    /// The proposal in flight.
    pub fn pending(&self) -> Option<&AlterIsr> {
        self.isr.pending.as_ref()
    }

    /// Whether `replica` is one of the partition's.
    pub fn has_replica(&self, replica: i32) -> bool {
        replica == self.id || self.followers.contains_key(&replica)
    }

    /// `min(min.insync.replicas, number of replicas)`.
    pub fn effective_min_isr(&self) -> usize {
        self.settings.min_insync_replicas.min(self.followers.len() + 1)
    }

    /// The log grew.
    pub fn appended(&mut self, now: Now<'_, impl Brokers>) -> Effects {
        Effects {
            high_watermark: self.advance_high_watermark(&now),
            alter_isr: None,
        }
    }

    /// A follower fetched, validly. A fetch of a broker that is no replica, or of an incarnation that
    /// has since registered anew, changes nothing (KIP-903); [`crate::Replica::check_fetch`] refuses
    /// both.
    pub fn fetched(&mut self, fetch: &FollowerFetch, now: Now<'_, impl Brokers>) -> Effects {
        if is_stale(fetch.broker_epoch, fetch.replica, now.brokers) {
            return Effects::default();
        }
        let Some(progress) = self.followers.get_mut(&fetch.replica) else {
            return Effects::default();
        };
        progress.fetched(fetch, now.ms, now.log_end);
        // Expansion first: a replica that is about to join must hold the high watermark back.
        let alter_isr = self.propose_expansion(fetch.replica, now.brokers);
        Effects {
            high_watermark: self.advance_high_watermark(&now),
            alter_isr,
        }
    }

    /// Time passed. To be called at least every half of `replica.lag.time.max.ms`.
    pub fn tick(&mut self, now: Now<'_, impl Brokers>) -> Effects {
        let alter_isr = self.propose_shrink(&now);
        Effects {
            high_watermark: self.advance_high_watermark(&now),
            alter_isr,
        }
    }

    /// Metadata of the same leader epoch arrived, newer than what is known.
    pub(crate) fn update(&mut self, partition: &Partition, now: &Now<'_, impl Brokers>) -> Effects {
        self.partition_epoch = partition.partition_epoch;
        self.isr = IsrState::committed(&partition.isr);
        self.followers
            .retain(|replica, _| partition.replicas.contains(replica));
        for &replica in partition.replicas.iter().filter(|&&replica| replica != self.id) {
            self.followers
                .entry(replica)
                .or_insert_with(|| Progress::new(None));
        }
        Effects {
            high_watermark: self.advance_high_watermark(now),
            alter_isr: None,
        }
    }

    pub(crate) fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
    }

    pub(crate) fn set_broker_epoch(&mut self, broker_epoch: i64) {
        self.broker_epoch = broker_epoch;
    }

    pub(crate) fn next_proposal(&self) -> u64 {
        self.next_proposal
    }
}

/// Whether a fetch comes from an incarnation that has registered anew since.
pub(crate) fn is_stale(broker_epoch: i64, replica: i32, brokers: &impl Brokers) -> bool {
    broker_epoch != NO_BROKER_EPOCH
        && brokers
            .broker(replica)
            .is_some_and(|registered| registered.broker_epoch > broker_epoch)
}

/// The broker epoch of a fetch that names none: the check is left out.
pub(crate) const NO_BROKER_EPOCH: i64 = -1;
