//! The rules of the replicated log: each fires, and each holds still.

mod support;

use std::num::NonZeroU32;

use raft::*;
use support::*;

/// A leader of epoch 1 whose LeaderChange is synced and committed.
fn leader() -> Node {
    let mut node = voter();
    node.elect();
    node.sync();
    node.ask_fetch(fetch(2, 1, 1, 1));
    assert_eq!(node.raft.active_epoch(), Some(1));
    node
}

/// Node 1, following node 2 in epoch 2, with a log of records of epoch 1.
fn follower(records: i64) -> Node {
    let log = [(1, records)];
    let log = if records == 0 { &log[..0] } else { &log };
    start(1, &[1, 2, 3], state(2, Some(2), None), log)
}

#[test]
fn a_majority_commits_and_less_does_not() {
    let mut node = start(1, &[1, 2, 3, 4, 5], QuorumState::default(), &[]);
    node.wait(ELECTION);
    for _ in 0..2 {
        let calls = node.sent();
        for peer in [2, 3] {
            let call = calls.iter().find(|call| call.0 == peer).unwrap().1;
            let (epoch, body) = (node.raft.epoch(), Body::Vote { granted: true });
            let response = Response {
                epoch,
                leader: None,
                body,
            };
            node.event(Event::Response {
                from: id(peer),
                call,
                response,
            });
        }
    }
    node.sync();
    node.ask_fetch(fetch(2, 1, 1, 1));
    assert_eq!(node.committed(), None);
    node.ask_fetch(fetch(3, 1, 1, 1));
    assert_eq!(node.committed(), Some(1));
}

#[test]
fn the_leader_counts_its_own_end_only_once_synced() {
    let mut node = leader();
    node.append(2);
    let ticket = node.ticket().unwrap();
    node.ask_fetch(fetch(2, 1, 3, 1));
    assert_eq!(node.committed(), None);
    node.event(Event::Synced(ticket));
    assert_eq!(node.committed(), Some(3));
}

#[test]
fn without_its_own_sync_a_leader_commits_what_a_majority_of_others_has() {
    let mut node = leader();
    node.append(2);
    node.ask_fetch(fetch(2, 1, 3, 1));
    assert_eq!(node.committed(), None);
    node.ask_fetch(fetch(3, 1, 3, 1));
    assert_eq!(node.committed(), Some(3));
}

#[test]
fn records_of_earlier_epochs_commit_only_under_one_of_the_own() {
    let mut node = start(1, &[1, 2, 3], state(1, None, None), &[(1, 5)]);
    node.elect();
    node.sync();
    assert_eq!(node.raft.epoch_start_offset(), Some(5));
    let answer = node.ask_fetch(fetch(2, 2, 5, 1));
    assert_eq!(node.committed(), None, "a majority has offset 4, but of epoch 1");
    assert_eq!(answer, range(None, 5, 6));
    node.ask_fetch(fetch(2, 2, 6, 2));
    assert_eq!(node.committed(), Some(6));
}

#[test]
fn the_high_watermark_does_not_move_back() {
    let mut node = leader();
    node.append(2);
    node.sync();
    node.ask_fetch(fetch(2, 1, 3, 1));
    assert_eq!(node.raft.high_watermark(), Some(3));
    let answer = node.ask_fetch(fetch(2, 1, 1, 1));
    assert_eq!(node.committed(), None);
    assert_eq!(answer, range(Some(3), 1, 3));
}

#[test]
fn observers_and_readers_count_for_nothing() {
    let mut node = leader();
    node.append(1);
    node.sync();
    node.ask_fetch(fetch(9, 1, 2, 1));
    assert_eq!(node.committed(), None);
    assert_eq!(node.raft.observers()[0].end_offset, Some(2));
    let reader = FetchRequest {
        replica: None,
        epoch: None,
        ..fetch(2, 1, 2, 1)
    };
    node.ask_fetch(reader);
    assert_eq!(node.committed(), None);
    node.ask_fetch(fetch(3, 1, 2, 1));
    assert_eq!(node.committed(), Some(2));
}

