//! This project's own histories, as those of others are seen: sends and polls become Kafka operations, with one
//! micro-operation each. What is no client's keeps its place, and no checker judges it.
//!
//! A send that did not ask for acks=all is indeterminate, whatever was answered: nothing was promised for it.

use super::names::Names;
use super::raw::Raw;
use crate::{Body, Entries, Entry, Key, Kind, Poll, ReadError, Send, Value};
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

/// Acks that wait for all in-sync replicas.
const ACKS_ALL: i16 = -1;

/// Reads entries from this project's own histories.
#[derive(Debug)]
pub(super) struct Own<R> {
    /// The reader, until its header was read.
    reader: Option<R>,
    entries: Option<Entries<R>>,
    names: Names,
    keys: HashMap<Key, Arc<str>>,
}

impl<R: BufRead> Own<R> {
    pub fn new(reader: R) -> Own<R> {
        Own {
            reader: Some(reader),
            entries: None,
            names: Names::default(),
            keys: HashMap::new(),
        }
    }

    pub fn begin(&mut self) -> Result<(), ReadError> {
        if let Some(reader) = self.reader.take() {
            self.entries = Some(Entries::new(reader)?);
        }
        Ok(())
    }

    pub fn next(&mut self) -> Result<Option<Raw>, ReadError> {
        let entry = self.entries.as_mut().and_then(Iterator::next).transpose()?;
        Ok(entry.map(|entry| self.entry(entry)))
    }

    fn entry(&mut self, entry: Entry) -> Raw {
        let mut raw = Raw::new(self.names.none());
        raw.index = Some(entry.index);
        raw.time = Some(entry.time);
        raw.process = entry.process;
        raw.kind = Some(entry.kind);
        let (f, value) = match entry.body {
            Body::Send(send) => {
                if entry.kind == Kind::Ok && send.acks != ACKS_ALL {
                    raw.kind = Some(Kind::Info);
                }
                ("send", self.send(&send, entry.kind))
            }
            Body::Poll(poll) => ("poll", self.poll(&poll, entry.kind)),
            _ => ("other", Value::Nil),
        };
        raw.f = self.names.get(f);
        raw.value = value;
        raw
    }

    fn send(&mut self, send: &Send, kind: Kind) -> Value {
        let value = whole(send.value);
        let offset = send.offset.filter(|offset| *offset >= 0);
        let seen = match (kind, offset) {
            (Kind::Invoke, _) | (_, None) => value,
            (_, Some(offset)) => list([Value::Int(offset), value]),
        };
        let step = [Value::Keyword(self.names.get("send")), self.key(&send.key), seen];
        list([list(step)])
    }

    fn poll(&mut self, poll: &Poll, kind: Kind) -> Value {
        let name = Value::Keyword(self.names.get("poll"));
        if kind != Kind::Ok {
            return list([list([name])]);
        }
        let records = poll.records.iter();
        let records = records.map(|r| list([Value::Int(r.offset), r.value.map_or(Value::Nil, whole)]));
        let records = Value::List(records.collect());
        let read = Value::Map(Box::new([(self.key(&poll.key), records)]));
        list([list([name, read])])
    }

    fn key(&mut self, key: &Key) -> Value {
        if let Some(name) = self.keys.get(key) {
            return Value::Text(name.clone());
        }
        let name: Arc<str> = key.to_string().into();
        self.keys.insert(key.clone(), name.clone());
        Value::Text(name)
    }
}

/// A record's value: below 2^53 in histories that this project wrote.
fn whole(value: u64) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn list<const N: usize>(elements: [Value; N]) -> Value {
    Value::List(Box::new(elements))
}
