//! The rules on metadata, epochs and leaders: each where it must fire, and where it must not.

use crate::dsl::{Run, TOPIC, counts, key, names};
use checker::Outcome;
use history::{
    Body, BrokerChange, BrokerState, ConfigChange, FaultAction, FeatureLevel, Kind, LogEnd, Process,
    QuorumState, TopicRemoved,
};
use std::collections::BTreeMap;

/// Longer than the observer may lag, and than a partition may be stuck.
const LONG: u64 = 60_000_000_000;

/// Three replicas, min ISR 2, eligible leader replicas at this level.
fn run(level: i16) -> Run {
    run_of(level, 3)
}

fn run_of(level: i16, replicas: i32) -> Run {
    let mut run = Run::new(replicas, 2);
    run.header.features = BTreeMap::from([("eligible.leader.replicas.version".into(), level)]);
    run.header.server = Some(BTreeMap::new());
    run
}

/// A record elects somebody and has the partition recover.
fn recovers(run: &mut Run, leader: i32) {
    run.partition(&[leader], &[], leader);
    if let Some(Body::Partition(state)) = run.entries.last_mut().map(|entry| &mut entry.body) {
        state.recovering = true;
    }
}

/// A setting of the topic.
fn set(run: &mut Run, name: &str, value: Option<&str>) -> u64 {
    let at = run.next_place();
    run.seen(Body::Config(ConfigChange {
        resource_type: 2,
        resource: TOPIC.into(),
        name: name.into(),
        value: value.map(str::to_owned),
        at,
    }))
}

fn asks_unclean_election(run: &mut Run) {
    run.fault(Kind::Invoke, "elect-unclean", FaultAction::Inject, 2);
    run.fault(Kind::Ok, "elect-unclean", FaultAction::Inject, 2);
}

#[test]
fn ineligible_leader_fires_on_an_election_past_isr_and_elr() {
    let mut run = run(1);
    run.partition(&[0], &[1], 0);
    run.partition(&[], &[0, 1], -1);
    let elected = run.partition(&[2], &[], 2);
    let verdict = run.verdict();
    assert_eq!(counts(&verdict, "ineligible-leader"), (1, 0), "{verdict:?}");
    let instance = &verdict.anomalies[0].instances[0];
    assert_eq!(instance.operations, [elected]);
    assert_eq!(
        instance.text,
        "broker 2 became leader of night-0 in epoch 3, and it was not in the ISR [] or the ELR [0, 1]: the record does \
         not say that the partition has to recover"
    );
    assert_eq!(verdict.verdict, Outcome::Fail);
}

#[test]
fn ineligible_leader_fires_on_a_recovery_that_nothing_allows() {
    let elect = |prepare: &dyn Fn(&mut Run)| {
        let mut run = run(1);
        run.partition(&[0], &[1], 0);
        run.partition(&[], &[0, 1], -1);
        prepare(&mut run);
        recovers(&mut run, 2);
        run.unfence(2);
        counts(&run.verdict(), "ineligible-leader")
    };
    assert_eq!(elect(&|_| {}), (1, 0));
    let set_to =
        |name: &'static str, value: &'static str| move |run: &mut Run| _ = set(run, name, Some(value));
    assert_eq!(elect(&set_to("unclean.leader.election.enable", "true")), (0, 0));
    assert_eq!(elect(&set_to("unclean.recovery.strategy", "Proactive")), (0, 0));
    // ISR and ELR are not empty.
    assert_eq!(elect(&set_to("unclean.recovery.strategy", "Balanced")), (1, 0));
    assert_eq!(elect(&asks_unclean_election), (0, 0));
    // What the nodes were started with is not told.
    assert_eq!(elect(&|run| run.header.server = None), (0, 0));
    let fixed = BTreeMap::from([("unclean.leader.election.enable".to_owned(), "true".to_owned())]);
    assert_eq!(elect(&|run| run.header.server = Some(fixed.clone())), (0, 0));
}

