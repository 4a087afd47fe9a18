//! Jepsen's log, as Porcupine reads it.

use super::{int, list, name, ops};
use history::{Format, Kind, Process, Value};

#[test]
fn each_payload_is_read_and_other_lines_are_passed_over() {
    let file = "INFO  jepsen.core - Worker 0 starting\n\
                java.lang.RuntimeException: an exception behind another logger's line\n\
                \tat user$eval.invoke(core.clj:1)\n\
                INFO  jepsen.util - 0\t:invoke\t:read\tnil\n\
                INFO  jepsen.util - 1\t:invoke\t:cas\t[3 4]\r\n\
                \n\
                WARN  jepsen.core - Process 1 indeterminate\n\
                INFO jepsen.util - 1 :info :cas :timed-out\n\
                INFO jepsen.util - :nemesis :info :start \"Cut off {:n1 #{:n2}}\n\
                INFO jepsen.util - 0 :ok :read -4";
    let ops = ops(Format::PorcupineEtcdLog, file);
    let seen: Vec<_> = ops
        .into_iter()
        .map(|op| (op.process, op.kind, op.body.f.to_string(), op.body.value))
        .collect();
    let (zero, one) = (Process::Client(0), Process::Client(1));
    let expected = [
        (zero, Kind::Invoke, "read".to_owned(), Value::Nil),
        (one, Kind::Invoke, "cas".to_owned(), list([int(3), int(4)])),
        (one, Kind::Info, "cas".to_owned(), name("timed-out")),
        (Process::Nemesis, Kind::Info, "start".to_owned(), Value::Nil),
        (zero, Kind::Ok, "read".to_owned(), int(-4)),
    ];
    assert_eq!(seen, expected);
}
