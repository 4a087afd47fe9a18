//! The history's entries, handed to the ledgers in the order that excuses.

use super::Loss;
use super::brokers::{Brokers, Taken, UncleanStop};
use super::ledger::{Ledger, Seen};
use super::seconds;
use super::settings::MinIsr;
use crate::log::facts::{Mark, Names};
use crate::log::faults::Faults;
use crate::log::metadata::{Metadata, Overruled};
use crate::log::profile::Profile;
use history::{
    Body, BrokerState, ConfigChange, Entry, Fault, FaultAction, History, Key, Kind, LogPlace, NodeEvent,
    PartitionState,
};
use std::collections::{BTreeMap, BTreeSet};

/// A fault that cuts a node's power: its process ends, its disk loses what it had not synced.
const POWER_CUT: &str = "power-cut";
/// A fault that kills a node's process: the page cache stays.
const CRASH: &str = "crash";
/// Faults that swap a node's disk for another; the second for one of the past.
const DISK_REPLACE: &str = "disk-replace";
const DISK_ROLL_BACK: &str = "disk-roll-back";
/// Its disk answers syncs that it does not do.
const DISK_SYNC_LIES: &str = "disk-sync-lies";
/// Faults that change or cut off bytes that were synced, while the node stands still.
const DAMAGE: [&str; 2] = ["disk-corrupt", "disk-truncate"];
/// A second process with a node's number.
const TWIN: &str = "twin";

/// What the entries make.
pub(super) struct Feed<'a> {
    pub ledgers: BTreeMap<Key, Ledger>,
    /// What disks lost, each with the time at which its fault was asked.
    pub losses: Vec<Loss<'a>>,
    /// When a disk first lost power without a ledger telling what went.
    pub untold_loss: Option<u64>,
    /// When the metadata quorum lost what it had synced, and how.
    pub quorum_lost: Option<(u64, String)>,
    names: &'a Names,
    faults: &'a Faults<'a>,
    /// Elections that policy or operator allowed, by their entries.
    overruled: BTreeMap<u64, Overruled>,
    /// Whether the system clears ELRs where min ISR is set.
    clears_elr: bool,
    /// The quorum's voters, where they are known.
    voters: Option<Vec<i32>>,
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
    /// Elections that policy or operator allowed.
    overruled: Vec<(Key, Overruled)>,
}

