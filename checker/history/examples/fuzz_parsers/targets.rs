//! What is fuzzed: a plain function over bytes for each parser. It panics where something is wrong.

use super::{mutation::mutated, random::Random, seeds};
use history::{Entry, Format, Header, Op, ReadError, SCHEMA, pairs, read, read_foreign};
use std::io::{BufRead, BufReader};

/// The input of a seed.
pub fn input(format: Format, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let (seeds, tokens) = seeds::of(format);
    mutated(&mut random, &seeds, tokens)
}

/// Reads the bytes as the format, in two ways that must agree, and pairs what was read.
pub fn run(format: Format, bytes: &[u8]) {
    Format::guess(bytes, "");
    let whole = all(format, bytes);
    let in_pieces = all(format, BufReader::with_capacity(7, bytes));
    assert_eq!(
        told(&whole),
        told(&in_pieces),
        "how the bytes arrive changes the outcome"
    );
    let count = whole.len();
    assert!(count <= 2 * bytes.len() + 1, "more entries than bytes: {count}");
    assert!(pairs(whole).count() <= count, "more operations than entries");
    if format == Format::Ackall {
        own(bytes);
    }
}

fn all(format: Format, reader: impl BufRead) -> Vec<Result<Op, ReadError>> {
    let mut reader = read_foreign(format, reader);
    let read: Vec<_> = reader.by_ref().collect();
    assert!(reader.next().is_none(), "it goes on behind its end");
    let errors = read.iter().filter(|item| item.is_err()).count();
    let is_last = read.last().is_some_and(Result::is_err);
    assert!(errors == usize::from(is_last), "it goes on behind an error");
    read
}

fn told(read: &[Result<Op, ReadError>]) -> Vec<Result<&Op, String>> {
    read.iter()
        .map(|item| item.as_ref().map_err(ToString::to_string))
        .collect()
}

/// This project's own history is read as a reader of a few lines reads it; what was read is written and read again.
fn own(bytes: &[u8]) {
    let read_by_us = read(bytes).map(|history| (history.entries, history.dropped.map(|d| (d.line, d.bytes))));
    let literally = literally(bytes);
    match (&read_by_us, &literally) {
        (Ok(ours), Some(Ok(theirs))) => assert_eq!(ours, theirs),
        (Err(ours), Some(Err(theirs))) => assert_eq!(&ours.to_string(), theirs),
        (Err(ReadError::Header(_) | ReadError::Schema { .. }), None) => {}
        (ours, theirs) => panic!("read as {ours:?}, literally {theirs:?}"),
    }
    let Ok(history) = read(bytes) else { return };
    let mut again = serde_json::to_vec(&history.header).expect("a header is JSON");
    for entry in &history.entries {
        again.push(b'\n');
        again.extend(serde_json::to_vec(entry).expect("an entry is JSON"));
    }
    again.push(b'\n');
    let back = read(&again[..]).unwrap_or_else(|why| panic!("what was written is not read: {why}"));
    assert_eq!(back.entries, history.entries);
}

/// Entries, and the line and length of a torn last line.
type Literal = (Vec<Entry>, Option<(usize, usize)>);

/// Reads a history line by line, by serde alone. None where the header is wrong.
fn literally(bytes: &[u8]) -> Option<Result<Literal, String>> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let header: Header = serde_json::from_slice(lines.next()?.strip_suffix(b"\n")?).ok()?;
    if header.schema != SCHEMA {
        return None;
    }
    let mut entries: Vec<Entry> = Vec::new();
    for (number, line) in (2..).zip(lines) {
        if !line.ends_with(b"\n") {
            return Some(Ok((entries, Some((number, line.len())))));
        }
        let wrong = |why: String| Some(Err(ReadError::Line { line: number, why }.to_string()));
        let entry: Entry = match serde_json::from_slice(line) {
            Ok(entry) => entry,
            Err(error) => return wrong(error.to_string()),
        };
        let expected = entries.len() as u64;
        if entry.index != expected {
            return wrong(format!("index {} where {expected} was expected", entry.index));
        }
        if entries.last().is_some_and(|last| last.time > entry.time) {
            return wrong(format!("time {} is before the line above", entry.time));
        }
        entries.push(entry);
    }
    Some(Ok((entries, None)))
}
