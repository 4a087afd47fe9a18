//! The log checker: what a history of one Kafka cluster can be accused of, and what its promise excuses.
//!
//! `facts` sorts a history by partition, every rule of `rules` accuses, `promise` keeps the ledger that tells a bug
//! from a loss that nobody promised to prevent, `vacuity` asks whether the history shows enough to pass.

mod facts;
mod foreign;
mod index;
mod parallel;
mod promise;
mod rules;
mod vacuity;

use crate::{Anomaly, Outcome, Reason, Verdict, codes};
pub(crate) use foreign::judge;

use facts::{Facts, Names};
use history::History;
use promise::Promises;

/// Judges the history of a run.
pub fn check(history: &History) -> Verdict {
    let names = Names::of(history);
    let facts = Facts::of(history, &names);
    let promises = Promises::of(history, &names);
    let mut anomalies = rules::find_all(&rules::Case {
        facts: &facts,
        promises: &promises,
    });
    anomalies.extend(rules::committed_metadata_lost::find(history));
    let lacks = vacuity::lacks(history, &facts, &promises);
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
