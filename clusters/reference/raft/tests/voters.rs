//! Voters that change (KIP-853): each rule fires, and each holds still.

mod support;

use raft::*;
use support::*;

fn with_folder(number: i32) -> ReplicaKey {
    ReplicaKey {
        id: id(number),
        directory: Some(DirectoryId(100 + number as u128)),
    }
}

fn member(number: i32) -> Voter {
    Voter {
        key: with_folder(number),
        endpoints: Vec::new(),
        kraft_versions: (0, 1),
    }
}

fn set(members: &[i32]) -> VoterSet {
    VoterSet::new(members.iter().copied().map(member).collect()).unwrap()
}

/// A node of a quorum formatted with these voters; negative ids are bootstrap servers.
fn formatted(number: i32, members: &[i32]) -> Node {
    resumed(number, members, QuorumState::default())
}

fn resumed(number: i32, members: &[i32], quorum: QuorumState) -> Node {
    let config = Config::dynamic(member(number), vec![id(-2), id(-3)], Timeouts::default()).unwrap();
    let mut log = LogSummary::default();
    if !members.is_empty() {
        log.voters.push(VotersAt {
            offset: -1,
            voters: set(members),
        });
    }
    Node::from(Raft::start(0, config, quorum, log, 7).unwrap())
}

fn fetch_of(number: i32, epoch: Epoch, offset: i64) -> FetchRequest {
    FetchRequest {
        replica: Some(with_folder(number)),
        ..fetch(number, epoch, offset, if offset == 0 { 0 } else { 1 })
    }
}

/// The leader of 1, 2, 3 in epoch 1; its first batch names the voters, and is committed.
fn leader() -> Node {
    let mut node = formatted(1, &[1, 2, 3]);
    node.elect();
    node.sync();
    node.ask_fetch(fetch_of(2, 1, 3));
    assert_eq!(node.raft.high_watermark(), Some(3));
    node
}

fn add(number: i32) -> Request {
    Request::AddVoter(AddVoter {
        voter: member(number),
        timeout: 1_000 * MS,
        ack_when_committed: true,
    })
}

fn remove(number: i32) -> Request {
    Request::RemoveVoter(RemoveVoter {
        voter: with_folder(number),
        timeout: 1_000 * MS,
    })
}

fn appended(node: &Node) -> Option<VoterSet> {
    node.actions.iter().find_map(|action| match action {
        Action::AppendVoters { voters, .. } => Some(voters.clone()),
        _ => None,
    })
}

fn at_once(node: &mut Node, request: Request) -> Body<ReadRange> {
    node.ask(request).expect("no answer yet").body
}

#[test]
fn the_first_leader_makes_the_log_name_the_voters() {
    let mut node = formatted(1, &[1, 2, 3]);
    node.elect();
    let named = node.actions.iter().find_map(|action| match action {
        Action::AppendLeaderChange(change) => Some(change.voter_set.clone()),
        _ => None,
    });
    assert_eq!(named, Some(Some(set(&[1, 2, 3]))));
    assert_eq!(node.raft.log_end_offset(), 3);
    assert_eq!(node.raft.voters_at(3), Some(&set(&[1, 2, 3])));
}

#[test]
fn a_leader_of_a_log_that_names_them_does_not_again() {
    let config = Config::dynamic(member(1), Vec::new(), Timeouts::default()).unwrap();
    let mut log = summary(&[(1, 3)]);
    log.voters.push(VotersAt {
        offset: 2,
        voters: set(&[1]),
    });
    let (raft, actions) = Raft::start(0, config, state(1, None, None), log, 7).unwrap();
    assert_eq!(raft.role(), Role::Leader);
    let named = actions.iter().find_map(|action| match action {
        Action::AppendLeaderChange(change) => Some(change.voter_set.clone()),
        _ => None,
    });
    assert_eq!(named, Some(None));
}

