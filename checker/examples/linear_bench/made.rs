//! Constructed histories of a register, seeded: the same name makes the same history.

use checker::linear::{Operation, RegisterOp};
use std::io::{self, Write};

/// A history by name.
pub struct Made {
    pub name: &'static str,
    /// What is to be found; empty where that is open.
    pub verdict: &'static str,
    pub make: fn() -> Vec<Operation<RegisterOp>>,
}

const fn made(name: &'static str, verdict: &'static str, make: fn() -> Vec<Operation<RegisterOp>>) -> Made {
    Made { name, verdict, make }
}

const GOOD: &str = "linearizable";
const BAD: &str = "not linearizable";

pub const MADE: &[Made] = &[
    made("unique-10k-10", GOOD, || Shape::unique(10_000, 10).make()),
    made("unique-1m-10", GOOD, || Shape::unique(1_000_000, 10).make()),
    made("unique-1m-1000", GOOD, || Shape::unique(1_000_000, 1000).make()),
    made("unique-1m-10-stale", BAD, || stale(Shape::unique(1_000_000, 10))),
    made("few-100k-5", GOOD, || Shape::few(100_000, 5).make()),
    made("few-100k-30", GOOD, || Shape::few(100_000, 30).make()),
    made("cas-10k-10", GOOD, || Shape::cas(10_000, 10).make()),
    made("cas-100k-5", GOOD, || Shape::cas(100_000, 5).make()),
    made("cas-100k-10", GOOD, || Shape::cas(100_000, 10).make()),
    made("cas-100k-20", GOOD, || Shape::cas(100_000, 20).make()),
    made("cas-1m-5", GOOD, || Shape::cas(1_000_000, 5).make()),
    made("cas-1m-10", GOOD, || Shape::cas(1_000_000, 10).make()),
    made("cas-1m-10-wrong-late", BAD, || {
        wrong(Shape::cas(1_000_000, 10), 900_000)
    }),
    made("cas-1m-10-jumbled-late", BAD, || {
        jumbled(Shape::cas(1_000_000, 10), 900_000)
    }),
    made("cas-1m-10-wrong-first", BAD, || {
        wrong(Shape::cas(1_000_000, 10), 0)
    }),
    made("cas-10k-5-crashes-10%", GOOD, || {
        Shape::cas(10_000, 5).crashing(10).make()
    }),
    made("cas-10k-5-crashes-10%-wrong", BAD, || {
        wrong(Shape::cas(10_000, 5).crashing(10), 9_000)
    }),
    made("few-10k-5-crashes-30%", GOOD, || {
        Shape::few(10_000, 5).crashing(30).make()
    }),
    made("unique-10k-5-crashes-30%-cas", GOOD, || unique_with_cas(10_000)),
    made("thousand-crashed-writes", GOOD, || crashed_writes(1000, true)),
    made("thousand-crashed-writes-wrong", BAD, || {
        crashed_writes(1000, false)
    }),
    made("cas-10k-300", "", || Shape::cas(10_000, 300).make()),
    made("few-10k-500", "", || Shape::few(10_000, 500).make()),
    made("equal-values-100k-10", GOOD, || {
        Shape {
            values: 1,
            ..Shape::cas(100_000, 10)
        }
        .make()
    }),
];

/// A stream of numbers (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// What a history is like. Clients are always busy.
struct Shape {
    operations: usize,
    clients: usize,
    /// Values that are written: 0 is one of its own each time.
    values: u64,
    cas: bool,
    crashed_percent: u64,
}

impl Shape {
    fn unique(operations: usize, clients: usize) -> Shape {
        Shape {
            operations,
            clients,
            values: 0,
            cas: false,
            crashed_percent: 0,
        }
    }

    fn few(operations: usize, clients: usize) -> Shape {
        Shape {
            values: 5,
            ..Shape::unique(operations, clients)
        }
    }

    fn cas(operations: usize, clients: usize) -> Shape {
        Shape {
            cas: true,
            ..Shape::few(operations, clients)
        }
    }

    fn crashing(self, crashed_percent: u64) -> Shape {
        Shape {
            crashed_percent,
            ..self
        }
    }

    /// A history that a register made: each operation happens at a moment between its invocation and its completion.
    /// One that crashes happens then, or later, or never.
    fn make(&self) -> Vec<Operation<RegisterOp>> {
        Maker {
            shape: self,
            draw: Draw(42 + self.operations as u64 * 31 + self.clients as u64),
            state: 0,
            fresh: 0,
            time: 0,
            history: Vec::with_capacity(self.operations),
            late: Vec::new(),
        }
        .make()
    }
}

