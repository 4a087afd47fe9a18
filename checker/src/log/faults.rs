//! Faults as the history has them: what was asked, when, with which parameters, and what was seen of it.

use super::facts::Mark;
use history::{Body, Fault, FaultAction, History, Kind};
use std::collections::BTreeMap;

/// How long after something happened the observer may tell of it. What was seen of the metadata within this time of
/// an answer may have been so already when it was answered.
pub(crate) const OBSERVER_LAG: u64 = 5_000_000_000;

/// An operator's wish for an election past those who may lead.
const ELECT_UNCLEAN: &str = "elect-unclean";

/// A topic is deleted, and made again.
const RECREATE_TOPIC: &str = "recreate-topic";

/// A fault that was put in or taken out.
#[derive(Clone, Debug)]
pub(crate) struct Act<'a> {
    /// What was asked.
    pub fault: &'a Fault,
    /// When.
    pub asked: Mark,
    /// How it ended, where it did.
    pub end: Option<End<'a>>,
}

/// How an act ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    /// When.
    pub at: Mark,
    /// Whether it took.
    pub kind: Kind,
    /// What was measured.
    pub fault: &'a Fault,
}

impl Act<'_> {
    /// Whether it certainly did not happen.
    pub fn was_refused(&self) -> bool {
        self.end.is_some_and(|end| end.kind == Kind::Fail)
    }

    /// Whether it may still be going on at a time, or may be seen to have by then. An act whose end was not seen may
    /// happen at any later time.
    pub fn may_work_at(&self, time: u64) -> bool {
        let ended = self.end.filter(|end| end.kind == Kind::Ok);
        !self.was_refused()
            && self.asked.time <= time
            && ended.is_none_or(|end| end.at.time.saturating_add(OBSERVER_LAG) >= time)
    }

    /// A parameter, as the words of who asked have it: `follower {taken = "stopped", age_ms = 20}`.
    pub fn param(&self, name: &str) -> Option<&str> {
        let (_, params) = self.fault.asked.split_once('{')?;
        let after = params.match_indices(name).find_map(|(at, _)| {
            let before = params[..at].trim_end();
            let starts = before.is_empty() || before.ends_with(',');
            params[at + name.len()..]
                .trim_start()
                .strip_prefix('=')
                .filter(|_| starts)
        })?;
        let after = after.trim_start();
        match after.strip_prefix('"') {
            Some(text) => text.split('"').next(),
            None => after.split([',', '}']).next().map(str::trim),
        }
    }
}

/// All acts of a history, in the order in which they were asked.
pub(crate) struct Faults<'a>(Vec<Act<'a>>);

impl<'a> Faults<'a> {
    /// Reads a history.
    pub fn of(history: &'a History) -> Faults<'a> {
        let mut acts: Vec<Act<'a>> = Vec::new();
        let mut open: BTreeMap<(u64, bool), usize> = BTreeMap::new();
        for entry in &history.entries {
            let Body::Fault(fault) = &entry.body else { continue };
            let at = Mark {
                index: entry.index,
                time: entry.time,
            };
            let which = (fault.id, fault.action == FaultAction::Inject);
            if entry.kind == Kind::Invoke {
                open.insert(which, acts.len());
                acts.push(Act {
                    fault,
                    asked: at,
                    end: None,
                });
            } else if let Some(act) = open.remove(&which).and_then(|place| acts.get_mut(place)) {
                act.end = Some(End {
                    at,
                    kind: entry.kind,
                    fault,
                });
            }
        }
        Faults(acts)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Act<'a>> {
        self.0.iter()
    }

    /// Those of one name.
    pub fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Act<'a>> {
        self.all().filter(move |act| act.fault.name == name)
    }

    /// Whether a topic's removal was asked for: its records are released from then on.
    pub fn ask_removal(&self) -> bool {
        self.named(RECREATE_TOPIC).any(|act| !act.was_refused())
    }

    /// Whether an operator may have asked for the unclean election that was seen at a time.
    pub fn ask_unclean_election(&self, time: u64) -> bool {
        self.named(ELECT_UNCLEAN).any(|act| act.may_work_at(time))
    }
}
