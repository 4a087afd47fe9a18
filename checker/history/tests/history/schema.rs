//! The JSON Schema takes what is written, and refuses what could not be read.

use crate::samples;
use serde_json::{Value, json};

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(history::JSON_SCHEMA).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "the schema is one itself");
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn every_line_that_is_written_is_valid() {
    let validator = validator();
    let header = serde_json::to_value(samples::header()).unwrap();
    let entries = samples::entries()
        .into_iter()
        .map(|entry| serde_json::to_value(entry).unwrap());
    for line in std::iter::once(header).chain(entries) {
        let errors: Vec<String> = validator
            .iter_errors(&line)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{line}: {errors:?}");
    }
}

#[test]
fn a_line_with_any_field_gone_is_refused_by_the_schema_where_the_reader_refuses_it() {
    let validator = validator();
    let mut refused = 0;
    for entry in samples::entries() {
        let whole = serde_json::to_value(entry).unwrap();
        for path in fields(&whole) {
            let mut line = whole.clone();
            remove(&mut line, &path);
            let is_read = serde_json::from_value::<history::Entry>(line.clone()).is_ok();
            // The schema is the stricter one: it names fields that are always written, null though they may be.
            assert!(is_read || !validator.is_valid(&line), "without {path:?}: {line}");
            refused += u64::from(!is_read);
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn wrong_types_and_names_are_refused() {
    let validator = validator();
    let entry = |f: &str, value: Value| json!({"index": 0, "time": 0, "process": 1, "type": "ok", "f": f, "value": value});
    assert!(validator.is_valid(&entry("stall", json!({"late_ms": 1.5}))));
    for wrong in [
        json!({}),
        json!([]),
        entry("stall", json!({"late_ms": "1.5"})),
        entry("install", json!({"late_ms": 1.5})),
        entry("step", json!({"late_ms": 1.5})),
        json!({"index": -1, "time": 0, "process": 1, "type": "ok", "f": "stall", "value": {"late_ms": 1}}),
        json!({"index": 0, "time": 0, "process": "ghost", "type": "ok", "f": "stall", "value": {"late_ms": 1}}),
        json!({"index": 0, "time": 0, "process": 1, "type": "done", "f": "stall", "value": {"late_ms": 1}}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

/// The paths of all fields, one or two deep.
fn fields(line: &Value) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (name, value) in line.as_object().into_iter().flatten() {
        paths.push(vec![name.clone()]);
        for inner in value.as_object().into_iter().flatten() {
            paths.push(vec![name.clone(), inner.0.clone()]);
        }
    }
    paths
}

fn remove(line: &mut Value, path: &[String]) {
    let (last, before) = path.split_last().unwrap();
    let parent = before.iter().fold(line, |value, name| &mut value[name]);
    parent.as_object_mut().unwrap().remove(last);
}
