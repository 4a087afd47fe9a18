//! Small histories, written for these tests: one or two of each format.

/// A history with what must be said of it.
pub struct Fixture {
    /// The file's name.
    pub name: &'static str,
    pub text: &'static str,
    pub format: &'static str,
    pub model: &'static str,
    pub exit: i32,
    pub found: &'static [&'static str],
    pub operations: u64,
}

const fn fixture(
    (name, text): (&'static str, &'static str),
    (format, model): (&'static str, &'static str),
    (exit, found, operations): (i32, &'static [&'static str], u64),
) -> Fixture {
    Fixture {
        name,
        text,
        format,
        model,
        exit,
        found,
        operations,
    }
}

pub const REGISTER_GOOD: &str = "\
; somebody writes, somebody reads, and the nemesis is passed over
{:type :invoke, :f :write, :value 1, :process 0, :time 10}
{:type :info, :f :start, :value nil, :process :nemesis, :time 15}
{:type :invoke, :f :read, :value nil, :process 1, :time 20}
{:type :ok, :f :write, :value 1, :process 0, :time 30}
{:type :ok, :f :read, :value 1, :process 1, :time 40}
";

pub const REGISTER_BAD: &str = "\
[{:type :invoke, :f :write, :value 1, :process 0}
 {:type :ok, :f :write, :value 1, :process 0}
 {:type :invoke, :f :read, :value nil, :process 1}
 {:type :ok, :f :read, :value nil, :process 1}
 {:type :invoke, :f :read, :value nil, :process 1}
 {:type :ok, :f :read, :value 2, :process 1}]
";

pub const READS_SEVEN: &str = "\
{:type :invoke, :f :read, :value nil, :process 0}
{:type :ok, :f :read, :value 7, :process 0}
";

pub const FAILED_CAS: &str = "\
{:type :invoke, :f :write, :value 1, :process 0}
{:type :ok, :f :write, :value 1, :process 0}
{:type :invoke, :f :cas, :value [1 2], :process 1}
{:type :fail, :f :cas, :value [1 2], :process 1}
{:type :invoke, :f :read, :value nil, :process 0}
{:type :ok, :f :read, :value 1, :process 0}
";

/// Each transaction did not see what the other appended: write skew.
pub const CASE_APPEND: &str = r#"{"model":"list-append","options":{},"history":[
{"index":0,"time":0,"process":0,"type":"invoke","f":"txn","value":[["append",1,1],["r",2,null]]},
{"index":1,"time":1,"process":1,"type":"invoke","f":"txn","value":[["append",2,1],["r",1,null]]},
{"index":2,"time":2,"process":0,"type":"ok","f":"txn","value":[["append",1,1],["r",2,[]]]},
{"index":3,"time":3,"process":1,"type":"ok","f":"txn","value":[["append",2,1],["r",1,[]]]},
{"index":4,"time":4,"process":2,"type":"invoke","f":"txn","value":[["r",1,null],["r",2,null]]},
{"index":5,"time":5,"process":2,"type":"ok","f":"txn","value":[["r",1,[1]],["r",2,[1]]]}
]}
"#;

const KAFKA_DUPLICATE: &str = r#"{"model":"kafka","options":{"ww-deps":false},"history":[
{"index":0,"time":0,"process":0,"type":"invoke","f":"send","value":[["send",1,10]]},
{"index":1,"time":1,"process":0,"type":"ok","f":"send","value":[["send",1,[0,10]]]},
{"index":2,"time":2,"process":1,"type":"invoke","f":"poll","value":[["poll"]]},
{"index":3,"time":3,"process":1,"type":"ok","f":"poll","value":[["poll",{"1":[[0,10],[1,10]]}]]}
]}
"#;

const JSON_APPEND: &str = r#"[
{"type":"invoke","process":0,"f":"txn","value":[["append",1,1]]},
{"type":"ok","process":0,"f":"txn","value":[["append",1,1]]},
{"type":"invoke","process":1,"f":"txn","value":[["r",1,null]]},
{"type":"ok","process":1,"f":"txn","value":[["r",1,[1]]]}
]
"#;

const JSON_LINES: &str = r#"{"type":"invoke","process":0,"f":"add","value":2}
{"type":"ok","process":0,"f":"add","value":2}
{"type":"invoke","process":1,"f":"read","value":null}
{"type":"ok","process":1,"f":"read","value":3}
"#;

const ETCD_LOG: &str = "\
INFO  jepsen.util - 0\t:invoke\t:write\t1
INFO  jepsen.util - 0\t:ok\t:write\t1
INFO  jepsen.util - 1\t:invoke\t:cas\t[1 2]
INFO  jepsen.util - 1\t:info\t:cas\t:timed-out
INFO  jepsen.util - 0\t:invoke\t:read\tnil
INFO  jepsen.util - 0\t:ok\t:read\t2
";

