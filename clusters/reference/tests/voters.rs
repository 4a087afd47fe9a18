//! Voters that change while the quorum runs (KIP-853).

mod support;

use kafka_protocol::messages::describe_quorum_response::ReplicaState;
use kafka_protocol::messages::{
    AddRaftVoterRequest, DescribeQuorumRequest, DescribeQuorumResponse, RemoveRaftVoterRequest,
    add_raft_voter_request, describe_quorum_request,
};
use kafka_protocol::protocol::StrBytes;
use support::client::{Client, name};
use support::{Cluster, until};
use uuid::Uuid;

const NONE: i16 = 0;
const NOT_LEADER_OR_FOLLOWER: i16 = 6;
const REQUEST_TIMED_OUT: i16 = 7;
const UNSUPPORTED_VERSION: i16 = 35;
const INCONSISTENT_CLUSTER_ID: i16 = 104;
const DUPLICATE_VOTER: i16 = 126;
const VOTER_NOT_FOUND: i16 = 127;

/// The quorum, as whoever listens there tells of it, where it can.
fn described(cluster: &Cluster, id: i32) -> Option<DescribeQuorumResponse> {
    let topic = describe_quorum_request::TopicData::default()
        .with_topic_name(name("__cluster_metadata"))
        .with_partitions(vec![Default::default()]);
    let request = DescribeQuorumRequest::default().with_topics(vec![topic]);
    let answer = Client::connect(cluster.address(id))?.call(2, &request)?;
    let fine = answer.error_code == NONE && answer.topics.first()?.partitions.first()?.error_code == NONE;
    fine.then_some(answer)
}

fn keys(replicas: &[ReplicaState]) -> Vec<(i32, Uuid)> {
    let key = |replica: &ReplicaState| (replica.replica_id.0, replica.replica_directory_id);
    let mut keys: Vec<_> = replicas.iter().map(key).collect();
    keys.sort();
    keys
}

/// Waits until the quorum has these voters; its leader.
fn until_voters(cluster: &Cluster, ids: &[i32]) -> i32 {
    let mut expected: Vec<_> = ids.iter().map(|id| (*id, cluster.directory(*id))).collect();
    expected.sort();
    until(&format!("voters {ids:?}"), || {
        let answer = described(cluster, 0)?;
        let partition = &answer.topics[0].partitions[0];
        let right = keys(&partition.current_voters) == expected;
        let mut nodes: Vec<i32> = answer.nodes.iter().map(|node| node.node_id.0).collect();
        nodes.sort_unstable();
        (right && nodes == ids).then_some(partition.leader_id.0)
    })
}

/// Waits until a node observes, and has all there is.
fn until_caught_up(cluster: &Cluster, id: i32) {
    let key = (id, cluster.directory(id));
    until(&format!("{id} has caught up"), || {
        let answer = described(cluster, 0)?;
        let partition = &answer.topics[0].partitions[0];
        let mut observers = partition.observers.iter();
        let seen = observers.find(|seen| (seen.replica_id.0, seen.replica_directory_id) == key)?;
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        // A wall clock's time, and not long ago.
        assert!(seen.last_fetch_timestamp <= now.as_millis() as i64 + 1_000);
        (seen.last_caught_up_timestamp > 0 && seen.log_end_offset >= partition.high_watermark).then_some(())
    });
}

fn wish_to_add(cluster: &Cluster, id: i32) -> AddRaftVoterRequest {
    let address = cluster.address(id);
    let listener = add_raft_voter_request::Listener::default()
        .with_name(StrBytes::from_static_str("CONTROLLER"))
        .with_host(StrBytes::from_string(address.ip().to_string()))
        .with_port(address.port());
    AddRaftVoterRequest::default()
        .with_cluster_id(Some(StrBytes::from_static_str("night")))
        .with_timeout_ms(2_000)
        .with_voter_id(id)
        .with_voter_directory_id(cluster.directory(id))
        .with_listeners(vec![listener])
}

/// What a node says to a wish, asked again while it is too early.
fn add(cluster: &Cluster, asked: i32, id: i32) -> i16 {
    until(&format!("a word on adding {id}"), || {
        let request = wish_to_add(cluster, id);
        let answer = Client::connect(cluster.address(asked))?.call(0, &request)?;
        Some(answer.error_code).filter(|code| *code != REQUEST_TIMED_OUT)
    })
}

fn remove(cluster: &Cluster, asked: i32, id: i32, directory: Uuid) -> i16 {
    until(&format!("a word on removing {id}"), || {
        let request = RemoveRaftVoterRequest::default()
            .with_cluster_id(Some(StrBytes::from_static_str("night")))
            .with_voter_id(id)
            .with_voter_directory_id(directory);
        let answer = Client::connect(cluster.address(asked))?.call(0, &request)?;
        Some(answer.error_code).filter(|code| *code != REQUEST_TIMED_OUT)
    })
}

