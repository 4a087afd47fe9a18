//! Each rule where it must fire, and where it must not.

use crate::dsl::{Run, TOPIC, counts, names};
use checker::Outcome;
use history::Kind;

fn run() -> Run {
    Run::new(3, 2)
}

#[test]
fn a_run_without_an_anomaly_passes() {
    let mut run = run();
    run.ack(10, 0);
    run.ack(11, 1);
    run.read(0, &[10, 11]);
    run.final_read(&[10, 11]);
    let verdict = run.verdict();
    assert_eq!(verdict.verdict, Outcome::Pass);
    assert_eq!(names(&verdict), Vec::<&str>::new());
    assert_eq!(verdict.reasons, []);
    assert_eq!((verdict.operations.ok, verdict.operations_total), (4, 4));
    assert_eq!(
        (verdict.promise.name.as_str(), verdict.promise.min_isr),
        ("kip-966", 2)
    );
}

#[test]
fn operations_are_counted_by_outcome() {
    let mut run = run();
    run.ack(10, 0);
    let refused = run.invoke_send(11);
    run.complete_send(refused, 11, Kind::Fail, None);
    let unanswered = run.invoke_send(12);
    run.complete_send(unanswered, 12, Kind::Info, None);
    run.invoke_send(13);
    let verdict = run.verdict();
    let counted = verdict.operations;
    assert_eq!(
        (counted.ok, counted.fail, counted.info, verdict.operations_total),
        (1, 1, 2, 4)
    );
}

#[test]
fn acked_then_lost_fires_where_another_value_or_none_stands_at_the_offset() {
    let mut run = run();
    run.ack(10, 0);
    let acked = run.ack(11, 1);
    run.ack(12, 2);
    run.poll(&[(0, Some(10), 1), (1, Some(11), 1)], false);
    run.poll(&[(0, Some(10), 1), (2, Some(12), 1)], true);
    let end = run.final_summary(Some(0), Some(3), true);
    let verdict = run.verdict();
    assert_eq!(
        names(&verdict),
        ["acked-then-lost", "visible-then-lost", "int-poll-skip"]
    );
    assert_eq!(verdict.anomalies[2].follows.as_deref(), Some("acked-then-lost"));
    assert_eq!(counts(&verdict, "acked-then-lost"), (1, 0));
    assert_eq!(verdict.anomalies[1].follows.as_deref(), Some("acked-then-lost"));
    let instance = &verdict.anomalies[0].instances[0];
    assert_eq!(instance.operations, [acked - 1, acked, end]);
    assert_eq!(
        (instance.topic.as_deref(), instance.partition),
        (Some(TOPIC), Some(0))
    );
    assert_eq!((instance.offset, instance.epoch), (Some(1), Some(1)));
    assert_eq!(instance.acked_at, Some(run.entries[acked as usize].time));
    assert_eq!(instance.lost_at, Some(run.entries[end as usize].time));
}

