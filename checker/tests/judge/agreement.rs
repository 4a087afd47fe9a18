//! The checker and the literal one agree on thousands of small random histories, and on spoilt ones.

use crate::literal::{self, Counts};
use crate::toy::{self, Random};
use history::History;

/// How many seeds each test tries.
const SEEDS: u64 = 10_000;
/// What the literal checker knows.
const LITERAL: [&str; 20] = [
    "G1a",
    "acked-tail-lost",
    "acked-then-lost",
    "append-order-violates-real-time",
    "corrupt",
    "duplicate",
    "epoch-lineage",
    "epoch-regression",
    "high-watermark-regression",
    "inconsistent-offsets",
    "int-nonmonotonic-poll",
    "int-poll-skip",
    "log-start-moved",
    "lost-write",
    "nonmonotonic-poll",
    "offset-reassigned",
    "phantom",
    "poll-skip",
    "two-leaders-in-one-epoch",
    "visible-then-lost",
];

fn counts(history: &History) -> Counts {
    let mut counts = Counts::new();
    for anomaly in checker::check(history).anomalies {
        assert_eq!(anomaly.count, anomaly.instances.len() as u64);
        for instance in &anomaly.instances {
            assert!(
                instance.operations.is_sorted() && !instance.operations.is_empty(),
                "{instance:?}"
            );
            assert!(
                instance
                    .operations
                    .iter()
                    .all(|i| *i < history.entries.len() as u64),
                "{instance:?}"
            );
        }
        let name = LITERAL
            .iter()
            .find(|name| **name == anomaly.name)
            .expect("no other rule can fire here");
        *counts.entry(name).or_default() += anomaly.count;
    }
    counts
}

fn agree(history: &History, what: &str) -> Counts {
    let (fast, slow) = (counts(history), literal::counts(history));
    assert_eq!(fast, slow, "{what}: {}", lines(history));
    slow
}

fn lines(history: &History) -> String {
    history
        .entries
        .iter()
        .map(|entry| format!("\n{}", serde_json::to_string(entry).unwrap()))
        .collect()
}

#[test]
fn a_correct_log_is_never_accused() {
    for seed in 0..SEEDS {
        let history = toy::history(&mut Random(seed), false);
        assert_eq!(
            agree(&history, &format!("seed {seed}")),
            Counts::new(),
            "seed {seed}: {}",
            lines(&history)
        );
    }
}

#[test]
fn both_accuse_a_faulty_log_of_the_same() {
    let mut total = Counts::new();
    for seed in 0..SEEDS {
        let history = toy::history(&mut Random(seed), true);
        for (name, count) in agree(&history, &format!("seed {seed}")) {
            *total.entry(name).or_default() += count;
        }
    }
    for name in LITERAL {
        assert!(
            total.get(name).is_some_and(|count| *count > 10),
            "{name} was hardly tried: {total:?}"
        );
    }
}

#[test]
fn both_accuse_a_spoilt_history_of_the_same() {
    let mut spoilt = 0;
    for seed in 0..SEEDS {
        let random = &mut Random(seed);
        let mut history = toy::history(random, seed % 2 == 0);
        for _ in 0..3 {
            spoilt += u64::from(toy::mutate(&mut history, random));
            agree(&history, &format!("seed {seed}"));
        }
    }
    assert!(spoilt > SEEDS, "{spoilt} mutations changed something");
}
