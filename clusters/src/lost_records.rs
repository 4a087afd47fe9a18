//! Which records a power cut took: the lost bytes of a disk, read as record batches.
//!
//! The disk saves what it loses as files named `<path>@<offset>` below one folder. Where the path is that of a
//! partition's segment (`<topic>-<partition>/<base offset>.log`), the bytes are record batches; only their headers
//! are read (Kafka's message format v2: base offset, length, leader epoch, magic, CRC, attributes, last offset
//! delta).

use history::LostRecords;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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

/// Reads the records that were lost, from the folder of one cut's lost bytes. An absent folder means that nothing
/// was lost.
///
/// # Errors
/// Where a file of the folder cannot be read.
pub fn lost_records(lost: &Path) -> io::Result<Vec<LostRecords>> {
    let mut runs = Vec::new();
    let mut folders = vec![lost.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some((topic, partition)) = segment_of(&path) {
                batches(&fs::read(&path)?, &topic, partition, &mut runs);
            }
        }
    }
    Ok(joined(runs))
}

/// The topic and partition of a saved piece of a segment.
fn segment_of(path: &Path) -> Option<(String, i32)> {
    let (name, _offset) = path.file_name()?.to_str()?.rsplit_once('@')?;
    if !name.ends_with(".log") {
        return None;
    }
    let folder = PathBuf::from(path.parent()?.file_name()?);
    let (topic, partition) = folder.to_str()?.rsplit_once('-')?;
    let partition = partition.parse().ok()?;
    (topic != METADATA_TOPIC).then(|| (topic.to_string(), partition))
}

/// The offsets of each batch in a piece of a segment. A piece that begins inside a batch is searched for the next
/// header; a batch whose end is missing was torn already, and counts for what its header says.
fn batches(bytes: &[u8], topic: &str, partition: i32, runs: &mut Vec<LostRecords>) {
    let mut at = 0;
    while at + HEADER <= bytes.len() {
        let Some((from, to, length)) = header(&bytes[at..]) else {
            at += 1;
            continue;
        };
        runs.push(LostRecords { topic: topic.into(), partition, from, to });
        at += length;
    }
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
            Some(last) if last.topic == run.topic && last.partition == run.partition && run.from <= last.to => {
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
        let mut runs = Vec::new();
        batches(&bytes, "t", 0, &mut runs);
        let ends: Vec<_> = joined(runs).iter().map(|r| (r.from, r.to)).collect();
        assert_eq!(ends, [(4, 7), (9, 10)]);
    }

    #[test]
    fn only_segments_of_topics_count() {
        let name = |p: &str| segment_of(Path::new(p));
        assert_eq!(name("/l/1/my-topic-3/00000000000000000000.log@17"), Some(("my-topic".into(), 3)));
        assert_eq!(name("/l/1/__cluster_metadata-0/00000000000000000000.log@0"), None);
        assert_eq!(name("/l/1/t-0/leader-epoch-checkpoint@0"), None);
        assert_eq!(name("/l/1/t-0/00000000000000000000.log"), None);
        assert!(lost_records(Path::new("/nonexistent/folder")).unwrap().is_empty());
    }

    #[test]
    fn bad_bytes_are_no_records() {
        let mut runs = Vec::new();
        batches(&[0xff; 500], "t", 0, &mut runs);
        batches(&[0; 500], "t", 0, &mut runs);
        batches(&[2; 60], "t", 0, &mut runs);
        assert!(runs.is_empty(), "{runs:?}");
    }
}
