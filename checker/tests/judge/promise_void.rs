//! The promise ledger's rules 8 to 11: elections that policy or operator allowed, damaged and swapped disks, a quorum
//! that lost its disks, released records; and what is left of the simpler promises then.

use crate::dsl::{Run, counts, key, names};
use checker::Outcome;
use history::{Body, FaultAction, Kind, LogPlace, Promise, QuorumLeader, TopicRemoved};
use std::collections::BTreeMap;

/// Ten acknowledged records; eligible leader replicas are on; three controllers vote.
fn loaded(min_isr: i32, promise: Promise) -> Run {
    let mut run = Run::brokers(3, min_isr);
    run.header.promises = vec![promise];
    run.header.features = BTreeMap::from([("eligible.leader.replicas.version".into(), 1)]);
    run.header.server = Some(BTreeMap::new());
    run.seen(Body::QuorumLeader(QuorumLeader {
        leader: 101,
        epoch: 1,
        voters: vec![101, 102, 103],
        at: LogPlace::of(0, 0),
    }));
    run.partition(&[0, 1, 2], &[], 0);
    for value in 0..10 {
        run.ack(value, value as i64);
    }
    run
}

fn allow(run: &mut Run, name: &str, value: &str) {
    let server = run.header.server.get_or_insert_default();
    server.insert(name.into(), value.into());
}

/// A record elects a leader past ISR and ELR.
fn recovers(run: &mut Run, leader: i32) {
    run.partition(&[leader], &[], leader);
    if let Some(Body::Partition(state)) = run.entries.last_mut().map(|entry| &mut entry.body) {
        state.recovering = true;
    }
}

/// A fault on a node, from its asking to its end, with what happens meanwhile.
fn act(run: &mut Run, name: &str, params: &str, node: i32, meanwhile: impl FnOnce(&mut Run)) {
    run.begin_fault(name, params, FaultAction::Inject, node);
    meanwhile(run);
    run.end_fault(name, params, FaultAction::Inject, node);
}

/// The final read finds nothing: is that loss inside the promise?
fn all_lost_is_inside(run: &mut Run) -> bool {
    run.final_read(&[]);
    let (inside, outside) = counts(&run.verdict(), "acked-tail-lost");
    assert!((inside == 0) != (outside == 0), "{:?}", run.verdict());
    inside > 0
}

// Rule 8, and the table's rows with elections.

#[test]
fn proactive_past_a_fenced_eligible_replica_is_outside() {
    let lose = |allowed: bool| {
        let mut run = loaded(2, Promise::Kip966);
        if allowed {
            allow(&mut run, "unclean.recovery.strategy", "Proactive");
        }
        run.partition(&[0], &[1], 0);
        run.partition(&[], &[0, 1], -1);
        recovers(&mut run, 2);
        let inside = all_lost_is_inside(&mut run);
        assert_eq!(counts(&run.verdict(), "ineligible-leader").0, u64::from(!allowed));
        inside
    };
    assert!(!lose(true));
    assert!(lose(false), "nothing allowed it: that is the bug");
}

#[test]
fn proactive_past_a_live_leader_which_then_acknowledges_alone_is_outside() {
    let mut run = loaded(1, Promise::Kip966);
    allow(&mut run, "unclean.leader.election.enable", "true");
    run.partition(&[0], &[], 0);
    recovers(&mut run, 2);
    run.partition(&[2, 1], &[], 2);
    // The deposed leader goes on: what it acknowledges counts from the end of its leadership.
    run.state.leader = 0;
    run.ack(10, 10);
    run.state.leader = 2;
    run.ack(11, 0);
    run.final_read(&[11]);
    let verdict = run.verdict();
    assert_eq!(counts(&verdict, "acked-tail-lost"), (0, 10));
    assert_eq!(counts(&verdict, "acked-then-lost"), (0, 1));
    assert_eq!(verdict.verdict, Outcome::Pass, "{:?}", verdict.reasons);
    assert_eq!(verdict.promise.partitions[0].era, 1);
}

#[test]
fn what_an_operator_designates_is_outside_until_the_partition_is_whole() {
    let mut run = loaded(2, Promise::Kip966);
    run.partition(&[0], &[1], 0);
    run.partition(&[], &[0, 1], -1);
    act(&mut run, "elect-unclean", "", 2, |run| recovers(run, 2));
    run.ack(10, 0);
    run.power_cut(2, 0..1);
    run.state.last_known_elr = vec![2];
    run.partition(&[], &[2], -1);
    run.partition(&[], &[], -1);
    run.back(2);
    recovers(&mut run, 2);
    let inside = all_lost_is_inside(&mut run);
    let verdict = run.verdict();
    assert!(!inside);
    assert_eq!(counts(&verdict, "dirty-leader"), (0, 0));
    assert_eq!(counts(&verdict, "ineligible-leader"), (0, 0));
}