#[test]
fn an_observer_that_is_caught_up_is_let_vote_and_that_is_told_when_committed() {
    let mut node = leader();
    node.ask_fetch(fetch_of(4, 1, 3));
    assert_eq!(node.ask(add(4)), None);
    assert_eq!(appended(&node), Some(set(&[1, 2, 3, 4])));
    node.sync();
    let waiting = 4;
    assert_eq!(node.answer_to(waiting), None);
    // Three of four now make the majority.
    node.ask_fetch(fetch_of(2, 1, 4));
    assert_eq!(node.committed(), None);
    node.ask_fetch(fetch_of(4, 1, 4));
    assert_eq!(node.committed(), Some(4));
    let told = node.actions.iter().any(
        |action| matches!(action, Action::Reply { response, .. } if response.body == Body::VotersChanged),
    );
    assert!(told);
}

#[test]
fn an_addition_may_be_answered_before_it_is_committed() {
    let mut node = leader();
    node.ask_fetch(fetch_of(4, 1, 3));
    let request = Request::AddVoter(AddVoter {
        voter: member(4),
        timeout: 0,
        ack_when_committed: false,
    });
    assert_eq!(at_once(&mut node, request), Body::VotersChanged);
}

#[test]
fn who_is_behind_or_was_never_seen_is_not_let_vote() {
    let mut node = leader();
    assert_eq!(at_once(&mut node, add(4)), refused(Refusal::RequestTimedOut));
    node.ask_fetch(fetch_of(4, 1, 0));
    assert_eq!(at_once(&mut node, add(4)), refused(Refusal::RequestTimedOut));
    assert_eq!(appended(&node), None);
    node.ask_fetch(fetch_of(4, 1, 3));
    assert_eq!(node.ask(add(4)), None);
}

#[test]
fn an_id_votes_once_and_who_cannot_is_not_let() {
    let mut node = leader();
    let mut other_folder = member(2);
    other_folder.key.directory = Some(DirectoryId(7));
    let request = |voter| {
        Request::AddVoter(AddVoter {
            voter,
            timeout: 0,
            ack_when_committed: true,
        })
    };
    assert_eq!(
        at_once(&mut node, request(other_folder)),
        refused(Refusal::DuplicateVoter)
    );
    let mut old = member(4);
    old.kraft_versions = (0, 0);
    assert_eq!(
        at_once(&mut node, request(old)),
        refused(Refusal::UnsupportedVersion)
    );
    assert_eq!(
        at_once(&mut node, request(Voter::fixed(id(4)))),
        refused(Refusal::InvalidRequest)
    );
}

#[test]
fn one_change_at_a_time() {
    let mut node = leader();
    node.ask_fetch(fetch_of(4, 1, 3));
    node.ask(add(4));
    node.sync();
    assert_eq!(at_once(&mut node, remove(3)), refused(Refusal::RequestTimedOut));
    node.ask_fetch(fetch_of(2, 1, 4));
    node.ask_fetch(fetch_of(3, 1, 4));
    assert_eq!(node.ask(remove(3)), None);
    assert_eq!(appended(&node), Some(set(&[1, 2, 4])));
}

#[test]
fn no_change_before_a_record_of_the_own_epoch_is_committed() {
    let mut node = formatted(1, &[1, 2, 3]);
    node.elect();
    node.sync();
    assert_eq!(at_once(&mut node, remove(3)), refused(Refusal::RequestTimedOut));
    node.ask_fetch(fetch_of(2, 1, 3));
    assert_eq!(node.ask(remove(3)), None);
}

#[test]
fn who_does_not_vote_cannot_be_removed_and_the_last_stays() {
    let mut node = leader();
    assert_eq!(at_once(&mut node, remove(4)), refused(Refusal::VoterNotFound));
    let wrong_folder = Request::RemoveVoter(RemoveVoter {
        voter: ReplicaKey {
            id: id(3),
            directory: Some(DirectoryId(1)),
        },
        timeout: 0,
    });
    assert_eq!(at_once(&mut node, wrong_folder), refused(Refusal::VoterNotFound));
    let mut alone = formatted(1, &[1]);
    alone.sync();
    assert_eq!(at_once(&mut alone, remove(1)), refused(Refusal::InvalidRequest));
}

