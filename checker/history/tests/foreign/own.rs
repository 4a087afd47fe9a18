//! This project's own histories, as Kafka operations.

use super::{int, list, name, text};
use history::{
    Body, Entry, Format, Header, Key, Kind, Poll, Process, Record, SCHEMA, Send, Value, read_foreign,
};
use std::collections::BTreeMap;

fn history(bodies: Vec<(Kind, Body)>) -> Vec<u8> {
    let header = Header {
        schema: SCHEMA,
        ackall_version: "0.1.0".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        scenario: "test".into(),
        seed: 1,
        system: "reference".into(),
        promises: vec![],
        requirements: vec![],
        topics: vec![],
        features: BTreeMap::new(),
        server: None,
    };
    let mut bytes = serde_json::to_vec(&header).unwrap();
    for (index, (kind, body)) in bodies.into_iter().enumerate() {
        let index = index as u64;
        let entry = Entry {
            index,
            time: index * 10,
            process: Process::Client(4),
            kind,
            body,
        };
        bytes.push(b'\n');
        bytes.extend(serde_json::to_vec(&entry).unwrap());
    }
    bytes.push(b'\n');
    bytes
}

fn key() -> Key {
    Key {
        topic: "night".into(),
        id: "id".into(),
        partition: 2,
    }
}

fn send(acks: i16, offset: Option<i64>) -> Body {
    Body::Send(Send {
        key: key(),
        value: 9,
        acks,
        node: None,
        offset,
        error: None,
    })
}

fn poll(records: Vec<Record>) -> Body {
    Body::Poll(Poll {
        key: key(),
        from: 0,
        node: None,
        last: false,
        records,
        high_watermark: None,
        log_start: None,
        error: None,
    })
}

#[test]
fn sends_and_polls_become_kafkas() {
    let record = |value| Record {
        offset: 5,
        value,
        epoch: 1,
    };
    let bytes = history(vec![
        (Kind::Invoke, send(-1, None)),
        (Kind::Ok, send(-1, Some(5))),
        (Kind::Ok, send(1, Some(6))),
        (Kind::Invoke, poll(vec![])),
        (Kind::Ok, poll(vec![record(Some(9)), record(None)])),
    ]);
    let ops = read_foreign(Format::Ackall, &bytes[..]);
    let ops: Vec<_> = ops.collect::<Result<_, _>>().unwrap();
    let values: Vec<_> = ops.iter().map(|op| op.body.value.clone()).collect();
    let sent = |value| list([list([name("send"), text("night-2"), value])]);
    assert_eq!(values[0], sent(int(9)));
    assert_eq!(values[1], sent(list([int(5), int(9)])));
    assert_eq!(values[3], list([list([name("poll")])]));
    let records = list([list([int(5), int(9)]), list([int(5), Value::Nil])]);
    let read = Value::Map(Box::new([(text("night-2"), records)]));
    assert_eq!(values[4], list([list([name("poll"), read])]));
    assert_eq!(ops[2].kind, Kind::Info, "nothing was promised for acks=1");
    assert_eq!((ops[4].index, ops[4].time), (4, 40));
    let names: Vec<_> = ops.iter().map(|op| &*op.body.f).collect();
    assert_eq!(names, ["send", "send", "send", "poll", "poll"]);
}

#[test]
fn a_header_of_another_kind_is_the_first_item() {
    let mut reader = read_foreign(Format::Ackall, &b"{}\n"[..]);
    assert!(matches!(reader.next(), Some(Err(history::ReadError::Header(_)))));
    assert!(reader.next().is_none());
}
