//! Committed records that are gone from the active controller's log, and logs that only look so.

use super::*;

/// Two controllers with one record in common; the first commits a second one, which is told.
async fn two() -> (Vec<Fake>, Watch) {
    let fakes = controllers(2).await;
    for fake in &fakes {
        log(fake, |log| append(log, &[feature(1)]));
    }
    log(&fakes[0], |log| append(log, &[broker(), unfence()]));
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 3).await;
    (fakes, watch)
}

const SEEN: [&str; 3] = ["elr=1@0", "broker 1 Registered@1", "broker 1 Unfenced@2"];

#[tokio::test]
async fn committed_records_that_vanished_are_told_and_the_new_log_is_followed() {
    let (fakes, watch) = two().await;
    log(&fakes[1], |log| {
        log.leader_epoch = 5;
        append(log, &[feature(3)]);
    });
    lead(&fakes, 102, 6);
    log(&fakes[1], |log| append(log, &[feature(5)]));
    let view = watch.until(|view| view.features.get("elr") == Some(&5)).await;
    let then = [
        "diverged from 1: 3/4 here, 1/4 at 102 in 6",
        "broker 1 Unregistered@0~",
        "elr=3@1",
        "elr=5@2",
    ];
    assert_eq!(watch.told(), [SEEN.as_slice(), &then].concat());
    assert!(view.brokers.is_empty());
    // Where the old log comes back with a later epoch, that is a finding too.
    lead(&fakes, 101, 7);
    log(&fakes[0], |log| append(log, &[feature(9)]));
    watch.until(|view| view.features["elr"] == 9).await;
    let told = watch.told();
    assert_eq!(told[7], "diverged from 1: 3/6 here, 3/4 at 101 in 7");
    assert_eq!(told.len(), 12, "{told:?}");
}

#[tokio::test]
async fn a_later_leader_with_the_same_committed_records_is_none() {
    let (fakes, watch) = two().await;
    log(&fakes[1], |log| append(log, &[broker(), unfence()]));
    // An uncommitted tail of the old leader is not in the new one's log, and was never told.
    log(&fakes[0], |log| {
        append(log, &[feature(8)]);
        log.high_watermark = Some(3);
    });
    lead(&fakes, 102, 6);
    log(&fakes[1], |log| append(log, &[feature(5)]));
    watch.until(|view| view.features["elr"] == 5).await;
    assert_eq!(watch.told(), [SEEN.as_slice(), &["elr=5@3"]].concat());
}

#[tokio::test]
async fn a_divergence_that_contradicts_nothing_is_trouble_and_no_finding() {
    let (fakes, watch) = two().await;
    log(&fakes[0], |log| log.diverging = Some((4, 30)));
    let view = watch.until(|view| view.trouble.is_some()).await;
    assert!(view.trouble.unwrap().contains("contradicts nothing"));
    log(&fakes[0], |log| {
        log.diverging = None;
        append(log, &[feature(5)]);
    });
    watch.until(|view| view.applied == 4).await;
    assert_eq!(watch.told(), [SEEN.as_slice(), &["elr=5@3"]].concat());
}

#[tokio::test]
async fn a_log_that_is_all_gone_is_told_once() {
    let (fakes, watch) = two().await;
    log(&fakes[0], |log| log.diverging = Some((0, 0)));
    watch.until(|view| view.trouble.is_some()).await;
    log(&fakes[0], |log| log.diverging = None);
    watch.until(|view| view.applied == 3).await;
    let gone = [
        "diverged from 0: 3/4 here, 0/0 at 101 in 4",
        "broker 1 Unregistered@0~",
        "elr=0@0~",
    ];
    assert_eq!(watch.told(), [SEEN.as_slice(), &gone, &SEEN].concat());
}

#[tokio::test]
async fn a_snapshot_of_another_history_shows_it_too() {
    let (fakes, watch) = two().await;
    lead(&fakes, 102, 6);
    log(&fakes[1], |log| {
        log.shorten(3, 6, &[feature(2)]);
        append(log, &[feature(5)]);
    });
    watch.until(|view| view.features["elr"] == 5).await;
    let then = [
        "diverged from 2: 3/4 here, 3/6 at 102 in 6",
        "gap 2..3 Snapshot",
        "broker 1 Unregistered@2~",
        "elr=2@2~",
        "elr=5@3",
    ];
    assert_eq!(watch.told(), [SEEN.as_slice(), &then].concat());
}

#[tokio::test]
async fn records_gone_with_what_was_read_before_a_snapshot_end_in_a_gap() {
    let (fakes, watch) = two().await;
    // The new log differs from offset 1 on, and begins at a snapshot far behind.
    log(&fakes[1], |log| {
        log.leader_epoch = 5;
        append(log, &[feature(3), feature(4)]);
    });
    lead(&fakes, 102, 6);
    log(&fakes[1], |log| {
        // Only who asks from the start is sent to the snapshot.
        log.snapshot = Some((3, 5));
        log.snapshots = [((3, 5), crate::fake::snapshot_bytes(&[feature(4)]))].into();
        append(log, &[feature(5)]);
    });
    watch.until(|view| view.features["elr"] == 5).await;
    let then = [
        "diverged from 1: 3/4 here, 1/4 at 102 in 6",
        "gap 1..3 Snapshot",
        "broker 1 Unregistered@2~",
        "elr=4@2~",
        "elr=5@3",
    ];
    assert_eq!(watch.told(), [SEEN.as_slice(), &then].concat());
}
