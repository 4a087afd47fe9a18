//! The ledger of one partition under KIP-966: fewer than M unclean stops between two wholes lose nothing.
//!
//! Invariants: the dirty are replicas; the removed are dirty; nothing is promised while the spent (dirty members
//! of ISR ∪ ELR, and the removed) are as many as the budget, nor until the first whole after a creation that was
//! not whole.

use super::brokers::{Brokers, Damage, Taken, UncleanStop};
use super::{Span, seconds};
use crate::BadInterval;
use crate::log::facts::Mark;
use history::{Key, PartitionState};
use std::collections::BTreeSet;

type Nodes = BTreeSet<i32>;

/// The account.
pub(crate) struct Ledger {
    key: Key,
    replicas: Nodes,
    isr: Nodes,
    elr: Nodes,
    leader: i32,
    leader_epoch: i32,
    /// M.
    min_isr: usize,
    /// D: replicas whose last unclean stop they were not readmitted after.
    dirty: Nodes,
    /// R: dirty replicas removed from ISR ∪ ELR since the partition was last whole.
    removed: Nodes,
    /// B.
    budget: usize,
    /// When a raise of M opened the window W.
    raised_at: Option<u64>,
    bad: Vec<BadInterval>,
    /// Which of them flushing every append is no help against: damage, and elections that policy or operator allowed.
    beyond_flushes: Vec<usize>,
    /// Where in `bad` the interval stands that waits for the first whole.
    not_started: Option<usize>,
    /// Where in `bad` the interval stands that a spent budget opened.
    spent: Option<usize>,
    /// Where in `bad` the interval stands that unseen metadata opened, and whether a whole shuts it.
    hidden: Option<(usize, bool)>,
    /// What of the metadata was not seen, the first time.
    hidden_by: Option<String>,
    /// Where in `bad` the interval stands that an election opened which policy or operator allowed.
    overruled: Option<usize>,
    /// When the first such election was seen.
    overruled_at: Option<u64>,
    /// Replicas whose disks were damaged and which the ISR has not readmitted under a new epoch since.
    damaged: Nodes,
    /// Where in `bad` the interval stands that a damaged disk of a member opened.
    void: Option<usize>,
    /// When a replica's disk was first swapped for another.
    swapped_at: Option<u64>,
    /// Whether the metadata quorum lost its disks: nothing is promised any more.
    is_quorum_lost: bool,
    spent_by: Vec<String>,
    era: u32,
    terms: Vec<Term>,
    dirty_leaders: Vec<DirtyLeader>,
}

/// A leadership in the committed log.
#[derive(Clone, Copy, Debug)]
struct Term {
    leader: i32,
    epoch: i32,
    from: u64,
    to: Option<u64>,
}

/// A leader elected inside the promise although its disk had lost records and it had not been readmitted since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirtyLeader {
    /// The broker.
    pub broker: i32,
    /// The leader epoch.
    pub epoch: i32,
    /// When the record was seen.
    pub at: u64,
    /// The index of the record's entry.
    pub index: u64,
    /// How many records of the partition it had lost.
    pub records: u64,
    /// What took them.
    pub what: String,
    /// When that was asked.
    pub stopped_at: u64,
}

/// What a batch's records of a partition showed, for the test at its end.
#[derive(Default)]
pub(super) struct Seen {
    elected: Option<Elected>,
}

struct Elected {
    broker: i32,
    epoch: i32,
    index: u64,
    /// Whether it was dirty before this record's own admission.
    was_dirty: bool,
    was_in_force: bool,
}

impl Ledger {
    /// Rule 1: a partition is created. Brokers that stopped uncleanly before it existed are dirty in it.
    pub(super) fn created(
        key: Key,
        state: &PartitionState,
        min_isr: usize,
        brokers: &Brokers,
        at: u64,
    ) -> Ledger {
        let replicas = nodes(&state.replicas);
        let dirty = replicas
            .iter()
            .copied()
            .filter(|b| !brokers.is_clean(*b))
            .collect();
        let mut ledger = Ledger {
            key,
            replicas,
            isr: nodes(&state.isr),
            elr: nodes(&state.elr),
            leader: state.leader,
            leader_epoch: state.leader_epoch,
            min_isr,
            dirty,
            removed: Nodes::new(),
            budget: min_isr,
            raised_at: None,
            bad: Vec::new(),
            beyond_flushes: Vec::new(),
            not_started: None,
            spent: None,
            hidden: None,
            hidden_by: None,
            overruled: None,
            overruled_at: None,
            damaged: Nodes::new(),
            void: None,
            swapped_at: None,
            is_quorum_lost: false,
            spent_by: Vec::new(),
            era: 0,
            terms: Vec::new(),
            dirty_leaders: Vec::new(),
        };
        if ledger.isr.difference(&ledger.dirty).count() < min_isr {
            let why = "it was created with fewer clean in-sync replicas than min.insync.replicas".to_owned();
            ledger.not_started = Some(ledger.open(at, why));
        }
        ledger.term(state, at);
        for broker in ledger.replicas.clone() {
            // What was damaged before the partition was made is nothing of its own.
            if let Some(damage) = brokers.damage(broker).filter(|damage| damage.goes_on) {
                ledger.damage(broker, damage, at);
            }
        }
        ledger
    }

