//! Logs that begin at a snapshot.

use super::*;
use crate::fake::snapshot_bytes;

const FETCH_SNAPSHOT: i16 = 59;

/// A controller of which two records were told.
async fn one() -> (Vec<Fake>, Watch) {
    let fakes = controllers(1).await;
    log(&fakes[0], |log| append(log, &[feature(1), feature(2)]));
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 2).await;
    (fakes, watch)
}

const SEEN: [&str; 2] = ["elr=1@0", "elr=2@1"];
const THEN: [&str; 6] = [
    "gap 2..9 Snapshot",
    "elr=3@8~",
    "broker 1 Registered@8~",
    "broker 1 Unfenced@8~",
    "isr [1, 2]@8~",
    "isr [2]@9",
];

/// The log begins at 9 now: what the observer did not see is in a snapshot.
fn shorten(log: &mut Log) {
    log.shorten(9, 4, &[feature(3), broker(), unfence(), topic(), partition()]);
    append(log, &[shrink(true)]);
}

#[tokio::test]
async fn what_was_not_seen_is_a_gap_and_then_what_differs() {
    for part in [0, 20] {
        let (fakes, watch) = one().await;
        fakes[0].change(|state| state.snapshot_part = part);
        log(&fakes[0], shorten);
        let view = watch.until(|view| view.applied == 10).await;
        assert_eq!(watch.told(), [SEEN.as_slice(), &THEN].concat());
        assert!(view.isr_is("orders", 0, &[2]) && !view.brokers[&1].fenced);
        let asked = asked(&fakes[0], FETCH_SNAPSHOT);
        assert_eq!(asked > 1, part > 0, "{asked} parts");
    }
}

#[tokio::test]
async fn an_observer_that_starts_late_has_a_gap_from_the_start() {
    let fakes = controllers(1).await;
    log(&fakes[0], shorten);
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 10).await;
    assert_eq!(watch.told()[0], "gap 0..9 Snapshot");
    assert_eq!(watch.told()[1..], THEN[1..]);
}

#[tokio::test]
async fn a_snapshot_beside_a_log_that_reaches_back_is_no_gap() {
    let (fakes, watch) = one().await;
    log(&fakes[0], |log| {
        log.snapshot = Some((2, 4));
        log.snapshots = [((2, 4), snapshot_bytes(&[feature(2)]))].into();
        append(log, &[feature(5)]);
    });
    watch.until(|view| view.applied == 3).await;
    // Nor is it where the snapshot ends just where the observer is.
    log(&fakes[0], |log| {
        log.shorten(3, 4, &[feature(5)]);
        append(log, &[feature(6)]);
    });
    watch.until(|view| view.applied == 4).await;
    assert_eq!(watch.told(), [SEEN.as_slice(), &["elr=5@2", "elr=6@3"]].concat());
    assert_eq!(asked(&fakes[0], FETCH_SNAPSHOT), 0);
}

#[tokio::test]
async fn a_part_that_does_not_come_right_is_asked_for_again() {
    let (fakes, watch) = one().await;
    fakes[0].change(|state| {
        state.snapshot_part = 100;
        let failures = [
            // SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE, NOT_LEADER_OR_FOLLOWER.
            Reaction::Refuse(98),
            Reaction::Refuse(99),
            Reaction::Refuse(6),
            Reaction::OtherPosition,
            Reaction::OtherSnapshot,
            Reaction::Garbage,
            Reaction::Disconnect,
        ];
        state.react(FETCH_SNAPSHOT, failures);
    });
    log(&fakes[0], shorten);
    watch.until(|view| view.applied == 10).await;
    assert_eq!(watch.told(), [SEEN.as_slice(), &THEN].concat(), "told once");
    assert!(asked(&fakes[0], FETCH_SNAPSHOT) > 7);
}

