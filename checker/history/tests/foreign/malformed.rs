//! What is malformed is refused, with its line, what was expected and what to do.

use super::error;
use history::Format::{self, *};

const GOOD_EDN: &str = "{:process 0, :type :invoke, :f :read, :value nil}\n";
const GOOD_JSON: &str = "{\"process\": 0, \"type\": \"invoke\"},\n";

/// Refused with that line, and these words.
fn refused(format: Format, bytes: impl AsRef<[u8]>, line: u64, words: &str) {
    let bytes = bytes.as_ref();
    let why = error(format, bytes);
    let place = format!("line {line} of a history in {format}: ");
    let shown = String::from_utf8_lossy(bytes);
    assert!(why.starts_with(&place), "{why}, expected {place}, of {shown:?}");
    assert!(why.contains(words), "{why}, expected {words:?}, of {shown:?}");
}

#[test]
fn in_edn() {
    let after = |text: &str| format!("{GOOD_EDN}{GOOD_EDN}{text}");
    let bad = |text: &str, words: &str| refused(JepsenEdn, after(text), 3, words);
    refused(JepsenEdn, "", 1, "the file has no entry");
    refused(JepsenEdn, "; nothing\n; but comments", 2, "the file has no entry");
    refused(
        JepsenEdn,
        format!("[{GOOD_EDN}{GOOD_EDN}"),
        3,
        "the file ends before the ] that closes it",
    );
    refused(
        JepsenEdn,
        format!("[{GOOD_EDN}]\n[]"),
        3,
        "nothing behind the vector",
    );
    bad(
        "{:process 0, :type :ok, :f :read",
        "the file ends within the form that begins here",
    );
    bad("{:process 0, :type :ok, :value \"open}", "cut off");
    bad("7", "expected an entry, a map");
    bad("#{1}", "expected an entry, a map");
    bad("{:process 0}", "the entry has no type");
    bad(
        "{:process 0, :type :maybe}",
        "type is :maybe: expected invoke, ok, fail or info",
    );
    bad(
        "{:process 1.5, :type :ok}",
        "process is 1.5: expected a whole number",
    );
    bad("{:process 0, :type :ok, :f [1]}", "f is [1]: expected a name");
    bad("{:index :x, :type :ok}", "index is :x: expected a whole number");
    bad("{:type :ok, :type :ok}", "type stands twice in one entry");
    bad("{:type :ok, :node 1, :node 2}", "a key stands twice in one map");
    bad("{:type :ok, :value {1 2, 1 3}}", "a key stands twice in one map");
    bad("{:type :ok, :value #{1 1}}", "an element stands twice in one set");
    bad(
        "{:type :ok, :value 9223372036854775808}",
        "expected one of 64 bits",
    );
    bad(
        "{:type :ok, :value [1 2}]",
        "'}' closes no bracket that is open here",
    );
    bad("{:type :ok, :value 12abc}", "no number");
    bad("{:type :ok, :f}", "the form ends too early");
    bad("#_", "the file ends behind #_");
    let deep = format!("{{:type :ok, :value {}}}", "[".repeat(200));
    bad(&deep, "nested deeper than 128");
    bad(&format!("#x {deep}"), "nested deeper than 128");
    let latin = [GOOD_EDN.as_bytes(), b"{:type :ok, :value \"\xe4\"}"].concat();
    refused(JepsenEdn, latin, 2, "expected UTF-8");
    refused(PorcupineKvEdn, GOOD_EDN, 1, "the entry has no key");
}

#[test]
fn in_edn_the_line_is_that_of_the_place_within_a_form() {
    refused(
        JepsenEdn,
        "{:type :ok\n :value\n {1 2\n 1 2}}",
        4,
        "a key stands twice",
    );
    refused(
        JepsenEdn,
        "#x {:type :ok\n :value\n [1 }}",
        3,
        "closes no bracket",
    );
}

#[test]
fn in_json() {
    let bad = |text: &str, words: &str| refused(JepsenJson, format!("[{GOOD_JSON}{text}"), 2, words);
    refused(JepsenJson, "", 1, "the file has no entry");
    refused(JepsenJson, " \n ", 2, "the file has no entry");
    refused(JepsenJson, "[\n", 2, "the file ends before the ]");
    refused(JepsenJson, "[]\n[]", 2, "nothing behind the array");
    refused(
        JepsenJson,
        format!("[{GOOD_JSON}{GOOD_JSON}]"),
        3,
        "expected an entry",
    );
    bad("7]", "expected an entry, an object");
    bad(
        "{\"type\": \"ok\"} {\"type\": \"ok\"}]",
        "expected a comma and the next entry",
    );
    bad("{\"type\": \"ok\"", "the file ends within what begins here");
    bad("{\"type\": \"ok\", \"value\": \"op", "cut off");
    bad("{\"process\": 1}]", "the entry has no type");
    bad("{\"type\": \"ok\", \"type\": \"ok\"}]", "type stands twice");
    bad(
        "{\"type\": \"ok\", \"value\": {\"a\": 1, \"a\": 2}}]",
        "a key stands twice",
    );
    bad(
        "{\"type\": \"ok\", \"value\": 9223372036854775808}]",
        "beyond 64 bits",
    );
    bad("{\"type\": \"ok\", \"value\": -1e300}]", "beyond 64 bits");
    bad("{\"type\": \"ok\", \"value\": tru}]", "expected");
    bad(
        &format!("{{\"type\": \"ok\", \"value\": {}", "[".repeat(200)),
        "recursion limit",
    );
    let latin = [b"[\n{\"type\": \"ok\", \"value\": \"".as_slice(), b"\xe4\"}]"].concat();
    refused(JepsenJson, latin, 2, "invalid unicode");
}

