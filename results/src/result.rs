//! `result.json`: the verdict for machines. Fields are added, never renamed; [`crate::RESULT_SCHEMA`] describes them.

use crate::faults::{self, FaultResult};
use checker::{Instance, Operations, Outcome, PromiseReport, Reason, Verdict};
use history::History;
use serde::{Deserialize, Serialize};

/// The version of the format.
pub const SCHEMA: u32 = 1;
/// How many instances of one anomaly stand in `result.json`; `anomalies.jsonl` has all.
pub const EXAMPLES: usize = 10;

/// The object in `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Pass, fail or unknown.
    pub verdict: Outcome,
    /// Why, most of all where it is unknown.
    pub reasons: Vec<Reason>,
    /// One entry a (name, inside_promise).
    pub anomalies: Vec<AnomalyResult>,
    /// What was promised.
    pub promise: PromiseResult,
    /// What was broken, and what was measured of it.
    pub faults: Vec<FaultResult>,
    /// Client operations by outcome.
    pub operations: Operations,
    /// All client operations.
    pub operations_total: u64,
    /// What the run knows of itself; its fields stand beside the others.
    #[serde(flatten)]
    pub meta: RunMeta,
}

/// What a run knows of itself beside its history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// The scenario.
    pub scenario: String,
    /// The seed of the plan.
    pub seed: u64,
    /// The system under test.
    pub system: String,
    /// Its version.
    pub version: String,
    /// This program's version.
    pub ackall_version: String,
    /// The ground that the system stood on.
    pub ground: String,
    /// What was typed.
    pub command: String,
    /// `scenario/id`.
    pub run: String,
    /// The run's folder.
    pub path: String,
    /// The history's file in the run's folder.
    pub history: String,
    /// Wall-clock time at the zero of the run's clock, RFC 3339.
    pub started_at: String,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// From the exec of the first node to the first acknowledged record, in seconds; null where none was.
    pub boot_to_first_ack_s: Option<f64>,
    /// The machine.
    pub environment: Environment,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The kernel's release.
    pub kernel: String,
    /// The processor's architecture.
    pub arch: String,
    /// Processor cores.
    pub cores: u64,
    /// Memory.
    pub memory_bytes: u64,
    /// Whether it ran as root.
    pub as_root: bool,
    /// How often the harness itself was late.
    pub stalls: u64,
}

/// An anomaly, with a few of its instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnomalyResult {
    /// Its name.
    pub name: String,
    /// Whether a promise covers these instances.
    pub inside_promise: bool,
    /// How many instances there are, exactly.
    pub count: u64,
    /// The anomaly that each of these follows from, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// The first [`EXAMPLES`].
    pub examples: Vec<Example>,
}

/// An instance of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Indexes of the history's entries that prove it.
    pub operations: Vec<u64>,
    /// The topic.
    pub topic: Option<String>,
    /// The partition.
    pub partition: Option<i32>,
    /// The offset.
    pub offset: Option<i64>,
    /// The leader epoch.
    pub epoch: Option<i32>,
    /// A sentence.
    pub text: String,
}

/// The promise, without its ledgers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseResult {
    /// Its name; several are joined with commas.
    pub name: String,
    /// What it says.
    pub text: String,
    /// Which acks it is about.
    pub acks: String,
    /// `min.insync.replicas` of the topics; the least of several.
    pub min_isr: i32,
    /// What spent it.
    pub spent_by: Vec<String>,
}

/// Puts together what `result.json` says of a judged history.
pub fn result(history: &History, verdict: &Verdict, meta: &RunMeta) -> RunResult {
    RunResult {
        schema: SCHEMA,
        verdict: verdict.verdict,
        reasons: verdict.reasons.clone(),
        anomalies: verdict.anomalies.iter().map(anomaly).collect(),
        promise: promise(&verdict.promise),
        faults: faults::of(history),
        operations: verdict.operations,
        operations_total: verdict.operations_total,
        meta: meta.clone(),
    }
}

fn anomaly(anomaly: &checker::Anomaly) -> AnomalyResult {
    AnomalyResult {
        name: anomaly.name.clone(),
        inside_promise: anomaly.inside_promise,
        count: anomaly.count,
        follows: anomaly.follows.clone(),
        examples: anomaly.instances.iter().take(EXAMPLES).map(example).collect(),
    }
}

fn example(instance: &Instance) -> Example {
    Example {
        operations: instance.operations.clone(),
        topic: instance.topic.clone(),
        partition: instance.partition,
        offset: instance.offset,
        epoch: instance.epoch,
        text: instance.text.clone(),
    }
}

fn promise(report: &PromiseReport) -> PromiseResult {
    PromiseResult {
        name: report.name.clone(),
        text: report.text.clone(),
        acks: report.acks.clone(),
        min_isr: report.min_isr,
        spent_by: report.spent_by.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night;

    /// What is wrong with a result by the schema.
    fn wrong(result: &RunResult) -> Vec<String> {
        let schema = serde_json::from_str(crate::RESULT_SCHEMA).unwrap();
        let validator = jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        let json = serde_json::to_value(result).unwrap();
        validator
            .iter_errors(&json)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    #[test]
    fn results_follow_the_schema_and_come_back_as_they_were() {
        for (history, with_elr) in [
            (night::night(false), false),
            (night::night(true), true),
            (night::empty(), true),
        ] {
            let result = result(&history, &night::judged(&history, with_elr), &night::meta());
            assert_eq!(wrong(&result), Vec::<String>::new());
            let text = serde_json::to_string(&result).unwrap();
            assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), result);
        }
    }

    #[test]
    fn the_schema_refuses_what_is_no_result() {
        let history = night::night(false);
        let good = result(&history, &night::judged(&history, false), &night::meta());
        let other_schema = RunResult {
            schema: 2,
            ..good.clone()
        };
        let mut backwards = good.clone();
        backwards.meta.duration_s = -1.0;
        let mut at_night = good.clone();
        at_night.meta.started_at = "last night".into();
        let mut overfull = good.clone();
        let example = overfull.anomalies[0].examples[0].clone();
        overfull.anomalies[0].examples.push(example);
        for bad in [other_schema, backwards, at_night, overfull] {
            assert_eq!(wrong(&bad).len(), 1, "{:?}", wrong(&bad));
        }
    }

    #[test]
    fn the_schema_names_every_field() {
        let history = night::night(false);
        let result = result(&history, &night::judged(&history, false), &night::meta());
        let schema: serde_json::Value = serde_json::from_str(crate::RESULT_SCHEMA).unwrap();
        let json = serde_json::to_value(&result).unwrap();
        let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
        let named: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(fields, named);
        for field in &fields {
            assert!(
                schema["required"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|name| name == *field),
                "{field}"
            );
        }
    }

    #[test]
    fn counts_are_exact_where_examples_are_few() {
        let history = night::night(false);
        let result = result(&history, &night::judged(&history, false), &night::meta());
        assert_eq!(
            (result.anomalies[0].count, result.anomalies[0].examples.len()),
            (351, EXAMPLES)
        );
        assert_eq!(result.anomalies[1].follows.as_deref(), Some("acked-then-lost"));
        assert_eq!(result.faults.len(), 3);
        assert_eq!(result.reasons.len(), 2);
    }
}
