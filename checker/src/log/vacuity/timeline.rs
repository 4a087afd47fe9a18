//! Steps, faults and what disks lost, as the requirements ask for them.

use crate::log::facts::Mark;
use history::{Body, DiskLoss, Fault, FaultAction, History, Kind, Step};
use std::collections::BTreeMap;

/// What the harness and the nemesis did.
pub(super) struct Timeline<'a> {
    /// When each step began.
    begun: BTreeMap<&'a str, Mark>,
    /// The last word on each step.
    last: BTreeMap<&'a str, &'a Step>,
    /// The faults that were applied, and when that was known.
    applied: Vec<(&'a Fault, Mark)>,
    losses: Vec<&'a DiskLoss>,
}

impl<'a> Timeline<'a> {
    /// Reads a history.
    pub fn of(history: &'a History) -> Timeline<'a> {
        let mut timeline = Timeline {
            begun: BTreeMap::new(),
            last: BTreeMap::new(),
            applied: Vec::new(),
            losses: Vec::new(),
        };
        for entry in &history.entries {
            let now = Mark {
                index: entry.index,
                time: entry.time,
            };
            match &entry.body {
                Body::Step(step) => {
                    timeline.begun.entry(&step.name).or_insert(now);
                    timeline.last.insert(&step.name, step);
                }
                Body::Fault(fault) if entry.kind == Kind::Ok && fault.action == FaultAction::Inject => {
                    timeline.applied.push((fault, now));
                }
                Body::Disk(loss) => timeline.losses.push(loss),
                _ => {}
            }
        }
        timeline
    }

    /// When a step began.
    pub fn begun(&self, step: &str) -> Option<Mark> {
        self.begun.get(step).copied()
    }

    /// The steps whose last word is that their state was not reached.
    pub fn unreached_steps(&self) -> impl Iterator<Item = &'a Step> {
        self.last.values().copied().filter(|step| !step.reached)
    }

    /// The applications of a fault.
    pub fn applied(&self, name: &str) -> impl Iterator<Item = (&'a Fault, Mark)> {
        self.applied
            .iter()
            .copied()
            .filter(move |(fault, _)| fault.name == name)
    }

    /// What disks lost to one application of a fault.
    pub fn losses(&self, fault: u64) -> impl Iterator<Item = &'a DiskLoss> {
        self.losses
            .iter()
            .copied()
            .filter(move |loss| loss.fault == fault)
    }
}