#[test]
fn fixed_voters_do_not_change_and_followers_change_nothing() {
    let mut node = voter();
    node.elect();
    node.sync();
    node.ask_fetch(fetch(2, 1, 1, 1));
    assert_eq!(
        at_once(&mut node, remove(3)),
        refused(Refusal::UnsupportedVersion)
    );
    let mut node = formatted(1, &[1, 2, 3]);
    node.begin(2, 1);
    assert_eq!(
        at_once(&mut node, remove(3)),
        refused(Refusal::NotLeaderOrFollower)
    );
}

#[test]
fn a_leader_that_is_voted_out_leads_until_that_is_committed_and_does_not_count_itself() {
    let mut node = leader();
    assert_eq!(node.ask(remove(1)), None);
    node.sync();
    assert_eq!(node.raft.role(), Role::Leader);
    node.ask_fetch(fetch_of(2, 1, 4));
    assert_eq!(node.committed(), None);
    node.ask_fetch(fetch_of(3, 1, 4));
    assert_eq!(node.committed(), Some(4));
    assert_eq!(node.raft.role(), Role::Resigned);
    let farewell = node
        .sent()
        .iter()
        .any(|(to, _, request)| *to == 2 && matches!(request, Request::EndQuorumEpoch(_)));
    assert!(farewell);
    // It raises no epoch, and stands no more.
    node.wait(ELECTION);
    assert_eq!(node.raft.epoch(), 1);
    node.wait(10 * ELECTION);
    assert_eq!((node.raft.epoch(), node.raft.role()), (1, Role::Unattached));
}

#[test]
fn who_waits_too_long_for_a_change_is_told_and_so_is_who_waits_at_a_lost_leader() {
    let mut node = leader();
    node.ask(remove(3));
    node.wait(1_000 * MS);
    let body = node.actions.iter().find_map(|action| match action {
        Action::Reply { response, .. } => Some(response.body.clone()),
        _ => None,
    });
    assert_eq!(body, Some(refused(Refusal::RequestTimedOut)));
    let mut node = leader();
    node.ask(remove(3));
    node.begin(2, 2);
    let body = node.actions.iter().find_map(|action| match action {
        Action::Reply { response, .. } if !matches!(response.body, Body::BeginQuorumEpoch) => {
            Some(response.body.clone())
        }
        _ => None,
    });
    assert_eq!(body, Some(refused(Refusal::NotLeaderOrFollower)));
}

fn named(base: i64, members: &[i32]) -> Body<Vec<Batch>> {
    Body::Fetch(FetchAnswer {
        high_watermark: None,
        fetched: Fetched::Records(vec![Batch {
            base_offset: base,
            end_offset: base + 1,
            epoch: 1,
            voters: Some(VotersAt {
                offset: base,
                voters: set(members),
            }),
        }]),
    })
}

#[test]
fn a_set_is_in_force_from_its_record_on_and_no_longer_when_that_is_cut() {
    let mut node = resumed(4, &[1, 2, 3], state(1, Some(2), None));
    assert!(!node.raft.voter_set().contains(with_folder(4)));
    node.respond(2, named(0, &[1, 2, 3, 4]));
    assert_eq!(*node.raft.voter_set(), set(&[1, 2, 3, 4]));
    node.sync();
    // As a voter, it stands when its leader is missed.
    node.wait(FETCH_TIMEOUT);
    assert_eq!(node.raft.role(), Role::Prospective);

    let mut node = resumed(4, &[1, 2, 3], state(1, Some(2), None));
    node.respond(2, named(0, &[1, 2, 3, 4]));
    node.sync();
    node.begin(3, 2);
    node.respond(3, diverging(0, 0));
    assert!(node.has(&Action::Truncate { end_offset: 0 }));
    assert_eq!(*node.raft.voter_set(), set(&[1, 2, 3]));
    node.wait(10 * FETCH_TIMEOUT);
    assert_eq!(node.raft.role(), Role::Follower);
}

