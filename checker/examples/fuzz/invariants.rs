//! Bank, long-fork and set-full: every anomaly's count.

use crate::literal::invariants::{Counts, MODELS, counts, make, print};
use crate::literal::random::Random;
use crate::{Arguments, each, seeds};
use checker::{Budget, ModelName, Options, judge};

/// Fuzzes one model, or all.
pub fn run(arguments: &Arguments) -> Result<Vec<String>, String> {
    each(arguments, &MODELS, ModelName::text, |one| {
        let [clean, not, _] = seeds::run(arguments.seed, arguments.count, |seed| case(one, seed))?;
        Ok(format!(
            "{clean} without anomalies, {not} with some, all counted as the literal checker does"
        ))
    })
}

fn case(model: ModelName, seed: u64) -> Result<usize, String> {
    let history = make(model, &mut Random::new(seed));
    let entries = history.iter().cloned().map(Ok);
    let judged = judge(model, &Options::default(), &Budget::unlimited(), entries)
        .map_err(|error| format!("{error}\n{}", print(&history)))?;
    let literal = counts(model, &history);
    let found: Counts = literal
        .keys()
        .filter_map(|name| {
            Some((
                *name,
                judged.anomalies.iter().find(|one| one.name == *name)?.count,
            ))
        })
        .collect();
    if found == literal && judged.anomalies.len() == literal.len() {
        return Ok(usize::from(!literal.is_empty()));
    }
    Err(format!(
        "{:?}, but literally {literal:?}\n{}",
        judged.anomalies,
        print(&history)
    ))
}
