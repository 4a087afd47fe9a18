//! What is sent is what is read, in every version; what is not meant for this node is refused.

use bytes::BytesMut;
use kafka_protocol::protocol::{Decodable, Encodable};
use raft::{
    BeginQuorumEpoch, EndQuorumEpoch, FetchAnswer, Fetched, FilledSlice, ReadRange, SnapshotId, SnapshotSlice,
};

use super::*;

const DIRECTORY: Uuid = Uuid::from_u128(0x77);

fn own(dynamic: bool) -> Own {
    Own {
        cluster_id: "night".to_owned(),
        node_id: 1,
        directory_id: DIRECTORY,
        dynamic,
        listener: "CONTROLLER".to_owned(),
        place: located(1),
    }
}

fn located(id: i32) -> Located {
    Located {
        id,
        host: "h".to_owned(),
        port: 9093,
    }
}

fn key(id: i32, directory: u128) -> ReplicaKey {
    ReplicaKey {
        id: NodeId(id),
        directory: Some(DirectoryId(directory)),
    }
}

/// This node, as it is sent to.
fn me() -> ReplicaKey {
    key(1, DIRECTORY.as_u128())
}

/// Over the wire and back.
fn sent<T: Encodable + Decodable>(message: &T, version: i16) -> T {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).unwrap();
    T::decode(&mut bytes.freeze(), version).unwrap()
}

fn response(body: Body<ReadRange>) -> Response<ReadRange> {
    Response {
        epoch: 7,
        leader: Some(NodeId(2)),
        body,
    }
}

fn vote() -> raft::VoteRequest {
    raft::VoteRequest {
        pre_vote: true,
        epoch: 7,
        candidate: key(1, DIRECTORY.as_u128()),
        last_epoch: 6,
        last_offset: 99,
    }
}

#[test]
fn a_vote_names_directories_where_they_count() {
    let own = own(true);
    let request = sent(&vote::request(&own, me(), &vote()), vote::VERSION);
    assert_eq!(vote::read_request(&own, request), Ok(vote()));
    // Where voters are fixed only ids count.
    let request = sent(&vote::request(&own, me(), &vote()), vote::VERSION);
    let read = vote::read_request(&super::tests::own(false), request).unwrap();
    assert_eq!(read.candidate, ReplicaKey::of(NodeId(1)));
}

#[test]
fn what_is_meant_for_another_voter_or_cluster_is_refused() {
    let own = own(true);
    let to = |key| sent(&vote::request(&own, key, &vote()), vote::VERSION);
    let refused = |request| vote::read_request(&own, request).unwrap_err();
    assert_eq!(refused(to(key(2, 0x77))), ResponseError::InvalidVoterKey);
    assert_eq!(refused(to(key(1, 0x78))), ResponseError::InvalidVoterKey);
    assert!(vote::read_request(&own, to(ReplicaKey::of(NodeId(1)))).is_ok());
    let elsewhere = Own {
        cluster_id: "day".to_owned(),
        ..own.clone()
    };
    let request = sent(&vote::request(&elsewhere, me(), &vote()), vote::VERSION);
    assert_eq!(refused(request.clone()), ResponseError::InconsistentClusterId);
    assert_eq!(
        refused(request.with_cluster_id(None).with_topics(Vec::new())),
        ResponseError::UnknownTopicOrPartition
    );
    // A key that is not this node's is answered with who leads, another cluster's request with nothing.
    let standing = response(Body::Vote { granted: false });
    let answer = vote::refused(ResponseError::InvalidVoterKey, &standing, None);
    assert_eq!(
        (answer.error_code, answer.topics[0].partitions[0].leader_epoch),
        (0, 7)
    );
    let answer = vote::refused(ResponseError::InconsistentClusterId, &standing, None);
    assert!(answer.error_code == ResponseError::InconsistentClusterId.code() && answer.topics.is_empty());
    let ask = BeginQuorumEpoch {
        epoch: 7,
        leader: NodeId(2),
    };
    let request = sent(&begin::request(&own, key(1, 0x78), ask), begin::VERSION);
    assert_eq!(
        begin::read_request(&own, request).unwrap_err(),
        ResponseError::InvalidVoterKey
    );
}

#[test]
fn leaders_say_where_they_are_when_they_come_and_go() {
    let own = own(true);
    let ask = BeginQuorumEpoch {
        epoch: 7,
        leader: NodeId(1),
    };
    let request = sent(&begin::request(&own, me(), ask), begin::VERSION);
    assert_eq!(begin::read_request(&own, request), Ok((ask, Some(located(1)))));
    let ask = EndQuorumEpoch {
        epoch: 7,
        leader: NodeId(1),
        preferred_successors: vec![key(3, 5), key(2, 4)],
    };
    let request = sent(&end::request(&own, &ask), end::VERSION);
    assert_eq!(end::read_request(&own, request), Ok((ask, Some(located(1)))));
    // Version 0 has neither places nor directories.
    let old = begin::request(
        &own,
        me(),
        BeginQuorumEpoch {
            epoch: 7,
            leader: NodeId(1),
        },
    );
    let topics = old.topics.into_iter().map(|mut topic| {
        topic.partitions[0].voter_directory_id = Uuid::nil();
        topic
    });
    let old = kafka_protocol::messages::BeginQuorumEpochRequest::default().with_topics(topics.collect());
    assert_eq!(begin::read_request(&own, sent(&old, 0)).unwrap().1, None);
}

