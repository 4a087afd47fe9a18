//! Whole clusters: topics, acknowledged records, failover, restarts.

mod support;

use kafka_protocol::messages::describe_topic_partitions_response::DescribeTopicPartitionsResponsePartition;
use kafka_protocol::messages::{
    ApiVersionsRequest, DescribeClusterRequest, DescribeQuorumRequest, describe_quorum_request,
};
use kafka_protocol::protocol::StrBytes;
use support::client::{Client, name, values};
use support::{Cluster, until};

const TOPIC: &str = "night";
const ACKS_ALL: i16 = -1;
const FLUSHED: &str = "log.flush.interval.messages=1\nmin.insync.replicas=2";

/// A partition, as any live broker sees it.
fn described(cluster: &Cluster) -> Option<DescribeTopicPartitionsResponsePartition> {
    let live = cluster.live_brokers();
    live.iter()
        .find_map(|id| Client::connect(cluster.address(*id))?.describe(TOPIC))
}

fn isr(partition: &DescribeTopicPartitionsResponsePartition) -> Vec<i32> {
    let mut isr: Vec<i32> = partition.isr_nodes.iter().map(|id| id.0).collect();
    isr.sort_unstable();
    isr
}

fn elr(partition: &DescribeTopicPartitionsResponsePartition) -> Vec<i32> {
    partition
        .eligible_leader_replicas
        .iter()
        .flatten()
        .map(|id| id.0)
        .collect()
}

fn until_isr(cluster: &Cluster, expected: &[i32]) -> DescribeTopicPartitionsResponsePartition {
    until(&format!("ISR {expected:?}"), || {
        described(cluster).filter(|partition| isr(partition) == expected && partition.leader_id.0 >= 0)
    })
}

/// A connection to the leader that the live brokers name.
fn leader(cluster: &Cluster) -> (Client, i32, i32) {
    until("a leader that can be reached", || {
        let partition = described(cluster)?;
        let id = partition.leader_id.0;
        (cluster.live_brokers().contains(&id)).then_some(())?;
        Some((Client::connect(cluster.address(id))?, id, partition.leader_epoch))
    })
}

fn create(cluster: &Cluster, replicas: &[i32]) {
    until("the topic", || {
        let mut client = Client::connect(cluster.address(*cluster.live_brokers().first()?))?;
        let (error, _) = client.create_topic(TOPIC, replicas, &[])?;
        // 36: an attempt before created it, and its answer came too late.
        (error == 0 || error == 36).then_some(())
    });
}

/// Appends until it is acknowledged; the offset.
fn append(cluster: &Cluster, value: &str) -> i64 {
    until(&format!("{value} acknowledged"), || {
        let (mut client, _, _) = leader(cluster);
        let answer = client.produce(TOPIC, ACKS_ALL, &[value])?;
        (answer.error_code == 0).then_some(answer.base_offset)
    })
}

fn read_all(cluster: &Cluster) -> Vec<String> {
    let (mut client, _, epoch) = leader(cluster);
    let end = until("the end", || client.latest(TOPIC, epoch)?.ok());
    let mut read = Vec::new();
    let mut offset = 0;
    while offset < end {
        let data = client.fetch(TOPIC, offset, epoch, 500).unwrap();
        assert_eq!(data.error_code, 0);
        for (at, _, value) in values(&data.records.unwrap_or_default()) {
            if at >= offset {
                read.push(value);
                offset = at + 1;
            }
        }
    }
    read
}

#[test]
fn acknowledged_records_outlive_their_leader() {
    let mut cluster = Cluster::start(3, 3, FLUSHED, &[]);
    create(&cluster, &[0, 1, 2]);
    until_isr(&cluster, &[0, 1, 2]);
    assert_eq!(append(&cluster, "a"), 0);
    assert_eq!(append(&cluster, "b"), 1);
    let (_, first, first_epoch) = leader(&cluster);
    cluster.kill(first);
    append(&cluster, "c");
    let (_, second, second_epoch) = leader(&cluster);
    assert!(second != first && second_epoch > first_epoch);
    cluster.start_node(first);
    until_isr(&cluster, &[0, 1, 2]);
    append(&cluster, "d");
    let read = read_all(&cluster);
    // "c" may have been sent more than once before it was acknowledged.
    let mut unique = read.clone();
    unique.dedup();
    assert_eq!(unique, ["a", "b", "c", "d"], "{read:?}");
}

