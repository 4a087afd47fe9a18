//! Records of every kind: control records, transactions, and what cannot be read.

use super::*;

fn begin() -> Bytes {
    record(&[&[1, 23, 0, 0]])
}

fn end() -> Bytes {
    record(&[&[1, 24, 0, 0]])
}

fn abort() -> Bytes {
    record(&[&[1, 25, 0, 0]])
}

/// LeaderChange, version 0: leader, one voter.
fn leader_change(leader: u8) -> (i16, Bytes) {
    let value = [0, 0, 0, 0, 0, leader, 2, 0, 0, 0, leader, 0, 1, 0].to_vec();
    (2, value.into())
}

/// KRaftVersion, version 0.
fn kraft_version(level: u8) -> (i16, Bytes) {
    (5, vec![0, 0, 0, level, 0].into())
}

/// KRaftVoters, version 0: one voter at 127.0.0.1.
fn voters(id: u8) -> (i16, Bytes) {
    let head = [0, 0, 2, 0, 0, 0, id];
    let name: &[u8] = &[2, 2, b'C', 10];
    let tail: &[u8] = &[0, 9, 0, 0, 0, 0, 1, 0, 0, 0];
    let value = [head.as_slice(), &TOPIC, name, b"127.0.0.1", tail];
    (6, value.concat().into())
}

#[tokio::test]
async fn leaders_voters_and_the_quorums_version_are_told_once_committed() {
    let fakes = controllers(1).await;
    log(&fakes[0], |log| {
        append_control(log, &[leader_change(101), kraft_version(1), voters(101)]);
        append(log, &[feature(1)]);
        append_control(log, &[voters(102)]);
        log.high_watermark = Some(4);
    });
    let watch = Watch::start(&fakes);
    let view = watch.until(|view| view.applied == 4).await;
    let told = ["leader 101 4@0", "kraft.version=1@1", "1 voters@2", "elr=1@3"];
    assert_eq!(watch.told(), told);
    assert_eq!((view.voters[0].node, view.features["kraft.version"]), (101, 1));
    assert_eq!(view.voters[0].endpoints, ["C://127.0.0.1:9"]);
    log(&fakes[0], |log| log.high_watermark = None);
    watch.until(|view| view.voters[0].node == 102).await;
    assert_eq!(watch.told()[4..], ["1 voters@4"]);
}

#[tokio::test]
async fn a_transaction_is_told_at_its_end_and_an_aborted_one_never() {
    let fakes = controllers(1).await;
    log(&fakes[0], |log| append(log, &[feature(1), begin(), feature(2)]));
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 3).await;
    assert_eq!(watch.told(), ["elr=1@0"]);
    log(&fakes[0], |log| append(log, &[broker(), end(), feature(3)]));
    watch.until(|view| view.applied == 6).await;
    let told = ["elr=1@0", "elr=2@2", "broker 1 Registered@3", "elr=3@5"];
    assert_eq!(watch.told(), told);
    assert_eq!(
        watch.places()[1..3],
        [(2, 1), (3, 1)],
        "they take effect together"
    );
    log(&fakes[0], |log| {
        append(log, &[begin(), feature(7), abort(), feature(4)])
    });
    watch.until(|view| view.applied == 10).await;
    assert_eq!(watch.told()[4..], ["elr=4@9"]);
}

#[tokio::test]
async fn a_transaction_goes_on_under_another_leader() {
    let fakes = controllers(2).await;
    for fake in &fakes {
        log(fake, |log| append(log, &[begin(), feature(2)]));
    }
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 2).await;
    lead(&fakes, 102, 5);
    log(&fakes[1], |log| append(log, &[end()]));
    watch.until(|view| view.applied == 3).await;
    assert_eq!(watch.told(), ["elr=2@1"]);
}

#[tokio::test]
async fn what_is_not_known_is_passed_over_and_said() {
    let fakes = controllers(1).await;
    // A type for other things, twice; a newer version of a partition's change, twice; a partition of no topic; no record.
    let other = || record(&[&[1, 14, 0, 42]]);
    let newer = || record(&[&[1, 5, 9, 42]]);
    let nothing = record(&[&[9]]);
    log(&fakes[0], |log| {
        append(
            log,
            &[
                other(),
                other(),
                newer(),
                newer(),
                partition(),
                nothing,
                feature(1),
            ],
        );
        append_control(log, &[(99, Bytes::new()), (5, Bytes::from_static(&[0, 9]))]);
        append(log, &[feature(2)]);
    });
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 10).await;
    let told = [
        "note Some(14)@0",
        "hides Some(5)@2",
        "hides Some(5)@3",
        "hides Some(3)@4",
        "hides None@5",
        "elr=1@6",
        "note None@7",
        "elr=2@9",
    ];
    assert_eq!(watch.told(), told);
}

#[tokio::test]
async fn what_apache_kafka_writes_beside_what_is_told_hides_nothing() {
    let fakes = controllers(1).await;
    let records: Vec<Bytes> = [10, 11, 14, 18, 19, 21, 22, 26, 29]
        .iter()
        .map(|kind| record(&[&[1, *kind, 0, 1, 2, 3]]))
        .collect();
    let noop = record(&[&[1, 20, 0, 0]]);
    log(&fakes[0], |log| {
        append(log, &[records, vec![noop, feature(1)]].concat())
    });
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 11).await;
    let told = watch.told();
    assert_eq!(
        told.len(),
        10,
        "a note each, none for what is known to say nothing: {told:?}"
    );
    assert!(told[..9].iter().all(|told| told.starts_with("note")), "{told:?}");
}
