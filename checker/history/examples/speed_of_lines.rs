//! How fast this project's own histories are read: `cargo run --release -p history --example speed_of_lines --
//! [RECORDS TIMES stream|whole|serde]` (a million, three times, each by default).
//!
//! So many records are sent by eight producers, one an operation, and polled in batches of 100. The lines are made in
//! memory and read some times; the best time counts: as a stream, whole, and (a part of them) by serde alone.

use history::{Entries, Entry, read};
use std::fmt::Write;
use std::time::{Duration, Instant};

const RECORDS: u64 = 1_000_000;
const TIMES: u64 = 3;
const PRODUCERS: u64 = 8;
const BATCH: u64 = 100;
/// How many lines serde alone reads.
const BY_SERDE: usize = 100_000;

const HEADER: &str = r#"{"schema":1,"ackall_version":"0.1.0","started_at":"2026-01-01T00:00:00Z","scenario":"speed","seed":1,"system":"reference","promises":[],"requirements":[],"topics":[]}"#;

fn main() {
    let mut counts = std::env::args().skip(1).map_while(|count| count.parse().ok());
    let text = lines(counts.next().unwrap_or(RECORDS));
    let times = counts.next().unwrap_or(TIMES);
    let only = std::env::args().nth(3);
    let count = text.lines().count() - 1;
    let megabytes = text.len() as f64 / 1e6;
    println!("{count} lines, {megabytes:.0} MB");
    let measure = |how: &str, lines: usize, run: &dyn Fn()| {
        if only.as_deref().is_some_and(|name| name != how) {
            return;
        }
        let seconds = best(times, run).as_secs_f64();
        println!(
            "{how}: {seconds:.3} s, {:.0} ns a line",
            seconds * 1e9 / lines as f64
        );
    };
    measure("stream", count, &|| {
        let entries = Entries::new(text.as_bytes()).expect("a header");
        assert_eq!(entries.filter(Result::is_ok).count(), count);
    });
    measure("whole", count, &|| {
        let history = read(text.as_bytes()).expect("a history");
        assert_eq!(history.entries.len(), count);
    });
    let few: Vec<&str> = text.lines().skip(1).take(BY_SERDE).collect();
    measure("serde", few.len(), &|| {
        let read = few
            .iter()
            .filter(|line| serde_json::from_str::<Entry>(line).is_ok());
        assert_eq!(read.count(), few.len());
    });
}

fn best(times: u64, run: &dyn Fn()) -> Duration {
    let once = || {
        let began = Instant::now();
        run();
        began.elapsed()
    };
    (0..times).map(|_| once()).min().unwrap_or_default()
}

/// The history's lines.
fn lines(records: u64) -> String {
    let mut text = format!("{HEADER}\n");
    let mut index = 0;
    let mut entry = |process: u64, kind: &str, body: &str| {
        let time = index * 523;
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            r#"{{"index":{index},"time":{time},"process":{process},"type":"{kind}","f":{body}}}"#
        );
        index += 1;
    };
    const KEY: &str = r#""topic":"night","id":"AAAAAAAAAAAAAAAAAAAAAQ","partition":0"#;
    for first in (0..records).step_by(PRODUCERS as usize) {
        for value in first..records.min(first + PRODUCERS) {
            let body = format!(r#""send","value":{{{KEY},"record":{value},"acks":-1}}"#);
            entry(value % PRODUCERS, "invoke", &body);
        }
        for value in first..records.min(first + PRODUCERS) {
            let body =
                format!(r#""send","value":{{{KEY},"record":{value},"acks":-1,"node":1,"offset":{value}}}"#);
            entry(value % PRODUCERS, "ok", &body);
        }
    }
    for from in (0..records).step_by(BATCH as usize) {
        entry(
            PRODUCERS,
            "invoke",
            &format!(r#""poll","value":{{{KEY},"from":{from}}}"#),
        );
        let records: Vec<_> = (from..records.min(from + BATCH))
            .map(|o| format!("[{o},{o},3]"))
            .collect();
        let records = records.join(",");
        let body =
            format!(r#""poll","value":{{{KEY},"from":{from},"node":1,"records":[{records}],"log_start":0}}"#);
        entry(PRODUCERS, "ok", &body);
    }
    text
}
