//! The default run, its opposite and the controls, each once: the campaigns' seed 1. What they leave is checked from
//! every side, so that no run is made twice: the answer, an independent decoder, the schemas, analyze, the report,
//! the wire, and what is left on the machine.
#![cfg(target_os = "linux")]

mod support;

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use support::answers::{CONTROLS, FALLEN, Question, STANDING, wrong};
use support::faults::{Case, scenario};
use support::machine::{Machine, OWN, Trace};
use support::{Folder, Run, ackall, decoder, ground, start, wire};

/// Between two looks at a run's processes.
const LOOK: Duration = Duration::from_millis(200);

/// Asks with seed 1, looking on; checks the answer and that nothing is left.
fn ask(folder: &Folder, question: &Question) -> (Run, Trace) {
    let before = Machine::now();
    let args = [question.args, &["--seed", "1", "--keep-disks", "always"]].concat();
    let mut run = start(&folder.0, question.name, &args);
    let mut trace = Trace::of(&run.mark);
    while !run.has_ended() {
        trace.look();
        std::thread::sleep(LOOK);
    }
    let run = run.wait();
    trace
        .gone(Instant::now())
        .unwrap_or_else(|left| panic!("{}: {left}", question.name));
    assert_eq!(before.left(&folder.0), [""; 0], "{}", question.name);
    let wrong = wrong(question, &run);
    assert!(
        wrong.is_empty(),
        "{}: {}\n{}",
        question.name,
        wrong.join("\n"),
        run.said()
    );
    (run, trace)
}

#[test]
fn the_default_run_passes_and_everything_about_it_holds() {
    let _ground = ground();
    let folder = Folder::new("elr-on");
    let (run, trace) = ask(&folder, &STANDING);
    every_node_has_namespaces_of_its_own(&trace);
    it_says_five_lines_and_a_line_a_step(&run);
    everything_fits_its_schema(&run);
    analyze_agrees(&run);
    the_report_tells_each_state(&run);
    a_torn_history_is_judged_all_the_same(&folder, &run);
    nothing_else_is_in_the_folder(&run);
    a_torn_log_would_be_found(&run);
    a_silent_link_would_be_found(&run);
}

#[test]
fn a_node_that_does_not_come_up_after_a_fault_leaves_the_run_unknown_with_its_own_words() {
    let _ground = ground();
    let folder = Folder::new("bare");
    let about = nemesis::find("disk-replace").unwrap().about();
    let mut bare = Case::of(about);
    bare.params = "prepared = \"bare\"".into();
    let file = folder.0.join("bare.toml");
    fs::write(&file, scenario("bare", &[bare])).unwrap();
    let before = Machine::now();
    let run = start(&folder.0, "bare", &[file.to_str().unwrap(), "--seed", "1"]).wait();
    assert_eq!(run.code(), 2, "{}", run.said());
    let result = run.result();
    let why = result["reasons"][0]["message"].as_str().unwrap();
    assert!(
        why.contains("T0") && why.contains("The folder is not formatted"),
        "{why}"
    );
    assert_eq!(result["anomalies"], json!([]));
    assert!(run.err.contains("the final read"), "{}", run.said());
    assert_eq!(before.left(&folder.0), [""; 0]);
}

#[test]
fn without_elr_the_default_run_fails_and_names_the_lost_records() {
    let _ground = ground();
    let folder = Folder::new("elr-off");
    let (run, _) = ask(&folder, &FALLEN);
    it_says_five_lines_and_a_line_a_step(&run);
    everything_fits_its_schema(&run);
    analyze_agrees(&run);
    the_report_tells_each_state(&run);
    a_loss_that_is_not_named_would_be_found(&run);
}

#[test]
fn the_controls_pass_without_elr() {
    let _ground = ground();
    let folder = Folder::new("controls");
    for control in &CONTROLS {
        let (run, _) = ask(&folder, control);
        everything_fits_its_schema(&run);
        analyze_agrees(&run);
    }
}

/// Three controllers and three brokers; the one whose power was cut had two lives.
fn every_node_has_namespaces_of_its_own(trace: &Trace) {
    for kind in OWN {
        let nodes: Vec<(i32, &BTreeSet<u64>)> = trace
            .nodes
            .iter()
            .filter(|((of, _), _)| *of == kind)
            .map(|((_, node), inodes)| (*node, inodes))
            .collect();
        let ids: Vec<i32> = nodes.iter().map(|(node, _)| *node).collect();
        assert_eq!(ids, [0, 1, 2, 100, 101, 102], "{kind}");
        for (i, (node, inodes)) in nodes.iter().enumerate() {
            assert!(!inodes.is_empty(), "node {node}");
            for (other, others) in &nodes[..i] {
                assert!(
                    inodes.is_disjoint(others),
                    "nodes {other} and {node} share a {kind} namespace"
                );
            }
            let ours = support::machine::namespace(std::process::id() as i32, kind).unwrap();
            assert!(
                !inodes.contains(&ours),
                "node {node} has the host's {kind} namespace"
            );
        }
    }
}

