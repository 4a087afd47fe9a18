//! kafka-metadata-quorum: what Kafka's admin client says of our quorum, against what ours says; and its orders.

use client::calls::{QuorumDescription, QuorumReplica};
use std::collections::BTreeMap;
use std::path::Path;

use crate::jvm::{Kafka, kafka};
use crate::reference::{CLUSTER_ID, PATIENCE, Reference};
use crate::support::until;
use crate::{dump, names};

const CLASS: &str = "org.apache.kafka.tools.MetadataQuorumCommand";

/// The names and values of `describe --status`.
fn status(kafka: &Kafka, via: &[&str]) -> BTreeMap<String, String> {
    let said = kafka
        .tool(CLASS, &[via, &["describe", "--status"]].concat())
        .unwrap();
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().to_owned()))
    };
    said.lines().filter_map(pair).collect()
}

/// The nodes, log ends and roles of `describe --replication`.
fn replication(kafka: &Kafka, via: &[&str]) -> Vec<(i32, i64, String)> {
    let said = kafka
        .tool(CLASS, &[via, &["describe", "--replication"]].concat())
        .unwrap();
    let mut lines = said.lines().skip_while(|line| !line.starts_with("NodeId"));
    let titles: Vec<&str> = lines
        .next()
        .unwrap_or_else(|| panic!("no table: {said}"))
        .split_whitespace()
        .collect();
    let column = |title: &str| titles.iter().position(|found| *found == title).unwrap();
    let (node, end, role) = (column("NodeId"), column("LogEndOffset"), column("Status"));
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (
            words[node].parse().unwrap(),
            words[end].parse().unwrap(),
            words[role].to_owned(),
        )
    };
    lines.filter(|line| !line.trim().is_empty()).map(row).collect()
}

/// The nodes of a list in `describe --status`: JSON, of numbers or of objects with an id.
fn nodes(list: &str) -> Vec<i64> {
    let list: Vec<serde_json::Value> =
        serde_json::from_str(list).unwrap_or_else(|why| panic!("{why}: {list}"));
    let mut nodes: Vec<i64> = list
        .iter()
        .map(|node| node.as_i64().or(node["id"].as_i64()).unwrap())
        .collect();
    nodes.sort_unstable();
    nodes
}

fn ids(replicas: &[QuorumReplica]) -> Vec<i64> {
    let mut ids: Vec<i64> = replicas.iter().map(|replica| replica.node.into()).collect();
    ids.sort_unstable();
    ids
}

/// Holds what Kafka's tool says, asked through `via`, against what our client was told before and after.
fn assert_same(kafka: &Kafka, cluster: &Reference, via: &[&str]) {
    let before = cluster.quorum();
    let status = status(kafka, via);
    let replication = replication(kafka, via);
    let after = cluster.quorum();
    let steady =
        |told: &QuorumDescription| (told.leader, told.epoch, ids(&told.voters), ids(&told.observers));
    assert_eq!(steady(&before), steady(&after), "an election came between");
    let told = |name: &str| {
        status
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {status:?}"))
    };
    assert_eq!(told("ClusterId"), CLUSTER_ID);
    assert_eq!(told("LeaderId"), &before.leader.to_string());
    assert_eq!(told("LeaderEpoch"), &before.epoch.to_string());
    let offsets = before.high_watermark..=after.high_watermark;
    assert!(
        offsets.contains(&told("HighWatermark").parse().unwrap()),
        "{status:?}, {offsets:?}"
    );
    assert_eq!(nodes(told("CurrentVoters")), ids(&before.voters));
    assert_eq!(nodes(told("CurrentObservers")), ids(&before.observers));

    let mut rows: Vec<(i64, &str)> = replication
        .iter()
        .map(|(node, _, role)| ((*node).into(), role.as_str()))
        .collect();
    rows.sort_unstable();
    let mut expected: Vec<(i64, &str)> = ids(&before.observers)
        .into_iter()
        .map(|id| (id, "Observer"))
        .collect();
    for id in ids(&before.voters) {
        expected.push((
            id,
            if id == i64::from(before.leader) {
                "Leader"
            } else {
                "Follower"
            },
        ));
    }
    expected.sort_unstable();
    assert_eq!(rows, expected);
    let end_of = |told: &QuorumDescription, node: i32| {
        let mut replicas = told.voters.iter().chain(&told.observers);
        replicas
            .find(|replica| replica.node == node)
            .unwrap()
            .log_end_offset
    };
    for (node, end, _) in &replication {
        let ends = end_of(&before, *node)..=end_of(&after, *node);
        assert!(ends.contains(end), "node {node} ends at {end}, not in {ends:?}");
    }
}

