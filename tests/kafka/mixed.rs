//! One quorum of two makes: Kafka's controller and ours vote for each other, lead each other, and hold one log.

use std::path::Path;

use crate::dump;
use crate::jvm::kafka;
use crate::reference::Reference;

/// Elections that Kafka's controller may lose before the test gives up.
const MAX_ROUNDS: usize = 8;

/// A leader that runs, and the word that all running voters have what it committed.
fn settled(cluster: &Reference<'_>, after: i32) -> i32 {
    let quorum = cluster.quorum();
    assert!(
        quorum.epoch > after,
        "epoch {} does not follow {after}",
        quorum.epoch
    );
    cluster.until_caught_up();
    quorum.epoch
}

#[test]
fn kafkas_controller_and_ours_are_one_quorum() {
    let Some(kafka) = kafka("mixed") else { return };
    let mut cluster = Reference::start_mixed(&kafka, 3, 1);
    let mut epoch = settled(&cluster, 0);
    cluster.create_topic(0, "night", &[&[0]], &[]);
    // Kafka's follows ours, grants votes, and wins in the end.
    let mut rounds = 0;
    let mut leader = cluster.quorum().leader;
    while !cluster.is_apache(leader) {
        rounds += 1;
        assert!(
            rounds <= MAX_ROUNDS,
            "Kafka's controller has lost {MAX_ROUNDS} elections"
        );
        cluster.kill(leader);
        epoch = settled(&cluster, epoch);
        cluster.start_node(leader);
        cluster.until_caught_up();
        leader = cluster.quorum().leader;
    }
    // Ours follow it; our broker takes its orders.
    cluster.create_topic(0, "day", &[&[0], &[0]], &[("retention.ms", "1234567")]);
    cluster.until_isr(0, "day", &[0]);
    cluster.until_caught_up();
    cluster.kill(leader);
    // One of ours leads on from what Kafka wrote, and Kafka's comes back as a follower.
    settled(&cluster, epoch);
    cluster.create_topic(0, "dawn", &[&[0]], &[]);
    cluster.until_isr(0, "dawn", &[0]);
    cluster.start_node(leader);
    let end = cluster.until_caught_up();
    let controllers = cluster.controllers();
    cluster.stop();

    let mut committed = Vec::new();
    for id in controllers {
        let files = cluster.metadata_files(id, "log");
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        let records = dump::assert_same(&kafka, &files);
        assert!(dump::count(&records, "LeaderChange") >= 3, "{records:#?}");
        assert_eq!(dump::count(&records, "TOPIC_RECORD"), 3, "{records:#?}");
        let batches = files.iter().flat_map(|file| dump::ours(file));
        committed.push(batches.filter(|batch| batch.header.1 < end).collect::<Vec<_>>());
    }
    // What is committed is the same everywhere, checksums included.
    assert!(committed[0].len() > 10, "{} batches", committed[0].len());
    for other in &committed[1..] {
        assert_eq!(other, &committed[0]);
    }
}
