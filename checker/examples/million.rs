//! How long a million operations take to judge: `cargo run --release -p checker --example million`.
//!
//! Half a million acknowledged sends by eight producers, every record polled by a reader and by the final read.

use history::{
    Body, Entry, FinalRead, Header, History, Key, Kind, LogPlace, PartitionState, Poll, Process, Promise,
    Record, SCHEMA, Send, TopicPlan,
};
use std::collections::BTreeMap;
use std::time::Instant;

const PRODUCERS: u64 = 8;
const SENDS: u64 = 500_000;
/// Half of the operations are polls: one a record.
const POLLED: u64 = 1;

fn main() {
    let history = history();
    let entries = history.entries.len();
    let began = Instant::now();
    let verdict = checker::check(&history);
    let took = began.elapsed();
    println!(
        "{:?}: {} operations, {entries} entries, {took:?}",
        verdict.verdict, verdict.operations_total
    );
}

fn history() -> History {
    let key = Key {
        topic: "night".into(),
        id: "id".into(),
        partition: 0,
    };
    let mut entries = Vec::new();
    let mut add = |process, kind, body| {
        let index = entries.len() as u64;
        entries.push(Entry {
            index,
            time: index * 500,
            process,
            kind,
            body,
        });
    };
    add(Process::Observer, Kind::Ok, Body::Partition(state(&key)));
    for first in (0..SENDS).step_by(PRODUCERS as usize) {
        for value in first..first + PRODUCERS {
            add(
                Process::Client(value - first),
                Kind::Invoke,
                Body::Send(send(&key, value, None)),
            );
        }
        for value in first..first + PRODUCERS {
            add(
                Process::Client(value - first),
                Kind::Ok,
                Body::Send(send(&key, value, Some(value as i64))),
            );
        }
        for from in (first..first + PRODUCERS).step_by(POLLED as usize) {
            add(
                Process::Client(100),
                Kind::Invoke,
                Body::Poll(poll(&key, from, 0, false)),
            );
            add(
                Process::Client(100),
                Kind::Ok,
                Body::Poll(poll(&key, from, POLLED, false)),
            );
        }
    }
    for from in (0..SENDS).step_by(1000) {
        add(
            Process::Client(101),
            Kind::Invoke,
            Body::Poll(poll(&key, from, 0, true)),
        );
        add(
            Process::Client(101),
            Kind::Ok,
            Body::Poll(poll(&key, from, 1000, true)),
        );
    }
    let (start, end) = (Some(0), Some(SENDS as i64));
    let read = FinalRead {
        key,
        start,
        end,
        complete: true,
        reason: None,
    };
    add(Process::Harness, Kind::Ok, Body::FinalRead(read));
    History {
        header: header(),
        entries,
        dropped: None,
    }
}

fn send(key: &Key, value: u64, offset: Option<i64>) -> Send {
    Send {
        key: key.clone(),
        value,
        acks: -1,
        node: Some(0),
        offset,
        error: None,
    }
}

fn poll(key: &Key, from: u64, count: u64, last: bool) -> Poll {
    let records = (from..from + count).map(|value| Record {
        offset: value as i64,
        value: Some(value),
        epoch: 1,
    });
    Poll {
        key: key.clone(),
        from: from as i64,
        node: Some(0),
        last,
        records: records.collect(),
        high_watermark: None,
        log_start: Some(0),
        error: None,
    }
}

fn state(key: &Key) -> PartitionState {
    PartitionState {
        key: key.clone(),
        replicas: vec![0, 1, 2],
        isr: vec![0, 1, 2],
        elr: vec![],
        last_known_elr: vec![],
        leader: 0,
        leader_epoch: 1,
        partition_epoch: 1,
        recovering: false,
        elects: true,
        at: LogPlace::of(1, 1),
    }
}

fn header() -> Header {
    let topic = TopicPlan {
        name: "night".into(),
        partitions: 1,
        replication_factor: 3,
        min_insync_replicas: 2,
        log_start_may_move: false,
    };
    Header {
        schema: SCHEMA,
        ackall_version: "0.1.0".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        scenario: "million".into(),
        seed: 1,
        system: "reference".into(),
        promises: vec![Promise::Kip966],
        requirements: vec![],
        topics: vec![topic],
        features: BTreeMap::new(),
        server: None,
    }
}
