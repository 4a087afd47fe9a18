//! Bank, long-fork and set-full: random histories, and cases by hand.

use crate::literal::invariants::{Counts, MODELS, add, counts, list, make, print};
use crate::literal::random::Random;
use checker::{Budget, JudgeError, Judgement, ModelName, Options, Outcome, judge};
use history::{Kind, Op, Process, Value};

fn judged_with(model: ModelName, options: &Options, history: &[Op]) -> Result<Judgement, JudgeError> {
    judge(
        model,
        options,
        &Budget::unlimited(),
        history.iter().cloned().map(Ok),
    )
}

fn judged(model: ModelName, history: &[Op]) -> Judgement {
    judged_with(model, &Options::default(), history).expect("it is well-formed")
}

fn names(judgement: &Judgement) -> Vec<(&str, u64)> {
    judgement
        .anomalies
        .iter()
        .map(|one| (&*one.name, one.count))
        .collect()
}

#[test]
fn thousands_of_small_histories_are_judged_as_literally() {
    for model in MODELS {
        let mut seen = Counts::new();
        for seed in 0..4000 {
            let history = make(model, &mut Random::new(seed));
            let found = judged(model, &history);
            let literal = counts(model, &history);
            let as_found: Counts = literal
                .keys()
                .filter_map(|name| Some((*name, found.anomalies.iter().find(|one| one.name == *name)?.count)))
                .collect();
            let agrees = as_found == literal && found.anomalies.len() == literal.len();
            assert!(
                agrees,
                "{model:?}, seed {seed}: literally {literal:?}, {found:#?}\n{}",
                print(&history)
            );
            for name in literal.keys() {
                *seen.entry(*name).or_insert(0) += 1;
            }
            *seen.entry("").or_insert(0) += u64::from(literal.is_empty());
        }
        assert!(
            seen.values().all(|count| (20..3900).contains(count)),
            "{model:?}: {seen:?}"
        );
    }
}

fn bank(reads: &[&[(i64, Option<i64>)]]) -> Vec<Op> {
    let mut history = Vec::new();
    for read in reads {
        let pair = |(account, balance): &(i64, Option<i64>)| {
            (Value::Int(*account), balance.map_or(Value::Nil, Value::Int))
        };
        add(&mut history, 0, Kind::Invoke, "read", Value::Nil);
        add(
            &mut history,
            0,
            Kind::Ok,
            "read",
            Value::Map(read.iter().map(pair).collect()),
        );
    }
    history
}

#[test]
fn money_that_stays_passes() {
    let history = bank(&[&[(0, Some(10)), (1, Some(0))], &[(0, Some(4)), (1, Some(6))]]);
    assert_eq!(judged(ModelName::Bank, &history).verdict, Outcome::Pass);
}

#[test]
fn money_that_is_lost_or_owed_fails() {
    let lost = judged(ModelName::Bank, &bank(&[&[(0, Some(10))], &[(0, Some(9))]]));
    assert_eq!(
        (lost.verdict, names(&lost)),
        (Outcome::Fail, vec![("wrong-total", 1)])
    );
    assert_eq!(lost.anomalies[0].examples[0].operations, [1, 3]);
    let owed = judged(
        ModelName::Bank,
        &bank(&[&[(0, Some(10)), (1, Some(0))], &[(0, Some(11)), (1, Some(-1))]]),
    );
    assert_eq!(
        (owed.verdict, names(&owed)),
        (Outcome::Fail, vec![("negative-value", 1)])
    );
}

#[test]
fn accounts_that_come_from_nowhere_or_have_no_balance_fail() {
    let new = judged(
        ModelName::Bank,
        &bank(&[&[(0, Some(10))], &[(0, Some(10)), (1, Some(0))]]),
    );
    assert_eq!(
        (new.verdict, names(&new)),
        (Outcome::Fail, vec![("unexpected-key", 1)])
    );
    let nil = judged(ModelName::Bank, &bank(&[&[(0, Some(10))], &[(0, None)]]));
    assert_eq!(
        (nil.verdict, names(&nil)),
        (Outcome::Fail, vec![("nil-balance", 1)])
    );
    let gone = judged(
        ModelName::Bank,
        &bank(&[&[(0, Some(10)), (1, Some(0))], &[(0, Some(10))]]),
    );
    assert_eq!(
        (gone.verdict, names(&gone)),
        (Outcome::Pass, vec![("missing-key", 1)])
    );
}

