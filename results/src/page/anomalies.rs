//! The anomalies with their records.

use super::html::Html;
use crate::store;
use crate::story;
use crate::text::{clock, counted, grouped};
use checker::{Anomaly, Instance, Verdict};

/// How many records of one anomaly the report tells; `anomalies.jsonl` has all.
pub const RECORDS_TOLD: usize = 1000;
/// Entries of the history named beside a record.
const ENTRIES_NAMED: usize = 6;

/// Writes each anomaly.
pub(super) fn anomalies(html: &mut Html, verdict: &Verdict) {
    html.heading("Anomalies");
    if verdict.anomalies.is_empty() {
        html.paragraph("None was found.");
    }
    for anomaly in &verdict.anomalies {
        one(html, anomaly);
    }
}

fn one(html: &mut Html, anomaly: &Anomaly) {
    let side = story::side(anomaly.inside_promise);
    html.subheading(&format!(
        "{}: {}, {side}",
        anomaly.name,
        counted(anomaly.count, "instance")
    ));
    if let Some(loss) = &anomaly.follows {
        html.paragraph(&format!("Each of these follows from {loss}."));
    }
    if !anomaly.inside_promise {
        html.paragraph("Nobody promised to prevent these: they are no failure.");
    }
    let told = anomaly.instances.len().min(RECORDS_TOLD);
    let caption = if (told as u64) < anomaly.count {
        format!(
            "The first {} of {}; all are in {}.",
            grouped(told as u64),
            grouped(anomaly.count),
            store::ANOMALIES
        )
    } else {
        format!("All {}; also in {}.", grouped(anomaly.count), store::ANOMALIES)
    };
    html.table(
        &caption,
        [
            "partition",
            "#offset",
            "#epoch",
            "#acknowledged",
            "#missed",
            "what",
            "history",
        ],
        anomaly.instances.iter().take(RECORDS_TOLD).map(row),
    );
}

fn row(instance: &Instance) -> [String; 7] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_string());
    let partition = match (&instance.topic, instance.partition) {
        (Some(topic), Some(partition)) => format!("{topic}-{partition}"),
        (Some(topic), None) => topic.clone(),
        (None, _) => "–".to_string(),
    };
    let mut entries: Vec<String> = instance
        .operations
        .iter()
        .take(ENTRIES_NAMED)
        .map(u64::to_string)
        .collect();
    if instance.operations.len() > ENTRIES_NAMED {
        entries.push("…".to_string());
    }
    [
        partition,
        or_dash(instance.offset.map(|offset| offset.to_string())),
        or_dash(instance.epoch.map(|epoch| epoch.to_string())),
        or_dash(instance.acked_at.map(clock)),
        or_dash(instance.lost_at.map(clock)),
        instance.text.clone(),
        entries.join(", "),
    ]
}
