//! The rules of snapshots (KIP-630): each fires, and each holds still.

mod support;

use raft::*;
use support::*;

const SNAPSHOT: SnapshotId = SnapshotId {
    end_offset: 4,
    epoch: 1,
};

fn started(quorum: QuorumState, log: LogSummary) -> Node {
    let config = Config::new(id(1), &[id(1), id(2), id(3)], Timeouts::default()).unwrap();
    Node::from(Raft::start(0, config, quorum, log, 7).unwrap())
}

/// A leader of epoch 2 whose log has offsets 0..4 of epoch 1 and the LeaderChange at 4, committed.
fn leader() -> Node {
    let mut node = start(1, &[1, 2, 3], state(1, None, None), &[(1, 4)]);
    node.elect();
    node.sync();
    node.ask_fetch(fetch(2, 2, 5, 2));
    assert_eq!(node.raft.high_watermark(), Some(5));
    node
}

/// Its log now starts at 4: the snapshot has what was before.
fn leader_with_snapshot() -> Node {
    let mut node = leader();
    node.event(Event::SnapshotTaken {
        snapshot: SNAPSHOT,
        log_start: 4,
    });
    assert_eq!(node.raft.snapshot(), Some(SNAPSHOT));
    node
}

fn follower() -> Node {
    start(1, &[1, 2, 3], state(2, Some(2), None), &[])
}

fn told_of_snapshot(snapshot: SnapshotId) -> Body<Vec<Batch>> {
    Body::Fetch(FetchAnswer {
        high_watermark: None,
        fetched: Fetched::Snapshot(snapshot),
    })
}

fn slice(position: u64, length: u64, size: u64) -> Body<Vec<Batch>> {
    Body::FetchSnapshot(SnapshotSlice {
        snapshot: SNAPSHOT,
        position,
        filled: Some(FilledSlice { size, length }),
    })
}

fn fetched_snapshot<R>(body: &Body<R>) -> Option<SnapshotId> {
    match body {
        Body::Fetch(FetchAnswer {
            fetched: Fetched::Snapshot(snapshot),
            ..
        }) => Some(*snapshot),
        _ => None,
    }
}

fn snapshot_asked(node: &Node) -> Option<(SnapshotId, u64)> {
    node.sent().into_iter().find_map(|(_, _, request)| match request {
        Request::FetchSnapshot(fetch) => Some((fetch.snapshot, fetch.position)),
        _ => None,
    })
}

#[test]
fn a_snapshot_is_named_by_its_last_record_and_only_when_committed() {
    let node = leader();
    assert_eq!(node.raft.snapshot_at(4), Some(SNAPSHOT));
    let last = SnapshotId {
        end_offset: 5,
        epoch: 2,
    };
    assert_eq!(node.raft.snapshot_at(5), Some(last));
    assert_eq!(node.raft.snapshot_at(0), None);
    let mut node = leader();
    node.append(1);
    assert_eq!(node.raft.snapshot_at(6), None);
}

#[test]
fn a_snapshot_no_newer_than_the_newest_is_not_named() {
    let node = leader_with_snapshot();
    assert_eq!(node.raft.snapshot_at(4), None);
    assert!(node.raft.snapshot_at(5).is_some());
}

#[test]
fn a_snapshot_that_makes_no_sense_changes_nothing() {
    for (end_offset, log_start) in [(6, 0), (4, 5)] {
        let mut node = leader();
        let snapshot = SnapshotId { end_offset, epoch: 1 };
        node.event(Event::SnapshotTaken { snapshot, log_start });
        assert_eq!(node.raft.snapshot(), None);
        assert_eq!(node.raft.log_start_offset(), 0);
    }
}

#[test]
fn who_is_before_the_logs_start_gets_the_snapshot() {
    let mut node = leader_with_snapshot();
    for (offset, epoch) in [(0, 0), (2, 1), (4, 0)] {
        let body = node.ask_fetch(fetch(3, 2, offset, epoch));
        assert_eq!(
            fetched_snapshot(&body),
            Some(SNAPSHOT),
            "{offset} of epoch {epoch}"
        );
    }
}

#[test]
fn who_ends_where_the_log_starts_gets_records() {
    let mut node = leader_with_snapshot();
    assert_eq!(node.ask_fetch(fetch(3, 2, 4, 1)), range(Some(5), 4, 5));
}

