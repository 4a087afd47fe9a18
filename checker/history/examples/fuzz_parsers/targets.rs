//! What is fuzzed: a plain function over bytes for each parser. It panics where something is wrong.

use super::{mutation::mutated, random::Random, seeds};
use history::{Format, Op, ReadError, pairs, read, read_foreign};
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

/// What was read of this project's own history is written and read again.
fn own(bytes: &[u8]) {
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
