//! Each call, asked of a node that behaves.

use super::{PATIENT, TOPIC, connect, leader, topic, topic_id};
use crate::ErrorCode;
use crate::batch::Content;
use crate::calls::{
    Acks, AddVoter, CreateTopic, Fetch, FetchSnapshot, Layout, Listener, OffsetQuestion, Produce,
    RemoveVoter, SnapshotId, TopicRef,
};
use crate::fake::Reaction;
use bytes::Bytes;
use history::LogEnd;
use std::time::Duration;

pub(super) fn produce(topic: TopicRef) -> Produce {
    Produce {
        topic,
        partition: 0,
        acks: Acks::All,
        timeout: Duration::from_millis(50),
        timestamp_ms: 1,
        value: Bytes::from_static(b"value"),
    }
}

pub(super) fn fetch(topic: TopicRef, offset: i64) -> Fetch {
    Fetch {
        topic,
        partition: 0,
        offset,
        current_leader_epoch: 3,
        last_fetched_epoch: -1,
        known_high_watermark: None,
        max_wait: Duration::ZERO,
        max_bytes: 1 << 20,
    }
}

#[tokio::test]
async fn what_is_produced_is_fetched_by_id_and_by_name() {
    for at_most in [None, Some(12)] {
        let fake = leader().await;
        fake.change(|state| {
            state
                .at_most
                .extend(at_most.into_iter().flat_map(|max| [(0, max), (1, max)]))
        });
        let mut connection = connect(&fake, PATIENT).await;
        for offset in 0..2 {
            let produced = connection.produce(&produce(topic())).await.unwrap();
            assert_eq!((produced.error, produced.offset), (ErrorCode::NONE, Some(offset)));
        }
        let fetched = connection.fetch(&fetch(topic(), 1)).await.unwrap();
        assert_eq!(
            (fetched.error, fetched.high_watermark, fetched.log_start),
            (ErrorCode::NONE, 2, 0)
        );
        assert_eq!(fetched.batches.len(), 1);
        assert_eq!(
            (fetched.batches[0].base_offset, fetched.batches[0].leader_epoch),
            (1, 3)
        );
        let record = (1, Some(Bytes::from_static(b"value")));
        assert_eq!(fetched.batches[0].content, Content::Records(vec![record]));
    }
}

#[tokio::test]
async fn without_an_id_the_name_is_used() {
    let fake = leader().await;
    let mut connection = connect(&fake, PATIENT).await;
    let produced = connection
        .produce(&produce(TopicRef::named(TOPIC)))
        .await
        .unwrap();
    assert_eq!(produced.offset, Some(0));
    assert_eq!(
        connection
            .fetch(&fetch(TopicRef::named(TOPIC), 0))
            .await
            .unwrap()
            .batches
            .len(),
        1
    );
}

#[tokio::test]
async fn an_acknowledgement_may_lack_its_offset() {
    let fake = leader().await;
    fake.change(|state| state.react(0, [Reaction::WithoutOffset]));
    let produced = connect(&fake, PATIENT)
        .await
        .produce(&produce(topic()))
        .await
        .unwrap();
    assert_eq!((produced.error, produced.offset), (ErrorCode::NONE, None));
}