    /// Rule 2: an unclean stop of a replica.
    pub(super) fn unclean_stop(&mut self, stop: &UncleanStop, brokers: &Brokers) {
        // One that was seen late, after the broker came back, is over.
        let stands = stop.is_takeover || !brokers.is_clean(stop.broker);
        if self.replicas.contains(&stop.broker) && stands {
            self.dirty.insert(stop.broker);
            self.test_budget(brokers, stop.at);
        }
    }

    /// A replica's disk was swapped for another.
    pub(super) fn swapped(&mut self, broker: i32, at: u64) {
        if self.replicas.contains(&broker) {
            self.swapped_at.get_or_insert(at);
        }
    }

    /// Rule 9: a replica's disk was damaged silently.
    pub(super) fn damage(&mut self, broker: i32, damage: &Damage, at: u64) {
        if self.replicas.contains(&broker) {
            self.damaged.insert(broker);
            self.test_damage(at, &damage.what);
        }
    }

    /// Opens what is void, where a member's disk is damaged.
    fn test_damage(&mut self, at: u64, what: &str) {
        let is_member = |id: &i32| self.isr.contains(id) || self.elr.contains(id);
        if self.void.is_none() && self.damaged.iter().any(is_member) {
            let why = format!("a member's disk was damaged: {what} at {}", seconds(at));
            self.void = Some(self.open_beyond_flushes(at, why));
        }
    }

    /// Rule 10: the metadata quorum lost what it had synced. Nothing makes an end of that.
    pub(super) fn quorum_lost(&mut self, at: u64, why: &str) {
        if !self.is_quorum_lost {
            self.is_quorum_lost = true;
            self.open_beyond_flushes(at, why.to_owned());
        }
    }

    /// Rule 8: policy or an operator allowed a leader that lacks records; whether ISR or ELR had members.
    pub(super) fn overruled(&mut self, leader: i32, past_members: bool, at: u64) {
        self.overruled_at.get_or_insert(at);
        if past_members && self.overruled.is_none() {
            let why = format!(
                "policy or operator allowed the election of broker {leader} past members of ISR and ELR at {}",
                seconds(at)
            );
            self.overruled = Some(self.open_beyond_flushes(at, why));
        }
    }

    /// Of rule 6: the system clears all ELRs where min ISR is set, so a promise begins at the next whole.
    pub(super) fn cleared(&mut self, at: u64) {
        if self.not_started.is_none() {
            let why = format!(
                "the system cleared the ELR when min ISR was set at {}",
                seconds(at)
            );
            self.not_started = Some(self.open(at, why));
        }
    }

    /// Rules 3 and 4: the records of a batch changed the partition.
    pub(super) fn changed(&mut self, state: &PartitionState, brokers: &Brokers, at: Mark) -> Seen {
        let elected = (state.leader >= 0
            && (state.leader, state.leader_epoch) != (self.leader, self.leader_epoch))
            .then(|| Elected {
                broker: state.leader,
                epoch: state.leader_epoch,
                index: at.index,
                was_dirty: self.dirty.contains(&state.leader),
                was_in_force: self.is_in_force(),
            });
        let replicas = nodes(&state.replicas);
        let joined = replicas
            .difference(&self.replicas)
            .filter(|b| !brokers.is_clean(**b));
        self.dirty.extend(joined.copied().collect::<Nodes>());
        let (isr, elr) = (nodes(&state.isr), nodes(&state.elr));
        for admitted in isr.difference(&self.isr) {
            if brokers.is_clean(*admitted) {
                self.dirty.remove(admitted);
            }
            if brokers.damage(*admitted).is_none() {
                self.damaged.remove(admitted);
            }
        }
        self.damaged.retain(|b| replicas.contains(b));
        for left in self
            .isr
            .union(&self.elr)
            .filter(|b| !isr.contains(b) && !elr.contains(b))
        {
            if self.dirty.contains(left) {
                self.removed.insert(*left);
            }
        }
        (self.replicas, self.isr, self.elr) = (replicas, isr, elr);
        self.test_damage(at.time, "it was admitted with the damage");
        self.term(state, at.time);
        (self.leader, self.leader_epoch) = (state.leader, state.leader_epoch);
        Seen { elected }
    }

