//! Isolation levels on sessions of transactions, word for word: all orders of the transactions are tried, and the axioms
//! of Biswas and Enea ("On the Complexity of Checking Transactional Consistency", 2019) are looked up in each; for
//! parallel snapshot isolation all orders of the writers of each key, by Cerone and Gotsman ("Analysing Snapshot
//! Isolation", 2016).

pub mod make;
mod orders;
mod snapshots;

use orders::permutations;

use checker::Level;
use history::{Call, Kind, Op, Process, Value};

/// The levels that are judged here.
pub const LEVELS: [Level; 7] = [
    Level::ReadUncommitted,
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::Causal,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
];

/// A read or a write of a key. Every value of a key is written at most once; 0 is initial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub write: bool,
    pub key: i64,
    pub value: i64,
}

/// A transaction of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Txn {
    pub session: u64,
    /// Ok where it committed, fail where it aborted, info where nobody knows.
    pub end: Kind,
    pub events: Vec<Event>,
}

/// As a stream of entries.
pub fn entries(txns: &[Txn]) -> Vec<Op> {
    let mut ops = Vec::new();
    for txn in txns {
        let micro = |event: &Event| {
            let name = Value::Keyword(if event.write { "w" } else { "r" }.into());
            Value::List([name, Value::Int(event.key), Value::Int(event.value)].into())
        };
        let value = Value::List(txn.events.iter().map(micro).collect());
        for kind in [Kind::Invoke, txn.end] {
            let index = ops.len() as u64;
            ops.push(Op {
                index,
                time: index,
                process: Process::Client(txn.session),
                kind,
                body: Call {
                    f: "txn".into(),
                    value: value.clone(),
                },
            });
        }
    }
    ops
}

/// The history as text: `session: w key value, r key value`, a transaction a line.
pub fn print(txns: &[Txn]) -> String {
    let mut text = String::new();
    for txn in txns {
        let events = txn.events.iter().map(|event| {
            let name = if event.write { "w" } else { "r" };
            format!("{name} {} {}", event.key, event.value)
        });
        let end = format!(" ({:?})", txn.end);
        text += &format!(
            "{}: {}{end}\n",
            txn.session,
            events.collect::<Vec<_>>().join(", ")
        );
    }
    text
}

/// A read of what another transaction wrote last: where it is, of which key, and whose write it is (0: the initial
/// state's; else a transaction counted from 1).
struct Read {
    txn: usize,
    place: usize,
    key: i64,
    writer: usize,
}

/// Transactions from 1, the initial state as 0, and who reads from whom.
struct History<'a> {
    txns: Vec<&'a Txn>,
    keys: Vec<i64>,
    reads: Vec<Read>,
}

/// Whether a history is of a level: whether it is with some of the transactions committed whose fate nobody knows.
pub fn allows(level: Level, txns: &[Txn]) -> bool {
    let unknown: Vec<usize> = (0..txns.len())
        .filter(|place| txns[*place].end == Kind::Info)
        .collect();
    (0..1u32 << unknown.len()).any(|chosen| {
        let committed = |place: &usize| match unknown.iter().position(|one| one == place) {
            Some(bit) => chosen & (1 << bit) != 0,
            None => txns[*place].end == Kind::Ok,
        };
        let committed: Vec<usize> = (0..txns.len()).filter(committed).collect();
        allows_with(level, txns, &committed)
    })
}

fn allows_with(level: Level, txns: &[Txn], committed: &[usize]) -> bool {
    if level == Level::ReadUncommitted {
        return txns.iter().filter(|txn| txn.end == Kind::Ok).all(|txn| {
            let reads = txn.events.iter().filter(|event| !event.write && event.value != 0);
            reads.into_iter().all(|read| {
                let mut all = txns.iter().flat_map(|txn| &txn.events);
                all.any(|event| event.write && (event.key, event.value) == (read.key, read.value))
            })
        });
    }
    let committed: Vec<&Txn> = committed.iter().map(|place| &txns[*place]).collect();
    let Some(history) = led_back(committed) else {
        return false;
    };
    if level == Level::ParallelSnapshotIsolation {
        return history.parallel();
    }
    permutations(history.txns.len()).any(|order| {
        let mut co = vec![0; history.txns.len() + 1];
        for (place, txn) in order.iter().enumerate() {
            co[txn + 1] = place + 1;
        }
        history.agrees(&co) && history.axiom(level, &co)
    })
}

/// None where a read reads what it must not, whatever the order. What a transaction of unknown fate read was not told.
fn led_back(committed: Vec<&Txn>) -> Option<History<'_>> {
    let mut keys: Vec<i64> = committed
        .iter()
        .flat_map(|txn| &txn.events)
        .map(|event| event.key)
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let mut reads = Vec::new();
    for (number, txn) in committed
        .iter()
        .enumerate()
        .filter(|(_, txn)| txn.end == Kind::Ok)
    {
        for (place, read) in txn.events.iter().enumerate().filter(|(_, event)| !event.write) {
            let own = txn.events[..place]
                .iter()
                .rev()
                .find(|event| event.write && event.key == read.key);
            if let Some(own) = own {
                if own.value != read.value {
                    return None;
                }
                continue;
            }
            let writer = match read.value {
                0 => 0,
                value => {
                    let last = |txn: &&&Txn| {
                        let mut writes = txn
                            .events
                            .iter()
                            .rev()
                            .filter(|event| event.write && event.key == read.key);
                        writes.next().is_some_and(|last| last.value == value)
                    };
                    let writer = committed.iter().position(|txn| last(&txn))?;
                    if writer == number {
                        return None;
                    }
                    writer + 1
                }
            };
            reads.push(Read {
                txn: number + 1,
                place,
                key: read.key,
                writer,
            });
        }
    }
    Some(History {
        txns: committed,
        keys,
        reads,
    })
}

