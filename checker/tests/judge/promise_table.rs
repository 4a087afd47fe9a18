//! Every row of the promise ledger's table of cases that creation, unclean stops, admission, removal, wholeness,
//! the budget and the raise window decide. Replication factor 3, M = 2 unless a row says otherwise.
//!
//! The rows with elections which policy or operator allowed are in `promise_void`: Proactive past a fenced ELR member;
//! with M = 1 Proactive past a live leader; the operator's designation.

use crate::dsl::{Run, counts, names};
use checker::Outcome;

/// Ten acknowledged records, before anything happens.
fn loaded(replicas: i32, min_isr: i32) -> Run {
    let mut run = Run::new(replicas, min_isr);
    load(&mut run, 0..10);
    run
}

fn load(run: &mut Run, values: std::ops::Range<u64>) {
    for value in values {
        run.ack(value, value as i64);
    }
}

/// The final read finds nothing: is that loss inside the promise?
fn all_lost_is_inside(run: &mut Run) -> bool {
    run.final_read(&[]);
    let verdict = run.verdict();
    let (inside, outside) = counts(&verdict, "acked-tail-lost");
    assert!(inside == 0 || outside == 0, "{verdict:?}");
    let any_inside = verdict.anomalies.iter().any(|anomaly| anomaly.inside_promise);
    assert_eq!(
        verdict.verdict,
        if any_inside { Outcome::Fail } else { Outcome::Pass },
        "{verdict:?}"
    );
    inside > 0
}

fn bad_intervals(run: &Run) -> Vec<String> {
    run.verdict().promise.partitions[0]
        .bad
        .iter()
        .map(|bad| bad.why.clone())
        .collect()
}

/// Loses its power with records, is removed, registers, catches up.
fn lossy_and_readmitted(run: &mut Run, broker: i32, others: [i32; 2]) {
    run.power_cut(broker, 5..10);
    run.partition(&others, &[], others[0]);
    run.back(broker);
    let mut all = others.to_vec();
    all.push(broker);
    run.partition(&all, &[], others[0]);
}

