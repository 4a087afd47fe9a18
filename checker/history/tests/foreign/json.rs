//! Jepsen's JSON, and cases.

use super::{int, list, ops, text};
use history::{Format, Kind, Process, Value, read_foreign};

const PLAIN: &str =
    r#"{"process": 1, "type": "ok", "f": "txn", "value": [["append", 5, 1], ["r", 5, null]]}"#;

#[test]
fn an_array_and_an_object_a_line_are_the_same_history() {
    let all = [
        format!("[{PLAIN},{PLAIN}]"),
        format!("\u{feff} [\r\n{PLAIN} ,\r\n{PLAIN}\r\n]\r\n"),
        format!("{PLAIN}\n{PLAIN}\n"),
    ];
    for file in all {
        let ops = ops(Format::JepsenJson, &file);
        assert_eq!(ops.len(), 2, "{file}");
        assert_eq!((ops[1].index, ops[1].time), (1, 1));
        assert_eq!((ops[1].process, ops[1].kind), (Process::Client(1), Kind::Ok));
        let append = list([text("append"), int(5), int(1)]);
        let read = list([text("r"), int(5), Value::Nil]);
        assert_eq!(
            (&*ops[1].body.f, &ops[1].body.value),
            ("txn", &list([append, read]))
        );
    }
    assert_eq!(ops(Format::JepsenJson, "[]"), vec![]);
}

#[test]
fn values_of_all_kinds_and_unknown_fields_are_read() {
    let file = r#"[{"type": "info", "process": "nemesis", "error": {"x": [1e99, "é"]},
        "value": {"a": 1.5, "b": "ä\n", "c": true, "1": -9223372036854775808}}]"#;
    let op = ops(Format::JepsenJson, file).remove(0);
    let value = &op.body.value;
    assert_eq!(op.process, Process::Nemesis);
    assert_eq!(value.get("a"), Some(&Value::Float(1.5_f64.to_bits())));
    assert_eq!(value.get("b"), Some(&text("ä\n")));
    assert_eq!(value.get("c"), Some(&Value::Bool(true)));
    assert_eq!(value.get("1"), Some(&int(i64::MIN)));
}

#[test]
fn a_case_tells_its_model_and_options_before_its_entries() {
    let file = r#"{"model": "kafka", "note": [1, 2], "options": {"ww-deps": false, "n": 3},
        "history": [
        {"index": 0, "time": 5, "process": 1, "type": "invoke", "f": "poll", "value": [["poll"]]},
        {"index": 1, "time": 6, "process": 1, "type": "ok", "f": "poll", "value": [["poll", {"7": [[0, 9]]}]]}
        ], "seed": 12}"#;
    let mut reader = read_foreign(Format::CaseJson, file.as_bytes());
    assert_eq!(reader.model(), Some("kafka"));
    let options = [
        ("ww-deps".to_owned(), Value::Bool(false)),
        ("n".to_owned(), int(3)),
    ];
    assert_eq!(reader.options(), options);
    let ops: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    assert_eq!(ops.len(), 2);
    assert_eq!((ops[1].index, ops[1].time), (1, 6));
    assert!(reader.next().is_none());
}

#[test]
fn a_case_needs_neither_model_nor_options() {
    let reader = read_foreign(Format::CaseJson, &br#"{"history": []}"#[..]);
    assert_eq!((reader.model(), reader.options().len()), (None, 0));
    assert_eq!(reader.count(), 0);
}

#[test]
fn how_the_bytes_arrive_changes_nothing() {
    let file = format!("{{\"model\": \"m\", \"options\": {{\"n\": 12}}, \"history\": [{PLAIN}, {PLAIN}]}}");
    let whole = ops(Format::CaseJson, &file);
    for size in 1..9 {
        let reader = read_foreign(
            Format::CaseJson,
            std::io::BufReader::with_capacity(size, file.as_bytes()),
        );
        assert_eq!(reader.options(), [("n".to_owned(), int(12))]);
        assert_eq!(reader.collect::<Result<Vec<_>, _>>().unwrap(), whole);
    }
}