    /// Of rule 6: M changes. A raise opens a window that nothing in this history shuts.
    pub(super) fn set_min_isr(&mut self, min_isr: usize, at: u64) {
        if min_isr > self.min_isr {
            self.raised_at.get_or_insert(at);
        }
        self.min_isr = min_isr;
        self.budget = self.budget.min(min_isr);
    }

    /// Metadata from a time on was not seen, or was taken back: what it did to this partition is unknown. Where the
    /// state is told anew after it, a whole makes an end of that, as it does of all that was before; else nothing does.
    pub(super) fn hide(&mut self, from: u64, why: &str, is_told_anew: bool) {
        self.hidden_by.get_or_insert_with(|| why.to_owned());
        self.hidden = Some(match self.hidden {
            Some((interval, shuts)) => (interval, shuts && is_told_anew),
            None => (self.open(from, why.to_owned()), is_told_anew),
        });
    }

    /// Rules 5 and 7, at the end of a committed batch.
    pub(super) fn test(&mut self, seen: Seen, brokers: &Brokers, at: u64) {
        let whole = self.isr.difference(&self.dirty).count() >= self.min_isr;
        let eligible = self
            .isr
            .union(&self.elr)
            .filter(|b| !self.dirty.contains(b))
            .count()
            >= self.min_isr;
        if whole {
            if self.raised_at.is_none() {
                self.budget = self.min_isr;
            }
            if let Some(interval) = self.not_started.take() {
                self.bad[interval].to = Some(at);
            }
            if let Some((interval, _)) = self.hidden.take_if(|(_, shuts)| *shuts) {
                self.bad[interval].to = Some(at);
            }
            let is_mended = self.damaged.is_empty();
            for interval in [self.overruled.take(), self.void.take_if(|_| is_mended)]
                .into_iter()
                .flatten()
            {
                self.bad[interval].to = Some(at);
                self.era += 1;
            }
        }
        if whole || eligible {
            self.removed.clear();
        }
        match self.spent {
            Some(interval) if self.spent_nodes().len() < self.budget => {
                if whole || (eligible && self.raised_at.is_none()) {
                    self.bad[interval].to = Some(at);
                    self.spent = None;
                    self.era += 1;
                }
            }
            _ => self.test_budget(brokers, at),
        }
        self.test_leader(seen, brokers, at);
    }

    /// Rule 7: S.
    fn spent_nodes(&self) -> Nodes {
        let members = self.isr.union(&self.elr).filter(|b| self.dirty.contains(b));
        members.chain(&self.removed).copied().collect()
    }

    fn test_budget(&mut self, brokers: &Brokers, at: u64) {
        let spent = self.spent_nodes();
        if self.spent.is_some() || spent.len() < self.budget {
            return;
        }
        let told: Vec<String> = spent.iter().map(|b| self.told(*b, brokers)).collect();
        let why = format!("{} of {}: {}", spent.len(), self.budget, told.join(", "));
        self.spent = Some(self.open(at, why));
        self.spent_by.extend(told);
    }

    fn told(&self, broker: i32, brokers: &Brokers) -> String {
        let Some(stop) = brokers.last_unclean(broker) else {
            return format!("broker {broker}");
        };
        let records = stop.taken.records_of(&self.key.topic, self.key.partition);
        let taken = match stop.taken {
            Taken::Nothing => "lossless".to_owned(),
            Taken::Records(_) if records == 0 => "lossless".to_owned(),
            Taken::Records(_) => format!("{records} records of {}", self.key),
            Taken::Untold => "loss unknown".to_owned(),
        };
        format!("{} at {} ({taken})", stop.what, seconds(stop.at))
    }

    fn open_beyond_flushes(&mut self, from: u64, why: String) -> usize {
        self.spent_by.push(why.clone());
        let interval = self.open(from, why);
        self.beyond_flushes.push(interval);
        interval
    }

    fn open(&mut self, from: u64, why: String) -> usize {
        self.bad.push(BadInterval { from, to: None, why });
        self.bad.len() - 1
    }

    fn test_leader(&mut self, seen: Seen, brokers: &Brokers, at: u64) {
        let Some(elected) = seen.elected else { return };
        let Some(stop) = brokers.last_unclean(elected.broker) else {
            return;
        };
        let records = stop.taken.records_of(&self.key.topic, self.key.partition);
        // A dead broker that was elected before the controller noticed cannot lead: it has to register first.
        let has_registered_since = brokers.is_clean(elected.broker);
        if elected.was_in_force && elected.was_dirty && has_registered_since && records > 0 {
            self.dirty_leaders.push(DirtyLeader {
                broker: elected.broker,
                epoch: elected.epoch,
                at,
                index: elected.index,
                records,
                what: stop.what.clone(),
                stopped_at: stop.at,
            });
        }
    }

