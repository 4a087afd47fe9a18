//! Histories on which searches hang: thousands of operations that may or may not have happened, equal values, long
//! overlaps. Each in the size that is asked for.

use super::super::random::Random;
use super::make::{Shape, entry, run};
use super::object::list;
use checker::{ModelName, Outcome};
use history::{Kind, Op, Value};

/// One of them.
pub struct Hard {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What it is judged as.
    pub model: ModelName,
    /// Its verdict, however large it is.
    pub verdict: Outcome,
    /// The size at which searches hang.
    pub size: usize,
    /// Makes it.
    pub make: fn(usize) -> Vec<Op>,
}

/// All of them.
pub const HARD: &[Hard] = &[
    Hard {
        name: "crashed-writes",
        what: "writes without an answer, each read once, but for the one that is read twice, with others between",
        model: ModelName::Register,
        verdict: Outcome::Fail,
        size: 1_000,
        make: crashed_writes,
    },
    Hard {
        name: "crashed-cas",
        what: "compare-and-sets without an answer, a chain of them, read from its end to its beginning",
        model: ModelName::CasRegister,
        verdict: Outcome::Fail,
        size: 1_000,
        make: crashed_cas,
    },
    Hard {
        name: "fifty-keys",
        what: "fifty keys with twenty clients each and few values, of which one is hopeless",
        model: ModelName::CasRegister,
        verdict: Outcome::Fail,
        size: 400,
        make: fifty_keys,
    },
    Hard {
        name: "first-wrong",
        what: "a million operations of which the first is wrong",
        model: ModelName::Register,
        verdict: Outcome::Fail,
        size: 1_000_000,
        make: first_wrong,
    },
    Hard {
        name: "equal-values",
        what: "hundreds of overlapping writes of one value, and at last a read of another",
        model: ModelName::Register,
        verdict: Outcome::Fail,
        size: 400,
        make: equal_values,
    },
    Hard {
        name: "always-busy",
        what: "thirty clients that are always busy, and two values",
        model: ModelName::CasRegister,
        verdict: Outcome::Pass,
        size: 20_000,
        make: |size| busy(ModelName::CasRegister, 30, size, 0),
    },
    Hard {
        name: "busy-and-crashing",
        what: "twelve clients of a register, a tenth of whose operations have no answer",
        model: ModelName::CasRegister,
        verdict: Outcome::Pass,
        size: 5_000,
        make: |size| busy(ModelName::CasRegister, 12, size, 10),
    },
    Hard {
        name: "mutex-crashed",
        what: "a lock whose acquires and releases often have no answer",
        model: ModelName::Mutex,
        verdict: Outcome::Pass,
        size: 2_000,
        make: |size| busy(ModelName::Mutex, 10, size, 30),
    },
    Hard {
        name: "counter-crashed",
        what: "adds of different numbers without an answer, and reads that some of them explain",
        model: ModelName::Counter,
        verdict: Outcome::Pass,
        size: 300,
        make: counter_crashed,
    },
    Hard {
        name: "counter-odd",
        what: "adds of even numbers without an answer, and a read of an odd one",
        model: ModelName::Counter,
        verdict: Outcome::Fail,
        size: 300,
        make: counter_odd,
    },
    Hard {
        name: "set-crashed",
        what: "adds without an answer, reads that have more and more of them, and one that has lost one",
        model: ModelName::Set,
        verdict: Outcome::Fail,
        size: 500,
        make: set_crashed,
    },
    Hard {
        name: "kv-crashed",
        what: "appends without an answer under one key, gets that have more and more of them, and one in another order",
        model: ModelName::KeyValue,
        verdict: Outcome::Fail,
        size: 400,
        make: kv_crashed,
    },
    Hard {
        name: "log-crashed",
        what: "appends without an answer to a log, a tenth of whose offsets are read",
        model: ModelName::Log,
        verdict: Outcome::Pass,
        size: 1_000,
        make: log_crashed,
    },
    Hard {
        name: "queue-overlap",
        what: "enqueues that all overlap, dequeued in an order of their own, of which two are swapped after the fact",
        model: ModelName::Queue,
        verdict: Outcome::Fail,
        size: 24,
        make: queue_overlap,
    },
    Hard {
        name: "transactions-crashed",
        what: "transactions on three registers, a fifth of which have no answer",
        model: ModelName::MultiRegister,
        verdict: Outcome::Pass,
        size: 2_000,
        make: |size| busy(ModelName::MultiRegister, 8, size, 20),
    },
];

/// Entries, one after another.
#[derive(Default)]
struct Script(Vec<Op>);

impl Script {
    fn add(&mut self, process: u64, kind: Kind, f: &str, value: Value) {
        let mut op = entry(process, kind, f, &value);
        (op.index, op.time) = (self.0.len() as u64, self.0.len() as u64);
        self.0.push(op);
    }

    /// An operation without an answer, by a process of its own.
    fn crashed(&mut self, f: &str, value: Value) {
        self.add(1_000 + self.0.len() as u64, Kind::Invoke, f, value);
    }

    /// An operation that nothing overlaps.
    fn done(&mut self, f: &str, asked: Value, answered: Value) {
        self.add(0, Kind::Invoke, f, asked);
        self.add(0, Kind::Ok, f, answered);
    }
}

