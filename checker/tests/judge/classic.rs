//! The rules of the best existing workload, on runs of this project: each fires, and does not where it must not.

use crate::dsl::{Run, counts, names};
use checker::Outcome;
use history::{Body, Kind};

/// Three replicas, and three records acknowledged at 0, 1 and 2.
fn run() -> Run {
    let mut run = Run::new(3, 2);
    for value in 0..3 {
        run.ack(10 + value, value as i64);
    }
    run
}

fn records(read: &[(i64, u64)]) -> Vec<(i64, Option<u64>, i32)> {
    read.iter()
        .map(|(offset, value)| (*offset, Some(*value), 1))
        .collect()
}

#[test]
fn int_poll_skip_fires_where_an_answer_leaves_out_what_was_shown() {
    let mut run = run();
    let poll = run.poll(&records(&[(0, 10), (2, 12)]), false);
    run.final_read(&[10, 11, 12]);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["int-poll-skip"]);
    assert_eq!(verdict.verdict, Outcome::Fail);
    assert!(verdict.anomalies[0].instances[0].operations.contains(&poll));
}

#[test]
fn gaps_at_which_nobody_was_shown_anything_are_no_skips() {
    let mut run = run();
    run.ack(13, 5);
    let all = records(&[(0, 10), (1, 11), (2, 12), (5, 13)]);
    run.poll(&all, false);
    run.poll(&all, true);
    run.final_summary(Some(0), Some(6), true);
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn poll_skip_fires_from_the_offset_asked_for_and_not_where_the_client_went_elsewhere() {
    let mut run = run();
    // It asks for 2 of its own will.
    run.poll(&records(&[(2, 12)]), false);
    run.final_read(&[10, 11, 12]);
    assert_eq!(run.verdict().verdict, Outcome::Pass);
    // Now it asks for 1 and is given 2.
    for entry in &mut run.entries {
        if let Body::Poll(poll) = &mut entry.body
            && poll.from == 2
        {
            poll.from = 1;
        }
    }
    assert_eq!(names(&run.verdict()), ["poll-skip"]);
    // Where records may go, what is not there any more was not skipped.
    run.header.topics[0].log_start_may_move = true;
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn nonmonotonic_polls_fire_within_an_answer_and_before_it() {
    let mut run = run();
    run.poll(&records(&[(0, 10), (1, 11), (1, 11), (0, 10)]), false);
    run.final_read(&[10, 11, 12]);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["int-nonmonotonic-poll"]);
    assert_eq!(counts(&verdict, "int-nonmonotonic-poll"), (2, 0));
    for entry in &mut run.entries {
        if let Body::Poll(poll) = &mut entry.body
            && !poll.last
        {
            poll.from = 1;
            poll.records.truncate(2);
        }
    }
    assert_eq!(names(&run.verdict()), ["nonmonotonic-poll"]);
}

#[test]
fn a_client_may_read_the_same_again() {
    let mut run = run();
    run.read(0, &[10, 11, 12]);
    run.read(0, &[10, 11]);
    run.final_read(&[10, 11, 12]);
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn g1a_fires_where_a_refused_record_is_read_and_not_where_it_was_never_answered() {
    for (kind, expected) in [(Kind::Fail, &["G1a"][..]), (Kind::Info, &[])] {
        let mut run = run();
        let client = run.invoke_send(13);
        run.complete_send(client, 13, kind, None);
        run.final_read(&[10, 11, 12, 13]);
        assert_eq!(names(&run.verdict()), expected);
    }
}

#[test]
fn lost_write_fires_without_a_final_read_and_skips_follow_it() {
    let mut run = run();
    run.poll(&records(&[(0, 10), (2, 12)]), false);
    let verdict = run.verdict();
    assert_eq!(names(&verdict), ["lost-write", "int-poll-skip"]);
    assert_eq!(verdict.anomalies[1].follows.as_deref(), Some("lost-write"));
    assert_eq!(verdict.verdict, Outcome::Fail);
    // Somebody read it: it was skipped, and is not lost.
    run.read(1, &[11]);
    assert_eq!(names(&run.verdict()), ["int-poll-skip"]);
}

#[test]
fn what_a_poll_passed_before_the_acknowledgement_is_not_lost_by_that() {
    let mut run = Run::new(3, 2);
    run.ack(10, 0);
    let client = run.invoke_send(11);
    run.ack(12, 2);
    run.poll(&records(&[(0, 10), (2, 12)]), false);
    run.complete_send(client, 11, Kind::Ok, Some(1));
    assert_eq!(names(&run.verdict()), ["int-poll-skip"]);
}