    fn term(&mut self, state: &PartitionState, at: u64) {
        let open = self.terms.last_mut().filter(|term| term.to.is_none());
        if let Some(term) = open {
            if (term.leader, term.epoch) == (state.leader, state.leader_epoch) {
                return;
            }
            term.to = Some(at);
        }
        if state.leader >= 0 {
            self.terms.push(Term {
                leader: state.leader,
                epoch: state.leader_epoch,
                from: at,
                to: None,
            });
        }
    }

    fn is_in_force(&self) -> bool {
        let open = [self.not_started, self.spent, self.overruled, self.void];
        open.iter().all(Option::is_none) && self.hidden.is_none() && !self.is_quorum_lost
    }

    /// How many replicas the partition has.
    pub(super) fn replicas(&self) -> usize {
        self.replicas.len()
    }

    /// Whether the promise covers a span: no time in which nothing is promised meets it.
    pub fn covers(&self, span: &Span) -> bool {
        let is_covered = |since: u64| !self.bad.iter().any(|bad| meets(bad, since, span.until));
        let reread = span.reread.filter(|read| !self.in_window(*read));
        !self.in_window(span.known) && (is_covered(self.begins(span)) || reread.is_some_and(is_covered))
    }

    /// Whether flushing every append covers a span: no disk was damaged or swapped, and no policy or operator allowed a
    /// leader that lacks records.
    pub fn covers_flushed(&self, span: &Span) -> bool {
        let since = self.begins(span);
        let mut beyond = self
            .beyond_flushes
            .iter()
            .filter_map(|place| self.bad.get(*place));
        !self.in_window(span.known)
            && self.swapped_at.is_none_or(|at| at > span.until)
            && !beyond.any(|bad| meets(bad, since, span.until))
    }

    /// Whether the promise that is void once a byte is lost covers a span, as far as metadata tell: none of the
    /// elections that policy or operator allowed was seen by its end.
    pub fn covers_without_losses(&self, span: &Span) -> bool {
        !self.in_window(span.known)
            && self.overruled_at.is_none_or(|at| at > span.until)
            && self.covers_flushed(span)
    }

    /// Rule 6: whether a time falls in the window that a raise of M opens.
    fn in_window(&self, time: u64) -> bool {
        self.raised_at.is_some_and(|raised| time >= raised)
    }

    /// Where an operation was answered by a broker that was not the committed leader when it was invoked, the
    /// record counts from the end of that broker's last leadership.
    fn begins(&self, span: &Span) -> u64 {
        let Some(node) = span.node else { return span.since };
        let before = self.terms.partition_point(|term| term.from <= span.since);
        let terms = &self.terms[..before];
        let leads = self.leads(node, span.since);
        let last = terms.iter().rev().find(|term| term.leader == node);
        match last.and_then(|term| term.to) {
            Some(ended) if !leads => ended.min(span.since),
            // It leads, or its first leadership was seen late.
            _ => span.since,
        }
    }

    /// Whether a broker led at a time, as far as the log shows.
    pub fn leads(&self, node: i32, at: u64) -> bool {
        let before = self.terms.partition_point(|term| term.from <= at);
        let last = self.terms[..before].last();
        last.is_some_and(|term| term.leader == node && term.to.is_none_or(|to| to > at))
    }

    /// The epoch in which a broker last led at a time, as far as the log shows.
    pub fn epoch_of(&self, node: i32, at: u64) -> Option<i32> {
        let mut terms = self.terms.iter().rev().filter(|term| term.leader == node);
        terms.find(|term| term.from <= at).map(|term| term.epoch)
    }

    /// Leaders that should not have been elected.
    pub fn dirty_leaders(&self) -> &[DirtyLeader] {
        &self.dirty_leaders
    }

    /// When nothing was promised.
    pub fn bad(&self) -> &[BadInterval] {
        &self.bad
    }

    /// What spent it.
    pub fn spent_by(&self) -> &[String] {
        &self.spent_by
    }

    /// The number of the current era.
    pub fn era(&self) -> u32 {
        self.era
    }

    /// What of its metadata was not seen.
    pub fn hidden_by(&self) -> Option<&str> {
        self.hidden_by.as_deref()
    }

    /// Whether the partition was never whole.
    pub fn never_started(&self) -> bool {
        self.not_started.is_some()
    }
}

/// Whether an interval, ends included, meets a span.
fn meets(bad: &BadInterval, since: u64, until: u64) -> bool {
    bad.from <= until && bad.to.is_none_or(|to| to >= since)
}

fn nodes(list: &[i32]) -> Nodes {
    list.iter().copied().collect()
}
