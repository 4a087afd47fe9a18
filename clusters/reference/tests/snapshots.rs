//! Snapshots of the metadata: made, started from, fetched by those too far behind (KIP-630).

mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;

use kafka_protocol::messages::fetch_snapshot_request::{PartitionSnapshot, SnapshotId, TopicSnapshot};
use kafka_protocol::messages::{
    FetchSnapshotRequest, FetchSnapshotResponse, MetadataRequest, fetch_snapshot_response,
};
use support::client::{Client, name};
use support::{Cluster, until};

/// Small enough that a few topics make a snapshot, and segments go.
const OFTEN: &str = "metadata.log.max.record.bytes.between.snapshots=1500\nmetadata.log.segment.bytes=1024";
const SNAPSHOT_NOT_FOUND: i16 = 98;
const POSITION_OUT_OF_RANGE: i16 = 99;

fn create(cluster: &Cluster, topic: &str) {
    until(topic, || {
        let (error, _) = Client::connect(cluster.address(0))?.create_topic(topic, &[0], &[])?;
        // 36: an attempt before created it, and its answer came too late.
        (error == 0 || error == 36).then_some(())
    });
}

/// What a broker knows.
fn topics(cluster: &Cluster, broker: i32) -> Option<BTreeSet<String>> {
    let answer =
        Client::connect(cluster.address(broker))?.call(12, &MetadataRequest::default().with_topics(None))?;
    Some(
        answer
            .topics
            .iter()
            .map(|topic| topic.name.as_ref().unwrap().to_string())
            .collect(),
    )
}

fn until_topics(cluster: &Cluster, broker: i32, expected: &BTreeSet<String>) {
    until("every topic", || {
        topics(cluster, broker).filter(|known| known == expected)
    });
}

/// Files of a node's metadata log that end like this, in order.
fn files(cluster: &Cluster, id: i32, suffix: &str) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(cluster.file(id, "__cluster_metadata-0"));
    let paths = folder.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.to_string_lossy().ends_with(suffix))
        .collect();
    paths.sort();
    paths
}

/// The number that a file's name begins with.
fn offset(path: &std::path::Path) -> i64 {
    let name = path.file_name().unwrap().to_string_lossy();
    name[..20].parse().unwrap()
}

fn newest(cluster: &Cluster, id: i32) -> Option<i64> {
    files(cluster, id, ".checkpoint").last().map(|path| offset(path))
}

fn log_start(cluster: &Cluster, id: i32) -> i64 {
    files(cluster, id, ".log").first().map_or(0, |path| offset(path))
}

/// Creates topics until a node's log begins behind `beyond`; all their names.
fn create_until_log_starts_beyond(cluster: &Cluster, id: i32, beyond: i64, names: &mut BTreeSet<String>) {
    while log_start(cluster, id) <= beyond {
        let topic = format!("t{:03}", names.len());
        create(cluster, &topic);
        names.insert(topic);
        assert!(names.len() < 500, "no segment ever goes");
    }
}

fn active(cluster: &Cluster) -> i32 {
    // Whoever has a batch of its own is found by what it serves.
    until("the active controller", || {
        let controllers = cluster.ids().into_iter().filter(|id| *id >= 100);
        controllers
            .filter(|id| {
                fetch_snapshot(cluster, *id, (0, 0), 0)
                    .is_some_and(|answer| answer.error_code == SNAPSHOT_NOT_FOUND)
            })
            .max()
    })
}

fn fetch_snapshot(
    cluster: &Cluster,
    id: i32,
    snapshot: (i64, i32),
    position: i64,
) -> Option<fetch_snapshot_response::PartitionSnapshot> {
    let partition = PartitionSnapshot::default()
        .with_current_leader_epoch(-1)
        .with_snapshot_id(
            SnapshotId::default()
                .with_end_offset(snapshot.0)
                .with_epoch(snapshot.1),
        )
        .with_position(position);
    let topic = TopicSnapshot::default()
        .with_name(name("__cluster_metadata"))
        .with_partitions(vec![partition]);
    let request = FetchSnapshotRequest::default()
        .with_replica_id((-1).into())
        .with_max_bytes(100)
        .with_topics(vec![topic]);
    let answer: FetchSnapshotResponse = Client::connect(cluster.address(id))?.call(1, &request)?;
    answer.topics.into_iter().next()?.partitions.into_iter().next()
}

