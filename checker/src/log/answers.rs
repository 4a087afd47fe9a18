//! What brokers answered about partitions besides records: ends of logs, high watermarks, refusals; and when they were
//! started or ended.

use super::facts::{Mark, Names};
use history::{Body, Entry, History, Key, Kind, LogEnd, Poll, Process};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A leader refuses: the ISR is too small.
const NOT_ENOUGH_REPLICAS: &str = "NOT_ENOUGH_REPLICAS";

/// All that a history has of it.
#[derive(Default)]
pub(crate) struct Answers {
    partitions: BTreeMap<Key, PartitionAnswers>,
    /// When a process of a node began or ended.
    restarts: BTreeMap<i32, Vec<u64>>,
    /// The time of the last entry.
    pub end: u64,
    /// When the harness itself was late.
    pub stalls: Vec<u64>,
}

/// What was answered about one partition.
#[derive(Default)]
pub(crate) struct PartitionAnswers {
    /// Answers to ListOffsets with a leader epoch, in the order of their completions.
    pub ends: Vec<End>,
    /// High watermarks that polls named, in the order of their completions.
    pub marks: Vec<HighWatermark>,
    /// Sends that were refused since the ISR is too small, in the order of their completions.
    pub refusals: Vec<Refusal>,
    /// Places where the leader epochs that one poll showed fall.
    pub falls: Vec<Fall>,
}

/// An end of a log, asked for in a leader epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub node: i32,
    pub epoch: i32,
    /// The end, where it is the high watermark that was asked for.
    pub latest: Option<i64>,
    pub invoked: Mark,
    pub done: Mark,
}

/// A high watermark in the answer to a poll.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HighWatermark {
    pub node: i32,
    pub offset: i64,
    pub invoked: Mark,
    pub done: Mark,
}

/// A refused send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    pub node: i32,
    pub invoked: Mark,
    pub done: Mark,
}

/// Two records of one answer, of which the later has the lower epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fall {
    /// Offset and epoch of the one.
    pub before: (i64, i32),
    /// Of the other.
    pub after: (i64, i32),
    pub invoked: Mark,
    pub done: Mark,
}

impl Answers {
    /// Reads a history.
    pub fn of(history: &History, names: &Names) -> Answers {
        let mut answers = Answers::default();
        let mut open: FxHashMap<Process, Mark> = FxHashMap::default();
        for entry in &history.entries {
            answers.take(entry, names, &mut open);
        }
        answers.end = history.entries.last().map_or(0, |entry| entry.time);
        answers
    }

    /// What was answered about a partition.
    pub fn partition(&self, key: &Key) -> Option<&PartitionAnswers> {
        self.partitions.get(key)
    }

    /// When processes of a node began or ended.
    pub fn restarts(&self, node: i32) -> &[u64] {
        self.restarts.get(&node).map_or(&[], Vec::as_slice)
    }

    fn take(&mut self, entry: &Entry, names: &Names, open: &mut FxHashMap<Process, Mark>) {
        let done = Mark {
            index: entry.index,
            time: entry.time,
        };
        let is_asked = matches!(entry.body, Body::Send(_) | Body::Poll(_) | Body::ListOffsets(_));
        if is_asked && entry.kind == Kind::Invoke {
            open.insert(entry.process, done);
            return;
        }
        let mut invoked = || open.remove(&entry.process).unwrap_or(done);
        match &entry.body {
            Body::Send(send) => {
                let invoked = invoked();
                if let (Some(NOT_ENOUGH_REPLICAS), Some(node)) = (send.error.as_deref(), send.node) {
                    let refusal = Refusal { node, invoked, done };
                    self.at(&send.key, names).refusals.push(refusal);
                }
            }
            Body::ListOffsets(asked) => {
                let invoked = invoked();
                if let (Kind::Ok, Some(offset), 0..) = (entry.kind, asked.offset, asked.epoch) {
                    let end = End {
                        node: asked.node,
                        epoch: asked.epoch,
                        latest: Some(offset).filter(|_| asked.which == LogEnd::Latest),
                        invoked,
                        done,
                    };
                    self.at(&asked.key, names).ends.push(end);
                }
            }
            Body::Poll(poll) => {
                let invoked = invoked();
                if entry.kind == Kind::Ok {
                    self.poll(poll, names, invoked, done);
                }
            }
            Body::Node(seen) => self.restarts.entry(seen.node).or_default().push(done.time),
            Body::Stall(_) => self.stalls.push(done.time),
            _ => {}
        }
    }

    fn poll(&mut self, poll: &Poll, names: &Names, invoked: Mark, done: Mark) {
        if let (Some(node), Some(offset)) = (poll.node, poll.high_watermark) {
            let mark = HighWatermark {
                node,
                offset,
                invoked,
                done,
            };
            self.at(&poll.key, names).marks.push(mark);
        }
        // Most polls show one epoch alone.
        let Some(first) = poll.records.first().map(|record| record.epoch) else {
            return;
        };
        if poll.records.iter().all(|record| record.epoch == first) {
            return;
        }
        // Of what is corrupt the epoch is as little known as the rest.
        let known = poll.records.iter().filter(|record| record.value.is_some());
        let mut read: Vec<(i64, i32)> = known.map(|record| (record.offset, record.epoch)).collect();
        read.sort_by_key(|(offset, _)| *offset);
        let fallen = falls(&read);
        self.at(&poll.key, names)
            .falls
            .extend(fallen.into_iter().map(|(before, after)| Fall {
                before: read[before],
                after: read[after],
                invoked,
                done,
            }));
    }

    fn at(&mut self, key: &Key, names: &Names) -> &mut PartitionAnswers {
        // Arcs are copied, not texts.
        self.partitions.entry(names.known(key)).or_default()
    }
}

/// Of records by ascending offset, offset and epoch: the places of each that has a lower epoch than one at a lower
/// offset, after that of the highest such.
pub(crate) fn falls(read: &[(i64, i32)]) -> Vec<(usize, usize)> {
    let mut falls = Vec::new();
    let (mut highest, mut highest_here): (Option<usize>, Option<usize>) = (None, None);
    for (place, (offset, epoch)) in read.iter().enumerate() {
        if place > 0 && read[place - 1].0 < *offset {
            highest = highest_here;
        }
        match highest.filter(|highest| read[*highest].1 > *epoch) {
            Some(highest) => falls.push((highest, place)),
            None if highest_here.is_none_or(|here| read[here].1 < *epoch) => highest_here = Some(place),
            None => {}
        }
    }
    falls
}