#[tokio::test]
async fn a_node_that_does_not_lead_says_who_does() {
    let fake = leader().await;
    fake.change(|state| (state.log(TOPIC, 0).leader, state.log(TOPIC, 0).leader_epoch) = (2, 4));
    let mut connection = connect(&fake, PATIENT).await;
    let fetched = connection.fetch(&fetch(topic(), 0)).await.unwrap();
    assert_eq!(fetched.error, ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(
        fetched.current_leader.map(|leader| (leader.node, leader.epoch)),
        Some((2, 4))
    );
    let produced = connection.produce(&produce(topic())).await.unwrap();
    assert_eq!(produced.error, ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

#[tokio::test]
async fn ends_of_a_log_are_listed_for_the_current_epoch_only() {
    let fake = leader().await;
    fake.change(|state| (state.log(TOPIC, 0).start, state.log(TOPIC, 0).high_watermark) = (2, Some(5)));
    let mut connection = connect(&fake, PATIENT).await;
    for (which, epoch, error, offset) in [
        (LogEnd::Earliest, 3, ErrorCode::NONE, 2),
        (LogEnd::Latest, 3, ErrorCode::NONE, 5),
        (LogEnd::Latest, 2, ErrorCode::FENCED_LEADER_EPOCH, -1),
        (LogEnd::Latest, 4, ErrorCode::UNKNOWN_LEADER_EPOCH, -1),
    ] {
        let question = OffsetQuestion {
            topic: TOPIC.into(),
            partition: 0,
            current_leader_epoch: epoch,
            which,
        };
        let listed = connection.list_offset(&question).await.unwrap();
        assert_eq!((listed.error, listed.offset), (error, offset));
    }
}

#[tokio::test]
async fn a_topic_is_created_where_it_is_assigned_and_described_page_by_page() {
    let fake = leader().await;
    let mut connection = connect(&fake, PATIENT).await;
    let create = CreateTopic {
        name: "made".into(),
        layout: Layout::Assigned(vec![vec![2, 0, 1], vec![0, 1, 2]]),
        configs: [("min.insync.replicas".to_owned(), "2".to_owned())].into(),
        timeout: PATIENT,
    };
    let created = connection.create_topic(&create).await.unwrap();
    assert_eq!(created.error, ErrorCode::NONE);
    let described = connection.describe_topic_partitions("made").await.unwrap();
    assert_eq!(described.id, created.id);
    let leaders: Vec<_> = described
        .partitions
        .iter()
        .map(|partition| partition.leader)
        .collect();
    assert_eq!(leaders, [2, 0]);
    assert_eq!(described.partitions[0].elr, Some(vec![]));

    fake.change(|state| state.react(19, [Reaction::Refuse(36)]));
    let again = connection.create_topic(&create).await.unwrap();
    assert_eq!(
        (again.error, again.message.as_deref()),
        (ErrorCode::TOPIC_ALREADY_EXISTS, Some("as scripted"))
    );
}

#[tokio::test]
async fn features_quorum_and_cluster_are_told() {
    let fake = leader().await;
    fake.change(|state| {
        state
            .features
            .insert("eligible.leader.replicas.version".into(), 1);
        state.quorum = (1, 9);
        state.brokers.insert(1, ([127, 0, 0, 1], 9092).into());
    });
    let mut connection = connect(&fake, PATIENT).await;
    assert_eq!(
        connection.server().features["eligible.leader.replicas.version"].finalised,
        1
    );
    let quorum = connection.describe_quorum().await.unwrap();
    assert_eq!(
        (quorum.error, quorum.leader, quorum.epoch),
        (ErrorCode::NONE, 1, 9)
    );
    fake.change(|state| state.quorum = (0, 10));
    assert_eq!(
        connection.describe_quorum().await.unwrap().error,
        ErrorCode::NOT_LEADER_OR_FOLLOWER
    );
    let cluster = connection.describe_cluster().await.unwrap();
    assert_eq!((cluster.cluster_id.as_str(), cluster.brokers.len()), ("fake", 1));
    let metadata = connection.metadata(TOPIC).await.unwrap();
    assert_eq!(
        (metadata.topic.id, metadata.topic.partitions[0].leader_epoch),
        (topic_id(), 3)
    );
    let unknown = connection.metadata("nowhere").await.unwrap();
    assert_eq!(unknown.topic.error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

#[tokio::test]
async fn the_quorum_is_described_with_directories_and_addresses_where_the_version_has_them() {
    for at_most in [0, 1, 2] {
        let fake = leader().await;
        let directory = crate::TopicId::from_u128(8);
        fake.change(|state| {
            state.at_most.insert(55, at_most);
            state.quorum = (1, 9);
            state.voters.insert(1, (directory, ([127, 0, 0, 1], 9093).into()));
        });
        let quorum = connect(&fake, PATIENT).await.describe_quorum().await.unwrap();
        assert_eq!((quorum.voters.len(), quorum.voters[0].node), (1, 1));
        assert_eq!(quorum.voters[0].directory == directory, at_most == 2);
        let listeners = quorum.nodes.iter().flat_map(|node| &node.listeners);
        let ports: Vec<u16> = listeners.map(|listener| listener.port).collect();
        assert_eq!(ports, if at_most == 2 { vec![9093] } else { vec![] });
    }
}

#[tokio::test]
async fn a_snapshot_is_read_from_any_position_in_it() {
    let fake = leader().await;
    let whole = crate::fake::snapshot_bytes(&[Bytes::from_static(&[1, 20, 0, 0])]);
    let id = SnapshotId {
        end_offset: 7,
        epoch: 3,
    };
    fake.change(|state| {
        let log = state.log(crate::observer::METADATA_TOPIC, 0);
        (log.leader, log.leader_epoch) = (1, 3);
        log.snapshots.insert((7, 3), whole.clone());
    });
    let mut connection = connect(&fake, PATIENT).await;
    let asked = FetchSnapshot {
        id,
        current_leader_epoch: 3,
        position: 10,
        max_bytes: 20,
    };
    let part = connection.fetch_snapshot(&asked).await.unwrap();
    assert_eq!((part.error, part.id), (ErrorCode::NONE, id));
    assert_eq!((part.size, part.position), (whole.len() as i64, 10));
    assert_eq!(part.bytes, whole.slice(10..30));
    for (asked, error) in [
        (
            FetchSnapshot {
                position: 1 << 30,
                ..asked
            },
            ErrorCode::POSITION_OUT_OF_RANGE,
        ),
        (
            FetchSnapshot {
                id: SnapshotId {
                    end_offset: 8,
                    epoch: 3,
                },
                ..asked
            },
            ErrorCode::SNAPSHOT_NOT_FOUND,
        ),
        (
            FetchSnapshot {
                current_leader_epoch: 2,
                ..asked
            },
            ErrorCode::FENCED_LEADER_EPOCH,
        ),
    ] {
        let refused = connection.fetch_snapshot(&asked).await.unwrap();
        assert_eq!((refused.error, refused.bytes.len()), (error, 0));
    }
    let refused = FetchSnapshot {
        current_leader_epoch: 2,
        ..asked
    };
    let leader = connection.fetch_snapshot(&refused).await.unwrap().current_leader;
    assert_eq!(leader.map(|leader| (leader.node, leader.epoch)), Some((1, 3)));
}

#[tokio::test]
async fn voters_come_and_go_by_id_and_directory() {
    let fake = leader().await;
    let mut connection = connect(&fake, PATIENT).await;
    let directory = crate::TopicId::from_u128(8);
    let add = AddVoter {
        cluster_id: None,
        node: 104,
        directory,
        listeners: vec![Listener {
            name: "CONTROLLER".into(),
            host: "127.0.0.1".into(),
            port: 9093,
        }],
        timeout: PATIENT,
    };
    let added = connection.add_raft_voter(&add).await.unwrap();
    assert_eq!(added.error, ErrorCode::NONE);
    let voter = fake.change(|state| state.voters[&104]);
    assert_eq!(voter, (directory, ([127, 0, 0, 1], 9093).into()));
    // DUPLICATE_VOTER.
    fake.change(|state| state.react(80, [Reaction::Refuse(126)]));
    let again = connection.add_raft_voter(&add).await.unwrap();
    assert_eq!(
        (again.error.0, again.message.as_deref()),
        (126, Some("as scripted"))
    );

    let remove = RemoveVoter {
        cluster_id: None,
        node: 104,
        directory: crate::TopicId::from_u128(9),
        timeout: PATIENT,
    };
    let other = connection.remove_raft_voter(&remove).await.unwrap();
    assert_eq!(other.error, ErrorCode::VOTER_NOT_FOUND);
    let gone = connection
        .remove_raft_voter(&RemoveVoter { directory, ..remove })
        .await
        .unwrap();
    assert_eq!(gone.error, ErrorCode::NONE);
    assert!(fake.change(|state| state.voters.is_empty()));
}