#[test]
fn followers_and_brokers_too_far_behind_catch_up_by_a_snapshot() {
    let mut cluster = Cluster::start(3, 2, OFTEN, &[]);
    let mut names = BTreeSet::new();
    create(&cluster, "t000");
    names.insert("t000".to_owned());
    until_topics(&cluster, 1, &names);
    let leader = active(&cluster);
    let others: Vec<i32> = [100, 101, 102].into_iter().filter(|id| *id != leader).collect();
    let behind = others[0];
    cluster.kill(behind);
    cluster.kill(1);
    let ends = [behind, 1].map(|id| log_start(&cluster, id));
    assert_eq!(ends, [0, 0]);
    create_until_log_starts_beyond(&cluster, leader, 60, &mut names);
    create_until_log_starts_beyond(&cluster, others[1], 60, &mut names);
    cluster.start_node(behind);
    cluster.start_node(1);
    until_topics(&cluster, 1, &names);
    // Both have thrown away what they had, for a snapshot that they never made.
    for id in [behind, 1] {
        until("a log that begins at the snapshot", || {
            let start = log_start(&cluster, id);
            (start > 60 && newest(&cluster, id)? >= start).then_some(())
        });
        assert!(files(&cluster, id, ".part").is_empty());
    }
    // The one that caught up leads: with the other gone it has all that is there.
    cluster.kill(leader);
    create(&cluster, "after");
    names.insert("after".to_owned());
    until_topics(&cluster, 1, &names);
    // One with nothing at all.
    cluster.replace_disk(leader);
    cluster.start_node(leader);
    until("a snapshot on the empty disk", || newest(&cluster, leader));
    cluster.kill(others[1]);
    create(&cluster, "last");
    names.insert("last".to_owned());
    until_topics(&cluster, 0, &names);
}

#[test]
fn a_start_takes_the_newest_snapshot_and_the_log_behind_it() {
    let mut cluster = Cluster::start(1, 1, OFTEN, &[]);
    let mut names = BTreeSet::new();
    create_until_log_starts_beyond(&cluster, 100, 0, &mut names);
    // The newest and the one before it.
    until("two snapshots", || {
        (files(&cluster, 100, ".checkpoint").len() == 2).then_some(())
    });
    create(&cluster, "after");
    names.insert("after".to_owned());
    let part = cluster.file(
        100,
        "__cluster_metadata-0/00000000000000000099-0000000001-0.checkpoint.part",
    );
    for _ in 0..2 {
        for id in cluster.ids() {
            cluster.kill(id);
        }
        std::fs::write(&part, b"unfinished").unwrap();
        for id in cluster.ids() {
            cluster.start_node(id);
        }
        until_topics(&cluster, 0, &names);
        assert!(!part.exists());
        let next = format!("t{:03}", names.len());
        create(&cluster, &next);
        names.insert(next);
    }
}

#[test]
fn a_snapshot_comes_by_time_too() {
    let cluster = Cluster::start(1, 1, "metadata.log.max.snapshot.interval.ms=100", &[]);
    create(&cluster, "night");
    for id in cluster.ids() {
        until("a snapshot", || newest(&cluster, id));
    }
}

#[test]
fn a_damaged_snapshot_is_refused_by_name_and_nothing_is_written() {
    let mut cluster = Cluster::start(1, 1, OFTEN, &[]);
    let mut names = BTreeSet::new();
    create_until_log_starts_beyond(&cluster, 100, 0, &mut names);
    for id in cluster.ids() {
        let path = until("a snapshot", || files(&cluster, id, ".checkpoint").pop());
        cluster.kill(id);
        let path = files(&cluster, id, ".checkpoint").pop().unwrap_or(path);
        let good = std::fs::read(&path).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        let before = contents(&cluster, id);
        cluster.start_node(id);
        let refused = cluster.outcome(id).unwrap_err().to_string();
        assert!(refused.contains(&*path.to_string_lossy()), "{refused}");
        assert_eq!(refused.lines().count(), 3, "{refused}");
        assert!(contents(&cluster, id) == before, "something was written");
        std::fs::write(&path, &good).unwrap();
        cluster.start_node(id);
    }
    until_topics(&cluster, 0, &names);
}

fn contents(cluster: &Cluster, id: i32) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = files(cluster, id, "").into_iter();
    paths
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn anyone_may_fetch_a_snapshot_that_is_there() {
    let cluster = Cluster::start(1, 1, OFTEN, &[]);
    create_until_log_starts_beyond(&cluster, 100, 0, &mut BTreeSet::new());
    let path = files(&cluster, 100, ".checkpoint").pop().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().to_string();
    let id = (offset(&path), name[21..31].parse().unwrap());
    let mut fetched: Vec<u8> = Vec::new();
    while fetched.len() < bytes.len() {
        let piece = fetch_snapshot(&cluster, 100, id, fetched.len() as i64).unwrap();
        assert_eq!((piece.error_code, piece.size), (0, bytes.len() as i64));
        assert!((1..=100).contains(&piece.unaligned_records.len()));
        fetched.extend(&piece.unaligned_records);
    }
    assert!(fetched == bytes);
    let code = |id, position| fetch_snapshot(&cluster, 100, id, position).unwrap().error_code;
    assert_eq!(code(id, bytes.len() as i64), POSITION_OUT_OF_RANGE);
    assert_eq!(code(id, -1), POSITION_OUT_OF_RANGE);
    assert_eq!(code((id.0 + 1, id.1), 0), SNAPSHOT_NOT_FOUND);
}