#[tokio::test]
async fn a_snapshot_whose_bytes_are_wrong_is_not_believed() {
    let (fakes, watch) = one().await;
    log(&fakes[0], |log| {
        shorten(log);
        let mut hurt = log.snapshots[&(9, 4)].to_vec();
        let middle = hurt.len() / 2;
        hurt[middle] ^= 1;
        log.snapshots.insert((9, 4), hurt.into());
    });
    let view = watch.until(|view| view.trouble.is_some()).await;
    assert!(view.trouble.unwrap().contains("cannot be used"));
    assert_eq!(watch.told(), SEEN);
    log(&fakes[0], |log| {
        let whole = snapshot_bytes(&[feature(3), broker(), unfence(), topic(), partition()]);
        log.snapshots.insert((9, 4), whole);
    });
    watch.until(|view| view.applied == 10).await;
    assert_eq!(watch.told(), [SEEN.as_slice(), &THEN].concat());
}

#[tokio::test]
async fn a_snapshot_deleted_meanwhile_gives_way_to_the_next() {
    let (fakes, watch) = one().await;
    log(&fakes[0], |log| {
        log.shorten(5, 4, &[feature(7)]);
        log.snapshots.clear();
    });
    let view = watch.until(|view| view.trouble.is_some()).await;
    assert!(view.trouble.unwrap().contains("SNAPSHOT_NOT_FOUND"));
    log(&fakes[0], shorten);
    watch.until(|view| view.applied == 10).await;
    assert_eq!(watch.told(), [SEEN.as_slice(), &THEN].concat());
}

#[tokio::test]
async fn another_leader_sends_its_own_snapshot_from_its_start() {
    let fakes = controllers(2).await;
    for fake in &fakes {
        log(fake, shorten);
    }
    // As long as the other's, and not the same.
    log(&fakes[1], |log| {
        let other = snapshot_bytes(&[feature(6), broker(), unfence(), topic(), partition()]);
        log.snapshots.insert((9, 4), other);
    });
    // The first sends all but the footer: with the second's, that would be a whole snapshot.
    let footer = control_batch(&[(4, Bytes::from_static(&[0, 0, 0]))]).len();
    fakes[0].change(|state| {
        state.snapshot_part = state.log(METADATA_TOPIC, 0).snapshots[&(9, 4)].len() - footer;
        state.react(FETCH_SNAPSHOT, [Reaction::Behave, Reaction::Silence]);
    });
    let watch = Watch::start(&fakes);
    until_true("a part came", || asked(&fakes[0], FETCH_SNAPSHOT) == 2).await;
    fakes[0].change(|state| state.hangs = true);
    lead(&fakes[1..], 102, 5);
    watch
        .until(|view| view.quorum.epoch == 5 && view.applied == 10)
        .await;
    let told = watch.told();
    assert_eq!((told[1].as_str(), told.len()), ("elr=6@8~", 6), "{told:?}");
}

#[tokio::test]
async fn a_transaction_that_a_snapshot_cuts_never_takes_effect_by_itself() {
    let (fakes, watch) = one().await;
    let begin = record(&[&[1, 23, 0, 0]]);
    log(&fakes[0], |log| append(log, &[begin, feature(8)]));
    watch.until(|view| view.applied == 4).await;
    log(&fakes[0], |log| {
        log.shorten(9, 4, &[feature(3)]);
        append(log, &[feature(9)]);
    });
    watch.until(|view| view.applied == 10).await;
    let then = ["gap 4..9 Snapshot", "elr=3@8~", "elr=9@9"];
    assert_eq!(watch.told(), [SEEN.as_slice(), &then].concat());
}

#[tokio::test]
async fn offsets_that_the_log_skips_are_a_gap() {
    let (fakes, watch) = one().await;
    log(&fakes[0], |log| {
        append(log, &[feature(3), feature(4)]);
        let (base, end, batch) = log.batches.pop().unwrap();
        let batch = crate::batch::place(&batch, base + 5, 4);
        log.batches.push((base + 5, end + 5, batch));
    });
    watch.until(|view| view.applied == 9).await;
    let then = ["gap 2..7 Hole", "elr=3@7", "elr=4@8"];
    assert_eq!(watch.told(), [SEEN.as_slice(), &then].concat());
}