#[test]
fn ineligible_leader_fires_where_an_operator_asked_long_ago() {
    let mut run = run(1);
    run.partition(&[0], &[1], 0);
    run.partition(&[], &[0, 1], -1);
    asks_unclean_election(&mut run);
    run.pass(LONG);
    recovers(&mut run, 2);
    assert_eq!(counts(&run.verdict(), "ineligible-leader"), (1, 0));
}

#[test]
fn ineligible_leader_does_not_fire_on_the_last_known_leader_of_an_empty_isr() {
    let elect = |leader: i32| {
        let mut run = run(1);
        run.partition(&[0], &[1], 0);
        run.crash(0);
        run.crash(1);
        run.state.last_known_elr = vec![0];
        run.partition(&[], &[], -1);
        run.back(0);
        recovers(&mut run, leader);
        counts(&run.verdict(), "ineligible-leader")
    };
    assert_eq!(elect(0), (0, 0));
    assert_eq!(elect(2), (1, 0));
}

#[test]
fn ineligible_leader_knows_who_comes_back_uncleanly_in_the_same_batch() {
    let elect = |comes_back: bool| {
        let mut run = run(1);
        run.partition(&[0], &[2], 0);
        run.crash(2);
        run.state.last_known_elr = vec![0];
        run.partition(&[], &[2], -1);
        run.start(2);
        // The last eligible replica is removed, and the last known leader elected, in one record.
        recovers(&mut run, 0);
        match comes_back {
            true => run.register(2),
            false => run.fence(2),
        }
        counts(&run.verdict(), "ineligible-leader")
    };
    assert_eq!(elect(true), (0, 0));
    assert_eq!(elect(false), (1, 0));
}

#[test]
fn ineligible_leader_does_not_fire_on_what_a_leader_admits() {
    let mut run = run(1);
    run.partition(&[0, 1], &[], 0);
    // The leader's own AlterPartition completes a reassignment, in which it gives its replica up.
    run.state.replicas = vec![1, 2];
    run.partition(&[1, 2], &[], 2);
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
}

#[test]
fn elr_invariant_fires_on_each_rule() {
    let judge = |change: &dyn Fn(&mut Run)| {
        let mut run = run(1);
        change(&mut run);
        let verdict = run.verdict();
        (counts(&verdict, "elr-invariant").0, names(&verdict).len())
    };
    assert_eq!(judge(&|run| _ = run.partition(&[0], &[1], 0)), (0, 0));
    assert_eq!(
        judge(&|run| _ = run.partition(&[0], &[0, 1], 0)),
        (1, 1),
        "in both"
    );
    assert_eq!(
        judge(&|run| _ = run.partition(&[0, 1], &[2], 0)),
        (1, 1),
        "ISR is large enough"
    );
    let forgets_who_leaves = |run: &mut Run| {
        run.partition(&[0], &[], 0);
        run.fence(1);
    };
    assert_eq!(judge(&forgets_who_leaves), (1, 1), "too few are left");
    let fences_a_member = |run: &mut Run| {
        run.partition(&[0, 1], &[], 0);
        run.fence(1);
        run.partition(&[0, 1], &[], 0);
    };
    assert_eq!(judge(&fences_a_member), (1, 1));
    let fences_a_replica_out_of_sync = |run: &mut Run| {
        run.partition(&[0, 1], &[], 0);
        run.fence(2);
        run.partition(&[0, 1], &[], 0);
    };
    assert_eq!(judge(&fences_a_replica_out_of_sync), (0, 0));
}

