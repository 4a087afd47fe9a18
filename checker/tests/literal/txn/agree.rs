//! One random history, held against the literal checkers.

use super::{Anomalies, Assumed, Txn, anomalies, entries, make, mutate, observes_all, print, serial};
use crate::literal::random::Random;
use checker::{Budget, Judgement, Level, ModelName, Options, Outcome, judge};

/// The most transactions of a history: past it the literal checkers are too slow.
const MOST: usize = 6;

/// Makes a history, judges it at some level, and says how it ended (0: pass, 1: fail, 2: unknown), or what disagrees.
pub fn agree(lists: bool, random: &mut Random) -> Result<usize, String> {
    let mut txns = make(lists, random, MOST);
    for _ in 0..random.below(3) {
        mutate(&mut txns, lists, random);
    }
    let level = *random.pick(&Level::ALL);
    let assumed = Assumed {
        writes_follow_reads: random.percent(70),
        sequential_keys: random.percent(20),
        linearizable_keys: random.percent(20),
    };
    held(&txns, lists, level, &assumed).map_err(|why| {
        let assumed = if lists {
            String::new()
        } else {
            format!(" {assumed:?}")
        };
        format!(
            "{} at {}{assumed}: {why}\n{}",
            if lists { "lists" } else { "registers" },
            level.text(),
            print(&txns)
        )
    })
}

fn held(txns: &[Txn], lists: bool, level: Level, assumed: &Assumed) -> Result<usize, String> {
    let options = Options {
        level: Some(level),
        wfr_keys: Some(assumed.writes_follow_reads),
        sequential_keys: assumed.sequential_keys,
        linearizable_keys: assumed.linearizable_keys,
        ..Options::default()
    };
    let model = if lists {
        ModelName::ListAppend
    } else {
        ModelName::RwRegister
    };
    let history = entries(txns, lists).into_iter().map(Ok);
    let judged = judge(model, &options, &Budget::unlimited(), history).map_err(|error| error.to_string())?;
    let literal = anomalies(txns, lists, level, assumed);
    names(&judged, &literal)?;
    let expected = match (literal.break_level(level), literal.no_edges) {
        (true, _) => Outcome::Fail,
        (false, true) => Outcome::Unknown,
        (false, false) => Outcome::Pass,
    };
    if judged.verdict != expected && !literal.tie {
        return Err(format!(
            "{}, but by definition {}: {literal:?}",
            judged.verdict.text(),
            expected.text()
        ));
    }
    orders(&judged, txns, lists, level, assumed)?;
    Ok(match judged.verdict {
        Outcome::Pass => 0,
        Outcome::Fail => 1,
        Outcome::Unknown => 2,
    })
}

/// What is told is there, all of it that is no cycle is told, and counted.
fn names(judged: &Judgement, literal: &Anomalies) -> Result<(), String> {
    for finding in &judged.anomalies {
        let name = finding.name.as_str();
        let there = match literal.direct.get(name) {
            Some(count) => finding.count == *count,
            None => literal.cycles.contains(name) || (name == "empty-transaction-graph" && literal.no_edges),
        };
        if !there && !literal.tie {
            return Err(format!(
                "{name} x{} is told, but there is {literal:?}",
                finding.count
            ));
        }
    }
    for name in literal.direct.keys() {
        if !judged.anomalies.iter().any(|finding| finding.name == *name) && !literal.tie {
            return Err(format!("{name} is not told"));
        }
    }
    Ok(())
}

/// A history that some order of its transactions explains passes; one that none does fails, where all is seen.
fn orders(
    judged: &Judgement,
    txns: &[Txn],
    lists: bool,
    level: Level,
    assumed: &Assumed,
) -> Result<(), String> {
    let realtime = level == Level::StrongSerializable;
    if !realtime && level != Level::Serializable {
        return Ok(());
    }
    // What is assumed of registers speaks of clocks.
    let by_clock = !lists && (assumed.sequential_keys || assumed.linearizable_keys) && !realtime;
    let explained = serial(txns, lists, realtime);
    if explained && judged.verdict == Outcome::Fail && !by_clock {
        return Err("fail, but some order explains it".into());
    }
    if !explained && judged.verdict == Outcome::Pass && lists && observes_all(txns) {
        return Err("pass, but no order explains it".into());
    }
    Ok(())
}
