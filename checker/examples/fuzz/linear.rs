//! Linearizability.

use crate::literal::linear::{MODELS, linearizable, make, mutate, print};
use crate::literal::random::Random;
use crate::{Arguments, each, seeds};
use checker::{Budget, FailedCas, ModelName, Options, Outcome, judge};

/// The most operations of a history: past it the literal checker is too slow.
const MOST: usize = 9;

/// Fuzzes one model, or all.
pub fn run(arguments: &Arguments) -> Result<Vec<String>, String> {
    each(arguments, &MODELS, ModelName::text, |one| {
        let [pass, fail, _] = seeds::run(arguments.seed, arguments.count, |seed| case(one, seed))?;
        Ok(format!(
            "{pass} pass, {fail} fail, all as the literal checker says"
        ))
    })
}

fn case(model: ModelName, seed: u64) -> Result<usize, String> {
    let random = &mut Random::new(seed);
    let mut history = make(model, random, MOST);
    for _ in 0..random.below(3) {
        mutate(&mut history, random);
    }
    let options = Options {
        failed_cas: *random.pick(&[FailedCas::Observe, FailedCas::Drop]),
        ..Options::default()
    };
    let expected = linearizable(model, options.failed_cas, &history);
    let judged = judge(
        model,
        &options,
        &Budget::unlimited(),
        history.iter().cloned().map(Ok),
    )
    .map_err(|error| format!("{error}\n{}", print(&history)))?;
    match (judged.verdict, expected) {
        (Outcome::Pass, true) => Ok(0),
        (Outcome::Fail, false) => Ok(1),
        (verdict, _) => Err(format!(
            "{} ({:?}), but literally it is {}\n{}",
            verdict.text(),
            options.failed_cas,
            if expected { "linearizable" } else { "not" },
            print(&history)
        )),
    }
}