#[test]
fn appends_need_the_lead_of_that_epoch() {
    let one = NonZeroU32::MIN;
    let mut node = voter();
    assert!(node.raft.append(0, 0, one).is_err());
    node.elect();
    assert!(node.raft.append(node.now, 2, one).is_err());
    assert!(node.raft.append(node.now, 0, one).is_err());
    let actions = node.raft.append(node.now, 1, one).unwrap();
    assert_eq!(
        actions[0],
        Action::Append {
            base_offset: 1,
            epoch: 1
        }
    );
    assert_eq!(node.raft.log_end_offset(), 2);
}

#[test]
fn fetches_are_fenced_by_epoch_and_checked() {
    let mut node = leader();
    let mut ask = |request| node.ask_fetch(request);
    assert_eq!(ask(fetch(2, 0, 0, 0)), refused(Refusal::FencedLeaderEpoch));
    assert_eq!(ask(fetch(2, 2, 0, 0)), refused(Refusal::UnknownLeaderEpoch));
    assert_eq!(ask(fetch(1, 1, 0, 0)), refused(Refusal::InvalidRequest));
    assert_eq!(ask(fetch(2, 1, -1, 0)), refused(Refusal::InvalidRequest));
    let unproven = FetchRequest {
        last_fetched_epoch: None,
        ..fetch(2, 1, 1, 1)
    };
    assert_eq!(ask(unproven), refused(Refusal::InvalidRequest));
    let reader = FetchRequest {
        replica: None,
        last_fetched_epoch: None,
        ..fetch(2, 1, 9, 1)
    };
    assert_eq!(ask(reader), refused(Refusal::OffsetOutOfRange));
    assert_eq!(ask(fetch(2, 1, 0, 0)), range(Some(1), 0, 1));
    assert_eq!(
        voter().ask_fetch(fetch(2, 0, 0, 0)),
        refused(Refusal::NotLeaderOrFollower)
    );
}

#[test]
fn divergence_is_found_by_the_last_epoch() {
    let mut node = start(1, &[1, 2, 3], state(4, None, None), &[(1, 3), (4, 2)]);
    node.elect();
    let mut ask = |offset, epoch| node.ask_fetch(fetch(2, 5, offset, epoch));
    assert_eq!(ask(4, 1), diverging(1, 3));
    assert_eq!(ask(4, 3), diverging(1, 3));
    assert_eq!(ask(9, 4), diverging(4, 5));
    assert_eq!(ask(2, 0), diverging(0, 0));
    assert_eq!(ask(3, 1), range(None, 3, 6));
    assert_eq!(ask(0, 0), range(None, 0, 6));
}

#[test]
fn a_diverging_fetch_notes_no_progress() {
    let mut node = start(1, &[1, 2, 3], state(1, None, None), &[(1, 3)]);
    node.elect();
    node.sync();
    node.ask_fetch(fetch(2, 2, 9, 1));
    assert_eq!(node.raft.voters()[1].end_offset, None);
    assert_eq!(node.committed(), None);
}

#[test]
fn a_follower_truncates_to_what_both_may_share() {
    for (answer, cut) in [((1, 3), 3), ((0, 0), 0), ((1, 0), 0)] {
        let mut node = follower(5);
        node.respond(2, diverging(answer.0, answer.1));
        assert!(
            node.has(&Action::Truncate { end_offset: cut }),
            "{answer:?}: {:?}",
            node.actions
        );
        assert_eq!(node.fetch_sent().unwrap().2.fetch_offset, cut);
    }
}

#[test]
fn nothing_known_to_be_committed_is_truncated() {
    let mut node = follower(5);
    node.respond(2, records(Some(4), &[]));
    assert_eq!(node.committed(), Some(4));
    node.respond(2, diverging(1, 4));
    assert!(node.has(&Action::Truncate { end_offset: 4 }));
    node.respond(2, diverging(1, 3));
    assert!(matches!(
        node.actions[..],
        [Action::Fatal(Fatal::TruncationBelowHighWatermark { .. })]
    ));
}

