//! A small Kafka log with clients that assign, subscribe, send, poll and commit; and what may go wrong with it.

use super::super::random::Random;
use history::{Call, Entry, Kind, Op, Process, Value};

/// What goes wrong, if anything does, once in a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An acknowledged record is not in the log.
    Lose,
    /// A record is in the log twice.
    Duplicate,
    /// Two records of an operation change places.
    Reorder,
    /// A poll begins too far behind.
    Skip,
    /// A poll begins where another one began.
    Rewind,
    /// What failed is visible.
    AbortedRead,
    /// An operation polls what it sent.
    OwnRead,
    /// A poll shows another value.
    Corrupt,
}

const FAULTS: [Fault; 8] = [
    Fault::Lose,
    Fault::Duplicate,
    Fault::Reorder,
    Fault::Skip,
    Fault::Rewind,
    Fault::AbortedRead,
    Fault::OwnRead,
    Fault::Corrupt,
];

/// Of a hundred chances to go wrong, so many are taken.
const GOES_WRONG: usize = 15;

struct Log {
    /// The next offset.
    end: i64,
    /// Offsets and values that may be read.
    records: Vec<(i64, i64)>,
}

struct Client {
    process: u64,
    subscribes: bool,
    /// Keys and the next offsets to read.
    reads: Vec<(usize, i64)>,
    /// An operation under way; and its answer, once it took effect.
    open: Option<(Call, Option<(Kind, Value)>)>,
}

struct Maker<'r> {
    random: &'r mut Random,
    faults: bool,
    history: Vec<Op>,
    logs: Vec<Log>,
    clients: Vec<Client>,
    processes: u64,
    values: i64,
    /// Distances between offsets, and between values: wide ones are stored in another way.
    wide: (i64, i64),
}

/// A small history; without `faults` it is that of a correct log, read to its end.
pub fn make(random: &mut Random, faults: bool) -> Vec<Op> {
    const WIDE: i64 = 1 << 40;
    let keys = 1 + random.below(2);
    let log = |_| Log {
        end: 0,
        records: vec![],
    };
    let wide = (*random.pick(&[1, 1, WIDE]), *random.pick(&[1, 1, WIDE]));
    let mut maker = Maker {
        logs: (0..keys).map(log).collect(),
        faults,
        history: vec![],
        clients: vec![],
        processes: 0,
        values: 0,
        wide,
        random,
    };
    for _ in 0..1 + maker.random.below(3) {
        maker.arrive();
    }
    for _ in 0..5 + maker.random.below(30) {
        let client = maker.random.below(maker.clients.len());
        maker.step(client);
    }
    maker.end();
    maker.history
}