impl<'a> Feed<'a> {
    /// Reads a history from its first entry to its last.
    pub fn run(
        history: &'a History,
        names: &'a Names,
        faults: &'a Faults<'a>,
        metadata: &Metadata<'_>,
    ) -> Feed<'a> {
        let mut feed = Feed {
            ledgers: BTreeMap::new(),
            losses: losses(history),
            untold_loss: None,
            quorum_lost: None,
            faults,
            overruled: metadata.overruled(),
            clears_elr: Profile::of(&history.header).clears_elr,
            voters: None,
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
                let key = self.names.known(&state.key);
                if let Some(overruled) = self.overruled.get(&entry.index) {
                    self.batch.overruled.push((key.clone(), *overruled));
                }
                self.batch.partitions.insert(key, (state, seen));
            }
            Body::Config(change) => self.batch.configs.push(change),
            Body::Broker(state) => self.batch.brokers.push(state),
            Body::Voters(voters) => {
                self.voters = Some(voters.voters.iter().map(|voter| voter.node).collect());
            }
            Body::QuorumLeader(led) => self.voters = Some(led.voters.clone()),
            Body::Node(seen) => {
                let taken = self.taken(seen.node, entry.time);
                let asked = self.asked_of(seen.node, entry.time);
                let stop = self.brokers.process(seen, entry.time, asked, taken);
                self.stopped(stop);
                if seen.event == NodeEvent::Started {
                    self.started(seen.node, entry.time);
                }
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
            Body::Fault(fault) if entry.kind == Kind::Invoke && !did_not_happen.contains(&fault.id) => {
                self.disk_or_twin(fault, entry);
            }
            Body::Fault(fault) => self.done(fault),
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

    fn started(&mut self, node: i32, at: u64) {
        if let Some(damage) = self.brokers.damaged_again(node) {
            let ledgers = self.ledgers.values_mut();
            ledgers.for_each(|ledger| ledger.damage(node, &damage, at));
        }
    }

    /// A fault of disks, or a second process, is put in or taken out.
    fn disk_or_twin(&mut self, fault: &'a Fault, entry: &Entry) {
        let injects = fault.action == FaultAction::Inject;
        let puts_back = !injects && self.param(fault, entry, "afterwards") == Some("put-back");
        let at = entry.time;
        for &node in &fault.nodes {
            let what = format!("{} of broker {node}", fault.name);
            let (swaps, damages) = match &*fault.name {
                DISK_REPLACE => (injects || puts_back, puts_back),
                DISK_ROLL_BACK => (injects || puts_back, injects || puts_back),
                DISK_SYNC_LIES => (false, injects),
                name => (false, injects && DAMAGE.contains(&name)),
            };
            if fault.name == TWIN && injects && self.takes_over(fault, entry) {
                let stop = self.brokers.second_started(node, at);
                self.stopped(Some(stop));
            }
            if fault.name == TWIN && !injects {
                let stop = self.brokers.second_killed(node, at);
                self.stopped(stop);
            }
            if swaps {
                self.ledgers
                    .values_mut()
                    .for_each(|ledger| ledger.swapped(node, at));
                let stop = self.brokers.swapped(node, at, what.clone());
                self.stopped(Some(stop));
            }
            if damages {
                self.untold_loss.get_or_insert(at);
                let damage = self.brokers.damaged(node, what, fault.name == DISK_SYNC_LIES);
                let ledgers = self.ledgers.values_mut();
                ledgers.for_each(|ledger| ledger.damage(node, &damage, at));
            }
            let is_voter = self.voters.as_ref().is_none_or(|voters| voters.contains(&node));
            let loses = match &*fault.name {
                // A lie takes nothing before the power goes.
                DISK_SYNC_LIES => self
                    .losses
                    .iter()
                    .any(|(loss, asked)| loss.node == node && *asked >= at),
                _ => swaps || damages,
            };
            if is_voter && loses {
                let why = format!(
                    "{} of voter {node} at {}: one voter that loses what it synced is enough",
                    fault.name,
                    seconds(at)
                );
                self.ledgers
                    .values_mut()
                    .for_each(|ledger| ledger.quorum_lost(at, &why));
                self.quorum_lost.get_or_insert((at, why));
            }
        }
    }

    /// A fault that damages disks is done with them.
    fn done(&mut self, fault: &Fault) {
        let lies_end = fault.name == DISK_SYNC_LIES && fault.action == FaultAction::Heal;
        let is_done =
            DAMAGE.contains(&&*fault.name) || [DISK_REPLACE, DISK_ROLL_BACK].contains(&&*fault.name);
        for &node in fault.nodes.iter().filter(|_| lies_end || is_done) {
            self.brokers.damage_done(node);
        }
    }

    /// Whether a second process is registered instead of the first, or may be.
    fn takes_over(&self, fault: &Fault, entry: &Entry) -> bool {
        let mut acts = self.faults.named(&fault.name);
        let act = acts.find(|act| act.asked.index == entry.index);
        let end = act.and_then(|act| act.end).filter(|end| end.kind == Kind::Ok);
        end.is_none_or(|end| {
            end.fault
                .measured
                .get("registrations")
                .is_none_or(|seen| *seen > 0.0)
        })
    }

    /// A parameter of the act that an entry asks for.
    fn param(&self, fault: &'a Fault, entry: &Entry, name: &str) -> Option<&'a str> {
        let mut acts = self.faults.named(&fault.name);
        acts.find(|act| act.asked.index == entry.index)?.param(name)
    }

    /// Since when a fault or its heal has been at work on a node, at a time.
    fn asked_of(&self, node: i32, time: u64) -> u64 {
        let at_work = self.faults.all().filter(|act| {
            let goes_on = act.end.is_none_or(|end| end.at.time >= time);
            act.asked.time <= time && goes_on && act.fault.nodes.contains(&node)
        });
        at_work.map(|act| act.asked.time).min().unwrap_or(time)
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
        let clears = |topic: &str| {
            let mut set = batch.configs.iter().filter(|change| MinIsr::is_set_by(change));
            self.clears_elr && set.any(|change| change.resource.is_empty() || change.resource == topic)
        };
        for (_, ledger) in self.ledgers.iter_mut().filter(|(key, _)| clears(&key.topic)) {
            ledger.cleared(at);
        }
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
                    if let Some((_, why)) = &self.quorum_lost {
                        ledger.quorum_lost(at, why);
                    }
                    self.ledgers.insert(key.clone(), ledger);
                    Seen::default()
                }
            };
            seen.insert(key, what);
        }
        for (key, overruled) in &batch.overruled {
            if let Some(ledger) = self.ledgers.get_mut(key) {
                ledger.overruled(overruled.leader, overruled.past_members, at);
            }
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