#[test]
fn an_epoch_from_before_the_logs_start_gets_the_snapshot() {
    let mut node = leader_with_snapshot();
    let body = node.ask_fetch(fetch(3, 2, 9, 0));
    assert_eq!(fetched_snapshot(&body), Some(SNAPSHOT));
    // One that ended within the log is told where.
    let body = node.ask_fetch(fetch(3, 2, 9, 1));
    assert_eq!(fetched_snapshot(&body), None);
    assert!(matches!(
        body,
        Body::Fetch(FetchAnswer {
            fetched: Fetched::Diverging(EpochEnd {
                epoch: 1,
                end_offset: 4
            }),
            ..
        })
    ));
}

#[test]
fn a_log_that_is_kept_before_the_snapshots_end_serves_who_is_a_little_behind() {
    let mut node = leader();
    node.event(Event::SnapshotTaken {
        snapshot: SNAPSHOT,
        log_start: 2,
    });
    assert_eq!(node.ask_fetch(fetch(3, 2, 3, 1)), range(Some(5), 3, 5));
    let body = node.ask_fetch(fetch(3, 2, 1, 1));
    assert_eq!(fetched_snapshot(&body), Some(SNAPSHOT));
}

#[test]
fn only_the_leader_of_that_epoch_serves_snapshots() {
    let ask = |epoch| {
        Request::FetchSnapshot(FetchSnapshotRequest {
            replica: Some(key(3)),
            epoch: Some(epoch),
            snapshot: SNAPSHOT,
            position: 7,
        })
    };
    let mut node = leader_with_snapshot();
    let served = node.ask(ask(2)).unwrap().body;
    assert!(matches!(
        served,
        Body::FetchSnapshot(SnapshotSlice {
            position: 7,
            filled: None,
            ..
        })
    ));
    assert_eq!(
        node.ask(ask(1)).unwrap().body,
        refused(Refusal::FencedLeaderEpoch)
    );
    assert_eq!(
        node.ask(ask(3)).unwrap().body,
        refused(Refusal::UnknownLeaderEpoch)
    );
    assert_eq!(
        follower().ask(ask(2)).unwrap().body,
        refused(Refusal::NotLeaderOrFollower)
    );
}

#[test]
fn who_fetches_a_snapshot_keeps_its_leader_in_office() {
    let mut node = leader_with_snapshot();
    for position in 0..4 {
        node.wait(FETCH_TIMEOUT);
        let ask = FetchSnapshotRequest {
            replica: Some(key(3)),
            epoch: Some(2),
            snapshot: SNAPSHOT,
            position,
        };
        node.ask(Request::FetchSnapshot(ask));
        assert_eq!(node.raft.role(), Role::Leader);
    }
    node.wait(FETCH_TIMEOUT);
    node.wait(FETCH_TIMEOUT);
    assert_ne!(node.raft.role(), Role::Leader);
}

#[test]
fn a_follower_fetches_a_snapshot_piece_by_piece_and_goes_on_behind_it() {
    let mut node = follower();
    node.respond(2, told_of_snapshot(SNAPSHOT));
    assert_eq!(snapshot_asked(&node), Some((SNAPSHOT, 0)));
    node.respond(2, slice(0, 10, 15));
    assert!(node.has(&Action::WriteSnapshotPart {
        snapshot: SNAPSHOT,
        position: 0
    }));
    assert_eq!(snapshot_asked(&node), Some((SNAPSHOT, 10)));
    node.respond(2, slice(10, 5, 15));
    assert!(node.has(&Action::WriteSnapshotPart {
        snapshot: SNAPSHOT,
        position: 10
    }));
    assert!(node.has(&Action::InstallSnapshot(SNAPSHOT)));
    assert_eq!(node.sent(), []);
    node.event(Event::SnapshotInstalled {
        snapshot: SNAPSHOT,
        voters: None,
    });
    assert_eq!(node.committed(), Some(4));
    let (_, _, fetch) = node.fetch_sent().unwrap();
    assert_eq!((fetch.fetch_offset, fetch.last_fetched_epoch), (4, Some(1)));
    assert_eq!(node.raft.log_start_offset(), 4);
}

