//! The tables of steps, faults, the promise, and what the scenario demands.

use super::html::Html;
use crate::result::RunResult;
use crate::steps::{self, End};
use crate::story;
use crate::text::{clock, grouped, measurements};
use checker::Verdict;
use history::{History, Requirement};

/// The steps in words.
pub(super) fn steps(html: &mut Html, history: &History) {
    let steps = steps::of(history);
    html.heading("Steps");
    if steps.is_empty() {
        html.paragraph("The history has no step.");
        return;
    }
    let rows = steps.into_iter().map(|step| {
        let (ended, seen) = match step.end {
            End::Reached { at, seen } => (clock(at), seen),
            End::NotReached { at, why } => (format!("not reached by {}", clock(at)), why),
            End::Open => ("not reached: the history ends first".to_string(), String::new()),
        };
        [step.name, step.text, clock(step.began), ended, seen]
    });
    html.table(
        "What each step did, and the state that it waited for.",
        ["step", "what it did", "#began", "#reached", "what was seen"],
        rows,
    );
}

/// The faults, as measured.
pub(super) fn faults(html: &mut Html, result: &RunResult) {
    html.heading("Faults");
    if result.faults.is_empty() {
        html.paragraph("Nothing was broken.");
        return;
    }
    let at = |seconds: Option<f64>, none: &str| seconds.map_or(none.to_string(), |s| format!("{s:.3} s"));
    let rows = result.faults.iter().map(|fault| {
        let nodes: Vec<String> = fault.targets.iter().map(i32::to_string).collect();
        [
            fault.name.clone(),
            nodes.join(", "),
            fault.asked.clone(),
            at(fault.injected_at, "it did not take"),
            at(fault.healed_at, "not healed"),
            measurements(fault.measured.iter()),
        ]
    });
    html.table(
        "Each fault was measured to be there, and to be gone.",
        ["fault", "broker", "asked for", "#in", "#out", "measured"],
        rows,
    );
}

/// The promise, and when it was not in force.
pub(super) fn promise(html: &mut Html, verdict: &Verdict) {
    let promise = &verdict.promise;
    html.heading("Promise");
    if promise.name.is_empty() {
        html.paragraph("The scenario names no promise: whatever was found is outside of one.");
        return;
    }
    html.paragraph(&format!(
        "{}: {}. It is about acks={} and min.insync.replicas={}.",
        promise.name, promise.text, promise.acks, promise.min_isr
    ));
    match promise.spent_by.join("; ") {
        none if none.is_empty() => html.paragraph("Nothing spent it."),
        spent => html.paragraph(&format!("It was spent by: {spent}.")),
    }
    let rows: Vec<[String; 4]> = promise
        .partitions
        .iter()
        .flat_map(|ledger| {
            ledger.bad.iter().map(|bad| {
                let to = bad.to.map_or("the end".to_string(), clock);
                [
                    format!("{}-{}", ledger.topic, ledger.partition),
                    clock(bad.from),
                    to,
                    bad.why.clone(),
                ]
            })
        })
        .collect();
    if !rows.is_empty() {
        html.table(
            "When nothing was promised.",
            ["partition", "#from", "#to", "why"],
            rows,
        );
    }
}

/// What the scenario demands of a run, and the reasons of the verdict.
pub(super) fn demands(html: &mut Html, history: &History, result: &RunResult) {
    html.heading("Requirements and reasons");
    let requirements = &history.header.requirements;
    if requirements.is_empty() {
        html.paragraph("The scenario demands nothing beyond its steps.");
    } else {
        html.paragraph("A run that does not meet these says nothing, whatever it shows:");
        html.raw("<ul>\n");
        for requirement in requirements {
            html.raw(&format!(
                "<li>{}</li>\n",
                crate::text::escape(&demand(requirement))
            ));
        }
        html.raw("</ul>\n");
        let unmet = story::lacks(result).count() > 0;
        html.paragraph(if unmet {
            "Something was missing: see the reasons."
        } else {
            "All of them were met."
        });
    }
    if result.reasons.is_empty() {
        html.paragraph(
            "The verdict has no reason beyond: nothing was found, and everything demanded was shown.",
        );
        return;
    }
    let rows = result
        .reasons
        .iter()
        .map(|reason| [reason.code.clone(), reason.message.clone()]);
    html.table("Why the verdict is what it is.", ["code", "reason"], rows);
}

/// A requirement in words.
fn demand(requirement: &Requirement) -> String {
    match requirement {
        Requirement::Acks { at_least } => {
            format!("at least {} acknowledgements with acks=all", grouped(*at_least))
        }
        Requirement::AcksBefore { step, at_least } => {
            format!(
                "at least {} acknowledgements before step {step}",
                grouped(*at_least)
            )
        }
        Requirement::AcksBetween { from, to, at_least } => {
            format!(
                "at least {} acknowledgements between steps {from} and {to}",
                grouped(*at_least)
            )
        }
        Requirement::AckedRecordsTaken { fault, at_least } => {
            format!(
                "{fault} takes at least {} acknowledged records from a disk",
                grouped(*at_least)
            )
        }
        Requirement::NoAckedRecordTaken { fault } => {
            format!("{fault} takes no acknowledged record from a disk")
        }
        Requirement::FaultApplied { fault, at_least } => {
            format!("{fault} is applied at least {} times", grouped(*at_least))
        }
    }
}
