//! One partition of a history, ready for its rules.

use super::committed::Committed;
use super::transfers::{Operation, Partition, Record, Transfers};
use crate::log::index::Pair;
use crate::log::index::{NONE, VersionOrder};
use history::Kind;
use rustc_hash::FxHashSet;

/// A partition with the order of its values.
pub(super) struct Case<'a> {
    pub transfers: &'a Transfers,
    /// Its place among the partitions.
    pub place: u32,
    pub partition: &'a Partition,
    pub committed: &'a Committed,
    pub order: VersionOrder,
    /// The number of each sent value; [`NONE`] where it stands nowhere in the order.
    pub sent: Vec<u32>,
    /// The number of each polled value.
    pub polled: Vec<u32>,
    /// By number: whether a successful operation polled the value.
    pub read: Vec<bool>,
    /// Values that successful operations polled and whose offset nobody knows.
    pub read_nowhere: FxHashSet<i64>,
}

impl<'a> Case<'a> {
    pub fn new(transfers: &'a Transfers, committed: &'a Committed, place: u32) -> Case<'a> {
        let partition = &transfers.partitions[place as usize];
        let sends = partition.sends.iter().filter(|record| committed.holds(record.op));
        let order = VersionOrder::of(sends.chain(&partition.polls).filter_map(|record| {
            Some(Pair {
                offset: record.offset()?,
                value: record.value,
            })
        }));
        let numbers = |records: &[Record]| -> Vec<u32> {
            let number = |record: &Record| order.number(record.offset(), record.value);
            records.iter().map(number).collect()
        };
        let (sent, polled) = (numbers(&partition.sends), numbers(&partition.polls));
        let mut read = vec![false; order.pairs().len()];
        let mut read_nowhere = FxHashSet::default();
        for (record, number) in partition.polls.iter().zip(&polled) {
            if transfers.operations[record.op as usize].kind != Kind::Ok {
                continue;
            }
            match read.get_mut(*number as usize) {
                Some(read) => *read = true,
                None => {
                    read_nowhere.insert(record.value);
                }
            }
        }
        Case {
            transfers,
            place,
            partition,
            committed,
            order,
            sent,
            polled,
            read,
            read_nowhere,
        }
    }

    /// An operation.
    pub fn op(&self, op: u32) -> &'a Operation {
        &self.transfers.operations[op as usize]
    }

    /// The entries of an operation.
    pub fn entries(&self, op: u32) -> [u64; 2] {
        [self.op(op).invoked.index, self.op(op).done()]
    }

    /// The sends of each operation, with the numbers of their values.
    pub fn sends(&self) -> impl Iterator<Item = Moved<'_>> {
        moved(&self.partition.sends, &self.sent)
    }

    /// The polls of each operation, with the numbers of their values.
    pub fn polls(&self) -> impl Iterator<Item = Moved<'_>> {
        moved(&self.partition.polls, &self.polled)
    }

    /// Whether a process read the partition all along from one operation of its until another: it assigned itself
    /// nothing else in between.
    pub fn holds_on(&self, process: u32, from: u32, to: u32) -> bool {
        let assignments = &self.transfers.assignments[process as usize];
        let later = &assignments[assignments.partition_point(|assignment| assignment.op < from)..];
        let mut between = later.iter().take_while(|assignment| assignment.op < to);
        between.all(|assignment| assignment.kept.binary_search(&self.place).is_ok())
    }

    /// The entries of one operation for each of these offsets that showed the value there.
    pub fn showing(&self, offsets: &[i64], value: i64) -> Vec<u64> {
        let sends = self
            .partition
            .sends
            .iter()
            .filter(|send| self.committed.holds(send.op));
        let mut entries = Vec::new();
        for offset in offsets {
            let there = |record: &&Record| record.value == value && record.offset() == Some(*offset);
            let shown = sends
                .clone()
                .find(there)
                .or_else(|| self.partition.polls.iter().find(there));
            entries.extend(shown.map(|record| self.op(record.op).done()));
        }
        entries
    }

    /// Whether a successful operation polled a value.
    pub fn is_read(&self, number: u32, value: i64) -> bool {
        match self.read.get(number as usize) {
            Some(read) => *read,
            None => self.read_nowhere.contains(&value),
        }
    }

    /// The index of the value with a number, where it has one.
    pub fn index(&self, number: u32) -> Option<u32> {
        Some(self.order.index(number)).filter(|index| *index != NONE)
    }

    /// How far one value stands behind another: 1 where it is not known where either stands.
    pub fn step(&self, from: u32, to: u32) -> i64 {
        match (self.index(from), self.index(to)) {
            (Some(from), Some(to)) => i64::from(to) - i64::from(from),
            _ => 1,
        }
    }

    /// The values between two, as people read them.
    pub fn skipped(&self, from: u32, to: u32) -> String {
        /// More are only counted.
        const MOST: usize = 5;
        let (from, to) = (self.order.index(from), self.order.index(to));
        let mut text: Vec<String> = self
            .order
            .between(from, to)
            .take(MOST)
            .map(|value| value.to_string())
            .collect();
        let count = to.saturating_sub(from).saturating_sub(1) as usize;
        if count > MOST {
            text.push(format!("{} more", count - MOST));
        }
        text.join(", ")
    }
}

/// What one operation sent to a partition, or polled from it.
#[derive(Clone, Copy)]
pub(super) struct Moved<'a> {
    pub op: u32,
    pub records: &'a [Record],
    pub numbers: &'a [u32],
}

impl Moved<'_> {
    /// The first value and its number.
    pub fn first(&self) -> (i64, u32) {
        (self.records[0].value, self.numbers[0])
    }

    /// The last value and its number.
    pub fn last(&self) -> (i64, u32) {
        let last = self.records.len() - 1;
        (self.records[last].value, self.numbers[last])
    }

    /// Successive values, with their numbers.
    pub fn steps(&self) -> impl Iterator<Item = [(i64, u32); 2]> {
        let at = |place: usize| (self.records[place].value, self.numbers[place]);
        (1..self.records.len()).map(move |place| [at(place - 1), at(place)])
    }
}

/// Records by operation; each has one at least.
fn moved<'a>(records: &'a [Record], numbers: &'a [u32]) -> impl Iterator<Item = Moved<'a>> {
    let mut rest = numbers;
    super::transfers::by_operation(records).map(move |records| {
        let (numbers, after) = rest.split_at(records.len());
        rest = after;
        Moved {
            op: records[0].op,
            records,
            numbers,
        }
    })
}
