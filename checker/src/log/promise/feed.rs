//! The history's entries, handed to the ledgers in the order that excuses.

use super::Loss;
use super::brokers::{Brokers, Taken, UncleanStop};
use super::ledger::{Ledger, Seen};
use super::settings::MinIsr;
use crate::log::facts::{Mark, Names};
use history::{
    Body, BrokerState, ConfigChange, Entry, Fault, FaultAction, History, Key, Kind, LogPlace, PartitionState,
};
use std::collections::{BTreeMap, BTreeSet};

/// A fault that cuts a node's power: its process ends, its disk loses what it had not synced.
const POWER_CUT: &str = "power-cut";
/// A fault that kills a node's process: the page cache stays.
const CRASH: &str = "crash";

/// What the entries make.
pub(super) struct Feed<'a> {
    pub ledgers: BTreeMap<Key, Ledger>,
    /// What disks lost, each with the time at which its fault was asked.
    pub losses: Vec<Loss<'a>>,
    /// When a disk first lost power without a ledger telling what went.
    pub untold_loss: Option<u64>,
    names: &'a Names,
    brokers: Brokers,
    min_isr: MinIsr,
    batch: Batch<'a>,
    /// When the metadata log was last seen to say anything.
    last_seen: u64,
    unseen: Option<Unseen>,
    /// What was not understood: it may have said something of brokers and settings that counts for later partitions.
    not_understood: Option<String>,
}

/// A stretch of the metadata log that was not seen, until the log goes on after it. What the state is after it is told
/// by entries with `in_gap`.
struct Unseen {
    from: u64,
    why: String,
}

/// The records of one batch of the metadata log: they take effect together.
#[derive(Default)]
struct Batch<'a> {
    /// The last record of each partition, and its entry's place.
    partitions: BTreeMap<Key, (&'a PartitionState, Mark)>,
    configs: Vec<&'a ConfigChange>,
    brokers: Vec<&'a BrokerState>,
}

impl<'a> Feed<'a> {
    /// Reads a history from its first entry to its last.
    pub fn run(history: &'a History, names: &'a Names) -> Feed<'a> {
        let mut feed = Feed {
            ledgers: BTreeMap::new(),
            losses: losses(history),
            untold_loss: None,
            names,
            brokers: Brokers::default(),
            min_isr: MinIsr::of(&history.header),
            batch: Batch::default(),
            last_seen: 0,
            unseen: None,
            not_understood: None,
        };
        let did_not_happen = refused(history);
        let ends = batch_ends(history);
        for entry in &history.entries {
            feed.take(entry, &did_not_happen);
            if ends.contains(&entry.index) {
                feed.commit(entry.time);
            }
        }
        feed
    }

    fn take(&mut self, entry: &'a Entry, did_not_happen: &BTreeSet<u64>) {
        match &entry.body {
            Body::MetadataGap(gap) => {
                let why = format!(
                    "the metadata log was not seen from offset {} to {}",
                    gap.from, gap.to
                );
                self.hide(why, true);
            }
            Body::MetadataDiverged(gone) => {
                let why = format!(
                    "committed metadata from offset {} on is gone from the log of controller {} (epoch {})",
                    gone.from, gone.leader, gone.quorum_epoch
                );
                self.hide(why, true);
            }
            Body::MetadataUnread(unread) if unread.hides => {
                let why = format!(
                    "the metadata record at {} was not understood",
                    unread.at.log_offset
                );
                // Nothing tells what it did.
                self.not_understood.get_or_insert_with(|| why.clone());
                self.hide(why, false);
            }
            Body::Partition(state) => {
                let seen = Mark {
                    index: entry.index,
                    time: entry.time,
                };
                self.batch
                    .partitions
                    .insert(self.names.known(&state.key), (state, seen));
            }
            Body::Config(change) => self.batch.configs.push(change),
            Body::Broker(state) => self.batch.brokers.push(state),
            Body::Node(seen) => {
                let taken = self.taken(seen.node, entry.time);
                let stop = self.brokers.process(seen, entry.time, taken);
                self.stopped(stop);
            }
            Body::Fault(fault) if entry.kind == Kind::Invoke && ends_processes(&fault.name) => {
                match fault.action {
                    FaultAction::Inject if did_not_happen.contains(&fault.id) => {}
                    FaultAction::Inject => self.fault(fault, entry.time),
                    FaultAction::Heal => fault
                        .nodes
                        .iter()
                        .for_each(|node| self.brokers.start_asked(*node)),
                }
            }
            _ => {}
        }
    }

    fn hide(&mut self, why: String, is_told_anew: bool) {
        for ledger in self.ledgers.values_mut() {
            ledger.hide(self.last_seen, &why, is_told_anew);
        }
        let from = self.last_seen;
        self.unseen.get_or_insert(Unseen { from, why });
    }

    /// A fault ends processes: from its asking on, for it may take effect at once.
    fn fault(&mut self, fault: &Fault, at: u64) {
        for &node in &fault.nodes {
            let told = self
                .losses
                .iter()
                .find(|(loss, _)| loss.fault == fault.id && loss.node == node);
            let taken = match told {
                Some(loss) => Taken::told(*loss),
                None if fault.name == POWER_CUT => Taken::Untold,
                None => Taken::Nothing,
            };
            let stop = self
                .brokers
                .fault(node, at, format!("{} of broker {node}", fault.name), taken);
            self.stopped(stop);
        }
    }

    /// What the last loss of power that was asked by then took from a node's disk.
    fn taken(&self, node: i32, by: u64) -> Taken {
        let of_it = |(loss, asked): &&Loss<'a>| loss.node == node && *asked <= by;
        let last = self.losses.iter().filter(of_it).max_by_key(|(_, asked)| *asked);
        last.map_or(Taken::Untold, |loss| Taken::told(*loss))
    }

    fn stopped(&mut self, stop: Option<UncleanStop>) {
        let Some(stop) = stop else { return };
        if stop.taken == Taken::Untold {
            self.untold_loss.get_or_insert(stop.at);
        }
        for ledger in self.ledgers.values_mut() {
            ledger.unclean_stop(&stop, &self.brokers);
        }
    }

    /// The end of a batch: what its records did takes effect, and each partition is tested for wholeness.
    fn commit(&mut self, at: u64) {
        let batch = std::mem::take(&mut self.batch);
        self.last_seen = at;
        batch.configs.iter().for_each(|change| self.min_isr.take(change));
        let mut seen: BTreeMap<&Key, Seen> = BTreeMap::new();
        for (key, (state, place)) in &batch.partitions {
            let min_isr = self.min_isr.of_partition(&key.topic, state.replicas.len());
            let what = match self.ledgers.get_mut(key) {
                Some(ledger) => ledger.changed(state, &self.brokers, *place),
                None => {
                    let mut ledger = Ledger::created(key.clone(), state, min_isr, &self.brokers, at);
                    // Made at some time in the stretch that was not seen.
                    if let Some(unseen) = self.unseen.as_ref().filter(|_| state.at.in_gap) {
                        ledger.hide(unseen.from, &unseen.why, true);
                    }
                    if let Some(why) = &self.not_understood {
                        ledger.hide(at, why, false);
                    }
                    self.ledgers.insert(key.clone(), ledger);
                    Seen::default()
                }
            };
            seen.insert(key, what);
        }
        for (key, ledger) in &mut self.ledgers {
            ledger.set_min_isr(self.min_isr.of_partition(&key.topic, ledger.replicas()), at);
        }
        // A registration counts for the records after it: shutdown records come first in its batch.
        for state in &batch.brokers {
            let stop = self.brokers.record(state, at);
            self.stopped(stop);
        }
        for (key, ledger) in &mut self.ledgers {
            ledger.test(seen.remove(key).unwrap_or_default(), &self.brokers, at);
        }
        // Differences are told in one batch of their own.
        self.unseen = None;
    }
}

