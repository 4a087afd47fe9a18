//! Every anomaly of sessions: a history that has it, and one much like it that has not.

use checker::{Budget, JudgeError, Judgement, Level, ModelName, Options, Outcome, judge};
use history::{Call, Format, Kind, Op, Process, Value, read_foreign};
use std::time::Duration;

/// Judges sessions, each a list of transactions: `w key value` and `r key value` with commas between.
fn judged(level: Level, sessions: &[&[&str]]) -> Judgement {
    let session = |transactions: &&[&str]| transactions.join("\n-----\n").replace(", ", "\n");
    let text = sessions.iter().map(session).collect::<Vec<_>>().join("\n=====\n");
    let options = Options {
        level: Some(level),
        ..Options::default()
    };
    let history = read_foreign(Format::AwditTestText, text.as_bytes());
    judge(
        ModelName::RwRegisterSessions,
        &options,
        &Budget::unlimited(),
        history,
    )
    .expect("it is well-formed")
}

fn has(judgement: &Judgement, name: &str) -> bool {
    judgement.anomalies.iter().any(|one| one.name == name)
}

/// The history has the anomaly and rules out the level, no weaker one; the other one passes as serializable.
fn fires(name: &str, weakest: Level, with: &[&[&str]], without: &[&[&str]]) {
    let found = judged(Level::Serializable, with);
    assert_eq!(found.verdict, Outcome::Fail, "{name}");
    assert!(has(&found, name), "{name}: {found:#?}");
    assert_eq!(found.models_ruled_out, [weakest.text()], "{name}");
    assert!(has(&found, "not-serializable"), "{name}");
    let finding = found
        .anomalies
        .iter()
        .find(|one| one.name == name)
        .expect("it is there");
    assert!(
        !finding.examples.is_empty() && !finding.examples[0].operations.is_empty(),
        "{name}"
    );
    let good = judged(Level::Serializable, without);
    assert_eq!(
        (good.verdict, good.anomalies.len()),
        (Outcome::Pass, 0),
        "{name}: {good:#?}"
    );
    for level in Level::ALL
        .into_iter()
        .filter(|level| weakest.implies(*level) && *level != weakest)
    {
        let allowed = judged(level, with).verdict;
        assert_ne!(allowed, Outcome::Fail, "{name} at {level:?}");
    }
}

#[test]
fn a_value_that_nobody_wrote() {
    let (with, without): (&[&[&str]], &[&[&str]]) = (&[&["r 1 7"]], &[&["r 1 0"]]);
    fires("thin-air-read", Level::ReadUncommitted, with, without);
    assert_eq!(judged(Level::ReadUncommitted, with).verdict, Outcome::Fail);
}

#[test]
fn a_value_that_was_overwritten_within_its_transaction() {
    let with: &[&[&str]] = &[&["w 1 1, w 1 2"], &["r 1 1"]];
    fires(
        "intermediate-read",
        Level::ReadCommitted,
        with,
        &[&["w 1 1, w 1 2"], &["r 1 2"]],
    );
    let weak = judged(Level::ReadUncommitted, with);
    assert_eq!(weak.verdict, Outcome::Pass);
    assert!(weak.anomalies.iter().all(|one| one.tolerated.is_some()));
}

#[test]
fn a_read_against_its_own_write() {
    let other = &["w 1 2"];
    fires(
        "internal",
        Level::ReadCommitted,
        &[&["w 1 1, r 1 2"], other],
        &[&["w 1 1, r 1 1"], other],
    );
    fires(
        "future-read",
        Level::ReadCommitted,
        &[&["r 1 1, w 1 1"]],
        &[&["r 1 0, w 1 1"]],
    );
}

#[test]
fn writers_and_readers_in_a_circle() {
    let with: &[&[&str]] = &[&["r 2 1, w 1 1"], &["r 1 1, w 2 1"]];
    fires(
        "causality-cycle",
        Level::ReadCommitted,
        with,
        &[&["r 2 0, w 1 1"], &["r 1 1, w 2 1"]],
    );
}

#[test]
fn an_older_version_after_a_newer_one() {
    let writer: &[&str] = &["w 1 1, w 2 1", "w 1 2, w 2 2"];
    let with: &[&[&str]] = &[writer, &["r 1 2, r 2 1"]];
    fires(
        "fractured-read",
        Level::ReadCommitted,
        with,
        &[writer, &["r 1 2, r 2 2"]],
    );
    // The other way round read committed allows it.
    let with: &[&[&str]] = &[writer, &["r 1 1, r 2 2"]];
    fires(
        "fractured-read",
        Level::ReadAtomic,
        with,
        &[writer, &["r 1 1, r 2 1"]],
    );
    let with: &[&[&str]] = &[&["w 1 1"], &["r 1 0, r 1 1"]];
    fires(
        "non-repeatable-read",
        Level::ReadAtomic,
        with,
        &[&["w 1 1"], &["r 1 1, r 1 1"]],
    );
}

#[test]
fn an_effect_without_its_cause() {
    let (first, second): (&[&str], &[&str]) = (&["w 1 1", "w 1 2"], &["r 1 2", "w 2 1"]);
    let with: &[&[&str]] = &[first, second, &["r 2 1", "r 1 1"]];
    fires(
        "not-causal",
        Level::Causal,
        with,
        &[first, second, &["r 2 1", "r 1 2"]],
    );
}

#[test]
fn two_updates_of_one_version() {
    let with: &[&[&str]] = &[&["r 1 0, w 1 1"], &["r 1 0, w 1 2"]];
    let without: &[&[&str]] = &[&["r 1 0, w 1 1"], &["r 1 1, w 1 2"]];
    fires("lost-update", Level::ParallelSnapshotIsolation, with, without);
}

