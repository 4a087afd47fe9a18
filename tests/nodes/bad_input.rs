//! What a node refuses to go on with: each said in three lines, with nothing written over.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kafka_protocol::messages::begin_quorum_epoch_request as begin;
use kafka_protocol::messages::vote_request as vote;
use kafka_protocol::messages::{
    ApiKey, BeginQuorumEpochRequest, BeginQuorumEpochResponse, BrokerId, RequestHeader, ResponseHeader,
    TopicName, VoteRequest, VoteResponse,
};
use kafka_protocol::protocol::{Decodable, Encodable, Request, StrBytes};

use crate::night::{CLUSTER, Night, PATIENCE, Voters, format, start, until_said};
use crate::support::until;

/// Every file below a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// Starts a node, which must end by itself with this status, its last three lines saying these words.
fn refuses(config: &Path, code: i32, words: &[&str]) -> String {
    let (status, said) = start(config, &[], &config.with_extension("refused")).wait(PATIENCE);
    assert_eq!(status.code(), Some(code), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let error = lines[lines.len().saturating_sub(3)..].join("\n");
    assert_eq!(error.lines().count(), 3, "{said}");
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// The same, and the folder is as it was, byte by byte.
fn refuses_untouched(night: &Night, id: i32, words: &[&str]) {
    let before = files(&night.disk(id));
    refuses(&night.config(id), 1, words);
    assert_eq!(files(&night.disk(id)), before);
}

/// A controller that has led alone, stopped, with its log and its vote.
fn stopped(name: &str, voters: Voters) -> Night {
    let mut night = Night::started(name, voters, &[100]);
    night.described(100);
    night.stop(100);
    night
}

fn metadata(night: &Night, name: &str) -> PathBuf {
    night.disk(100).join("__cluster_metadata-0").join(name)
}

#[test]
fn a_torn_or_foreign_quorum_state_is_no_vote() {
    for voters in [Voters::Fixed, Voters::InTheLog] {
        let name = if voters == Voters::Fixed { "v0" } else { "v1" };
        let mut night = stopped(&format!("quorum-state-{name}"), voters);
        let path = metadata(&night, "quorum-state");
        let sound = fs::read_to_string(&path).unwrap();
        let torn = &sound[..sound.len() / 2];
        let future = sound
            .replace("\"data_version\":0", "\"data_version\":7")
            .replace("\"data_version\":1", "\"data_version\":7");
        let negative = sound.replace("\"leaderEpoch\":", "\"leaderEpoch\":-");
        for bad in ["", torn, "{}", "[1]", "\0\0\0\0", &future, &negative] {
            assert_ne!(bad, sound);
            fs::write(&path, bad).unwrap();
            refuses_untouched(&night, 100, &["quorum-state"]);
        }
        // Gone altogether, beside records, it is no new node's.
        fs::remove_file(&path).unwrap();
        refuses_untouched(&night, 100, &["quorum-state", "forgotten"]);
        // Restored, it goes on where it was.
        fs::write(&path, &sound).unwrap();
        night.start(100);
        assert_eq!(night.described(100)["leader"], 100);
    }
}

#[test]
fn a_snapshot_that_is_not_sound_is_not_served() {
    let mut night = Night::of("snapshot", Voters::InTheLog, &[100]);
    night.format_one(100);
    let first = metadata(&night, "00000000000000000000-0000000000.checkpoint");
    let sound = fs::read(&first).unwrap();
    for at in [20, sound.len() / 2, sound.len() - 2] {
        let mut bad = sound.clone();
        bad[at] ^= 1;
        fs::write(&first, &bad).unwrap();
        refuses_untouched(&night, 100, &["0000000000.checkpoint"]);
    }
    fs::write(&first, &sound[..sound.len() - 1]).unwrap();
    refuses_untouched(&night, 100, &["0000000000.checkpoint"]);
    fs::write(&first, &sound).unwrap();

    // One that the node took itself.
    let config = night.properties(100) + "metadata.log.max.snapshot.interval.ms=100\n";
    fs::write(night.config(100), config).unwrap();
    night.start(100);
    let taken = until("a snapshot", PATIENCE, || {
        let folder = fs::read_dir(night.disk(100).join("__cluster_metadata-0")).ok()?;
        let mut paths = folder.flatten().map(|entry| entry.path());
        paths.find(|path| {
            path.extension()
                .is_some_and(|extension| extension == "checkpoint")
                && *path != first
        })
    });
    night.stop(100);
    // It may have taken another since.
    let newest = files(taken.parent().unwrap())
        .into_keys()
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "checkpoint")
        })
        .max()
        .unwrap();
    let sound = fs::read(&newest).unwrap();
    let mut bad = sound.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    fs::write(&newest, &bad).unwrap();
    refuses_untouched(&night, 100, &["checkpoint", "is not sound"]);
    fs::write(&newest, &sound).unwrap();
    night.start(100);
    assert_eq!(night.described(100)["leader"], 100);
}