#[test]
fn in_cases() {
    refused(CaseJson, "", 1, "expected a case");
    refused(CaseJson, "[]", 1, "expected a case");
    refused(CaseJson, "{\"model\": 3}", 1, "expected the model's name");
    refused(
        CaseJson,
        "{\"model\": \"m\"}",
        1,
        "expected a comma and the case's next field",
    );
    refused(
        CaseJson,
        "{\"options\": []}",
        1,
        "expected the options, an object",
    );
    refused(CaseJson, "{\"history\": {}}", 1, "expected the array of entries");
    refused(CaseJson, "{\"history\" []}", 1, "expected a colon");
    refused(CaseJson, "{7: []}", 1, "");
    refused(CaseJson, "{\"history\": []\n", 2, "the } that closes the case");
    refused(CaseJson, "{\"history\": []}\n{}", 2, "expected nothing behind");
    let late = "{\"history\": [],\n \"model\": \"kafka\"}";
    refused(CaseJson, late, 2, "expected model and options before it");
}

#[test]
fn in_logs() {
    let good = "INFO jepsen.util - 0 :invoke :read nil\n";
    let bad = |text: &str, words: &str| refused(PorcupineEtcdLog, format!("{good}{text}"), 2, words);
    refused(PorcupineEtcdLog, "", 1, "the file has no operation");
    refused(
        PorcupineEtcdLog,
        "INFO jepsen.core - nothing\n",
        2,
        "the file has no operation",
    );
    refused(
        PorcupineEtcdLog,
        "no log\n",
        1,
        "expected INFO jepsen.util - PROCESS",
    );
    bad("INF", "expected INFO jepsen.util - PROCESS");
    bad("INFO jepsen.util - x :ok :read 1", "\"x\" is no process");
    bad("INFO jepsen.util - 0 :done :read 1", "type is :done");
    bad("INFO jepsen.util - 0 :ok read 1", "an operation has no name");
    bad("INFO jepsen.util - 0 :ok :read", "an operation has no value");
    bad("INFO jepsen.util - 0 :ok :read [1", "expected a value");
    bad("INFO jepsen.util - 0 :ok :read ]", "closes no bracket");
    bad("INFO jepsen.util - 0 :ok :read 99999999999999999999", "64 bits");
}

#[test]
fn in_formats_of_sessions() {
    refused(PlumeText, "", 1, "the file has no transaction");
    let plumes = [
        "w(1,2,3)",
        "w(1,2,3,4,5)",
        "w(1,2,x,4)",
        "c(1,2,3,4)",
        "w(1,2,3,4",
        "w(1,2,3,99999999999999999999)",
    ];
    for bad in plumes {
        refused(
            PlumeText,
            format!("r(1,1,1,1)\n\n{bad}\n"),
            3,
            "expected `r(KEY,VALUE,SESSION,TRANSACTION)`",
        );
    }
    refused(AwditTestText, "\n-----\n", 3, "the file has no transaction");
    for bad in [
        "w 1",
        "r 1 2 3",
        "x 1 2",
        "w a 1",
        "--=",
        "w 1 9223372036854775808",
    ] {
        refused(
            AwditTestText,
            format!("w 1 1\n-----\n{bad}\n"),
            3,
            "expected `r KEY VALUE`",
        );
    }
    refused(PlumeText, b"w(1,1,1,1)\n\xff", 2, "expected UTF-8");
}

#[test]
fn files_of_another_kind_are_named() {
    for format in [
        JepsenEdn,
        JepsenJson,
        CaseJson,
        PorcupineEtcdLog,
        PorcupineKvEdn,
        PlumeText,
        AwditTestText,
    ] {
        refused(
            format,
            b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
            1,
            "this is gzip: gunzip it first",
        );
        refused(
            format,
            b"\x28\xb5\x2f\xfd\x04",
            1,
            "this is zstd: unzstd it first",
        );
        refused(format, b"\xff\xfe[\0", 1, "this is UTF-16");
    }
    let why = error(Ackall, b"\x1f\x8b\x08\0\0\0\0\0\0\xff\n");
    assert!(why.contains("it is gzip: gunzip it first"), "{why}");
}
