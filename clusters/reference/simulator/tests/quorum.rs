//! Quorums under chaos: no rule breaks, and each check breaks when its ground is taken away.

use std::collections::BTreeSet;

use simulator::quorum::{Counts, MILLISECOND, Outcome, Sabotage, Settings, simulate};
use simulator::seeds::{self, SEED_VARIABLE};

#[test]
fn no_seed_breaks_a_rule() {
    let mut total = Outcome::default();
    let mut slowest = 0;
    for seed in seeds::to_run(1_000) {
        match simulate(seed, Settings::for_seed(seed)) {
            Ok(outcome) => {
                total.steps += outcome.steps;
                total.leaders += outcome.leaders;
                total.committed += outcome.committed;
                total.crashes += outcome.crashes;
                total.counts.add(&outcome.counts);
                slowest = slowest.max(outcome.recovered_after);
            }
            Err(violation) => panic!("{SEED_VARIABLE}={seed}: {violation}"),
        }
    }
    assert!(total.committed > 0, "nothing happened");
    // One seed to look into has not all of it.
    if seeds::to_run(1_000).count() >= 1_000 {
        let Counts {
            truncations,
            snapshot_fetches,
            voter_changes,
            disks_lost,
            power_cuts,
            pre_votes,
            commits_after_fault,
            ..
        } = total.counts;
        let happened = [
            truncations,
            snapshot_fetches,
            voter_changes,
            disks_lost,
            power_cuts,
            pre_votes,
            commits_after_fault,
        ];
        assert!(!happened.contains(&0), "{:?}", total.counts);
    }
    println!("{total:?}, slowest recovery {} ms", slowest / MILLISECOND);
}

#[test]
fn a_seed_is_a_run() {
    let run = || simulate(11, Settings::for_seed(11));
    assert_eq!(run(), run());
}

/// So many seeds show what a broken promise leads to.
const SABOTAGED_SEEDS: u64 = 200;

/// The rules that break when the environment breaks a promise of its own.
fn broken_by(sabotage: Sabotage) -> BTreeSet<&'static str> {
    (0..SABOTAGED_SEEDS)
        .filter_map(|seed| {
            let settings = Settings {
                sabotage: Some(sabotage),
                ..Settings::for_seed(seed)
            };
            simulate(seed, settings).err()
        })
        .map(|violation| violation.rule())
        .collect()
}

#[test]
fn forgotten_votes_elect_two_leaders() {
    let broken = broken_by(Sabotage::ForgetQuorumState);
    assert!(broken.contains("ElectionSafety"), "{broken:?}");
    assert!(broken.contains("VoteContradicted"), "{broken:?}");
}

#[test]
fn a_disk_that_lies_about_syncs_loses_committed_records() {
    let broken = broken_by(Sabotage::LieAboutSync);
    assert!(broken.contains("LeaderCompleteness"), "{broken:?}");
}

#[test]
fn a_stale_log_that_wins_votes_lacks_committed_records() {
    let broken = broken_by(Sabotage::BoastInVotes);
    assert!(broken.contains("LeaderCompleteness"), "{broken:?}");
}

#[test]
fn forged_ballots_elect_two_leaders() {
    let broken = broken_by(Sabotage::ForgeBallots);
    assert!(broken.contains("ElectionSafety"), "{broken:?}");
}

#[test]
fn a_skipped_truncation_mixes_logs() {
    let broken = broken_by(Sabotage::SkipTruncation);
    assert!(broken.contains("LogMatching"), "{broken:?}");
}

#[test]
fn hidden_divergence_applies_what_was_not_committed() {
    let broken = broken_by(Sabotage::HideDivergence);
    assert!(broken.contains("StateMachineSafety"), "{broken:?}");
    assert!(broken.contains("CommitNotDurable"), "{broken:?}");
}

#[test]
fn an_inflated_high_watermark_applies_what_is_lost() {
    let broken = broken_by(Sabotage::InflateHighWatermark);
    assert!(broken.contains("LeaderCompleteness"), "{broken:?}");
}

#[test]
fn a_dead_network_is_stuck() {
    assert!(broken_by(Sabotage::DeadNetwork).contains("Stuck"));
}
