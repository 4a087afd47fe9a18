//! A toy log with clients, which makes small random histories; and ways to spoil both.

use crate::dsl::{TOPIC, header};
use history::*;
use std::collections::VecDeque;

/// splitmix64: small, seeded, the same everywhere.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Once in `n`, on the average.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

struct Log {
    key: Key,
    start: i64,
    records: Vec<Option<(u64, i32)>>,
    epoch: i32,
}

impl Log {
    fn end(&self) -> i64 {
        self.start + self.records.len() as i64
    }

    /// Who leads, by the epoch.
    fn leader(&self) -> i32 {
        self.epoch % 3
    }
}

/// An operation under way.
enum Open {
    Send {
        partition: usize,
        value: u64,
        offset: Option<i64>,
        applied: bool,
    },
    Poll {
        poll: Poll,
    },
    Ends {
        asked: ListOffsets,
    },
}

struct Toy<'r> {
    random: &'r mut Random,
    entries: Vec<Entry>,
    time: u64,
    logs: Vec<Log>,
    open: VecDeque<(u64, Open)>,
    clients: u64,
    values: u64,
    /// One in so many operations goes wrong; never where there is none.
    faults: Option<u64>,
}

/// A small history; without `faults` it is that of a correct log.
pub fn history(random: &mut Random, faults: bool) -> History {
    let partitions = 1 + random.below(2) as i32;
    let mut plan = header(&[Promise::Kip966]);
    plan.topics[0].partitions = partitions;
    plan.topics[0].log_start_may_move = random.once_in(4);
    let log = |partition| Log {
        key: Key {
            topic: TOPIC.into(),
            id: "id".into(),
            partition,
        },
        start: 0,
        records: vec![],
        epoch: 1,
    };
    let faults = faults.then(|| 4 + random.below(20));
    let steps = 10 + random.below(40);
    let logs = (0..partitions).map(log).collect();
    let mut toy = Toy {
        random,
        entries: vec![],
        time: 0,
        logs,
        open: VecDeque::new(),
        clients: 0,
        values: 0,
        faults,
    };
    for _ in 0..steps {
        toy.step();
    }
    toy.finish();
    History {
        header: plan,
        entries: toy.entries,
        dropped: None,
    }
}