fn ends_processes(fault: &str) -> bool {
    fault == POWER_CUT || fault == CRASH
}

/// The faults that certainly did not happen.
fn refused(history: &History) -> BTreeSet<u64> {
    let of = |entry: &Entry| match &entry.body {
        Body::Fault(fault) if entry.kind == Kind::Fail && fault.action == FaultAction::Inject => {
            Some(fault.id)
        }
        _ => None,
    };
    history.entries.iter().filter_map(of).collect()
}

/// What disks lost, each with the time at which its fault was asked; where no fault was, its own.
fn losses(history: &History) -> Vec<Loss<'_>> {
    let mut asked = BTreeMap::new();
    let mut losses = Vec::new();
    for entry in &history.entries {
        match &entry.body {
            Body::Fault(fault) if entry.kind == Kind::Invoke && fault.action == FaultAction::Inject => {
                asked.insert(fault.id, entry.time);
            }
            Body::Disk(loss) => losses.push((loss, asked.get(&loss.fault).copied().unwrap_or(entry.time))),
            _ => {}
        }
    }
    losses
}

/// The entries that end a batch of the metadata log.
fn batch_ends(history: &History) -> BTreeSet<u64> {
    let mut ends = BTreeSet::new();
    let mut last: Option<(u64, i64)> = None;
    for entry in &history.entries {
        let Some(place) = place(&entry.body) else { continue };
        if let Some((index, batch)) = last
            && batch != place.batch
        {
            ends.insert(index);
        }
        last = Some((entry.index, place.batch));
    }
    ends.extend(last.map(|(index, _)| index));
    ends
}

fn place(body: &Body) -> Option<LogPlace> {
    match body {
        Body::Partition(state) => Some(state.at),
        Body::Broker(state) => Some(state.at),
        Body::Config(change) => Some(change.at),
        Body::Feature(level) => Some(level.at),
        Body::TopicRemoved(removed) => Some(removed.at),
        _ => None,
    }
}
