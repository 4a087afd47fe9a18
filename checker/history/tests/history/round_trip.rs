//! Every line comes back as it was, and looks as documented.

use crate::samples;
use history::*;
use serde_json::json;

fn line(process: Process, kind: Kind, body: Body) -> serde_json::Value {
    serde_json::to_value(Entry {
        index: 3,
        time: 4,
        process,
        kind,
        body,
    })
    .unwrap()
}

#[test]
fn every_body_survives_json() {
    for entry in samples::entries() {
        let json = serde_json::to_string(&entry).unwrap();
        let back: Entry = serde_json::from_str(&json).unwrap_or_else(|why| panic!("{json}: {why}"));
        assert_eq!(back, entry, "{json}");
    }
}

#[test]
fn the_header_survives_json() {
    let header = samples::header();
    let json = serde_json::to_string(&header).unwrap();
    assert_eq!(serde_json::from_str::<Header>(&json).unwrap(), header);
    assert!(
        json.contains(r#""promises":["kip-966","no-bytes-lost","fsync","quorum"]"#),
        "{json}"
    );
}

#[test]
fn a_send_looks_as_documented() {
    let send = Send {
        key: samples::key(),
        value: 42,
        acks: -1,
        node: None,
        offset: Some(7),
        error: None,
    };
    let expected = json!({
        "index": 3, "time": 4, "process": 9, "type": "ok", "f": "send",
        "value": {
            "topic": "night", "id": "AAAAAAAAAAAAAAAAAAAAAQ", "partition": 1,
            "record": 42, "acks": -1, "offset": 7
        }
    });
    assert_eq!(line(Process::Client(9), Kind::Ok, Body::Send(send)), expected);
}

#[test]
fn a_poll_lists_offset_value_and_epoch() {
    let records = vec![
        Record {
            offset: 5,
            value: Some(42),
            epoch: 3,
        },
        Record {
            offset: 6,
            value: None,
            epoch: 3,
        },
    ];
    let poll = Poll {
        key: samples::key(),
        from: 5,
        node: None,
        last: false,
        records,
        high_watermark: None,
        log_start: None,
        error: None,
    };
    let json = line(Process::Client(0), Kind::Info, Body::Poll(poll));
    assert_eq!(json["value"]["records"], json!([[5, 42, 3], [6, null, 3]]));
    assert_eq!((&json["type"], &json["f"]), (&json!("info"), &json!("poll")));
}

#[test]
fn the_harness_is_named_and_clients_are_numbered() {
    let step = || {
        Body::Step(Step {
            name: "T0".into(),
            reached: false,
            text: "begins".into(),
        })
    };
    let process = |process| line(process, Kind::Ok, step())["process"].clone();
    assert_eq!(process(Process::Harness), json!("harness"));
    assert_eq!(process(Process::Nemesis), json!("nemesis"));
    assert_eq!(process(Process::Observer), json!("observer"));
    assert_eq!(process(Process::Client(12)), json!(12));
}

#[test]
fn an_end_of_a_process_says_how() {
    let event = |event| {
        let body = Body::Node(NodeProcess {
            node: 1,
            event,
            start: 2,
        });
        line(Process::Observer, Kind::Ok, body)["value"]["event"].clone()
    };
    assert_eq!(event(NodeEvent::StopAsked), json!({"is": "stop-asked"}));
    assert_eq!(
        event(NodeEvent::Exited { status: 1 }),
        json!({"is": "exited", "status": 1})
    );
    assert_eq!(
        event(NodeEvent::Killed { signal: None }),
        json!({"is": "killed", "signal": null})
    );
}

#[test]
fn an_unknown_field_is_taken_and_an_unknown_body_is_not() {
    let known = r#"{"index":0,"time":0,"process":1,"type":"ok","f":"stall","value":{"late_ms":1.0,"new":1},"more":2}"#;
    assert!(serde_json::from_str::<Entry>(known).is_ok());
    let unknown = known.replace("stall", "install");
    assert!(serde_json::from_str::<Entry>(&unknown).is_err());
}