#[test]
fn elr_invariant_knows_what_may_take_members_away() {
    let judge = |level: i16, change: &dyn Fn(&mut Run)| {
        let mut run = run(level);
        run.partition(&[0], &[1], 0);
        change(&mut run);
        counts(&run.verdict(), "elr-invariant").0
    };
    let registers_uncleanly = |run: &mut Run| {
        run.crash(1);
        run.partition(&[0], &[], 0);
        run.back(1);
    };
    assert_eq!(judge(1, &registers_uncleanly), 0);
    let is_fenced = |run: &mut Run| {
        run.partition(&[0], &[], 0);
        run.fence(1);
    };
    assert_eq!(judge(1, &is_fenced), 1);
    assert_eq!(judge(0, &is_fenced), 0, "without eligible leader replicas");
    let min_isr_falls = |run: &mut Run| {
        let batch = run.next_place();
        run.config_at(1, batch);
        run.partition_at(&[0], &[], 0, batch);
        run.fence(1);
    };
    assert_eq!(judge(1, &min_isr_falls), 0);
    let level_changes = |run: &mut Run| {
        let at = run.next_place();
        let name = "eligible.leader.replicas.version".into();
        run.seen(Body::Feature(FeatureLevel { name, level: 1, at }));
        run.partition_at(&[0], &[], 0, at);
        run.fence(1);
    };
    assert_eq!(judge(1, &level_changes), 0);
    let replicas_change = |run: &mut Run| {
        run.state.replicas = vec![0, 2];
        run.partition(&[0], &[], 0);
        run.fence(1);
    };
    assert_eq!(judge(1, &replicas_change), 0);
}

#[test]
fn metadata_conformance_fires_on_each_rule() {
    let judge = |level: i16, change: &dyn Fn(&mut Run)| {
        let mut run = run(level);
        run.partition(&[0, 1], &[], 0);
        change(&mut run);
        counts(&run.verdict(), "metadata-conformance").0
    };
    assert_eq!(judge(1, &|run| _ = run.partition(&[0, 1, 2], &[], 0)), 0);
    assert_eq!(judge(1, &|run| _ = run.partition(&[0, 1, 1], &[], 0)), 1, "twice");
    // A stranger, and no broker either.
    assert_eq!(judge(1, &|run| _ = run.partition(&[0, 1, 7], &[], 0)), 2);
    assert_eq!(
        judge(1, &|run| _ = run.partition(&[1], &[], 0)),
        1,
        "the leader is not in the ISR"
    );
    assert_eq!(
        judge(0, &|run| _ = run.partition(&[], &[], -1)),
        1,
        "without ELR the last one stays"
    );
    assert_eq!(judge(1, &|run| _ = run.partition(&[], &[0, 1], -1)), 0);
    assert_eq!(
        judge(1, &|run| _ = run.partition(&[0], &[1, 2], 0)),
        1,
        "2 was in neither"
    );
    let elects_a_fenced_one = |run: &mut Run| {
        run.fence(1);
        run.partition(&[1], &[0], 1);
    };
    assert_eq!(judge(1, &elects_a_fenced_one), 1);
    let admits_a_fenced_one = |run: &mut Run| {
        run.fence(2);
        run.partition(&[0, 1, 2], &[], 0);
    };
    assert_eq!(judge(1, &admits_a_fenced_one), 1);
    let nobody_could_ask = |run: &mut Run| {
        run.partition(&[], &[0, 1], -1);
        run.partition(&[0, 2], &[], 0);
    };
    assert_eq!(judge(1, &nobody_could_ask), 1);
    let recovers_in_company = |run: &mut Run| {
        run.partition(&[0, 1, 2], &[], 1);
        if let Some(Body::Partition(state)) = run.entries.last_mut().map(|entry| &mut entry.body) {
            state.recovering = true;
        }
    };
    assert_eq!(judge(1, &recovers_in_company), 1);
    let recovers_without_election = |run: &mut Run| {
        run.partition(&[0], &[], 0);
        if let Some(Body::Partition(state)) = run.entries.last_mut().map(|entry| &mut entry.body) {
            state.recovering = true;
        }
    };
    assert_eq!(judge(0, &recovers_without_election), 1);
}

#[test]
fn metadata_conformance_judges_brokers() {
    let judge = |broker: i32, epoch: i64, change: BrokerChange| {
        let mut run = run(1);
        let at = run.next_place();
        let incarnation = "another".into();
        run.seen(Body::Broker(BrokerState {
            broker,
            epoch,
            incarnation,
            change,
            at,
        }));
        counts(&run.verdict(), "metadata-conformance").0
    };
    assert_eq!(judge(1, 2, BrokerChange::Registered), 0);
    assert_eq!(
        judge(1, 1, BrokerChange::Registered),
        1,
        "the epoch does not rise"
    );
    assert_eq!(judge(1, 1, BrokerChange::Fenced), 0);
    assert_eq!(judge(1, 2, BrokerChange::Fenced), 1, "of another registration");
    assert_eq!(judge(9, 1, BrokerChange::Fenced), 1, "of none");
}

