//! All levels, on random histories.

use crate::literal::random::Random;
use crate::literal::sessions::make::{make, mutate};
use crate::literal::sessions::{Event, LEVELS, Txn, allows, entries, print};
use checker::{Budget, Judgement, Level, ModelName, Options, Outcome, judge};
use history::Kind;
use std::time::Duration;

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
            let judged = judged(level, &txns);
            if level == Level::Causal {
                // With room for the clocks of few sessions at a time.
                let little = Budget::new(Duration::MAX, 100);
                assert_eq!(
                    judged_within(little, level, &txns),
                    judged,
                    "seed {seed}\n{}",
                    print(&txns)
                );
            }
            let expected = allows(level, &txns);
            let empty = txns.iter().all(|txn| txn.end != Kind::Ok);
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

/// Two keys with two writers each; whichever of each is the first, some reader comes before what it saw. No rule finds
/// that, since it takes two choices: every order is tried.
#[test]
fn what_no_rule_finds_is_searched_for() {
    let event = |write| move |&(key, value): &(i64, i64)| Event { write, key, value };
    let writers = [
        [(1, 1), (3, 1)],
        [(1, 2), (4, 1)],
        [(2, 1), (5, 1)],
        [(2, 2), (6, 1)],
    ];
    let readers = [
        [(1, 1), (5, 1), (6, 1)],
        [(1, 2), (5, 1), (6, 1)],
        [(2, 1), (3, 1), (4, 1)],
        [(2, 2), (3, 1), (4, 1)],
    ];
    let events = writers.iter().map(|keys| keys.iter().map(event(true)).collect());
    let events = events.chain(readers.iter().map(|keys| keys.iter().map(event(false)).collect()));
    let txn = |(session, events)| Txn {
        session,
        end: Kind::Ok,
        events,
    };
    let mut txns: Vec<Txn> = (0..).zip(events).map(txn).collect();
    // One that has nothing to do with it.
    txns.push(txn((9, vec![event(true)(&(7, 1))])));
    for level in [
        Level::ParallelSnapshotIsolation,
        Level::SnapshotIsolation,
        Level::Serializable,
    ] {
        let found = judged(level, &txns);
        let holds = level == Level::ParallelSnapshotIsolation;
        assert_eq!(allows(level, &txns[..8]), holds, "{level:?}");
        assert_eq!(found.verdict == Outcome::Pass, holds, "{level:?}: {found:#?}");
        if !holds {
            let core = &found.anomalies[0].examples[0];
            assert!(
                core.text.contains("These 8 alone have none either"),
                "{}",
                core.text
            );
            assert_eq!(core.operations, [1, 3, 5, 7, 9, 11, 13, 15]);
        }
    }
    // Without one of the readers there is an order.
    txns.remove(4);
    assert_eq!(judged(Level::Serializable, &txns).verdict, Outcome::Pass);
}

fn judged(level: Level, txns: &[Txn]) -> Judgement {
    judged_within(Budget::unlimited(), level, txns)
}

fn judged_within(budget: Budget, level: Level, txns: &[Txn]) -> Judgement {
    let options = Options {
        level: Some(level),
        ..Options::default()
    };
    let history = entries(txns).into_iter().map(Ok);
    judge(ModelName::RwRegisterSessions, &options, &budget, history).expect("it is well-formed")
}