#[test]
fn acked_then_lost_does_not_fire_for_what_was_not_acknowledged_with_acks_all() {
    let mut run = run();
    run.ack(10, 0);
    let unanswered = run.invoke_send(11);
    run.complete_send(unanswered, 11, Kind::Info, None);
    let leader_only = run.invoke_send(12);
    run.complete_send(leader_only, 12, Kind::Ok, Some(1));
    for entry in &mut run.entries {
        if let history::Body::Send(send) = &mut entry.body
            && send.value == 12
        {
            send.acks = 1;
        }
    }
    run.final_read(&[10]);
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn an_acknowledgement_without_an_offset_is_lost_where_its_value_is_nowhere() {
    let read = |values: &[u64]| {
        let mut run = run();
        let client = run.invoke_send(10);
        run.complete_send(client, 10, Kind::Ok, Some(-1));
        run.ack(11, 0);
        run.final_read(values);
        run.verdict()
    };
    assert_eq!(counts(&read(&[11]), "acked-then-lost"), (1, 0));
    assert_eq!(read(&[11]).anomalies[0].instances[0].offset, None);
    assert_eq!(read(&[11, 10]).verdict, Outcome::Pass);
}

#[test]
fn an_offset_below_the_log_start_is_lost_unless_the_start_may_move() {
    let mut run = run();
    run.ack(10, 0);
    run.ack(11, 1);
    run.final_read_from(1, &[11]);
    assert_eq!(counts(&run.verdict(), "acked-then-lost"), (1, 0));
    run.header.topics[0].log_start_may_move = true;
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn a_final_read_that_failed_tells_of_what_it_passed_over() {
    let mut run = run();
    for value in 0..5 {
        run.ack(value, value as i64);
    }
    run.poll(&[(0, Some(0), 1), (2, Some(2), 1)], true);
    run.final_summary(Some(0), Some(5), false);
    let verdict = run.verdict();
    // 1 was passed over; 3 and 4 were not reached.
    assert_eq!(names(&verdict), ["acked-then-lost", "int-poll-skip"]);
    assert_eq!(counts(&verdict, "acked-then-lost"), (1, 0));
    assert_eq!(verdict.verdict, Outcome::Fail);
}

#[test]
fn acked_tail_lost_fires_past_the_end_and_not_before_it() {
    let mut run = run();
    for value in 0..5 {
        run.ack(value, value as i64);
    }
    run.final_read(&[0, 1, 2]);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["acked-tail-lost"]);
    let offsets: Vec<_> = verdict.anomalies[0].instances.iter().map(|i| i.offset).collect();
    assert_eq!(offsets, [Some(3), Some(4)]);
    assert!(
        verdict.anomalies[0].instances[0]
            .text
            .contains("ends at offset 3")
    );
}

#[test]
fn log_start_moved_fires_on_a_rise() {
    let mut run = run();
    run.ack(10, 0);
    run.earliest(0);
    run.earliest(3);
    run.earliest(3);
    run.earliest(5);
    assert_eq!(counts(&run.verdict(), "log-start-moved"), (2, 0));
}

#[test]
fn log_start_moved_knows_the_start_from_what_was_acknowledged() {
    let mut run = run();
    run.ack(10, 2);
    run.earliest(3);
    assert_eq!(counts(&run.verdict(), "log-start-moved"), (1, 0));
}

#[test]
fn log_start_moved_does_not_fire_on_a_fall_an_overlap_or_where_it_may_move() {
    let mut run = run();
    run.ack(10, 9);
    run.earliest(5);
    run.earliest(0);
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
    run.at_once(|run| {
        run.earliest(3);
    });
    assert_eq!(
        names(&run.verdict()),
        Vec::<&str>::new(),
        "operations that touch are concurrent"
    );
    run.earliest(3);
    assert_eq!(names(&run.verdict()), ["log-start-moved"]);
    run.header.topics[0].log_start_may_move = true;
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
}

#[test]
fn offset_reassigned_names_both_epochs_and_follows_the_loss() {
    let mut run = run();
    run.ack(10, 0);
    run.partition(&[1, 2], &[], 1);
    run.ack(11, 0);
    run.final_read(&[11]);
    let verdict = run.verdict();
    assert_eq!(
        names(&verdict),
        ["acked-then-lost", "offset-reassigned", "inconsistent-offsets"]
    );
    let reassigned = &verdict.anomalies[1];
    assert_eq!(reassigned.follows.as_deref(), Some("acked-then-lost"));
    assert_eq!(reassigned.count, 1);
    assert!(
        reassigned.instances[0].text.contains("leader epoch 1"),
        "{}",
        reassigned.instances[0].text
    );
    assert!(
        reassigned.instances[0].text.contains("leader epoch 2"),
        "{}",
        reassigned.instances[0].text
    );
    assert_eq!(verdict.anomalies[2].follows.as_deref(), Some("acked-then-lost"));
}

#[test]
fn offset_reassigned_takes_epochs_from_the_metadata_where_nothing_was_read() {
    let mut run = run();
    run.ack(10, 0);
    run.partition(&[1, 2], &[], 1);
    run.ack(11, 0);
    let verdict = run.verdict();
    let text = &verdict.anomalies[0].instances[0].text;
    assert_eq!(verdict.anomalies[0].name, "offset-reassigned");
    assert!(
        text.contains("value 10 (leader epoch 1)") && text.contains("value 11 (leader epoch 2)"),
        "{text}"
    );
    assert_eq!(verdict.anomalies[0].instances[0].epoch, Some(2));
    assert_eq!(verdict.anomalies[0].follows, None);
}

#[test]
fn offset_reassigned_does_not_fire_on_what_was_read_before_the_acknowledgement() {
    let mut run = run();
    let client = run.invoke_send(10);
    run.invoke_send(11);
    run.read(0, &[11]);
    run.complete_send(client, 10, Kind::Ok, Some(0));
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["inconsistent-offsets"]);
}

#[test]
fn inconsistent_offsets_fires_on_two_reads_that_differ() {
    let mut run = run();
    run.invoke_send(10);
    run.invoke_send(11);
    run.read(0, &[10]);
    run.read(0, &[11]);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["inconsistent-offsets"]);
    assert!(verdict.anomalies[0].instances[0].text.contains("[10, 11]"));
}

#[test]
fn inconsistent_offsets_does_not_fire_on_corruption() {
    let mut run = run();
    run.ack(10, 0);
    run.poll(&[(0, None, 1)], false);
    assert_eq!(names(&run.verdict()), ["corrupt"]);
}

#[test]
fn duplicate_fires_on_a_value_at_two_offsets() {
    let mut run = run();
    run.ack(10, 0);
    run.read(0, &[10, 10]);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["duplicate"]);
    assert!(verdict.anomalies[0].instances[0].text.contains("[0, 1]"));
}

#[test]
fn duplicate_does_not_fire_on_a_value_read_twice() {
    let mut run = run();
    run.ack(10, 0);
    run.read(0, &[10]);
    run.read(0, &[10]);
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
}

#[test]
fn phantom_fires_on_a_value_that_nobody_sent() {
    let mut run = run();
    run.header.promises = vec![];
    run.ack(10, 0);
    run.read(0, &[10, 99]);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["phantom"]);
    assert!(verdict.anomalies[0].inside_promise, "nothing excuses it");
    assert_eq!(verdict.verdict, Outcome::Fail);
}

