//! The linearizable histories of others, where `ACKALL_HISTORIES` says they are.

use checker::{Budget, ModelName, Options, Outcome, judge};
use history::Format;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

#[test]
fn verdicts_of_others_are_reproduced() {
    let Ok(folder) = std::env::var("ACKALL_HISTORIES") else {
        println!("SKIPPED: ACKALL_HISTORIES is not set");
        return;
    };
    let folder = Path::new(&folder);
    let manifest = File::open(folder.join("manifest.json")).expect("the manifest");
    let manifest: serde_json::Value = serde_json::from_reader(BufReader::new(manifest)).expect("JSON");
    let mut judged = 0;
    let mut wrong = Vec::new();
    for record in manifest.as_array().expect("a list") {
        if let Some((path, expected, found)) = one(folder, record) {
            judged += 1;
            if expected != found {
                wrong.push(format!("{path}: expected {expected:?}, found {found:?}"));
            }
        }
    }
    println!("{judged} histories");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(judged > 100, "{judged}");
}

fn one(folder: &Path, record: &serde_json::Value) -> Option<(String, Outcome, Outcome)> {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let model = match text("model").split('(').next()? {
        "register" => ModelName::Register,
        "cas-register" => ModelName::CasRegister,
        _ => return None,
    };
    let format = Format::ALL
        .into_iter()
        .find(|format| format.text() == text("format"))?;
    if text("check") != "linearizable" || text("compressed") == "gzip" {
        return None;
    }
    let expected = if record["valid"].as_bool()? {
        Outcome::Pass
    } else {
        Outcome::Fail
    };
    let file = File::open(folder.join(text("path"))).expect("a file of the manifest");
    let history = history::read_foreign(format, BufReader::new(file));
    let budget = Budget::new(Duration::from_secs(30), 1 << 30);
    let judgement = judge(model, &Options::default(), &budget, history).expect("a history");
    Some((text("path").to_owned(), expected, judgement.verdict))
}