#[test]
fn a_torn_bootstrap_file_is_refused() {
    let night = Night::of("bootstrap", Voters::Fixed, &[100]);
    night.format_one(100);
    let path = night.disk(100).join("bootstrap.checkpoint");
    let sound = fs::read(&path).unwrap();
    fs::write(&path, &sound[..sound.len() - 1]).unwrap();
    refuses_untouched(&night, 100, &["bootstrap.checkpoint"]);
}

#[test]
fn a_folder_of_another_node_or_kind_of_quorum_is_refused() {
    let night = stopped("another", Voters::InTheLog);
    let config = night.properties(100);
    let other = night.path("other.properties");
    let before = files(&night.disk(100));
    for (text, code, word) in [
        (
            config.replace("node.id=100", "node.id=101"),
            1,
            "that of node 100",
        ),
        (
            config.replace(
                "controller.quorum.bootstrap.servers=",
                "controller.quorum.voters=100@",
            ),
            64,
            "controller.quorum.voters",
        ),
    ] {
        fs::write(&other, text).unwrap();
        refuses(&other, code, &[word]);
        assert_eq!(files(&night.disk(100)), before);
    }
}

#[test]
fn a_voter_is_named_once() {
    let night = Night::of("twice", Voters::Fixed, &[100, 101]);
    let text = night.properties(100).replace(",101@", ",100@");
    let config = night.path("twice.properties");
    fs::write(&config, text).unwrap();
    refuses(&config, 64, &["Voter 100 occurs twice"]);
    let formatted = format(&config, CLUSTER, &[]);
    assert_eq!(formatted.status.code(), Some(64));
    assert!(!night.disk(100).exists());
}

#[test]
fn a_node_of_another_cluster_joins_nothing() {
    for (name, id) in [("stranger-controller", 102), ("stranger-broker", 0)] {
        let mut night = Night::of(name, Voters::Fixed, &[100, 101, 102, 0]);
        for sound in [100, 101] {
            night.format_one(sound);
            night.start(sound);
        }
        let before = night.described(100);
        assert!(format(&night.config(id), "another", &[]).status.success());
        let formatted = files(&night.disk(id));
        refuses(&night.config(id), 1, &["formatted for cluster another"]);
        for (path, bytes) in formatted {
            assert_eq!(fs::read(&path).unwrap(), bytes, "{}", path.display());
        }
        assert!(!night.disk(id).join("__cluster_metadata-0/quorum-state").exists());
        // The others never noticed.
        let after = night.described(100);
        assert_eq!(
            (&after["leader"], &after["epoch"]),
            (&before["leader"], &before["epoch"])
        );
    }
}