#[test]
fn kafkas_own_tool_describes_the_quorum() {
    let Some(kafka) = kafka("quorum") else { return };
    let cluster = Reference::start(kafka.folder(), 3, 1);
    cluster.create_topic(0, "night", &[&[0]], &[]);
    let controllers = cluster.controllers();
    let addresses: Vec<String> = controllers
        .iter()
        .map(|id| cluster.address(*id).to_string())
        .collect();
    // Through one that need not lead, and through all.
    for via in [addresses[0].clone(), addresses.join(",")] {
        assert_same(&kafka, &cluster, &["--bootstrap-controller", &via]);
    }
    assert_same(
        &kafka,
        &cluster,
        &["--bootstrap-server", &cluster.address(0).to_string()],
    );
}

/// The ids of the voters' folders, as `describe --status` has them.
fn voters_folders(kafka: &Kafka, via: &[&str]) -> Vec<String> {
    let list: Vec<serde_json::Value> = serde_json::from_str(&status(kafka, via)["CurrentVoters"]).unwrap();
    list.iter()
        .map(|voter| voter["directoryId"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn kafkas_own_tool_changes_the_voters() {
    let Some(kafka) = kafka("voters") else { return };
    let mut cluster = Reference::start_changing(kafka.folder(), 2, 1);
    let [first, second] = cluster.controllers()[..] else {
        panic!("two controllers were asked for")
    };
    cluster.create_topic(0, "night", &[&[0]], &[]);
    until("the second controller as an observer", PATIENCE, || {
        ids(&cluster.quorum().observers)
            .contains(&second.into())
            .then_some(())
    });
    let address = cluster.address(first).to_string();
    let via = ["--bootstrap-controller", address.as_str()];
    assert_same(&kafka, &cluster, &via);
    assert_eq!(voters_folders(&kafka, &via), [cluster.directory_id(first)]);

    let config = cluster.config(second);
    let added = ["--command-config", config.to_str().unwrap(), "add-controller"];
    kafka.tool(CLASS, &[&via[..], &added].concat()).unwrap();
    assert_eq!(ids(&cluster.quorum().voters), [first, second].map(i64::from));
    assert_same(&kafka, &cluster, &via);
    let both = [first, second].map(|id| cluster.directory_id(id));
    assert_eq!(voters_folders(&kafka, &via), both);

    // Enough for a snapshot with both, and the records after it.
    let many: Vec<&[i32]> = vec![&[0]; 20];
    cluster.create_topic(0, "day", &many, &[]);
    let (id, folder) = (
        second.to_string(),
        format!("--controller-directory-id={}", both[1]),
    );
    let removed = ["remove-controller", "--controller-id", &id, &folder];
    kafka.tool(CLASS, &[&via[..], &removed].concat()).unwrap();
    assert_eq!(ids(&cluster.quorum().voters), [i64::from(first)]);
    assert_same(&kafka, &cluster, &via);
    cluster.until_caught_up();
    cluster.stop();

    for id in [first, second] {
        let files = [
            cluster.metadata_files(id, "log"),
            cluster.metadata_files(id, "checkpoint"),
        ]
        .concat();
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        let records = dump::assert_same(&kafka, &files);
        let snapshots = dump::count(&records, "SnapshotHeader");
        assert!(snapshots > 0, "node {id} has no snapshot");
        assert_eq!(dump::count(&records, "SnapshotFooter"), snapshots);
        assert_eq!(dump::count(&records, "KRaftVersion"), snapshots);
        // One in each snapshot, and what the log still has of the changes.
        assert!(dump::count(&records, "KRaftVoters") > snapshots, "{records:#?}");
        let of_two = |(name, value): &&names::Named| {
            name == "KRaftVoters" && value["voters"].as_array().unwrap().len() == 2
        };
        assert!(records.iter().any(|record| of_two(&record)), "{records:#?}");
    }
}
