//! The literal checker and the makers, held against each other.

use crate::literal::linear::{MODELS, linearizable, make, mutate, print};
use crate::literal::random::Random;
use checker::FailedCas;

#[test]
fn what_an_object_did_is_linearizable_and_what_was_spoilt_often_is_not() {
    for model in MODELS {
        let mut spoilt = 0;
        for seed in 0..300 {
            let random = &mut Random::new(seed);
            let mut history = make(model, random, 8);
            assert!(
                linearizable(model, FailedCas::Observe, &history),
                "{}: seed {seed}\n{}",
                model.text(),
                print(&history)
            );
            mutate(&mut history, random);
            spoilt += u32::from(!linearizable(model, FailedCas::Observe, &history));
        }
        assert!((15..285).contains(&spoilt), "{}: {spoilt} of 300", model.text());
    }
}