#[test]
fn the_total_can_be_told_beforehand() {
    let history = bank(&[&[(0, Some(10))]]);
    for (total, verdict) in [(10, Outcome::Pass), (11, Outcome::Fail)] {
        let options = Options {
            initial: Some(Value::Int(total)),
            ..Options::default()
        };
        assert_eq!(
            judged_with(ModelName::Bank, &options, &history)
                .expect("fits")
                .verdict,
            verdict
        );
    }
    assert_eq!(judged(ModelName::Bank, &[]).verdict, Outcome::Unknown);
}

#[test]
fn what_is_no_bank_is_said_to_be_none() {
    let mut history = Vec::new();
    add(&mut history, 0, Kind::Invoke, "read", Value::Nil);
    add(&mut history, 0, Kind::Ok, "read", list(&[1]));
    let error = judged_with(ModelName::Bank, &Options::default(), &history).expect_err("no map");
    assert!(
        error.to_string().starts_with("operation 1: bank: expected a map"),
        "{error}"
    );
}

fn micros(name: &str, pairs: &[(i64, Option<i64>)]) -> Value {
    let micro = |(key, value): &(i64, Option<i64>)| {
        Value::List(
            [
                Value::Keyword(name.into()),
                Value::Int(*key),
                value.map_or(Value::Nil, Value::Int),
            ]
            .into(),
        )
    };
    Value::List(pairs.iter().map(micro).collect())
}

fn forks(reads: &[&[(i64, Option<i64>)]]) -> Vec<Op> {
    let mut history = Vec::new();
    for read in reads {
        add(&mut history, 0, Kind::Invoke, "read", micros("r", read));
        add(&mut history, 0, Kind::Ok, "read", micros("r", read));
    }
    history
}

#[test]
fn reads_that_order_two_writes_differently_fork() {
    let history = forks(&[&[(1, Some(1)), (2, None)], &[(2, Some(1)), (1, None)]]);
    let found = judged(ModelName::LongFork, &history);
    assert_eq!(
        (found.verdict, names(&found)),
        (Outcome::Fail, vec![("long-fork", 1)])
    );
    let history = forks(&[
        &[(1, Some(1)), (2, None)],
        &[(2, Some(1)), (1, Some(1))],
        &[(1, None), (2, None)],
    ]);
    assert_eq!(judged(ModelName::LongFork, &history).verdict, Outcome::Pass);
}

#[test]
fn reads_of_groups_that_overlap_fork_on_what_both_read() {
    let history = forks(&[
        &[(1, Some(1)), (2, None), (3, None)],
        &[(0, None), (1, None), (2, Some(1))],
    ]);
    assert_eq!(judged(ModelName::LongFork, &history).verdict, Outcome::Fail);
    let history = forks(&[&[(1, Some(1)), (2, None)], &[(2, Some(1)), (3, None)]]);
    assert_eq!(judged(ModelName::LongFork, &history).verdict, Outcome::Pass);
}

#[test]
fn a_long_fork_is_found_without_processes() {
    let mut history = forks(&[&[(1, Some(1)), (2, None)], &[(2, Some(1)), (1, None)]]);
    add(
        &mut history,
        0,
        Kind::Invoke,
        "write",
        micros("w", &[(1, Some(1))]),
    );
    add(&mut history, 0, Kind::Ok, "write", micros("w", &[(1, Some(1))]));
    for op in &mut history {
        op.process = Process::Unnamed;
    }
    let found = judged(ModelName::LongFork, &history);
    assert_eq!((found.verdict, found.operations_total), (Outcome::Fail, 3));
}