#[test]
fn metadata_is_not_judged_across_a_gap_nor_after_what_was_not_understood() {
    let mut gap = run(1);
    gap.partition(&[0], &[1], 0);
    gap.gap(&[2], &[], 2);
    assert_eq!(names(&gap.verdict()), Vec::<&str>::new());
    gap.partition(&[1], &[], 1);
    assert_eq!(counts(&gap.verdict(), "ineligible-leader"), (1, 0));
    let mut unread = run(1);
    unread.unread(true);
    unread.partition(&[7], &[7], 7);
    assert_eq!(names(&unread.verdict()), Vec::<&str>::new());
}

#[test]
fn two_leaders_fires_on_two_acknowledgements_in_one_epoch() {
    let judge = |epoch: i32| {
        let mut run = run(1);
        run.ack(10, 0);
        run.state.leader = 1;
        run.ack(11, 1);
        run.poll(&[(0, Some(10), 1), (1, Some(11), epoch)], false);
        run.verdict()
    };
    let verdict = judge(1);
    assert_eq!(names(&verdict), ["two-leaders-in-one-epoch"]);
    assert_eq!(
        verdict.anomalies[0].instances[0].text,
        "in leader epoch 1 of night-0 more than one led: 0 (acknowledged offset 0), 1 (acknowledged offset 1)"
    );
    assert_eq!(names(&judge(2)), Vec::<&str>::new());
}

#[test]
fn two_leaders_fires_on_an_answer_and_in_the_quorum() {
    let mut run = run(1);
    run.ends(0, 4, LogEnd::Latest, 10);
    run.ends(1, 5, LogEnd::Latest, 10);
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
    run.ends(2, 5, LogEnd::Earliest, 0);
    assert_eq!(counts(&run.verdict(), "two-leaders-in-one-epoch"), (1, 0));
    let mut quorum = run_of(1, 3);
    for (leader, epoch) in [(101, 4), (-1, 5), (102, 5), (102, 5)] {
        let high_watermark = 9;
        quorum.seen(Body::Quorum(QuorumState {
            leader,
            epoch,
            high_watermark,
        }));
    }
    assert_eq!(names(&quorum.verdict()), Vec::<&str>::new());
    let high_watermark = 9;
    quorum.seen(Body::Quorum(QuorumState {
        leader: 103,
        epoch: 5,
        high_watermark,
    }));
    let verdict = quorum.verdict();
    assert_eq!(counts(&verdict, "two-leaders-in-one-epoch"), (1, 0));
    assert_eq!(verdict.anomalies[0].instances[0].topic, None);
}

#[test]
fn epoch_regression_fires_in_the_log_and_in_the_answers_of_one_process() {
    let mut log = run(1);
    log.partition(&[0, 1], &[], 1);
    log.state.leader_epoch -= 2;
    log.partition(&[0, 1], &[], 1);
    assert_eq!(counts(&log.verdict(), "epoch-regression"), (1, 0));
    let answers = |restarts: bool| {
        let mut run = run(1);
        run.ends(1, 5, LogEnd::Earliest, 0);
        if restarts {
            run.crash(1);
            run.back(1);
        }
        run.ends(1, 4, LogEnd::Earliest, 0);
        counts(&run.verdict(), "epoch-regression")
    };
    assert_eq!(answers(false), (1, 0));
    assert_eq!(answers(true), (0, 0));
}

#[test]
fn epoch_lineage_fires_on_a_fall_a_change_and_a_strange_epoch() {
    let read = |records: &[(i64, Option<u64>, i32)]| {
        let mut run = run(1);
        run.partition(&[0, 1, 2], &[], 1);
        run.partition(&[0, 1, 2], &[], 0);
        (0..4).for_each(|value| _ = run.invoke_send(value));
        run.read(0, &[0]);
        run.poll(records, false);
        counts(&run.verdict(), "epoch-lineage").0
    };
    assert_eq!(read(&[(0, Some(0), 3), (1, Some(1), 3)]), 0);
    assert_eq!(read(&[(1, Some(1), 3), (2, Some(2), 2), (3, Some(3), 3)]), 1);
    assert_eq!(
        read(&[(1, Some(1), 3), (2, None, 2)]),
        0,
        "of what is corrupt nothing is known"
    );
    assert_eq!(read(&[(0, Some(0), 1)]), 1, "it was read in epoch 3");
    assert_eq!(read(&[(1, Some(1), 0)]), 1, "the first is 1");
    assert_eq!(
        read(&[(1, Some(1), 9)]),
        0,
        "the observer may not have seen it yet"
    );
}

