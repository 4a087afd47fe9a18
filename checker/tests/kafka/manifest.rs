//! The third-party histories, where `ACKALL_HISTORIES` says that they are: every verdict, every name and every count,
//! but for what `docs/checkers.md` argues.

use checker::{Budget, ModelName, Options, Outcome, judge};
use flate2::read::GzDecoder;
use history::{Format, read_foreign};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Where Jepsen calls values unseen that were polled.
const ARGUED: [&str; 2] = [
    "jepsen-kafka-inline:lost-write-atomic",
    "jepsen-kafka-inline:lost-write-atomic-2",
];

#[test]
fn verdicts_names_and_counts_are_those_of_the_manifest() {
    let Ok(folder) = std::env::var("ACKALL_HISTORIES") else {
        println!("SKIPPED: ACKALL_HISTORIES names no folder");
        return;
    };
    let folder = Path::new(&folder);
    let manifest: Json = serde_json::from_reader(File::open(folder.join("manifest.json")).unwrap()).unwrap();
    let records = manifest
        .as_array()
        .unwrap()
        .iter()
        .filter(|record| record["model"] == "kafka");
    let mut count = 0;
    for record in records {
        for subscribe in [false, true] {
            one(folder, record, subscribe);
        }
        count += 1;
    }
    assert!(count > 0, "the manifest has no histories of Kafka");
}

fn one(folder: &Path, record: &Json, subscribe: bool) {
    let id = record["id"].as_str().unwrap();
    let options = Options {
        subscribe,
        ww_deps: record["options"]["ww-deps"] == true,
        ..Options::default()
    };
    let ops = read_foreign(
        Format::CaseJson,
        open(&folder.join(record["path"].as_str().unwrap())),
    );
    let judgement = judge(ModelName::Kafka, &options, &Budget::unlimited(), ops).unwrap();
    let argued = |name: &str| name == "unseen" && ARGUED.contains(&id);
    let names = |list: &Json| -> Vec<String> {
        let names = list
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned());
        names.filter(|name| !argued(name)).collect()
    };
    let how = if subscribe {
        "invalidating_subscribe"
    } else {
        "invalidating_assign"
    };
    let decide = names(&record[how]);
    let mut ours: Vec<&str> = Vec::new();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in &judgement.anomalies {
        if finding.tolerated.is_none() {
            ours.push(&finding.name);
        }
        // What Jepsen's graph cannot show, and how many values are unseen.
        if !finding.name.starts_with("G-") && !finding.name.starts_with("G2") && finding.name != "unseen" {
            counts.insert(&finding.name, finding.count);
        }
    }
    ours.sort_unstable();
    assert_eq!(ours, decide, "{id}, {how}");
    assert_eq!(
        judgement.verdict == Outcome::Pass,
        decide.is_empty(),
        "{id}, {how}"
    );
    let expected = record["error_counts"].as_object().unwrap().iter();
    let expected = expected.map(|(name, count)| (&**name, count.as_u64().unwrap()));
    let expected: BTreeMap<&str, u64> = expected.filter(|(name, _)| *name != "unseen").collect();
    assert_eq!(counts, expected, "{id}");
}

fn open(path: &Path) -> Box<dyn BufRead> {
    let file = File::open(path).unwrap();
    match path.extension() {
        Some(extension) if extension == "gz" => Box::new(BufReader::new(GzDecoder::new(file))),
        _ => Box::new(BufReader::new(file)),
    }
}
