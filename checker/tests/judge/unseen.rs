//! Metadata that was not seen, not understood, or that vanished: what a verdict may still say.

use crate::dsl::{Run, codes};
use checker::Outcome;
use history::Promise;

/// Three brokers, min ISR 2, a record acknowledged.
fn run() -> Run {
    let mut run = Run::new(3, 2);
    run.ack(0, 0);
    run
}

fn judged(run: &Run) -> (Outcome, Vec<String>) {
    let verdict = run.verdict();
    let codes = codes(&verdict).into_iter().map(str::to_owned).collect();
    (verdict.verdict, codes)
}

fn unknown(reasons: &[&str]) -> (Outcome, Vec<String>) {
    (
        Outcome::Unknown,
        reasons.iter().map(|code| (*code).to_owned()).collect(),
    )
}

#[test]
fn a_gap_is_a_reason_for_unknown_and_no_anomaly() {
    let mut run = run();
    run.gap(&[0, 1, 2], &[], 0);
    run.ack(1, 1);
    run.final_read(&[0, 1]);
    assert_eq!(judged(&run), unknown(&["metadata-unseen"]));
    let message = &run.verdict().reasons[0].message;
    assert!(
        message.contains("night-0") && message.contains("not seen from offset"),
        "{message}"
    );
}

#[test]
fn a_gap_before_the_partition_was_made_hides_nothing_of_it() {
    let mut run = Run::brokers(3, 2);
    run.gap_only();
    run.partition(&[0, 1, 2], &[], 0);
    run.ack(0, 0);
    run.final_read(&[0]);
    assert_eq!(judged(&run).0, Outcome::Pass);
    // One in which it was made does.
    let mut run = Run::brokers(3, 2);
    run.gap(&[0, 1, 2], &[], 0);
    run.ack(0, 0);
    run.final_read(&[0]);
    assert_eq!(judged(&run), unknown(&["metadata-unseen"]));
}

#[test]
fn a_loss_across_a_gap_is_not_called_a_bug_and_one_after_it_is() {
    // The gap may hide that the promise was spent: all may have lost their power in it.
    let mut across = run();
    across.gap(&[0, 1, 2], &[], 0);
    across.final_read(&[]);
    assert_eq!(judged(&across), unknown(&["outside-promise", "metadata-unseen"]));

    let mut after = run();
    after.gap(&[0, 1, 2], &[], 0);
    after.ack(1, 1);
    after.final_read(&[0]);
    let (verdict, codes) = judged(&after);
    assert_eq!(verdict, Outcome::Fail, "{codes:?}");

    let mut without = run();
    without.final_read(&[]);
    assert_eq!(judged(&without).0, Outcome::Fail);
}

#[test]
fn a_gap_lasts_until_the_partition_is_whole() {
    let mut run = run();
    run.gap(&[0], &[1], 0);
    run.ack(1, 1);
    run.final_read(&[0]);
    let (verdict, codes) = judged(&run);
    assert_eq!(verdict, Outcome::Unknown, "{codes:?}");
    let bad = &run.verdict().promise.partitions[0].bad;
    assert!(bad.last().unwrap().to.is_none(), "{bad:?}");

    let mut whole = Run::new(3, 2);
    whole.gap(&[0], &[1], 0);
    whole.partition(&[0, 1], &[], 0);
    whole.ack(1, 1);
    whole.final_read(&[]);
    assert_eq!(judged(&whole).0, Outcome::Fail);
}

#[test]
fn a_record_that_was_not_understood_hides_all_that_follows() {
    let mut hiding = run();
    hiding.unread(true);
    hiding.partition(&[0, 1, 2], &[], 1);
    hiding.ack(1, 1);
    hiding.final_read(&[0]);
    assert_eq!(judged(&hiding), unknown(&["outside-promise", "metadata-unseen"]));

    // It may have been a broker's, and count for what is made later.
    let mut before = Run::brokers(3, 2);
    before.unread(true);
    before.partition(&[0, 1, 2], &[], 0);
    before.ack(0, 0);
    before.final_read(&[0]);
    assert_eq!(judged(&before), unknown(&["metadata-unseen"]));
}

#[test]
fn a_note_hides_nothing() {
    let mut noted = run();
    noted.unread(false);
    noted.final_read(&[0]);
    assert_eq!(judged(&noted).0, Outcome::Pass);
}

#[test]
fn committed_metadata_lost_breaks_the_promise_of_the_quorum_and_hides_from_others() {
    let mut gone = run();
    let entry = gone.diverged();
    gone.final_read(&[0]);
    assert_eq!(judged(&gone), unknown(&["outside-promise", "metadata-unseen"]));
    gone.header.promises = vec![Promise::Quorum];
    let verdict = gone.verdict();
    assert_eq!(
        (verdict.verdict, codes(&verdict)),
        (Outcome::Fail, vec!["committed-metadata-lost"])
    );
    let instance = &verdict.anomalies[0].instances[0];
    assert_eq!(
        (instance.operations.as_slice(), instance.offset),
        (&[entry][..], Some(1))
    );
    assert!(instance.text.contains("controller 101"), "{}", instance.text);
}

#[test]
fn a_gap_is_no_loss_of_committed_metadata() {
    let mut run = run();
    run.header.promises = vec![Promise::Quorum];
    run.gap(&[0, 1, 2], &[], 0);
    run.final_read(&[0]);
    assert_eq!(
        judged(&run).0,
        Outcome::Pass,
        "it is not what that promise speaks of"
    );
}