#[test]
fn epoch_lineage_fires_on_an_epoch_that_was_never_given() {
    let mut run = run(1);
    run.invoke_send(0);
    run.poll(&[(0, Some(0), 9)], false);
    run.pass(LONG);
    assert_eq!(counts(&run.verdict(), "epoch-lineage"), (0, 0));
    run.partition(&[0, 1], &[], 0);
    assert_eq!(counts(&run.verdict(), "epoch-lineage"), (1, 0));
}

#[test]
fn visible_then_lost_fires_on_what_was_shown_and_not_acknowledged() {
    let judge = |end: &[u64], complete: bool| {
        let mut run = run(1);
        run.ack(10, 0);
        run.invoke_send(11);
        run.read(0, &[10, 11]);
        run.final_read(end);
        if !complete {
            run.entries.pop();
            run.final_summary(Some(0), Some(9), false);
        }
        run.verdict()
    };
    let verdict = judge(&[10], true);
    assert_eq!(names(&verdict), ["visible-then-lost"]);
    assert_eq!(counts(&verdict, "visible-then-lost"), (1, 0));
    assert_eq!(verdict.anomalies[0].follows, None);
    assert_eq!(names(&judge(&[10, 11], true)), Vec::<&str>::new());
    assert_eq!(
        names(&judge(&[10], false)),
        Vec::<&str>::new(),
        "it may stand further on"
    );
}

#[test]
fn visible_then_lost_is_off_for_versions_without_the_rule_and_no_matter_of_lost_bytes() {
    let judge = |system: &str, promise: history::Promise| {
        let mut run = run(1);
        run.header.system = system.into();
        run.header.promises = vec![promise];
        run.ack(10, 0);
        run.invoke_send(11);
        run.read(0, &[10, 11]);
        run.final_read(&[10]);
        counts(&run.verdict(), "visible-then-lost")
    };
    assert_eq!(judge("kafka-3.6.2", history::Promise::Kip966), (0, 0));
    assert_eq!(judge("kafka-4.1.2", history::Promise::Kip966), (1, 0));
    assert_eq!(judge("reference", history::Promise::NoBytesLost), (0, 1));
}

#[test]
fn high_watermark_regression_fires_across_epochs_and_not_back_in_time() {
    let judge = |answers: &[(i32, i32, i64)]| {
        let mut run = run(1);
        for (node, epoch, offset) in answers {
            run.ends(*node, *epoch, LogEnd::Latest, *offset);
        }
        counts(&run.verdict(), "high-watermark-regression").0
    };
    assert_eq!(judge(&[(0, 4, 100), (1, 5, 90)]), 1);
    assert_eq!(judge(&[(0, 4, 100), (1, 5, 100)]), 0);
    assert_eq!(
        judge(&[(1, 5, 100), (0, 4, 90)]),
        0,
        "a deposed leader is merely stale"
    );
    let mut overlapping = run(1);
    overlapping.ends(0, 4, LogEnd::Latest, 100);
    overlapping.at_once(|run| _ = run.ends(1, 5, LogEnd::Latest, 90));
    assert_eq!(names(&overlapping.verdict()), Vec::<&str>::new());
}

#[test]
fn high_watermark_regression_fires_in_the_polls_of_one_leader() {
    let judge = |elects: bool| {
        let mut run = run(1);
        run.pass(LONG);
        run.marks(0, 100);
        if elects {
            run.partition(&[0, 1, 2], &[], 1);
            run.partition(&[0, 1, 2], &[], 0);
        }
        run.marks(0, 90);
        run.pass(LONG);
        run.ack(1, 100);
        counts(&run.verdict(), "high-watermark-regression").0
    };
    assert_eq!(judge(false), 1);
    assert_eq!(judge(true), 0);
}

