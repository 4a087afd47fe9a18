//! What the wire counted, from a run's `wire.json`.

use super::history::{entries, lines};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const BROKERS: [&str; 3] = ["0", "1", "2"];
const CONTROLLERS: [&str; 3] = ["100", "101", "102"];

/// Frames passed over each directed link: (from, to) to a number.
pub fn passed(run: &Path) -> BTreeMap<(String, String), u64> {
    let text = std::fs::read_to_string(run.join("wire.json")).unwrap();
    let wire: Value = serde_json::from_str(&text).unwrap();
    let port = |value: &Value| value.as_str().unwrap().to_string();
    let links = wire["links"].as_array().unwrap().iter();
    links
        .map(|link| {
            (
                (port(&link["from"]), port(&link["to"])),
                link["passed"].as_u64().unwrap(),
            )
        })
        .collect()
}

/// What is wrong with the counters of a whole run: links that carried nothing though the run needed them. A follower
/// fetches from its leader, brokers and standby controllers ask the active one, clients ask brokers.
pub fn check(run: &Path) -> Vec<String> {
    let passed = passed(run);
    let lines = lines(run);
    let quorum = entries(&lines, "quorum").filter_map(|entry| entry["value"]["leader"].as_i64());
    let Some(active) = quorum
        .filter(|leader| *leader >= 0)
        .last()
        .map(|leader| leader.to_string())
    else {
        return vec!["the history names no active controller".into()];
    };
    let mut pairs = Vec::new();
    let followed = followed(&lines);
    pairs.extend(
        followed
            .iter()
            .map(|(leader, follower)| (leader.as_str(), follower.as_str())),
    );
    for broker in BROKERS {
        pairs.extend([(broker, active.as_str()), ("clients", broker)]);
    }
    pairs.extend(
        CONTROLLERS
            .into_iter()
            .filter(|standby| *standby != active)
            .map(|standby| (standby, active.as_str())),
    );
    if followed.is_empty() {
        return vec!["no broker ever followed another".into()];
    }
    let both_ways = pairs.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
    let silent = both_ways.filter(|(from, to)| {
        passed
            .get(&(from.to_string(), to.to_string()))
            .copied()
            .unwrap_or_default()
            == 0
    });
    silent
        .map(|(from, to)| format!("no frame went from {from} to {to}"))
        .collect()
}

/// Each leader that the metadata log named, with each other member of its ISR of that time.
fn followed(lines: &[Value]) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    for entry in entries(lines, "partition") {
        let leader = entry["value"]["leader"].as_i64().unwrap();
        let isr = entry["value"]["isr"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node.as_i64().unwrap());
        let followers = isr.filter(|node| leader >= 0 && *node != leader);
        pairs.extend(followers.map(|follower| (leader.to_string(), follower.to_string())));
    }
    pairs
}
