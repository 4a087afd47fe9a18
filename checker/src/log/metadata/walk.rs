//! The walk along the metadata log, record by record and batch by batch.

use super::{Metadata, Offence, Policy, QuorumLed, Step};
use crate::log::facts::{Mark, Names};
use crate::log::faults::Faults;
use crate::log::promise::MinIsr;
use history::{Body, BrokerChange, BrokerState, Entry, History, Key, LogPlace, PartitionState};
use std::collections::{BTreeMap, BTreeSet};

/// The feature that switches ELR on.
const ELR_FEATURE: &str = "eligible.leader.replicas.version";
/// The setting whose change makes a system clear ELRs.
const MIN_ISR: &str = "min.insync.replicas";

/// More records than a controller writes for one registration: further is not looked.
const MOST_RECORDS: usize = 10_000;

/// Reads the whole log.
pub(super) fn walk<'a>(history: &'a History, names: &Names, faults: &Faults<'a>) -> Metadata<'a> {
    let level = history.header.features.get(ELR_FEATURE).copied();
    let mut walk = Walk {
        names,
        faults,
        min_isr: MinIsr::of(&history.header),
        min_isr_before: None,
        policy: Policy::of(&history.header, faults),
        elr_level: (level, level),
        may_clear_elr: false,
        batch: None,
        in_batch: Vec::new(),
        brokers: BTreeMap::new(),
        current: BTreeMap::new(),
        events: Vec::new(),
        places: Vec::new(),
        told: Metadata {
            steps: BTreeMap::new(),
            offences: Vec::new(),
            is_whole: true,
            last_seen: 0,
            min_isr_set: Vec::new(),
            quorum_leaders: Vec::new(),
            active_since: BTreeMap::new(),
            last_restart: 0,
            removed: BTreeSet::new(),
        },
        after_gap: false,
        is_blind: false,
    };
    for entry in &history.entries {
        walk.take(entry);
    }
    walk.end_batch();
    walk.tell_registrations();
    walk.told
}

struct Walk<'a, 'n> {
    names: &'n Names,
    faults: &'n Faults<'a>,
    min_isr: MinIsr,
    /// As it was before the batch, where the batch changes it.
    min_isr_before: Option<MinIsr>,
    policy: Policy<'a>,
    /// Before the batch, and now.
    elr_level: (Option<i16>, Option<i16>),
    may_clear_elr: bool,
    batch: Option<(i64, bool)>,
    /// The steps of the open batch.
    in_batch: Vec<(Key, usize)>,
    brokers: BTreeMap<i32, Registration>,
    current: BTreeMap<Key, Current<'a>>,
    /// What came in which order: a broker's record, or none for a partition's.
    events: Vec<(i64, Option<(i32, BrokerChange)>)>,
    /// Where among the events each step stands.
    places: Vec<(Key, usize, usize)>,
    told: Metadata<'a>,
    /// A stretch was not seen, or was taken back.
    after_gap: bool,
    /// A record was not understood: nothing after it can be told.
    is_blind: bool,
}

#[derive(Clone)]
struct Registration {
    epoch: i64,
    incarnation: String,
    fenced: bool,
    leaving: bool,
}

struct Current<'a> {
    state: &'a PartitionState,
    may_be_recovering: bool,
}

