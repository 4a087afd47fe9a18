use raft::NodeId;

use super::*;
use crate::quorum::{Disk, Log};

/// A log of one record of each of these epochs.
fn log(epochs: &[Epoch]) -> Log<u64> {
    let mut disk = Disk::new(None);
    for epoch in epochs {
        disk.write(*epoch, vec![(None, 0)]);
    }
    disk.log().clone()
}

/// The same, of which all before `start` is in a snapshot.
struct Cut {
    start: usize,
    log: Log<u64>,
}

fn cut(start: usize, epochs: &[Epoch]) -> Cut {
    Cut {
        start,
        log: log(epochs),
    }
}

impl LogView for Cut {
    fn start(&self) -> Offset {
        offset(self.start)
    }

    fn end(&self) -> Offset {
        LogView::end(&self.log)
    }

    fn chain(&self, at: Offset) -> Option<u64> {
        (at >= self.start() - 1).then(|| self.log.chain(at)).flatten()
    }

    fn ends_batch(&self, at: Offset) -> bool {
        self.log.ends_batch(at)
    }
}

fn key(id: i32) -> ReplicaKey {
    ReplicaKey::of(NodeId(id))
}

fn keyed(id: i32, directory: u128) -> ReplicaKey {
    ReplicaKey {
        directory: Some(raft::DirectoryId(directory)),
        ..key(id)
    }
}

fn rule(result: Result<(), Violation>) -> Option<&'static str> {
    result.err().map(|violation| violation.rule())
}

#[test]
fn an_epoch_has_one_leader() {
    let mut checks = Checks::default();
    assert_eq!(rule(checks.elected(0, 1, &log(&[]))), None);
    assert_eq!(rule(checks.elected(1, 2, &log(&[]))), None);
    let again = checks.elected(0, 2, &log(&[]));
    assert_eq!(rule(again), Some("ElectionSafety"));
}

#[test]
fn an_epoch_is_led_once_by_the_same_node_too() {
    let mut checks = Checks::default();
    assert_eq!(rule(checks.elected(0, 1, &log(&[]))), None);
    let again = checks.elected(0, 1, &log(&[]));
    assert_eq!(rule(again), Some("ElectionSafety"));
}

#[test]
fn a_leader_only_appends() {
    let mut checks = Checks::default();
    checks.elected(0, 3, &log(&[1, 2])).unwrap();
    assert_eq!(rule(checks.leads(0, 3, &log(&[1, 2, 3]))), None);
    assert_eq!(rule(checks.leads(0, 3, &log(&[1, 2, 3, 3]))), None);
    let shorter = checks.leads(0, 3, &log(&[1, 2, 3]));
    assert_eq!(rule(shorter), Some("LeaderAppendOnly"));
    let other = checks.leads(0, 3, &log(&[1, 3, 3]));
    assert_eq!(rule(other), Some("LeaderAppendOnly"));
}

#[test]
fn a_leader_may_drop_what_its_snapshot_has_and_a_later_leader_starts_anew() {
    let mut checks = Checks::default();
    checks.elected(0, 3, &cut(0, &[1, 2, 3])).unwrap();
    assert_eq!(rule(checks.leads(0, 3, &cut(3, &[1, 2, 3]))), None);
    assert_eq!(rule(checks.leads(0, 3, &cut(4, &[1, 2, 3, 3]))), None);
    let mut other = Checks::default();
    other.elected(0, 3, &log(&[1, 2, 3])).unwrap();
    // It followed in between, and was truncated.
    assert_eq!(rule(other.elected(0, 5, &log(&[1, 2]))), None);
}

/// The Raft paper's figure 8: a record of an earlier epoch is on a majority, is taken to be
/// committed without one of the leader's own on top, and a leader without it is elected.
#[test]
fn a_record_of_an_earlier_epoch_committed_too_soon_is_missed() {
    let mut checks = Checks::default();
    let leader = log(&[1, 2]);
    assert_eq!(rule(checks.commit(0, 4, &leader, (0, 2))), None);
    let other = log(&[1, 3]);
    let elected = checks.elected(4, 5, &other);
    assert_eq!(rule(elected), Some("LeaderCompleteness"));
    assert_eq!(rule(checks.elected(4, 6, &log(&[1, 2, 5]))), None);
}

#[test]
fn a_leader_of_an_epoch_before_the_commit_may_lack_it() {
    let mut checks = Checks::default();
    assert_eq!(rule(checks.commit(0, 4, &log(&[4]), (0, 1))), None);
    assert_eq!(rule(checks.elected(1, 3, &log(&[]))), None);
}

/// Two changes of voters at once make majorities that do not overlap: the old leader commits
/// after the new one was elected without what it commits.
#[test]
fn a_leader_elected_before_an_older_epochs_commit_must_have_it() {
    let mut checks = Checks::default();
    checks.elected(0, 4, &log(&[1])).unwrap();
    checks.elected(1, 5, &log(&[1, 4])).unwrap();
    let had = checks.commit(0, 4, &log(&[1, 4]), (0, 2));
    assert_eq!(rule(had), None);
    let had_not = checks.commit(0, 4, &log(&[1, 4, 4]), (2, 3));
    assert_eq!(rule(had_not), Some("LeaderCompleteness"));
}

