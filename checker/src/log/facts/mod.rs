//! The history, sorted: one [`Partition`] each, with what clients did to it and what they were shown of it.
//!
//! Nothing is judged here. Memory is proportional to what the history holds, whatever its offsets are.

mod collect;
mod names;
mod partition;

pub(crate) use names::Names;
pub(crate) use partition::{Fate, FinalEnd, How, LogStart, Op, Partition, SendOp, Sighting, Step};

use crate::Operations;
use history::History;

/// A place in the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// The entry's index.
    pub index: u64,
    /// Its time.
    pub time: u64,
}

/// A history, sorted by partition.
pub(crate) struct Facts<'a> {
    /// The partitions of the judged topics, by name and number; those that nobody touched are among them.
    pub partitions: Vec<Partition<'a>>,
    /// The operations that completed, in the order of their completions.
    pub ops: Vec<Op>,
    /// Client operations by outcome.
    pub operations: Operations,
}

impl<'a> Facts<'a> {
    /// Sorts a history.
    pub fn of(history: &'a History, names: &'a Names) -> Facts<'a> {
        let mut collector = collect::Collector::new(&history.header, names);
        for entry in &history.entries {
            collector.take(entry);
        }
        collector.finish()
    }

    /// How many records were sent and shown.
    pub fn records(&self) -> usize {
        records(&self.partitions)
    }

    /// The completed operation that showed something.
    pub fn op(&self, sighting: &Sighting) -> &Op {
        &self.ops[sighting.op as usize]
    }
}

fn records(partitions: &[Partition<'_>]) -> usize {
    partitions
        .iter()
        .map(|partition| partition.sends.len() + partition.sightings.len())
        .sum()
}