enum Client {
    Idle,
    Asked { op: RegisterOp, at: u64 },
    Done { op: RegisterOp, at: u64 },
}

struct Maker<'a> {
    shape: &'a Shape,
    draw: Draw,
    state: u32,
    fresh: u32,
    time: u64,
    history: Vec<Operation<RegisterOp>>,
    /// Crashed operations that may happen yet.
    late: Vec<RegisterOp>,
}

impl Maker<'_> {
    fn make(mut self) -> Vec<Operation<RegisterOp>> {
        let mut clients: Vec<Client> = (0..self.shape.clients).map(|_| Client::Idle).collect();
        let mut begun = 0;
        let mut busy = 0;
        while begun < self.shape.operations || busy > 0 {
            if !self.late.is_empty() && self.draw.below(200) == 0 {
                let chosen = self.draw.below(self.late.len() as u64) as usize;
                let op = self.late.swap_remove(chosen);
                self.happen(op);
            }
            let client = &mut clients[self.draw.below(self.shape.clients as u64) as usize];
            *client = match *client {
                Client::Idle if begun == self.shape.operations => Client::Idle,
                Client::Idle => {
                    begun += 1;
                    busy += 1;
                    Client::Asked {
                        op: self.ask(),
                        at: self.now(),
                    }
                }
                Client::Asked { op, at } if self.draw.below(100) < self.shape.crashed_percent => {
                    self.history.push(Operation::pending(op, at));
                    self.late.push(op);
                    busy -= 1;
                    Client::Idle
                }
                Client::Asked { op, at } => Client::Done {
                    op: self.happen(op),
                    at,
                },
                Client::Done { op, at } => {
                    let now = self.now();
                    self.history.extend(Operation::completed(op, at, now));
                    busy -= 1;
                    Client::Idle
                }
            };
        }
        self.history
    }

    fn now(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    fn value(&mut self) -> u32 {
        if self.shape.values == 0 {
            self.fresh += 1;
            return self.fresh;
        }
        self.draw.below(self.shape.values) as u32 + 1
    }

    fn ask(&mut self) -> RegisterOp {
        match self.draw.below(if self.shape.cas { 3 } else { 2 }) {
            0 => RegisterOp::Read(0),
            1 => RegisterOp::Write(self.value()),
            _ => RegisterOp::Cas(self.value(), self.value()),
        }
    }

    /// What the register answers.
    fn happen(&mut self, op: RegisterOp) -> RegisterOp {
        match op {
            RegisterOp::Write(value) => self.state = value,
            RegisterOp::Cas(old, new) if old == self.state => self.state = new,
            RegisterOp::Cas(old, _) => return RegisterOp::Differs(old),
            RegisterOp::Read(_) | RegisterOp::Differs(_) => return RegisterOp::Read(self.state),
        }
        op
    }
}

/// A history in which some reads, from the one at a place on, saw what nobody wrote.
fn wrong(shape: Shape, from: usize) -> Vec<Operation<RegisterOp>> {
    let mut history = shape.make();
    let reads = history.iter_mut().skip(from).filter(|operation| {
        matches!(operation.op, RegisterOp::Read(_)) && operation.completed_at().is_some()
    });
    for operation in reads.take(3) {
        operation.op = RegisterOp::Read(6);
    }
    history
}

/// A history in which some reads one after the other, from a place on, saw other values than they did: all of them
/// were written, but not then.
fn jumbled(shape: Shape, from: usize) -> Vec<Operation<RegisterOp>> {
    let mut history = shape.make();
    for operation in history.iter_mut().skip(from).take(60) {
        if let RegisterOp::Read(value) = &mut operation.op {
            *value = *value % 5 + 1;
        }
    }
    history
}

/// A history in which one read saw what was overwritten long before.
fn stale(shape: Shape) -> Vec<Operation<RegisterOp>> {
    let mut history = shape.make();
    let late = history.len() * 9 / 10;
    let old = history[..late - 50 * shape.clients]
        .iter()
        .rev()
        .find_map(|operation| match operation.op {
            RegisterOp::Write(value) => Some(value),
            _ => None,
        });
    let read = history[late..]
        .iter_mut()
        .find(|operation| matches!(operation.op, RegisterOp::Read(_)));
    if let (Some(value), Some(read)) = (old, read) {
        read.op = RegisterOp::Read(value);
    }
    history
}

/// Writes of values of their own, some of which crash, and compare-and-sets between them.
fn unique_with_cas(operations: usize) -> Vec<Operation<RegisterOp>> {
    Shape {
        cas: true,
        crashed_percent: 30,
        ..Shape::unique(operations, 5)
    }
    .make()
}

