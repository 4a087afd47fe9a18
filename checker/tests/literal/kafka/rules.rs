//! The rules, word for word.

use super::decode::{Done, decode};
use history::{Kind, Op};
use std::collections::{BTreeMap, BTreeSet};

/// How many instances of each anomaly there are.
pub type Counts = BTreeMap<&'static str, u64>;

/// Counts them.
pub fn counts(history: &[Op]) -> Counts {
    let done = decode(history);
    let keys: BTreeSet<i64> = done
        .iter()
        .flat_map(|op| op.sends.iter().chain(&op.polls).map(|r| r.0))
        .collect();
    let mut counts = Counts::new();
    for key in &keys {
        Partition::new(&done, *key).count(&mut counts);
    }
    let own = |op: &&Done| {
        let meets = |key: &i64| op.polled(*key).iter().any(|value| op.sent(*key).contains(value));
        keys.iter().any(meets)
    };
    counts.insert("precommitted-read", done.iter().filter(own).count() as u64);
    counts.retain(|_, count| *count > 0);
    counts
}

/// Whether an operation must have committed.
fn committed(done: &[Done], op: &Done) -> bool {
    let read = |key: i64, value: i64| {
        let shows = |other: &Done| other.kind == Kind::Ok && other.polled(key).contains(&value);
        done.iter().any(shows)
    };
    op.kind == Kind::Ok || op.kind == Kind::Info && op.sends.iter().any(|(key, _, value)| read(*key, *value))
}

pub struct Partition<'a> {
    done: &'a [Done],
    key: i64,
    /// The values at each offset.
    log: BTreeMap<i64, BTreeSet<i64>>,
    /// What successful operations polled.
    read: BTreeSet<i64>,
}

impl<'a> Partition<'a> {
    pub fn new(done: &'a [Done], key: i64) -> Partition<'a> {
        let mut log: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        for op in done {
            let sends = op.sends.iter().filter(|_| committed(done, op));
            for (_, offset, value) in sends.chain(&op.polls).filter(|r| r.0 == key) {
                if let Some(offset) = offset.filter(|offset| *offset >= 0) {
                    log.entry(offset).or_default().insert(*value);
                }
            }
        }
        let ok = done.iter().filter(|op| op.kind == Kind::Ok);
        let read = ok.flat_map(|op| op.polled(key)).collect();
        Partition { done, key, log, read }
    }

    /// The indexes at which a value stands.
    fn places(&self, value: i64) -> Vec<usize> {
        let all = self.log.values().enumerate();
        all.filter(|(_, values)| values.contains(&value))
            .map(|(index, _)| index)
            .collect()
    }

    /// The values that stand for each index.
    pub fn order(&self) -> Vec<i64> {
        self.log
            .values()
            .filter_map(|values| values.first().copied())
            .collect()
    }

    /// The last index for which it stands.
    pub fn index(&self, value: i64) -> Option<usize> {
        let all = self.log.values().enumerate();
        all.filter(|(_, values)| values.first() == Some(&value))
            .map(|(index, _)| index)
            .next_back()
    }

    fn step(&self, a: i64, b: i64) -> i64 {
        match (self.index(a), self.index(b)) {
            (Some(a), Some(b)) => b as i64 - a as i64,
            _ => 1,
        }
    }

    fn count(&self, counts: &mut Counts) {
        let mut add = |name, count: usize| *counts.entry(name).or_default() += count as u64;
        let in_log: BTreeSet<i64> = self.log.values().flatten().copied().collect();
        add(
            "inconsistent-offsets",
            self.log.values().filter(|values| values.len() > 1).count(),
        );
        add(
            "duplicate",
            in_log
                .iter()
                .filter(|value| self.places(**value).len() > 1)
                .count(),
        );

        let senders = |value: i64| {
            self.done
                .iter()
                .filter(move |op| op.sent(self.key).contains(&value))
        };
        let polls = || {
            self.done
                .iter()
                .flat_map(|op| op.polled(self.key).into_iter().map(move |v| (op, v)))
        };
        let aborted = |(op, value): &(&Done, i64)| {
            op.kind == Kind::Ok && senders(*value).any(|sender| sender.kind == Kind::Fail)
        };
        add("G1a", polls().filter(aborted).count());
        let polled: BTreeSet<i64> = polls().map(|(_, value)| value).collect();
        add(
            "phantom",
            polled
                .iter()
                .filter(|value| senders(**value).next().is_none())
                .count(),
        );

        let bound = self
            .read
            .iter()
            .filter_map(|value| self.places(*value).first().copied())
            .max();
        let lost = |value: &&i64| {
            bound.is_some_and(|bound| self.places(**value).last().is_some_and(|last| *last <= bound))
                && !self.read.contains(value)
                && senders(**value)
                    .next_back()
                    .is_some_and(|writer| committed(self.done, writer))
        };
        add("lost-write", in_log.iter().filter(lost).count());

        let ok = self.done.iter().filter(|op| op.kind == Kind::Ok);
        let acked: BTreeSet<i64> = ok.flat_map(|op| op.sent(self.key)).collect();
        add("unseen", acked.difference(&self.read).count());

        for op in self.done {
            for two in op.polled(self.key).windows(2) {
                add("int-poll-skip", usize::from(self.step(two[0], two[1]) > 1));
                add(
                    "int-nonmonotonic-poll",
                    usize::from(self.step(two[0], two[1]) < 1),
                );
            }
            for two in op.sent(self.key).windows(2) {
                add("int-send-skip", usize::from(self.step(two[0], two[1]) > 1));
                add(
                    "int-nonmonotonic-send",
                    usize::from(self.step(two[0], two[1]) < 1),
                );
            }
        }
        for (place, op) in self.done.iter().enumerate() {
            let moved = |other: &Done, polls: bool| match polls {
                true => other.polled(self.key),
                false => other.sent(self.key),
            };
            for polls in [true, false] {
                let counts = |other: &&Done| match polls {
                    true => other.kind == Kind::Ok,
                    false => other.kind != Kind::Fail && other.ended.is_some(),
                };
                let Some(first) = moved(op, polls).first().copied() else {
                    continue;
                };
                if !polls && !counts(&op) {
                    continue;
                }
                let mine = |other: &&Done| other.process == op.process;
                let before = self.done[..place]
                    .iter()
                    .enumerate()
                    .filter(|(_, other)| mine(other) && counts(other));
                let Some((from, last)) = before
                    .filter_map(|(at, other)| Some((at, *moved(other, polls).last()?)))
                    .next_back()
                else {
                    continue;
                };
                let left = |other: &Done| {
                    ["assign", "subscribe"].contains(&&*other.f)
                        && other.kind != Kind::Fail
                        && !other.kept.contains(&self.key)
                };
                if self.done[from..place].iter().filter(mine).any(left) {
                    continue;
                }
                match (polls, self.step(last, first)) {
                    (true, 2..) => add("poll-skip", 1),
                    (true, ..=0) => add("nonmonotonic-poll", 1),
                    (false, ..=0) => add("nonmonotonic-send", 1),
                    _ => {}
                }
            }
        }
    }
}
