//! Each rule of a follower, and of the leader's checks of its Fetch, where it holds and where it does not.

mod toy;

use std::collections::BTreeMap;

use replication::{
    BatchSummary, Broker, EpochEnd, FetchAnswer, FetchCheck, FetchError, FetchPlan, FetchRefusal,
    FetchRequest, FollowerId, IgnoreReason, LogView, Now, Partition, Replica, Settings, Step, Transition,
};
use toy::ToyLog;

const SETTINGS: Settings = Settings {
    min_insync_replicas: 2,
    replica_lag_time_max_ms: 100,
};

fn brokers() -> BTreeMap<i32, Broker> {
    let broker = Broker {
        broker_epoch: 50,
        fenced: false,
        in_controlled_shutdown: false,
    };
    (1..=3).map(|id| (id, broker)).collect()
}

fn partition(leader: Option<i32>, leader_epoch: i32) -> Partition {
    let isr = vec![1, 2, 3];
    Partition {
        leader,
        leader_epoch,
        partition_epoch: leader_epoch,
        isr: isr.clone(),
        replicas: isr,
    }
}

/// Replica 2 in leader epoch `leader_epoch` of leader 1.
fn follower(log: &ToyLog, leader_epoch: i32, high_watermark: i64) -> Replica {
    let mut replica = Replica::new(2, 50, SETTINGS, high_watermark);
    let transition = announce(&mut replica, log, &partition(Some(1), leader_epoch));
    assert_eq!(
        transition,
        Transition::BecameFollower {
            leader: Some(1),
            leader_epoch
        }
    );
    replica
}

fn announce(replica: &mut Replica, log: &ToyLog, partition: &Partition) -> Transition {
    replica.metadata(
        partition,
        log,
        Now {
            ms: 0,
            log_end: log.end_offset(),
            brokers: &brokers(),
        },
    )
}

fn batch(base_offset: i64, next_offset: i64, leader_epoch: i32) -> BatchSummary {
    BatchSummary {
        base_offset,
        next_offset,
        leader_epoch,
    }
}

fn records(batches: &[BatchSummary]) -> FetchAnswer {
    FetchAnswer::Records {
        batches: batches.to_vec(),
        high_watermark: 99,
        log_start_offset: 0,
    }
}

fn diverging(leader_epoch: i32, end_offset: i64) -> FetchAnswer {
    FetchAnswer::Diverging(EpochEnd {
        leader_epoch,
        end_offset,
    })
}

fn step(replica: &Replica, log: &ToyLog, answer: &FetchAnswer) -> Step {
    let follower = replica.follower().unwrap();
    follower.answer(&follower.plan(log).unwrap(), answer, log)
}

fn appends(batches: usize) -> Step {
    Step::Append {
        batches,
        leader_high_watermark: 99,
        leader_log_start: 0,
    }
}

#[test]
fn it_fetches_from_its_end_and_names_its_last_epoch() {
    let log = ToyLog::of(&[0, 2, 2]);
    let plan = follower(&log, 4, 0).follower().unwrap().plan(&log).unwrap();
    assert_eq!(
        plan,
        FetchPlan {
            leader: 1,
            current_leader_epoch: 4,
            fetch_offset: 3,
            last_fetched_epoch: Some(2)
        }
    );
    let empty = ToyLog::default();
    assert_eq!(
        follower(&empty, 4, 0)
            .follower()
            .unwrap()
            .plan(&empty)
            .unwrap()
            .last_fetched_epoch,
        None
    );
    let mut leaderless = Replica::new(2, 50, SETTINGS, 0);
    let _ = announce(&mut leaderless, &log, &partition(None, 1));
    assert_eq!(leaderless.follower().unwrap().plan(&log), None);
}

