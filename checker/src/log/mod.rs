//! The log checker: what a history of one Kafka cluster can be accused of, and what its promise excuses.
//!
//! `facts` sorts a history by partition, `metadata` follows the metadata log, `answers` and `faults` keep the rest;
//! every rule of `rules` accuses, `promise` keeps the ledger that tells a bug from a loss that nobody promised to
//! prevent, `vacuity` asks whether the history shows enough to pass.

mod answers;
mod facts;
mod faults;
mod foreign;
mod index;
mod metadata;
mod observed;
mod parallel;
mod profile;
mod promise;
mod rules;
mod vacuity;

use crate::{Anomaly, Outcome, Reason, Verdict, codes};
pub(crate) use foreign::judge;

use answers::Answers;
use facts::{Facts, Names};
use faults::Faults;
use history::{History, Key};
use metadata::Metadata;
use observed::observed;
use profile::Profile;
use promise::Promises;
use std::thread;

/// Judges the history of a run.
pub fn check(history: &History) -> Verdict {
    let names = Names::of(history);
    // The two that look at everything, at once.
    let (facts, answers) = thread::scope(|scope| {
        let answers = scope.spawn(|| Answers::of(history, &names));
        let facts = Facts::of(history, &names);
        (facts, answers.join())
    });
    let answers = answers.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let history = &observed(history);
    let faults = Faults::of(history);
    let metadata = Metadata::of(history, &names, &faults);
    let promises = Promises::of(history, &names, &faults, &metadata);
    let mut anomalies = rules::find_all(&rules::Case {
        facts: &facts,
        promises: &promises,
        metadata: &metadata,
        answers: &answers,
        faults: &faults,
        profile: Profile::of(&history.header),
    });
    anomalies.extend(rules::committed_metadata_lost::find(
        history,
        promises.quorum_void(),
    ));
    anomalies.extend(rules::metadata_lost::find(
        history,
        &faults,
        promises.quorum_void(),
    ));
    let is_released = |key: &Key| metadata.is_removed(key) && faults.ask_removal();
    let lacks = vacuity::lacks(history, &facts, &promises, is_released);
    let verdict = if anomalies.iter().any(|anomaly| anomaly.inside_promise) {
        Outcome::Fail
    } else if lacks.is_empty() {
        Outcome::Pass
    } else {
        Outcome::Unknown
    };
    Verdict {
        verdict,
        reasons: found(&anomalies).chain(lacks).collect(),
        anomalies,
        promise: promises.report(),
        operations: facts.operations,
        operations_total: facts.operations.total(),
    }
}

/// A reason for each anomaly: its name where it is inside the promise.
fn found(anomalies: &[Anomaly]) -> impl Iterator<Item = Reason> {
    anomalies.iter().map(|anomaly| {
        let Anomaly { name, count, .. } = anomaly;
        match anomaly.inside_promise {
            true => Reason::new(name, format!("{name}: {count} inside the promise")),
            false => Reason::new(
                codes::OUTSIDE_PROMISE,
                format!("{name}: {count} outside the promise, no failure"),
            ),
        }
    })
}
