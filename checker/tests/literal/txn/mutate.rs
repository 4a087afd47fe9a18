//! Changes a history in one place.

use super::{Step, Txn, renumber};
use crate::literal::random::Random;
use history::Kind;

/// Changes it.
pub fn mutate(txns: &mut [Txn], lists: bool, random: &mut Random) {
    let which = random.below(txns.len());
    match random.below(6) {
        0 => txns[which].kind = *random.pick(&[Kind::Ok, Kind::Fail, Kind::Info]),
        1 => move_end(txns, which, random),
        _ => change_read(txns, which, lists, random),
    }
}

/// Moves a completion. The process is another one then: it may have begun something else meanwhile.
fn move_end(txns: &mut [Txn], which: usize, random: &mut Random) {
    let others = txns.len();
    let end = 2 * others * 2;
    let txn = &mut txns[which];
    txn.process += 1_000_000 * (1 + random.below(1000) as u64);
    txn.ended = txn.began + 1 + random.below(end - txn.began);
    renumber(txns);
}

fn change_read(txns: &mut [Txn], which: usize, lists: bool, random: &mut Random) {
    let seen: Vec<(i64, Vec<i64>)> = txns
        .iter()
        .flat_map(|txn| &txn.steps)
        .map(|step| match step {
            Step::Write(key, value) => (*key, vec![*value]),
            Step::Read(key, list) => (*key, list.clone()),
        })
        .collect();
    let reads: Vec<&mut Step> = txns[which]
        .steps
        .iter_mut()
        .filter(|step| matches!(step, Step::Read(..)))
        .collect();
    if reads.is_empty() {
        return;
    }
    let place = random.below(reads.len());
    let Some(Step::Read(key, list)) = reads.into_iter().nth(place) else {
        return;
    };
    let others: Vec<&Vec<i64>> = seen
        .iter()
        .filter(|(of, _)| of == key)
        .map(|(_, list)| list)
        .collect();
    match random.below(if lists { 5 } else { 2 }) {
        0 => *list = random.pick(&others).to_vec(),
        1 => {
            list.pop();
        }
        2 if list.len() > 1 => {
            let (one, other) = (random.below(list.len()), random.below(list.len()));
            list.swap(one, other);
        }
        3 if !list.is_empty() => {
            list.remove(random.below(list.len()));
        }
        _ if lists => list.extend(random.pick(&others).iter().copied()),
        _ => {}
    }
}