/// Broker 0 refuses, waits, and acknowledges.
fn refuses_and_acknowledges(between: impl FnOnce(&mut Run), after: impl FnOnce(&mut Run)) -> Run {
    let mut run = run(1);
    run.partition(&[0], &[1], 0);
    let client = run.invoke_send(10);
    let refused = run.complete_send(client, 10, Kind::Fail, None);
    if let Body::Send(send) = &mut run.entries[refused as usize].body {
        send.error = Some("NOT_ENOUGH_REPLICAS".into());
    }
    between(&mut run);
    run.ack(11, 0);
    after(&mut run);
    run.final_read(&[11]);
    run
}

#[test]
fn min_isr_violated_fires_on_an_acknowledgement_below_it() {
    let run = refuses_and_acknowledges(|_| {}, |run| run.pass(LONG));
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["min-isr-violated"]);
    assert!(
        verdict.anomalies[0].instances[0].text.contains("below 2"),
        "{verdict:?}"
    );
}

#[test]
fn min_isr_violated_does_not_fire_near_a_larger_isr_or_another_setting() {
    let judge = |between: fn(&mut Run), after: fn(&mut Run)| {
        let run = refuses_and_acknowledges(between, after);
        counts(&run.verdict(), "min-isr-violated").0
    };
    let grows = |run: &mut Run| _ = run.partition(&[0, 1], &[], 0);
    let passes = |run: &mut Run| run.pass(LONG);
    assert_eq!(judge(|_| {}, passes), 1);
    assert_eq!(judge(grows, passes), 0);
    assert_eq!(judge(|_| {}, grows), 0, "the observer may lag");
    assert_eq!(judge(|_| {}, |_| {}), 0, "the history ends too early to tell");
    let sets = |run: &mut Run| _ = run.config(2);
    assert_eq!(judge(sets, passes), 0);
}

#[test]
fn stuck_fires_without_a_leader_where_somebody_could_lead() {
    let judge = |down: bool, stalls: bool| {
        let mut run = run(1);
        run.ack(10, 0);
        run.partition(&[0], &[1], 0);
        run.partition(&[], &[0, 1], -1);
        run.fence(0);
        if down {
            run.fence(1);
        }
        if stalls {
            run.add(
                Process::Harness,
                Kind::Ok,
                Body::Stall(history::Stall { late_ms: 400.0 }),
            );
        }
        run.pass(LONG);
        run.final_summary(None, None, false);
        counts(&run.verdict(), "stuck").0
    };
    assert_eq!(judge(false, false), 1);
    assert_eq!(judge(true, false), 0, "waiting is the promise");
    assert_eq!(judge(false, true), 0, "the harness was late");
}

#[test]
fn stuck_fires_where_nothing_is_acknowledged() {
    let judge = |acks: bool| {
        let mut run = run(1);
        run.crash(2);
        run.back(2);
        run.pass(LONG);
        for value in 0..30 {
            let client = run.invoke_send(value);
            run.complete_send(client, value, Kind::Info, None);
        }
        if acks {
            run.ack(30, 0);
        }
        run.final_summary(None, None, false);
        counts(&run.verdict(), "stuck").0
    };
    assert_eq!(judge(false), 1);
    assert_eq!(judge(true), 0);
}

#[test]
fn metadata_lost_fires_on_a_removal_that_nobody_asked_for() {
    let judge = |asked: bool| {
        let mut run = run(1);
        run.header.promises = vec![history::Promise::Quorum];
        if asked {
            run.fault(Kind::Invoke, "recreate-topic", FaultAction::Inject, 0);
        }
        let at = run.next_place();
        run.seen(Body::TopicRemoved(TopicRemoved { id: key().id, at }));
        set(&mut run, "min.insync.replicas", None);
        counts(&run.verdict(), "metadata-lost")
    };
    assert_eq!(judge(false), (2, 0));
    assert_eq!(judge(true), (0, 0));
}
