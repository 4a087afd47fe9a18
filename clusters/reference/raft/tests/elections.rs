//! The rules of elections: each fires, and each holds still.

mod support;

use raft::*;
use support::*;

#[test]
fn a_vote_is_persisted_before_it_is_answered() {
    let mut node = voter();
    assert_eq!(node.ask_vote(vote(2, 1, (0, 0))), granted());
    let kept = |action: &Action| *action == Action::Persist(state(1, None, Some(2)));
    let answered = |action: &Action| matches!(action, Action::Reply { .. });
    assert!(node.place(kept).unwrap() < node.place(answered).unwrap());
}

#[test]
fn a_pre_vote_is_not_persisted_and_binds_nobody() {
    let mut node = voter();
    assert_eq!(node.ask_vote(pre_vote(2, 0, (0, 0))), granted());
    assert_eq!(node.persisted(), None);
    assert_eq!(node.ask_vote(pre_vote(3, 0, (0, 0))), granted());
    assert_eq!(node.raft.epoch(), 0);
}

#[test]
fn one_vote_an_epoch_even_after_a_restart() {
    let mut node = start(1, &[1, 2, 3], state(4, None, Some(2)), &[]);
    assert_eq!(node.ask_vote(vote(3, 4, (0, 0))), denied());
    assert_eq!(node.ask_vote(vote(2, 4, (0, 0))), granted());
    assert_eq!(node.ask_vote(vote(3, 5, (0, 0))), granted());
}

#[test]
fn no_vote_for_a_log_that_may_lack_something() {
    let log = [(1, 2), (3, 2)];
    let ask = |last| start(1, &[1, 2, 3], state(3, None, None), &log).ask_vote(vote(2, 9, last));
    assert_eq!(ask((3, 3)), denied());
    assert_eq!(ask((2, 100)), denied());
    assert_eq!(ask((3, 4)), granted());
    assert_eq!(ask((4, 1)), granted());
}

#[test]
fn no_pre_vote_for_a_log_that_may_lack_something() {
    let log = [(1, 2)];
    let ask = |last| start(1, &[1, 2, 3], state(1, None, None), &log).ask_vote(pre_vote(2, 1, last));
    assert_eq!(ask((1, 1)), denied());
    assert_eq!(ask((1, 2)), granted());
}

#[test]
fn no_vote_where_a_leader_is_known() {
    let mut node = voter();
    node.begin(3, 1);
    assert_eq!(node.ask_vote(vote(2, 1, (0, 0))), denied());
    node.wait(FETCH_TIMEOUT);
    assert_eq!(node.raft.role(), Role::Prospective);
    assert_eq!(node.ask_vote(vote(2, 1, (0, 0))), denied());
    assert_eq!(node.ask_vote(vote(2, 2, (0, 0))), granted());
}

#[test]
fn prospective_voters_and_candidates_grant_pre_votes() {
    let mut node = voter();
    node.wait(ELECTION);
    assert_eq!(node.ask_vote(pre_vote(3, 0, (0, 0))), granted());
    let mut node = start(1, &[1, 2, 3], state(3, None, Some(1)), &[]);
    assert_eq!(node.raft.role(), Role::Candidate);
    assert_eq!(node.ask_vote(pre_vote(3, 3, (0, 0))), granted());
    assert_eq!(node.ask_vote(vote(3, 3, (0, 0))), denied());
}

#[test]
fn a_follower_that_hears_its_leader_denies_pre_votes() {
    let mut node = voter();
    node.begin(3, 1);
    let (to, call, _) = node.fetch_sent().unwrap();
    assert_eq!(to, 3);
    assert_eq!(node.ask_vote(pre_vote(2, 1, (0, 0))), granted());
    let response = Response {
        epoch: 1,
        leader: Some(id(3)),
        body: records(None, &[]),
    };
    node.event(Event::Response {
        from: id(3),
        call,
        response,
    });
    assert_eq!(node.ask_vote(pre_vote(2, 1, (0, 0))), denied());
}

