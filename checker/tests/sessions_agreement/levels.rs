//! All levels, on random histories.

use crate::literal::random::Random;
use crate::literal::sessions::make::{make, mutate};
use crate::literal::sessions::{LEVELS, allows, entries, print};
use checker::{Budget, ModelName, Options, Outcome, judge};

#[test]
fn thousands_of_small_histories_are_judged_as_literally() {
    let mut counts = [[0; 2]; LEVELS.len()];
    for seed in 0..4000 {
        let random = &mut Random::new(seed);
        let mut txns = make(random);
        for _ in 0..random.below(3) {
            mutate(&mut txns, random);
        }
        for (place, level) in LEVELS.into_iter().enumerate() {
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
            .expect("it is well-formed");
            let expected = allows(level, &txns);
            let empty = txns.iter().all(|txn| !txn.committed);
            let agrees = match judged.verdict {
                Outcome::Pass => expected,
                Outcome::Fail => !expected,
                Outcome::Unknown => empty,
            };
            assert!(
                agrees,
                "{level:?}, seed {seed}: literally {expected}, {judged:#?}\n{}",
                print(&txns)
            );
            counts[place][usize::from(expected)] += 1;
        }
    }
    for (level, [broken, held]) in LEVELS.into_iter().zip(counts) {
        assert!(
            broken > 10 && held > 100,
            "{level:?}: {broken} broken, {held} hold"
        );
    }
}
