//! Bank: each read by itself.

use super::{Counts, add};
use crate::literal::random::Random;
use history::{Kind, Op, Value};

/// Reads of three accounts of 10 in all, one after another.
pub fn make(random: &mut Random) -> Vec<Op> {
    let mut history = Vec::new();
    let mut balances = [10, 0, 0];
    for _ in 0..1 + random.below(6) {
        let (from, to, amount) = (random.below(3), random.below(3), random.below(6) as i64);
        balances[from] -= amount;
        balances[to] += amount;
        if balances[from] < 0 && random.percent(80) {
            balances[from] += amount;
            balances[to] -= amount;
        }
        let mut pairs: Vec<(Value, Value)> = (0i64..3)
            .zip(balances)
            .map(|(account, balance)| (Value::Int(account), Value::Int(balance)))
            .collect();
        if random.percent(20) {
            match random.below(4) {
                0 => pairs[random.below(3)].1 = Value::Nil,
                1 => pairs.push((Value::Int(7), Value::Int(0))),
                2 => drop(pairs.remove(random.below(3))),
                _ => pairs[random.below(3)].1 = Value::Int(4),
            }
        }
        let end = *random.pick(&[Kind::Ok, Kind::Ok, Kind::Ok, Kind::Fail, Kind::Info]);
        add(&mut history, 1, Kind::Invoke, "read", Value::Nil);
        add(&mut history, 1, end, "read", Value::Map(pairs.into()));
    }
    history
}

/// The total and the accounts are those of the first read without nil.
pub fn counts(history: &[Op]) -> Counts {
    let reads: Vec<&[(Value, Value)]> = history
        .iter()
        .filter(|op| op.kind == Kind::Ok)
        .filter_map(|op| match &op.body.value {
            Value::Map(pairs) => Some(&**pairs),
            _ => None,
        })
        .collect();
    let is_nil = |read: &[(Value, Value)]| read.iter().any(|(_, balance)| *balance == Value::Nil);
    let total = |read: &[(Value, Value)]| read.iter().filter_map(|(_, balance)| balance.int()).sum::<i64>();
    let whole = reads.iter().position(|read| !is_nil(read)).unwrap_or(reads.len());
    let has = |read: &[(Value, Value)], account: &Value| read.iter().any(|(other, _)| other == account);
    let mut counts = Counts::new();
    for (place, read) in reads.iter().enumerate() {
        let mut count = |name, wrong: bool| *counts.entry(name).or_insert(0) += u64::from(wrong);
        count("nil-balance", is_nil(read));
        count(
            "negative-value",
            read.iter()
                .any(|(_, balance)| balance.int() < Some(0) && balance.int().is_some()),
        );
        // What a read before the first whole one has more or less, nobody knows.
        if place >= whole {
            count("wrong-total", !is_nil(read) && total(read) != total(reads[whole]));
            count(
                "unexpected-key",
                read.iter().any(|(account, _)| !has(reads[whole], account)),
            );
            count(
                "missing-key",
                reads[whole].iter().any(|(account, _)| !has(read, account)),
            );
        }
    }
    counts
}
