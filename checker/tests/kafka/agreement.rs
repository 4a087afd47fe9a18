//! The checker and the literal one agree on thousands of small histories, and on spoilt ones.

use crate::literal::kafka::rules::Counts;
use crate::literal::kafka::{counts, disagree, is_classic, make, mutate};
use crate::literal::linear::print;
use crate::literal::random::Random;
use checker::{Budget, ModelName, Options, judge};
use history::Op;

const SEEDS: u64 = 6_000;

fn judged(history: &[Op], ww_deps: bool) -> Counts {
    let ops = history.iter().cloned().map(Ok);
    let options = Options {
        ww_deps,
        ..Options::default()
    };
    let judgement = judge(ModelName::Kafka, &options, &Budget::unlimited(), ops).unwrap();
    if let Some(why) = disagree(history, ww_deps, &judgement) {
        panic!("{why}\n{}", print(history));
    }
    let mut counts = Counts::new();
    for finding in judgement.anomalies {
        assert!(!finding.examples.is_empty());
        for example in &finding.examples {
            assert!(
                example.operations.is_sorted() && !example.operations.is_empty(),
                "{example:?}"
            );
            let inside = |index: &u64| *index < history.len() as u64;
            assert!(example.operations.iter().all(inside), "{example:?}");
        }
        if is_classic(&finding.name) {
            counts.insert(name(&finding.name), finding.count);
        }
    }
    counts
}

const NAMES: [&str; 14] = [
    "lost-write",
    "phantom",
    "inconsistent-offsets",
    "duplicate",
    "G1a",
    "precommitted-read",
    "nonmonotonic-send",
    "int-nonmonotonic-send",
    "int-nonmonotonic-poll",
    "int-poll-skip",
    "nonmonotonic-poll",
    "poll-skip",
    "int-send-skip",
    "unseen",
];

fn name(name: &str) -> &'static str {
    NAMES.iter().find(|known| **known == name).expect("a rule's name")
}

fn agree(history: &[Op], seed: u64) -> Counts {
    let (fast, slow) = (judged(history, seed.is_multiple_of(2)), counts(history));
    assert_eq!(fast, slow, "seed {seed}:\n{}", print(history));
    slow
}

#[test]
fn a_correct_log_is_never_accused() {
    for seed in 0..SEEDS {
        let history = make(&mut Random::new(seed), false);
        assert_eq!(
            agree(&history, seed),
            Counts::new(),
            "seed {seed}:\n{}",
            print(&history)
        );
    }
}

#[test]
fn both_accuse_faulty_and_spoilt_logs_of_the_same() {
    let mut total = Counts::new();
    for seed in 0..SEEDS {
        let random = &mut Random::new(seed);
        let mut history = make(random, true);
        for _ in 0..random.below(4) {
            mutate(&mut history, random);
        }
        for (name, count) in agree(&history, seed) {
            *total.entry(name).or_default() += count;
        }
    }
    for name in NAMES {
        assert!(
            total.get(name).copied().unwrap_or_default() > SEEDS / 1000,
            "{name}: {total:?}"
        );
    }
}