#[test]
fn two_writes_seen_in_two_orders() {
    let writers: [&[&str]; 2] = [&["w 1 1"], &["w 2 1"]];
    let with: &[&[&str]] = &[writers[0], writers[1], &["r 1 1, r 2 0"], &["r 1 0, r 2 1"]];
    let without: &[&[&str]] = &[writers[0], writers[1], &["r 1 1, r 2 0"], &["r 1 1, r 2 1"]];
    fires("long-fork", Level::SnapshotIsolation, with, without);
}

#[test]
fn two_writes_each_of_what_the_other_read() {
    let with: &[&[&str]] = &[&["r 1 0, w 2 1"], &["r 2 0, w 1 1"]];
    fires(
        "write-skew",
        Level::Serializable,
        with,
        &[&["r 1 0, w 2 1"], &["r 2 1, w 1 1"]],
    );
}

#[test]
fn a_cycle_is_told_and_drawn() {
    let found = judged(Level::Serializable, &[&["r 1 0, w 2 1"], &["r 2 0, w 1 1"]]);
    let example = &found.anomalies[0].examples[0];
    assert!(
        example.text.contains("T1 comes before T2, because"),
        "{}",
        example.text
    );
    assert!(example.text.ends_with("a contradiction."), "{}", example.text);
    assert!(
        example
            .picture
            .as_ref()
            .is_some_and(|picture| picture.starts_with("<svg"))
    );
}

fn entry(index: u64, kind: Kind, micros: &[(&str, i64, Option<i64>)]) -> Op {
    let micro = |(name, key, value): &(&str, i64, Option<i64>)| {
        Value::List(
            [
                Value::Text((*name).into()),
                Value::Int(*key),
                value.map_or(Value::Nil, Value::Int),
            ]
            .into(),
        )
    };
    Op {
        index,
        time: index,
        process: Process::Client(index % 2),
        kind,
        body: Call {
            f: "txn".into(),
            value: Value::List(micros.iter().map(micro).collect()),
        },
    }
}

fn judged_ops(ops: Vec<Op>, level: Option<Level>, budget: &Budget) -> Result<Judgement, JudgeError> {
    let options = Options {
        level,
        ..Options::default()
    };
    judge(
        ModelName::RwRegisterSessions,
        &options,
        budget,
        ops.into_iter().map(Ok),
    )
}

#[test]
fn what_aborted_must_not_be_read_and_what_is_unknown_may() {
    let history = |end| {
        vec![
            entry(0, end, &[("w", 1, Some(1))]),
            entry(1, Kind::Ok, &[("r", 1, Some(1))]),
        ]
    };
    let aborted = judged_ops(history(Kind::Fail), None, &Budget::unlimited()).expect("fits");
    assert!(has(&aborted, "aborted-read") && aborted.verdict == Outcome::Fail);
    for end in [Kind::Info, Kind::Invoke, Kind::Ok] {
        let passes = judged_ops(history(end), None, &Budget::unlimited()).expect("fits");
        assert_eq!(passes.verdict, Outcome::Pass, "{end:?}");
    }
}

#[test]
fn nothing_passes_that_cannot_be_told() {
    let ok = |micros: &[(&str, i64, Option<i64>)]| vec![entry(1, Kind::Ok, micros)];
    let verdict = |ops, level| judged_ops(ops, Some(level), &Budget::unlimited()).expect("fits");
    let strong = verdict(ok(&[("w", 1, Some(1))]), Level::StrongSerializable);
    assert_eq!(
        (strong.verdict, &*strong.reasons[0].code),
        (Outcome::Unknown, "no-real-time")
    );
    let session = verdict(ok(&[("w", 1, Some(1))]), Level::StrongSessionSerializable);
    assert_eq!(session.verdict, Outcome::Pass);
    let mut twice = ok(&[("w", 1, Some(1))]);
    twice.extend([
        entry(2, Kind::Ok, &[("w", 1, Some(1))]),
        entry(3, Kind::Ok, &[("r", 1, Some(1))]),
    ]);
    let twice = verdict(twice, Level::Causal);
    assert_eq!(
        (twice.verdict, &*twice.reasons[0].code),
        (Outcome::Unknown, "ambiguous-values")
    );
    assert_eq!(verdict(Vec::new(), Level::Causal).verdict, Outcome::Unknown);
    let spent = judged_ops(ok(&[("w", 1, Some(1))]), None, &Budget::new(Duration::ZERO, 0)).expect("fits");
    assert_eq!(
        (spent.verdict, &*spent.reasons[0].code),
        (Outcome::Unknown, "budget")
    );
}

#[test]
fn initial_values_that_are_written_are_initial() {
    let written = vec![
        entry(0, Kind::Ok, &[("w", 1, Some(0)), ("w", 2, Some(0))]),
        entry(1, Kind::Ok, &[("w", 1, Some(5))]),
        entry(3, Kind::Ok, &[("r", 1, Some(0))]),
    ];
    let found = judged_ops(written, Some(Level::Causal), &Budget::unlimited()).expect("fits");
    assert_eq!(
        (found.verdict, found.models_ruled_out),
        (Outcome::Fail, vec!["read-atomic".to_owned()])
    );
}

#[test]
fn what_is_no_transaction_is_said_to_be_none() {
    let error = judged_ops(
        vec![entry(4, Kind::Ok, &[("append", 1, Some(0))])],
        None,
        &Budget::unlimited(),
    );
    let error = error.expect_err("registers alone").to_string();
    assert!(
        error.starts_with("operation 4: expected [r key value] or [w key value]"),
        "{error}"
    );
}
