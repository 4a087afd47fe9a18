//! Which operations must have committed: the successful ones, and the indeterminate ones of which a successful
//! operation polled at least one value.

use super::transfers::{Partition, Transfers};
use crate::log::parallel;
use history::Kind;
use rustc_hash::FxHashMap;

/// By operation, whether it must have committed.
pub(super) struct Committed(Vec<bool>);

impl Committed {
    pub fn of(transfers: &Transfers) -> Committed {
        let ok = |operation: &super::transfers::Operation| operation.kind == Kind::Ok;
        let mut committed: Vec<bool> = transfers.operations.iter().map(ok).collect();
        for shown in parallel::map(&transfers.partitions, transfers.records(), |partition| {
            shown(transfers, partition)
        }) {
            for op in shown {
                committed[op as usize] = true;
            }
        }
        Committed(committed)
    }

    /// Whether an operation must have committed.
    pub fn holds(&self, op: u32) -> bool {
        self.0[op as usize]
    }
}

/// The indeterminate operations that sent what a successful one polled.
fn shown(transfers: &Transfers, partition: &Partition) -> Vec<u32> {
    let kind = |op: u32| transfers.operations[op as usize].kind;
    let mut unsure: FxHashMap<i64, Vec<u32>> = FxHashMap::default();
    for send in partition.sends.iter().filter(|send| kind(send.op) == Kind::Info) {
        unsure.entry(send.value).or_default().push(send.op);
    }
    if unsure.is_empty() {
        return Vec::new();
    }
    let read = partition.polls.iter().filter(|poll| kind(poll.op) == Kind::Ok);
    read.filter_map(|poll| unsure.remove(&poll.value))
        .flatten()
        .collect()
}