#[test]
fn who_never_votes_does_not_stand_though_the_log_names_it() {
    let config = Config::dynamic(member(1), vec![id(-2)], Timeouts::default()).unwrap();
    let start = |config, members: &[i32]| {
        let mut log = LogSummary::default();
        log.voters.push(VotersAt {
            offset: -1,
            voters: set(members),
        });
        Node::from(Raft::start(0, config, QuorumState::default(), log, 7).unwrap())
    };
    assert_eq!(start(config.clone(), &[1]).raft.role(), Role::Leader);
    let mut voter = start(config.clone(), &[1, 2]);
    voter.wait(ELECTION);
    assert_eq!(voter.raft.role(), Role::Prospective);
    for members in [&[1][..], &[1, 2]] {
        let mut broker = start(config.clone().never_votes(), members);
        broker.wait(ELECTION);
        assert_eq!(broker.raft.role(), Role::Unattached, "{members:?}");
    }
}

#[test]
fn who_may_be_let_vote_syncs_before_it_fetches_on_and_who_never_votes_does_not() {
    let mut node = resumed(4, &[1, 2, 3], state(1, Some(2), None));
    node.respond(2, records(None, &[(0, 1, 1)]));
    assert!(node.fetch_sent().is_none());
    node.sync();
    assert!(node.fetch_sent().is_some());
    let config = Config::dynamic(member(9), Vec::new(), Timeouts::default())
        .unwrap()
        .never_votes();
    let (raft, actions) = Raft::start(0, config, state(1, Some(2), None), LogSummary::default(), 7).unwrap();
    let mut node = Node::from((raft, actions));
    node.respond(2, records(None, &[(0, 1, 1)]));
    assert!(node.ticket().is_none());
    assert!(node.fetch_sent().is_some());
}

#[test]
fn who_knows_no_voter_asks_the_bootstrap_servers_and_follows_whom_they_name() {
    let mut node = formatted(4, &[]);
    let (to, _, _) = node.fetch_sent().unwrap();
    assert!([-2, -3].contains(&to));
    node.respond_as(to, 3, Some(2), Body::Refused(Refusal::NotLeaderOrFollower));
    assert_eq!((node.raft.epoch(), node.raft.leader()), (3, Some(id(2))));
    assert_eq!(node.fetch_sent().unwrap().0, 2);
    node.wait(100 * ELECTION);
    assert_eq!(node.raft.epoch(), 3, "who does not vote never stands");
}

#[test]
fn a_candidate_that_a_newer_set_names_gets_votes_from_those_with_an_older_one() {
    let mut node = formatted(1, &[1, 2, 3]);
    let request = |number| VoteRequest {
        candidate: with_folder(number),
        ..vote(number, 1, (0, 0))
    };
    assert_eq!(node.ask_vote(request(9)), granted());
    assert_eq!(node.ask_vote(request(2)), denied());
}

#[test]
fn a_vote_is_for_a_folder() {
    let voted = QuorumState {
        epoch: 4,
        leader: None,
        voted: Some(with_folder(2)),
    };
    let request = |directory| VoteRequest {
        candidate: ReplicaKey {
            id: id(2),
            directory: Some(directory),
        },
        ..vote(2, 4, (0, 0))
    };
    let mut node = resumed(1, &[1, 2, 3], voted);
    assert_eq!(node.ask_vote(request(DirectoryId(5))), denied());
    assert_eq!(node.ask_vote(request(DirectoryId(102))), granted());
}

#[test]
fn another_folder_of_a_voters_id_only_observes() {
    let mut node = leader();
    let mut stranger = fetch_of(3, 1, 3);
    stranger.replica = Some(ReplicaKey {
        id: id(3),
        directory: Some(DirectoryId(9)),
    });
    node.append(1);
    node.sync();
    stranger.fetch_offset = 4;
    node.ask_fetch(stranger);
    assert_eq!(node.committed(), None);
    assert_eq!(node.raft.observers().len(), 1);
    node.ask_fetch(fetch_of(3, 1, 4));
    assert_eq!(node.committed(), Some(4));
}

