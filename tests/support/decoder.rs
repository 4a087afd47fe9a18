//! An independent reading of brokers' logs: the backing folders of a finished run, decoded offline. It shares no code
//! with the reference cluster, the client or the protocol crate: Kafka's message format v2 by hand.

use super::history;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Offset to value, as one replica's log has them.
pub type Records = BTreeMap<i64, u64>;

/// Reads the records of one partition on one node of a run; none where the node has no such partition.
pub fn replica_log(run: &Path, node: i32, topic: &str, partition: i32) -> Records {
    let folder = run.join(format!("nodes/{node}/disk/{topic}-{partition}"));
    let mut segments: Vec<_> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    segments.sort();
    let mut records = Records::new();
    for segment in segments {
        read_segment(&fs::read(&segment).unwrap(), &mut records);
    }
    records
}

/// Reads batches until the end, or until one is torn or hurt: what follows that is no log.
fn read_segment(bytes: &[u8], records: &mut Records) {
    let mut at = 0;
    while let Some(batch) = batch_at(&bytes[at..]) {
        for (delta, payload) in batch.records() {
            if let Some(value) = value_of(payload) {
                records.insert(batch.base + delta, value);
            }
        }
        at += batch.bytes.len();
    }
}

struct Batch<'a> {
    base: i64,
    bytes: &'a [u8],
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn batch_at(bytes: &[u8]) -> Option<Batch<'_>> {
    let length = 12 + number(bytes.get(8..12)?) as usize;
    let batch = bytes.get(..length)?;
    let whole = length >= 61 && batch[16] == 2 && number(&batch[17..21]) as u32 == crc32c(&batch[21..]);
    whole.then_some(Batch {
        base: number(&batch[..8]) as i64,
        bytes: batch,
    })
}

impl<'a> Batch<'a> {
    /// Offset delta and value of each record. Control and compressed batches have none of ours.
    fn records(&self) -> Vec<(i64, &'a [u8])> {
        let attributes = number(&self.bytes[21..23]);
        let (compression, control) = (attributes & 7, attributes & 32);
        let mut reader = Reader(&self.bytes[61..]);
        let count = number(&self.bytes[57..61]);
        if compression != 0 || control != 0 {
            return Vec::new();
        }
        (0..count).map_while(|_| reader.record()).collect()
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A zigzag varint.
    fn varint(&mut self) -> Option<i64> {
        let mut raw = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            raw |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some((raw >> 1) as i64 ^ -((raw & 1) as i64));
            }
        }
        None
    }

    fn take(&mut self, n: i64) -> Option<&'a [u8]> {
        let n = usize::try_from(n.max(0)).ok()?;
        let taken = self.0.get(..n)?;
        self.0 = &self.0[n..];
        Some(taken)
    }

    /// length, attributes, timestamp delta, offset delta, key, value, headers.
    fn record(&mut self) -> Option<(i64, &'a [u8])> {
        let length = self.varint()?;
        let mut body = Reader(self.take(length)?);
        body.byte()?;
        body.varint()?;
        let delta = body.varint()?;
        let key = body.varint()?;
        body.take(key)?;
        let length = body.varint()?;
        Some((delta, body.take(length)?))
    }
}

/// The value in a payload of the append workload: "ackl", the value, the length.
fn value_of(payload: &[u8]) -> Option<u64> {
    let whole = payload.starts_with(b"ackl") && number(payload.get(12..16)?) == payload.len() as u64;
    whole.then(|| number(&payload[4..12]))
}

/// CRC-32C (Castagnoli), bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|n| (0..8).fold(n, |c, _| if c & 1 == 1 { c >> 1 ^ 0x82f6_3b78 } else { c >> 1 }))
        .collect();
    !bytes.iter().fold(!0u32, |c, byte| {
        table[((c ^ u32::from(*byte)) & 0xff) as usize] ^ c >> 8
    })
}