#[test]
fn a_voter_syncs_before_its_next_fetch_and_an_observer_does_not() {
    let mut node = follower(0);
    node.respond(2, records(Some(1), &[(0, 1, 1), (1, 3, 2)]));
    assert_eq!(node.actions[0], Action::AppendFetched { batches: 2 });
    assert_eq!(node.committed(), Some(1));
    assert_eq!(node.fetch_sent(), None);
    node.sync();
    let next = node.fetch_sent().unwrap().2;
    assert_eq!((next.fetch_offset, next.last_fetched_epoch), (3, Some(2)));

    let mut node = start(9, &[1, 2, 3], state(2, Some(2), None), &[]);
    node.respond(2, records(None, &[(0, 3, 1)]));
    assert_eq!(node.ticket(), None);
    assert_eq!(node.fetch_sent().unwrap().2.fetch_offset, 3);
}

#[test]
fn a_ticket_from_before_a_truncation_says_nothing() {
    let mut node = follower(0);
    node.respond(2, records(None, &[(0, 4, 1)]));
    let stale = node.ticket().unwrap();
    node.begin(3, 3);
    assert_eq!(node.fetch_sent(), None, "not synced yet");
    node.event(Event::Synced(stale));
    node.respond(3, diverging(1, 2));
    node.respond(3, records(None, &[(2, 4, 3)]));
    let fresh = node.ticket().unwrap();
    node.event(Event::Synced(stale));
    assert_eq!(node.fetch_sent(), None);
    node.event(Event::Synced(fresh));
    assert_eq!(node.fetch_sent().unwrap().2.fetch_offset, 4);
}

#[test]
fn only_batches_that_carry_the_log_on_are_taken() {
    let cases = [
        (vec![(5, 6, 1), (6, 7, 2)], 2),
        (vec![(4, 6, 2)], 0),
        (vec![(6, 7, 2)], 0),
        (vec![(5, 6, 2), (6, 7, 1)], 1),
        (vec![(5, 6, 2), (6, 7, 3)], 1),
    ];
    for (batches, taken) in cases {
        let mut node = follower(5);
        node.respond(2, records(None, &batches));
        assert_eq!(node.raft.log_end_offset() > 5, taken > 0);
        assert_eq!(node.has(&Action::AppendFetched { batches: taken }), taken > 0);
    }
}

#[test]
fn a_follower_commits_no_further_than_its_log_goes() {
    let mut node = follower(5);
    node.respond(2, records(Some(99), &[(5, 7, 2)]));
    assert_eq!(node.committed(), Some(7));
}

#[test]
fn answers_to_an_earlier_epochs_fetch_are_ignored() {
    let mut node = follower(0);
    let (_, call, _) = node.fetch_sent().unwrap();
    node.begin(3, 3);
    let response = Response {
        epoch: 2,
        leader: Some(id(2)),
        body: records(Some(1), &[(0, 1, 2)]),
    };
    node.event(Event::Response {
        from: id(2),
        call,
        response,
    });
    assert_eq!(node.raft.log_end_offset(), 0);
    assert_eq!(node.raft.leader(), Some(id(3)));
}

#[test]
fn a_fetch_waits_for_records() {
    let mut node = leader();
    let waiting = FetchRequest {
        max_wait: 500 * MS,
        ..fetch(2, 1, 1, 1)
    };
    assert_eq!(node.ask(Request::Fetch(waiting)), None);
    node.append(2);
    let place = |node: &Node, reply: bool| {
        node.place(|action| matches!(action, Action::Reply { .. }) == reply)
            .unwrap()
    };
    assert!(
        place(&node, false) < place(&node, true),
        "written before it is read"
    );
    assert!(node.actions.iter().any(|action| matches!(
        action,
        Action::Reply { response, .. } if response.body == range(Some(1), 1, 3)
    )));
}