#[test]
fn a_node_of_another_cluster_is_not_let_vote() {
    let night = Night::started("stranger-joins", Voters::InTheLog, &[100]);
    night.described(100);
    let stranger = Night::of("stranger-joining", Voters::InTheLog, &[101]);
    let asked = format!("controller.quorum.bootstrap.servers={}", night.address(100));
    let own = format!("controller.quorum.bootstrap.servers={}", stranger.address(101));
    fs::write(
        stranger.config(101),
        stranger.properties(101).replace(&own, &asked),
    )
    .unwrap();
    assert!(
        format(&stranger.config(101), "another", &["--no-initial-controllers"])
            .status
            .success()
    );
    refuses(&stranger.config(101), 1, &["formatted for cluster another"]);
    let via = night.address(100).to_string();
    let config = stranger.config(101).display().to_string();
    let output = crate::night::admin(&["add-voter", "--bootstrap-controller", &via, "--config", &config]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("INCONSISTENT_CLUSTER_ID"),
        "{output:?}"
    );
    assert_eq!(night.described(100)["voters"].as_array().unwrap().len(), 1);
}

#[test]
fn two_processes_do_not_share_a_folder() {
    let night = Night::started("one-folder", Voters::Fixed, &[100]);
    night.described(100);
    // At another address, so that it is not that which stops it.
    let other = night.path("other.properties");
    let listener = format!("listeners=CONTROLLER://{}", night.address(100));
    let text = night
        .properties(100)
        .replace(&listener, "listeners=CONTROLLER://127.0.0.1:0");
    fs::write(&other, text).unwrap();
    refuses(&other, 1, &["Another process runs in this folder"]);
    assert_eq!(night.described(100)["leader"], 100);
}

#[test]
fn a_second_controller_with_a_node_id_is_refused() {
    let night = Night::started("twin-controller", Voters::Fixed, &[100, 101, 102]);
    let before = night.described(100);
    let leader = before["leader"].as_i64().unwrap() as i32;
    for id in [100, 101, 102] {
        // Its own folder, and an address that no voter has.
        let config = night.path(&format!("twin-{id}.properties"));
        let text = night
            .properties(id)
            .replace(
                &format!("listeners=CONTROLLER://{}", night.address(id)),
                "listeners=CONTROLLER://127.0.0.1:0",
            )
            .replace(
                &night.disk(id).display().to_string(),
                &night.path(&format!("twin-{id}")).display().to_string(),
            );
        fs::write(&config, text).unwrap();
        assert!(format(&config, CLUSTER, &[]).status.success());
        let twin = start(&config, &[], &night.path(&format!("twin-{id}.said")));
        if id == leader {
            // Nobody answers it but as a leader's peers: it can do no more than ask.
            until("the leader's twin to ask, or to give up", PATIENCE, || {
                let said = twin.said();
                (said.contains("Prospective") || said.contains("FATAL")).then_some(())
            });
        } else {
            until_said("another folder has its node.id", || twin.said());
            until_said("is there twice", || night.said(leader));
        }
        drop(twin);
    }
    let after = night.described(100);
    assert_eq!(
        (&after["leader"], &after["epoch"]),
        (&before["leader"], &before["epoch"])
    );
}

#[test]
fn a_second_broker_with_a_node_id_is_refused() {
    let mut night = Night::started("twin-broker", Voters::Fixed, &[100, 0]);
    until_said("unfenced", || night.said(0));
    let config = night.path("twin.properties");
    let text = night
        .properties(0)
        .replace(&night.address(0).to_string(), "127.0.0.1:0")
        .replace(
            &night.disk(0).display().to_string(),
            &night.path("twin").display().to_string(),
        );
    fs::write(&config, text).unwrap();
    assert!(format(&config, CLUSTER, &[]).status.success());
    let twin = start(&config, &[], &night.path("twin.said"));
    until("the twin to be refused", PATIENCE, || {
        let said = twin.said();
        (said.contains("another folder has its node.id") || said.contains("registration refused"))
            .then_some(())
    });
    assert!(
        !twin.said().contains("registered in broker epoch"),
        "{}",
        twin.said()
    );
    drop(twin);
    night.stop(0);
}