#[test]
fn a_snapshot_holds_what_it_covers() {
    let mut checks = Checks::default();
    checks.commit(0, 2, &log(&[1, 1, 2]), (0, 3)).unwrap();
    assert_eq!(rule(checks.elected(1, 3, &cut(3, &[1, 1, 2]))), None);
    let other = checks.elected(1, 4, &cut(3, &[1, 2, 2]));
    assert_eq!(rule(other), Some("LeaderCompleteness"));
    let short = checks.elected(1, 5, &cut(1, &[1, 1]));
    assert_eq!(rule(short), Some("LeaderCompleteness"));
}

#[test]
fn all_apply_the_same() {
    let mut checks = Checks::default();
    assert_eq!(rule(checks.commit(0, 2, &log(&[1, 2]), (0, 2))), None);
    assert_eq!(rule(checks.commit(1, 2, &log(&[1, 2]), (0, 2))), None);
    // A log that begins at a snapshot.
    assert_eq!(rule(checks.commit(1, 2, &cut(2, &[1, 2, 2]), (0, 3))), None);
    let other = checks.commit(2, 3, &log(&[1, 3]), (1, 2));
    assert_eq!(rule(other), Some("StateMachineSafety"));
    let other = checks.commit(2, 3, &cut(2, &[1, 3]), (0, 2));
    assert_eq!(rule(other), Some("StateMachineSafety"));
}

#[test]
fn a_high_watermark_does_not_move_back() {
    let mut checks = Checks::default();
    let all = log(&[1, 1]);
    assert_eq!(rule(checks.commit(0, 1, &all, (0, 2))), None);
    let back = checks.commit(0, 1, &all, (2, 1));
    assert_eq!(rule(back), Some("HighWatermarkMovedBack"));
}

#[test]
fn a_state_is_one_of_whole_batches_of_what_was_committed() {
    let mut disk: Disk<u64> = Disk::new(None);
    disk.write(1, vec![(None, 1); 3]);
    disk.write(1, vec![(None, 2); 2]);
    let log = disk.log();
    let mut checks = Checks::default();
    checks.commit(0, 1, log, (0, 3)).unwrap();
    let restored = |end: usize| {
        let snapshot = SnapshotId {
            end_offset: offset(end),
            epoch: 1,
        };
        rule(checks.restored(1, snapshot, log[end - 1].chain))
    };
    assert_eq!(restored(3), None);
    assert_eq!(restored(2), Some("StateMachineSafety"));
    assert_eq!(restored(5), Some("StateMachineSafety"));
    let first = SnapshotId {
        end_offset: 3,
        epoch: 1,
    };
    assert_eq!(rule(checks.restored(1, first, 7)), Some("StateMachineSafety"));
}

#[test]
fn a_record_determines_those_before_it() {
    let mut checks = Checks::default();
    assert_eq!(rule(checks.wrote(0, 1, &log(&[1, 3])[1])), None);
    assert_eq!(rule(checks.wrote(1, 1, &log(&[1, 3])[1])), None);
    let other = checks.wrote(2, 1, &log(&[2, 3])[1]);
    assert_eq!(rule(other), Some("LogMatching"));
}

#[test]
fn votes_are_durable_and_not_contradicted() {
    let mut checks = Checks::default();
    let durable = |epoch, voted| QuorumState {
        epoch,
        leader: None,
        voted: Some(key(voted)),
    };
    assert_eq!(rule(checks.voted(key(0), 3, key(1), durable(3, 1))), None);
    assert_eq!(rule(checks.voted(key(0), 3, key(1), durable(4, 2))), None);
    let lost = checks.voted(key(1), 3, key(1), durable(2, 1));
    assert_eq!(rule(lost), Some("VoteNotDurable"));
    let twice = checks.voted(key(0), 3, key(2), durable(3, 2));
    assert_eq!(rule(twice), Some("VoteContradicted"));
}

#[test]
fn a_node_with_a_new_disk_is_another_voter_in_another_epoch() {
    let mut checks = Checks::default();
    assert_eq!(rule(checks.vote_stands(keyed(0, 1), 3, keyed(1, 1))), None);
    assert_eq!(rule(checks.vote_stands(keyed(0, 2), 3, keyed(2, 1))), None);
    let other = checks.vote_stands(keyed(0, 2), 3, keyed(2, 2));
    assert_eq!(rule(other), Some("VoteContradicted"));
    assert_eq!(rule(checks.in_epoch(keyed(0, 1), 3)), None);
    assert_eq!(rule(checks.in_epoch(keyed(0, 2), 0)), None);
}

#[test]
fn an_epoch_does_not_move_back() {
    let mut checks = Checks::default();
    for epoch in [0, 0, 2, 3] {
        assert_eq!(rule(checks.in_epoch(key(0), epoch)), None);
    }
    assert_eq!(rule(checks.in_epoch(key(0), 2)), Some("EpochMovedBack"));
}

#[test]
fn a_commit_is_on_most_disks() {
    let mut checks = Checks::default();
    let (all, short) = (log(&[1, 1]), log(&[1]));
    checks.commit(0, 1, &all, (0, 2)).unwrap();
    let on = |disks: [Option<&Log<u64>>; 3]| rule(checks.durable(0, 2, disks.into_iter()));
    assert_eq!(on([Some(&all), Some(&all), Some(&short)]), None);
    assert_eq!(
        on([Some(&all), Some(&short), Some(&short)]),
        Some("CommitNotDurable")
    );
    assert_eq!(on([Some(&all), None, Some(&short)]), None);
    assert_eq!(on([None, Some(&short), Some(&short)]), Some("CommitNotDurable"));
}
