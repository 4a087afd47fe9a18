//! Whole runs against Kafka: the default scenario with its new rules and without, unchanged, and judged as a run of the
//! reference cluster is.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::jvm::kafka;
use crate::support::answers::{FALLEN, Question, STANDING, wrong};
use crate::support::machine::{Machine, Trace};
use crate::support::{Folder, Run, ackall, decoder, ground, history, spawn};

/// Between two looks at a run's processes.
const LOOK: Duration = Duration::from_millis(200);
/// The seed of all of them: a plan that is the same on every system.
const SEED: [&str; 4] = ["--seed", "1", "--keep-disks", "always"];

/// Asks a question, looking on; checks the answer, and that nothing is left.
fn ask(folder: &Folder, mut command: Command, system: &str, question: &Question) -> Run {
    let before = Machine::now();
    let dir = folder.0.join(question.name);
    command.arg("run").args(question.args).args(["--system", system]);
    command.args(SEED).arg("--run-dir").arg(&dir);
    let mut run = spawn(command, &folder.0, question.name);
    let mut trace = Trace::of(&run.mark);
    while !run.has_ended() {
        trace.look();
        std::thread::sleep(LOOK);
    }
    let run = run.wait();
    let gone = trace.gone(Instant::now());
    gone.unwrap_or_else(|left| panic!("{}: {left}", question.name));
    assert_eq!(before.left(&folder.0), [""; 0], "{}", question.name);
    let wrong = wrong(question, &run);
    let name = question.name;
    assert!(wrong.is_empty(), "{name}: {}\n{}", wrong.join("\n"), run.said());
    run
}

/// The kinds of entries that a run's history has, each with the fields that they have.
fn kinds(run: &Run) -> BTreeMap<String, BTreeSet<String>> {
    let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in &history::lines(&run.dir)[1..] {
        let kind = entry["f"].as_str().unwrap().to_owned();
        let fields = entry["value"].as_object().unwrap().keys().cloned();
        kinds.entry(kind).or_default().extend(fields);
    }
    kinds
}

/// What any history of this scenario tells of, that a judgement or a report may rest on: the load, its ends; leaders,
/// epochs, ISR and ELR; registrations; levels; who leads the quorum; processes, disks, faults.
const TOLD: [&str; 14] = [
    "broker",
    "config",
    "disk",
    "fault",
    "feature",
    "final-read",
    "list-offsets",
    "node",
    "partition",
    "poll",
    "quorum",
    "quorum-leader",
    "send",
    "step",
];
/// Fields that only a misfortune fills, and that need not befall both.
const BY_CHANCE: [&str; 4] = ["error", "last", "high_watermark", "log_start"];

/// Kafka's history has every kind of entry that the reference cluster's has, with the same fields.
fn tells_as_much(kafka: &Run, reference: &Run) {
    let (here, there) = (kinds(kafka), kinds(reference));
    for kind in TOLD {
        let [here, there] = [&here, &there].map(|kinds| {
            let fields = kinds.get(kind).unwrap_or_else(|| panic!("no {kind}: {kinds:?}"));
            let fields = fields.iter().filter(|field| !BY_CHANCE.contains(&field.as_str()));
            fields.collect::<BTreeSet<_>>()
        });
        assert_eq!(here, there, "{kind}");
    }
    let known = |kind: &&String| TOLD.contains(&kind.as_str()) || *kind == "stall";
    let odd: Vec<&String> = there.keys().filter(|kind| !known(kind)).collect();
    assert!(odd.is_empty(), "the reference cluster's tells of {odd:?} too");
}

/// The states of the partition, in the metadata log's order: leaders with their epochs, and the largest ELR.
fn partition_states(run: &Run) -> (Vec<(i64, i64)>, usize) {
    let lines = history::lines(&run.dir);
    let mut leaders: Vec<(i64, i64)> = Vec::new();
    let mut largest = 0;
    for entry in history::entries(&lines, "partition") {
        let state = &entry["value"];
        let leader = ["leader", "leader_epoch"].map(|field| state[field].as_i64().unwrap());
        leaders.push(leader.into());
        largest = largest.max(state["elr"].as_array().unwrap().len());
    }
    leaders.dedup();
    (leaders, largest)
}

#[test]
fn without_elr_kafka_loses_acknowledged_records_and_its_logs_confirm_it() {
    let Some(kafka) = kafka("fallen") else { return };
    let _ground = ground();
    let folder = Folder::new("kafka-elr-off");
    // `wrong` has the decoder look for each record that is called lost in the logs of all three.
    let run = ask(&folder, kafka.ackall(), &kafka.name(), &FALLEN);
    assert!(decoder::Facts::lost_in(&run.dir) > 0);
    let (_, largest) = partition_states(&run);
    assert_eq!(largest, 0, "an ELR, at level 0");
    assert_eq!(run.result()["system"], "apache-kafka");
}

#[test]
fn with_elr_kafka_loses_none_and_its_history_tells_what_that_of_the_reference_cluster_does() {
    let Some(kafka) = kafka("standing") else { return };
    if !kafka.has_elr() {
        return;
    }
    let _ground = ground();
    let folder = Folder::new("kafka-elr-on");
    let run = ask(&folder, kafka.ackall(), &kafka.name(), &STANDING);
    let folder = Folder::new("kafka-elr-on-reference");
    let reference = ask(&folder, ackall(), "reference", &STANDING);
    tells_as_much(&run, &reference);
    for run in [&run, &reference] {
        let (leaders, largest) = partition_states(run);
        assert!(largest > 0, "no ELR, at level 1");
        let epochs: Vec<i64> = leaders.iter().map(|(_, epoch)| *epoch).collect();
        assert!(epochs.is_sorted() && leaders.len() > 2, "{leaders:?}");
    }
}
