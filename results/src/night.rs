//! Histories and verdicts made by hand, for tests: KIP-966's motivating failure, T0 to T4, without and with eligible
//! leader replicas.

use crate::result::{Environment, RunMeta};
use checker::{
    Anomaly, BadInterval, Instance, Operations, Outcome, PartitionPromise, PromiseReport, Reason, Verdict,
};
use history::*;
use std::collections::BTreeMap;

/// The topic of the night.
pub(crate) const TOPIC: &str = "night";

/// A history in the making. Times are seconds; entries are put in order at the end.
pub(crate) struct Maker {
    entries: Vec<Entry>,
    metadata: i64,
}

fn key() -> Key {
    Key {
        topic: TOPIC.into(),
        id: "AAAAAAAAAAAAAAAAAAAAAQ".into(),
        partition: 0,
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

impl Maker {
    fn new() -> Maker {
        Maker {
            entries: Vec::new(),
            metadata: 0,
        }
    }

    fn add(&mut self, at: f64, process: Process, kind: Kind, body: Body) {
        self.entries.push(Entry {
            index: 0,
            time: nanoseconds(at),
            process,
            kind,
            body,
        });
    }

    fn state(&mut self, at: f64, (leader, leader_epoch): (i32, i32), isr: &[i32], elr: &[i32]) {
        self.metadata += 1;
        let state = PartitionState {
            key: key(),
            replicas: vec![0, 1, 2],
            isr: isr.to_vec(),
            elr: elr.to_vec(),
            last_known_elr: Vec::new(),
            leader,
            leader_epoch,
            partition_epoch: self.metadata as i32,
            recovering: false,
            elects: true,
            at: LogPlace::of(self.metadata, self.metadata),
        };
        self.add(at, Process::Observer, Kind::Ok, Body::Partition(state));
    }

    fn step(&mut self, at: f64, name: &str, reached: bool, text: &str) {
        let step = Step {
            name: name.into(),
            reached,
            text: text.into(),
        };
        self.add(at, Process::Harness, Kind::Ok, Body::Step(step));
    }

    fn fault(
        &mut self,
        at: f64,
        id: u64,
        (name, node, asked): (&str, i32, &str),
        action: FaultAction,
        measured: &[(&str, f64)],
    ) {
        let fault = Fault {
            id,
            name: name.into(),
            action,
            asked: asked.into(),
            nodes: vec![node],
            measured: BTreeMap::new(),
            error: None,
        };
        self.add(at, Process::Nemesis, Kind::Invoke, Body::Fault(fault.clone()));
        let measured = measured
            .iter()
            .map(|(name, value)| (name.to_string(), *value))
            .collect();
        self.add(
            at + 0.02,
            Process::Nemesis,
            Kind::Ok,
            Body::Fault(Fault { measured, ..fault }),
        );
    }

    fn send(&mut self, at: f64, value: u64, kind: Kind, offset: Option<i64>) {
        let send = Send {
            key: key(),
            value,
            acks: -1,
            node: Some(0),
            offset: None,
            error: None,
        };
        let process = Process::Client(value % 4);
        self.add(at, process, Kind::Invoke, Body::Send(send.clone()));
        let error = (kind != Kind::Ok).then(|| "NOT_ENOUGH_REPLICAS".to_string());
        self.add(
            at + 0.004,
            process,
            kind,
            Body::Send(Send {
                offset,
                error,
                ..send
            }),
        );
    }

    fn poll(&mut self, at: f64, high_watermark: i64, last: bool) {
        let poll = Poll {
            key: key(),
            from: 0,
            node: Some(0),
            last,
            records: Vec::new(),
            high_watermark: Some(high_watermark),
            log_start: Some(0),
            error: None,
        };
        self.add(at, Process::Client(9), Kind::Ok, Body::Poll(poll));
    }

    pub(crate) fn history(mut self) -> History {
        self.entries.sort_by_key(|entry| entry.time);
        for (index, entry) in self.entries.iter_mut().enumerate() {
            entry.index = index as u64;
        }
        History {
            header: header(),
            entries: self.entries,
            dropped: None,
        }
    }
}

fn header() -> Header {
    Header {
        schema: history::SCHEMA,
        ackall_version: "0.1.0".into(),
        started_at: "2026-11-30T05:55:11Z".into(),
        scenario: "last-replica-standing".into(),
        seed: 7,
        system: "reference".into(),
        promises: vec![Promise::Kip966],
        requirements: vec![
            Requirement::AcksBefore {
                step: "T0".into(),
                at_least: 1000,
            },
            Requirement::AcksBetween {
                from: "T0".into(),
                to: "T1".into(),
                at_least: 200,
            },
            Requirement::AckedRecordsTaken {
                fault: "power-cut".into(),
                at_least: 1,
            },
        ],
        topics: vec![TopicPlan {
            name: TOPIC.into(),
            partitions: 1,
            replication_factor: 3,
            min_insync_replicas: 2,
            log_start_may_move: false,
        }],
        features: BTreeMap::new(),
        server: None,
    }
}

/// A history without an entry.
pub(crate) fn empty() -> History {
    Maker::new().history()
}

/// Offsets from here on were not synced when the last replica lost its power.
const UNSYNCED: i64 = 1400;

/// T0 to T4. Without eligible leader replicas the last replica leads again, and acknowledged records are gone.
pub(crate) fn night(with_elr: bool) -> History {
    let mut night = Maker::new();
    let elr = |members: &'static [i32]| if with_elr { members } else { &[] };
    night.state(0.9, (0, 0), &[0, 1, 2], &[]);
    steps(&mut night, with_elr);
    night.state(5.1, (0, 0), &[0, 2], &[]);
    night.state(7.4, (2, 1), &[2], elr(&[0]));
    night.state(9.6, (-1, 2), if with_elr { &[] } else { &[2] }, elr(&[0, 2]));
    if with_elr {
        night.state(11.3, (0, 3), &[0], &[2]);
        night.state(11.6, (0, 3), &[0, 1], &[]);
        night.state(14.1, (0, 3), &[0, 1, 2], &[]);
    } else {
        night.state(13.2, (2, 3), &[2], &[]);
        night.state(13.5, (2, 3), &[2, 0], &[]);
        night.state(14.1, (2, 3), &[0, 1, 2], &[]);
    }
    load(&mut night, with_elr);
    night.history()
}

fn steps(night: &mut Maker, with_elr: bool) {
    use FaultAction::{Heal, Inject};
    night.step(3.6, "T0", false, "a follower is cut off, and leaves the ISR");
    night.fault(
        3.61,
        0,
        ("cut-network", 1, "follower"),
        Inject,
        &[("seen_ms", 12.4), ("dropped_frames", 31.0)],
    );
    night.step(
        5.2,
        "T0",
        true,
        "cut-network on broker 1: leader 0, ISR [0,2], ELR []",
    );
    night.step(6.0, "T1", false, "the leader is cut off too; one replica is left");
    night.fault(
        6.01,
        1,
        ("cut-network", 0, "leader"),
        Inject,
        &[("seen_ms", 9.1), ("dropped_frames", 44.0)],
    );
    night.step(7.5, "T1", true, "cut-network on broker 0: leader 2, ISR [2]");
    night.step(
        7.6,
        "T2",
        false,
        "the last replica loses its power, and what it had not synced",
    );
    let lost = [("dead_ms", 3.204), ("lost_bytes", 451_072.0), ("lost_files", 3.0)];
    night.fault(7.61, 2, ("power-cut", 2, "last"), Inject, &lost);
    let killed = NodeProcess {
        node: 2,
        event: NodeEvent::Killed { signal: None },
        start: 1,
    };
    night.add(7.635, Process::Observer, Kind::Ok, Body::Node(killed));
    let records = vec![LostRecords {
        topic: TOPIC.into(),
        partition: 0,
        from: UNSYNCED,
        to: 1751,
    }];
    let loss = DiskLoss {
        node: 2,
        fault: 2,
        bytes: 451_072,
        files: 3,
        records,
    };
    night.add(7.636, Process::Observer, Kind::Ok, Body::Disk(loss));
    night.step(9.7, "T2", true, "power-cut on broker 2: leader none");
    night.step(9.8, "T3", false, "the two cut-off replicas come back");
    night.fault(9.81, 0, ("cut-network", 1, "first"), Heal, &[("seen_ms", 20.0)]);
    night.fault(9.9, 1, ("cut-network", 0, "second"), Heal, &[("seen_ms", 18.0)]);
    night.step(
        if with_elr { 12.0 } else { 11.4 },
        "T3",
        true,
        "cut-network of broker 1 healed",
    );
    night.step(12.3, "T4", false, "the last replica has power again");
    night.fault(12.31, 2, ("power-cut", 2, "last"), Heal, &[("accepts_ms", 410.0)]);
    night.step(14.2, "T4", true, "power-cut of broker 2 healed: ISR [0,1,2]");
}

/// Whether records are acknowledged at a time.
fn acks(at: f64, with_elr: bool) -> bool {
    let back = if with_elr { 11.6 } else { 13.5 };
    (1.0..3.6).contains(&at) || (5.1..6.0).contains(&at) || (back..15.5).contains(&at)
}

fn load(night: &mut Maker, with_elr: bool) {
    let (mut offset, mut value, mut at) = (0i64, 0u64, 1.0);
    let mut cut = false;
    while at < 15.5 {
        if !with_elr && !cut && at > 13.2 {
            offset = UNSYNCED;
            cut = true;
        }
        let acked = acks(at, with_elr);
        if acked {
            night.send(at, value, Kind::Ok, Some(offset));
            offset += 1;
        } else {
            night.send(at, value, Kind::Info, None);
        }
        value += 1;
        if value.is_multiple_of(20) && acked {
            night.poll(at + 0.002, offset, false);
        }
        at += if acked { 0.002 } else { 0.05 };
    }
    night.poll(16.0, offset, true);
    let read = FinalRead {
        key: key(),
        start: Some(0),
        end: Some(offset),
        complete: true,
        reason: None,
    };
    night.add(16.2, Process::Client(10), Kind::Ok, Body::FinalRead(read));
}

/// How many records the night without eligible leader replicas loses.
pub(crate) fn lost_records(history: &History) -> Vec<Instance> {
    let lost = history
        .entries
        .iter()
        .filter_map(|entry| match (&entry.body, entry.kind) {
            (Body::Send(send), Kind::Ok) if entry.time < nanoseconds(7.6) => send
                .offset
                .filter(|offset| *offset >= UNSYNCED)
                .map(|offset| (entry, send.value, offset)),
            _ => None,
        });
    lost.map(|(entry, value, offset)| Instance {
        operations: vec![entry.index - 1, entry.index],
        topic: Some(TOPIC.into()),
        partition: Some(0),
        offset: Some(offset),
        epoch: Some(0),
        acked_at: Some(entry.time),
        lost_at: Some(nanoseconds(13.6)),
        text: format!(
            "value {value} was acknowledged at offset {offset}, and the final read does not show it there"
        ),
    })
    .collect()
}

/// An anomaly of that many instances.
pub(crate) fn anomaly(name: &str, inside_promise: bool, instances: Vec<Instance>) -> Anomaly {
    Anomaly {
        name: name.into(),
        inside_promise,
        count: instances.len() as u64,
        follows: None,
        instances,
    }
}

/// A verdict with these anomalies, and these reasons beside them.
pub(crate) fn verdict(outcome: Outcome, anomalies: Vec<Anomaly>, lacks: &[(&str, &str)]) -> Verdict {
    let found = anomalies.iter().map(|a| match a.inside_promise {
        true => Reason::new(&a.name, format!("{}: {} inside the promise", a.name, a.count)),
        false => Reason::new(
            checker::codes::OUTSIDE_PROMISE,
            format!("{}: {} outside the promise", a.name, a.count),
        ),
    });
    Verdict {
        verdict: outcome,
        reasons: found.chain(lacks.iter().map(|(code, message)| Reason::new(*code, *message))).collect(),
        anomalies,
        promise: PromiseReport {
            name: "kip-966".into(),
            text: "a record acknowledged with acks=all survives as long as fewer than min.insync.replicas replicas \
                   stop uncleanly between two times at which the partition is whole"
                .into(),
            acks: "all".into(),
            min_isr: 2,
            spent_by: Vec::new(),
            partitions: vec![PartitionPromise {
                topic: TOPIC.into(),
                partition: 0,
                era: 0,
                bad: vec![BadInterval { from: 0, to: Some(nanoseconds(0.9)), why: "the partition was never whole".into() }],
            }],
        },
        operations: Operations { ok: 2000, fail: 0, info: 160 },
        operations_total: 2160,
    }
}

/// The verdict on [`night`].
pub(crate) fn judged(history: &History, with_elr: bool) -> Verdict {
    if with_elr {
        return verdict(Outcome::Pass, Vec::new(), &[]);
    }
    let lost = lost_records(history);
    let reassigned = lost.iter().take(300).cloned().collect();
    let reassigned = Anomaly {
        follows: Some("acked-then-lost".into()),
        ..anomaly("offset-reassigned", true, reassigned)
    };
    verdict(
        Outcome::Fail,
        vec![anomaly("acked-then-lost", true, lost), reassigned],
        &[],
    )
}

/// What the run knows of itself.
pub(crate) fn meta() -> RunMeta {
    RunMeta {
        scenario: "last-replica-standing".into(),
        seed: 7,
        system: "reference".into(),
        version: "0.1.0".into(),
        ackall_version: "0.1.0".into(),
        ground: "local".into(),
        command: "ackall run last-replica-standing --feature eligible.leader.replicas.version=0".into(),
        run: "last-replica-standing/20261130T055511Z-7".into(),
        path: "/home/someone/runs/last-replica-standing/20261130T055511Z-7".into(),
        history: "history.jsonl".into(),
        started_at: "2026-11-30T05:55:11Z".into(),
        duration_s: 17.31,
        boot_to_first_ack_s: Some(0.98),
        environment: Environment {
            kernel: "6.12.8".into(),
            arch: "x86_64".into(),
            cores: 2,
            memory_bytes: 8 << 30,
            as_root: false,
            stalls: 1,
        },
    }
}