impl History<'_> {
    fn writes(&self, txn: usize, key: i64) -> bool {
        txn == 0
            || self.txns[txn - 1]
                .events
                .iter()
                .any(|event| event.write && event.key == key)
    }

    fn all(&self) -> std::ops::RangeInclusive<usize> {
        0..=self.txns.len()
    }

    /// The session order. One of unknown fate may take effect after what its session does next.
    fn so(&self, a: usize, b: usize) -> bool {
        let same = |a: &Txn, b: &Txn| a.session == b.session && a.end == Kind::Ok;
        a != b && (a == 0 || b != 0 && a < b && same(self.txns[a - 1], self.txns[b - 1]))
    }

    /// Writer before reader.
    fn wr(&self, a: usize, b: usize) -> bool {
        self.reads.iter().any(|read| (read.writer, read.txn) == (a, b))
    }

    /// Whether an order of commits extends the session order and write-read.
    fn agrees(&self, co: &[usize]) -> bool {
        self.all().all(|a| {
            self.all()
                .all(|b| !(self.so(a, b) || self.wr(a, b)) || co[a] < co[b])
        })
    }

    /// The axioms: for each read of key x in t3 from t1 and each other writer t2 of x, where t2 is seen by t3 in the
    /// sense of the level, t2 is before t1.
    fn axiom(&self, level: Level, co: &[usize]) -> bool {
        let hb = self.closure(|a, b| self.so(a, b) || self.wr(a, b));
        self.reads.iter().all(|read| {
            let older = |t2: &usize| *t2 != read.writer && *t2 != read.txn && self.writes(*t2, read.key);
            self.all().filter(older).all(|t2| {
                let seen = match level {
                    Level::ReadCommitted => self
                        .reads
                        .iter()
                        .any(|r| (r.txn, r.writer) == (read.txn, t2) && r.place < read.place),
                    Level::ReadAtomic => self.so(t2, read.txn) || self.wr(t2, read.txn),
                    Level::Causal => hb[t2][read.txn],
                    Level::SnapshotIsolation => self.in_snapshot(co, t2, read.txn),
                    _ => co[t2] < co[read.txn],
                };
                !seen || co[t2] < co[read.writer]
            })
        })
    }

    /// Prefix and conflict: t2 is at or before a transaction that t3 saw, or that wrote a key which t3 writes too, before
    /// t3.
    fn in_snapshot(&self, co: &[usize], t2: usize, t3: usize) -> bool {
        self.all().any(|t4| {
            let both = self
                .keys
                .iter()
                .any(|key| self.writes(t4, *key) && self.writes(t3, *key));
            co[t2] <= co[t4] && co[t4] < co[t3] && (self.so(t4, t3) || self.wr(t4, t3) || both)
        })
    }

    /// Parallel snapshot isolation: an order of the writers of each key such that no cycle of session order,
    /// write-read, write-write and at most one read-write exists.
    fn parallel(&self) -> bool {
        let writers: Vec<Vec<usize>> = self
            .keys
            .iter()
            .map(|key| self.all().skip(1).filter(|txn| self.writes(*txn, *key)).collect())
            .collect();
        self.some_orders(&writers, &mut Vec::new())
    }

    fn some_orders(&self, writers: &[Vec<usize>], orders: &mut Vec<Vec<usize>>) -> bool {
        let Some(next) = writers.get(orders.len()) else {
            return self.parallel_with(orders);
        };
        permutations(next.len()).any(|order| {
            orders.push(
                [0].into_iter()
                    .chain(order.iter().map(|place| next[*place]))
                    .collect(),
            );
            let found = self.some_orders(writers, orders);
            orders.pop();
            found
        })
    }

    fn parallel_with(&self, orders: &[Vec<usize>]) -> bool {
        let place = |key: i64, txn: usize| {
            let order = self
                .keys
                .iter()
                .position(|one| *one == key)
                .map(|at| &orders[at])?;
            order.iter().position(|one| *one == txn)
        };
        let ww = |a: usize, b: usize| {
            self.keys
                .iter()
                .any(|key| matches!((place(*key, a), place(*key, b)), (Some(a), Some(b)) if a < b))
        };
        let hb = self.closure(|a, b| self.so(a, b) || self.wr(a, b) || ww(a, b));
        let cyclic = self.all().any(|txn| hb[txn][txn]);
        let overtaken = self.reads.iter().any(|read| {
            self.all().any(|other| {
                other != read.txn
                    && matches!((place(read.key, read.writer), place(read.key, other)), (Some(a), Some(b)) if a < b)
                    && hb[other][read.txn]
            })
        });
        !cyclic && !overtaken
    }

    fn closure(&self, edge: impl Fn(usize, usize) -> bool) -> Vec<Vec<bool>> {
        let mut reach: Vec<Vec<bool>> = self
            .all()
            .map(|a| self.all().map(|b| edge(a, b)).collect())
            .collect();
        for middle in self.all() {
            for a in self.all() {
                for b in self.all() {
                    reach[a][b] |= reach[a][middle] && reach[middle][b];
                }
            }
        }
        reach
    }
}