impl Toy<'_> {
    fn goes_wrong(&mut self) -> bool {
        self.faults.is_some_and(|n| self.random.once_in(n))
    }

    fn add(&mut self, process: Process, kind: Kind, body: Body) {
        // Often several entries in one moment.
        self.time += self.random.below(3);
        let index = self.entries.len() as u64;
        self.entries.push(Entry {
            index,
            time: self.time,
            process,
            kind,
            body,
        });
    }

    fn step(&mut self) {
        let busy = self.open.len() as u64;
        match self.random.below(4 + busy) {
            0 | 1 => self.begin_send(),
            2 => self.begin_read(),
            3 if self.goes_wrong() => self.spoil(),
            3 => {}
            _ => {
                let which = self.random.below(busy) as usize;
                if let Some((client, open)) = self.open.remove(which) {
                    self.complete(client, open);
                }
            }
        }
    }

    fn begin(&mut self, body: Body, open: Open) {
        self.clients += 1;
        self.add(Process::Client(self.clients), Kind::Invoke, body);
        self.open.push_back((self.clients, open));
    }

    fn partition(&mut self) -> usize {
        self.random.below(self.logs.len() as u64) as usize
    }

    fn send(&self, partition: usize, value: u64, offset: Option<i64>) -> Body {
        Body::Send(Send {
            key: self.logs[partition].key.clone(),
            value,
            acks: -1,
            node: Some(self.logs[partition].leader()),
            offset,
            error: None,
        })
    }

    fn begin_send(&mut self) {
        self.values += 1;
        let (partition, value) = (self.partition(), self.values);
        self.begin(
            self.send(partition, value, None),
            Open::Send {
                partition,
                value,
                offset: None,
                applied: false,
            },
        );
    }

    fn begin_read(&mut self) {
        let partition = self.partition();
        let key = self.logs[partition].key.clone();
        if self.random.once_in(3) {
            let which = match self.random.once_in(3) {
                true => LogEnd::Earliest,
                false => LogEnd::Latest,
            };
            let asked = ListOffsets {
                key,
                which,
                node: self.logs[partition].leader(),
                epoch: self.logs[partition].epoch,
                offset: None,
                error: None,
            };
            return self.begin(Body::ListOffsets(asked.clone()), Open::Ends { asked });
        }
        let length = self.logs[partition].records.len() as u64 + 1;
        let from = self.logs[partition].start + self.random.below(length) as i64;
        let poll = Poll {
            key,
            from,
            node: Some(self.logs[partition].leader()),
            last: false,
            records: vec![],
            high_watermark: None,
            log_start: None,
            error: None,
        };
        self.begin(Body::Poll(poll.clone()), Open::Poll { poll });
    }

    fn complete(&mut self, client: u64, open: Open) {
        let process = Process::Client(client);
        match open {
            Open::Send {
                partition,
                value,
                offset: None,
                applied: false,
            } => {
                let offset = self.append(partition, value);
                // Applied now, answered later: others may come in between.
                self.open.push_back((
                    client,
                    Open::Send {
                        partition,
                        value,
                        offset,
                        applied: true,
                    },
                ));
            }
            Open::Send {
                partition,
                value,
                offset,
                ..
            } => {
                let kind = if self.random.once_in(8) {
                    Kind::Info
                } else if self.goes_wrong() {
                    // Refused, though it was appended.
                    Kind::Fail
                } else {
                    Kind::Ok
                };
                let told = offset.filter(|_| kind == Kind::Ok && !self.random.once_in(10));
                let body = self.send(partition, value, told);
                self.add(process, kind, body);
            }
            Open::Poll { poll } => {
                let poll = self.answer(poll);
                self.add(process, Kind::Ok, Body::Poll(poll));
            }
            Open::Ends { mut asked } => {
                let log = &self.logs[asked.key.partition as usize];
                asked.offset = Some(match asked.which {
                    LogEnd::Earliest => log.start,
                    LogEnd::Latest => log.end(),
                });
                if self.goes_wrong() {
                    match self.random.below(4) {
                        0 => asked.epoch -= 1,
                        1 => asked.node = (asked.node + 1) % 3,
                        _ => asked.offset = asked.offset.map(|offset| (offset - 4).max(0)),
                    }
                }
                self.add(process, Kind::Ok, Body::ListOffsets(asked));
            }
        }
    }

    fn append(&mut self, partition: usize, value: u64) -> Option<i64> {
        let (wrong, twice, shift) = (
            self.goes_wrong(),
            self.goes_wrong(),
            self.random.below(3) as i64 - 1,
        );
        let log = &mut self.logs[partition];
        let offset = log.end();
        if wrong {
            // Acknowledged at a wrong offset, and perhaps not appended.
            if twice {
                log.records.push(Some((value, log.epoch)));
            }
            return Some((offset + shift).max(0));
        }
        log.records.push(Some((value, log.epoch)));
        if twice {
            log.records.push(Some((value, log.epoch)));
        }
        Some(offset)
    }

    fn answer(&mut self, mut poll: Poll) -> Poll {
        let length = 1 + self.random.below(6) as usize;
        let log = &self.logs[poll.key.partition as usize];
        poll.log_start = Some(log.start);
        poll.high_watermark = Some(log.end());
        let skipped = (poll.from - log.start).max(0) as usize;
        let shown = log.records.iter().enumerate().skip(skipped).take(length);
        let records = shown.filter_map(|(i, r)| {
            let (value, epoch) = (*r)?;
            Some(Record {
                offset: log.start + i as i64,
                value: Some(value),
                epoch,
            })
        });
        poll.records = records.collect();
        if self.goes_wrong() && !poll.records.is_empty() {
            self.disorder(&mut poll);
        }
        if self.goes_wrong() && !poll.records.is_empty() {
            let which = self.random.below(poll.records.len() as u64) as usize;
            match self.random.below(4) {
                0 => poll.records[which].value = None,
                1 => poll.records[which].value = Some(1_000_000 + self.random.below(3)),
                2 => poll.records[which].value = Some(1 + self.random.below(self.values.max(1))),
                _ => poll.records[which].epoch -= 1,
            }
        }
        poll
    }

    /// The answer is out of order, leaves a record out, or begins too low.
    fn disorder(&mut self, poll: &mut Poll) {
        let which = self.random.below(poll.records.len() as u64) as usize;
        match self.random.below(4) {
            0 => poll.records.swap(0, which),
            1 => poll.from += 1 + which as i64,
            _ => {
                poll.records.remove(which);
            }
        }
    }

    /// Something happens to a log.
    fn spoil(&mut self) {
        let (partition, what, many) = (
            self.partition(),
            self.random.below(4),
            1 + self.random.below(4) as usize,
        );
        let log = &mut self.logs[partition];
        let length = log.records.len();
        match what {
            0 => log.records.truncate(length.saturating_sub(many)),
            1 => {
                let gone = many.min(length);
                log.records.drain(..gone);
                log.start += gone as i64;
            }
            2 if length > 1 => log.records.swap(0, length - 1),
            _ => {
                if let Some(record) = log.records.get_mut(many) {
                    *record = None;
                }
            }
        }
        log.epoch += 1;
    }

    fn finish(&mut self) {
        while let Some((client, open)) = self.open.pop_front() {
            // A few are never answered.
            if !self.random.once_in(6) {
                self.complete(client, open);
            }
        }
        for partition in 0..self.logs.len() {
            self.final_read(partition);
        }
    }

    fn final_read(&mut self, partition: usize) {
        let Log { key, start, .. } = &self.logs[partition];
        let (key, start, end) = (key.clone(), *start, self.logs[partition].end());
        let fails = self.random.once_in(4);
        let mut from = start;
        while from < end && !(fails && self.random.once_in(2)) {
            let poll = Poll {
                key: key.clone(),
                from,
                node: None,
                last: true,
                records: vec![],
                high_watermark: None,
                log_start: None,
                error: None,
            };
            self.clients += 1;
            let process = Process::Client(self.clients);
            self.add(process, Kind::Invoke, Body::Poll(poll.clone()));
            let poll = self.answer(poll);
            from = poll.records.last().map_or(from + 6, |record| record.offset + 1);
            self.add(process, Kind::Ok, Body::Poll(poll));
        }
        let reason = fails.then(|| "it was told to fail".to_owned());
        let read = FinalRead {
            key,
            start: Some(start),
            end: Some(end),
            complete: !fails,
            reason,
        };
        self.add(Process::Harness, Kind::Ok, Body::FinalRead(read));
    }
}

