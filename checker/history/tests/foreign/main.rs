//! Histories that something else recorded: each format, what is malformed in it, pairing, and the files of others.

mod edn;
mod formats;
mod json;
mod junk;
mod logs;
mod malformed;
mod manifest;
mod own;
mod pairing;
mod sessions;

use history::{Format, Op, ReadError, Value, read_foreign};

/// All entries of a history.
fn ops(format: Format, text: &str) -> Vec<Op> {
    read_foreign(format, text.as_bytes())
        .collect::<Result<_, _>>()
        .unwrap_or_else(|why| panic!("{format}: {why}\n{text}"))
}

/// The error that a history ends in.
fn error(format: Format, bytes: &[u8]) -> String {
    match read_foreign(format, bytes).collect::<Result<Vec<_>, ReadError>>() {
        Err(error) => error.to_string(),
        Ok(ops) => panic!(
            "{format}: {} entries of {:?}",
            ops.len(),
            String::from_utf8_lossy(bytes)
        ),
    }
}

fn int(number: i64) -> Value {
    Value::Int(number)
}

fn name(name: &str) -> Value {
    Value::Keyword(name.into())
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn list<const N: usize>(elements: [Value; N]) -> Value {
    Value::List(Box::new(elements))
}