fn create(cluster: &Cluster, topic: &str) {
    until(topic, || {
        let (error, _) = Client::connect(cluster.address(0))?.create_topic(topic, &[0], &[])?;
        // 36: an attempt before created it, and its answer came too late.
        (error == NONE || error == 36).then_some(())
    });
}

#[test]
fn a_voter_is_added_and_the_leader_removed_while_the_quorum_runs() {
    let mut cluster = Cluster::start_dynamic(3, 1, 1, "");
    let leader = until_voters(&cluster, &[100, 101, 102]);
    create(&cluster, "before");
    // It is not there yet, and so has not caught up.
    let early = Client::connect(cluster.address(leader)).unwrap();
    let early = { early }.call(0, &wish_to_add(&cluster, 103)).unwrap();
    assert_eq!(early.error_code, REQUEST_TIMED_OUT);
    assert!(early.error_message.is_some());
    cluster.start_node(103);
    until_caught_up(&cluster, 103);
    // A broker follows too, and knows the quorum's protocol, but does not vote.
    until_caught_up(&cluster, 0);
    assert_eq!(add(&cluster, leader, 0), UNSUPPORTED_VERSION);
    // Only the leader can; a broker passes it on.
    let follower = [100, 101, 102].into_iter().find(|id| *id != leader).unwrap();
    assert_eq!(add(&cluster, follower, 103), NOT_LEADER_OR_FOLLOWER);
    assert_eq!(add(&cluster, 0, 103), NONE);
    let leader = until_voters(&cluster, &[100, 101, 102, 103]);
    assert_eq!(add(&cluster, leader, 103), DUPLICATE_VOTER);
    assert_eq!(remove(&cluster, leader, 102, Uuid::from_u128(9)), VOTER_NOT_FOUND);
    // The leader goes itself, when that is committed by the others.
    assert_eq!(remove(&cluster, 0, leader, cluster.directory(leader)), NONE);
    let rest: Vec<i32> = [100, 101, 102, 103]
        .into_iter()
        .filter(|id| *id != leader)
        .collect();
    let next = until_voters(&cluster, &rest);
    assert_ne!(next, leader);
    create(&cluster, "after");
    // It observes now, and two of the three others are enough.
    until_caught_up(&cluster, leader);
    cluster.kill(next);
    create(&cluster, "with-two-of-three");
}

#[test]
fn a_controller_with_an_empty_disk_is_another_voter() {
    let mut cluster = Cluster::start_dynamic(3, 0, 1, "");
    let leader = until_voters(&cluster, &[100, 101, 102]);
    let lost = [100, 101, 102].into_iter().find(|id| *id != leader).unwrap();
    let former = cluster.directory(lost);
    cluster.kill(lost);
    cluster.replace_disk(lost);
    assert_ne!(cluster.directory(lost), former);
    cluster.start_node(lost);
    until_caught_up(&cluster, lost);
    assert_eq!(add(&cluster, 0, lost), DUPLICATE_VOTER);
    assert_eq!(remove(&cluster, 0, lost, former), NONE);
    until_caught_up(&cluster, lost);
    assert_eq!(add(&cluster, 0, lost), NONE);
    until_voters(&cluster, &[100, 101, 102]);
    create(&cluster, "night");
    // Everyone knows who votes, also after a start.
    for id in cluster.ids() {
        cluster.kill(id);
    }
    for id in cluster.ids() {
        cluster.start_node(id);
    }
    until_voters(&cluster, &[100, 101, 102]);
}

#[test]
fn a_voter_that_moves_says_where_it_is() {
    let mut cluster = Cluster::start_dynamic(3, 0, 1, "");
    let leader = until_voters(&cluster, &[100, 101, 102]);
    let moving = [100, 101, 102].into_iter().find(|id| *id != leader).unwrap();
    cluster.kill(moving);
    cluster.move_to_another_port(moving);
    cluster.start_node(moving);
    let port = cluster.address(moving).port();
    until("its new port", || {
        let answer = described(&cluster, 0)?;
        let node = answer.nodes.into_iter().find(|node| node.node_id.0 == moving)?;
        (node.listeners[0].port == port).then_some(())
    });
    create(&cluster, "night");
}

#[test]
fn fixed_voters_stay_and_another_cluster_has_no_say() {
    let cluster = Cluster::start(1, 1, "", &[]);
    let leader = until("a leader", || {
        Some(described(&cluster, 0)?.topics[0].partitions[0].leader_id.0)
    });
    assert_eq!(add(&cluster, leader, 0), UNSUPPORTED_VERSION);
    assert_eq!(
        remove(&cluster, leader, 100, Uuid::from_u128(1)),
        UNSUPPORTED_VERSION
    );
    let cluster = Cluster::start_dynamic(1, 0, 1, "");
    let leader = until_voters(&cluster, &[100]);
    let request = wish_to_add(&cluster, 100).with_cluster_id(Some(StrBytes::from_static_str("day")));
    let answer = Client::connect(cluster.address(leader))
        .unwrap()
        .call(0, &request)
        .unwrap();
    assert_eq!(answer.error_code, INCONSISTENT_CLUSTER_ID);
}
