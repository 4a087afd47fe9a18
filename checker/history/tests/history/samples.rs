//! A header with everything, and an entry of every kind.

use history::*;
use std::collections::BTreeMap;

pub fn header() -> Header {
    let step = String::from("T0");
    let fault = String::from("power-cut");
    Header {
        schema: SCHEMA,
        ackall_version: "0.1.0".into(),
        started_at: "2026-01-01T00:00:00.000Z".into(),
        scenario: "last-replica-standing".into(),
        seed: 7,
        system: "reference".into(),
        promises: vec![
            Promise::Kip966,
            Promise::NoBytesLost,
            Promise::Fsync,
            Promise::Quorum,
        ],
        requirements: vec![
            Requirement::Acks { at_least: 1 },
            Requirement::AcksBefore {
                step: step.clone(),
                at_least: 2,
            },
            Requirement::AcksBetween {
                from: step.clone(),
                to: "T1".into(),
                at_least: 3,
            },
            Requirement::AckedRecordsTaken {
                fault: fault.clone(),
                at_least: 4,
            },
            Requirement::NoAckedRecordTaken { fault: fault.clone() },
            Requirement::FaultApplied { fault, at_least: 5 },
        ],
        topics: vec![TopicPlan {
            name: "night".into(),
            partitions: 2,
            replication_factor: 3,
            min_insync_replicas: 2,
            log_start_may_move: true,
        }],
        features: BTreeMap::from([("eligible.leader.replicas.version".into(), 1)]),
        server: Some(BTreeMap::from([(
            "log.flush.interval.messages".into(),
            "1".into(),
        )])),
    }
}

pub fn key() -> Key {
    Key {
        topic: "night".into(),
        id: "AAAAAAAAAAAAAAAAAAAAAQ".into(),
        partition: 1,
    }
}

/// One body at least of every variant, and of every event of a node.
pub fn bodies() -> Vec<Body> {
    let mut bodies = operations();
    bodies.extend(harness());
    bodies.extend(metadata());
    bodies.extend(nodes());
    bodies
}

fn operations() -> Vec<Body> {
    let send = Send {
        key: key(),
        value: 42,
        acks: -1,
        node: Some(0),
        offset: None,
        error: None,
    };
    let poll = Poll {
        key: key(),
        from: 5,
        node: Some(1),
        last: true,
        records: vec![
            Record {
                offset: 5,
                value: Some((1 << 53) - 1),
                epoch: 3,
            },
            Record {
                offset: 6,
                value: None,
                epoch: 4,
            },
        ],
        high_watermark: Some(7),
        log_start: Some(0),
        error: Some("NOT_LEADER_OR_FOLLOWER".into()),
    };
    let asked = ListOffsets {
        key: key(),
        which: LogEnd::Latest,
        node: 2,
        epoch: 3,
        offset: Some(9),
        error: None,
    };
    vec![
        Body::Send(send.clone()),
        Body::Send(Send {
            offset: Some(7),
            error: Some("NONE".into()),
            ..send
        }),
        Body::Poll(Poll {
            last: false,
            records: vec![],
            high_watermark: None,
            log_start: None,
            error: None,
            ..poll.clone()
        }),
        Body::Poll(poll),
        Body::ListOffsets(ListOffsets {
            which: LogEnd::Earliest,
            offset: None,
            ..asked.clone()
        }),
        Body::ListOffsets(asked),
        Body::FinalRead(FinalRead {
            key: key(),
            start: Some(0),
            end: Some(9),
            complete: true,
            reason: None,
        }),
        Body::FinalRead(FinalRead {
            key: key(),
            start: None,
            end: None,
            complete: false,
            reason: Some("late".into()),
        }),
    ]
}

fn harness() -> Vec<Body> {
    let fault = Fault {
        id: 1,
        name: "power-cut".into(),
        action: FaultAction::Inject,
        asked: "leader".into(),
        nodes: vec![0, 2],
        measured: BTreeMap::from([("lost_bytes".into(), 4096.0), ("took_ms".into(), 1.5)]),
        error: None,
    };
    let records = vec![LostRecords {
        topic: "night".into(),
        partition: 1,
        from: 5,
        to: 9,
    }];
    vec![
        Body::Fault(Fault {
            action: FaultAction::Heal,
            measured: BTreeMap::new(),
            error: Some("no".into()),
            ..fault.clone()
        }),
        Body::Fault(fault),
        Body::Step(Step {
            name: "T0".into(),
            reached: true,
            text: "broker 0 leaves the ISR".into(),
        }),
        Body::Stall(Stall { late_ms: 120.0 }),
        Body::Disk(DiskLoss {
            node: 2,
            fault: 1,
            bytes: 4096,
            files: 2,
            records,
        }),
    ]
}

