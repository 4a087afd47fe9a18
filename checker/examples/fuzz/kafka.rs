//! Kafka histories: the classic rules and their counts, and whether there are cycles of each kind.

use crate::literal::kafka::{counts, disagree, is_classic, make, mutate};
use crate::literal::linear::print;
use crate::literal::random::Random;
use crate::{Arguments, seeds};
use checker::{Budget, ModelName, Options, Outcome, judge};
use std::collections::BTreeMap;

/// Fuzzes: one history in four is that of a correct log, the others are of faulty ones and most are spoilt too.
pub fn run(arguments: &Arguments) -> Result<Vec<String>, String> {
    let [pass, fail, unknown] = seeds::run(arguments.seed, arguments.count, case)?;
    Ok(vec![format!(
        "kafka: {pass} pass, {fail} fail, {unknown} unknown, all with the anomalies and counts of the literal checker"
    )])
}

fn case(seed: u64) -> Result<usize, String> {
    let random = &mut Random::new(seed);
    let faults = random.percent(75);
    let mut history = make(random, faults);
    for _ in 0..if faults { random.below(4) } else { 0 } {
        mutate(&mut history, random);
    }
    let options = Options {
        ww_deps: random.percent(50),
        ..Options::default()
    };
    let ops = history.iter().cloned().map(Ok);
    let judgement = judge(ModelName::Kafka, &options, &Budget::unlimited(), ops)
        .map_err(|error| format!("{error}\n{}", print(&history)))?;
    let found = judgement
        .anomalies
        .iter()
        .filter(|finding| is_classic(&finding.name));
    let fast: BTreeMap<&str, u64> = found.map(|finding| (&*finding.name, finding.count)).collect();
    let slow = counts(&history);
    if fast != slow {
        return Err(format!(
            "{fast:?}, but literally it is {slow:?}\n{}",
            print(&history)
        ));
    }
    if let Some(why) = disagree(&history, options.ww_deps, &judgement) {
        return Err(format!("{why}\n{}", print(&history)));
    }
    Ok(match judgement.verdict {
        Outcome::Pass => 0,
        Outcome::Fail => 1,
        Outcome::Unknown => 2,
    })
}
