//! Who sent each value of a partition: what cycles need of it.

use super::case::Case;
use super::transfers::Record;
use crate::log::index::{NONE, VersionOrder};
use rustc_hash::FxHashMap;

/// A partition's values with their writers.
pub(super) struct Versions {
    order: VersionOrder,
    /// The number of each polled value.
    pub polled: Vec<u32>,
    /// By number: the last operation that sent the value, or [`NONE`].
    writers: Vec<u32>,
    /// The same, for values that stand nowhere.
    nowhere: FxHashMap<i64, u32>,
    /// By index: who sent the value that stands for it.
    pub by_index: Vec<Option<u32>>,
}

impl Versions {
    pub fn of(case: Case<'_>) -> Versions {
        let mut writers = vec![NONE; case.order.pairs().len()];
        let mut nowhere = FxHashMap::default();
        for (send, number) in case.partition.sends.iter().zip(&case.sent) {
            match writers.get_mut(*number as usize) {
                Some(writer) => *writer = send.op,
                None => {
                    nowhere.insert(send.value, send.op);
                }
            }
        }
        let by_index = case
            .order
            .chosen()
            .map(|number| writers.get(number as usize).copied());
        let by_index = by_index
            .map(|writer| writer.filter(|writer| *writer != NONE))
            .collect();
        Versions {
            order: case.order,
            polled: case.polled,
            writers,
            nowhere,
            by_index,
        }
    }

    /// Who sent a value.
    pub fn writer(&self, number: u32, value: i64) -> Option<u32> {
        match self.writers.get(number as usize) {
            Some(writer) => Some(*writer).filter(|writer| *writer != NONE),
            None => self.nowhere.get(&value).copied(),
        }
    }

    /// The index of the value with a number.
    pub fn index(&self, number: u32) -> Option<u32> {
        Some(self.order.index(number)).filter(|index| *index != NONE)
    }

    /// The index of a record's value.
    pub fn index_of(&self, record: &Record) -> Option<u32> {
        self.index(self.order.number(record.offset(), record.value))
    }
}