#[test]
fn phantom_does_not_fire_on_a_send_that_was_never_answered() {
    let mut run = run();
    run.invoke_send(10);
    run.read(0, &[10]);
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
}

#[test]
fn corrupt_fires_once_an_offset() {
    let mut run = run();
    run.ack(10, 0);
    run.poll(&[(0, None, 1)], false);
    run.poll(&[(0, None, 1), (1, None, 2)], false);
    let verdict = run.verdict();
    assert_eq!(counts(&verdict, "corrupt"), (2, 0));
    assert_eq!(verdict.verdict, Outcome::Fail);
}

#[test]
fn append_order_fires_where_an_earlier_record_stands_higher() {
    let mut run = run();
    run.ack(10, 5);
    run.ack(11, 3);
    run.ack(12, 4);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["append-order-violates-real-time"]);
    assert_eq!(verdict.anomalies[0].count, 2);
    assert_eq!(verdict.anomalies[0].instances[0].operations.len(), 4);
}

#[test]
fn append_order_does_not_fire_where_operations_touch() {
    let mut run = run();
    let overlapping = run.invoke_send(11);
    run.ack(10, 5);
    run.complete_send(overlapping, 11, Kind::Ok, Some(3));
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
    run.ack(12, 9);
    run.at_once(|run| {
        // Invoked in the very moment of the completion before.
        run.ack(13, 8);
    });
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
}

#[test]
fn dirty_leader_fires_on_the_election_alone() {
    let mut run = run();
    run.partition(&[1], &[], 1);
    run.power_cut(1, 3..4);
    run.partition(&[1], &[], -1);
    run.back(1);
    let elected = run.partition(&[1], &[], 1);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["dirty-leader"]);
    let instance = &verdict.anomalies[0].instances[0];
    assert_eq!(
        (instance.operations.as_slice(), instance.epoch),
        (&[elected][..], Some(run.state.leader_epoch))
    );
    assert!(instance.text.contains("1 records"), "{}", instance.text);
}

#[test]
fn dirty_leader_does_not_fire_after_a_readmission() {
    let mut run = run();
    run.power_cut(1, 3..4);
    run.partition(&[0, 2], &[], 0);
    run.back(1);
    run.partition(&[0, 2, 1], &[], 0);
    run.partition(&[2, 1], &[], 1);
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
}

#[test]
fn dirty_leader_does_not_fire_where_the_promise_is_spent_or_not_named() {
    let elect = |promise: history::Promise, spent: bool| {
        let mut run = run();
        run.header.promises = vec![promise];
        if spent {
            run.power_cut(0, 3..4);
        }
        run.power_cut(1, 3..4);
        run.partition(&[1], &[], -1);
        run.back(1);
        run.partition(&[1], &[], 1);
        names(&run.verdict()).len()
    };
    assert_eq!(elect(history::Promise::Kip966, false), 1);
    assert_eq!(elect(history::Promise::Kip966, true), 0);
    assert_eq!(elect(history::Promise::Fsync, false), 0);
}

#[test]
fn consequences_of_an_excused_loss_are_excused_too() {
    let mut run = run();
    run.ack(10, 0);
    run.ack(11, 1);
    run.power_cut(0, 0..2);
    run.power_cut(1, 0..2);
    run.partition(&[1], &[], 1);
    run.back(0);
    run.back(1);
    run.partition(&[1, 0, 2], &[], 1);
    run.ack(12, 0);
    run.final_read(&[12]);
    let verdict = run.verdict();
    assert_eq!(verdict.verdict, Outcome::Pass, "{verdict:?}");
    assert_eq!(
        names(&verdict),
        [
            "acked-then-lost",
            "acked-tail-lost",
            "offset-reassigned",
            "inconsistent-offsets",
            "append-order-violates-real-time"
        ]
    );
    assert!(verdict.anomalies.iter().all(|anomaly| !anomaly.inside_promise));
    assert!(
        verdict
            .reasons
            .iter()
            .all(|reason| reason.code == "outside-promise")
    );
}

#[test]
fn entries_that_know_no_topic_id_join_the_partition_that_has_one() {
    let mut run = run();
    run.ack(10, 0);
    run.final_read(&[10]);
    if let Some(history::Entry {
        body: history::Body::FinalRead(read),
        ..
    }) = run.entries.last_mut()
    {
        read.key.id = "".into();
    }
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn topics_that_the_header_does_not_name_are_not_judged() {
    let mut run = run();
    run.header.topics[0].name = "day".into();
    run.ack(10, 0);
    run.poll(&[(0, None, 1)], false);
    assert_eq!(names(&run.verdict()), Vec::<&str>::new());
}

#[test]
fn the_verdict_survives_json() {
    let mut run = run();
    run.ack(10, 0);
    run.final_read(&[]);
    let verdict = run.verdict();
    let json = serde_json::to_string(&verdict).unwrap();
    assert!(json.contains(r#""verdict":"fail""#), "{json}");
    assert_eq!(serde_json::from_str::<checker::Verdict>(&json).unwrap(), verdict);
}
