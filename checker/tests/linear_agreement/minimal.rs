//! Counterexamples fail by themselves, whatever became of the rest, and none of their operations can be left out.

use crate::literal::linear::{MODELS, linearizable, make, mutate, possible, print};
use crate::literal::random::Random;
use checker::{Budget, FailedCas, ModelName, Options, Outcome, judge};
use history::{Call, Kind, Op, Process, Value};
use std::collections::BTreeSet;

/// Histories of each model.
const SEEDS: u64 = 700;

fn options() -> Options {
    Options {
        failed_cas: FailedCas::Observe,
        ..Options::default()
    }
}

/// The indexes of the entries of the counterexamples, and their words and pictures.
fn counterexamples(model: ModelName, history: &[Op]) -> Vec<(BTreeSet<u64>, String, String)> {
    let judged = judge(
        model,
        &options(),
        &Budget::unlimited(),
        history.iter().cloned().map(Ok),
    )
    .unwrap_or_else(|error| panic!("{error}\n{}", print(history)));
    assert_eq!(judged.verdict == Outcome::Fail, !judged.anomalies.is_empty());
    let examples = judged.anomalies.into_iter().flat_map(|finding| finding.examples);
    examples
        .map(|example| {
            (
                example.operations.into_iter().collect(),
                example.text,
                example.picture.unwrap_or_default(),
            )
        })
        .collect()
}

/// What is wrong with a counterexample.
fn fault(model: ModelName, history: &[Op], kept: &BTreeSet<u64>) -> Option<String> {
    let observe = FailedCas::Observe;
    let alone: Vec<Op> = history
        .iter()
        .filter(|op| kept.contains(&op.index))
        .cloned()
        .collect();
    if linearizable(model, observe, &alone) {
        return Some("it does not fail by itself".into());
    }
    if possible(model, observe, history, |index| kept.contains(&index)) {
        return Some("it does not fail whatever became of the rest".into());
    }
    let invoked = alone.iter().filter(|op| op.kind == Kind::Invoke);
    let spare = invoked.map(|op| op.index).find(|one| {
        !possible(model, observe, history, |index| {
            index != *one && kept.contains(&index)
        })
    });
    spare.map(|index| format!("{index} can be left out"))
}

#[test]
fn none_of_its_operations_can_be_left_out() {
    for model in MODELS {
        let mut seen = 0;
        for seed in 0..SEEDS {
            let random = &mut Random::new(seed);
            let mut history = make(model, random, 8);
            for _ in 0..1 + random.below(2) {
                mutate(&mut history, random);
            }
            for (kept, text, _) in counterexamples(model, &history) {
                let fault = fault(model, &history, &kept);
                assert_eq!(
                    fault,
                    None,
                    "{}, seed {seed}\n{text}\n{}",
                    model.text(),
                    print(&history)
                );
                assert!(text.contains("None of them can be left out"), "{text}");
                seen += 1;
            }
        }
        assert!(seen > SEEDS / 20, "{}: {seen}", model.text());
    }
}

fn entry(index: u64, process: u64, kind: Kind, f: &str, value: Value) -> Op {
    Op {
        index,
        time: index,
        process: Process::Client(process),
        kind,
        body: Call { f: f.into(), value },
    }
}

#[test]
fn a_stale_read_is_told_with_the_write_that_hides_it() {
    let mut history: Vec<Op> = Vec::new();
    let mut add = |process, kind, f: &str, value| {
        history.push(entry(history.len() as u64, process, kind, f, value));
    };
    for value in [7, 8] {
        for kind in [Kind::Invoke, Kind::Ok] {
            add(1, kind, "write", Value::Int(value));
        }
        for kind in [Kind::Invoke, Kind::Ok] {
            add(
                2,
                kind,
                "read",
                if kind == Kind::Ok {
                    Value::Int(value)
                } else {
                    Value::Nil
                },
            );
        }
    }
    add(3, Kind::Invoke, "read", Value::Nil);
    add(3, Kind::Ok, "read", Value::Int(7));
    add(4, Kind::Invoke, "write", Value::Int(9));
    let found = counterexamples(ModelName::Register, &history);
    let [(kept, text, picture)] = &found[..] else {
        panic!("one: {found:?}")
    };
    assert_eq!(kept.iter().copied().collect::<Vec<_>>(), [4, 5, 8, 9], "{text}");
    assert!(text.contains("process 3: read 7, entries 8 to 9"), "{text}");
    assert!(text.contains("read 7 of process 3 has no place"), "{text}");
    assert!(
        text.contains("it began after write 8 of process 1 had completed"),
        "{text}"
    );
    assert!(picture.starts_with("<svg") && picture.contains("write 8"));
}
