//! The states of a partition, as the metadata log committed them.

use crate::text::brokers;
use history::{Body, History, PartitionState};

/// A state of a partition, from one committed record to the next that changed leader, ISR or ELR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// When it was seen, in nanoseconds on the run's clock.
    pub from: u64,
    /// The leader; −1 is none.
    pub leader: i32,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// In-sync replicas, by number.
    pub isr: Vec<i32>,
    /// Eligible leader replicas, by number.
    pub elr: Vec<i32>,
}

/// Where a replica stands in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Leader,
    Isr,
    Elr,
    Out,
}

impl State {
    fn of(time: u64, state: &PartitionState) -> State {
        let sorted = |nodes: &[i32]| {
            let mut nodes = nodes.to_vec();
            nodes.sort_unstable();
            nodes
        };
        State {
            from: time,
            leader: state.leader,
            leader_epoch: state.leader_epoch,
            isr: sorted(&state.isr),
            elr: sorted(&state.elr),
        }
    }

    /// The state in words, as the timeline has it.
    pub fn text(&self) -> String {
        let leader = if self.leader < 0 {
            "none".to_string()
        } else {
            self.leader.to_string()
        };
        format!(
            "leader {leader} (epoch {}), ISR {}, ELR {}",
            self.leader_epoch,
            brokers(&self.isr),
            brokers(&self.elr)
        )
    }

    /// Where a replica stands.
    pub fn place(&self, replica: i32) -> Place {
        if self.leader == replica {
            Place::Leader
        } else if self.isr.contains(&replica) {
            Place::Isr
        } else if self.elr.contains(&replica) {
            Place::Elr
        } else {
            Place::Out
        }
    }
}

/// The committed records of one partition, with when each was seen.
pub(super) fn records<'a>(
    history: &'a History,
    topic: &'a str,
    partition: i32,
) -> impl Iterator<Item = (u64, &'a PartitionState)> {
    history.entries.iter().filter_map(move |entry| match &entry.body {
        Body::Partition(state) if &*state.key.topic == topic && state.key.partition == partition => {
            Some((entry.time, state))
        }
        _ => None,
    })
}

/// The states of one partition, in order.
pub(crate) fn states(history: &History, topic: &str, partition: i32) -> Vec<State> {
    let mut states: Vec<State> = Vec::new();
    for (time, record) in records(history, topic, partition) {
        let next = State::of(time, record);
        let same = |last: &State| {
            State {
                from: time,
                ..last.clone()
            } == next
        };
        if !states.last().is_some_and(same) {
            states.push(next);
        }
    }
    states
}