fn it_says_five_lines_and_a_line_a_step(run: &Run) {
    assert_eq!(run.out.lines().count(), 5, "{}", run.said());
    for step in ["T0", "T1", "T2", "T3", "T4"] {
        let lines = run
            .err
            .lines()
            .filter(|line| line.starts_with(&format!("{step} ")))
            .count();
        assert_eq!(lines, 1, "{step}: {}", run.said());
    }
}

fn schema(of: &str) -> jsonschema::Validator {
    let output = ackall().args(["schema", of]).output().unwrap();
    assert!(
        output.status.success(),
        "{of}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    jsonschema::validator_for(&serde_json::from_slice(&output.stdout).unwrap()).unwrap()
}

fn fits(validator: &jsonschema::Validator, what: &str, value: &Value) {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}: {}\n{value}", errors.join("\n"));
}

fn everything_fits_its_schema(run: &Run) {
    let result = schema("result");
    fits(&result, "result.json", &run.result());
    // And a schema that takes anything would be none.
    for (field, bad) in [
        ("verdict", json!("perhaps")),
        ("schema", json!("1")),
        ("anomalies", json!({})),
    ] {
        let mut other = run.result();
        other[field] = bad;
        assert!(!result.is_valid(&other), "{field}");
        other.as_object_mut().unwrap().remove(field);
        assert!(!result.is_valid(&other), "{field}");
    }
    let history = schema("history");
    for (number, line) in support::history::lines(&run.dir).iter().enumerate() {
        fits(&history, &format!("line {} of the history", number + 1), line);
    }
    let entry = &support::history::lines(&run.dir)[1];
    for field in ["index", "time", "process", "type", "f", "value"] {
        let mut other = entry.clone();
        other.as_object_mut().unwrap().remove(field);
        assert!(!history.is_valid(&other), "{field}");
    }
}

fn analyze(dir: &Path) -> (i32, Value, String) {
    let output = ackall().args(["analyze", "--json"]).arg(dir).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {err}"));
    (output.status.code().unwrap(), value, err)
}

fn analyze_agrees(run: &Run) {
    let files = files(&run.dir);
    let (code, again, err) = analyze(&run.dir);
    assert_eq!((code, err.as_str()), (run.code(), ""));
    assert_eq!(again, run.result());
    assert_eq!(files, self::files(&run.dir), "analyze writes nothing");
}

/// Size and time of each file.
fn files(dir: &Path) -> BTreeMap<String, (u64, std::time::SystemTime)> {
    let entries = fs::read_dir(dir).unwrap().flatten().map(|entry| {
        let metadata = entry.metadata().unwrap();
        (
            entry.file_name().to_string_lossy().into_owned(),
            (metadata.len(), metadata.modified().unwrap()),
        )
    });
    entries.collect()
}

/// Leader, ISR and ELR of each state that the metadata log had, in its order, are in the report's words.
fn the_report_tells_each_state(run: &Run) {
    let html = fs::read_to_string(run.dir.join("report.html")).unwrap();
    for far in ["http://", "https://", "src=\"/", "url("] {
        let found = html.find(far).map(|at| &html[at..html.len().min(at + 80)]);
        let harmless = found.is_none_or(|text| text.starts_with("http://www.w3.org/"));
        assert!(harmless, "the report needs the network: {found:?}");
    }
    let words = words(&html);
    let mut at = 0;
    let lines = support::history::lines(&run.dir);
    let mut last = String::new();
    for entry in support::history::entries(&lines, "partition") {
        let state = told(&entry["value"]);
        if state == last {
            continue;
        }
        let found = words[at..].find(&state);
        at += found.unwrap_or_else(|| panic!("{state:?} is not in the report after {last:?}"));
        last = state;
    }
    assert!(!last.is_empty());
}

fn told(state: &Value) -> String {
    let set = |name: &str| {
        let mut nodes: Vec<i64> = state[name]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node.as_i64().unwrap())
            .collect();
        nodes.sort_unstable();
        nodes.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
    };
    let leader = state["leader"].as_i64().unwrap();
    let leader = if leader < 0 {
        "none".into()
    } else {
        leader.to_string()
    };
    format!(
        "leader {leader} (epoch {}), ISR [{}], ELR [{}]",
        state["leader_epoch"],
        set("isr"),
        set("elr")
    )
}