/// Asks a node in Kafka's protocol.
fn ask<R: Request>(night: &Night, id: i32, key: ApiKey, version: i16, request: &R) -> R::Response {
    use std::io::{Read, Write};
    let header = RequestHeader::default()
        .with_request_api_key(key as i16)
        .with_request_api_version(version)
        .with_correlation_id(7)
        .with_client_id(Some(StrBytes::from_static_str("test")));
    let mut body = bytes::BytesMut::new();
    header
        .encode(&mut body, key.request_header_version(version))
        .unwrap();
    request.encode(&mut body, version).unwrap();
    let mut stream = std::net::TcpStream::connect(night.address(id)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&(body.len() as i32).to_be_bytes()).unwrap();
    stream.write_all(&body).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; i32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer).unwrap();
    let mut answer = bytes::Bytes::from(answer);
    ResponseHeader::decode(&mut answer, key.response_header_version(version)).unwrap();
    R::Response::decode(&mut answer, version).unwrap()
}

fn topic() -> TopicName {
    TopicName(StrBytes::from_static_str("__cluster_metadata"))
}

/// A candidate's request for a vote: its cluster, the voter it names, its epoch.
fn vote(night: &Night, cluster: &'static str, candidate: i32, voter: i32, epoch: i32) -> VoteResponse {
    let partition = vote::PartitionData::default()
        .with_replica_epoch(epoch)
        .with_replica_id(BrokerId(candidate))
        .with_replica_directory_id(uuid::Uuid::from_u128(1000))
        .with_last_offset_epoch(epoch - 1)
        .with_last_offset(1_000_000);
    let request = VoteRequest::default()
        .with_cluster_id(Some(StrBytes::from_static_str(cluster)))
        .with_voter_id(BrokerId(voter))
        .with_topics(vec![
            vote::TopicData::default()
                .with_topic_name(topic())
                .with_partitions(vec![partition]),
        ]);
    ask(night, 100, ApiKey::Vote, 2, &request)
}

#[test]
fn unknown_voters_are_told_so() {
    let night = Night::started("unknown-voter", Voters::Fixed, &[100]);
    let before = night.described(100);
    let epoch = before["epoch"].as_i64().unwrap() as i32;
    const INCONSISTENT_CLUSTER_ID: i16 = 104;
    const INVALID_VOTER_KEY: i16 = 125;
    assert_eq!(
        vote(&night, "another", 101, 100, epoch + 1).error_code,
        INCONSISTENT_CLUSTER_ID
    );
    let granted = |answer: &VoteResponse| {
        let partition = &answer.topics[0].partitions[0];
        (partition.error_code, partition.vote_granted)
    };
    // Meant for another voter, and from one that is none where voters are fixed.
    assert_eq!(
        granted(&vote(&night, CLUSTER, 101, 102, epoch + 1)),
        (INVALID_VOTER_KEY, false)
    );
    let (error, was_granted) = granted(&vote(&night, CLUSTER, 101, 100, epoch + 1));
    assert!(error != 0 && !was_granted, "{error}");
    // A leader that nobody has heard of.
    let partition = begin::PartitionData::default()
        .with_leader_id(BrokerId(109))
        .with_leader_epoch(epoch + 5);
    let request = BeginQuorumEpochRequest::default()
        .with_cluster_id(Some(StrBytes::from_static_str(CLUSTER)))
        .with_voter_id(BrokerId(100))
        .with_topics(vec![
            begin::TopicData::default()
                .with_topic_name(topic())
                .with_partitions(vec![partition]),
        ]);
    let answer: BeginQuorumEpochResponse = ask(&night, 100, ApiKey::BeginQuorumEpoch, 1, &request);
    let told = answer.topics.first().map(|topic| topic.partitions[0].error_code);
    assert!(
        answer.error_code != 0 || told.is_some_and(|error| error != 0),
        "{answer:?}"
    );
    let after = night.described(100);
    assert_eq!(
        (&after["leader"], &after["epoch"]),
        (&before["leader"], &before["epoch"])
    );
}