fn int(number: usize) -> Value {
    Value::Int(number as i64)
}

fn crashed_writes(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    (1..=size).for_each(|value| script.crashed("write", int(value)));
    (1..=size).for_each(|value| script.done("read", Value::Nil, int(value)));
    script.done("read", Value::Nil, int(size / 2));
    script.0
}

fn crashed_cas(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    script.done("write", int(0), int(0));
    (0..size).for_each(|value| script.crashed("cas", list(vec![int(value), int(value + 1)])));
    script.done("read", Value::Nil, int(size));
    script.done("read", Value::Nil, int(size / 2));
    script.0
}

fn busy(model: ModelName, clients: usize, operations: usize, crash: usize) -> Vec<Op> {
    run(
        model,
        &mut Random::new(7),
        &Shape {
            clients,
            operations,
            crash,
        },
    )
}

fn fifty_keys(size: usize) -> Vec<Op> {
    let mut all = Vec::new();
    for key in 0..50u64 {
        let mut history = run(
            ModelName::CasRegister,
            &mut Random::new(key),
            &Shape {
                clients: 20,
                operations: size,
                crash: 5,
            },
        );
        if key == 25 {
            // A value that nothing writes, read after all else.
            for kind in [Kind::Invoke, Kind::Ok] {
                history.push(entry(999_999, kind, "read", &int(99)));
            }
        }
        for op in &mut history {
            op.body.value = list(vec![int(key as usize), op.body.value.clone()]);
            op.process = match op.process {
                history::Process::Client(number) => history::Process::Client(number * 50 + key),
                other => other,
            };
        }
        all.push(history.into_iter());
    }
    // A few of each in turn.
    let mut mixed = Vec::new();
    while !all.is_empty() {
        all.retain_mut(|history| {
            let before = mixed.len();
            mixed.extend(history.take(3));
            mixed.len() > before
        });
    }
    number(&mut mixed);
    mixed
}

fn number(history: &mut [Op]) {
    for (index, op) in history.iter_mut().enumerate() {
        (op.index, op.time) = (index as u64, index as u64);
    }
}

fn first_wrong(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    script.done("read", Value::Nil, int(3));
    let mut history = script.0;
    let shape = Shape {
        clients: 10,
        operations: size,
        crash: 0,
    };
    history.extend(run(ModelName::Register, &mut Random::new(3), &shape));
    number(&mut history);
    history
}

fn equal_values(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    let clients = size as u64;
    for _ in 0..2 {
        (1..=clients).for_each(|client| script.add(client, Kind::Invoke, "write", int(1)));
        (1..=clients).for_each(|client| script.add(client, Kind::Ok, "write", int(1)));
    }
    script.done("read", Value::Nil, int(2));
    script.0
}

fn counter_crashed(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    (1..=size).for_each(|number| script.crashed("add", int(number)));
    let sums = (1..=size).scan(0, |sum, number| {
        *sum += number;
        Some(*sum)
    });
    sums.for_each(|sum| script.done("read", Value::Nil, int(sum)));
    script.0
}

fn counter_odd(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    (1..=size).for_each(|number| script.crashed("add", int(2 * (number % 5 + 1))));
    script.done("read", Value::Nil, int(size / 2 * 2 + 1));
    script.0
}

fn set_crashed(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    (1..=size).for_each(|element| script.crashed("add", int(element)));
    for most in (1..=size).step_by(size.div_ceil(50)) {
        script.done("read", Value::Nil, list((1..=most).map(int).collect()));
    }
    script.done("read", Value::Nil, list((2..=size).map(int).collect()));
    script.0
}

fn kv_crashed(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    let key = Value::Text("k".into());
    let text = |numbers: &[usize]| {
        let words: Vec<String> = numbers.iter().map(|number| format!("{number};")).collect();
        list(vec![key.clone(), Value::Text(words.concat().into())])
    };
    (1..=size).for_each(|number| script.crashed("append", text(&[number])));
    let mut order: Vec<usize> = (1..=size).rev().collect();
    for most in (1..=size).step_by(size.div_ceil(50)) {
        script.done("get", list(vec![key.clone(), Value::Nil]), text(&order[..most]));
    }
    order.swap(0, 1);
    script.done("get", list(vec![key.clone(), Value::Nil]), text(&order));
    script.0
}

fn log_crashed(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    (0..size).for_each(|number| script.crashed("append", int(number)));
    for offset in (0..size / 2).step_by(10) {
        script.done("read", int(offset), int(size - 1 - offset));
    }
    script.0
}

fn queue_overlap(size: usize) -> Vec<Op> {
    let mut script = Script::default();
    let clients = size as u64;
    (1..=clients).for_each(|client| script.add(client, Kind::Invoke, "enqueue", int(client as usize)));
    (1..=clients).for_each(|client| script.add(client, Kind::Ok, "enqueue", int(client as usize)));
    let (first, second) = (size + 1, size + 2);
    script.done("enqueue", int(first), int(first));
    script.done("enqueue", int(second), int(second));
    (1..=size)
        .rev()
        .for_each(|value| script.done("dequeue", Value::Nil, int(value)));
    script.done("dequeue", Value::Nil, int(second));
    script.done("dequeue", Value::Nil, int(first));
    script.0
}
