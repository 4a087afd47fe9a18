//! What KIP-966 promises: an acknowledged record survives as long as fewer than min ISR replicas
//! stopped uncleanly since the partition was last whole.
//!
//! *Dirty* is a broker that stopped uncleanly and has not been readmitted to the ISR under a
//! registration made since. The partition is *whole* when min ISR members of its ISR are not dirty.
//! The promise is *spent* while as many as min ISR of ISR, ELR, and those that left them dirty since
//! the partition was whole, are dirty.

use std::collections::{BTreeMap, BTreeSet};

use controller::Partition;
use raft::Nanos;

use super::log::Entry;

/// One partition's account.
#[derive(Debug, Default)]
pub(super) struct Promise {
    min_isr: usize,
    state: Option<Partition>,
    dirty: BTreeSet<i32>,
    /// Left ISR and ELR dirty since the partition was whole.
    removed: BTreeSet<i32>,
    spent: bool,
    /// Records older than this are not covered.
    covered_since: Nanos,
    acknowledged: Vec<Acknowledged>,
    /// When each leader epoch ended.
    ended: BTreeMap<i32, Nanos>,
}

/// A record that a client was told is safe.
#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    offset: usize,
    entry: Entry,
    since: Nanos,
}

impl Promise {
    /// A partition with that min ISR, created among brokers some of which are dirty.
    pub(super) fn new(min_isr: usize, dirty: BTreeSet<i32>) -> Self {
        Self {
            min_isr,
            dirty,
            spent: true,
            ..Self::default()
        }
    }

    /// A broker stopped uncleanly.
    pub(super) fn stopped_uncleanly(&mut self, broker: i32) {
        self.dirty.insert(broker);
        self.weigh();
    }

    /// Whether the promise would still hold if this broker stopped uncleanly now.
    pub(super) fn bears(&self, broker: i32) -> bool {
        let Some(state) = &self.state else {
            return true;
        };
        let counted = self.counted(state);
        let more = state.isr.contains(&broker) || state.elr.contains(&broker);
        let would_be = counted.len() + usize::from(more && !counted.contains(&broker));
        !self.spent && would_be < self.min_isr
    }

    /// The partition's state changed, for good. `registered` are the brokers whose registration is
    /// newer than their last unclean stop.
    pub(super) fn changed(&mut self, now: Nanos, state: &Partition, registered: &BTreeSet<i32>) {
        let was = self.state.replace(state.clone());
        let (isr, elr, leader_epoch) = was.map_or((Vec::new(), Vec::new(), None), |was| {
            (was.isr, was.elr, Some(was.leader_epoch))
        });
        for admitted in state.isr.iter().filter(|id| !isr.contains(id)) {
            if registered.contains(admitted) {
                self.dirty.remove(admitted);
            }
        }
        let left = |id: &&i32| !state.isr.contains(id) && !state.elr.contains(id);
        let left = isr.iter().chain(&elr).filter(left);
        self.removed.extend(left.filter(|id| self.dirty.contains(id)));
        if let Some(old) = leader_epoch.filter(|old| *old < state.leader_epoch) {
            self.ended.insert(old, now);
        }
        self.make_whole(now);
        self.weigh();
    }

    fn make_whole(&mut self, now: Nanos) {
        let Some(state) = &self.state else {
            return;
        };
        let clean = |ids: &[i32]| ids.iter().filter(|id| !self.dirty.contains(id)).count();
        let eligible = clean(&state.isr) + clean(&state.elr);
        if eligible >= self.min_isr {
            self.removed.clear();
            if self.spent && self.counted(state).len() < self.min_isr {
                self.spent = false;
                self.covered_since = now;
            }
        }
    }

    fn weigh(&mut self) {
        if let Some(state) = &self.state {
            self.spent |= self.counted(state).len() >= self.min_isr;
        }
    }

    fn counted(&self, state: &Partition) -> BTreeSet<i32> {
        let eligible = state.isr.iter().chain(&state.elr).copied();
        let dirty = eligible.filter(|id| self.dirty.contains(id));
        dirty.chain(self.removed.iter().copied()).collect()
    }

    /// A client was told that this record, which it sent at that time, is safe.
    pub(super) fn acknowledge(&mut self, sent: Nanos, offset: usize, entry: Entry) {
        let ended = self.ended.get(&entry.leader_epoch).copied();
        let since = ended.map_or(sent, |ended| ended.min(sent));
        self.acknowledged.push(Acknowledged { offset, entry, since });
    }

    pub(super) fn acknowledgements(&self) -> usize {
        self.acknowledged.len()
    }

