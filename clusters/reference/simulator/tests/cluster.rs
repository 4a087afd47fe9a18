//! Clusters under chaos: the rules of ISR and ELR hold, and the promise is kept.

use simulator::cluster::{ClusterSettings, Flaw, simulate};
use simulator::quorum::MILLISECOND;
use simulator::seeds::{self, SEED_VARIABLE};

#[test]
fn no_seed_breaks_a_rule_or_the_promise() {
    let (mut steps, mut crashes, mut acknowledged, mut leaders, mut slowest) = (0, 0, 0, 0, 0);
    for seed in seeds::to_run(1_000) {
        match simulate(seed, ClusterSettings::for_seed(seed)) {
            Ok((outcome, acked, epochs)) => {
                steps += outcome.steps;
                crashes += outcome.crashes;
                acknowledged += acked;
                leaders += epochs;
                slowest = slowest.max(outcome.recovered_after);
            }
            Err(violation) => panic!("{SEED_VARIABLE}={seed}: {violation}"),
        }
    }
    assert!(acknowledged > 0 && leaders > 0, "nothing happened");
    println!(
        "{steps} steps, {crashes} crashes, {acknowledged} acknowledged, {leaders} leader epochs, \
         slowest recovery {} ms",
        slowest / MILLISECOND
    );
}

/// The first of so many seeds in which that breaks, with something broken on purpose.
fn first_broken_by(flaw: Flaw, words: &str) -> Option<u64> {
    (0..300).find(|seed| {
        let settings = ClusterSettings {
            flaw: Some(flaw),
            ..ClusterSettings::for_seed(*seed)
        };
        let broken = simulate(*seed, settings);
        broken.is_err_and(|violation| violation.to_string().contains(words))
    })
}

const LOST: &str = "acknowledged record lost";

#[test]
fn without_elr_the_last_replica_standing_loses_records() {
    assert!(first_broken_by(Flaw::NoElr, LOST).is_some());
}

#[test]
fn a_crashed_broker_that_poses_as_clean_loses_records() {
    assert!(first_broken_by(Flaw::PosesAsClean, LOST).is_some());
}

#[test]
fn a_leader_that_commits_below_min_isr_loses_records() {
    assert!(first_broken_by(Flaw::LaxHighWatermark, LOST).is_some());
}

#[test]
fn a_controller_that_misses_a_record_is_seen() {
    assert!(first_broken_by(Flaw::MissesRecord, "image").is_some());
}

#[test]
fn a_seed_is_a_run() {
    let run = || simulate(3, ClusterSettings::for_seed(3));
    assert_eq!(run(), run());
}
