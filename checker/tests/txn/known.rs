//! Histories that others judged: those under `ACKALL_HISTORIES`, by its `manifest.json`. Skipped where that is not set.

use checker::{Budget, Judgement, Level, ModelName, Options, Outcome, judge};
use history::{Format, read_foreign};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufReader, Cursor};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn bytes(path: &Path) -> Vec<u8> {
    if path.extension().is_some_and(|ending| ending == "gz") {
        let out = Command::new("gzip").arg("-dc").arg(path).output().expect("gzip");
        assert!(out.status.success(), "{}", path.display());
        return out.stdout;
    }
    std::fs::read(path).expect("the history")
}

fn options(record: &Value) -> Options {
    let flag = |name: &str| record["options"][name].as_bool();
    Options {
        wfr_keys: flag("wfr-keys?"),
        sequential_keys: flag("sequential-keys?").unwrap_or(false),
        linearizable_keys: flag("linearizable-keys?").unwrap_or(false),
        ..Options::default()
    }
}

fn judged(record: &Value, bytes: &[u8], level: Option<Level>) -> Judgement {
    let format = match record["format"].as_str() {
        Some("jepsen-edn") => Format::JepsenEdn,
        Some("jepsen-json") => Format::JepsenJson,
        _ => Format::CaseJson,
    };
    let model = match record["model"].as_str() {
        Some("list-append") => ModelName::ListAppend,
        _ => ModelName::RwRegister,
    };
    let options = Options {
        level,
        ..options(record)
    };
    let reader = read_foreign(format, BufReader::new(Cursor::new(bytes)));
    let budget = Budget::new(Duration::from_secs(120), 4 << 30);
    judge(model, &options, &budget, reader).unwrap_or_else(|error| panic!("{}: {error}", record["id"]))
}

fn outcome(verdict: &Value) -> Outcome {
    match verdict.as_bool() {
        Some(true) => Outcome::Pass,
        Some(false) => Outcome::Fail,
        None => Outcome::Unknown,
    }
}

/// The names that are told of the level, but for those that it allows.
fn names(judgement: &Judgement) -> BTreeSet<String> {
    let told = judgement
        .anomalies
        .iter()
        .filter(|finding| finding.tolerated.is_none());
    told.map(|finding| finding.name.clone()).collect()
}

/// Where we say something else than the manifest, and why: `docs/checkers.md`, "Transactions".
fn more_precise(id: &str) -> Option<&'static [&'static str]> {
    match id {
        "elle-inline:list-append-checker-g-nonadjacent-process" => {
            Some(&["G-nonadjacent-item-realtime", "G1c-realtime"])
        }
        // Where the reference gave up, the search ends with the cycle that it looked for.
        "elle:huge-scc" => Some(&["G-single-item-realtime"]),
        "elle-inline:list-append-unfindable-g-single" => Some(&["G-single-item"]),
        _ => None,
    }
}

#[test]
fn verdicts_and_names_are_those_of_others() {
    let Some(folder) = std::env::var_os("ACKALL_HISTORIES") else {
        println!("SKIPPED: ACKALL_HISTORIES is not set");
        return;
    };
    let folder = Path::new(&folder);
    let manifest = std::fs::read(folder.join("manifest.json")).expect("the manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("the manifest is JSON");
    let mut wrong = Vec::new();
    for record in manifest.as_array().expect("a list") {
        let model = record["model"].as_str().unwrap_or_default();
        if !matches!(model, "list-append" | "rw-register")
            || record["id"].as_str().is_none_or(|id| !id.starts_with("elle"))
        {
            continue;
        }
        let id = record["id"].as_str().unwrap_or_default();
        let bytes = bytes(&folder.join(record["path"].as_str().unwrap_or_default()));
        let check = record["check"].as_str().unwrap_or_default();
        let level = check.rsplit(' ').next().and_then(|name| name.parse().ok());
        let began = std::time::Instant::now();
        let main = judged(record, &bytes, level);
        println!(
            "{id}: {:?} {:?} {:?}",
            main.verdict,
            names(&main),
            began.elapsed()
        );
        if std::env::var_os("ACKALL_TELL").is_some() {
            for finding in &main.anomalies {
                println!("  {} x{}", finding.name, finding.count);
                println!("{}", finding.examples.first().map_or("", |example| &example.text));
            }
            println!("{:?} {:?}", main.reasons, main.models_ruled_out);
        }
        if !record["valid"].is_null() && main.verdict != outcome(&record["valid"]) {
            wrong.push(format!("{id}: {:?}, not {:?}", main.verdict, record["valid"]));
        }
        if let Some(expected) = record["anomalies"].as_array() {
            let expected: BTreeSet<String> = match more_precise(id) {
                Some(names) => names.iter().map(|name| (*name).to_owned()).collect(),
                None => expected
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            };
            if names(&main) != expected {
                wrong.push(format!("{id}: {:?}, not {expected:?}", names(&main)));
            }
        }
        for (name, verdict) in record["verdicts"].as_object().into_iter().flatten() {
            let level: Level = name.parse().expect("a level");
            let at = judged(record, &bytes, Some(level));
            if at.verdict != outcome(verdict) {
                wrong.push(format!(
                    "{id} at {name}: {:?} {:?}, not {verdict}",
                    at.verdict,
                    names(&at)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