const KEY_VALUE: &str = "\
{:process 0, :type :invoke, :f :append, :key \"k\", :value \"a\"}
{:process 0, :type :ok, :f :append, :key \"k\", :value \"a\"}
{:process 1, :type :invoke, :f :get, :key \"k\", :value nil}
{:process 1, :type :ok, :f :get, :key \"k\", :value \"b\"}
";

const PLUME: &str = "\
w(1,1,0,0)
w(2,1,0,0)
r(1,1,1,1)
r(2,1,1,1)
";

/// A session that reads 2 and then 1, which another wrote in the other order.
pub const AWDIT: &str = "\
w 0 1
-----
w 0 2
=====
r 0 2
-----
r 0 1
";

/// A run that was cut off: one record was acknowledged, and nothing was read.
pub const OWN: &str = r#"{"schema":1,"ackall_version":"0.1.0","started_at":"2026-11-30T00:00:00Z","scenario":"calm","seed":1,"system":"reference","promises":["kip-966"],"requirements":[],"topics":[{"name":"night","partitions":1,"replication_factor":3,"min_insync_replicas":2}]}
{"index":0,"time":10,"process":0,"type":"invoke","f":"send","value":{"topic":"night","id":"x","partition":0,"record":17,"acks":-1}}
{"index":1,"time":20,"process":0,"type":"ok","f":"send","value":{"topic":"night","id":"x","partition":0,"record":17,"acks":-1,"node":1,"offset":0}}
{"index":2,"time":30,"process":0,"type":"invoke","f":"send","value":{"topic":"night","id":"x","partition":0,"record":18,"acks":-1}}
"#;

pub const FIXTURES: &[Fixture] = &[
    fixture(
        ("good.edn", REGISTER_GOOD),
        ("jepsen-edn", "register"),
        (0, &[], 2),
    ),
    fixture(
        ("bad.edn", REGISTER_BAD),
        ("jepsen-edn", "register"),
        (1, &["nonlinearizable"], 3),
    ),
    fixture(
        ("cas.edn", FAILED_CAS),
        ("jepsen-edn", "cas-register"),
        (1, &["nonlinearizable"], 3),
    ),
    fixture(
        ("append.json", CASE_APPEND),
        ("case-json", "list-append"),
        (1, &["G2-item"], 3),
    ),
    fixture(
        ("kafka.json", KAFKA_DUPLICATE),
        ("case-json", "kafka"),
        (1, &["duplicate"], 2),
    ),
    fixture(
        ("list.json", JSON_APPEND),
        ("jepsen-json", "list-append"),
        (0, &[], 2),
    ),
    fixture(
        ("lines.json", JSON_LINES),
        ("jepsen-json", "counter"),
        (1, &["nonlinearizable"], 2),
    ),
    fixture(
        ("etcd.log", ETCD_LOG),
        ("porcupine-etcd-log", "cas-register"),
        (0, &[], 3),
    ),
    fixture(
        ("kv.txt", KEY_VALUE),
        ("porcupine-kv-edn", "key-value"),
        (1, &["nonlinearizable"], 2),
    ),
    fixture(
        ("plume.txt", PLUME),
        ("plume-text", "rw-register-sessions"),
        (0, &[], 2),
    ),
    fixture(
        ("awdit.txt", AWDIT),
        ("awdit-test-text", "rw-register-sessions"),
        (1, &[], 4),
    ),
];

/// A step of a transaction: whether it is a write, its key, its value.
type Step = (bool, i64, i64);

/// DBCop's binary of sessions of transactions of steps, all committed.
pub fn dbcop(sessions: &[&[&[Step]]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, number: i64| bytes.extend(number.to_le_bytes());
    let count = |length: usize| i64::try_from(length).unwrap();
    for part in [1, count(sessions.len()), 1, 2, 1] {
        number(&mut bytes, part);
    }
    for text in ["made", "2026", "2026"] {
        number(&mut bytes, count(text.len()));
        bytes.extend(text.as_bytes());
    }
    number(&mut bytes, count(sessions.len()));
    for session in sessions {
        number(&mut bytes, count(session.len()));
        for transaction in *session {
            number(&mut bytes, count(transaction.len()));
            for (is_write, key, value) in *transaction {
                bytes.push(u8::from(*is_write));
                number(&mut bytes, *key);
                number(&mut bytes, *value);
                bytes.push(1);
            }
            bytes.push(1);
        }
    }
    bytes
}
