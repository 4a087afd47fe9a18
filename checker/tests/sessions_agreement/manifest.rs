//! Histories of others with known verdicts, where a folder of them is named by `ACKALL_HISTORIES`.

use checker::{Budget, Judgement, Level, ModelName, Options, Outcome, judge};
use history::{Format, read_foreign};
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

#[test]
fn verdicts_of_others_on_sessions() {
    let Some(folder) = std::env::var_os("ACKALL_HISTORIES") else {
        println!("SKIPPED: ACKALL_HISTORIES names no folder of histories");
        return;
    };
    let folder = Path::new(&folder);
    let manifest = std::fs::read(folder.join("manifest.json")).expect("manifest.json is there");
    let records: Vec<serde_json::Value> = serde_json::from_slice(&manifest).expect("it is a list");
    let mut judged = 0;
    for record in &records {
        let model = record["model"].as_str().unwrap_or_default();
        if !model.starts_with("rw-register-sessions") {
            continue;
        }
        let path = folder.join(record["path"].as_str().unwrap_or_default());
        let format = record["format"].as_str().unwrap_or_default();
        let mut asked: Vec<(String, bool)> = Vec::new();
        if let (Some(check), Some(valid)) = (record["check"].as_str(), record["valid"].as_bool()) {
            asked.push((check.replace("transactional-", ""), valid));
        }
        let verdicts = record["verdicts"].as_object().into_iter().flatten();
        asked.extend(verdicts.filter_map(|(level, valid)| Some((level.clone(), valid.as_bool()?))));
        for (level, valid) in asked {
            let found = judged_as(&path, format, &level);
            let expected = if valid { Outcome::Pass } else { Outcome::Fail };
            let names: Vec<_> = found
                .anomalies
                .iter()
                .map(|anomaly| (&anomaly.name, anomaly.count))
                .collect();
            println!(
                "{} {level}: {} {names:?} {:?}",
                record["path"],
                found.verdict.text(),
                found.models_ruled_out
            );
            assert_eq!(found.verdict, expected, "{path:?} {level} {:?}", found.reasons);
            judged += 1;
        }
    }
    assert!(judged > 50, "{judged} verdicts");
}

fn judged_as(path: &Path, format: &str, level: &str) -> Judgement {
    let format = match format {
        "plume-text" => Format::PlumeText,
        _ => Format::AwditTestText,
    };
    let level: Level = level.parse().expect("it is a level");
    let options = Options {
        level: Some(level),
        ..Options::default()
    };
    let file = BufReader::new(std::fs::File::open(path).expect("the file is there"));
    let budget = Budget::new(Duration::from_secs(20), 1 << 30);
    judge(
        ModelName::RwRegisterSessions,
        &options,
        &budget,
        read_foreign(format, file),
    )
    .expect("it is well-formed")
}