#[test]
fn what_is_acknowledged_after_the_whole_that_follows_is_inside() {
    let mut run = loaded(2, Promise::Kip966);
    allow(&mut run, "unclean.leader.election.enable", "true");
    run.partition(&[0], &[1], 0);
    recovers(&mut run, 2);
    run.ack(10, 0);
    run.partition(&[2, 1], &[], 2);
    run.ack(11, 1);
    run.final_read(&[]);
    assert_eq!(counts(&run.verdict(), "acked-tail-lost"), (1, 11));
}

#[test]
fn a_balanced_election_while_the_promise_stands_gets_no_pass() {
    let mut run = loaded(2, Promise::Kip966);
    allow(&mut run, "unclean.recovery.strategy", "Balanced");
    run.partition(&[0], &[1], 0);
    run.partition(&[], &[], -1);
    recovers(&mut run, 2);
    assert!(all_lost_is_inside(&mut run));
}

// Rule 9, and swapped disks.

#[test]
fn all_disks_rolled_back_or_replaced_are_outside() {
    for (name, params) in [
        ("disk-roll-back", "afterwards = \"keep\", taken = \"running\""),
        ("disk-replace", "afterwards = \"keep\", prepared = \"formatted\""),
    ] {
        let mut run = loaded(2, Promise::Kip966);
        for broker in 0..3 {
            act(&mut run, name, params, broker, |run| {
                run.start(broker);
                run.register(broker);
            });
        }
        assert!(!all_lost_is_inside(&mut run), "{name}");
    }
}

#[test]
fn one_replaced_disk_spends_one_even_after_a_clean_stop() {
    let swap = |also_power: bool| {
        let mut run = loaded(2, Promise::Kip966);
        run.stop_asked(2);
        run.exited(2, 0);
        act(&mut run, "disk-replace", "afterwards = \"keep\"", 2, |run| {
            run.start(2)
        });
        if also_power {
            run.power_cut(1, 5..10);
        }
        all_lost_is_inside(&mut run)
    };
    assert!(swap(false));
    assert!(!swap(true));
}

#[test]
fn a_disk_that_was_rolled_back_is_void_until_it_is_readmitted() {
    let mut run = loaded(2, Promise::Kip966);
    let params = "afterwards = \"keep\", taken = \"stopped\"";
    act(&mut run, "disk-roll-back", params, 1, |run| {
        run.stop_asked(1);
        run.exited(1, 0);
        run.back(1);
        run.partition(&[0, 2], &[], 0);
        // Of the process that started before the swap: it cleans nothing.
        run.partition(&[0, 2, 1], &[], 0);
        run.start(1);
    });
    let why = |run: &Run| run.verdict().promise.partitions[0].bad.clone();
    assert!(
        why(&run).last().is_some_and(|bad| bad.to.is_none()),
        "{:?}",
        why(&run)
    );
    run.register(1);
    run.partition(&[0, 2], &[], 0);
    run.partition(&[0, 2, 1], &[], 0);
    assert!(why(&run).iter().all(|bad| bad.to.is_some()), "{:?}", why(&run));
    run.ack(10, 10);
    run.final_read(&[]);
    assert_eq!(counts(&run.verdict(), "acked-tail-lost"), (1, 10));
}

#[test]
fn a_disk_that_is_put_back_is_one_of_the_past() {
    let heal = |afterwards: &str| {
        let mut run = loaded(2, Promise::Kip966);
        let params = format!("afterwards = \"{afterwards}\"");
        act(&mut run, "disk-replace", &params, 1, |run| run.start(1));
        run.register(1);
        run.partition(&[0, 2], &[], 0);
        run.partition(&[0, 2, 1], &[], 0);
        run.ack(10, 10);
        run.begin_fault("disk-replace", &params, FaultAction::Heal, 1);
        run.end_fault("disk-replace", &params, FaultAction::Heal, 1);
        run.final_read(&[]);
        counts(&run.verdict(), "acked-tail-lost")
    };
    assert_eq!(heal("keep"), (11, 0));
    assert_eq!(heal("put-back"), (0, 11));
}

#[test]
fn a_lie_about_syncing_or_changed_bytes_on_a_member_are_void() {
    for name in ["disk-sync-lies", "disk-corrupt", "disk-truncate"] {
        let lose = |isr: &[i32]| {
            let mut run = loaded(2, Promise::Kip966);
            run.partition(isr, &[], 0);
            act(&mut run, name, "", 1, |_| {});
            all_lost_is_inside(&mut run)
        };
        assert!(!lose(&[0, 1, 2]), "{name}");
        assert!(lose(&[0, 2]), "{name}: out of sync it hurts nobody");
    }
}

