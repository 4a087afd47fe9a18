//! What a run had in it: a run without an election, a truncation or a power cut shows little.

use std::fmt;

use raft::{Action, Nanos, Request};

/// How often things happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events given to a machine: messages, ticks, syncs, appends, wishes.
    pub events: u64,
    /// Leaders elected.
    pub elections: u64,
    /// Logs truncated.
    pub truncations: u64,
    /// Snapshots fetched from a leader, whole, and put in place.
    pub snapshot_fetches: u64,
    /// Snapshots fetched in vain: damaged.
    pub snapshots_refused: u64,
    /// Changes of voters that were committed.
    pub voter_changes: u64,
    /// Requests for pre-votes sent.
    pub pre_votes: u64,
    /// Nodes that lost their disk.
    pub disks_lost: u64,
    /// Nodes that lost power.
    pub power_cuts: u64,
    /// Records committed.
    pub commits: u64,
    /// Decisions that hurt: faults, power cuts within actions, phases of the script.
    pub faults: u64,
    /// Records committed after the last but one calm began, that is after a fault.
    pub commits_after_fault: u64,
    /// How many nodes a leaderless majority, a return and the like were tried with.
    pub phases: u64,
    /// The longest that the quorum took to work again.
    pub slowest_recovery: Nanos,
}

impl Counts {
    /// A machine was given an event, and wants this done.
    pub(super) fn note(&mut self, actions: &[Action]) {
        self.events += 1;
        for action in actions {
            match action {
                Action::Truncate { .. } => self.truncations += 1,
                Action::Send {
                    request: Request::Vote(vote),
                    ..
                } => self.pre_votes += u64::from(vote.pre_vote),
                _ => {}
            }
        }
    }

    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.elections += other.elections;
        self.truncations += other.truncations;
        self.snapshot_fetches += other.snapshot_fetches;
        self.snapshots_refused += other.snapshots_refused;
        self.pre_votes += other.pre_votes;
        self.disks_lost += other.disks_lost;
        self.voter_changes += other.voter_changes;
        self.power_cuts += other.power_cuts;
        self.commits += other.commits;
        self.faults += other.faults;
        self.commits_after_fault += other.commits_after_fault;
        self.phases += other.phases;
        self.slowest_recovery = self.slowest_recovery.max(other.slowest_recovery);
    }

    /// What a campaign must have had, by name.
    pub fn required(&self) -> [(&'static str, u64); 8] {
        [
            ("events", self.events),
            ("elections", self.elections),
            ("truncations", self.truncations),
            ("snapshot fetches", self.snapshot_fetches),
            ("voter changes", self.voter_changes),
            ("power cuts", self.power_cuts),
            ("commits", self.commits),
            ("phases", self.phases),
        ]
    }

    /// What of that it did not have.
    pub fn missing(&self) -> Vec<&'static str> {
        let required = self.required().into_iter();
        required
            .filter(|(_, count)| *count == 0)
            .map(|(name, _)| name)
            .collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, count)) in self.required().into_iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_happen_is_named() {
        let mut counts = Counts {
            events: 3,
            elections: 1,
            ..Counts::default()
        };
        assert!(counts.missing().contains(&"snapshot fetches"));
        assert!(!counts.missing().contains(&"elections"));
        counts.note(&[Action::Truncate { end_offset: 3 }]);
        assert_eq!((counts.events, counts.truncations), (4, 1));
        let mut sum = counts;
        sum.add(&counts);
        assert_eq!((sum.events, sum.elections), (8, 2));
    }
}
