//! Reads of what nobody wrote.

use checker::{Budget, Judgement, Level, ModelName, Options, Outcome, judge};
use history::{Format, read_foreign};

/// Judges transactions that follow one another, each with its value as it completed.
fn judged(model: ModelName, level: Level, transactions: &[&str]) -> Judgement {
    let mut lines = String::new();
    for value in transactions {
        for kind in ["invoke", "ok"] {
            lines += &format!("{{\"process\":0,\"type\":\"{kind}\",\"f\":\"txn\",\"value\":{value}}}\n");
        }
    }
    let options = Options {
        level: Some(level),
        ..Options::default()
    };
    let ops = read_foreign(Format::JepsenJson, lines.as_bytes());
    judge(model, &options, &Budget::unlimited(), ops).unwrap()
}

fn finds_it(judgement: &Judgement) -> bool {
    let found = |found: &checker::Finding| {
        found.name == "thin-air-read" && found.count == 1 && found.tolerated.is_some()
    };
    judgement.anomalies.iter().any(found)
}

#[test]
fn a_value_that_nobody_wrote_is_told_and_tolerated() {
    let spoilt = [r#"[["w",1,1]]"#, r#"[["r",1,1]]"#, r#"[["r",1,7]]"#];
    let judgement = judged(ModelName::RwRegister, Level::ReadCommitted, &spoilt);
    assert!(finds_it(&judgement), "{judgement:?}");
    assert_eq!(judgement.verdict, Outcome::Pass);
    let spoilt = [r#"[["append",1,1]]"#, r#"[["r",1,[9,1]]]"#];
    let judgement = judged(ModelName::ListAppend, Level::ReadCommitted, &spoilt);
    assert!(finds_it(&judgement), "{judgement:?}");
    assert_eq!(judgement.verdict, Outcome::Pass);
}

#[test]
fn values_that_somebody_wrote_are_fine() {
    let fine = [r#"[["w",1,1]]"#, r#"[["r",1,1],["r",2,null]]"#];
    let judgement = judged(ModelName::RwRegister, Level::ReadCommitted, &fine);
    assert_eq!((judgement.verdict, judgement.anomalies), (Outcome::Pass, vec![]));
    let fine = [r#"[["append",1,1]]"#, r#"[["r",1,[1]]]"#];
    let judgement = judged(ModelName::ListAppend, Level::ReadCommitted, &fine);
    assert_eq!((judgement.verdict, judgement.anomalies), (Outcome::Pass, vec![]));
}
