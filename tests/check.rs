//! `ackall check`, as a stranger uses it: every format by a small history of its own, the exit status, the JSON, the
//! page, the limits, and bad input.

#[path = "check/fixtures.rs"]
mod fixtures;
#[path = "check/runner.rs"]
mod runner;

use fixtures::{FIXTURES, dbcop};
use flate2::{Compression, write::GzEncoder};
use runner::{Folder, is_three_lines, run, run_with_input, validated};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// Words of a command line, what its error must say, and its status.
type Refused<'a> = (&'a [&'a str], i32, &'a [&'a str]);

#[test]
fn every_format_is_guessed_read_and_judged() {
    let folder = Folder::new("formats");
    for fixture in FIXTURES {
        let path = folder.file(fixture.name, fixture.text.as_bytes());
        let output = run(&["check", &path, "--json"]);
        let json = validated(fixture.name, &output);
        assert_eq!(
            output.status.code(),
            Some(fixture.exit),
            "{}: {json}",
            fixture.name
        );
        assert_eq!(json["format"], fixture.format, "{}", fixture.name);
        assert_eq!(json["model"], fixture.model, "{}", fixture.name);
        let verdict = ["pass", "fail", "unknown"][fixture.exit as usize];
        assert_eq!(json["verdict"], verdict, "{}: {json}", fixture.name);
        for name in fixture.found {
            let found = json["anomalies"].as_array().unwrap().iter();
            assert!(
                found.clone().any(|found| found["name"] == *name),
                "{}: {json}",
                fixture.name
            );
        }
        assert_eq!(
            json["operations_total"], fixture.operations,
            "{}: {json}",
            fixture.name
        );
        // Named, it is the same.
        let named = run(&["check", &path, "--json", "--format", fixture.format]);
        assert_eq!(named.status.code(), Some(fixture.exit), "{}", fixture.name);
    }
}

#[test]
fn dbcops_binary_is_read() {
    let folder = Folder::new("dbcop");
    // One session writes 1 and 2 to key 0; another reads 2, then 1.
    let path = folder.file(
        "history.bincode",
        &dbcop(&[
            &[&[(true, 0, 1)], &[(true, 0, 2)]],
            &[&[(false, 0, 2)], &[(false, 0, 1)]],
        ]),
    );
    let output = run(&["check", &path, "--json", "--level", "causal"]);
    let json = validated("dbcop", &output);
    assert_eq!(
        (json["format"].as_str(), json["verdict"].as_str()),
        (Some("dbcop-bincode"), Some("fail")),
        "{json}"
    );
    assert_eq!(json["level"], "causal");
}

#[test]
fn a_failure_is_told_in_words_and_five_lines_and_as_a_page() {
    let folder = Folder::new("words");
    let path = folder.file("bad.edn", fixtures::REGISTER_BAD.as_bytes());
    let page = folder.path("why.html");
    let output = run(&["check", &path, "--html", &page]);
    let told = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("nonlinearizable: 1 instance"), "{told}");
    let five = &lines[lines.len() - 5..];
    for (line, head) in five
        .iter()
        .zip(["FAIL: ", "found:   ", "judged:  ", "again:   ", "closer:  "])
    {
        assert!(line.starts_with(head), "{told}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("nonlinearizable") && !page.contains("<script"));
    // What stands in `again` can be typed.
    let again: Vec<&str> = five[3].split_whitespace().skip(2).collect();
    assert_eq!(run(&again).status.code(), Some(1), "{again:?}");
    let quiet = run(&["check", &path, "--quiet"]);
    assert_eq!(String::from_utf8(quiet.stdout).unwrap().lines().count(), 5);
    assert_eq!(quiet.stderr, b"");
}

#[test]
fn standard_input_and_gzip_are_read() {
    let folder = Folder::new("gzip");
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(fixtures::REGISTER_BAD.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let path = folder.file("bad.edn.gz", &packed);
    assert_eq!(run(&["check", &path]).status.code(), Some(1));
    assert_eq!(run_with_input(&["check", "-"], &packed).status.code(), Some(1));
    let plain = run_with_input(&["check", "-", "--json"], fixtures::REGISTER_BAD.as_bytes());
    assert_eq!(validated("stdin", &plain)["file"], "-");
    // Torn in the middle.
    let torn = folder.file("torn.edn.gz", &packed[..packed.len() / 2]);
    let output = run(&["check", &torn, "--json"]);
    assert_eq!(validated("torn", &output)["error"]["code"], 65);
    is_three_lines("torn", &output, 65, &["torn.edn.gz"]);
}

#[test]
fn the_command_line_beats_the_file_and_every_choice_is_told() {
    let folder = Folder::new("choices");
    let path = folder.file("case.json", fixtures::CASE_APPEND.as_bytes());
    let json = validated("file", &run(&["check", &path, "--json"]));
    let from = |name: &str| {
        let choices = json["choices"].as_array().unwrap().iter();
        let choice = choices.clone().find(|choice| choice["name"] == name);
        choice.map(|choice| choice["from"].as_str().unwrap().to_string())
    };
    assert_eq!(from("format").as_deref(), Some("guessed"));
    assert_eq!(from("model").as_deref(), Some("file"));
    assert_eq!(from("level").as_deref(), Some("default"));
    let level = ["check", &path, "--json", "--level", "snapshot-isolation"];
    let json = validated("level", &run(&level));
    assert_eq!(json["level"], "snapshot-isolation");
    assert_eq!(json["verdict"], "pass", "{json}");
    let json = validated(
        "strict",
        &run(&["check", &path, "--json", "--level", "strict-serializable"]),
    );
    assert_eq!(
        (json["level"].as_str(), json["verdict"].as_str()),
        (Some("strong-serializable"), Some("fail"))
    );
    assert!(!json["models_ruled_out"].as_array().unwrap().is_empty(), "{json}");
}

#[test]
fn initial_values_and_failed_compare_and_sets_are_as_they_are_said_to_be() {
    let folder = Folder::new("options");
    let path = folder.file("initial.edn", fixtures::READS_SEVEN.as_bytes());
    assert_eq!(run(&["check", &path]).status.code(), Some(1));
    assert_eq!(run(&["check", &path, "--initial", "7"]).status.code(), Some(0));
    let path = folder.file("cas.edn", fixtures::FAILED_CAS.as_bytes());
    assert_eq!(run(&["check", &path]).status.code(), Some(1));
    assert_eq!(
        run(&["check", &path, "--failed-cas", "observe"]).status.code(),
        Some(1)
    );
    assert_eq!(
        run(&["check", &path, "--failed-cas", "drop"]).status.code(),
        Some(0)
    );
}

#[test]
fn bad_input_is_told_in_three_lines() {
    let folder = Folder::new("bad");
    let good = folder.file("good.edn", fixtures::REGISTER_GOOD.as_bytes());
    let bad_line = folder.file(
        "line.jsonl",
        b"{\"type\":\"invoke\",\"process\":0,\"f\":\"read\",\"value\":null}\n{\"type\":\n",
    );
    let unpaired = folder.file("unpaired.edn", b"{:type :ok, :f :read, :value 1, :process 3}\n");
    let misfit = folder.file(
        "misfit.edn",
        b"{:type :invoke, :f :dance, :value 1, :process 3}\n",
    );
    let empty = folder.file("empty.edn", b"");
    let junk = folder.file("junk", b"\x7fELF nothing of the kind");
    let strange = folder.file("strange.json", br#"{"model":"regster","options":{},"history":[{"index":0,"time":0,"process":0,"type":"invoke","f":"read","value":null}]}"#);
    let missing = folder.path("missing.edn");
    let own = folder.path("");
    let nowhere = folder.path("no/such/folder/why.html");
    let cases: &[Refused<'_>] = &[
        (&["check"], 64, &["<FILE>"]),
        (&["check", &missing], 64, &["missing.edn", "No such file"]),
        (&["check", &own], 64, &["it is a folder"]),
        (&["check", &empty], 65, &["it is empty"]),
        (&["check", &junk], 64, &["jepsen-edn", "awdit-test-text"]),
        (&["check", &bad_line], 65, &["line 2"]),
        (&["check", &unpaired], 65, &["process 3"]),
        (&["check", &misfit], 64, &["--model", "cas-register"]),
        (&["check", &misfit, "--model", "register"], 65, &["dance"]),
        (&["check", &strange], 64, &["regster", "register"]),
        (&["check", &good, "--format", "plume-text"], 65, &["line 1"]),
        (&["check", &good, "--format", "jepsen-edm"], 64, &["jepsen-edn"]),
        (&["check", &good, "--model", "cas"], 64, &["nearest are"]),
        (
            &["check", &good, "--level", "serialisable"],
            64,
            &["no", "nearest are"],
        ),
        (
            &["check", &good, "--level", "serializable"],
            64,
            &["register", "transactional"],
        ),
        (&["check", &good, "--subscribe"], 64, &["kafka"]),
        (
            &["check", &good, "--subscribe", "--assign"],
            64,
            &["cannot be used with"],
        ),
        (&["check", &good, "--failed-cas", "drop"], 64, &["cas-register"]),
        (&["check", &good, "--option", "colour=1"], 64, &["nearest are"]),
        (&["check", &good, "--budget", "0s"], 64, &["no time"]),
        (
            &["check", &good, "--budget", "99999999999999999999h"],
            64,
            &["--budget"],
        ),
        (&["check", &good, "--budget", "soon"], 64, &["--budget"]),
        (&["check", &good, "--memory", "0B"], 64, &["least"]),
        (
            &["check", &good, "--memory", "99999999999TiB"],
            64,
            &["no machine"],
        ),
        (&["check", &good, "--memory", "lots"], 64, &["MiB"]),
        (&["check", &good, "--html", &own], 64, &["it is a folder"]),
        (&["check", &good, "--html", &nowhere], 64, &["there is no folder"]),
    ];
    for (words, code, says) in cases {
        let what = words.join(" ");
        let output = run(words);
        is_three_lines(&what, &output, *code, says);
        assert_eq!(output.stdout, b"", "{what}");
        let json = run(&[words, &["--json"][..]].concat());
        assert_eq!(validated(&what, &json)["error"]["code"], *code, "{what}");
    }
}

#[test]
fn levels_of_real_time_are_refused_where_the_format_has_none() {
    let folder = Folder::new("no-real-time");
    let path = folder.file("sessions.txt", fixtures::AWDIT.as_bytes());
    let output = run(&["check", &path, "--level", "strict-serializable"]);
    is_three_lines("no real time", &output, 64, &["awdit-test-text", "no real time"]);
    let json = validated("default", &run(&["check", &path, "--json"]));
    assert_eq!(json["level"], "serializable");
}

/// Clients that are always busy with few equal values, whose reads answer whatever: what a search likes least.
fn hopeless(operations: usize, clients: usize) -> String {
    let mut text = String::new();
    let mut open: Vec<Option<(&str, usize)>> = vec![None; clients];
    for operation in 0..operations {
        let client = (operation * 7) % clients;
        let value = (operation * operation + client) % 3;
        if let Some((f, value)) = open[client] {
            let _ = writeln!(text, "{{:type :ok, :f :{f}, :value {value}, :process {client}}}");
        }
        let (f, asked) = if operation % 5 == 0 {
            ("write", value.to_string())
        } else {
            ("read", "nil".into())
        };
        let _ = writeln!(
            text,
            "{{:type :invoke, :f :{f}, :value {asked}, :process {client}}}"
        );
        open[client] = Some((f, value));
    }
    text
}

#[test]
fn the_time_is_kept() {
    let folder = Folder::new("time");
    let path = folder.file("hopeless.edn", hopeless(6_000, 100).as_bytes());
    let began = Instant::now();
    let output = run(&["check", &path, "--json", "--model", "register", "--budget", "1s"]);
    // A busy machine may take its time; a check that does not end would take for ever.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let json = validated("time", &output);
    if json["verdict"] == "unknown" {
        assert_eq!(json["reasons"][0]["code"], "budget", "{json}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_is_kept_and_what_was_read_is_told() {
    let folder = Folder::new("memory");
    let mut text = String::new();
    for number in 0..200_000 {
        for kind in ["invoke", "ok"] {
            let _ = writeln!(
                text,
                r#"{{"type":"{kind}","process":0,"f":"txn","value":[["append",{number},1],["r",7,null]]}}"#
            );
        }
    }
    let path = folder.file("large.jsonl", text.as_bytes());
    let output = run(&["check", &path, "--json", "--memory", "40MiB"]);
    let json = validated("memory", &output);
    assert_eq!(output.status.code(), Some(2), "{json}");
    assert_eq!(json["reasons"][0]["code"], "budget", "{json}");
    let peak = json["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak < 80 << 20, "{peak}");
}

#[test]
fn an_own_run_is_judged_by_its_promise_or_as_a_log() {
    let folder = Folder::new("own");
    let path = folder.file("history.jsonl", fixtures::OWN.as_bytes());
    let output = run(&["check", &path, "--json"]);
    let json = validated("own", &output);
    assert_eq!(
        (json["format"].as_str(), json["model"].as_str()),
        (Some("ackall"), Some("promise")),
        "{json}"
    );
    // It has no final read.
    assert_eq!(output.status.code(), Some(2), "{json}");
    assert!(
        json["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .any(|reason| reason["code"] == "history-without-end")
    );
    let torn = folder.file("torn.jsonl", &fixtures::OWN.as_bytes()[..fixtures::OWN.len() - 9]);
    let output = run(&["check", &torn]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is torn and was dropped"));
}

#[test]
fn what_check_has_names_for_is_explained() {
    for name in [
        "cas-register",
        "snapshot-isolation",
        "jepsen-edn",
        "G2-item",
        "budget",
    ] {
        let output = run(&["explain", name]);
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert!(output.stdout.len() > 30, "{name}");
    }
    let schema = run(&["schema", "check"]);
    assert_eq!(schema.status.code(), Some(0));
}
