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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::{anomaly, verdict};
    use checker::Outcome;

    #[test]
    fn every_instance_is_a_line() {
        let many: Vec<Instance> = (0..5_000)
            .map(|i| Instance {
                offset: Some(i),
                ..Instance::default()
            })
            .collect();
        let odd = Instance {
            operations: vec![3, 9],
            topic: Some("a\nb\"".into()),
            acked_at: Some(1_500_000_000),
            text: "line\u{0}\nbreak".into(),
            ..Instance::default()
        };
        let found = vec![
            anomaly("acked-then-lost", true, many),
            anomaly("duplicate", false, vec![odd]),
        ];
        let bytes = lines(&verdict(Outcome::Fail, found, &[])).unwrap();
        let lines: Vec<serde_json::Value> = bytes
            .split(|b| *b == b'\n')
            .filter(|l| !l.is_empty())
            .map(|l| serde_json::from_slice(l).unwrap())
            .collect();
        assert_eq!(lines.len(), 5_001);
        assert_eq!(lines[4_999]["offset"], 4_999);
        assert_eq!(lines[0]["inside_promise"], true);
        assert_eq!(lines[5_000]["topic"], "a\nb\"");
        assert_eq!(lines[5_000]["acked_at"], 1.5);
        assert_eq!(lines[5_000]["lost_at"], serde_json::Value::Null);
        assert_eq!(lines[5_000]["operations"], serde_json::json!([3, 9]));
    }

    #[test]
    fn no_anomaly_is_no_line() {
        assert!(
            lines(&verdict(Outcome::Pass, Vec::new(), &[]))
                .unwrap()
                .is_empty()
        );
    }
}
