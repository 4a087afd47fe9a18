//! Operations of a small history, taken apart.

use history::{Kind, Op, Process, Value};

/// An operation.
#[derive(Clone, Debug)]
pub struct Done {
    pub process: Process,
    pub kind: Kind,
    pub f: String,
    /// Where its entries stand: the second is none where it never completed.
    pub began: usize,
    pub ended: Option<usize>,
    /// What it assigned or subscribed to.
    pub kept: Vec<i64>,
    /// Key, offset and value.
    pub sends: Vec<(i64, Option<i64>, i64)>,
    /// The same.
    pub polls: Vec<(i64, Option<i64>, i64)>,
}

impl Done {
    pub fn sent(&self, key: i64) -> Vec<i64> {
        values(&self.sends, key)
    }

    pub fn polled(&self, key: i64) -> Vec<i64> {
        values(&self.polls, key)
    }

    pub fn moves(&self) -> bool {
        ["send", "poll", "txn"].contains(&&*self.f)
    }
}

fn values(records: &[(i64, Option<i64>, i64)], key: i64) -> Vec<i64> {
    records.iter().filter(|r| r.0 == key).map(|r| r.2).collect()
}

/// All operations: in the order of completions, then those without, in the order of invocations.
pub fn decode(history: &[Op]) -> Vec<Done> {
    let mut done = Vec::new();
    let mut open = Vec::new();
    for (began, invoked) in history
        .iter()
        .enumerate()
        .filter(|(_, op)| op.kind == Kind::Invoke)
    {
        let after = history.iter().enumerate().skip(began + 1);
        let ended = after.clone().find(|(_, op)| op.process == invoked.process);
        match ended {
            Some((ended, op)) => done.push(take(op, began, Some(ended))),
            None => open.push(take(invoked, began, None)),
        }
    }
    done.sort_by_key(|op: &Done| op.ended);
    done.append(&mut open);
    done
}

fn take(op: &Op, began: usize, ended: Option<usize>) -> Done {
    let mut done = Done {
        process: op.process,
        kind: if ended.is_some() { op.kind } else { Kind::Info },
        f: op.body.f.to_string(),
        began,
        ended,
        kept: vec![],
        sends: vec![],
        polls: vec![],
    };
    for part in op.body.value.list().unwrap_or_default() {
        match part.list() {
            None => done.kept.extend(part.int()),
            Some([_, Value::Map(polled)]) => {
                for (key, records) in polled {
                    for record in records.list().unwrap() {
                        let record = record.list().unwrap();
                        let (offset, value) = (record[0].int(), record[1].int().unwrap());
                        done.polls.push((number(key), offset, value));
                    }
                }
            }
            Some([_, key, Value::List(record)]) => {
                done.sends
                    .push((number(key), record[0].int(), record[1].int().unwrap()));
            }
            Some([_, key, value]) => done.sends.push((number(key), None, value.int().unwrap())),
            Some(_) => {}
        }
    }
    done
}

fn number(key: &Value) -> i64 {
    match key {
        Value::Int(number) => *number,
        other => other.name().unwrap().parse().unwrap(),
    }
}