#[test]
fn a_voter_that_is_elsewhere_than_named_says_so() {
    let moved = || {
        let mut own = member(1);
        own.endpoints.push(Endpoint {
            name: "CONTROLLER".into(),
            host: "elsewhere".into(),
            port: 1,
        });
        own
    };
    let config = Config::dynamic(moved(), Vec::new(), Timeouts::default()).unwrap();
    let mut log = LogSummary::default();
    log.voters.push(VotersAt {
        offset: -1,
        voters: set(&[1, 2, 3]),
    });
    let started = Raft::start(0, config, state(1, Some(2), None), log, 7).unwrap();
    let mut node = Node::from(started);
    node.respond(2, records(None, &[]));
    let told = node
        .sent()
        .into_iter()
        .find_map(|(to, _, request)| match request {
            Request::UpdateVoter(update) => Some((to, update.voter)),
            _ => None,
        });
    assert_eq!(told, Some((2, moved())));
    // Once until the next time-out.
    node.respond(2, Body::VotersChanged);
    assert!(node.fetch_sent().is_some());

    let mut node = leader();
    let update = Request::UpdateVoter(UpdateVoter {
        epoch: 1,
        voter: Voter {
            key: with_folder(2),
            ..moved()
        },
    });
    assert_eq!(at_once(&mut node, update.clone()), Body::VotersChanged);
    assert_eq!(appended(&node).unwrap().get(id(2)).unwrap().endpoints.len(), 1);
    assert_eq!(at_once(&mut node, update), refused(Refusal::RequestTimedOut));
}

#[test]
fn a_voter_that_is_where_it_is_named_says_nothing() {
    let mut node = resumed(1, &[1, 2, 3], state(1, Some(2), None));
    node.respond(2, records(None, &[]));
    assert!(node.fetch_sent().is_some());
}

/// Node 1 of 1, 2, 3, whose log ends with the record that lets only 2 and 3 vote.
fn going(quorum: QuorumState) -> Node {
    let config = Config::dynamic(member(1), vec![id(-2)], Timeouts::default()).unwrap();
    let mut log = summary(&[(1, 4)]);
    for (offset, members) in [(2, &[1, 2, 3][..]), (3, &[2, 3])] {
        log.voters.push(VotersAt {
            offset,
            voters: set(members),
        });
    }
    Node::from(Raft::start(0, config, quorum, log, 7).unwrap())
}

#[test]
fn who_is_going_may_stand_until_that_is_committed() {
    // Its log may be the only one long enough to win.
    let mut node = going(state(1, Some(1), None));
    node.wait(ELECTION);
    assert_eq!(node.raft.epoch(), 2);
    node.wait(ELECTION);
    assert_eq!(node.raft.role(), Role::Prospective);
    node.respond(2, Body::Vote { granted: true });
    assert_eq!(
        node.raft.role(),
        Role::Prospective,
        "its own voice does not count"
    );
}

#[test]
fn who_is_gone_stands_no_more() {
    let mut node = going(state(2, Some(2), None));
    node.respond(2, records(Some(4), &[]));
    node.wait(10 * FETCH_TIMEOUT);
    assert_eq!(node.raft.role(), Role::Follower);
}

#[test]
fn a_follower_that_does_not_vote_is_asked_for_its_voice_once_its_leader_is_missed() {
    let mut node = resumed(4, &[1, 2, 3], state(1, Some(2), None));
    node.respond(2, records(None, &[]));
    let request = VoteRequest {
        candidate: with_folder(3),
        ..pre_vote(3, 1, (0, 0))
    };
    assert_eq!(node.ask_vote(request), denied());
    node.wait(FETCH_TIMEOUT);
    assert_eq!(node.ask_vote(request), granted());
}