#[test]
fn an_end_that_was_not_seen_is_an_unclean_stop() {
    let mut run = loaded(2, Promise::Kip966);
    run.start(1);
    run.start(2);
    assert!(!all_lost_is_inside(&mut run));
    let mut seen = loaded(2, Promise::Kip966);
    for broker in [1, 2] {
        seen.stop_asked(broker);
        seen.exited(broker, 0);
        seen.start(broker);
    }
    assert!(all_lost_is_inside(&mut seen));
}

#[test]
fn a_twins_takeover_is_an_unclean_stop() {
    let twin = |registrations: f64, takes_over: bool| {
        let mut run = loaded(2, Promise::Kip966);
        act(&mut run, "twin", "watch_ms = 1000", 1, |run| {
            if takes_over {
                run.partition(&[0, 2], &[], 0);
                run.register_as(1, "twin", 50);
            }
        });
        if let Some(Body::Fault(fault)) = run.entries.last_mut().map(|entry| &mut entry.body) {
            fault.measured.insert("registrations".into(), registrations);
        }
        run.power_cut(2, 5..10);
        all_lost_is_inside(&mut run)
    };
    assert!(twin(0.0, false), "it was refused");
    assert!(
        twin(1.0, true),
        "it was removed, and whole again without it: one more may go"
    );
    let mut run = loaded(2, Promise::Kip966);
    run.register_as(1, "nobody's", 50);
    run.power_cut(2, 5..10);
    assert!(!all_lost_is_inside(&mut run), "another process has its number");
}