#[test]
fn a_piece_that_does_not_fit_abandons_the_snapshot() {
    for body in [slice(1, 10, 15), slice(0, 0, 15), slice(0, 16, 15)] {
        let mut node = follower();
        node.respond(2, told_of_snapshot(SNAPSHOT));
        node.respond(2, body);
        assert!(node.has(&Action::AbandonSnapshot(SNAPSHOT)));
        node.wait(30 * MS);
        assert!(node.fetch_sent().is_some(), "it starts again with a fetch");
    }
}

#[test]
fn a_snapshot_that_is_gone_or_refused_is_asked_for_again_by_a_fetch() {
    let mut node = follower();
    node.respond(2, told_of_snapshot(SNAPSHOT));
    node.respond(2, Body::Refused(Refusal::SnapshotNotFound));
    assert!(node.has(&Action::AbandonSnapshot(SNAPSHOT)));
    node.wait(30 * MS);
    assert!(node.fetch_sent().is_some());

    let mut node = follower();
    node.respond(2, told_of_snapshot(SNAPSHOT));
    node.respond(2, slice(0, 15, 15));
    node.event(Event::SnapshotRefused(SNAPSHOT));
    node.wait(30 * MS);
    assert_eq!(node.fetch_sent().unwrap().2.fetch_offset, 0);
}

#[test]
fn a_new_leader_ends_the_fetching_of_the_old_ones_snapshot() {
    let mut node = follower();
    node.respond(2, told_of_snapshot(SNAPSHOT));
    node.begin(3, 3);
    assert!(node.has(&Action::AbandonSnapshot(SNAPSHOT)));
    assert!(node.fetch_sent().is_some());
}

#[test]
fn nobody_stands_while_a_snapshot_is_put_in_place() {
    let mut node = follower();
    node.respond(2, told_of_snapshot(SNAPSHOT));
    node.respond(2, slice(0, 15, 15));
    node.wait(3 * FETCH_TIMEOUT);
    assert_eq!(node.raft.role(), Role::Follower);
    node.event(Event::SnapshotInstalled {
        snapshot: SNAPSHOT,
        voters: None,
    });
    node.wait(FETCH_TIMEOUT);
    assert_eq!(node.raft.role(), Role::Prospective);
}

#[test]
fn a_snapshot_that_would_undo_what_is_committed_is_not_fetched() {
    let mut node = start(1, &[1, 2, 3], state(2, Some(2), None), &[(1, 6)]);
    node.respond(2, records(Some(6), &[]));
    node.respond(2, told_of_snapshot(SNAPSHOT));
    assert_eq!(snapshot_asked(&node), None);
}

#[test]
fn a_log_that_starts_at_a_snapshot_votes_and_follows_by_its_epoch() {
    let summary = LogSummary {
        start_offset: 4,
        end_offset: 4,
        snapshot: Some(SNAPSHOT),
        ..LogSummary::default()
    };
    let node = started(state(2, Some(2), None), summary.clone());
    assert_eq!(node.committed(), Some(4));
    let (_, _, fetch) = node.fetch_sent().unwrap();
    assert_eq!((fetch.fetch_offset, fetch.last_fetched_epoch), (4, Some(1)));
    let mut node = started(state(2, None, None), summary);
    assert_eq!(node.ask_vote(vote(2, 3, (1, 3))), denied());
    assert_eq!(node.ask_vote(vote(2, 3, (1, 4))), granted());
}

#[test]
fn a_log_that_no_snapshot_completes_is_refused() {
    let log = |start_offset, end_offset, snapshot| LogSummary {
        epochs: if start_offset < end_offset {
            vec![EpochStart {
                epoch: 1,
                start_offset,
            }]
        } else {
            Vec::new()
        },
        start_offset,
        end_offset,
        snapshot,
        ..LogSummary::default()
    };
    for (summary, right) in [
        (log(4, 6, Some(SNAPSHOT)), true),
        (log(2, 6, Some(SNAPSHOT)), true),
        (log(0, 6, None), true),
        (log(4, 6, None), false),
        (log(5, 6, Some(SNAPSHOT)), false),
        (log(0, 3, Some(SNAPSHOT)), false),
        (log(7, 6, Some(SNAPSHOT)), false),
    ] {
        let config = Config::new(id(1), &[id(1)], Timeouts::default()).unwrap();
        let text = format!("{summary:?}");
        let started = Raft::start(0, config, QuorumState::default(), summary, 0);
        assert_eq!(started.is_ok(), right, "{text}");
    }
}