#[test]
fn long_fork_refuses_what_it_cannot_judge() {
    let refused = |history: &[Op], options: &Options| {
        judged_with(ModelName::LongFork, options, history)
            .expect_err("it is refused")
            .to_string()
    };
    let mut twice = Vec::new();
    for _ in 0..2 {
        add(&mut twice, 0, Kind::Invoke, "write", micros("w", &[(1, Some(1))]));
        add(&mut twice, 0, Kind::Ok, "write", micros("w", &[(1, Some(1))]));
    }
    assert!(refused(&twice, &Options::default()).contains("one write of each key"));
    let values = forks(&[&[(1, Some(1)), (2, None)], &[(1, Some(2)), (2, None)]]);
    assert!(refused(&values, &Options::default()).contains("one value of key 1"));
    let group = Options {
        group_size: Some(3),
        ..Options::default()
    };
    assert!(refused(&forks(&[&[(1, None), (2, None)]]), &group).contains("a read of 3 keys"));
}

/// Operations one after another: adds, and reads of what they give.
fn set(steps: &[(&str, Kind, Value)]) -> Vec<Op> {
    let mut history = Vec::new();
    for (f, kind, value) in steps {
        let asked = if *f == "add" { value.clone() } else { Value::Nil };
        add(&mut history, 0, Kind::Invoke, f, asked);
        add(&mut history, 0, *kind, f, value.clone());
    }
    history
}

#[test]
fn elements_that_stay_pass() {
    let history = set(&[
        ("add", Kind::Ok, Value::Int(1)),
        ("read", Kind::Ok, list(&[1])),
        ("add", Kind::Info, Value::Int(2)),
        ("read", Kind::Ok, list(&[1])),
    ]);
    let found = judged(ModelName::SetFull, &history);
    assert_eq!((found.verdict, names(&found)), (Outcome::Pass, vec![]));
    assert!(found.reasons.iter().any(|reason| reason.code == "stable-latency"));
}

#[test]
fn elements_that_vanish_come_twice_or_from_nowhere_fail() {
    let first = ("add", Kind::Ok, Value::Int(1));
    for (read, name) in [
        (list(&[]), "lost"),
        (list(&[1, 1]), "duplicated"),
        (list(&[1, 5]), "unexpected"),
    ] {
        let found = judged(
            ModelName::SetFull,
            &set(&[first.clone(), ("read", Kind::Ok, read)]),
        );
        assert_eq!((found.verdict, names(&found)), (Outcome::Fail, vec![(name, 1)]));
    }
    let failed = set(&[("add", Kind::Fail, Value::Int(1)), ("read", Kind::Ok, list(&[1]))]);
    assert_eq!(names(&judged(ModelName::SetFull, &failed)), [("unexpected", 1)]);
}

#[test]
fn a_late_element_is_stale_and_that_counts_where_sets_are_linearizable() {
    let history = set(&[
        ("add", Kind::Ok, Value::Int(1)),
        ("read", Kind::Ok, list(&[])),
        ("read", Kind::Ok, list(&[1])),
    ]);
    let found = judged(ModelName::SetFull, &history);
    assert_eq!(
        (found.verdict, names(&found)),
        (Outcome::Pass, vec![("stale", 1)])
    );
    let options = Options {
        linearizable_keys: true,
        ..Options::default()
    };
    assert_eq!(
        judged_with(ModelName::SetFull, &options, &history)
            .expect("fits")
            .verdict,
        Outcome::Fail
    );
}

#[test]
fn what_nobody_read_is_unknown() {
    let history = set(&[("read", Kind::Ok, list(&[])), ("add", Kind::Ok, Value::Int(1))]);
    let found = judged(ModelName::SetFull, &history);
    assert_eq!(
        (found.verdict, names(&found)),
        (Outcome::Unknown, vec![("never-read", 1)])
    );
}

#[test]
fn each_key_is_a_set_of_its_own() {
    let keyed = |key: i64, value: Value| Value::List([Value::Int(key), value].into());
    let mut history = Vec::new();
    for (key, read) in [(1, list(&[7])), (2, list(&[]))] {
        add(&mut history, 0, Kind::Invoke, "add", keyed(key, Value::Int(7)));
        add(&mut history, 0, Kind::Ok, "add", keyed(key, Value::Int(7)));
        add(&mut history, 0, Kind::Invoke, "read", keyed(key, Value::Nil));
        add(&mut history, 0, Kind::Ok, "read", keyed(key, read));
    }
    let found = judged(ModelName::SetFull, &history);
    assert_eq!((found.verdict, names(&found)), (Outcome::Fail, vec![("lost", 1)]));
    assert!(found.anomalies[0].examples[0].text.contains("element 7 of set 2"));
}
