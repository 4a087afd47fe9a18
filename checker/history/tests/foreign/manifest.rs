//! Every file of a folder of third-party histories is read, and has what the folder's manifest says. The folder is
//! named by `ACKALL_HISTORIES`.

use flate2::read::GzDecoder;
use history::{Format, GUESS_BYTES, Kind, Op, Process, pairs, read_foreign};
use serde_json::Value as Json;
use std::fs;
use std::io::Read;
use std::path::Path;

/// A model that no checker judges; its file is not read.
const NOT_READ: &str = "comments";

#[test]
fn every_file_of_the_manifest_is_read_and_has_its_counts() {
    let Some(folder) = std::env::var_os("ACKALL_HISTORIES") else {
        println!("SKIPPED: ACKALL_HISTORIES names no folder of histories");
        return;
    };
    let folder = Path::new(&folder);
    let manifest = fs::read(folder.join("manifest.json")).unwrap();
    let records: Vec<Json> = serde_json::from_slice(&manifest).unwrap();
    let mut wrong = Vec::new();
    for record in &records {
        if let Err(why) = check(folder, record) {
            wrong.push(format!("{}: {why}", record["path"]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn check(folder: &Path, record: &Json) -> Result<(), String> {
    let path = record["path"].as_str().unwrap();
    let format: Format = record["format"].as_str().unwrap().parse()?;
    let mut bytes = fs::read(folder.join(path)).map_err(|e| e.to_string())?;
    if record["compressed"] == "gzip" {
        let mut plain = Vec::new();
        GzDecoder::new(&bytes[..])
            .read_to_end(&mut plain)
            .map_err(|e| e.to_string())?;
        bytes = plain;
    }
    let guessed = Format::guess(
        &bytes[..bytes.len().min(GUESS_BYTES)],
        path.trim_end_matches(".gz"),
    );
    if guessed != Some(format) {
        return Err(format!("guessed {guessed:?}, it is {format}"));
    }
    let ops: Vec<Op> = read_foreign(format, &bytes[..])
        .collect::<Result<_, _>>()
        .map_err(|e| e.to_string())?;
    let (count, invocations) = counts(format, &ops);
    if (Some(count), Some(invocations)) != (record["ops"].as_u64(), record["invocations"].as_u64()) {
        return Err(format!(
            "{count} and {invocations}, the manifest has {} and {}",
            record["ops"], record["invocations"]
        ));
    }
    if record["model"] == NOT_READ {
        return Ok(());
    }
    let clients = |op: &&Op| matches!(op.process, Process::Client(_) | Process::Unnamed);
    let invoked = ops
        .iter()
        .filter(clients)
        .filter(|op| op.kind == Kind::Invoke)
        .count();
    let operations = pairs(ops.iter().cloned().map(Ok));
    let operations: Vec<_> = operations.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    if operations.len() < invoked {
        return Err(format!(
            "{invoked} invocations became {} operations",
            operations.len()
        ));
    }
    Ok(())
}

/// Entries and invocations; reads and writes and transactions of formats of sessions.
fn counts(format: Format, ops: &[Op]) -> (u64, u64) {
    let invocations = ops.iter().filter(|op| op.kind == Kind::Invoke);
    let count = invocations.clone().count() as u64;
    if format.has_real_time() {
        return (ops.len() as u64, count);
    }
    let steps = invocations.filter_map(|op| op.body.value.list()).map(<[_]>::len);
    (steps.sum::<usize>() as u64, count)
}
