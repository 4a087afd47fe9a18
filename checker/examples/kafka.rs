//! How long logs take to judge: `cargo run --release -p checker --example kafka -- [run|lines] [--sends N] [--batch N]`
//!
//! `run` makes a run of this project in memory: records sent one a request to sixteen partitions by eight producers,
//! and polled in batches until the end. `lines` makes JSON lines of the same records as Jepsen's workload has them,
//! sent and polled in batches, and judges them as they are read.

use checker::{Budget, ModelName, Options, judge};
use history::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

const PARTITIONS: u64 = 16;
const PRODUCERS: u64 = 8;
/// Values of one producer lie apart from those of the next, as in real runs.
const VALUES_OF_A_PRODUCER: u64 = 1_000_000_000;

fn main() -> Result<(), String> {
    let (mut sends, mut batch, mut what) = (1_000_000, 100, vec!["run", "lines"]);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        let mut number = || {
            rest.next()
                .and_then(|n| n.parse::<u64>().ok())
                .ok_or(format!("{argument} N"))
        };
        match argument {
            "--sends" => sends = number()?,
            "--batch" => batch = number()?,
            "run" | "lines" => what = vec![argument],
            _ => return Err(format!("{argument} is none of run, lines, --sends, --batch")),
        }
    }
    if what.contains(&"run") {
        run(sends, batch);
    }
    if what.contains(&"lines") {
        lines(sends, batch);
    }
    Ok(())
}

/// The best of three.
fn best(mut work: impl FnMut()) -> Duration {
    let times = (0..3).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed()
    });
    times.min().unwrap_or_default()
}

fn run(sends: u64, batch: u64) {
    let history = made(sends, batch);
    let took = best(|| {
        let verdict = checker::check(&history);
        assert!(verdict.anomalies.is_empty(), "{:?}", verdict.anomalies);
    });
    println!("run: {sends} records sent, as many polled in batches of {batch}: judged in {took:.2?}");
}

fn made(sends: u64, batch: u64) -> History {
    let keys: Vec<Key> = (0..PARTITIONS as i32)
        .map(|partition| Key {
            topic: "night".into(),
            id: "id".into(),
            partition,
        })
        .collect();
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
    for key in &keys {
        add(Process::Observer, Kind::Ok, Body::Partition(state(key)));
    }
    let mut logs = vec![Vec::new(); keys.len()];
    for first in (0..sends).step_by(PRODUCERS as usize) {
        let ends = (first + PRODUCERS).min(sends);
        for kind in [Kind::Invoke, Kind::Ok] {
            for number in first..ends {
                let producer = number % PRODUCERS;
                let place = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize;
                let value = producer * VALUES_OF_A_PRODUCER + number / PRODUCERS;
                let offset = (kind == Kind::Ok).then_some(logs[place].len() as i64);
                if offset.is_some() {
                    logs[place].push(value);
                }
                let send = Send {
                    key: keys[place].clone(),
                    value,
                    acks: -1,
                    node: Some(0),
                    offset,
                    error: None,
                };
                add(Process::Client(producer), kind, Body::Send(send));
            }
        }
    }
    for (key, log) in keys.iter().zip(&logs) {
        for (number, values) in log.chunks(batch.max(1) as usize).enumerate() {
            let from = (number as u64 * batch) as i64;
            let mut poll = Poll {
                key: key.clone(),
                from,
                node: Some(0),
                last: true,
                records: Vec::new(),
                high_watermark: None,
                log_start: Some(0),
                error: None,
            };
            add(Process::Client(100), Kind::Invoke, Body::Poll(poll.clone()));
            let records = (from..).zip(values).map(|(offset, value)| Record {
                offset,
                value: Some(*value),
                epoch: 1,
            });
            poll.records = records.collect();
            add(Process::Client(100), Kind::Ok, Body::Poll(poll));
        }
        let read = FinalRead {
            key: key.clone(),
            start: Some(0),
            end: Some(log.len() as i64),
            complete: true,
            reason: None,
        };
        add(Process::Harness, Kind::Ok, Body::FinalRead(read));
    }
    History {
        header: header(),
        entries,
        dropped: None,
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
        partitions: PARTITIONS as i32,
        replication_factor: 3,
        min_insync_replicas: 2,
        log_start_may_move: false,
    };
    Header {
        schema: SCHEMA,
        ackall_version: "0.1.0".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        scenario: "kafka".into(),
        seed: 1,
        system: "reference".into(),
        promises: vec![Promise::Kip966],
        requirements: vec![],
        topics: vec![topic],
        features: BTreeMap::new(),
        server: None,
    }
}

fn lines(sends: u64, batch: u64) {
    let text = text(sends, batch.max(1));
    let ops = || read_foreign(Format::JepsenJson, text.as_bytes());
    let read = best(|| ops().for_each(|op| assert!(op.is_ok(), "{op:?}")));
    let whole = best(|| {
        let judgement = judge(ModelName::Kafka, &Options::default(), &Budget::unlimited(), ops());
        assert!(judgement.is_ok_and(|judgement| judgement.anomalies.is_empty()));
    });
    println!(
        "lines: {sends} records sent and polled in batches of {batch}, {} MB: read in {read:.2?}, read and judged in {whole:.2?}",
        text.len() / 1_000_000
    );
}

fn text(sends: u64, batch: u64) -> String {
    let mut text = String::new();
    let mut logs = vec![Vec::new(); PARTITIONS as usize];
    let mut index = 0u64;
    let mut line = |text: &mut String, process: u64, kind: &str, f: &str, value: &str| {
        let time = index * 1000;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{{\"index\":{index},\"time\":{time},\"process\":{process},\"type\":\"{kind}\",\"f\":\"{f}\",\"value\":[{value}]}}"
        );
        index += 1;
    };
    for first in (0..sends).step_by(batch as usize) {
        let (mut asked, mut done) = (String::new(), String::new());
        for value in first..(first + batch).min(sends) {
            let place = (value.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize;
            let comma = if value == first { "" } else { "," };
            let _ = write!(asked, "{comma}[\"send\",{place},{value}]");
            let _ = write!(done, "{comma}[\"send\",{place},[{},{value}]]", logs[place].len());
            logs[place].push(value);
        }
        let process = first / batch % PRODUCERS;
        line(&mut text, process, "invoke", "send", &asked);
        line(&mut text, process, "ok", "send", &done);
    }
    for (place, log) in logs.iter().enumerate() {
        for (number, values) in log.chunks(batch as usize).enumerate() {
            let from = number as u64 * batch;
            let pairs: Vec<String> = (from..)
                .zip(values)
                .map(|(offset, value)| format!("[{offset},{value}]"))
                .collect();
            line(&mut text, 100, "invoke", "poll", "[\"poll\"]");
            let polled = format!("[\"poll\",{{\"{place}\":[{}]}}]", pairs.join(","));
            line(&mut text, 100, "ok", "poll", &polled);
        }
    }
    text
}