#[test]
fn the_elr_keeps_those_who_leave_below_min_isr() {
    let mut cluster = Cluster::start(3, 3, FLUSHED, &[]);
    create(&cluster, &[0, 1, 2]);
    until_isr(&cluster, &[0, 1, 2]);
    append(&cluster, "a");
    let (_, leader_id, _) = leader(&cluster);
    let others: Vec<i32> = [0, 1, 2].into_iter().filter(|id| *id != leader_id).collect();
    cluster.kill(others[0]);
    until("two in sync", || {
        described(&cluster).filter(|partition| isr(partition).len() == 2)
    });
    cluster.kill(others[1]);
    let alone = until("the leader alone", || {
        described(&cluster).filter(|partition| isr(partition) == [leader_id])
    });
    assert_eq!(elr(&alone), [others[1]]);
    let (mut client, _, _) = leader(&cluster);
    let refused = client.produce(TOPIC, ACKS_ALL, &["b"]).unwrap();
    assert_eq!(refused.error_code, 19, "NOT_ENOUGH_REPLICAS");
    cluster.start_node(others[1]);
    cluster.start_node(others[0]);
    let whole = until_isr(&cluster, &[0, 1, 2]);
    assert!(elr(&whole).is_empty());
    append(&cluster, "b");
    assert_eq!(read_all(&cluster), ["a", "b"]);
}

#[test]
fn a_clean_stop_moves_leadership_and_leaves_a_marker() {
    let mut cluster = Cluster::start(3, 3, FLUSHED, &[]);
    create(&cluster, &[0, 1, 2]);
    until_isr(&cluster, &[0, 1, 2]);
    append(&cluster, "a");
    let (_, leader_id, _) = leader(&cluster);
    cluster.stop(leader_id).unwrap();
    let marker = std::fs::read_to_string(cluster.file(leader_id, ".kafka_cleanshutdown")).unwrap();
    assert!(marker.contains("brokerEpoch"), "{marker}");
    append(&cluster, "b");
    cluster.start_node(leader_id);
    until_isr(&cluster, &[0, 1, 2]);
    assert!(!cluster.file(leader_id, ".kafka_cleanshutdown").exists());
    assert_eq!(read_all(&cluster).last().unwrap(), "b");
}

#[test]
fn the_quorum_outlives_its_leader_and_everyone_at_once() {
    let mut cluster = Cluster::start(3, 3, FLUSHED, &[]);
    create(&cluster, &[0, 1, 2]);
    until_isr(&cluster, &[0, 1, 2]);
    append(&cluster, "a");
    let active = active_controller(&cluster);
    cluster.kill(active);
    let next = until("another active controller", || {
        Some(active_controller(&cluster)).filter(|id| *id != active)
    });
    let (_, leader_id, _) = leader(&cluster);
    cluster.kill(leader_id);
    append(&cluster, "b");
    cluster.start_node(active);
    for id in cluster.ids().into_iter().filter(|id| *id != leader_id) {
        cluster.kill(id);
    }
    for id in cluster.ids() {
        cluster.start_node(id);
    }
    until_isr(&cluster, &[0, 1, 2]);
    append(&cluster, "c");
    let mut read = read_all(&cluster);
    read.dedup();
    assert_eq!(read, ["a", "b", "c"], "{next}");
}

fn active_controller(cluster: &Cluster) -> i32 {
    let controllers = || cluster.ids().into_iter().filter(|id| *id >= 100);
    until("an active controller", || {
        controllers().find(|id| leader_as_told_by(cluster, *id) == Some(*id))
    })
}

/// The quorum's leader by DescribeQuorum; none where the node does not know.
fn leader_as_told_by(cluster: &Cluster, id: i32) -> Option<i32> {
    let partition = describe_quorum_request::PartitionData::default();
    let topic = describe_quorum_request::TopicData::default()
        .with_topic_name(name("__cluster_metadata"))
        .with_partitions(vec![partition]);
    let request = DescribeQuorumRequest::default().with_topics(vec![topic]);
    let answer = Client::connect(cluster.address(id))?.call(2, &request)?;
    let partition = answer.topics.first()?.partitions.first()?;
    (partition.error_code == 0).then_some(partition.leader_id.0)
}

