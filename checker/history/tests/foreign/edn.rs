//! Jepsen's EDN, and Porcupine's key-value form of it.

use super::{int, list, name, ops, text};
use history::{Format, Kind, Process, Value};

const PLAIN: &str = "{:process 0, :type :invoke, :f :write, :value 3}";

fn values(entries: &str) -> Vec<Value> {
    let ops = ops(Format::JepsenEdn, entries);
    ops.into_iter().map(|op| op.body.value).collect()
}

/// The value of an entry, read by our own parser and, with a tag before the entry, by the library.
fn value(written: &str) -> Value {
    let mut both = Vec::new();
    for tag in ["", "#jepsen.history.Op "] {
        both.extend(values(&format!("{tag}{{:type :ok, :value {written}}}")));
    }
    let value = both.pop();
    assert_eq!(both.pop(), value, "{written}");
    value.unwrap()
}

#[test]
fn a_vector_a_list_and_bare_maps_are_the_same_history() {
    let all = [
        format!("[{PLAIN} {PLAIN}]"),
        format!("({PLAIN},\n{PLAIN})\n"),
        format!("{PLAIN}{PLAIN}"),
        format!("\u{feff}; recorded in the night\r\n[{PLAIN}\r\n ; one\r\n{PLAIN}\r\n] ; end"),
        format!("#_{{:process 9}} [{PLAIN} #_ #_ 1 {{:a []}} {PLAIN} #_last]"),
        format!("#jepsen.history.Op{PLAIN} #jepsen.history.Op {PLAIN}"),
    ];
    for file in all {
        let ops = ops(Format::JepsenEdn, &file);
        assert_eq!(ops.len(), 2, "{file}");
        for (place, op) in ops.iter().enumerate() {
            assert_eq!((op.index, op.time), (place as u64, place as u64), "{file}");
            assert_eq!(
                (op.process, op.kind),
                (Process::Client(0), Kind::Invoke),
                "{file}"
            );
            assert_eq!((&*op.body.f, &op.body.value), ("write", &int(3)), "{file}");
        }
    }
}

#[test]
fn an_empty_vector_is_an_empty_history() {
    assert_eq!(ops(Format::JepsenEdn, "[]"), vec![]);
}

#[test]
fn each_kind_of_value_is_read() {
    assert_eq!(value("nil"), Value::Nil);
    assert_eq!(value("true"), Value::Bool(true));
    assert_eq!(value("-7"), int(-7));
    assert_eq!(value("9223372036854775807"), int(i64::MAX));
    assert_eq!(value("-9223372036854775808"), int(i64::MIN));
    assert_eq!(value("1.5"), Value::Float(1.5_f64.to_bits()));
    assert_eq!(value(":append"), name("append"));
    assert_eq!(value("x"), name("x"));
    assert_eq!(value(r#""a b""#), text("a b"));
    assert_eq!(value(r#""a\"\\\n""#), text("a\"\\\n"));
    assert_eq!(value("\"nächtlich\""), text("nächtlich"));
    assert_eq!(value("[:r 1 nil]"), list([name("r"), int(1), Value::Nil]));
    assert_eq!(value("(1 (2))"), list([int(1), list([int(2)])]));
    assert_eq!(value("#{1}"), Value::Set(Box::new([int(1)])));
    assert_eq!(
        value("{:from 3, 4 5}"),
        Value::Map(Box::new([(name("from"), int(3)), (int(4), int(5))]))
    );
}

#[test]
fn what_only_clojure_prints_is_read_too() {
    assert_eq!(value("#inst \"2026-01-01\""), text("2026-01-01"));
    assert_eq!(
        value("#object[java.lang.Object 0x7 \"x\"]"),
        list([name("java.lang.Object"), int(7), text("x")])
    );
    assert_eq!(value("\\a"), text("a"));
    assert_eq!(value("\\]"), text("]"));
    assert_eq!(
        value("#:bank{:from 1}"),
        Value::Map(Box::new([(name("from"), int(1))]))
    );
    assert_eq!(value("3/2"), Value::Float(1.5_f64.to_bits()));
    // Escapes that the library does not know.
    assert_eq!(values(r#"{:type :ok, :value "\u00e4\b"}"#), vec![text("ä\u{8}")]);
}

#[test]
fn fields_may_be_missing_and_others_are_passed_over() {
    let file = "{:type :info :f nil :error [:timeout {:a \"}\"}] :node \"n1\" :clock-offsets {\"n1\" 0.5}}";
    let op = ops(Format::JepsenEdn, file).remove(0);
    assert_eq!(
        (op.process, &*op.body.f, op.body.value),
        (Process::Unnamed, "", Value::Nil)
    );
}

#[test]
fn index_and_time_are_those_of_the_file_where_it_has_them() {
    let file = "{:type :ok :index 7 :time 90} {:type :ok :index 3 :time 80} {:type :ok :index -1 :time nil}";
    let ops = ops(Format::JepsenEdn, file);
    let seen: Vec<_> = ops.iter().map(|op| (op.index, op.time)).collect();
    assert_eq!(seen, [(7, 90), (3, 80), (2, 2)]);
}

#[test]
fn processes_are_numbers_or_the_nemesis() {
    let process =
        |written: &str| ops(Format::JepsenEdn, &format!("{{:type :info :process {written}}}"))[0].process;
    assert_eq!(process("12"), Process::Client(12));
    assert_eq!(process("\"12\""), Process::Client(12));
    assert_eq!(process("-1"), Process::Client(u64::MAX));
    assert_eq!(process(":nemesis"), Process::Nemesis);
    assert_eq!(process("\"nemesis\""), Process::Nemesis);
    assert_eq!(process("nil"), Process::Unnamed);
}

#[test]
fn how_the_bytes_arrive_changes_nothing() {
    let file = format!("[{PLAIN} ; c\n #a {{:type :ok, :value [\"x\\\"\" {{1 2}}]}} {PLAIN}]");
    let whole = ops(Format::JepsenEdn, &file);
    for size in 1..9 {
        let reader = std::io::BufReader::with_capacity(size, file.as_bytes());
        let parts: Result<Vec<_>, _> = history::read_foreign(Format::JepsenEdn, reader).collect();
        assert_eq!(parts.unwrap(), whole);
    }
}

#[test]
fn porcupines_values_stand_behind_their_keys() {
    let file = "{:process 1, :type :invoke, :f :append, :key \"8\", :value \"x 1 0 y\"}\n\
                {:process 2, :type :ok, :f :get, :key \"8\", :value nil}\n";
    let ops = ops(Format::PorcupineKvEdn, file);
    assert_eq!(ops[0].body.value, list([text("8"), text("x 1 0 y")]));
    assert_eq!(ops[1].body.value, list([text("8"), Value::Nil]));
}