/// What the decoder found wrong in a finished run whose disks were kept: sentences.
pub fn check(run: &Path) -> Vec<String> {
    let facts = Facts::read(run);
    let logs: BTreeMap<i32, Records> = BROKERS
        .map(|node| (node, replica_log(run, node, &facts.topic, 0)))
        .into_iter()
        .collect();
    let values: BTreeMap<i32, BTreeSet<u64>> = logs
        .iter()
        .map(|(node, log)| (*node, log.values().copied().collect()))
        .collect();
    let mut wrong = Vec::new();
    for (offset, value) in &facts.acked {
        let lost = facts.lost.contains(&(*offset, *value));
        for (node, log) in &logs {
            if lost && values[node].contains(value) {
                wrong.push(format!(
                    "offset {offset}, value {value}: called lost, and in the log of {node}"
                ));
            }
            if !lost && facts.isr.contains(node) && log.get(offset) != Some(value) {
                wrong.push(format!(
                    "offset {offset}, value {value}: acked, and not in the log of {node}"
                ));
            }
        }
    }
    for (offset, value) in facts.lost.difference(&facts.acked) {
        wrong.push(format!(
            "offset {offset}, value {value}: called lost, and never acked"
        ));
    }
    if facts.acked.is_empty() {
        wrong.push("the history has no acked record".into());
    }
    if facts.isr.is_empty() {
        wrong.push("the history has no ISR".into());
    }
    wrong
}

/// The brokers of a run.
const BROKERS: [i32; 3] = [0, 1, 2];
/// The anomalies that are losses of acknowledged records.
pub const LOSSES: [&str; 2] = ["acked-then-lost", "acked-tail-lost"];

/// What the history and the anomalies say, read as plain JSON.
pub struct Facts {
    /// The topic.
    pub topic: String,
    /// (offset, value) of each acknowledged record.
    pub acked: BTreeSet<(i64, u64)>,
    /// (offset, value) of each record called lost.
    pub lost: BTreeSet<(i64, u64)>,
    /// The last ISR of partition 0.
    pub isr: Vec<i32>,
}

impl Facts {
    /// How many acknowledged records the anomalies of a run call lost; 0 where it has no history.
    pub fn lost_in(run: &Path) -> usize {
        if run.join("history.jsonl").is_file() {
            Facts::read(run).lost.len()
        } else {
            0
        }
    }

    /// Reads them from a run's folder.
    pub fn read(run: &Path) -> Facts {
        let lines = history::lines(run);
        let states = history::entries(&lines, "partition").filter(|entry| entry["value"]["partition"] == 0);
        let isr = states.last().and_then(|state| state["value"]["isr"].as_array());
        Facts {
            topic: lines[0]["topics"][0]["name"].as_str().unwrap().to_string(),
            acked: history::entries(&lines, "send").filter_map(acked).collect(),
            lost: lost(run, &lines),
            isr: isr
                .into_iter()
                .flatten()
                .map(|node| node.as_i64().unwrap() as i32)
                .collect(),
        }
    }
}

/// Offset and value of an acknowledged record.
fn acked(entry: &serde_json::Value) -> Option<(i64, u64)> {
    let value = &entry["value"];
    let acked = entry["f"] == "send" && entry["type"] == "ok" && value["acks"] == -1;
    acked.then(|| {
        (
            value["offset"].as_i64().unwrap(),
            value["record"].as_u64().unwrap(),
        )
    })
}

/// The records that the anomalies call lost. Each names the send that was acknowledged, and after it perhaps the one
/// that was given the same offset later: the first is the lost one.
fn lost(run: &Path, lines: &[serde_json::Value]) -> BTreeSet<(i64, u64)> {
    let text = fs::read_to_string(run.join("anomalies.jsonl")).unwrap_or_default();
    let anomalies = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let losses = anomalies.filter(|anomaly| LOSSES.contains(&anomaly["name"].as_str().unwrap()));
    let first = |loss: serde_json::Value| {
        let operations = loss["operations"].as_array().unwrap().iter();
        let mut entries = operations.map(|index| &lines[1 + index.as_u64().unwrap() as usize]);
        entries.find_map(acked)
    };
    losses.filter_map(first).collect()
}