#[test]
fn a_leader_denies_pre_votes_and_a_resigned_one_grants_them() {
    let mut node = voter();
    node.elect();
    assert_eq!(node.ask_vote(pre_vote(3, 1, (1, 1))), denied());
    node.event(Event::Resign);
    assert_eq!(node.ask_vote(pre_vote(3, 1, (1, 1))), granted());
    assert_eq!(node.ask_vote(vote(3, 1, (0, 1))), denied());
}

#[test]
fn an_old_epoch_is_fenced_and_a_new_one_adopted() {
    let mut node = start(1, &[1, 2, 3], state(5, None, None), &[]);
    assert_eq!(
        node.ask_vote(vote(2, 4, (0, 0))),
        refused(Refusal::FencedLeaderEpoch)
    );
    assert_eq!(node.raft.epoch(), 5);
    node.ask_vote(pre_vote(2, 7, (0, 0)));
    assert_eq!(node.raft.epoch(), 7);
    assert_eq!(node.persisted(), Some(state(7, None, None)));
}

#[test]
fn requests_that_contradict_themselves_are_refused() {
    let mut node = voter();
    assert_eq!(
        node.ask_vote(vote(2, 3, (3, 9))),
        refused(Refusal::InvalidRequest)
    );
    assert_eq!(
        node.ask_vote(pre_vote(2, 3, (4, 9))),
        refused(Refusal::InvalidRequest)
    );
    assert_eq!(
        node.ask_vote(vote(1, 3, (0, 0))),
        refused(Refusal::InvalidRequest)
    );
    assert_eq!(node.raft.epoch(), 0);
}

#[test]
fn strangers_get_no_votes_and_observers_give_none() {
    let stranger = voter().ask_vote(vote(8, 3, (0, 0)));
    assert_eq!(stranger, refused(Refusal::InconsistentVoterSet));
    let asked = observer().ask_vote(vote(2, 3, (0, 0)));
    assert_eq!(asked, refused(Refusal::InconsistentVoterSet));
}

#[test]
fn prospective_then_candidate_then_leader() {
    let mut node = voter();
    node.wait(ELECTION);
    assert_eq!(node.raft.role(), Role::Prospective);
    assert_eq!(node.raft.epoch(), 0);
    assert_eq!(node.persisted(), None);
    node.respond(2, Body::Vote { granted: true });
    assert_eq!(node.raft.role(), Role::Candidate);
    assert_eq!(node.persisted(), Some(state(1, None, Some(1))));
    let kept = node.place(|action| matches!(action, Action::Persist(_)));
    let asked = node.place(|action| matches!(action, Action::Send { .. }));
    assert!(kept.unwrap() < asked.unwrap());
    node.respond(2, Body::Vote { granted: true });
    assert_eq!(node.raft.role(), Role::Leader);
    assert_eq!(node.persisted(), Some(state(1, Some(1), Some(1))));
    let change = LeaderChange {
        base_offset: 0,
        epoch: 1,
        leader: id(1),
        voters: vec![key(1), key(2), key(3)],
        granting_voters: vec![key(1), key(2)],
        voter_set: None,
    };
    assert!(node.has(&Action::AppendLeaderChange(change)));
}

#[test]
fn half_the_voters_are_no_majority() {
    let mut node = start(1, &[1, 2, 3, 4], QuorumState::default(), &[]);
    node.wait(ELECTION);
    let calls = node.sent();
    let answer = |node: &mut Node, peer: i32| {
        let call = calls.iter().find(|call| call.0 == peer).unwrap().1;
        let response = Response {
            epoch: 0,
            leader: None,
            body: Body::Vote { granted: true },
        };
        node.event(Event::Response {
            from: id(peer),
            call,
            response,
        });
        node.raft.role()
    };
    assert_eq!(answer(&mut node, 2), Role::Prospective);
    assert_eq!(answer(&mut node, 2), Role::Prospective, "one answer counts once");
    assert_eq!(answer(&mut node, 3), Role::Candidate);
}

