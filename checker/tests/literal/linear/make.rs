//! Makes small histories: an object that does everything right, clients of it that crash, and a clock that stands
//! still now and then.

use super::super::random::Random;
use super::object::{initial, list, perform};
use checker::ModelName;
use history::{Call, Kind, Op, Process, Value};

/// A client and its open operation.
enum Client {
    Idle,
    Asked {
        f: &'static str,
        value: Value,
    },
    Answered {
        f: &'static str,
        kind: Kind,
        value: Value,
    },
}

/// What a history is like.
pub struct Shape {
    /// Clients at a time.
    pub clients: usize,
    /// Operations.
    pub operations: usize,
    /// How many of a hundred have no answer.
    pub crash: usize,
}

/// A history that is linearizable, of at most `most` operations.
pub fn make(model: ModelName, random: &mut Random, most: usize) -> Vec<Op> {
    let operations = 1 + random.below(most);
    let crash = *random.pick(&[0, 10, 40]);
    let clients = 1 + random.below(4);
    run(
        model,
        random,
        &Shape {
            clients,
            operations,
            crash,
        },
    )
}

/// A history that is linearizable.
pub fn run(model: ModelName, random: &mut Random, shape: &Shape) -> Vec<Op> {
    let (operations, crash) = (shape.operations, shape.crash);
    let mut clients: Vec<(u64, Client)> = (0..shape.clients).map(|n| (n as u64, Client::Idle)).collect();
    let (mut late, mut begun, mut history) = (Vec::new(), 0, Vec::new());
    let (mut state, mut next_process) = (initial(model), clients.len() as u64);
    while begun < operations || clients.iter().any(|(_, client)| !matches!(client, Client::Idle)) {
        if !late.is_empty() && random.percent(15) {
            let (f, value) = late.swap_remove(random.below(late.len()));
            state = perform(model, &state, f, &value).0;
        }
        let chosen = random.below(clients.len());
        let (process, client) = &mut clients[chosen];
        *client = match std::mem::replace(client, Client::Idle) {
            Client::Idle if begun == operations => Client::Idle,
            Client::Idle => {
                begun += 1;
                let (f, value) = ask(model, random);
                history.push(entry(*process, Kind::Invoke, f, &value));
                Client::Asked { f, value }
            }
            Client::Asked { f, value } if random.percent(crash) => {
                if random.percent(70) {
                    // The answer is lost, or the whole rest of it.
                    history.push(entry(*process, Kind::Info, f, &value));
                }
                late.push((f, value));
                *process = next_process;
                next_process += 1;
                Client::Idle
            }
            Client::Asked { f, value } if random.percent(5) => Client::Answered {
                f,
                kind: refusal(f),
                value,
            },
            Client::Asked { f, value } => {
                let (after, answer) = perform(model, &state, f, &value);
                state = after;
                let kind = if answer.is_some() { Kind::Ok } else { Kind::Fail };
                Client::Answered {
                    f,
                    kind,
                    value: answer.unwrap_or(value),
                }
            }
            Client::Answered { f, kind, value } => {
                history.push(entry(*process, kind, f, &value));
                Client::Idle
            }
        };
    }
    stamp(&mut history, random);
    history
}

/// How an operation ends that never reached the object: of a compare-and-set, a failure would say something.
fn refusal(f: &str) -> Kind {
    if f == "cas" { Kind::Info } else { Kind::Fail }
}

/// Numbers the entries, and stamps them by a clock that moves only now and then.
pub fn stamp(history: &mut [Op], random: &mut Random) {
    let mut time = 0;
    for (index, op) in history.iter_mut().enumerate() {
        time += u64::from(random.percent(80));
        (op.index, op.time) = (index as u64, time);
    }
}

/// An entry, not numbered yet.
pub fn entry(process: u64, kind: Kind, f: &str, value: &Value) -> Op {
    Op {
        index: 0,
        time: 0,
        process: Process::Client(process),
        kind,
        body: Call {
            f: f.into(),
            value: value.clone(),
        },
    }
}

/// A small value: few, so that they meet.
pub fn small(random: &mut Random) -> Value {
    Value::Int(1 + random.below(3) as i64)
}

fn ask(model: ModelName, random: &mut Random) -> (&'static str, Value) {
    let reads = random.percent(45);
    match model {
        ModelName::Register if !reads => ("write", small(random)),
        ModelName::CasRegister if !reads && random.percent(50) => ("write", small(random)),
        ModelName::CasRegister if !reads => ("cas", list(vec![small(random), small(random)])),
        ModelName::MultiRegister => (
            "txn",
            list((0..1 + random.below(2)).map(|_| micro(random)).collect()),
        ),
        ModelName::Mutex if reads => ("release", Value::Nil),
        ModelName::Mutex => ("acquire", Value::Nil),
        ModelName::Set if !reads => ("add", small(random)),
        ModelName::Queue if reads => ("dequeue", Value::Nil),
        ModelName::Queue => ("enqueue", small(random)),
        ModelName::Counter if !reads => ("add", Value::Int(random.below(4) as i64 - 1)),
        ModelName::Log if !reads => ("append", small(random)),
        ModelName::Log if random.percent(50) => ("read", Value::Int(random.below(3) as i64)),
        ModelName::KeyValue => {
            let f = *random.pick(&["get", "get", "put", "append", "append"]);
            let value = if f == "get" {
                Value::Nil
            } else {
                Value::Text((*random.pick(&["a", "b", "ab"])).into())
            };
            (
                f,
                list(vec![Value::Text((*random.pick(&["k", "k", "l"])).into()), value]),
            )
        }
        _ => ("read", Value::Nil),
    }
}

fn micro(random: &mut Random) -> Value {
    let key = Value::Keyword((*random.pick(&["x", "y", "z"])).into());
    if random.percent(50) {
        return list(vec![Value::Keyword("read".into()), key, Value::Nil]);
    }
    list(vec![Value::Keyword("write".into()), key, small(random)])
}