#[test]
fn batches_that_continue_the_log_are_appended() {
    let log = ToyLog::of(&[0, 2]);
    let replica = follower(&log, 4, 0);
    assert_eq!(step(&replica, &log, &records(&[])), appends(0));
    assert_eq!(
        step(&replica, &log, &records(&[batch(2, 5, 2), batch(5, 6, 4)])),
        appends(2)
    );
    for bad in [
        [batch(1, 2, 2), batch(2, 3, 2)],
        [batch(2, 3, 2), batch(4, 5, 2)],
        [batch(2, 2, 2), batch(2, 3, 2)],
    ] {
        assert_eq!(
            step(&replica, &log, &records(&bad)),
            Step::Ignore(IgnoreReason::NotContiguous)
        );
    }
}

/// KAFKA-18723.
#[test]
fn batches_of_a_later_epoch_than_the_fetch_are_left_out() {
    let log = ToyLog::of(&[0, 2]);
    let replica = follower(&log, 4, 0);
    assert_eq!(
        step(
            &replica,
            &log,
            &records(&[batch(2, 3, 4), batch(3, 4, 5), batch(4, 5, 4)])
        ),
        appends(1)
    );
    assert_eq!(step(&replica, &log, &records(&[batch(2, 3, 5)])), appends(0));
}

/// KAFKA-18991.
#[test]
fn an_answer_asked_for_in_another_epoch_is_ignored() {
    let log = ToyLog::of(&[0, 2, 2]);
    let mut replica = follower(&log, 4, 0);
    let plan = replica.follower().unwrap().plan(&log).unwrap();
    let answer = diverging(0, 1);
    assert_eq!(
        replica.follower().unwrap().answer(&plan, &answer, &log),
        Step::Truncate { to: 1 }
    );
    let _ = announce(&mut replica, &log, &partition(Some(1), 5));
    let ignored = Step::Ignore(IgnoreReason::OtherEpoch);
    assert_eq!(replica.follower().unwrap().answer(&plan, &answer, &log), ignored);
    assert_eq!(
        replica.follower().unwrap().answer(&plan, &records(&[]), &log),
        ignored
    );
    assert_eq!(
        replica.follower().unwrap().out_of_range(&plan, 0, 0, &log),
        ignored
    );
}

#[test]
fn an_answer_about_a_log_that_has_moved_is_ignored() {
    let mut log = ToyLog::of(&[0, 2, 2]);
    let replica = follower(&log, 4, 0);
    let plan = replica.follower().unwrap().plan(&log).unwrap();
    log.truncate(2);
    let ignored = Step::Ignore(IgnoreReason::LogMoved);
    assert_eq!(
        replica
            .follower()
            .unwrap()
            .answer(&plan, &records(&[batch(3, 4, 2)]), &log),
        ignored
    );
    assert_eq!(
        replica.follower().unwrap().answer(&plan, &diverging(2, 1), &log),
        ignored
    );
}

#[test]
fn it_truncates_to_where_the_logs_agree() {
    let log = ToyLog::of(&[0, 0, 2, 2, 4, 4]);
    let replica = follower(&log, 6, 0);
    let to = |answer: FetchAnswer| step(&replica, &log, &answer);
    // The leader's epoch is known here: the smaller of the two ends.
    assert_eq!(to(diverging(4, 5)), Step::Truncate { to: 5 });
    assert_eq!(to(diverging(2, 3)), Step::Truncate { to: 3 });
    assert_eq!(to(diverging(2, 9)), Step::Truncate { to: 4 });
    // It is not: the end of the largest below it, and ask again (KIP-279).
    assert_eq!(to(diverging(3, 3)), Step::Truncate { to: 4 });
    assert_eq!(to(diverging(1, 1)), Step::Truncate { to: 2 });
    // Answers that no leader can give, on which truncation would never end.
    assert_eq!(to(diverging(4, 6)), Step::Ignore(IgnoreReason::Impossible));
    assert_eq!(to(diverging(5, 3)), Step::Ignore(IgnoreReason::Impossible));
    assert_eq!(to(diverging(2, -1)), Step::Ignore(IgnoreReason::Impossible));
    let empty = ToyLog::default();
    assert_eq!(
        step(&follower(&empty, 6, 0), &empty, &diverging(0, 0)),
        Step::Ignore(IgnoreReason::Impossible)
    );
}

