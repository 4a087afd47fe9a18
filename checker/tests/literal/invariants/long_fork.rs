//! Long fork: each pair of reads, key by key.

use super::{Counts, add};
use crate::literal::random::Random;
use history::{Kind, Op, Value};

fn micro(name: &str, key: i64, value: Value) -> Value {
    Value::List([Value::Keyword(name.into()), Value::Int(key), value].into())
}

/// Writes of some of four keys in two groups, and reads of groups that see some of the writes.
pub fn make(random: &mut Random) -> Vec<Op> {
    let mut history = Vec::new();
    let mut written: Vec<i64> = Vec::new();
    let (honest, count) = (random.percent(40), 2 + random.below(12));
    for _ in 0..count {
        let process = random.below(3) as u64;
        let key = random.below(4) as i64;
        if random.percent(50) && !written.contains(&key) {
            written.push(key);
            let value = Value::List([micro("w", key, Value::Int(1))].into());
            add(&mut history, process, Kind::Invoke, "write", value.clone());
            add(&mut history, process, Kind::Ok, "write", value);
            continue;
        }
        let group = key / 2 * 2;
        let mut keys = [group, group + 1];
        if random.percent(50) {
            keys.reverse();
        }
        let mut see = |key: i64| match written.contains(&key) && (honest || random.percent(60)) {
            true => Value::Int(1),
            false => Value::Nil,
        };
        let read: Value = Value::List(keys.iter().map(|key| micro("r", *key, see(*key))).collect());
        let asked = Value::List(keys.iter().map(|key| micro("r", *key, Value::Nil)).collect());
        add(&mut history, process, Kind::Invoke, "read", asked);
        add(&mut history, process, Kind::Ok, "read", read);
    }
    history
}

/// Pairs of reads that fork.
pub fn counts(history: &[Op]) -> Counts {
    let reads: Vec<&Op> = history
        .iter()
        .filter(|op| op.kind == Kind::Ok && &*op.body.f == "read")
        .collect();
    let saw = |op: &Op, key: i64| {
        let micros = op.body.value.list()?;
        let micro = micros
            .iter()
            .filter_map(|micro| micro.list())
            .find(|micro| micro[1] == Value::Int(key))?;
        Some(micro[2] != Value::Nil)
    };
    let mut forks = 0;
    for (place, one) in reads.iter().enumerate() {
        for other in &reads[..place] {
            let only =
                |a: &Op, b: &Op| (0..4).any(|key| saw(a, key) == Some(true) && saw(b, key) == Some(false));
            forks += u64::from(only(one, other) && only(other, one));
        }
    }
    Counts::from([("long-fork", forks)])
}
