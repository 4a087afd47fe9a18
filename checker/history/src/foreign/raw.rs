//! An entry as a file has it, before what it leaves out is filled in.

use crate::{Call, Kind, Op, Process, Value};
use std::sync::Arc;

/// An entry as a file has it.
#[derive(Debug, PartialEq)]
pub(super) struct Raw {
    pub index: Option<u64>,
    pub time: Option<u64>,
    pub process: Process,
    pub kind: Option<Kind>,
    pub f: Arc<str>,
    pub value: Value,
    /// The key that Porcupine's key-value format has beside the value.
    pub key: Option<Value>,
    /// Which fields were seen, by the bit of [`Field`].
    seen: u8,
}

/// A field of an entry.
#[derive(Clone, Copy)]
enum Field {
    Index,
    Time,
    Process,
    Type,
    F,
    Value,
    Key,
}

impl Field {
    fn named(name: &[u8]) -> Option<Field> {
        match name {
            b"index" => Some(Field::Index),
            b"time" => Some(Field::Time),
            b"process" => Some(Field::Process),
            b"type" => Some(Field::Type),
            b"f" => Some(Field::F),
            b"value" => Some(Field::Value),
            b"key" => Some(Field::Key),
            _ => None,
        }
    }
}

/// What became of a field.
pub(super) enum Taken {
    /// It was taken.
    Yes,
    /// Entries have no such field that matters here.
    Unknown,
}

impl Raw {
    pub fn new(no_name: &Arc<str>) -> Raw {
        Raw {
            index: None,
            time: None,
            process: Process::Unnamed,
            kind: None,
            f: no_name.clone(),
            value: Value::Nil,
            key: None,
            seen: 0,
        }
    }

    /// Whether entries have a field of that name that matters here.
    pub fn has(name: &[u8]) -> bool {
        Field::named(name).is_some()
    }

    /// Takes a field in.
    ///
    /// # Errors
    /// What was expected, where the value does not fit, or the field was there before.
    pub fn take(&mut self, name: &[u8], value: Value) -> Result<Taken, String> {
        let Some(field) = Field::named(name) else {
            return Ok(Taken::Unknown);
        };
        let bit = 1 << field as u8;
        if self.seen & bit != 0 {
            let name = String::from_utf8_lossy(name);
            return Err(format!("{name} stands twice in one entry: expected it once"));
        }
        self.seen |= bit;
        match field {
            Field::Index => self.index = count("index", &value)?,
            Field::Time => self.time = count("time", &value)?,
            Field::Process => self.process = process(&value)?,
            Field::Type => self.kind = Some(kind(&value)?),
            Field::F => self.f = operation(value, &self.f)?,
            Field::Value => self.value = value,
            Field::Key => self.key = Some(value),
        }
        Ok(Taken::Yes)
    }

    /// Refuses an entry without what each has.
    ///
    /// # Errors
    /// What was expected, where a field is missing that each entry has.
    pub fn check(&self) -> Result<(), String> {
        match self.kind {
            Some(_) => Ok(()),
            None => Err("the entry has no type: expected invoke, ok, fail or info".into()),
        }
    }

    /// The entry at a place among all.
    pub fn into_op(self, place: u64) -> Op {
        Op {
            index: self.index.unwrap_or(place),
            time: self.time.unwrap_or(place),
            process: self.process,
            // Each reader has called `check`.
            kind: self.kind.unwrap_or(Kind::Info),
            body: Call {
                f: self.f,
                value: self.value,
            },
        }
    }
}

/// An index or a time: nothing where the file says nil or a negative number, as Jepsen does for what it does not know.
fn count(name: &str, value: &Value) -> Result<Option<u64>, String> {
    match value {
        Value::Nil => Ok(None),
        Value::Int(number) => Ok(u64::try_from(*number).ok()),
        // `as` saturates, and what is no number is 0.
        Value::Float(bits) => Ok(Some(f64::from_bits(*bits) as u64)),
        other => Err(format!("{name} is {}: expected a whole number", short(other))),
    }
}

/// A number is a client; so is a text of digits. Any other name is the nemesis, which no checker judges.
fn process(value: &Value) -> Result<Process, String> {
    match value {
        Value::Nil => Ok(Process::Unnamed),
        Value::Int(number) => Ok(Process::Client(*number as u64)),
        Value::Text(text) => match text.parse::<i64>() {
            Ok(number) => Ok(Process::Client(number as u64)),
            Err(_) => Ok(Process::Nemesis),
        },
        Value::Keyword(_) => Ok(Process::Nemesis),
        other => Err(format!(
            "process is {}: expected a whole number, or nemesis",
            short(other)
        )),
    }
}

/// The state of an entry, by its name.
pub(super) fn kind(value: &Value) -> Result<Kind, String> {
    match value.name() {
        Some("invoke") => Ok(Kind::Invoke),
        Some("ok") => Ok(Kind::Ok),
        Some("fail") => Ok(Kind::Fail),
        Some("info") => Ok(Kind::Info),
        _ => Err(format!(
            "type is {}: expected invoke, ok, fail or info",
            short(value)
        )),
    }
}

fn operation(value: Value, none: &Arc<str>) -> Result<Arc<str>, String> {
    match value {
        Value::Nil => Ok(none.clone()),
        Value::Text(name) | Value::Keyword(name) => Ok(name),
        other => Err(format!("f is {}: expected a name", short(&other))),
    }
}

/// How much of a value an error shows.
const SHOWN: usize = 60;

/// A value's beginning, for people.
pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
