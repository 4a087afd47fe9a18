//! Formats of sessions.

use super::{error, int, list, name, ops};
use history::{Format, Kind, Op, Process, Value, read_foreign};

fn step(f: &str, key: i64, value: Value) -> Value {
    list([name(f), int(key), value])
}

/// Sessions and values of the transactions, which were invoked and completed at once.
fn transactions(ops: &[Op]) -> Vec<(Process, Value)> {
    let pairs = ops.chunks(2).map(|pair| {
        let [invoke, ok] = pair else { panic!("{pair:?}") };
        assert_eq!((invoke.kind, ok.kind), (Kind::Invoke, Kind::Ok));
        assert_eq!((invoke.process, &*invoke.body.f), (ok.process, "txn"));
        (ok.process, ok.body.value.clone())
    });
    pairs.collect()
}

#[test]
fn an_invocation_knows_its_writes_and_not_its_reads() {
    let ops = ops(Format::PlumeText, "w(1,5,0,0)\nr(2,7,0,0)\n");
    assert_eq!(
        ops[0].body.value,
        list([step("w", 1, int(5)), step("r", 2, Value::Nil)])
    );
    assert_eq!(
        ops[1].body.value,
        list([step("w", 1, int(5)), step("r", 2, int(7))])
    );
}

#[test]
fn plumes_sessions_may_alternate() {
    let file = "w(1,1,0,0)\r\nw(1,2,7,1)\n\nw(2,1,0,0)\nr(1,0,7,2)\nw(1,3,0,3)\n";
    let expected = [
        (Process::Client(7), list([step("w", 1, int(2))])),
        (
            Process::Client(0),
            list([step("w", 1, int(1)), step("w", 2, int(1))]),
        ),
        (Process::Client(0), list([step("w", 1, int(3))])),
        (Process::Client(7), list([step("r", 1, Value::Nil)])),
    ];
    assert_eq!(transactions(&ops(Format::PlumeText, file)), expected);
}

#[test]
fn awdits_rules_part_transactions_and_sessions() {
    let file = "w 1 0\nw 2 9\n-----\n-----\nr 2 9\n=====\n=====\nr 1 0\r\n=====\n";
    let expected = [
        (
            Process::Client(0),
            list([step("w", 1, Value::Nil), step("w", 2, int(9))]),
        ),
        (Process::Client(0), list([step("r", 2, int(9))])),
        (Process::Client(2), list([step("r", 1, Value::Nil)])),
    ];
    assert_eq!(transactions(&ops(Format::AwditTestText, file)), expected);
}

/// An event of DBCop: write, variable, value, success.
type Event = (bool, i64, i64, bool);
/// Its transaction: the events, and whether it committed.
type Transaction<'a> = (&'a [Event], bool);

/// Writes a history as DBCop does.
fn dbcop(sessions: &[&[Transaction<'_>]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [1_i64, 3, 2, 2, 2] {
        bytes.extend(number.to_le_bytes());
    }
    for text in ["made by a test", "", "2026-01-01T00:00:00Z"] {
        bytes.extend((text.len() as i64).to_le_bytes());
        bytes.extend(text.bytes());
    }
    bytes.extend((sessions.len() as i64).to_le_bytes());
    for transactions in sessions {
        bytes.extend((transactions.len() as i64).to_le_bytes());
        for (events, committed) in *transactions {
            bytes.extend((events.len() as i64).to_le_bytes());
            for (is_write, key, value, ok) in *events {
                bytes.push(u8::from(*is_write));
                bytes.extend(key.to_le_bytes());
                bytes.extend(value.to_le_bytes());
                bytes.push(u8::from(*ok));
            }
            bytes.push(u8::from(*committed));
        }
    }
    bytes
}

fn small() -> Vec<u8> {
    let first: &[Transaction<'_>] = &[
        (
            &[(true, 1, 5, true), (false, 2, 0, true), (false, 2, 3, false)],
            true,
        ),
        (&[(true, 1, 6, true)], false),
        (&[], true),
    ];
    dbcop(&[first, &[], &[(&[(false, 1, 5, true)], true)]])
}

#[test]
fn dbcops_failures_and_aborts_are_left_out() {
    let ops: Vec<_> = read_foreign(Format::DbcopBincode, &small()[..])
        .collect::<Result<_, _>>()
        .unwrap();
    let expected = [
        (
            Process::Client(0),
            list([step("w", 1, int(5)), step("r", 2, Value::Nil)]),
        ),
        (Process::Client(2), list([step("r", 1, int(5))])),
    ];
    assert_eq!(transactions(&ops), expected);
}

#[test]
fn dbcops_file_is_refused_wherever_it_is_cut_and_with_anything_behind() {
    let bytes = small();
    for cut in 0..bytes.len() {
        let why = error(Format::DbcopBincode, &bytes[..cut]);
        assert!(why.contains("the file ends, it is cut off"), "{cut}: {why}");
    }
    let longer = [&bytes[..], &[0]].concat();
    let why = error(Format::DbcopBincode, &longer);
    assert!(why.starts_with(&format!("byte {}", bytes.len())), "{why}");
    assert!(why.ends_with("expected nothing behind the last session"), "{why}");
}

#[test]
fn dbcops_counts_are_not_believed() {
    for at in [40, 62, 70] {
        let mut bytes = small();
        bytes[at + 7] = 0x7f;
        let why = error(Format::DbcopBincode, &bytes);
        assert!(
            why.contains("is it DBCop's format?") || why.contains("cut off"),
            "{at}: {why}"
        );
    }
}