    /// A record that the leader of that epoch lacks, although it was acknowledged before and is
    /// covered by the promise.
    pub(super) fn lost(&self, leader_epoch: i32, log: &[Entry]) -> Option<(usize, u64)> {
        let lost = self.acknowledged.iter().find(|record| {
            record.entry.leader_epoch < leader_epoch
                && log.get(record.offset) != Some(&record.entry)
                && !self.spent
                && record.since >= self.covered_since
        });
        lost.map(|record| (record.offset, record.entry.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: Entry = Entry {
        leader_epoch: 0,
        number: 9,
    };

    fn state(isr: &[i32], elr: &[i32]) -> Partition {
        Partition {
            replicas: vec![0, 1, 2],
            isr: isr.to_vec(),
            elr: elr.to_vec(),
            last_known_elr: vec![],
            leader: -1,
            recovering: false,
            leader_epoch: 0,
            partition_epoch: 0,
            removing_replicas: vec![],
            adding_replicas: vec![],
            directories: vec![],
        }
    }

    /// A whole partition, min ISR 2, with one acknowledged record.
    fn whole() -> Promise {
        let mut promise = Promise::new(2, BTreeSet::new());
        promise.changed(1, &state(&[0, 1, 2], &[]), &BTreeSet::new());
        promise.acknowledge(2, 0, LOST);
        promise
    }

    #[test]
    fn one_unclean_stop_of_two_is_borne() {
        let mut promise = whole();
        assert!(promise.bears(1));
        promise.stopped_uncleanly(1);
        assert!(!promise.bears(0));
        assert!(promise.bears(1));
        assert_eq!(promise.lost(1, &[]), Some((0, 9)));
        assert_eq!(promise.lost(1, &[LOST]), None);
        assert_eq!(
            promise.lost(0, &[]),
            None,
            "a leader of that epoch need not have it yet"
        );
    }

    #[test]
    fn two_unclean_stops_spend_it_until_whole_and_for_what_is_older() {
        let mut promise = whole();
        promise.stopped_uncleanly(1);
        promise.stopped_uncleanly(0);
        assert_eq!(promise.lost(1, &[]), None);
        let registered = BTreeSet::from([0, 1]);
        promise.changed(5, &state(&[2], &[]), &registered);
        assert_eq!(promise.lost(1, &[]), None);
        promise.changed(6, &state(&[2, 0], &[]), &registered);
        assert_eq!(promise.lost(1, &[]), None, "it is from before");
        promise.acknowledge(7, 1, LOST);
        assert_eq!(promise.lost(1, &[LOST]), Some((1, 9)));
    }

    #[test]
    fn who_left_dirty_counts_until_whole() {
        let mut promise = whole();
        promise.stopped_uncleanly(1);
        promise.changed(3, &state(&[0], &[]), &BTreeSet::from([1]));
        promise.stopped_uncleanly(0);
        assert_eq!(promise.lost(1, &[]), None);
        let mut promise = whole();
        promise.stopped_uncleanly(1);
        promise.changed(3, &state(&[0, 2], &[]), &BTreeSet::from([1]));
        promise.stopped_uncleanly(0);
        assert_eq!(promise.lost(1, &[]), Some((0, 9)));
    }

    #[test]
    fn readmission_cleans_only_after_a_new_registration() {
        let again = |registered: &[i32]| {
            let mut promise = whole();
            promise.stopped_uncleanly(2);
            promise.changed(3, &state(&[0, 1], &[]), &BTreeSet::new());
            let registered = registered.iter().copied().collect();
            promise.changed(4, &state(&[0, 1, 2], &[]), &registered);
            promise.stopped_uncleanly(0);
            promise.lost(1, &[])
        };
        assert_eq!(again(&[2]), Some((0, 9)));
        assert_eq!(again(&[]), None);
    }

    #[test]
    fn a_stale_leaders_acknowledgement_dates_from_its_end() {
        let mut promise = whole();
        let next = Partition {
            leader_epoch: 1,
            ..state(&[0, 1], &[])
        };
        promise.changed(3, &next, &BTreeSet::new());
        promise.stopped_uncleanly(0);
        promise.stopped_uncleanly(1);
        promise.changed(8, &state(&[0, 1], &[]), &BTreeSet::from([0, 1]));
        promise.changed(9, &state(&[], &[]), &BTreeSet::new());
        promise.changed(10, &state(&[0, 1], &[]), &BTreeSet::from([0, 1]));
        promise.acknowledge(11, 1, LOST);
        assert_eq!(promise.lost(2, &[]), None);
    }
}
