//! DumpLogSegments: what Kafka reads in a file of the metadata log, against what we read in it.

use crate::jvm::Kafka;
use crate::names::{self, Named};
use serde_json::Value;
use std::fs;
use std::path::Path;
use storage::{Batches, Records};

/// A batch and its records, as one side reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Base offset, last offset, leader epoch, CRC.
    pub header: (i64, i64, i64, i64),
    /// Whether it holds control records.
    pub is_control: bool,
    /// Offset, and what stands there.
    pub records: Vec<(i64, Named)>,
}

/// A file as we read it.
pub fn ours(path: &Path) -> Vec<Batch> {
    let bytes = fs::read(path).unwrap();
    let batches = Batches::new(&bytes).map(|batch| {
        let (header, bytes) = batch.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let is_control = header.attributes.is_control();
        let named = |record: storage::Record<'_>| {
            let value = record.value.unwrap_or_default();
            let named = match is_control {
                true => names::control(record.key.unwrap_or_default(), value),
                false => names::metadata(value),
            };
            (record.offset, named)
        };
        let crc = u32::from_be_bytes(bytes[17..21].try_into().unwrap());
        let last = header.next_offset() - 1;
        Batch {
            header: (header.base_offset, last, header.leader_epoch.into(), crc.into()),
            is_control,
            records: Records::of(bytes)
                .unwrap()
                .map(|record| named(record.unwrap()))
                .collect(),
        }
    });
    batches.collect()
}

/// Files as Kafka reads them, each in the order of its lines.
///
/// # Errors
/// Where it finds something wrong.
pub fn theirs(kafka: &Kafka, files: &[&Path]) -> Result<Vec<Vec<Batch>>, String> {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let args = ["--cluster-metadata-decoder", "--files", &files.join(",")];
    let said = kafka.tool("org.apache.kafka.tools.DumpLogSegments", &args)?;
    parse(&said).map_err(|why| format!("{why}\n{said}"))
}

/// The one field that our codec passes over.
const PASSED_OVER: &str = "cordonedLogDirs";
/// Lines that only say where one is. The last two are said of every segment that does not begin at offset 0; of a
/// gap inside one, the number is another.
const SIGNPOSTS: [&str; 5] = [
    "Log starting offset: ",
    "Snapshot end offset: ",
    "KRaft bootstrap snapshot",
    "Non-consecutive offsets in ",
    "  -1 is followed by ",
];

fn parse(said: &str) -> Result<Vec<Vec<Batch>>, String> {
    let mut files: Vec<Vec<Batch>> = Vec::new();
    for line in said.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with("Dumping ") {
            files.push(Vec::new());
        } else if let Some(record) = line.strip_prefix("| ") {
            let batch = files.last_mut().and_then(|file| file.last_mut());
            batch
                .ok_or("a record outside a batch")?
                .records
                .push(parse_record(record)?);
        } else if line.starts_with("baseOffset: ") {
            files
                .last_mut()
                .ok_or("a batch outside a file")?
                .push(parse_batch(line)?);
        } else if !SIGNPOSTS.iter().any(|post| line.starts_with(post)) {
            return Err(format!("a line that should not be there: {line}"));
        }
    }
    Ok(files)
}

/// The word behind a name.
fn field<'a>(line: &'a str, name: &str) -> Result<&'a str, String> {
    line.split_once(&format!("{name}: "))
        .and_then(|(_, rest)| rest.split(' ').next())
        .ok_or_else(|| format!("no {name} in: {line}"))
}

fn number(line: &str, name: &str) -> Result<i64, String> {
    field(line, name)?
        .parse()
        .map_err(|why| format!("{name}: {why} in: {line}"))
}

fn parse_batch(line: &str) -> Result<Batch, String> {
    if field(line, "isvalid")? != "true" {
        return Err(format!("a batch that is not valid: {line}"));
    }
    Ok(Batch {
        header: (
            number(line, "baseOffset")?,
            number(line, "lastOffset")?,
            number(line, "partitionLeaderEpoch")?,
            number(line, " crc")?,
        ),
        is_control: field(line, "isControl")? == "true",
        records: Vec::new(),
    })
}

fn parse_record(line: &str) -> Result<(i64, Named), String> {
    let unreadable = || format!("a record that Kafka cannot read: {line}");
    let (_, told) = line.split_once("headerKeys: [] ").ok_or_else(unreadable)?;
    let (kind, json) = told.split_once([' ', ':']).ok_or_else(unreadable)?;
    let json = json.trim_start_matches([':', ' ']);
    let mut value: Value = serde_json::from_str(json).map_err(|why| format!("{why} in: {line}"))?;
    if let Some(data) = value.get_mut("data").and_then(Value::as_object_mut) {
        data.remove(PASSED_OVER);
    }
    Ok((number(line, "offset")?, (kind.to_owned(), value)))
}

/// Holds what Kafka reads in files against what we read there, record by record; how many records there were.
pub fn assert_same(kafka: &Kafka, files: &[&Path]) -> Vec<Named> {
    let theirs = theirs(kafka, files).unwrap();
    assert_eq!(theirs.len(), files.len(), "Kafka read another number of files");
    let mut all = Vec::new();
    for (path, theirs) in files.iter().zip(theirs) {
        let ours = ours(path);
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "batch {at} of {}", path.display());
        }
        assert_eq!(ours.len(), theirs.len(), "batches of {}", path.display());
        all.extend(
            ours.into_iter()
                .flat_map(|batch| batch.records)
                .map(|(_, named)| named),
        );
    }
    all
}

/// How many of some records are of a kind: a metadata record's type, or a control record's name.
pub fn count(records: &[Named], kind: &str) -> usize {
    let is = |(name, value): &&Named| name == kind || value["type"] == kind;
    records.iter().filter(is).count()
}

#[test]
fn what_kafka_complains_of_is_not_passed_over() {
    let batch =
        "baseOffset: 0 lastOffset: 0 count: 1 partitionLeaderEpoch: 1 isControl: false crc: 7 isvalid: true";
    let record = "| offset: 0 headerKeys: [] payload: {\"type\":\"NO_OP_RECORD\",\"version\":0,\"data\":{}}";
    let whole = format!("Dumping x.log\nLog starting offset: 0\n{batch}\n{record}\n");
    let read = parse(&whole).unwrap();
    assert_eq!((read.len(), read[0][0].records.len()), (1, 1));
    for (text, why) in [
        (whole.replace("isvalid: true", "isvalid: false"), "not valid"),
        (
            whole.clone() + "Found 12 invalid bytes at the end of x.log\n",
            "should not be there",
        ),
        (
            whole.clone() + "Non-consecutive offsets in x.log\n  3 is followed by 7\n",
            "should not be there",
        ),
        (
            whole.replace("payload: {", "payload: Could not deserialize {"),
            "expected value",
        ),
        (whole.replace("Dumping x.log\n", ""), "outside a file"),
        (whole.replace(batch, ""), "outside a batch"),
    ] {
        let found = parse(&text).unwrap_err();
        assert!(found.contains(why), "{found}");
    }
}