/// Spoils a history itself; true where it changed something.
pub fn mutate(history: &mut History, random: &mut Random) -> bool {
    match random.below(4) {
        0 => swap_offsets(history, random),
        1 => drop_ack(history, random),
        2 => move_completion(history, random),
        _ => change_record(history, random),
    }
}

fn acks(history: &History) -> Vec<usize> {
    let is_ack = |entry: &Entry| entry.kind == Kind::Ok && matches!(entry.body, Body::Send(_));
    (0..history.entries.len())
        .filter(|i| is_ack(&history.entries[*i]))
        .collect()
}

fn pick(random: &mut Random, from: &[usize]) -> usize {
    from[random.below(from.len() as u64) as usize]
}

fn swap_offsets(history: &mut History, random: &mut Random) -> bool {
    let acks = acks(history);
    if acks.len() < 2 {
        return false;
    }
    let (a, b) = (pick(random, &acks), pick(random, &acks));
    let offset = |entry: &Entry| {
        if let Body::Send(send) = &entry.body {
            send.offset
        } else {
            None
        }
    };
    let (of_a, of_b) = (offset(&history.entries[a]), offset(&history.entries[b]));
    for (i, offset) in [(a, of_b), (b, of_a)] {
        if let Body::Send(send) = &mut history.entries[i].body {
            send.offset = offset;
        }
    }
    of_a != of_b
}

fn drop_ack(history: &mut History, random: &mut Random) -> bool {
    let acks = acks(history);
    if acks.is_empty() {
        return false;
    }
    history.entries.remove(pick(random, &acks));
    number(history);
    true
}

/// An acknowledgement comes at another time: places keep their times, entries change places.
fn move_completion(history: &mut History, random: &mut Random) -> bool {
    let acks = acks(history);
    if acks.is_empty() {
        return false;
    }
    let times: Vec<u64> = history.entries.iter().map(|entry| entry.time).collect();
    let from = pick(random, &acks);
    let invoked = history
        .entries
        .iter()
        .position(|e| e.process == history.entries[from].process)
        .unwrap_or(from);
    let entry = history.entries.remove(from);
    let room = (history.entries.len() - invoked) as u64;
    let to = (invoked + 1 + random.below(room) as usize).min(history.entries.len());
    history.entries.insert(to, entry);
    for (entry, time) in history.entries.iter_mut().zip(times) {
        entry.time = time;
    }
    number(history);
    from != to
}

fn change_record(history: &mut History, random: &mut Random) -> bool {
    let values = history.entries.len() as u64;
    let mut polls: Vec<&mut Poll> = history
        .entries
        .iter_mut()
        .filter_map(|entry| {
            if let Body::Poll(poll) = &mut entry.body {
                Some(poll)
            } else {
                None
            }
        })
        .filter(|poll| !poll.records.is_empty())
        .collect();
    if polls.is_empty() {
        return false;
    }
    let which = random.below(polls.len() as u64) as usize;
    let records = &mut polls[which].records;
    let place = random.below(records.len() as u64) as usize;
    let before = records[place];
    match random.below(4) {
        0 => records[place].value = Some(1 + random.below(values)),
        1 => records[place].offset = random.below(20) as i64,
        2 => records[place].epoch = random.below(4) as i32,
        _ => records[place].value = None,
    }
    records[place] != before
}

fn number(history: &mut History) {
    for (index, entry) in (0..).zip(&mut history.entries) {
        entry.index = index;
    }
}
