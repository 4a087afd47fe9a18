//! Judgements that the tests tell.

use super::{CheckResult, Choice, From, How, Question};
use checker::{Example, Finding, Judgement, Operations, Outcome, Reason};

pub fn how(question: Question) -> How {
    let (model, level) = match question {
        Question::Isolation => ("list-append", Some("strong-serializable".to_string())),
        _ => ("cas-register", None),
    };
    let choice = |name, value: &str, from| Choice {
        name,
        value: value.into(),
        from,
    };
    How {
        file: "some/history.edn".into(),
        format: "jepsen-edn".into(),
        model: model.into(),
        question,
        choices: vec![
            choice("format", "jepsen-edn", From::Guessed),
            choice("model", model, From::CommandLine),
            choice("budget", "60s", From::Default),
        ],
        command: format!("ackall check some/history.edn --format jepsen-edn --model {model}"),
        level,
        duration_s: 0.0123,
        peak_memory_bytes: Some(14 << 20),
        ackall_version: "0.1.0".into(),
    }
}

pub fn judgement(verdict: Outcome, anomalies: Vec<Finding>, ruled_out: &[&str]) -> Judgement {
    let reasons = anomalies
        .iter()
        .filter(|finding| finding.tolerated.is_none())
        .map(|finding| Reason::new(&finding.name, format!("{} was found", finding.name)));
    Judgement {
        verdict,
        reasons: reasons.collect(),
        anomalies,
        models_ruled_out: ruled_out.iter().map(|name| name.to_string()).collect(),
        operations: Operations {
            ok: 1100,
            fail: 3,
            info: 101,
        },
        operations_total: 1204,
    }
}

/// A cycle of two transactions, and an abort that was read, which is tolerated for the test's sake.
pub fn cycle() -> CheckResult {
    let text = "T1 = 3: [:append x 1] [:r y []]\nT2 = 5: [:append y 1] [:r x []]\n\
                T1 precedes T2, because it did not read what T2 appended to y;\n\
                T2 precedes T1, because it did not read what T1 appended to x: a contradiction";
    let picture = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 300 60\" width=\"300\" height=\"60\">\
                   <rect width=\"300\" height=\"60\" fill=\"#ffffff\"/><text x=\"20\" y=\"35\">T1 → T2 → T1</text></svg>";
    let example = Example {
        operations: vec![3, 5],
        text: text.into(),
        picture: Some(picture.into()),
    };
    let mut aborted = Finding::new("G1a", 12, vec![Example::default()]);
    aborted.tolerated = Some("the level asked for allows it".into());
    let found = vec![Finding::new("G2-item", 1, vec![example]), aborted];
    CheckResult::new(
        judgement(Outcome::Fail, found, &["repeatable-read"]),
        how(Question::Isolation),
    )
}

pub fn pass() -> CheckResult {
    CheckResult::new(
        judgement(Outcome::Pass, Vec::new(), &[]),
        how(Question::Linearizable),
    )
}

pub fn unknown() -> CheckResult {
    let mut judgement = judgement(Outcome::Unknown, Vec::new(), &[]);
    judgement.reasons = vec![
        Reason::new("time", "not decided within 60.0 s"),
        Reason::new("memory", "key 7 was not decided"),
    ];
    CheckResult::new(judgement, how(Question::Linearizable))
}
