//! Judges histories. Pure: no clock, no network, no file; the same history in, the same verdict out.
//!
//! What it does: [`check`] sorts a history by partition (`facts`), lets every rule accuse (`rules`), keeps the
//! promise ledger (`promise`) to tell a bug from a loss that nobody promised to prevent, and asks whether the
//! history shows enough to pass (`vacuity`). What it does not: read files, know how a history came about, or
//! draw anything.
//!
//! Invariants:
//! 1. Fail if and only if an anomaly inside the promise was found, whatever else is missing.
//! 2. Pass only where everything demanded was shown: a final read of every judged partition to its end, at least
//!    one acknowledgement, every step's state, every requirement. Else unknown, with a reason for each lack.
//! 3. Every count is exact; every instance names entries of the history that prove it.

pub mod codes;
mod facts;
mod promise;
mod rules;
mod vacuity;
mod verdict;

pub use verdict::{
    Anomaly, BadInterval, Instance, Operations, Outcome, PartitionPromise, PromiseReport, Reason, Verdict,
};

use facts::{Facts, Names};
use history::History;
use promise::Promises;

/// Judges a history.
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
