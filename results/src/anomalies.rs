//! `anomalies.jsonl`: every instance of every anomaly, one a line.

use crate::faults::seconds;
use checker::{Instance, Verdict};
use serde::Serialize;

/// A line.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    inside_promise: bool,
    operations: &'a [u64],
    topic: Option<&'a str>,
    partition: Option<i32>,
    offset: Option<i64>,
    epoch: Option<i32>,
    /// Seconds on the run's clock, as in `result.json`.
    acked_at: Option<f64>,
    lost_at: Option<f64>,
    text: &'a str,
}

/// The file's bytes.
///
/// # Errors
/// None in practice: JSON holds whatever an instance may say.
pub(crate) fn lines(verdict: &Verdict) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    for anomaly in &verdict.anomalies {
        for instance in &anomaly.instances {
            serde_json::to_writer(&mut bytes, &line(anomaly, instance))?;
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

fn line<'a>(anomaly: &'a checker::Anomaly, instance: &'a Instance) -> Line<'a> {
    Line {
        name: &anomaly.name,
        inside_promise: anomaly.inside_promise,
        operations: &instance.operations,
        topic: instance.topic.as_deref(),
        partition: instance.partition,
        offset: instance.offset,
        epoch: instance.epoch,
        acked_at: instance.acked_at.map(seconds),
        lost_at: instance.lost_at.map(seconds),
        text: &instance.text,
    }
}