#[test]
fn a_lost_pre_vote_uses_up_no_epoch() {
    let mut node = voter();
    node.wait(ELECTION);
    let third = node.sent().iter().find(|call| call.0 == 3).unwrap().1;
    node.respond(2, Body::Vote { granted: false });
    assert_eq!(node.raft.role(), Role::Prospective);
    let response = Response {
        epoch: 0,
        leader: None,
        body: Body::Vote { granted: false },
    };
    node.event(Event::Response {
        from: id(3),
        call: third,
        response,
    });
    assert_eq!(node.raft.standing().role, Role::Unattached);
    assert_eq!(node.raft.epoch(), 0);
}

#[test]
fn a_rejected_candidate_waits_its_timer_out() {
    let mut node = voter();
    node.wait(ELECTION);
    node.respond(2, Body::Vote { granted: true });
    let third = node.sent().iter().find(|call| call.0 == 3).unwrap().1;
    node.respond(2, Body::Vote { granted: false });
    let response = Response {
        epoch: 1,
        leader: None,
        body: Body::Vote { granted: false },
    };
    node.event(Event::Response {
        from: id(3),
        call: third,
        response,
    });
    assert_eq!(node.raft.role(), Role::Candidate);
    node.wait(ELECTION);
    assert_eq!(node.raft.role(), Role::Prospective);
    assert_eq!(node.raft.epoch(), 1);
}

#[test]
fn a_voter_that_lost_its_leader_returns_to_it_if_nobody_else_did() {
    let mut node = voter();
    node.begin(3, 1);
    node.wait(FETCH_TIMEOUT);
    assert_eq!(node.raft.role(), Role::Prospective);
    node.wait(ELECTION);
    assert_eq!(node.raft.role(), Role::Follower);
    assert_eq!(node.raft.leader(), Some(id(3)));
    assert_eq!(node.raft.epoch(), 1);
}

#[test]
fn election_timers_spread_between_t_and_2t() {
    let timers: std::collections::BTreeSet<_> = (0..100)
        .map(|seed| {
            let voters = [id(1), id(2), id(3)];
            let config = Config::new(id(1), &voters, Timeouts::default()).unwrap();
            let started = Raft::start(0, config, QuorumState::default(), LogSummary::default(), seed);
            let mut raft = started.unwrap().0;
            let mut now = 0;
            while raft.role() == Role::Unattached {
                now = raft.next_deadline().unwrap();
                raft.handle(now, Event::Tick);
            }
            now
        })
        .collect();
    assert!(
        timers
            .iter()
            .all(|timer| (1_000 * MS..2_000 * MS).contains(timer))
    );
    assert!(timers.len() > 90);
    assert!(timers.last().unwrap() - timers.first().unwrap() > 800 * MS);
}

#[test]
fn a_restarted_leader_comes_back_resigned() {
    let mut node = start(1, &[1, 2, 3], state(3, Some(1), Some(1)), &[(3, 4)]);
    assert_eq!(node.raft.role(), Role::Resigned);
    assert_eq!(node.raft.leader(), None);
    let asked = node.ask_fetch(fetch(2, 3, 0, 0));
    assert_eq!(asked, refused(Refusal::NotLeaderOrFollower));
    node.wait(ELECTION);
    assert_eq!(node.raft.standing().epoch, 4);
    assert_eq!(node.persisted(), Some(state(4, None, None)));
}

#[test]
fn a_restarted_candidate_stands_again_and_a_follower_follows_again() {
    let candidate = start(1, &[1, 2, 3], state(3, None, Some(1)), &[]);
    assert_eq!(candidate.raft.role(), Role::Candidate);
    assert_eq!(candidate.raft.epoch(), 3);
    let follower = start(1, &[1, 2, 3], state(3, Some(2), None), &[]);
    assert_eq!(follower.raft.role(), Role::Follower);
    assert_eq!(follower.fetch_sent().unwrap().0, 2);
}

