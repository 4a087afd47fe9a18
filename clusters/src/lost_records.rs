//! Which records a power cut took: the lost bytes of a disk, read as record batches.
//!
//! The disk's ledger has a line for each cut: the files that lost bytes, which, and where those bytes were saved. Where
//! a file is a partition's segment (`<topic>-<partition>/<base offset>.log`), the bytes are record batches; only their
//! headers are read (Kafka's message format v2: base offset, length, leader epoch, magic, CRC, attributes, last offset
//! delta).

use history::LostRecords;
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::Path;

/// The ledger, in a node's home.
const LEDGER: &str = "disk-ledger.jsonl";
/// The folder that the ledger's saved files are in.
const LOST: &str = "lost";
/// Bytes of a batch before its records.
const HEADER: usize = 61;
/// Bytes of a batch before what its length field counts.
const LENGTH_AT: usize = 12;
/// Where the magic byte stands.
const MAGIC_AT: usize = 16;
/// Where the last offset delta stands.
const LAST_DELTA_AT: usize = 23;
/// The topic whose records are metadata, and no client's.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// A line of the ledger, as far as it matters here.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line {
    Cut(Cut),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Cut {
    fault: u64,
    bytes: u64,
    files: Vec<LostFile>,
}

#[derive(Deserialize)]
struct LostFile {
    path: String,
    /// Byte ranges, as many as `saved`.
    #[serde(default)]
    ranges: Vec<(u64, u64)>,
    saved: Vec<String>,
    /// Runs of written bytes of which a part was lost, saved whole.
    #[serde(default)]
    mixed: Vec<Mixed>,
}

#[derive(Deserialize)]
struct Mixed {
    from: u64,
    to: u64,
    saved: String,
}

/// What one cut took from one disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Bytes, over all files.
    pub bytes: u64,
    /// Files that lost bytes, or their names.
    pub files: u64,
    /// The records among them.
    pub records: Vec<LostRecords>,
}

/// Reads what one cut took, from the home of the node.
///
/// # Errors
/// Where the ledger or a saved file cannot be read.
pub fn lost(home: &Path, fault: u64) -> io::Result<Lost> {
    let mut runs = Vec::new();
    let mut lost = Lost::default();
    for line in fs::read_to_string(home.join(LEDGER))?.lines() {
        let Line::Cut(cut) = serde_json::from_str(line)? else {
            continue;
        };
        if cut.fault == fault {
            lost.bytes += cut.bytes;
            lost.files += cut.files.len() as u64;
        }
        for file in cut.files.iter().filter(|_| cut.fault == fault) {
            let Some((topic, partition)) = segment_of(Path::new(&file.path)) else {
                continue;
            };
            let read = |saved: &str| fs::read(home.join(LOST).join(saved));
            for found in file.lost(read)? {
                runs.push(LostRecords {
                    topic: topic.as_str().into(),
                    partition,
                    from: found.from,
                    to: found.to,
                });
            }
        }
    }
    lost.records = joined(runs);
    Ok(lost)
}

/// The topic and partition of a segment.
fn segment_of(path: &Path) -> Option<(String, i32)> {
    if path.extension()? != "log" {
        return None;
    }
    let (topic, partition) = path.parent()?.file_name()?.to_str()?.rsplit_once('-')?;
    let partition = partition.parse().ok()?;
    (topic != METADATA_TOPIC).then(|| (topic.to_string(), partition))
}

impl LostFile {
    /// The batches that lost a byte. Where only pages of a batch went, its header may be among what was kept: so runs
    /// that were lost in part are read whole, and the batches picked out that a lost range meets.
    fn lost(&self, read: impl Fn(&str) -> io::Result<Vec<u8>>) -> io::Result<Vec<Batch>> {
        let mut found = Vec::new();
        for (place, saved) in self.saved.iter().enumerate() {
            let range = self.ranges.get(place);
            let in_part = |run: &Mixed| range.is_some_and(|(from, to)| run.from <= *from && *to <= run.to);
            if !self.mixed.iter().any(in_part) {
                found.extend(batches(&read(saved)?));
            }
        }
        for run in &self.mixed {
            let met = |batch: &Batch| {
                let (at, end) = (run.from + batch.at, run.from + batch.at + batch.length);
                self.ranges.iter().any(|(from, to)| *from < end && at < *to)
            };
            found.extend(batches(&read(&run.saved)?).into_iter().filter(met));
        }
        Ok(found)
    }
}

/// A record batch in a piece of a segment.
struct Batch {
    /// Where it begins.
    at: u64,
    /// Bytes it has, or should have.
    length: u64,
    /// Its first offset.
    from: i64,
    /// The offset after its last.
    to: i64,
}

/// Each batch in a piece of a segment. A piece that begins inside a batch is searched for the next header; a batch
/// whose end is missing was torn already, and counts for what its header says.
fn batches(bytes: &[u8]) -> Vec<Batch> {
    let mut found = Vec::new();
    let mut at = 0;
    while at + HEADER <= bytes.len() {
        let Some((from, to, length)) = header(&bytes[at..]) else {
            at += 1;
            continue;
        };
        found.push(Batch {
            at: at as u64,
            length: length as u64,
            from,
            to,
        });
        at += length;
    }
    found
}