#[test]
fn the_listener_of_controllers_is_picked_and_else_the_first() {
    let own = own(true);
    let listener = |name: &str, port| (text(name), text("h"), port);
    let found = |listeners: Vec<Named>| own.located(BrokerId(5), listeners.into_iter()).map(|at| at.port);
    assert_eq!(found(vec![listener("A", 1), listener("CONTROLLER", 2)]), Some(2));
    assert_eq!(found(vec![listener("A", 1), listener("B", 2)]), Some(1));
    assert_eq!(found(Vec::new()), None);
}

#[test]
fn answers_are_read_as_they_were_meant_in_every_version() {
    let leader = located(2);
    let granted = response(Body::Vote { granted: true });
    for version in 0..=vote::VERSION {
        let heard = vote::read_answer(sent(&vote::answer(&granted, Some(&leader)), version)).unwrap();
        assert_eq!(heard.response.body, Body::Vote { granted: true });
        assert_eq!(
            (heard.response.epoch, heard.response.leader),
            (7, Some(NodeId(2)))
        );
        assert_eq!(heard.nodes == [leader.clone()], version > 0);
    }
    for version in 0..=1 {
        let begun = response(Body::BeginQuorumEpoch);
        let heard = begin::read_answer(sent(&begin::answer(&begun, Some(&leader)), version)).unwrap();
        assert_eq!(heard.nodes == [leader.clone()], version > 0);
        let ended = response(Body::EndQuorumEpoch);
        let heard = end::read_answer(sent(&end::answer(&ended, Some(&leader)), version)).unwrap();
        assert_eq!(heard.nodes == [leader.clone()], version > 0);
    }
    let changed = sent(
        &update_voter::answer(&response(Body::VotersChanged), Some(&leader)),
        0,
    );
    let heard = update_voter::read_answer(changed).unwrap();
    assert_eq!(
        (heard.response.body, heard.nodes),
        (Body::VotersChanged, vec![leader])
    );
}

#[test]
fn a_fetch_that_comes_too_late_is_told_of_the_snapshot() {
    let id = SnapshotId {
        end_offset: 40,
        epoch: 6,
    };
    let told = response(Body::Fetch(FetchAnswer {
        high_watermark: Some(50),
        fetched: Fetched::Snapshot(id),
    }));
    for version in 12..=fetch::VERSION {
        let answer = sent(&fetch::answer(&told, Bytes::new(), Some(&located(2))), version);
        let heard = fetch::read_answer(answer).unwrap();
        let Body::Fetch(answer) = heard.response.body else {
            panic!()
        };
        assert_eq!(
            (answer.high_watermark, answer.fetched),
            (Some(50), Fetched::Snapshot(id))
        );
        assert_eq!(heard.nodes == [located(2)], version >= 16);
    }
}

#[test]
fn a_piece_of_a_snapshot_arrives_with_its_place() {
    let own = own(true);
    let id = SnapshotId {
        end_offset: 40,
        epoch: 6,
    };
    let ask = raft::FetchSnapshotRequest {
        replica: Some(me()),
        epoch: Some(7),
        snapshot: id,
        position: 3,
    };
    let request = sent(&fetch_snapshot::request(&own, &ask), fetch_snapshot::VERSION);
    assert_eq!(fetch_snapshot::read_request(&own, request).unwrap().0, ask);
    let slice = SnapshotSlice {
        snapshot: id,
        position: 3,
        filled: Some(FilledSlice { size: 9, length: 4 }),
    };
    let told = response(Body::FetchSnapshot(slice));
    for version in 0..=fetch_snapshot::VERSION {
        let answer = fetch_snapshot::answer(&told, Bytes::from_static(b"data"), Some(&located(2)));
        let heard = fetch_snapshot::read_answer(sent(&answer, version)).unwrap();
        assert_eq!(
            (heard.response.body, &heard.bytes[..]),
            (Body::FetchSnapshot(slice), &b"data"[..])
        );
    }
    let refused = response(Body::Refused(Refusal::SnapshotNotFound));
    let heard = fetch_snapshot::read_answer(fetch_snapshot::answer(&refused, Bytes::new(), None)).unwrap();
    assert_eq!(heard.response.body, Body::Refused(Refusal::SnapshotNotFound));
}

#[test]
fn a_voter_without_a_place_or_a_directory_is_none() {
    use kafka_protocol::messages::add_raft_voter_request::Listener;
    use kafka_protocol::messages::{AddRaftVoterRequest, RemoveRaftVoterRequest};
    let own = own(true);
    let listener = |name: &str| {
        Listener::default()
            .with_name(text(name))
            .with_host(text("h"))
            .with_port(1)
    };
    let request = AddRaftVoterRequest::default()
        .with_cluster_id(None)
        .with_timeout_ms(20)
        .with_voter_id(4)
        .with_voter_directory_id(Uuid::from_u128(8))
        .with_listeners(vec![listener("CONTROLLER")]);
    let read = add_voter::read_request(&own, sent(&request, 0)).unwrap();
    assert_eq!((read.voter.key, read.timeout), (key(4, 8), 20 * NANOS_PER_MS));
    for bad in [
        request.clone().with_voter_id(-1),
        request.clone().with_voter_directory_id(Uuid::nil()),
        request.clone().with_listeners(Vec::new()),
        request.clone().with_listeners(vec![listener("OTHER")]),
    ] {
        assert_eq!(
            add_voter::read_request(&own, bad),
            Err(ResponseError::InvalidRequest)
        );
    }
    let request = RemoveRaftVoterRequest::default()
        .with_cluster_id(None)
        .with_voter_id(4);
    assert_eq!(
        remove_voter::read_request(&own, request, 5),
        Err(ResponseError::InvalidRequest)
    );
}