impl<'a> Walk<'a, '_> {
    fn take(&mut self, entry: &'a Entry) {
        let seen = Mark {
            index: entry.index,
            time: entry.time,
        };
        let place = match &entry.body {
            Body::Partition(state) => state.at,
            Body::Broker(state) => state.at,
            Body::Config(change) => change.at,
            Body::Feature(level) => level.at,
            Body::TopicRemoved(removed) => removed.at,
            Body::MetadataGap(_) | Body::MetadataDiverged(_) => {
                self.told.is_whole = false;
                self.after_gap = true;
                return;
            }
            Body::Quorum(state) => return self.led(state.leader, state.epoch, seen, false),
            Body::QuorumLeader(led) => return self.led(led.leader, led.epoch, seen, true),
            Body::Node(_) => {
                self.told.last_restart = seen.time;
                return;
            }
            Body::MetadataUnread(unread) => {
                self.is_blind |= unread.hides;
                self.told.is_whole &= !unread.hides;
                return;
            }
            _ => return,
        };
        self.begin_batch(place);
        self.told.last_seen = seen.time;
        match &entry.body {
            Body::Partition(state) => self.partition(state, seen),
            Body::Broker(state) => self.broker(state, seen),
            Body::Config(change) => {
                if change.name == MIN_ISR {
                    self.told.min_isr_set.push(seen.time);
                    self.may_clear_elr = true;
                    self.min_isr_before.get_or_insert_with(|| self.min_isr.clone());
                }
                self.min_isr.take(change);
                self.policy.take(change);
            }
            Body::Feature(level) => {
                self.may_clear_elr = true;
                if level.name == ELR_FEATURE {
                    self.elr_level.1 = Some(level.level);
                }
            }
            Body::TopicRemoved(removed) => _ = self.told.removed.insert(removed.id.clone()),
            _ => {}
        }
    }

    fn led(&mut self, leader: i32, epoch: i32, by: Mark, is_record: bool) {
        if leader >= 0 {
            let is_judged = !std::mem::take(&mut self.after_gap) && !self.is_blind;
            self.told.quorum_leaders.push(QuorumLed {
                leader,
                epoch,
                by,
                is_record,
                is_judged,
            });
        }
    }

    fn begin_batch(&mut self, place: LogPlace) {
        let batch = (place.batch, place.in_gap);
        if self.batch != Some(batch) {
            self.end_batch();
            self.batch = Some(batch);
        }
    }

    fn end_batch(&mut self) {
        let fenced = |id: &i32| self.brokers.get(id).is_none_or(|broker| broker.fenced);
        let in_batch = std::mem::take(&mut self.in_batch);
        let mut later: Vec<&Key> = Vec::new();
        for (key, number) in in_batch.iter().rev() {
            let Some(step) = self
                .told
                .steps
                .get_mut(key)
                .and_then(|steps| steps.get_mut(*number))
            else {
                continue;
            };
            step.ends_batch = !later.contains(&key);
            later.push(key);
            let before = self.min_isr_before.as_ref().unwrap_or(&self.min_isr);
            let replicas = |state: &PartitionState| state.replicas.len();
            step.min_isr = (
                before.of_partition(&key.topic, replicas(step.before.unwrap_or(step.state))),
                self.min_isr.of_partition(&key.topic, replicas(step.state)),
            );
            step.elr_level = self.elr_level;
            step.may_clear_elr = self.may_clear_elr;
            step.fenced = step.state.replicas.iter().copied().filter(fenced).collect();
        }
        self.min_isr_before = None;
        self.may_clear_elr = false;
        self.elr_level.0 = self.elr_level.1;
    }

    fn partition(&mut self, state: &'a PartitionState, seen: Mark) {
        let key = self.names.known(&state.key);
        let known = self.current.get(&key);
        let active = |id: &&i32| {
            let broker = self.brokers.get(*id);
            broker.is_some_and(|broker| !broker.fenced && !broker.leaving)
        };
        let may_be_recovering = known.is_some_and(|known| known.may_be_recovering);
        let step = Step {
            seen,
            state,
            before: known.map(|known| known.state),
            is_judged: !state.at.in_gap && !self.is_blind,
            ends_batch: false,
            active: state.replicas.iter().filter(active).copied().collect(),
            fenced: Vec::new(),
            min_isr: (0, 0),
            elr_level: self.elr_level,
            may_clear_elr: false,
            allowed: self.policy.allows(&key.topic, seen.time),
            is_asked: self.faults.ask_unclean_election(seen.time),
            may_be_recovering,
            registers: Vec::new(),
            may_register: Vec::new(),
        };
        // One that recovers leads alone. What was not seen may have set it.
        let may_be_recovering =
            (may_be_recovering || state.recovering || state.at.in_gap) && state.isr.len() <= 1;
        let current = Current {
            state,
            may_be_recovering,
        };
        self.current.insert(key.clone(), current);
        self.events.push((state.at.batch, None));
        let steps = self.told.steps.entry(key.clone()).or_default();
        self.in_batch.push((key.clone(), steps.len()));
        self.places.push((key, steps.len(), self.events.len()));
        steps.push(step);
    }

    fn broker(&mut self, state: &'a BrokerState, seen: Mark) {
        self.events
            .push((state.at.batch, Some((state.broker, state.change))));
        if !state.at.in_gap && !self.is_blind {
            let text = self.offence(state);
            self.told.offences.extend(text.map(|text| Offence { seen, text }));
        }
        let known = self.brokers.get_mut(&state.broker);
        match (state.change, known) {
            (BrokerChange::Registered, _) => {
                let new = Registration {
                    epoch: state.epoch,
                    incarnation: state.incarnation.clone(),
                    fenced: true,
                    leaving: false,
                };
                self.brokers.insert(state.broker, new);
            }
            (BrokerChange::Unregistered, _) => _ = self.brokers.remove(&state.broker),
            (BrokerChange::Fenced, Some(known)) => known.fenced = true,
            (BrokerChange::Unfenced, Some(known)) => known.fenced = false,
            (BrokerChange::ControlledShutdown, Some(known)) => known.leaving = true,
            (_, None) => {}
        }
        let is_active = self
            .brokers
            .get(&state.broker)
            .is_some_and(|known| !known.fenced && !known.leaving);
        match is_active {
            true => _ = self.told.active_since.entry(state.broker).or_insert(seen.time),
            false => _ = self.told.active_since.remove(&state.broker),
        }
    }

    /// What is wrong with a broker's record.
    fn offence(&self, state: &BrokerState) -> Option<String> {
        let BrokerState { broker, epoch, .. } = state;
        let what = match state.change {
            BrokerChange::Registered => "registers",
            BrokerChange::Fenced => "is fenced",
            BrokerChange::Unfenced => "is unfenced",
            BrokerChange::ControlledShutdown => "shuts down",
            BrokerChange::Unregistered => "is unregistered",
        };
        match (state.change, self.brokers.get(broker)) {
            (BrokerChange::Registered, None) => None,
            (BrokerChange::Registered, Some(known)) => {
                let is_same = !known.incarnation.is_empty() && known.incarnation == state.incarnation;
                let rises = *epoch > known.epoch || (is_same && *epoch == known.epoch);
                (!rises).then(|| {
                    format!(
                        "broker {broker} {what} with broker epoch {epoch}, and epoch {} was given before",
                        known.epoch
                    )
                })
            }
            (_, None) => Some(format!("broker {broker} {what}, and it is not registered")),
            (_, Some(known)) => (known.epoch != *epoch).then(|| {
                format!(
                    "broker {broker} {what} in broker epoch {epoch}, and its registration has epoch {}",
                    known.epoch
                )
            }),
        }
    }

    /// Which replicas of a step register next: their removal comes first, in the batch of the registration or in one
    /// that it follows at once.
    fn tell_registrations(&mut self) {
        for (key, number, place) in &self.places {
            let Some(step) = self
                .told
                .steps
                .get_mut(key)
                .and_then(|steps| steps.get_mut(*number))
            else {
                continue;
            };
            let members = step
                .before
                .iter()
                .flat_map(|before| before.isr.iter().chain(&before.elr));
            let gone = |id: &&i32| !step.state.isr.contains(id) && !step.state.elr.contains(id);
            let mut gone: Vec<i32> = members.filter(gone).copied().collect();
            let next = |id: &i32| registers_next(&self.events[*place..], step.state.at.batch, *id);
            (step.registers, gone) = gone.into_iter().partition(|id| next(id) == Some(true));
            gone.retain(|id| next(id).is_none());
            step.may_register = gone;
        }
    }
}

fn registers_next(events: &[(i64, Option<(i32, BrokerChange)>)], batch: i64, broker: i32) -> Option<bool> {
    for (of, event) in events.iter().take(MOST_RECORDS) {
        match event {
            Some((id, change)) if *id == broker => {
                return Some(matches!(
                    change,
                    BrokerChange::Registered | BrokerChange::Unregistered
                ));
            }
            Some(_) if *of != batch => return Some(false),
            Some(_) | None => {}
        }
    }
    // What follows was not seen.
    None
}