/// A deposed leader that never appended in its epoch: no record goes, but its epoch must.
#[test]
fn an_epoch_without_records_is_truncated_too() {
    let mut log = ToyLog::of(&[0, 0]);
    log.assign(3);
    let replica = follower(&log, 4, 0);
    assert_eq!(step(&replica, &log, &diverging(0, 7)), Step::Truncate { to: 2 });
    log.truncate(2);
    assert_eq!(
        replica.follower().unwrap().plan(&log).unwrap().last_fetched_epoch,
        Some(0)
    );
}

/// KAFKA-14704.
#[test]
fn the_high_watermark_stays_within_the_log() {
    let mut log = ToyLog::of(&[0, 0, 0, 0]);
    let mut replica = follower(&log, 4, 4);
    log.truncate(2);
    replica.follower_mut().unwrap().truncated(&log);
    assert_eq!(replica.high_watermark(), 2);
    let follower = replica.follower_mut().unwrap();
    assert_eq!(follower.appended(9, &log), 2);
    assert_eq!(follower.appended(1, &log), 1);
    log.start = 2;
    log.truncate(2);
    follower.truncated(&log);
    assert_eq!((follower.high_watermark(), follower.appended(0, &log)), (2, 2));
}

#[test]
fn out_of_range_is_resolved_by_the_leaders_range() {
    let log = ToyLog::of(&[0, 0, 0, 0]);
    let replica = follower(&log, 4, 0);
    assert_eq!(
        step(&replica, &log, &FetchAnswer::Error(FetchError::OffsetOutOfRange)),
        Step::AskLeaderRange
    );
    let follower = replica.follower().unwrap();
    let plan = follower.plan(&log).unwrap();
    assert_eq!(follower.out_of_range(&plan, 0, 3, &log), Step::Truncate { to: 3 });
    assert_eq!(follower.out_of_range(&plan, 7, 9, &log), Step::Reset { to: 7 });
    assert_eq!(follower.out_of_range(&plan, 2, 9, &log), Step::Backoff);
}

#[test]
fn errors_make_it_wait() {
    let log = ToyLog::of(&[0]);
    let replica = follower(&log, 4, 0);
    assert_eq!(
        step(&replica, &log, &FetchAnswer::Error(FetchError::FencedLeaderEpoch)),
        Step::AwaitMetadata
    );
    assert_eq!(
        step(&replica, &log, &FetchAnswer::Error(FetchError::Other)),
        Step::Backoff
    );
}

#[test]
fn old_metadata_changes_nothing() {
    let log = ToyLog::of(&[0]);
    let mut replica = follower(&log, 4, 0);
    assert_eq!(
        announce(&mut replica, &log, &partition(Some(2), 3)),
        Transition::Stale
    );
    assert_eq!(
        announce(&mut replica, &log, &partition(Some(1), 4)),
        Transition::Stale
    );
    let newer = Partition {
        partition_epoch: 9,
        ..partition(Some(1), 4)
    };
    assert!(matches!(
        announce(&mut replica, &log, &newer),
        Transition::Updated(_)
    ));
    assert_eq!((replica.leader_epoch(), replica.partition_epoch()), (4, 9));
}

/// Replica 1 leads epoch 4; its log has epochs 0, 2 and, since it became leader, 4.
fn leader() -> (Replica, ToyLog) {
    let mut log = ToyLog::of(&[0, 0, 2, 2]);
    let mut replica = Replica::new(1, 50, SETTINGS, 1);
    let transition = announce(&mut replica, &log, &partition(Some(1), 4));
    assert!(matches!(
        transition,
        Transition::BecameLeader {
            leader_epoch: 4,
            start_offset: 4,
            ..
        }
    ));
    log.assign(4);
    (replica, log)
}

