//! Isolation levels of sessions. `--model` names a level here.

use crate::literal::random::Random;
use crate::literal::sessions::make::{make, mutate};
use crate::literal::sessions::{LEVELS, allows, entries, print};
use crate::{Arguments, each, seeds};
use checker::{Budget, Level, ModelName, Options, Outcome, judge};

/// Fuzzes one level, or all.
pub fn run(arguments: &Arguments) -> Result<Vec<String>, String> {
    each(arguments, &LEVELS, Level::text, |one| {
        let [pass, fail, unknown] = seeds::run(arguments.seed, arguments.count, |seed| case(one, seed))?;
        Ok(format!(
            "{pass} pass, {fail} fail, {unknown} have nothing committed, all as the literal checker says"
        ))
    })
}

fn case(level: Level, seed: u64) -> Result<usize, String> {
    let random = &mut Random::new(seed);
    let mut txns = make(random);
    for _ in 0..random.below(3) {
        mutate(&mut txns, random);
    }
    let options = Options {
        level: Some(level),
        ..Options::default()
    };
    let history = entries(&txns).into_iter().map(Ok);
    let judged = judge(
        ModelName::RwRegisterSessions,
        &options,
        &Budget::unlimited(),
        history,
    )
    .map_err(|error| format!("{error}\n{}", print(&txns)))?;
    let empty = txns.iter().all(|txn| txn.end != history::Kind::Ok);
    match (judged.verdict, allows(level, &txns)) {
        (Outcome::Pass, true) => Ok(0),
        (Outcome::Fail, false) => Ok(1),
        (Outcome::Unknown, _) if empty => Ok(2),
        (verdict, expected) => Err(format!(
            "{}, but literally it {}\n{}",
            verdict.text(),
            if expected { "holds" } else { "is broken" },
            print(&txns)
        )),
    }
}