#[test]
fn a_twins_takeover_counts_from_when_it_was_asked() {
    let mut run = loaded(2, Promise::Kip966);
    run.partition(&[0, 1], &[], 0);
    act(&mut run, "twin", "", 1, |run| {
        run.partition(&[0], &[], 0);
        run.register_as(1, "twin", 50);
    });
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_twin_that_serves_dies_uncleanly() {
    let mut run = loaded(2, Promise::Kip966);
    act(&mut run, "twin", "", 1, |run| {
        run.register_as(1, "twin", 50);
        run.partition(&[0, 2], &[], 0);
        run.partition(&[0, 2, 1], &[], 0);
    });
    assert!(run.verdict().promise.partitions[0].bad.is_empty());
    run.begin_fault("twin", "", FaultAction::Heal, 1);
    run.power_cut(2, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

// Rule 10.

#[test]
fn a_voter_that_loses_its_disk_makes_everything_void() {
    let lose = |node: i32| {
        let mut run = loaded(2, Promise::Kip966);
        act(&mut run, "disk-replace", "afterwards = \"keep\"", node, |_| {});
        let inside = all_lost_is_inside(&mut run);
        // Nor is there a rule that is broken then.
        run.partition(&[7], &[7], 7);
        (inside, run.verdict().verdict)
    };
    assert_eq!(lose(102), (false, Outcome::Pass));
    assert_eq!(lose(104), (true, Outcome::Fail), "it does not vote");
}

#[test]
fn a_quorum_that_lost_its_disks_keeps_no_promise_of_its_own() {
    let judge = |fault: &str| {
        let mut run = loaded(2, Promise::Quorum);
        act(&mut run, fault, "afterwards = \"keep\"", 101, |_| {});
        run.diverged();
        counts(&run.verdict(), "committed-metadata-lost")
    };
    assert_eq!(judge("disk-replace"), (0, 1));
    assert_eq!(judge("pause"), (1, 0));
    assert_eq!(judge("disk-sync-lies"), (1, 0), "no power was lost");
}

#[test]
fn power_cuts_of_voters_with_honest_disks_void_nothing() {
    let mut run = loaded(2, Promise::Kip966);
    for voter in [101, 102, 103] {
        run.start(voter);
        run.power_cut(voter, 0..0);
    }
    assert!(all_lost_is_inside(&mut run));
}

// Rule 11.

#[test]
fn the_records_of_a_topic_that_was_deleted_on_purpose_are_released() {
    let delete = |asked: bool| {
        let mut run = loaded(2, Promise::Kip966);
        let remove = |run: &mut Run| {
            let at = run.next_place();
            run.seen(Body::TopicRemoved(TopicRemoved { id: key().id, at }));
        };
        match asked {
            true => act(&mut run, "recreate-topic", "topic = \"night\"", 0, remove),
            false => remove(&mut run),
        }
        // Made again under its name: another topic.
        let mut again = run.state.clone();
        again.key.id = "another".into();
        again.at = run.next_place();
        run.seen(Body::Partition(again));
        run.final_read(&[]);
        if let Some(Body::FinalRead(read)) = run.entries.last_mut().map(|entry| &mut entry.body) {
            read.key.id = "another".into();
        }
        let verdict = run.verdict();
        (verdict.verdict, crate::dsl::codes(&verdict).join(" "))
    };
    assert_eq!(delete(true), (Outcome::Pass, String::new()));
    assert_eq!(
        delete(false),
        (Outcome::Unknown, "outside-promise final-read-missing".into()),
        "it speaks of no promise that was named"
    );
}

// The simpler promises.

#[test]
fn no_bytes_lost_is_void_under_elections_that_policy_or_operator_allowed() {
    let elect = |name: &str, value: &str, last_known: bool| {
        let mut run = loaded(2, Promise::NoBytesLost);
        allow(&mut run, name, value);
        run.crash(0);
        run.crash(1);
        run.crash(2);
        run.state.last_known_elr = if last_known { vec![2] } else { vec![1] };
        run.partition(&[], &[], -1);
        run.back(2);
        recovers(&mut run, 2);
        all_lost_is_inside(&mut run)
    };
    assert!(!elect("unclean.leader.election.enable", "true", false));
    assert!(!elect("unclean.recovery.strategy", "Proactive", false));
    assert!(
        elect("unclean.recovery.strategy", "Balanced", false),
        "it must wait for all of them"
    );
    assert!(elect("unclean.recovery.strategy", "Manual", true));
}

#[test]
fn fsync_covers_power_cuts_and_no_damaged_or_swapped_disk() {
    let lose = |what: &dyn Fn(&mut Run)| {
        let mut run = loaded(2, Promise::Fsync);
        what(&mut run);
        all_lost_is_inside(&mut run)
    };
    assert!(lose(&|run| (0..3).for_each(|broker| run.power_cut(broker, 0..0))));
    assert!(!lose(&|run| act(run, "disk-sync-lies", "", 1, |_| {})));
    assert!(!lose(&|run| act(
        run,
        "disk-replace",
        "afterwards = \"keep\"",
        1,
        |_| {}
    )));
    assert!(!lose(&|run| {
        allow(run, "unclean.leader.election.enable", "true");
        run.partition(&[0], &[1], 0);
        recovers(run, 2);
    }));
}

#[test]
fn a_system_that_clears_elrs_promises_nothing_until_whole() {
    let lose = |system: &str| {
        let mut run = loaded(2, Promise::Kip966);
        run.header.system = system.into();
        run.partition(&[0], &[1], 0);
        run.config(2);
        all_lost_is_inside(&mut run)
    };
    assert!(!lose("kafka-4.1.2"));
    assert!(lose("reference"));
}

// When a record counts from.

#[test]
fn a_record_counts_from_the_last_time_that_the_committed_leader_showed_it() {
    let reread = |node: i32, after: bool| {
        let mut run = loaded(2, Promise::Kip966);
        run.power_cut(1, 5..10);
        run.power_cut(2, 5..10);
        run.partition(&[0], &[], 0);
        if !after {
            run.read_from(node, 0, &[0, 1, 2]);
        }
        run.back(1);
        run.partition(&[0, 1], &[], 0);
        if after {
            run.read_from(node, 0, &[0, 1, 2]);
        }
        run.final_read(&[]);
        counts(&run.verdict(), "acked-tail-lost")
    };
    assert_eq!(reread(0, true), (3, 7));
    assert_eq!(reread(0, false), (0, 10), "the bad interval was open then");
    assert_eq!(reread(2, true), (0, 10), "it did not lead");
}

#[test]
fn names_of_what_is_never_excused_stay_inside_when_the_promise_is_spent() {
    let mut run = loaded(2, Promise::Kip966);
    (0..3).for_each(|broker| run.power_cut(broker, 0..10));
    run.ends(0, 5, history::LogEnd::Earliest, 0);
    run.ends(1, 5, history::LogEnd::Earliest, 0);
    run.poll(&[(0, Some(77), 1), (1, None, 1)], false);
    let verdict = run.verdict();
    let inside: Vec<&str> = names(&verdict);
    assert_eq!(
        inside,
        [
            "two-leaders-in-one-epoch",
            "corrupt",
            "phantom",
            "offset-reassigned",
            "inconsistent-offsets"
        ]
    );
    assert!(
        verdict.anomalies[..3]
            .iter()
            .all(|anomaly| anomaly.inside_promise)
    );
    assert!(
        verdict.anomalies[3..]
            .iter()
            .all(|anomaly| !anomaly.inside_promise)
    );
    assert_eq!(run.entries.last().map(|entry| entry.kind), Some(Kind::Ok));
}