impl Maker<'_> {
    fn wrong(&mut self, fault: Fault) -> bool {
        self.faults && *self.random.pick(&FAULTS) == fault && self.random.percent(GOES_WRONG)
    }

    fn arrive(&mut self) {
        self.processes += 1;
        self.clients.push(Client {
            process: self.processes,
            subscribes: self.random.percent(20),
            reads: vec![],
            open: None,
        });
    }

    fn entry(&mut self, process: u64, kind: Kind, body: Call) {
        let index = self.history.len() as u64;
        self.history.push(Entry {
            index,
            time: index * 1000,
            process: Process::Client(process),
            kind,
            body,
        });
    }

    fn step(&mut self, client: usize) {
        match self.clients[client].open.take() {
            None => {
                let call = self.ask(client);
                self.entry(self.clients[client].process, Kind::Invoke, call.clone());
                self.clients[client].open = Some((call, None));
            }
            Some((call, None)) => {
                let answer = self.answer(client, &call);
                self.clients[client].open = Some((call, Some(answer)));
            }
            Some((call, Some((kind, value)))) => {
                let process = self.clients[client].process;
                self.entry(process, kind, Call { f: call.f, value });
                if kind == Kind::Info {
                    // Whoever goes on is another client.
                    self.clients.remove(client);
                    self.arrive();
                }
            }
        }
    }

    fn ask(&mut self, client: usize) -> Call {
        let fresh = self.clients[client].reads.is_empty();
        let call = |f: &str, parts: Vec<Value>| Call {
            f: f.into(),
            value: Value::List(parts.into()),
        };
        if self.random.percent(if fresh { 60 } else { 10 }) {
            let f = if self.clients[client].subscribes {
                "subscribe"
            } else {
                "assign"
            };
            let all = 0..self.logs.len();
            let keys: Vec<usize> = all.filter(|_| self.random.percent(80)).collect();
            return call(f, keys.into_iter().map(|key| Value::Int(key as i64)).collect());
        }
        match self.random.below(20) {
            0 => call("crash", vec![]),
            1..8 => call("poll", vec![poll(None)]),
            8..14 => {
                let count = 1 + self.random.below(3);
                call("send", (0..count).map(|_| self.send()).collect())
            }
            _ => {
                let count = 1 + self.random.below(3);
                let part = |maker: &mut Self| match maker.random.percent(50) {
                    true => maker.send(),
                    false => poll(None),
                };
                call("txn", (0..count).map(|_| part(self)).collect())
            }
        }
    }

    fn send(&mut self) -> Value {
        self.values += 1;
        let key = self.random.below(self.logs.len()) as i64;
        let value = self.values * self.wide.1;
        Value::List([text("send"), Value::Int(key), Value::Int(value)].into())
    }

    /// An operation takes effect, all of it at once.
    fn answer(&mut self, client: usize, call: &Call) -> (Kind, Value) {
        let kind = match self.random.below(12) {
            0 => Kind::Fail,
            1 => Kind::Info,
            _ => Kind::Ok,
        };
        match &*call.f {
            "crash" => (Kind::Info, call.value.clone()),
            "assign" | "subscribe" => {
                if kind == Kind::Ok {
                    let keys = call
                        .value
                        .list()
                        .unwrap()
                        .iter()
                        .map(|key| key.int().unwrap() as usize);
                    let old = self.clients[client].reads.clone();
                    let at = |key| {
                        old.iter()
                            .find(|(known, _)| *known == key)
                            .map_or(0, |read| read.1)
                    };
                    self.clients[client].reads = keys.map(|key| (key, at(key))).collect();
                }
                (kind, call.value.clone())
            }
            _ => self.transfer(client, kind, call.value.list().unwrap()),
        }
    }

    fn transfer(&mut self, client: usize, kind: Kind, parts: &[Value]) -> (Kind, Value) {
        let committed = kind == Kind::Ok || kind == Kind::Info && self.random.percent(50);
        let before = self.clients[client].reads.clone();
        let mut sent = Vec::new();
        let mut answers = Vec::new();
        for part in parts {
            let answer = match part.list().unwrap() {
                [_, key, value] => {
                    let (key, value) = (key.int().unwrap() as usize, value.int().unwrap());
                    let offset = self.logs[key].end;
                    self.logs[key].end += 1;
                    sent.push((key, offset, value));
                    if self.wrong(Fault::OwnRead) {
                        let offset = offset * self.wide.0;
                        self.logs[key].records.push((offset, value));
                        sent.pop();
                    }
                    None
                }
                _ => Some(self.poll(client)),
            };
            answers.push((part.clone(), answer));
        }
        if kind != Kind::Ok {
            self.clients[client].reads = before;
        }
        let told = self.commit(committed, sent);
        let mut told = told.into_iter();
        let unknown = kind == Kind::Info && self.random.percent(50);
        let value = |(part, answer): (Value, Option<Value>)| match (answer, part.list().unwrap()) {
            (Some(answer), _) => answer,
            (None, [name, key, value]) => {
                let offset = told.next().flatten().filter(|_| !unknown);
                let pair = offset.map(|offset| Value::List([Value::Int(offset), value.clone()].into()));
                Value::List([name.clone(), key.clone(), pair.unwrap_or(value.clone())].into())
            }
            (None, _) => part,
        };
        let values: Vec<Value> = answers.into_iter().map(value).collect();
        (kind, Value::List(values.into()))
    }

    /// Appends what was sent, and gives the offsets that are told.
    fn commit(&mut self, committed: bool, mut sent: Vec<(usize, i64, i64)>) -> Vec<Option<i64>> {
        if sent.len() > 1 && self.wrong(Fault::Reorder) && sent[0].0 == sent[1].0 {
            let first = sent[0].1;
            sent[0].1 = std::mem::replace(&mut sent[1].1, first);
        }
        let mut told = Vec::new();
        for (key, offset, value) in sent {
            told.push((!self.random.percent(10)).then_some(offset * self.wide.0));
            let seen = if committed {
                !self.wrong(Fault::Lose)
            } else {
                self.wrong(Fault::AbortedRead)
            };
            if seen {
                self.logs[key].records.push((offset * self.wide.0, value));
            }
            if seen && self.wrong(Fault::Duplicate) {
                let again = self.logs[key].end * self.wide.0;
                self.logs[key].end += 1;
                self.logs[key].records.push((again, value));
            }
        }
        for log in &mut self.logs {
            log.records.sort_unstable();
            // The mark of a transaction takes an offset.
            log.end += 1;
        }
        told
    }

    fn poll(&mut self, client: usize) -> Value {
        let mut reads = self.clients[client].reads.clone();
        let mut polled = Vec::new();
        for (key, next) in &mut reads {
            if self.wrong(Fault::Skip) {
                *next += 2 * self.wide.0;
            }
            if self.wrong(Fault::Rewind) {
                *next = (*next - 2 * self.wide.0).max(0);
            }
            let most = 1 + self.random.below(4);
            let there = self.logs[*key].records.iter().filter(|record| record.0 >= *next);
            let mut records: Vec<(i64, i64)> = there.take(most).copied().collect();
            if self.wrong(Fault::Corrupt) && !records.is_empty() {
                records[0].1 = (1 + self.random.below(6) as i64) * self.wide.1;
            }
            if let Some((last, _)) = records.last() {
                *next = last + 1;
                let pair = |(offset, value)| Value::List([Value::Int(offset), Value::Int(value)].into());
                let list: Vec<Value> = records.into_iter().map(pair).collect();
                polled.push((text(&key.to_string()), Value::List(list.into())));
            }
        }
        self.clients[client].reads = reads;
        poll(Some(polled))
    }

    /// Everybody completes; a new client reads all there is.
    fn end(&mut self) {
        for _ in 0..2 {
            for client in 0..self.clients.len() {
                if self.clients[client].open.is_some() && !self.random.percent(10) {
                    self.step(client);
                }
            }
        }
        if self.faults && self.random.percent(50) {
            return;
        }
        self.arrive();
        let last = self.clients.len() - 1;
        self.clients[last].reads = (0..self.logs.len()).map(|key| (key, 0)).collect();
        let process = self.clients[last].process;
        for _ in 0..self.values + 1 {
            let call = |value: Value| Call {
                f: "poll".into(),
                value: Value::List([value].into()),
            };
            self.entry(process, Kind::Invoke, call(poll(None)));
            let polled = self.poll(last);
            self.entry(process, Kind::Ok, call(polled));
        }
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn poll(polled: Option<Vec<(Value, Value)>>) -> Value {
    let mut parts = vec![text("poll")];
    parts.extend(polled.map(|polled| Value::Map(polled.into())));
    Value::List(parts.into())
}