#[test]
fn a_log_newer_than_the_quorum_state_sets_the_epoch() {
    let node = start(1, &[1, 2, 3], state(3, Some(1), Some(1)), &[(3, 1), (6, 1)]);
    assert_eq!(
        node.raft.standing(),
        Standing {
            epoch: 6,
            role: Role::Unattached,
            leader: None
        }
    );
    assert_eq!(node.persisted(), Some(state(6, None, None)));
}

#[test]
fn a_quorum_of_one_elects_itself_at_once() {
    let mut node = start(1, &[1], QuorumState::default(), &[]);
    assert_eq!(node.raft.role(), Role::Leader);
    assert_eq!(node.raft.active_epoch(), None, "its own end counts once synced");
    node.sync();
    assert_eq!(node.raft.active_epoch(), Some(1));
    assert_eq!(node.committed(), Some(1));
    node.wait(1_000 * ELECTION);
    assert_eq!(node.raft.role(), Role::Leader);
}

#[test]
fn a_leader_steps_down_for_a_newer_epoch() {
    let mut node = voter();
    node.elect();
    node.ask_vote(vote(3, 9, (0, 0)));
    assert_eq!(node.raft.role(), Role::Unattached);
    assert_eq!(node.raft.epoch(), 9);
}

#[test]
fn a_second_leader_of_an_epoch_is_not_believed() {
    let mut node = voter();
    node.begin(2, 1);
    assert_eq!(node.begin(3, 1), refused(Refusal::InvalidRequest));
    assert_eq!(node.raft.leader(), Some(id(2)));
    assert_eq!(node.begin(3, 2), Body::BeginQuorumEpoch);
    assert_eq!(node.raft.leader(), Some(id(3)));
    assert_eq!(node.begin(8, 3), refused(Refusal::InconsistentVoterSet));
    assert_eq!(node.begin(2, 1), refused(Refusal::FencedLeaderEpoch));
}

fn end(node: &mut Node, preferred: &[i32]) {
    let end = EndQuorumEpoch {
        epoch: 1,
        leader: id(3),
        preferred_successors: preferred.iter().copied().map(key).collect(),
    };
    let answer = node.ask(Request::EndQuorumEpoch(end)).unwrap();
    assert_eq!(answer.body, Body::EndQuorumEpoch);
}

#[test]
fn the_preferred_successor_stands_at_once_and_the_others_hold_back() {
    let mut first = voter();
    first.begin(3, 1);
    end(&mut first, &[1, 2]);
    assert_eq!(first.raft.role(), Role::Prospective);

    let mut second = voter();
    second.begin(3, 1);
    end(&mut second, &[2, 1]);
    assert_eq!(second.raft.role(), Role::Follower);
    assert_eq!(second.ask_vote(pre_vote(2, 1, (0, 0))), granted());
    second.wait(999 * MS);
    assert_eq!(second.raft.role(), Role::Follower);
    second.wait(MS);
    assert_eq!(second.raft.role(), Role::Prospective);
}

#[test]
fn who_resigns_names_the_longest_log_first() {
    let mut node = voter();
    node.elect();
    node.append(5);
    node.ask_fetch(fetch(3, 1, 4, 1));
    node.event(Event::Resign);
    assert_eq!(node.raft.role(), Role::Resigned);
    let ends = node.sent();
    assert_eq!(ends.len(), 2);
    for (_, _, request) in ends {
        let Request::EndQuorumEpoch(end) = request else {
            panic!("{request:?}");
        };
        assert_eq!(end.preferred_successors, [key(3), key(2)]);
    }
}

#[test]
fn the_last_epoch_is_fatal_rather_than_wrapped() {
    let mut node = start(1, &[1, 2, 3], state(Epoch::MAX, None, None), &[]);
    node.wait(ELECTION);
    node.respond(2, Body::Vote { granted: true });
    assert!(node.has(&Action::Fatal(Fatal::EpochsExhausted)));
    assert_eq!(node.raft.next_deadline(), None);
    assert_eq!(node.wait(ELECTION), []);
}
