//! The verdict in words that the terminal and the page share.

use super::{CheckResult, Question};
use crate::text::{counted, grouped};
use checker::{Finding, Outcome};

/// The verdict in a sentence, without its word.
pub(super) fn verdict(result: &CheckResult) -> String {
    let model = &result.how.model;
    let level = result.how.level.as_deref().unwrap_or("the level asked for");
    match (result.judgement.verdict, result.how.question) {
        (Outcome::Pass, Question::Linearizable) => format!("the history is linearizable as a {model}"),
        (Outcome::Pass, Question::Isolation) => format!("nothing in the history speaks against {level}"),
        (Outcome::Pass, Question::Invariant) => format!("every rule of {model} holds"),
        (Outcome::Pass, Question::Log) => "nothing that a log may not do was found".into(),
        (Outcome::Pass, Question::Promise) => "every promise of the run held".into(),
        (Outcome::Fail, Question::Linearizable) => format!("the history is not linearizable as a {model}"),
        (Outcome::Fail, Question::Isolation) => format!("the history is not {level}"),
        (Outcome::Fail, Question::Invariant) => format!("a rule of {model} is broken"),
        (Outcome::Fail, Question::Log) => "the log did what it may not do".into(),
        (Outcome::Fail, Question::Promise) => "a promise of the run was broken".into(),
        (Outcome::Unknown, _) => unknown(result),
    }
}

fn unknown(result: &CheckResult) -> String {
    match &result.judgement.reasons[..] {
        [] => "the history does not show enough to judge".into(),
        [one] => one.message.clone(),
        [first, more @ ..] => format!(
            "{} (and {})",
            first.message,
            counted(more.len() as u64, "more reason")
        ),
    }
}

/// What was found, in a line.
pub(super) fn found(result: &CheckResult) -> String {
    let told = |finding: &Finding| {
        let name = format!("{} {}", finding.name, grouped(finding.count));
        if finding.tolerated.is_some() {
            format!("{name} (tolerated)")
        } else {
            name
        }
    };
    let found: Vec<String> = result.judgement.anomalies.iter().map(told).collect();
    let found = if found.is_empty() {
        "nothing".to_string()
    } else {
        found.join(", ")
    };
    match result.judgement.models_ruled_out.join(", ") {
        none if none.is_empty() => found,
        ruled_out => format!("{found}; rules out {ruled_out}"),
    }
}

/// How the history was judged, in a line.
pub(super) fn judged(result: &CheckResult) -> String {
    let how = &result.how;
    let level = match &how.level {
        Some(level) => format!(" at {level}"),
        None => String::new(),
    };
    let memory = match how.peak_memory_bytes {
        Some(bytes) => format!(", {} MiB", grouped(bytes.div_ceil(1 << 20))),
        None => String::new(),
    };
    format!(
        "{}, read as {}, judged as {}{level}; {:.2} s{memory}",
        operations(result),
        how.format,
        how.model,
        how.duration_s
    )
}

/// The operations by outcome.
pub(super) fn operations(result: &CheckResult) -> String {
    let by = &result.judgement.operations;
    format!(
        "{} (ok {}, fail {}, info {})",
        counted(result.judgement.operations_total, "operation"),
        grouped(by.ok),
        grouped(by.fail),
        grouped(by.info)
    )
}

/// What stands beside a finding's name.
pub(super) fn notes(finding: &Finding) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(cause) = &finding.follows {
        notes.push(format!("follows from {cause}"));
    }
    if let Some(why) = &finding.tolerated {
        notes.push(format!("tolerated: {why}"));
    }
    notes
}

/// A finding in one line.
pub(super) fn title(finding: &Finding) -> String {
    let mut title = format!("{}: {}", finding.name, counted(finding.count, "instance"));
    for note in notes(finding) {
        title.push_str(", ");
        title.push_str(&note);
    }
    title
}

/// Indexes of entries, the first few.
pub(super) fn entries(indexes: &[u64]) -> String {
    const NAMED: usize = 12;
    let mut told: Vec<String> = indexes.iter().take(NAMED).map(u64::to_string).collect();
    if indexes.len() > NAMED {
        told.push(format!("and {} more", grouped((indexes.len() - NAMED) as u64)));
    }
    told.join(", ")
}
