//! What the wire counted, from a run's `wire.json`.

use super::history::{entries, lines};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const BROKERS: [&str; 3] = ["0", "1", "2"];
const CONTROLLERS: [&str; 3] = ["100", "101", "102"];

/// Frames passed over each directed link: (from, to) to a number.
pub fn passed(run: &Path) -> BTreeMap<(String, String), u64> {
    let text = std::fs::read_to_string(run.join("wire.json")).unwrap();
    let wire: Value = serde_json::from_str(&text).unwrap();
    let port = |value: &Value| value.as_str().unwrap().to_string();
    let links = wire["links"].as_array().unwrap().iter();
    links.map(|link| ((port(&link["from"]), port(&link["to"])), link["passed"].as_u64().unwrap())).collect()
}

/// What is wrong with the counters of a whole run: links that carried nothing though Kafka's protocol needs them.
pub fn check(run: &Path) -> Vec<String> {
    let passed = passed(run);
    let lines = lines(run);
    let quorum = entries(&lines, "quorum").filter_map(|entry| entry["value"]["leader"].as_i64());
    let Some(active) = quorum.filter(|leader| *leader >= 0).last().map(|leader| leader.to_string()) else {
        return vec!["the history names no active controller".into()];
    };
    let mut pairs = vec![("0", "1"), ("0", "2"), ("1", "2")];
    for broker in BROKERS {
        pairs.extend([(broker, active.as_str()), ("clients", broker)]);
    }
    pairs.extend(CONTROLLERS.into_iter().filter(|standby| *standby != active).map(|standby| (standby, active.as_str())));
    let both_ways = pairs.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
    let silent = both_ways.filter(|(from, to)| {
        passed.get(&(from.to_string(), to.to_string())).copied().unwrap_or_default() == 0
    });
    silent.map(|(from, to)| format!("no frame went from {from} to {to}")).collect()
}
