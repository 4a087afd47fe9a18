//! Each bug of the machine is caught by a rule of the protocol, never by an assertion of its own; with
//! none on, the same settings and seeds break nothing. A failing run replays, and shrinks.
//!
//! The table of what catches which, with the seeds it takes where all seeds are tried in turn, is
//! printed by `cargo run --release -p simulator --example quorum -- --bug all`.

use raft::Bug;
use simulator::quorum::{
    MIN_EVENTS, NAMED, Order, Sabotage, Script, Settings, TRACE_LINES, run, run_with, settings_for, shrink,
};

/// A bug, the rules that it may break, and how many seeds that may take: about ten times the mean
/// of several ranges of seeds.
struct Hunt {
    bug: Bug,
    rules: &'static [&'static str],
    seeds: u64,
}

/// What a log that lost or invented committed records leads to, whichever is seen first.
const LOGS: &[&str] = &["LeaderCompleteness", "StateMachineSafety", "LogMatching"];
/// What a vote given twice leads to.
const VOTES: &[&str] = &["VoteContradicted", "ElectionSafety", "EpochMovedBack"];

const fn hunt(bug: Bug, rules: &'static [&'static str], seeds: u64) -> Hunt {
    Hunt { bug, rules, seeds }
}

const HUNTS: [Hunt; 12] = [
    hunt(Bug::VoteNotPersisted, VOTES, 2_000),
    hunt(Bug::VotedKeyDropped, VOTES, 2_000),
    hunt(Bug::UpToDateCheckSkipped, LOGS, 50),
    hunt(Bug::CommitWithoutOwnEpoch, LOGS, 2_000),
    hunt(Bug::NoPreVote, &["ReturnDisturbs"], 50),
    hunt(Bug::NoCheckQuorum, &["NoLeader"], 200),
    hunt(Bug::LeaderResumesEpoch, &["ElectionSafety", "LogMatching"], 20),
    hunt(Bug::AckBeforeSync, LOGS, 200),
    hunt(Bug::DivergenceNotTruncated, LOGS, 50),
    hunt(
        Bug::TwoVoterChanges,
        &["LeaderCompleteness", "ElectionSafety", "StateMachineSafety"],
        800,
    ),
    hunt(Bug::SnapshotInsideBatch, &["StateMachineSafety"], 20),
    hunt(Bug::UncommittedApplied, LOGS, 50),
];

/// The first seed in which one of the rules breaks.
fn first_caught(hunt: &Hunt) -> Option<u64> {
    (0..hunt.seeds).find(|seed| {
        let rule = run(Order::new(*seed, Some(hunt.bug), MIN_EVENTS)).rule();
        rule.is_some_and(|rule| hunt.rules.contains(&rule))
    })
}

/// Halves of the table, so that two cores are of use.
fn all_are_caught(hunts: &[Hunt]) {
    for hunt in hunts {
        let seed = first_caught(hunt);
        println!("{}: seed {seed:?}", hunt.bug);
        assert!(seed.is_some(), "{} was not caught by {:?}", hunt.bug, hunt.rules);
    }
}

#[test]
fn bugs_of_votes_and_of_the_first_rules_are_caught() {
    all_are_caught(&HUNTS[..3]);
    all_are_caught(&HUNTS[4..]);
}

#[test]
fn a_commit_without_a_record_of_the_own_epoch_is_caught() {
    all_are_caught(&HUNTS[3..4]);
}

#[test]
fn every_bug_has_its_hunt_and_only_named_rules_catch() {
    for (bug, name) in Bug::ALL {
        assert_eq!(HUNTS.iter().filter(|hunt| hunt.bug == bug).count(), 1, "{name}");
    }
    let mut rules = HUNTS.iter().flat_map(|hunt| hunt.rules);
    assert!(rules.all(|rule| NAMED.contains(rule)));
}

#[test]
fn without_the_bug_the_same_seeds_and_settings_break_nothing() {
    for hunt in &HUNTS {
        for seed in 0..3 {
            let settings = Settings {
                bug: None,
                ..settings_for(seed, Some(hunt.bug))
            };
            let run = run_with(Order::new(seed, None, MIN_EVENTS), settings);
            assert_eq!(run.broken, None, "{}, seed {seed}", hunt.bug);
            assert!(run.counts.events >= MIN_EVENTS);
        }
    }
}

#[test]
fn a_seed_is_a_run_to_the_last_step() {
    let hash = |seed| run(Order::new(seed, None, MIN_EVENTS)).hash;
    assert_eq!(hash(3), hash(3));
    assert_ne!(hash(3), hash(4));
    let mut told = Order::new(3, None, MIN_EVENTS);
    told.trace_lines = TRACE_LINES;
    let told = run(told);
    assert_eq!(told.hash, hash(3), "reading along changes nothing");
    assert_eq!(told.lines.len(), TRACE_LINES);
}

#[test]
fn a_failing_run_shrinks_to_fewer_faults_and_its_file_replays() {
    let hunt = &HUNTS[2];
    let seed = first_caught(hunt).unwrap();
    let order = Order::new(seed, Some(hunt.bug), MIN_EVENTS);
    let whole = run(order.clone());
    let shrunk = shrink(&order, TRACE_LINES, |_| {}).unwrap();
    assert_eq!(shrunk.run.rule(), whole.rule());
    assert_eq!(shrunk.from, whole.decisions.len());
    assert!(shrunk.script.decisions.len() < shrunk.from);
    assert!(!shrunk.run.lines.is_empty());
    let script: Script = shrunk.script.to_string().parse().unwrap();
    let again = run(Order::of(&script));
    assert_eq!(again.rule(), whole.rule());
    assert_eq!(again.hash, shrunk.run.hash);
}

#[test]
fn a_run_that_fails_nowhere_does_not_shrink() {
    assert!(shrink(&Order::new(0, None, 500), 0, |_| {}).is_none());
}

/// The first seeds with a promise of the environment broken.
fn broken_by(sabotage: Sabotage) -> Vec<&'static str> {
    let broken = |seed| {
        let settings = Settings {
            sabotage: Some(sabotage),
            ..Settings::for_seed(seed)
        };
        run_with(Order::new(seed, None, MIN_EVENTS), settings).rule()
    };
    (0..20).filter_map(broken).collect()
}

#[test]
fn whoever_is_never_answered_is_stuck_asking_for_votes() {
    assert!(broken_by(Sabotage::DeadNetwork).contains(&"StuckProspective"));
}
