//! Invocations and their completions.

use super::{int, ops};
use history::{Format, Kind, Operation, Process, ReadError, Value, pairs};

/// The operations of a history that is written as `PROCESS TYPE VALUE` a line.
fn paired(lines: &str) -> Result<Vec<Operation>, ReadError> {
    let entries = lines.lines().map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        format!(
            "{{:process {}, :type :{}, :f :write, :value {}}}",
            words[0], words[1], words[2]
        )
    });
    let file: Vec<_> = entries.collect();
    pairs(ops(Format::JepsenEdn, &file.join("\n")).into_iter().map(Ok)).collect()
}

/// Where operations begin and end, and how.
fn shape(operations: &[Operation]) -> Vec<(u64, Option<u64>, Kind)> {
    let shape = operations.iter();
    shape
        .map(|o| (o.invoked.position, o.completed.map(|m| m.position), o.outcome))
        .collect()
}

fn error(lines: &str) -> String {
    paired(lines).unwrap_err().to_string()
}

#[test]
fn each_comes_as_it_completes_and_the_rest_by_invocation() {
    let operations =
        paired("0 invoke 1\n1 invoke 2\n:nemesis info 0\n2 invoke 3\n1 ok 2\n3 invoke 4\n2 fail 3").unwrap();
    let expected = [
        (1, Some(4), Kind::Ok),
        (3, Some(6), Kind::Fail),
        (0, None, Kind::Info),
        (5, None, Kind::Info),
    ];
    assert_eq!(shape(&operations), expected);
}

#[test]
fn a_value_is_the_completions_only_where_it_happened() {
    let operations = paired("0 invoke nil\n0 ok 5\n0 invoke 6\n0 info nil\n0 invoke 7").unwrap();
    let values: Vec<_> = operations.iter().map(Operation::value).collect();
    assert_eq!(values, [&int(5), &int(6), &int(7)]);
    assert_eq!(operations[0].answered, Some(int(5)));
    assert_eq!(operations[1].answered, Some(Value::Nil));
    assert_eq!(operations[2].answered, None);
}

#[test]
fn a_client_may_go_on_after_an_info() {
    let operations = paired("0 invoke 1\n0 info 1\n0 invoke 2\n0 ok 2").unwrap();
    assert_eq!(
        shape(&operations),
        [(0, Some(1), Kind::Info), (2, Some(3), Kind::Ok)]
    );
}

#[test]
fn an_info_that_nothing_invoked_takes_no_time() {
    assert_eq!(shape(&paired("0 info 1").unwrap()), [(0, Some(0), Kind::Info)]);
}

#[test]
fn without_a_process_nothing_pairs() {
    let operations = paired("nil invoke 1\nnil ok 1\n0 invoke 2").unwrap();
    let expected = [
        (1, Some(1), Kind::Ok),
        (0, None, Kind::Info),
        (2, None, Kind::Info),
    ];
    assert_eq!(shape(&operations), expected);
    assert_eq!(operations[0].process, Process::Unnamed);
}

#[test]
fn two_open_operations_of_a_process_are_refused() {
    let why = error("0 invoke 1\n1 invoke 1\n0 invoke 2");
    assert!(
        why.starts_with("operation 2: process 0 invokes while its operation 0 is open"),
        "{why}"
    );
}

#[test]
fn a_completion_that_nothing_invoked_is_refused() {
    for kind in ["ok", "fail"] {
        let why = error(&format!("0 invoke 1\n7 {kind} 1"));
        assert!(
            why.starts_with("operation 1: process 7 completes what it never invoked"),
            "{why}"
        );
    }
}

#[test]
fn after_an_error_there_is_nothing() {
    let entries = ops(
        Format::JepsenEdn,
        "{:type :invoke} {:process 0 :type :ok} {:type :ok}",
    );
    let items: Vec<_> = pairs(entries.into_iter().map(Ok)).collect();
    assert_eq!((items.len(), items[0].is_err()), (1, true));
}
