//! Every model judges small histories as the literal checker does. (A million of each: the example `fuzz`.)

use crate::literal::linear::{MODELS, linearizable, make, mutate, print};
use crate::literal::random::Random;
use checker::{Budget, FailedCas, ModelName, Options, Outcome, judge};

/// Histories of each model.
const SEEDS: u64 = 1_500;

fn agree(model: ModelName) {
    let mut failed = 0;
    for seed in 0..SEEDS {
        let random = &mut Random::new(seed);
        let mut history = make(model, random, 8);
        for _ in 0..random.below(3) {
            mutate(&mut history, random);
        }
        let failed_cas = *random.pick(&[FailedCas::Observe, FailedCas::Drop]);
        let options = Options {
            failed_cas,
            ..Options::default()
        };
        let text = || {
            format!(
                "{}, seed {seed}, {failed_cas:?}\n{}",
                model.text(),
                print(&history)
            )
        };
        let judged = judge(
            model,
            &options,
            &Budget::unlimited(),
            history.iter().cloned().map(Ok),
        )
        .unwrap_or_else(|error| panic!("{error}: {}", text()));
        let expected = match linearizable(model, failed_cas, &history) {
            true => Outcome::Pass,
            false => Outcome::Fail,
        };
        assert_eq!(judged.verdict, expected, "{}", text());
        failed += u64::from(expected == Outcome::Fail);
    }
    assert!(
        (SEEDS / 20..SEEDS * 19 / 20).contains(&failed),
        "{failed} of {SEEDS} fail"
    );
}

#[test]
fn models_judge_as_the_literal_checker_does() {
    MODELS.into_iter().for_each(agree);
}
