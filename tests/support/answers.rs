//! What the answer to a scenario is, and what is wrong with the one that a run gave.

use super::{Run, decoder, history, wire};
use serde_json::Value;
use std::fs;

/// A run whose answer is known.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// A name for people and folders.
    pub name: &'static str,
    /// Arguments of `ackall run`.
    pub args: &'static [&'static str],
    /// Whether an anomaly inside the promise must be found.
    pub fails: bool,
}

/// Eligible leader replicas off, as before KIP-966.
const OFF: &str = "eligible.leader.replicas.version=0";

/// The default run: nothing is lost.
pub const STANDING: Question = Question {
    name: "elr-on",
    args: &["last-replica-standing"],
    fails: false,
};
/// The same without eligible leader replicas: acknowledged records are lost, and the run must say so.
pub const FALLEN: Question = Question {
    name: "elr-off",
    args: &["last-replica-standing", "--feature", OFF],
    fails: true,
};
/// Controls, all without eligible leader replicas: in none of them may anything be lost.
pub const CONTROLS: [Question; 4] = [
    Question {
        name: "calm",
        args: &["calm", "--time", "5s", "--feature", OFF],
        fails: false,
    },
    Question {
        name: "last-replica-crash",
        args: &["last-replica-crash", "--feature", OFF],
        fails: false,
    },
    Question {
        name: "follower-power-cut",
        args: &["follower-power-cut", "--feature", OFF],
        fails: false,
    },
    Question {
        name: "flushed",
        args: &[
            "last-replica-standing",
            "--feature",
            OFF,
            "--set",
            "log.flush.interval.messages=1",
        ],
        fails: false,
    },
];

/// What is wrong with a run's answer: sentences. Its disks must have been kept.
pub fn wrong(question: &Question, run: &Run) -> Vec<String> {
    let (code, verdict) = if question.fails { (1, "fail") } else { (0, "pass") };
    if run.code() != code || !run.dir.join("result.json").is_file() {
        return vec![format!(
            "exit status {code} and a result were expected: {}",
            run.said()
        )];
    }
    let result = run.result();
    let mut wrong = Vec::new();
    if result["verdict"] != verdict {
        wrong.push(format!(
            "the verdict is {}: {}",
            result["verdict"], result["reasons"]
        ));
    }
    wrong.extend(losses_are_named(question, run, &result));
    wrong.extend(decoder::check(&run.dir));
    wrong.extend(wire::check(&run.dir));
    wrong
}

/// A failed run names the lost records, each with the history's entries that prove it; another names none.
fn losses_are_named(question: &Question, run: &Run, result: &Value) -> Vec<String> {
    let anomalies = result["anomalies"].as_array().unwrap();
    let covered = |anomaly: &&Value| anomaly["inside_promise"] == true;
    let losses = |anomaly: &&Value| decoder::LOSSES.contains(&anomaly["name"].as_str().unwrap());
    let mut wrong = Vec::new();
    let count: u64 = anomalies
        .iter()
        .map(|anomaly| anomaly["count"].as_u64().unwrap())
        .sum();
    let written = fs::read_to_string(run.dir.join("anomalies.jsonl"))
        .unwrap_or_default()
        .lines()
        .count() as u64;
    if count != written {
        wrong.push(format!(
            "{count} anomalies are counted, and {written} are in anomalies.jsonl"
        ));
    }
    if !question.fails {
        if let Some(anomaly) = anomalies.iter().find(covered) {
            wrong.push(format!("it passed with an anomaly inside the promise: {anomaly}"));
        }
        return wrong;
    }
    let lost = decoder::Facts::read(&run.dir).lost.len() as u64;
    let counted: u64 = anomalies
        .iter()
        .filter(covered)
        .filter(losses)
        .map(|anomaly| anomaly["count"].as_u64().unwrap())
        .sum();
    if counted == 0 || counted != lost {
        wrong.push(format!(
            "{counted} lost records are counted, and {lost} acked ones are named"
        ));
    }
    let entries = history::lines(&run.dir).len() as u64 - 1;
    for example in anomalies
        .iter()
        .flat_map(|anomaly| anomaly["examples"].as_array().unwrap())
    {
        let operations = example["operations"].as_array().unwrap();
        if operations.is_empty() || operations.iter().any(|index| index.as_u64().unwrap() >= entries) {
            wrong.push(format!("an anomaly names no entry that proves it: {example}"));
        }
    }
    wrong
}