fn metadata() -> Vec<Body> {
    let at = LogPlace::of(11, 10);
    let partition = PartitionState {
        key: key(),
        replicas: vec![0, 1, 2],
        isr: vec![0],
        elr: vec![1],
        last_known_elr: vec![2],
        leader: -1,
        leader_epoch: 4,
        partition_epoch: 9,
        recovering: true,
        elects: true,
        at,
    };
    let changes = [
        BrokerChange::Registered,
        BrokerChange::Fenced,
        BrokerChange::Unfenced,
        BrokerChange::ControlledShutdown,
        BrokerChange::Unregistered,
    ];
    let config = ConfigChange {
        resource_type: 2,
        resource: "night".into(),
        name: "min.insync.replicas".into(),
        value: Some("2".into()),
        at,
    };
    let mut bodies = vec![
        Body::Partition(PartitionState {
            recovering: false,
            elects: false,
            ..partition.clone()
        }),
        Body::Partition(partition),
        Body::Config(ConfigChange {
            value: None,
            ..config.clone()
        }),
        Body::Config(config),
        Body::Feature(FeatureLevel {
            name: "metadata.version".into(),
            level: 26,
            at,
        }),
        Body::TopicRemoved(TopicRemoved { id: key().id, at }),
        Body::QuorumLeader(QuorumLeader {
            leader: 100,
            epoch: 3,
            voters: vec![100, 101],
            at,
        }),
        Body::Voters(Voters {
            voters: vec![Voter {
                node: 100,
                directory: "zu4Zq".into(),
                endpoints: vec!["CONTROLLER://10.0.0.1:9093".into()],
            }],
            at: LogPlace::after_gap(12),
        }),
        Body::MetadataGap(MetadataGap {
            from: 5,
            to: 12,
            cause: GapCause::Snapshot,
        }),
        Body::MetadataGap(MetadataGap {
            from: 5,
            to: 12,
            cause: GapCause::Hole,
        }),
        Body::MetadataDiverged(MetadataDiverged {
            leader: 100,
            quorum_epoch: 3,
            trusted_offset: 12,
            trusted_epoch: 2,
            leader_offset: 8,
            leader_epoch: 1,
            from: 7,
        }),
        Body::MetadataUnread(MetadataUnread {
            record_type: Some(5),
            version: Some(9),
            hides: true,
            why: "it is newer".into(),
            at,
        }),
        Body::MetadataUnread(MetadataUnread {
            record_type: None,
            version: None,
            hides: false,
            why: "it is no record".into(),
            at,
        }),
        Body::Quorum(QuorumState {
            leader: 100,
            epoch: 3,
            high_watermark: 12,
        }),
    ];
    bodies.extend(changes.map(|change| {
        Body::Broker(BrokerState {
            broker: 1,
            epoch: 12,
            incarnation: "zu4Zq".into(),
            change,
            at,
        })
    }));
    bodies
}

fn nodes() -> Vec<Body> {
    let events = [
        NodeEvent::Started,
        NodeEvent::StopAsked,
        NodeEvent::Exited { status: 1 },
        NodeEvent::Killed { signal: Some(9) },
        NodeEvent::Killed { signal: None },
    ];
    events
        .map(|event| {
            Body::Node(NodeProcess {
                node: 1,
                event,
                start: 2,
            })
        })
        .to_vec()
}

/// All of it as a history's entries, by every kind of process and outcome.
pub fn entries() -> Vec<Entry> {
    let processes = [
        Process::Client(3),
        Process::Harness,
        Process::Nemesis,
        Process::Observer,
    ];
    let kinds = [Kind::Invoke, Kind::Ok, Kind::Fail, Kind::Info];
    let mut entries = Vec::new();
    for body in bodies() {
        for (process, kind) in processes.into_iter().zip(kinds) {
            let index = entries.len() as u64;
            entries.push(Entry {
                index,
                time: index * 10,
                process,
                kind,
                body: body.clone(),
            });
        }
    }
    entries
}

/// The bytes of a history.
pub fn bytes(header: &Header, entries: &[Entry]) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(header).unwrap();
    bytes.push(b'\n');
    for entry in entries {
        serde_json::to_writer(&mut bytes, entry).unwrap();
        bytes.push(b'\n');
    }
    bytes
}