#[test]
fn each_broker_lossy_in_turn_with_readmission_between_never_spends() {
    let mut run = loaded(3, 2);
    lossy_and_readmitted(&mut run, 2, [0, 1]);
    lossy_and_readmitted(&mut run, 1, [0, 2]);
    lossy_and_readmitted(&mut run, 0, [1, 2]);
    assert_eq!(bad_intervals(&run), Vec::<String>::new());
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn one_lossy_and_registered_then_another_is_in_force() {
    let mut run = loaded(3, 2);
    run.power_cut(1, 5..10);
    run.partition(&[0, 2], &[], 0);
    run.back(1);
    run.power_cut(0, 5..10);
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn two_lossy_before_either_was_noticed_spend_it() {
    let mut run = loaded(3, 2);
    run.power_cut(1, 5..10);
    run.power_cut(0, 5..10);
    let verdict = run.verdict();
    assert_eq!(verdict.promise.spent_by.len(), 2, "{:?}", verdict.promise);
    assert!(
        verdict.promise.spent_by[1].contains("power-cut of broker 1"),
        "{:?}",
        verdict.promise
    );
    assert!(
        verdict.promise.spent_by[1].contains("5 records of night-0"),
        "{:?}",
        verdict.promise
    );
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn power_that_goes_by_a_fault_of_another_name_takes_what_the_disk_tells() {
    let mut run = loaded(3, 2);
    run.power_cut(0, 5..10);
    run.power_cut_stopping(1, 6..10);
    let spent_by = run.verdict().promise.spent_by.join("; ");
    assert!(spent_by.contains("loss of power of broker 1"), "{spent_by}");
    assert!(spent_by.contains("4 records of night-0"), "{spent_by}");
    assert!(!spent_by.contains("unknown"), "{spent_by}");
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_lossless_unclean_stop_spends_as_well() {
    let mut run = loaded(3, 2);
    run.partition(&[0, 1], &[], 0);
    run.crash(1);
    run.partition(&[0], &[], 0);
    run.back(1);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn an_out_of_sync_replica_spends_nothing() {
    let mut run = loaded(3, 2);
    run.partition(&[0, 1], &[], 0);
    run.power_cut(2, 5..10);
    run.power_cut(0, 5..10);
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn a_replica_admitted_before_it_registered_again_is_still_dirty() {
    let mut run = loaded(3, 2);
    run.partition(&[0, 1], &[], 0);
    run.power_cut(2, 5..10);
    run.partition(&[0, 1, 2], &[], 0);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_raise_of_min_isr_while_one_is_in_sync_leaves_the_old_budget() {
    let mut run = loaded(3, 1);
    run.partition(&[0], &[], 0);
    run.config(2);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_clean_stop_and_a_power_cut_after_it_spend_nothing() {
    let mut run = loaded(3, 2);
    run.stop_asked(2);
    run.exited(2, 0);
    run.partition(&[0, 1], &[], 0);
    run.power_cut(2, 0..0);
    run.power_cut(1, 5..10);
    assert!(all_lost_is_inside(&mut run));
}

/// T0 to T2 of the proposal: both others leave the ISR, then the last replica loses its power.
fn last_replica_standing(last_falls: impl FnOnce(&mut Run)) -> Run {
    let mut run = loaded(3, 2);
    run.partition(&[1, 2], &[], 1);
    load(&mut run, 10..20);
    // The old rules: no ELR, and the last member stays in the ISR.
    run.partition(&[2], &[], 2);
    last_falls(&mut run);
    run.partition(&[2], &[], -1);
    run.back(2);
    run
}

#[test]
fn the_last_replica_standing_under_the_old_rules_fails() {
    let mut run = last_replica_standing(|run| run.power_cut(2, 15..20));
    run.partition(&[2], &[], 2);
    run.partition(&[2, 0, 1], &[], 2);
    let survivors: Vec<u64> = (0..15).collect();
    run.final_read(&survivors);
    let verdict = run.verdict();
    assert_eq!(verdict.verdict, Outcome::Fail);
    assert_eq!(counts(&verdict, "acked-tail-lost"), (5, 0));
    assert_eq!(counts(&verdict, "dirty-leader"), (1, 0));
    assert_eq!(names(&verdict), ["acked-tail-lost", "dirty-leader"]);
    assert_eq!(verdict.promise.spent_by, Vec::<String>::new());
}

#[test]
fn the_same_with_each_message_flushed_passes() {
    let mut run = last_replica_standing(|run| run.power_cut(2, 0..0));
    run.partition(&[2], &[], 2);
    run.final_read(&(0..20).collect::<Vec<u64>>());
    let verdict = run.verdict();
    assert_eq!((verdict.verdict, names(&verdict)), (Outcome::Pass, vec![]));
}

#[test]
fn the_same_with_a_kill_instead_of_a_power_cut_passes() {
    let mut run = last_replica_standing(|run| run.crash(2));
    run.partition(&[2], &[], 2);
    run.final_read(&(0..20).collect::<Vec<u64>>());
    let verdict = run.verdict();
    assert_eq!((verdict.verdict, names(&verdict)), (Outcome::Pass, vec![]));
    assert_eq!(bad_intervals(&run), Vec::<String>::new());
}

#[test]
fn under_the_new_rules_the_same_schedule_keeps_everything() {
    let mut run = loaded(3, 2);
    run.partition(&[1, 2], &[], 1);
    run.partition(&[2], &[1], 2);
    run.power_cut(2, 5..10);
    run.partition(&[], &[1, 2], -1);
    run.partition(&[], &[1], -1);
    run.back(2);
    run.partition(&[1], &[], 1);
    run.partition(&[1, 0, 2], &[], 1);
    run.final_read(&(0..10).collect::<Vec<u64>>());
    let verdict = run.verdict();
    assert_eq!((verdict.verdict, names(&verdict)), (Outcome::Pass, vec![]));
    assert_eq!(bad_intervals(&run), Vec::<String>::new());
}

#[test]
fn what_a_balanced_election_loses_while_the_promise_stands_is_inside() {
    let mut run = loaded(3, 2);
    // 2 was cut off; 0 and 1 are fenced, both of them still eligible, none of them ever stopped.
    run.partition(&[0, 1], &[], 0);
    run.partition(&[], &[0, 1], -1);
    run.partition(&[2], &[], 2);
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn a_dead_replica_elected_before_anyone_noticed_is_no_dirty_leader() {
    let mut run = loaded(3, 2);
    run.power_cut(1, 5..10);
    run.partition(&[1, 2], &[], 1);
    run.partition(&[2], &[], 2);
    run.back(1);
    run.partition(&[2, 1, 0], &[], 2);
    run.final_read(&(0..10).collect::<Vec<u64>>());
    let verdict = run.verdict();
    assert_eq!((verdict.verdict, names(&verdict)), (Outcome::Pass, vec![]));
}

#[test]
fn a_clean_exit_before_the_registration_is_an_unclean_stop() {
    let mut run = loaded(3, 2);
    run.partition(&[0], &[1], 0);
    run.stop_asked(1);
    run.exited(1, 0);
    run.start(1);
    run.stop_asked(1);
    run.exited(1, 0);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn what_is_acknowledged_after_a_raise_of_min_isr_is_outside() {
    let mut run = Run::new(3, 1);
    run.partition(&[0], &[1], 0);
    run.config(2);
    load(&mut run, 0..10);
    run.partition(&[1], &[], 1);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn what_was_acknowledged_before_a_raise_stays_covered() {
    let mut run = loaded(3, 1);
    run.config(2);
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn with_four_replicas_the_removed_are_forgotten_when_enough_are_eligible() {
    let mut run = loaded(4, 3);
    run.partition(&[0, 1, 2], &[], 0);
    run.power_cut(2, 5..10);
    run.partition(&[0, 1], &[], 0);
    run.back(2);
    run.partition(&[0], &[1], 0);
    run.partition(&[0, 2], &[1], 0);
    run.power_cut(0, 5..10);
    run.power_cut(1, 5..10);
    assert!(all_lost_is_inside(&mut run));
}

// What the table leaves to the rules' words.

#[test]
fn an_era_begins_when_a_spent_promise_is_whole_again() {
    let mut run = loaded(3, 2);
    run.power_cut(1, 5..10);
    run.power_cut(0, 5..10);
    run.partition(&[2], &[], 2);
    run.back(0);
    run.back(1);
    run.partition(&[2, 0, 1], &[], 2);
    // Acknowledged in the new era, and lost in it.
    load(&mut run, 10..12);
    run.final_read(&(0..10).collect::<Vec<u64>>());
    let verdict = run.verdict();
    assert_eq!(verdict.promise.partitions[0].era, 1);
    assert!(verdict.promise.partitions[0].bad[0].to.is_some());
    assert_eq!(counts(&verdict, "acked-tail-lost"), (2, 0));
    assert_eq!(verdict.verdict, Outcome::Fail);
}

#[test]
fn a_record_sent_before_the_bad_interval_closed_is_not_covered() {
    let mut run = loaded(3, 2);
    run.power_cut(1, 5..10);
    run.power_cut(0, 5..10);
    run.partition(&[2], &[], 2);
    run.back(0);
    run.back(1);
    let client = run.invoke_send(10);
    run.partition(&[2, 0, 1], &[], 2);
    run.complete_send(client, 10, history::Kind::Ok, Some(10));
    run.final_read(&(0..10).collect::<Vec<u64>>());
    assert_eq!(counts(&run.verdict(), "acked-tail-lost"), (0, 1));
}

#[test]
fn a_partition_created_with_dead_replicas_promises_nothing_until_it_is_whole() {
    let mut run = Run::brokers(3, 2);
    run.crash(1);
    run.crash(2);
    run.partition(&[0, 1, 2], &[], 0);
    load(&mut run, 0..5);
    run.back(1);
    run.partition(&[0, 2], &[], 0);
    run.partition(&[0, 1], &[], 0);
    load(&mut run, 5..10);
    run.final_read(&[]);
    let verdict = run.verdict();
    assert_eq!(counts(&verdict, "acked-tail-lost"), (5, 5));
}

#[test]
fn a_partition_that_never_was_whole_is_unknown() {
    let mut run = Run::brokers(3, 2);
    run.partition(&[0], &[], 0);
    load(&mut run, 0..5);
    run.final_read(&[]);
    let verdict = run.verdict();
    assert_eq!(verdict.verdict, Outcome::Unknown);
    assert!(crate::dsl::codes(&verdict).contains(&"promise-not-started"));
}

#[test]
fn unregistering_a_broker_is_an_unclean_stop() {
    let mut run = loaded(3, 2);
    run.partition(&[0, 1], &[], 0);
    run.unregister(1);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_fault_that_was_refused_is_no_unclean_stop() {
    use history::{FaultAction, Kind};
    let mut run = loaded(3, 2);
    run.fault(Kind::Invoke, "crash", FaultAction::Inject, 1);
    run.fault(Kind::Fail, "crash", FaultAction::Inject, 1);
    run.power_cut(0, 5..10);
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn a_cut_link_is_no_unclean_stop() {
    use history::{FaultAction, Kind};
    let mut run = loaded(3, 2);
    for node in [1, 2] {
        run.fault(Kind::Invoke, "cut-network", FaultAction::Inject, node);
        run.fault(Kind::Ok, "cut-network", FaultAction::Inject, node);
    }
    run.power_cut(0, 5..10);
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn a_process_that_dies_by_itself_is_an_unclean_stop() {
    let mut run = loaded(3, 2);
    run.exited(1, 1);
    run.killed(0, Some(11));
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_record_seen_after_the_fault_was_asked_counts_as_the_later_one() {
    use history::{FaultAction, Kind};
    let mut run = loaded(3, 2);
    run.partition(&[0, 1], &[], 0);
    // Did 1 leave the ISR before its process died? If after, it was removed while dirty: that excuses.
    run.fault(Kind::Invoke, "crash", FaultAction::Inject, 1);
    run.partition(&[0], &[], 0);
    run.killed(1, Some(9));
    run.fault(Kind::Ok, "crash", FaultAction::Inject, 1);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_registration_that_may_be_an_earlier_starts_counts_when_its_broker_is_unfenced() {
    let unfenced = |unfence: bool| {
        let mut run = loaded(3, 2);
        run.crash(1);
        // This start dies before its registration is seen, the next one's may be mistaken for it.
        run.start(1);
        run.crash(1);
        run.partition(&[0, 2], &[], 0);
        run.start(1);
        run.register_only(1);
        if unfence {
            run.unfence(1);
        }
        run.partition(&[0, 1], &[], 0);
        run.power_cut(0, 5..10);
        all_lost_is_inside(&mut run)
    };
    assert!(unfenced(true));
    assert!(!unfenced(false));
}

#[test]
fn what_a_deposed_leader_acknowledges_counts_from_the_end_of_its_leadership() {
    let mut run = loaded(3, 2);
    // 0 is deposed inside a bad interval, and goes on acknowledging after it.
    run.power_cut(1, 5..10);
    run.power_cut(2, 5..10);
    run.partition(&[0], &[], 0);
    run.back(1);
    run.back(2);
    run.partition(&[1], &[], 1);
    run.partition(&[1, 2], &[], 1);
    run.state.leader = 0;
    load(&mut run, 10..11);
    run.state.leader = 1;
    load(&mut run, 11..12);
    run.final_read(&(0..10).collect::<Vec<u64>>());
    assert_eq!(counts(&run.verdict(), "acked-tail-lost"), (1, 1));
}

#[test]
fn records_of_one_batch_take_effect_together() {
    use history::LogPlace;
    let mut run = loaded(3, 2);
    // In between, the partition would look whole with 1 gone: the batch as a whole removes 2 as well.
    let place = |log_offset| LogPlace::of(log_offset, 1000);
    run.power_cut(1, 5..10);
    run.partition_at(&[0, 2], &[], 0, place(1000));
    run.partition_at(&[0], &[], 0, place(1001));
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn no_bytes_lost_covers_any_number_of_stops_until_a_byte_is_lost() {
    let lose = |lost: std::ops::Range<i64>| {
        let mut run = loaded(3, 2);
        run.header.promises = vec![history::Promise::NoBytesLost];
        run.crash(0);
        run.crash(1);
        run.power_cut(2, lost);
        all_lost_is_inside(&mut run)
    };
    assert!(lose(0..0));
    assert!(!lose(5..10));
}

#[test]
fn a_power_cut_of_which_no_disk_tells_breaks_no_bytes_lost() {
    let mut run = loaded(3, 2);
    run.header.promises = vec![history::Promise::NoBytesLost];
    run.killed(0, None);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn fsync_covers_any_number_of_power_cuts() {
    let mut run = loaded(3, 2);
    run.header.promises = vec![history::Promise::Fsync];
    (0..3).for_each(|broker| run.power_cut(broker, 0..0));
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn of_several_promises_one_that_covers_is_enough() {
    let mut run = loaded(3, 2);
    run.header.promises = vec![history::Promise::Kip966, history::Promise::Fsync];
    (0..3).for_each(|broker| run.power_cut(broker, 5..10));
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn where_nothing_is_promised_a_loss_is_no_failure() {
    let mut run = loaded(3, 2);
    run.header.promises = vec![];
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_bad_interval_stays_open_until_the_partition_is_whole() {
    let mut run = loaded(3, 2);
    run.partition(&[0], &[1], 0);
    run.crash(1);
    run.crash(0);
    run.back(1);
    // A controller that kept the dirty member in the ELR elects it: the budget is no longer spent, but nothing
    // is whole.
    run.partition(&[1], &[0], 1);
    load(&mut run, 10..12);
    run.final_read(&(0..10).collect::<Vec<u64>>());
    assert_eq!(counts(&run.verdict(), "acked-tail-lost"), (0, 2));
}

#[test]
fn after_a_raise_of_min_isr_a_whole_does_not_raise_the_budget() {
    let mut run = loaded(3, 1);
    run.config(2);
    run.partition(&[0, 1], &[], 0);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_bad_interval_holds_its_very_ends() {
    let closes_as_the_send_begins = |at_once: bool| {
        let mut run = loaded(3, 2);
        run.power_cut(1, 5..10);
        run.power_cut(0, 5..10);
        run.partition(&[2], &[], 2);
        run.back(0);
        run.back(1);
        run.partition(&[2, 0, 1], &[], 2);
        match at_once {
            true => run.at_once(|run| load(run, 10..11)),
            false => load(&mut run, 10..11),
        }
        run.final_read(&(0..10).collect::<Vec<u64>>());
        counts(&run.verdict(), "acked-tail-lost")
    };
    assert_eq!(closes_as_the_send_begins(true), (0, 1));
    assert_eq!(closes_as_the_send_begins(false), (1, 0));
}

#[test]
fn what_was_seen_before_the_promise_was_spent_stays_inside() {
    let mut run = loaded(3, 2);
    run.ack(10, 3);
    (0..3).for_each(|broker| run.power_cut(broker, 0..10));
    let verdict = run.verdict();
    assert_eq!(counts(&verdict, "offset-reassigned"), (1, 0));
    assert_eq!(verdict.verdict, Outcome::Fail);
}

#[test]
fn an_exit_with_status_0_that_nobody_asked_for_is_an_unclean_stop() {
    let mut run = loaded(3, 2);
    run.exited(1, 0);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn an_eligible_replica_that_stopped_cleanly_and_then_lost_its_power_is_clean() {
    let mut run = loaded(3, 2);
    run.partition(&[0, 2], &[], 0);
    run.stop_asked(2);
    run.exited(2, 0);
    run.partition(&[0], &[2], 0);
    run.power_cut(2, 0..0);
    run.power_cut(0, 5..10);
    assert!(all_lost_is_inside(&mut run));
}

#[test]
fn a_registration_in_doubt_is_not_settled_by_the_next_starts() {
    let mut run = loaded(3, 2);
    run.crash(1);
    run.partition(&[0, 2], &[], 0);
    run.start(1);
    run.crash(1);
    // Doubtful, and its process dies before it is unfenced: the next start's registration is in doubt again.
    run.start(1);
    run.register_only(1);
    run.crash(1);
    run.start(1);
    run.register_only(1);
    run.partition(&[0, 1], &[], 0);
    run.power_cut(0, 5..10);
    assert!(!all_lost_is_inside(&mut run));
}

#[test]
fn a_registration_may_be_seen_before_the_entry_that_tells_of_the_start() {
    use history::{FaultAction, Kind};
    let register = |heals: bool| {
        let mut run = loaded(3, 2);
        run.power_cut(1, 5..10);
        run.partition(&[0, 2], &[], 0);
        if heals {
            run.fault(Kind::Invoke, "power-cut", FaultAction::Heal, 1);
        }
        // Its process is up and registers while the heal still waits for an answer.
        run.next_start(1);
        run.register(1);
        run.started(1);
        run.partition(&[0, 1], &[], 0);
        run.power_cut(0, 5..10);
        all_lost_is_inside(&mut run)
    };
    assert!(register(true));
    assert!(
        !register(false),
        "nobody asked for a start: it may be a registration of the process that died"
    );
}

#[test]
fn a_start_that_was_asked_of_a_running_process_changes_nothing() {
    use history::{FaultAction, Kind};
    let mut run = loaded(3, 2);
    run.fault(Kind::Invoke, "crash", FaultAction::Heal, 1);
    run.crash(1);
    run.partition(&[0, 2], &[], 0);
    run.back(1);
    run.partition(&[0, 1], &[], 0);
    run.power_cut(0, 5..10);
    assert!(all_lost_is_inside(&mut run));
}
