//! What inputs are made of: small histories and tokens of each format.

use history::Format;

const EDN: [&str; 4] = [
    "[{:process 0, :type :invoke, :f :txn, :value [[:append 1 2] [:r 3 nil]], :time 10, :index 0}\n \
     {:process 0, :type :ok, :f :txn, :value [[:append 1 2] [:r 3 [1 2 3]]], :time 11, :index 1}]",
    "; note\n{:type :invoke, :f :read, :value nil, :process 1}\n#_ 7 {:type :info, :process :nemesis, :f :start, \
     :error [\"a \\\"b\\\" \\u00e4\" {:n1 #{1 2}}]}\n{:type :fail, :f :read, :process 1, :value (1.5 -2e3 x \\c)}",
    "#jepsen.history.Op{:index 3, :time -1, :type :info, :process nil, :value {:from 1, 2 #inst \"2026\"}}",
    "({:type :ok :value #:a{:b 1}} {:type :ok :value [##NaN 3/2 0x1F 07 1N #object[a.B 0x1 \"c\"]]})",
];

const EDN_TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "#{",
    "\"",
    "\\",
    "\\\"",
    ";",
    "\n",
    ",",
    "#_",
    "#",
    "##Inf",
    "#a ",
    ":",
    ":type",
    ":ok",
    ":invoke",
    ":process",
    ":value",
    "nil",
    "true",
    "0",
    "-1",
    "00",
    "1.5",
    "1e9",
    "1/2",
    "9223372036854775808",
    "9223372036854775807",
    "\u{feff}",
    "ä",
    "\r",
    "{:type :ok}",
    "\\newline",
    "^",
    "'",
];

const JSON: [&str; 3] = [
    "[{\"process\": 0, \"type\": \"invoke\", \"f\": \"txn\", \"value\": [[\"append\", 1, 2], [\"r\", 3, null]]},\n \
     {\"process\": 0, \"type\": \"ok\", \"f\": \"txn\", \"value\": {\"a\": [1.5, true, \"\\u00e4\"]}, \"error\": {}}]",
    "{\"process\": \"nemesis\", \"type\": \"info\", \"time\": 3, \"index\": 0}\n{\"type\": \"ok\", \"x\": [1e99]}\n",
    "{\"model\": \"kafka\", \"options\": {\"ww-deps\": false, \"n\": 1}, \"history\": [\n{\"type\": \"ok\", \"value\": \
     [[\"poll\", {\"1\": [[0, 5], [2, 6]]}]], \"process\": 3}], \"seed\": 4}",
];

const JSON_TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e400",
    "9223372036854775808",
    "-9223372036854775808",
    "\"type\"",
    "\"ok\"",
    "\"history\"",
    "\"model\":",
    "\"options\":",
    "\"value\":",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "ä",
    "\n",
    " ",
    "{\"type\":\"ok\"}",
];

const LOG: [&str; 1] = [
    "INFO  jepsen.core - begin\nINFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\n\
     INFO  jepsen.util - :nemesis\t:info\t:start\tnil\nINFO jepsen.util - 0 :info :cas :timed-out\n",
];

const LOG_TOKENS: &[&str] = &[
    "INFO",
    "jepsen.util",
    "-",
    " - ",
    "\t",
    ":ok",
    ":invoke",
    ":read",
    ":write",
    "nil",
    "[",
    "]",
    "\"",
    "1",
    "-1",
    "\n",
    "\r\n",
    "WARN x\n",
    ":timed-out",
    "99999999999999999999",
];

const PORCUPINE_KV: [&str; 1] = [
    "{:process 2, :type :invoke, :f :append, :key \"8\", :value \"x 0 0 y\"}\n\
     {:process 2, :type :ok, :f :get, :key \"8\", :value nil}\n",
];

const PLUME: [&str; 1] = ["w(1,2,0,0)\nr(1,2,1,1)\nw(3,4,0,2)\n"];

const AWDIT: [&str; 1] = ["w 1 0\n-----\nr 1 2\n=====\nw 1 2\nr 3 0\n"];

const LINE_TOKENS: &[&str] = &[
    "w",
    "r",
    "(",
    ")",
    ",",
    " ",
    "-",
    "=",
    "-----\n",
    "=====\n",
    "\n",
    "\r",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "w(1,2,3,4)\n",
    "r 1 2\n",
    "+1",
];

const BINARY_TOKENS: &[&str] = &[
    "\0\0\0\0\0\0\0\0",
    "\u{1}\0\0\0\0\0\0\0",
    "\u{2}\0\0\0\0\0\0\0",
    "\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}",
    "\0",
    "\u{1}",
    "\u{2}",
];