/// First offset, offset after the last, and length in bytes of the batch that begins here, if one does.
fn header(bytes: &[u8]) -> Option<(i64, i64, usize)> {
    let base = i64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    let length = i32::from_be_bytes(bytes.get(8..LENGTH_AT)?.try_into().ok()?);
    let last_delta = i32::from_be_bytes(bytes.get(LAST_DELTA_AT..LAST_DELTA_AT + 4)?.try_into().ok()?);
    let magic = *bytes.get(MAGIC_AT)?;
    let length = usize::try_from(length).ok()? + LENGTH_AT;
    let plausible = magic == 2 && base >= 0 && last_delta >= 0 && length >= HEADER;
    plausible.then_some((base, base + i64::from(last_delta) + 1, length))
}

/// Neighbouring runs made one.
fn joined(mut runs: Vec<LostRecords>) -> Vec<LostRecords> {
    runs.sort_by(|a, b| (&a.topic, a.partition, a.from).cmp(&(&b.topic, b.partition, b.from)));
    let mut joined: Vec<LostRecords> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last)
                if last.topic == run.topic && last.partition == run.partition && run.from <= last.to =>
            {
                last.to = last.to.max(run.to);
            }
            _ => joined.push(run),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(base: i64, records: i32, body: usize) -> Vec<u8> {
        let mut b = vec![0u8; HEADER + body];
        b[..8].copy_from_slice(&base.to_be_bytes());
        b[8..12].copy_from_slice(&((HEADER + body - LENGTH_AT) as i32).to_be_bytes());
        b[MAGIC_AT] = 2;
        b[LAST_DELTA_AT..LAST_DELTA_AT + 4].copy_from_slice(&(records - 1).to_be_bytes());
        b
    }

    #[test]
    fn whole_batches_after_a_torn_one_are_found_and_joined() {
        let mut bytes = batch(3, 1, 40)[30..].to_vec();
        bytes.extend(batch(4, 2, 10));
        bytes.extend(batch(6, 1, 10));
        bytes.extend(batch(9, 1, 10));
        let ends: Vec<_> = batches(&bytes).iter().map(|b| (b.from, b.to)).collect();
        assert_eq!(ends, [(4, 6), (6, 7), (9, 10)]);
        let run = |(from, to)| LostRecords {
            topic: "t".into(),
            partition: 0,
            from,
            to,
        };
        let joined = joined(ends.into_iter().map(run).collect());
        assert_eq!(joined, [run((4, 7)), run((9, 10))]);
    }

    #[test]
    fn a_batch_whose_header_was_kept_is_found_and_its_neighbours_are_not() {
        let mut run = batch(3, 1, 100);
        let second = run.len() as u64;
        run.extend(batch(4, 1, 100));
        let third = run.len() as u64;
        run.extend(batch(5, 1, 100));
        let lost = |ranges: Vec<(u64, u64)>| {
            let file = LostFile {
                path: "t-0/0.log".into(),
                saved: ranges.iter().map(|_| "piece".into()).collect(),
                ranges,
                mixed: vec![Mixed {
                    from: 1000,
                    to: 1000 + run.len() as u64,
                    saved: "whole".into(),
                }],
            };
            let read = |saved: &str| match saved {
                "whole" => Ok(run.clone()),
                other => panic!("{other} is in the whole already"),
            };
            let found = file.lost(read).unwrap();
            found.iter().map(|b| b.from).collect::<Vec<_>>()
        };
        let (second, third) = (1000 + second, 1000 + third);
        assert_eq!(lost(vec![(second + 80, second + 90)]), [4]);
        assert_eq!(lost(vec![(third - 1, third + 1)]), [4, 5]);
        assert_eq!(lost(vec![(1000, 1001), (third, third + 1)]), [3, 5]);
    }

    #[test]
    fn only_segments_of_topics_count() {
        let name = |p: &str| segment_of(Path::new(p));
        assert_eq!(
            name("my-topic-3/00000000000000000000.log"),
            Some(("my-topic".into(), 3))
        );
        assert_eq!(
            name("/my-topic-3/00000000000000000000.log"),
            Some(("my-topic".into(), 3))
        );
        assert_eq!(name("__cluster_metadata-0/00000000000000000000.log"), None);
        assert_eq!(name("t-0/leader-epoch-checkpoint"), None);
    }

    #[test]
    fn the_ledger_tells_which_cut_took_what() {
        let home = std::env::temp_dir().join(format!("ackall-lost-{}", std::process::id()));
        fs::create_dir_all(home.join("lost/7")).unwrap();
        fs::write(home.join("lost/7/a"), batch(3, 2, 10)).unwrap();
        let line = |fault: u64| {
            format!(
                r#"{{"kind":"cut","fault":{fault},"bytes":71,"files":[{{"path":"t-0/0.log","saved":["7/a"]}}]}}"#
            )
        };
        let other = r#"{"kind":"written_back","amount":3}"#;
        fs::write(home.join(LEDGER), format!("{}\n{other}\n{}\n", line(6), line(7))).unwrap();
        let found = lost(&home, 7);
        let none = lost(&home, 8);
        fs::remove_dir_all(&home).unwrap();
        let found = found.unwrap();
        assert_eq!((found.bytes, found.files), (71, 1));
        assert_eq!(
            found.records,
            [LostRecords {
                topic: "t".into(),
                partition: 0,
                from: 3,
                to: 5
            }]
        );
        assert_eq!(none.unwrap(), Lost::default());
    }

    #[test]
    fn bad_bytes_are_no_records() {
        for bad in [&[0xff; 500][..], &[0; 500], &[2; 60]] {
            assert!(batches(bad).is_empty());
        }
    }
}