#[test]
fn controllers_are_found_from_any_controller_and_the_quorum_is_described_by_any_broker() {
    const CONTROLLERS: i8 = 2;
    let cluster = Cluster::start(3, 1, "", &[]);
    create(&cluster, &[0]);
    let active = active_controller(&cluster);
    until("the broker's word", || {
        leader_as_told_by(&cluster, 0).filter(|leader| *leader == active)
    });
    let request = |kind| DescribeClusterRequest::default().with_endpoint_type(kind);
    for id in [100, 101, 102] {
        let mut client = Client::connect(cluster.address(id)).unwrap();
        let answer = client.call(1, &request(CONTROLLERS)).unwrap();
        assert_eq!((answer.error_code, answer.controller_id.0), (0, active));
        assert_eq!(
            (answer.cluster_id.as_str(), answer.endpoint_type),
            ("night", CONTROLLERS)
        );
        let found: Vec<_> = answer
            .brokers
            .iter()
            .map(|node| (node.broker_id.0, node.port))
            .collect();
        let expected = [100, 101, 102].map(|id| (id, cluster.address(id).port().into()));
        assert_eq!(found, expected);
        // 114 MISMATCHED_ENDPOINT_TYPE
        assert_eq!(client.call(1, &request(1)).unwrap().error_code, 114);
    }
}

#[test]
fn versions_and_features_are_told_and_nonsense_closes_a_connection() {
    let cluster = Cluster::start(1, 1, "", &["eligible.leader.replicas.version=0"]);
    create(&cluster, &[0]);
    for id in cluster.ids() {
        let mut client = Client::connect(cluster.address(id)).unwrap();
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("test"))
            .with_client_software_version(StrBytes::from_static_str("1"));
        let answer = client.call(4, &request).unwrap();
        assert_eq!(answer.error_code, 0);
        let finalized: Vec<_> = answer
            .finalized_features
            .iter()
            .map(|feature| feature.name.as_str())
            .collect();
        assert_eq!(finalized, ["metadata.version"]);
        assert_eq!(answer.supported_features.len(), 3);
        // A version from the future: answered in version 0.
        client.send_raw(&[0, 0, 0, 12, 0, 18, 0, 99, 0, 0, 0, 7, 0xff, 0xff, 0, 0]);
        let refused = client.read_frame().unwrap();
        assert_eq!(refused[..6], [0, 0, 0, 7, 0, 35]);
        // A call that does not exist, a body that is none, and a length that cannot be.
        for bytes in [
            &[0u8, 0, 0, 10, 0x7f, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff][..],
            &[0, 0, 0, 14, 0, 1, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 0, 9, 9, 9],
            &[0xff, 0xff, 0xff, 0xff],
        ] {
            let mut client = Client::connect(cluster.address(id)).unwrap();
            client.send_raw(bytes);
            assert!(client.is_closed());
        }
    }
    // The nodes have survived it.
    append(&cluster, "a");
}

#[test]
fn what_is_no_batch_is_refused() {
    let cluster = Cluster::start(1, 1, "message.max.bytes=1000", &[]);
    create(&cluster, &[0]);
    assert_eq!(append(&cluster, "a"), 0);
    let (mut client, _, epoch) = leader(&cluster);
    let mut batch = storage::BatchBuilder::new(1);
    batch.push(None, Some(&[7; 10]), &[]).unwrap();
    let good = batch.build(0, -1).unwrap();
    let mut flipped = good.to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    assert_eq!(
        client.produce_bytes(TOPIC, 1, flipped.into()).unwrap().error_code,
        2,
        "CORRUPT_MESSAGE"
    );
    let mut older = good.to_vec();
    older[16] = 1;
    assert_eq!(
        client.produce_bytes(TOPIC, 1, older.into()).unwrap().error_code,
        43,
        "UNSUPPORTED_FOR_MESSAGE_FORMAT"
    );
    let twice = [good.as_ref(), good.as_ref()].concat();
    assert_eq!(
        client.produce_bytes(TOPIC, 1, twice.into()).unwrap().error_code,
        87,
        "INVALID_RECORD"
    );
    let large = "x".repeat(2_000);
    assert_eq!(
        client.produce(TOPIC, 1, &[&large]).unwrap().error_code,
        10,
        "MESSAGE_TOO_LARGE"
    );
    assert_eq!(
        client.produce(TOPIC, 5, &["x"]).unwrap().error_code,
        21,
        "INVALID_REQUIRED_ACKS"
    );
    assert_eq!(
        client.produce("nowhere", 1, &["x"]).unwrap().error_code,
        3,
        "UNKNOWN_TOPIC_OR_PARTITION"
    );
    assert_eq!(
        client.fetch(TOPIC, 5, epoch, 0).unwrap().error_code,
        1,
        "OFFSET_OUT_OF_RANGE"
    );
    assert_eq!(
        client.fetch(TOPIC, 0, epoch + 1, 0).unwrap().error_code,
        75,
        "UNKNOWN_LEADER_EPOCH"
    );
    assert_eq!(client.produce(TOPIC, 1, &["b", "c"]).unwrap().base_offset, 1);
    assert_eq!(read_all(&cluster), ["a", "b", "c"]);
}
