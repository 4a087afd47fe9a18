//! Reading entries into partitions: pairs invocations with completions.

use super::{Facts, FinalEnd, How, LogStart, Mark, Names, Op, Partition, SendOp, Sighting, Step};
use crate::Operations;
use crate::log::parallel;
use history::{
    Body, Entry, FinalRead, Header, Key, Kind, ListOffsets, LogEnd, Poll, Process, Send, TopicPlan,
};
use rustc_hash::FxHashMap;

/// Acks that wait for all in-sync replicas.
const ACKS_ALL: i16 = -1;

/// Collects entries.
pub(super) struct Collector<'a> {
    topics: &'a [TopicPlan],
    names: &'a Names,
    places: FxHashMap<Key, usize>,
    facts: Facts<'a>,
    open: FxHashMap<Process, Open>,
}

/// An operation that has not completed.
struct Open {
    invoked: Mark,
    /// Where its send stands: the partition and the send.
    send: Option<(usize, usize)>,
}

impl<'a> Collector<'a> {
    pub fn new(header: &'a Header, names: &'a Names) -> Collector<'a> {
        let facts = Facts {
            partitions: Vec::new(),
            ops: Vec::new(),
            operations: Operations::default(),
        };
        Collector {
            topics: &header.topics,
            names,
            places: FxHashMap::default(),
            facts,
            open: FxHashMap::default(),
        }
    }

    /// Takes one entry in.
    pub fn take(&mut self, entry: &'a Entry) {
        let now = Mark {
            index: entry.index,
            time: entry.time,
        };
        match &entry.body {
            Body::Send(send) => self.take_send(entry, send, now),
            Body::Poll(poll) => {
                if let Some(invoked) = self.step(entry, now) {
                    self.take_poll(
                        poll,
                        Op {
                            invoked,
                            done: now,
                            node: poll.node,
                        },
                    );
                }
            }
            Body::ListOffsets(asked) => {
                if let Some(invoked) = self.step(entry, now) {
                    self.take_list_offsets(entry.kind, asked, invoked, now);
                }
            }
            Body::FinalRead(read) => self.take_final_read(read, now),
            _ => {}
        }
    }

    /// Counts an operation; gives the mark of its invocation where this entry completes it.
    fn step(&mut self, entry: &Entry, now: Mark) -> Option<Mark> {
        if entry.kind == Kind::Invoke {
            self.begin(
                entry.process,
                Open {
                    invoked: now,
                    send: None,
                },
            );
            return None;
        }
        Some(self.end(entry, now).invoked)
    }

    fn begin(&mut self, process: Process, open: Open) {
        // One that was left open never completes: it may have happened.
        if self.open.insert(process, open).is_some() {
            self.facts.operations.info += 1;
        }
    }

    fn end(&mut self, entry: &Entry, now: Mark) -> Open {
        match entry.kind {
            Kind::Ok => self.facts.operations.ok += 1,
            Kind::Fail => self.facts.operations.fail += 1,
            Kind::Info | Kind::Invoke => self.facts.operations.info += 1,
        }
        // A completion without an invocation is taken as an operation that took no time.
        self.open.remove(&entry.process).unwrap_or(Open {
            invoked: now,
            send: None,
        })
    }

    fn take_send(&mut self, entry: &Entry, send: &'a Send, now: Mark) {
        if entry.kind == Kind::Invoke {
            let place = self.place(&send.key).map(|p| (p, self.add_send(p, send, now)));
            self.begin(
                entry.process,
                Open {
                    invoked: now,
                    send: place,
                },
            );
            return;
        }
        let open = self.end(entry, now);
        let place = open
            .send
            .or_else(|| self.place(&send.key).map(|p| (p, self.add_send(p, send, now))));
        let Some((partition, number)) = place else { return };
        let op = self.facts.ops.len() as u32;
        self.facts.ops.push(Op {
            invoked: open.invoked,
            done: now,
            node: send.node,
        });
        let partition = &mut self.facts.partitions[partition];
        let known = &mut partition.sends[number];
        known.done = Some(now);
        known.outcome = entry.kind;
        known.node = send.node.or(known.node);
        // Kafka's −1 is no offset.
        known.offset = send.offset.filter(|offset| *offset >= 0);
        if let (Some(_), Some(offset)) = (known.acked(), known.offset) {
            let how = How::Ack { send: number as u32 };
            partition.sightings.push(Sighting {
                offset,
                value: Some(known.value),
                epoch: None,
                op,
                how,
            });
        }
    }

    fn add_send(&mut self, partition: usize, send: &Send, invoked: Mark) -> usize {
        let sends = &mut self.facts.partitions[partition].sends;
        sends.push(SendOp {
            value: send.value,
            acks_all: send.acks == ACKS_ALL,
            node: send.node,
            invoked,
            done: None,
            outcome: Kind::Info,
            offset: None,
        });
        sends.len() - 1
    }

    fn take_poll(&mut self, poll: &'a Poll, done: Op) {
        let Some(place) = self.place(&poll.key) else {
            return;
        };
        let op = self.facts.ops.len() as u32;
        self.facts.ops.push(done);
        let partition = &mut self.facts.partitions[place];
        let how = How::Poll { last: poll.last };
        let mut from = poll.from.saturating_sub(1);
        for (place, record) in poll.records.iter().enumerate() {
            let (to, within) = (record.offset, place > 0);
            if from.checked_add(1) != Some(to) {
                partition.steps.push(Step { op, from, to, within });
            }
            from = to;
        }
        partition.sightings.extend(poll.records.iter().map(|r| Sighting {
            offset: r.offset,
            value: r.value,
            epoch: Some(r.epoch),
            op,
            how,
        }));
        if let (true, Some(last)) = (poll.last, poll.records.iter().map(|r| r.offset).max()) {
            partition.passed.push((poll.from, last.saturating_add(1)));
        }
        if let Some(offset) = poll.log_start.filter(|offset| *offset >= 0) {
            partition.log_starts.push(LogStart {
                offset,
                invoked: done.invoked,
                done: done.done,
            });
        }
    }

    fn take_list_offsets(&mut self, kind: Kind, asked: &ListOffsets, invoked: Mark, done: Mark) {
        let (Kind::Ok, LogEnd::Earliest, Some(offset)) = (kind, asked.which, asked.offset) else {
            return;
        };
        if let Some(place) = self.place(&asked.key) {
            self.facts.partitions[place].log_starts.push(LogStart {
                offset,
                invoked,
                done,
            });
        }
    }

    fn take_final_read(&mut self, read: &FinalRead, at: Mark) {
        let Some(place) = self.place(&read.key) else {
            return;
        };
        let partition = &mut self.facts.partitions[place];
        if let Some(offset) = read.start {
            partition.log_starts.push(LogStart {
                offset,
                invoked: at,
                done: at,
            });
        }
        let complete = read.start.zip(read.end).filter(|_| read.complete);
        let known = partition.final_end.take();
        let new = FinalEnd {
            complete,
            reason: read.reason.clone(),
            at,
        };
        // A complete one tells more than a later one that failed.
        partition.final_end = match known {
            Some(known) if known.complete.is_some() && complete.is_none() => Some(known),
            _ => Some(new),
        };
    }

    /// The partition's place; none where its topic is not judged.
    fn place(&mut self, key: &Key) -> Option<usize> {
        if let Some(place) = self.places.get(key) {
            return Some(*place);
        }
        let plan = self.topics.iter().find(|topic| *topic.name == *key.topic)?;
        let known = self.names.known(key);
        let place = self.places.get(&known).copied().unwrap_or_else(|| {
            self.facts.partitions.push(empty(known.clone(), plan));
            self.facts.partitions.len() - 1
        });
        self.places.insert(known, place);
        self.places.insert(key.clone(), place);
        Some(place)
    }

    /// Sorts what was collected, and decides what became of each acknowledged record.
    pub fn finish(mut self) -> Facts<'a> {
        let left_open = self.open.len() as u64;
        self.facts.operations.info += left_open;
        self.add_untouched();
        let records = super::records(&self.facts.partitions);
        parallel::change(&mut self.facts.partitions, records, |partition| {
            // Acknowledgements and polls come nearly in order: a sort that finds what is sorted is quicker here.
            partition.sightings.sort_by_key(|s| (s.offset, s.op, s.value));
            partition.tell_fates();
        });
        self.facts.partitions.sort_by(|a, b| a.key.cmp(&b.key));
        self.facts
    }

    fn add_untouched(&mut self) {
        for topic in self.topics {
            for number in 0..topic.partitions {
                let known = |p: &Partition<'_>| *p.key.topic == *topic.name && p.key.partition == number;
                if !self.facts.partitions.iter().any(known) {
                    let key = Key {
                        topic: topic.name.as_str().into(),
                        id: "".into(),
                        partition: number,
                    };
                    self.facts.partitions.push(empty(self.names.known(&key), topic));
                }
            }
        }
    }
}

fn empty(key: Key, plan: &TopicPlan) -> Partition<'_> {
    Partition {
        key,
        plan,
        sends: Vec::new(),
        sightings: Vec::new(),
        log_starts: Vec::new(),
        final_end: None,
        passed: Vec::new(),
        steps: Vec::new(),
        fates: Vec::new(),
    }
}