const OWN: [&str; 2] = [
    "{\"schema\":1,\"ackall_version\":\"0.1.0\",\"started_at\":\"2026-01-01T00:00:00Z\",\"scenario\":\"s\",\"seed\":1,\
     \"system\":\"reference\",\"promises\":[\"kip-966\"],\"requirements\":[],\"topics\":[]}\n\
     {\"index\":0,\"time\":5,\"process\":3,\"type\":\"invoke\",\"f\":\"send\",\"value\":{\"topic\":\"night\",\
     \"id\":\"AA\",\"partition\":0,\"record\":7,\"acks\":-1}}\n\
     {\"index\":1,\"time\":9,\"process\":3,\"type\":\"ok\",\"f\":\"send\",\"value\":{\"topic\":\"night\",\"id\":\"AA\",\
     \"partition\":0,\"record\":7,\"acks\":-1,\"node\":2,\"offset\":4}}\n",
    "{\"schema\":1,\"ackall_version\":\"0.1.0\",\"started_at\":\"2026-01-01T00:00:00Z\",\"scenario\":\"s\",\"seed\":1,\
     \"system\":\"reference\",\"promises\":[],\"requirements\":[],\"topics\":[]}\n\
     {\"index\":0,\"time\":0,\"process\":\"harness\",\"type\":\"ok\",\"f\":\"stall\",\"value\":{\"late_ms\":101.5}}\n\
     {\"index\":1,\"time\":5,\"process\":3,\"type\":\"invoke\",\"f\":\"poll\",\"value\":{\"topic\":\"night\",\"id\":\"\",\
     \"partition\":0,\"from\":2}}\n\
     {\"index\":2,\"time\":5,\"process\":3,\"type\":\"ok\",\"f\":\"poll\",\"value\":{\"topic\":\"night\",\"id\":\"\",\
     \"partition\":0,\"from\":2,\"node\":1,\"last\":true,\"records\":[[2,7,0],[3,null,1]],\"high_watermark\":4,\
     \"log_start\":0,\"error\":\"NONE\"}}\n",
];

const OWN_TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\u0041",
    ":",
    ",",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "00",
    "1.0",
    "1e2",
    "18446744073709551615",
    "9223372036854775808",
    "-9223372036854775809",
    "2147483648",
    "\"index\":",
    "\"time\":",
    "\"process\":",
    "\"type\":",
    "\"f\":",
    "\"value\":",
    "\"send\"",
    "\"poll\"",
    "\"topic\":\"a\",",
    "\"id\":\"b\",",
    "\"partition\":1,",
    "\"record\":1,",
    "\"acks\":1,",
    "\"node\":null,",
    "\"node\":1,",
    "\"offset\":2,",
    "\"offset\":null,",
    "\"error\":\"x\",",
    "\"last\":false,",
    "\"records\":[],",
    "\"records\":[[1,2,3]],",
    "\"high_watermark\":5,",
    "\"log_start\":6,",
    "\"from\":1,",
    "\"more\":{},",
    "\"nemesis\"",
    "\"ok\"",
    "\"info\"",
    "\n",
    " ",
    "\t",
    "ä",
    "\u{7f}",
    "\u{1}",
];

/// Seeds and tokens of a format.
pub fn of(format: Format) -> (Vec<Vec<u8>>, &'static [&'static str]) {
    let bytes = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    match format {
        Format::JepsenEdn => (bytes(&EDN), EDN_TOKENS),
        Format::PorcupineKvEdn => (bytes(&PORCUPINE_KV), EDN_TOKENS),
        Format::JepsenJson | Format::CaseJson => (bytes(&JSON), JSON_TOKENS),
        Format::PorcupineEtcdLog => (bytes(&LOG), LOG_TOKENS),
        Format::PlumeText => (bytes(&PLUME), LINE_TOKENS),
        Format::AwditTestText => (bytes(&AWDIT), LINE_TOKENS),
        Format::DbcopBincode => (vec![dbcop()], BINARY_TOKENS),
        Format::Ackall => (bytes(&OWN), OWN_TOKENS),
    }
}

/// Two sessions of one transaction each, of one event.
fn dbcop() -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [1_i64, 2, 2, 1, 1, 1] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.push(b'x');
    for number in [0_i64, 0, 2] {
        bytes.extend(number.to_le_bytes());
    }
    for is_write in [1, 0] {
        for number in [1_i64, 1] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.push(is_write);
        for number in [4_i64, 5] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([1, 1]);
    }
    bytes
}