#[test]
fn a_fetch_waits_for_the_high_watermark() {
    let mut node = leader();
    node.append(1);
    node.sync();
    let waiting = FetchRequest {
        high_watermark: Some(1),
        max_wait: 500 * MS,
        ..fetch(3, 1, 2, 1)
    };
    // Node 3's own fetch commits, and brings it the news at once.
    let answer = node.ask(Request::Fetch(waiting)).unwrap();
    assert_eq!(answer.body, range(Some(2), 2, 2));
    let up_to_date = FetchRequest {
        high_watermark: Some(2),
        ..waiting
    };
    assert_eq!(node.ask(Request::Fetch(up_to_date)), None);
}

#[test]
fn a_fetch_waits_no_longer_than_it_may() {
    let mut node = leader();
    let waiting = FetchRequest {
        max_wait: 500 * MS,
        ..fetch(2, 1, 1, 1)
    };
    node.ask(Request::Fetch(waiting));
    node.wait(499 * MS);
    assert_eq!(node.place(|action| matches!(action, Action::Reply { .. })), None);
    assert!(node.raft.next_deadline().unwrap() <= node.now + MS);
    node.wait(MS);
    assert!(
        node.place(|action| matches!(action, Action::Reply { .. }))
            .is_some()
    );
}

#[test]
fn who_waits_at_a_leader_that_steps_down_is_sent_on() {
    let mut node = leader();
    let waiting = FetchRequest {
        max_wait: 500 * MS,
        ..fetch(2, 1, 1, 1)
    };
    node.ask(Request::Fetch(waiting));
    node.begin(3, 2);
    assert!(node.actions.iter().any(|action| matches!(
        action,
        Action::Reply { response, .. }
            if response.body == refused(Refusal::NotLeaderOrFollower) && response.leader == Some(id(3))
    )));
}

#[test]
fn a_replica_that_fetches_again_waits_once() {
    let mut node = leader();
    let waiting = FetchRequest {
        max_wait: 500 * MS,
        ..fetch(2, 1, 1, 1)
    };
    assert_eq!(node.ask(Request::Fetch(waiting)), None);
    assert_eq!(node.ask(Request::Fetch(waiting)), None);
    let answers = node
        .actions
        .iter()
        .filter(|action| matches!(action, Action::Reply { .. }));
    assert_eq!(answers.count(), 1);
}

#[test]
fn a_leader_resigns_when_a_majority_stops_fetching() {
    let mut node = leader();
    node.wait(2_999 * MS);
    assert_eq!(node.raft.role(), Role::Leader);
    node.wait(MS);
    assert_eq!(node.raft.role(), Role::Resigned);

    let mut node = leader();
    for _ in 0..10 {
        node.wait(1_000 * MS);
        node.ask_fetch(fetch(3, 1, 1, 1));
    }
    assert_eq!(node.raft.role(), Role::Leader);
}

#[test]
fn only_voters_that_do_not_fetch_are_told_again_who_leads() {
    let mut node = voter();
    node.elect();
    let told = |node: &Node| {
        let mut told: Vec<_> = node
            .sent()
            .into_iter()
            .filter(|call| matches!(call.2, Request::BeginQuorumEpoch(_)))
            .map(|call| call.0)
            .collect();
        told.sort_unstable();
        told
    };
    assert_eq!(told(&node), [2, 3]);
    let calls = node.sent();
    for (peer, call, _) in calls {
        let response = Response {
            epoch: 1,
            leader: Some(id(1)),
            body: Body::BeginQuorumEpoch,
        };
        node.event(Event::Response {
            from: id(peer),
            call,
            response,
        });
    }
    node.wait(900 * MS);
    node.ask_fetch(fetch(2, 1, 0, 0));
    node.wait(100 * MS);
    assert_eq!(told(&node), [3]);
}

