//! The head of the report: the verdict in sentences that a stranger understands.

use super::html::Html;
use super::said;
use crate::result::RunResult;
use crate::steps;
use crate::story;
use crate::text::{clock, counted, grouped, measurements};
use checker::{Instance, Outcome, Verdict};
use history::{Body, History, Kind};

/// acks=all, as a request says it.
const ALL: i16 = -1;

/// Writes the verdict's sentences.
pub(super) fn lead(html: &mut Html, history: &History, verdict: &Verdict, result: &RunResult) {
    html.raw("<h1>");
    html.raw(&crate::text::escape(&headline(result)));
    html.raw("</h1>\n");
    for sentence in sentences(history, verdict, result) {
        html.paragraph(&sentence);
    }
}

fn headline(result: &RunResult) -> String {
    let lost = |inside_promise: bool| {
        let losses = result
            .anomalies
            .iter()
            .filter(|a| story::is_loss(&a.name) && a.inside_promise == inside_promise);
        losses.map(|anomaly| anomaly.count).sum()
    };
    match (result.verdict, lost(true), lost(false)) {
        (Outcome::Pass, _, 0) => format!("{} Nothing acknowledged was lost.", said(result.verdict)),
        (Outcome::Pass, _, outside) => {
            format!(
                "{} {} lost, outside of it.",
                said(result.verdict),
                counted(outside, "acknowledged record")
            )
        }
        (Outcome::Fail, inside @ 1.., _) => {
            format!(
                "{} lost, inside the promise.",
                counted(inside, "acknowledged record")
            )
        }
        (outcome, ..) => said(outcome).to_string(),
    }
}

fn sentences(history: &History, verdict: &Verdict, result: &RunResult) -> Vec<String> {
    let mut sentences = vec![promised(history, result)];
    sentences.extend(broken_by(history, result));
    match story::lost(result) {
        0 => {}
        lost => sentences.push(losses(history, verdict, lost)),
    }
    let others: Vec<String> = result
        .anomalies
        .iter()
        .filter(|anomaly| !story::is_loss(&anomaly.name))
        .map(|anomaly| {
            format!(
                "{} ({}, {})",
                anomaly.name,
                grouped(anomaly.count),
                story::side(anomaly.inside_promise)
            )
        })
        .collect();
    if !others.is_empty() {
        sentences.push(format!("Also found: {}.", others.join(", ")));
    }
    if result.anomalies.iter().any(|anomaly| !anomaly.inside_promise) && !result.promise.spent_by.is_empty() {
        let spent = result.promise.spent_by.join("; ");
        sentences.push(format!(
            "What is outside the promise is no failure. The promise was spent by: {spent}."
        ));
    }
    if result.verdict == Outcome::Unknown {
        let lacks: Vec<&str> = story::lacks(result)
            .map(|reason| reason.message.as_str())
            .collect();
        sentences.push(match lacks.join("; ") {
            none if none.is_empty() => "The history does not show enough to judge.".to_string(),
            lacks => format!("Neither pass nor fail can be said, because: {lacks}."),
        });
    }
    sentences
}

/// What the cluster had promised, and how often.
fn promised(history: &History, result: &RunResult) -> String {
    let acked = history.entries.iter().filter(|entry| match &entry.body {
        Body::Send(send) => entry.kind == Kind::Ok && send.acks == ALL,
        _ => false,
    });
    let acked = counted(acked.count() as u64, "record");
    let system = format!("{} {}", result.meta.system, result.meta.version);
    if result.promise.name.is_empty() {
        return format!(
            "The cluster ({system}) acknowledged {acked} with acks=all. The scenario names no promise."
        );
    }
    format!(
        "The cluster ({system}) acknowledged {acked} with acks=all and min.insync.replicas={}. Its promise ({}): {}.",
        result.promise.min_isr, result.promise.name, result.promise.text
    )
}

/// What was done to the cluster, in order.
fn broken_by(history: &History, result: &RunResult) -> Option<String> {
    let steps = steps::of(history);
    let faults: Vec<String> = result
        .faults
        .iter()
        .filter_map(|fault| {
            let at = fault.injected_at?;
            let nodes: Vec<String> = fault.targets.iter().map(i32::to_string).collect();
            let step = steps::at(&steps, (at * 1e9) as u64);
            let during = step.map_or(String::new(), |step| format!("in {}, ", step.name));
            let lost = fault
                .measured
                .iter()
                .filter(|(name, _)| name.starts_with("lost_"));
            let lost = match measurements(lost) {
                none if none.is_empty() => none,
                lost => format!(" ({lost})"),
            };
            Some(format!(
                "{during}{} on broker {}{lost}",
                fault.name,
                nodes.join(", ")
            ))
        })
        .collect();
    (!faults.is_empty()).then(|| format!("What was broken: {}.", faults.join("; ")))
}

/// Which records went, when they had been acknowledged, and when it showed.
fn losses(history: &History, verdict: &Verdict, lost: u64) -> String {
    let instances: Vec<&Instance> = verdict
        .anomalies
        .iter()
        .filter(|anomaly| story::is_loss(&anomaly.name))
        .flat_map(|anomaly| &anomaly.instances)
        .collect();
    let acked: Vec<u64> = instances
        .iter()
        .filter_map(|instance| instance.acked_at)
        .collect();
    let mut text = format!("Of what was acknowledged, {} gone at the end", of_records(lost));
    if let (Some(first), Some(last)) = (acked.iter().min(), acked.iter().max()) {
        text.push_str(&format!(
            ", acknowledged between {} and {}",
            clock(*first),
            clock(*last)
        ));
    }
    text.push('.');
    let seen = instances.iter().filter_map(|instance| instance.lost_at).min();
    if let Some(seen) = seen {
        text.push_str(&format!(" The first was missed at {}", clock(seen)));
        if let Some(step) = steps::at(&steps::of(history), seen) {
            text.push_str(&format!(", in step {}: {}", step.name, step.text));
        }
        text.push('.');
    }
    text
}

fn of_records(n: u64) -> String {
    format!("{} {}", counted(n, "record"), if n == 1 { "is" } else { "are" })
}