/// The text of a page, without its tags, one space between words.
fn words(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' => (inside, text) = (false, text + " "),
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text.replace("&nbsp;", " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// As after a SIGKILL of the harness: the last line is half there, and there is no result.
fn a_torn_history_is_judged_all_the_same(folder: &Folder, run: &Run) {
    let torn = folder.0.join("torn");
    fs::create_dir(&torn).unwrap();
    fs::copy(run.dir.join("plan.toml"), torn.join("plan.toml")).unwrap();
    let whole = fs::read(run.dir.join("history.jsonl")).unwrap();
    fs::write(torn.join("history.jsonl"), &whole[..whole.len() / 2]).unwrap();
    let (code, result, err) = analyze(&torn);
    assert_eq!((code, &result["verdict"]), (2, &json!("unknown")), "{result}");
    assert!(!result["reasons"].as_array().unwrap().is_empty());
    assert!(err.contains("torn and was dropped"), "{err}");
    fs::write(torn.join("history.jsonl"), &whole[..20]).unwrap();
    let output = ackall().arg("analyze").arg(&torn).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), err.lines().count()),
        (Some(65), 3),
        "{err}"
    );
    let line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut hurt = whole[..line].to_vec();
    hurt.extend_from_slice(b"{}\n{}\n");
    fs::write(torn.join("history.jsonl"), hurt).unwrap();
    let output = ackall().arg("analyze").arg(&torn).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(65), "{err}");
    assert!(err.contains("line 2"), "{err}");
}

fn nothing_else_is_in_the_folder(run: &Run) {
    let known = [
        "ackall.log",
        "anomalies.jsonl",
        "history.jsonl",
        "junit.xml",
        "nodes",
        "plan.toml",
        "report.html",
        "result.json",
        "system.toml",
        "wire.json",
    ];
    let names = files(&run.dir);
    let odd: Vec<&String> = names
        .keys()
        .filter(|name| !known.contains(&name.as_str()))
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    for needed in [
        "anomalies.jsonl",
        "history.jsonl",
        "junit.xml",
        "nodes",
        "plan.toml",
        "system.toml",
        "report.html",
        "result.json",
    ] {
        assert!(names.contains_key(needed), "{needed}");
    }
}

/// The decoder is no decoration: one byte less in one log, and it speaks.
fn a_torn_log_would_be_found(run: &Run) {
    assert_eq!(decoder::check(&run.dir), [""; 0]);
    let folder = run.dir.join("nodes/1/disk/night-0");
    let mut segments: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    segments.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    segments.sort();
    let last = fs::OpenOptions::new()
        .write(true)
        .open(segments.last().unwrap())
        .unwrap();
    last.set_len(last.metadata().unwrap().len() - 1).unwrap();
    let wrong = decoder::check(&run.dir);
    assert!(
        !wrong.is_empty() && wrong.iter().all(|why| why.contains("not in the log of 1")),
        "{wrong:?}"
    );
}

fn a_silent_link_would_be_found(run: &Run) {
    assert_eq!(wire::check(&run.dir), [""; 0]);
    let path = run.dir.join("wire.json");
    let mut wire: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let links = wire["links"].as_array_mut().unwrap();
    let link = links
        .iter_mut()
        .find(|link| link["from"] == "2" && link["to"] == "clients")
        .unwrap();
    link["passed"] = json!(0);
    fs::write(&path, wire.to_string()).unwrap();
    assert_eq!(wire::check(&run.dir), ["no frame went from 2 to clients"]);
}

/// Without the anomalies that call them lost, lost records are acked ones that no log has.
fn a_loss_that_is_not_named_would_be_found(run: &Run) {
    let lost = decoder::Facts::read(&run.dir).lost.len();
    let path = run.dir.join("anomalies.jsonl");
    let kept: Vec<String> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&path, kept.concat()).unwrap();
    assert_eq!(decoder::Facts::read(&run.dir).lost.len(), lost - 1);
    let wrong = decoder::check(&run.dir);
    assert!(
        !wrong.is_empty() && wrong.iter().all(|why| why.contains("acked, and not in the log")),
        "{wrong:?}"
    );
}

#[test]
fn the_built_in_scenarios_fit_their_schema() {
    let schema = schema("scenario");
    let list = ackall().arg("scenarios").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let names: Vec<&str> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "last-replica-standing",
            "last-replica-crash",
            "follower-power-cut",
            "calm"
        ]
    );
    for name in names {
        let text = ackall().args(["scenarios", name]).output().unwrap().stdout;
        let mut scenario: Value = toml::from_str(std::str::from_utf8(&text).unwrap()).unwrap();
        fits(&schema, name, &scenario);
        scenario["surprise"] = json!(1);
        assert!(!schema.is_valid(&scenario));
    }
}

#[test]
fn twenty_seeds_give_twenty_plans() {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 1..=20 {
        let varied = varied(seed);
        assert_eq!(varied, self::varied(seed), "a seed repeats its plan");
        if let Some(other) = seen.insert(varied, seed) {
            panic!("seeds {other} and {seed} make the same plan");
        }
    }
}

fn varied(seed: u64) -> String {
    let output = ackall()
        .args(["run", "--dry-run", "--seed", &seed.to_string()])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    support::varied(std::str::from_utf8(&output.stdout).unwrap())
}