#[test]
fn an_observer_finds_the_leader_follows_it_and_never_stands() {
    let mut node = observer();
    let (asked, _, _) = node.fetch_sent().unwrap();
    node.respond_as(asked, 4, Some(2), Body::Refused(Refusal::FencedLeaderEpoch));
    assert_eq!(node.raft.leader(), Some(id(2)));
    let (to, _, request) = node.fetch_sent().unwrap();
    assert_eq!((to, request.epoch), (2, Some(4)));
    node.respond(2, records(None, &[]));
    for _ in 0..50 {
        node.wait(1_000 * MS);
        assert_eq!(node.raft.role(), Role::Follower);
    }
}

#[test]
fn an_observer_that_lost_its_leader_asks_others() {
    let mut node = start(9, &[1, 2, 3], state(2, Some(2), None), &[]);
    let mut asked = std::collections::BTreeSet::new();
    for _ in 0..40 {
        node.wait(2_000 * MS);
        asked.extend(node.fetch_sent().map(|call| call.0));
    }
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_failed_call_is_repeated_after_a_pause() {
    let mut node = follower(0);
    let (_, call, _) = node.fetch_sent().unwrap();
    node.event(Event::CallFailed { to: id(2), call });
    assert_eq!(node.fetch_sent(), None);
    assert_eq!(node.raft.next_deadline(), Some(node.now + 20 * MS));
    node.wait(20 * MS);
    assert!(node.fetch_sent().is_some());
}

#[test]
fn a_log_that_is_none_is_refused() {
    let entry = |epoch, start_offset| EpochStart { epoch, start_offset };
    for (epochs, end_offset, right) in [
        (vec![], 0, true),
        (vec![entry(1, 0), entry(2, 3)], 4, true),
        (vec![], 3, false),
        (vec![entry(1, 1)], 3, false),
        (vec![entry(1, 0), entry(1, 2)], 3, false),
        (vec![entry(1, 0), entry(2, 3)], 3, false),
    ] {
        let config = Config::new(id(1), &[id(1)], Timeouts::default()).unwrap();
        let log = LogSummary {
            epochs,
            end_offset,
            ..LogSummary::default()
        };
        let started = Raft::start(0, config, QuorumState::default(), log, 0);
        assert_eq!(started.is_ok(), right);
    }
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let usual = Timeouts::default();
    let new = |node, voters: &[i32], timeouts| {
        let voters: Vec<_> = voters.iter().copied().map(NodeId).collect();
        Config::new(id(node), &voters, timeouts).err()
    };
    assert_eq!(new(1, &[3, 1, 2], usual), None);
    assert_eq!(new(1, &[], usual), Some(ConfigError::NoVoters));
    assert_eq!(new(1, &[1, 2, 1], usual), Some(ConfigError::VoterTwice(id(1))));
    assert_eq!(new(-1, &[1], usual), Some(ConfigError::NegativeId(id(-1))));
    let hasty = Timeouts {
        retry_backoff: std::time::Duration::ZERO,
        ..usual
    };
    assert!(matches!(new(1, &[1], hasty), Some(ConfigError::ZeroTimeout(_))));
    let slow = Timeouts {
        fetch_max_wait: usual.fetch_timeout,
        ..usual
    };
    assert_eq!(new(1, &[1], slow), Some(ConfigError::WaitTooLong));
}

#[test]
fn a_voter_that_does_not_hear_its_leader_does_not_keep_it_in_office() {
    // Its requests arrive, and the answers with records do not.
    let mut node = leader();
    node.append(1);
    for _ in 0..5 {
        node.wait(FETCH_TIMEOUT / 2);
        node.ask(Request::Fetch(fetch(3, 1, 1, 1)));
    }
    assert_ne!(node.raft.role(), Role::Leader);
    // One that hears it moves on, or has nothing to hear.
    let mut node = leader();
    node.append(1);
    for offset in [1, 2, 2, 2, 2, 2] {
        node.wait(FETCH_TIMEOUT / 2);
        node.ask(Request::Fetch(fetch(3, 1, offset, 1)));
    }
    assert_eq!(node.raft.role(), Role::Leader);
}
