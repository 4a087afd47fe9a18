//! A run of this project's own, judged by its promise and told as other histories are.

use checker::{Anomaly, Example, Finding, Instance, Judgement, Verdict};

/// The verdict as a judgement: what is outside the promise is tolerated, and says so.
pub fn judgement(verdict: Verdict) -> Judgement {
    let spent_by = verdict.promise.spent_by.join("; ");
    Judgement {
        verdict: verdict.verdict,
        reasons: verdict.reasons,
        anomalies: verdict
            .anomalies
            .into_iter()
            .map(|anomaly| finding(anomaly, &spent_by))
            .collect(),
        models_ruled_out: Vec::new(),
        operations: verdict.operations,
        operations_total: verdict.operations_total,
    }
}

fn finding(anomaly: Anomaly, spent_by: &str) -> Finding {
    let tolerated = match (anomaly.inside_promise, spent_by) {
        (true, _) => None,
        (false, "") => Some("nobody promised to prevent it".to_string()),
        (false, spent_by) => Some(format!("outside the promise, which was spent by {spent_by}")),
    };
    Finding {
        name: anomaly.name,
        count: anomaly.count,
        tolerated,
        follows: anomaly.follows,
        examples: anomaly
            .instances
            .into_iter()
            .take(Finding::EXAMPLES)
            .map(example)
            .collect(),
    }
}

fn example(instance: Instance) -> Example {
    Example {
        operations: instance.operations,
        text: instance.text,
        picture: None,
    }
}