/// Crashed writes of ten values, then reads that see them, each value as often as it was written; or once too often.
fn crashed_writes(writes: u64, lawful: bool) -> Vec<Operation<RegisterOp>> {
    let mut history: Vec<Operation<RegisterOp>> = (0..writes)
        .map(|write| Operation::pending(RegisterOp::Write(1 + write as u32 % 10), write))
        .collect();
    let reads = writes + u64::from(!lawful);
    for read in 0..reads {
        let at = writes + 2 * read;
        history.extend(Operation::completed(
            RegisterOp::Read(1 + read as u32 % 10),
            at,
            at + 1,
        ));
    }
    history
}

/// The events of a history in order: time, whether it completes, operation.
fn events(history: &[Operation<RegisterOp>]) -> Vec<(u64, bool, usize)> {
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (op, operation) in history.iter().enumerate() {
        events.push((operation.invoked_at(), false, op));
        events.extend(operation.completed_at().map(|at| (at, true, op)));
    }
    events.sort_unstable();
    events
}

/// Processes: the lowest number that is free; those of crashed operations are never free again.
struct Processes {
    free: std::collections::BinaryHeap<std::cmp::Reverse<usize>>,
    next: usize,
    of: Vec<usize>,
}

impl Processes {
    fn new(operations: usize) -> Processes {
        Processes {
            free: Default::default(),
            next: 0,
            of: vec![0; operations],
        }
    }

    fn at(&mut self, completes: bool, op: usize) -> usize {
        if completes {
            self.free.push(std::cmp::Reverse(self.of[op]));
        } else {
            self.of[op] = self.free.pop().map_or_else(
                || {
                    self.next += 1;
                    self.next - 1
                },
                |free| free.0,
            );
        }
        self.of[op]
    }
}

/// As Jepsen writes histories. The initial value is 0.
pub fn write_edn(mut out: impl Write, history: &[Operation<RegisterOp>]) -> io::Result<()> {
    let mut processes = Processes::new(history.len());
    for (_, completes, op) in events(history) {
        let process = processes.at(completes, op);
        let (f, value, fails) = match history[op].op {
            RegisterOp::Read(value) if completes => ("read", value.to_string(), false),
            RegisterOp::Read(_) => ("read", "nil".into(), false),
            RegisterOp::Write(value) => ("write", value.to_string(), false),
            RegisterOp::Cas(old, new) => ("cas", format!("[{old} {new}]"), false),
            RegisterOp::Differs(old) => ("cas", format!("[{old} 1]"), true),
        };
        let kind = match (completes, fails) {
            (false, _) => "invoke",
            (true, false) => "ok",
            (true, true) => "fail",
        };
        writeln!(
            out,
            "{{:process {process}, :type :{kind}, :f :{f}, :value {value}}}"
        )?;
    }
    out.flush()
}

/// As Jepsen logged etcd, for Porcupine. The initial value, 0, is nil there.
pub fn write_etcd_log(mut out: impl Write, history: &[Operation<RegisterOp>]) -> io::Result<()> {
    let mut processes = Processes::new(history.len());
    for (_, completes, op) in events(history) {
        let process = processes.at(completes, op);
        let value = |value: u32| {
            if value == 0 {
                "nil".to_owned()
            } else {
                value.to_string()
            }
        };
        let (f, payload, fails) = match history[op].op {
            RegisterOp::Read(seen) if completes => ("read", value(seen), false),
            RegisterOp::Read(_) => ("read", "nil".into(), false),
            RegisterOp::Write(written) => ("write", value(written), false),
            RegisterOp::Cas(old, new) => ("cas", format!("[{old} {new}]"), false),
            RegisterOp::Differs(old) => ("cas", format!("[{old} 1]"), true),
        };
        let kind = match (completes, fails) {
            (false, _) => "invoke",
            (true, false) => "ok",
            (true, true) => "fail",
        };
        writeln!(out, "INFO  jepsen.util - {process}\t:{kind}\t:{f}\t{payload}")?;
    }
    // What crashed is pending for ever.
    let crashed = history
        .iter()
        .enumerate()
        .filter(|(_, operation)| operation.completed_at().is_none());
    for (op, operation) in crashed {
        let f = match operation.op {
            RegisterOp::Read(_) => "read",
            RegisterOp::Write(_) => "write",
            RegisterOp::Cas(..) | RegisterOp::Differs(_) => "cas",
        };
        writeln!(
            out,
            "INFO  jepsen.util - {}\t:info\t:{f}\t:timed-out",
            processes.of[op]
        )?;
    }
    out.flush()
}