fn check(request: &FetchRequest) -> FetchCheck {
    let (replica, log) = leader();
    replica.check_fetch(request, &log, &brokers())
}

fn request() -> FetchRequest {
    FetchRequest {
        follower: Some(FollowerId {
            replica: 2,
            broker_epoch: 50,
        }),
        current_leader_epoch: Some(4),
        fetch_offset: 3,
        last_fetched_epoch: Some(2),
    }
}

#[test]
fn a_fetch_is_fenced_by_leader_epoch() {
    let epoch = |current_leader_epoch| {
        check(&FetchRequest {
            current_leader_epoch,
            ..request()
        })
    };
    assert_eq!(
        (epoch(Some(4)), epoch(None)),
        (FetchCheck::Valid, FetchCheck::Valid)
    );
    assert_eq!(
        epoch(Some(3)),
        FetchCheck::Refused(FetchRefusal::FencedLeaderEpoch)
    );
    assert_eq!(
        epoch(Some(5)),
        FetchCheck::Refused(FetchRefusal::UnknownLeaderEpoch)
    );
    let log = ToyLog::of(&[0, 0, 2, 2]);
    for replica in [follower(&log, 4, 0), Replica::new(1, 50, SETTINGS, 0)] {
        let asked = FetchRequest {
            current_leader_epoch: None,
            ..request()
        };
        let refused = FetchCheck::Refused(FetchRefusal::NotLeaderOrFollower);
        assert_eq!(replica.check_fetch(&asked, &log, &brokers()), refused);
    }
}

#[test]
fn a_fetch_must_come_from_a_replica_as_it_is_now() {
    let of = |replica, broker_epoch| {
        check(&FetchRequest {
            follower: Some(FollowerId {
                replica,
                broker_epoch,
            }),
            ..request()
        })
    };
    assert_eq!([of(2, 50), of(2, 51), of(2, -1)], [FetchCheck::Valid; 3]);
    assert_eq!(of(2, 49), FetchCheck::Refused(FetchRefusal::NotLeaderOrFollower));
    assert_eq!(of(9, 50), FetchCheck::Refused(FetchRefusal::UnknownLeaderEpoch));
}

#[test]
fn divergence_is_found_before_range() {
    let at = |fetch_offset, last_fetched_epoch| {
        check(&FetchRequest {
            fetch_offset,
            last_fetched_epoch,
            ..request()
        })
    };
    let diverging = |leader_epoch, end_offset| {
        FetchCheck::Diverging(EpochEnd {
            leader_epoch,
            end_offset,
        })
    };
    assert_eq!(
        [at(2, Some(0)), at(4, Some(2)), at(4, Some(4)), at(0, None)],
        [FetchCheck::Valid; 4]
    );
    assert_eq!(
        at(3, Some(0)),
        diverging(0, 2),
        "further in that epoch than the leader"
    );
    assert_eq!(
        at(2, Some(1)),
        diverging(0, 2),
        "an epoch that the leader never had"
    );
    assert_eq!(at(9, Some(4)), diverging(4, 4));
    assert_eq!(at(3, Some(3)), diverging(2, 4));
    let out_of_range = FetchCheck::Refused(FetchRefusal::OffsetOutOfRange);
    assert_eq!([at(3, Some(7)), at(5, None), at(-1, None)], [out_of_range; 3]);
}

#[test]
fn a_follower_reads_to_the_end_and_a_consumer_to_the_high_watermark() {
    let (replica, log) = leader();
    assert_eq!(replica.fetch_bound(&request(), &log), 4);
    assert_eq!(
        replica.fetch_bound(
            &FetchRequest {
                follower: None,
                ..request()
            },
            &log
        ),
        1
    );
}
