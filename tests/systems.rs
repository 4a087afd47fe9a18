//! Systems that users describe: the example of docs/systems.md runs, what the program prints is right, and what is
//! wrong is told before anything starts.
#![cfg(target_os = "linux")]

mod support;

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use support::machine::Machine;
use support::{Folder, ackall, executable, ground, start};

/// The program that the example names.
const EXAMPLES_PROGRAM: &str = "/opt/mine/bin/ackall";
const BUILT_IN: [&str; 2] = ["reference", "apache-kafka"];

/// The example of docs/systems.md: its first whole file.
fn example() -> String {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/systems.md");
    let docs = fs::read_to_string(docs).unwrap();
    let (_, after) = docs.split_once("\n```toml\n").unwrap();
    let (example, _) = after.split_once("\n```\n").unwrap();
    assert!(example.contains(EXAMPLES_PROGRAM), "{example}");
    example.to_owned()
}

/// A file in a folder.
fn written(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let path = folder.0.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// A program of another's, in a folder of another's: a copy of this one.
fn program(folder: &Folder) -> PathBuf {
    let path = folder.0.join("other-program");
    fs::copy(executable(), &path).unwrap();
    path
}

fn printed(args: &[&str]) -> String {
    let output = ackall().args(args).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// `ackall run calm` on a system, in the folder.
fn calm(folder: &Folder, file: &Path, more: &[&str]) -> Output {
    let mut command = ackall();
    command
        .args(["run", "calm", "--time", "1s", "--system"])
        .arg(file);
    command.args(more).current_dir(&folder.0).output().unwrap()
}

#[test]
fn the_example_of_the_docs_runs() {
    let _ground = ground();
    let folder = Folder::new("systems-example");
    let before = Machine::now();
    let program = program(&folder);
    let text = example().replace(EXAMPLES_PROGRAM, program.to_str().unwrap());
    let file = written(&folder, "mine.toml", &text);
    let args = [
        "calm",
        "--time",
        "1s",
        "--seed",
        "1",
        "--system",
        file.to_str().unwrap(),
    ];
    let run = start(&folder.0, "run", &args).wait();
    assert_eq!(run.code(), 0, "{}", run.said());
    let result = run.result();
    assert_eq!(result["verdict"], "pass", "{result}");
    assert_eq!(
        (&result["system"], &result["version"]),
        (&json!("mine"), &json!("0.1"))
    );
    // The run has kept what it ran, and that can be run again.
    let kept = run.dir.join("system.toml");
    assert!(
        fs::read_to_string(&kept)
            .unwrap()
            .contains(program.to_str().unwrap())
    );
    let again = calm(&folder, &kept, &["--dry-run"]);
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    assert_eq!(before.left(&folder.0), [""; 0]);
}

#[test]
fn what_is_printed_can_be_run() {
    let folder = Folder::new("systems-printed");
    let list = printed(&["systems"]);
    let names: Vec<&str> = list.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, BUILT_IN);
    let reference = written(&folder, "reference.toml", &printed(&["systems", "reference"]));
    let plan = calm(&folder, &reference, &["--dry-run"]);
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));

    // Of Apache Kafka the variables alone are to be filled in.
    let kafka = printed(&["systems", "apache-kafka"]);
    let libs = folder.0.join("libs");
    fs::create_dir(&libs).unwrap();
    let java = written(
        &folder,
        "java",
        "#!/bin/sh\necho '<h4><a id=\"queued.max.requests\"'\n",
    );
    fs::set_permissions(&java, fs::Permissions::from_mode(0o755)).unwrap();
    let filled = kafka
        .replace("java = \"java\"", &format!("java = {java:?}"))
        .replace("libs = \"/opt/kafka/libs\"", &format!("libs = {libs:?}"));
    let file = written(&folder, "kafka.toml", &filled);
    let plan = calm(&folder, &file, &["--dry-run", "--set", "queued.max.requests=77"]);
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
    let plan: toml::Table = toml::from_str(&String::from_utf8_lossy(&plan.stdout)).unwrap();
    assert_eq!(plan["system"].as_str(), Some("apache-kafka"));
    assert_eq!(plan["server"]["queued.max.requests"].as_str(), Some("77"));
}

/// Three lines with these words, this status, and nothing left.
fn refused(folder: &Folder, file: &Path, code: i32, says: &[&str]) {
    let before = Machine::now();
    let output = calm(folder, file, &[]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{err}");
    assert_eq!(err.lines().count(), 3, "{err}");
    for word in says {
        assert!(err.contains(word), "{word:?} is not in {err}");
    }
    assert!(!folder.0.join("runs").exists(), "{err}");
    assert_eq!(before.left(&folder.0), [""; 0]);
}

#[test]
fn mistakes_are_told_before_anything_starts() {
    let folder = Folder::new("systems-mistakes");
    let program = program(&folder);
    let right = example().replace(EXAMPLES_PROGRAM, program.to_str().unwrap());
    let line = right.lines().position(|line| line.starts_with("argv")).unwrap() + 1;
    let at = format!("line {line}, format.argv");
    let told = |name: &str, text: String, code, says: &[&str]| {
        let file = written(&folder, name, &text);
        refused(&folder, &file, code, &[&[name], says].concat());
    };
    told(
        "word.toml",
        right.replace("{cluster_id}", "{cluster}"),
        64,
        &[&at, "{cluster}", "{cluster_id}"],
    );
    told(
        "broken.toml",
        right.replace("[format]", "[format"),
        64,
        &["line ", "no TOML"],
    );
    told(
        "key.toml",
        right.replace("trouble", "troubles"),
        64,
        &["troubles", "trouble is the nearest"],
    );
    told("empty.toml", String::new(), 64, &["name", "missing"]);
    told(
        "program.toml",
        right.replace("start = [\"{program}\"", "start = [\"no-such-program\""),
        69,
        &["start", "PATH"],
    );
    told(
        "path.toml",
        example(),
        69,
        &[EXAMPLES_PROGRAM, "variables.program"],
    );
    refused(
        &folder,
        Path::new("no-such.toml"),
        64,
        &["no-such.toml", "docs/systems.md"],
    );
    let output = ackall().args(["systems", "apache-kafak"]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{err}");
    assert!(err.contains("the nearest are apache-kafka"), "{err}");
}

/// A program that is there and does not do: its own words are told, and nothing is left.
#[test]
fn data_that_is_not_on_the_disk_ends_the_run() {
    let _ground = ground();
    let folder = Folder::new("systems-elsewhere");
    let reference = printed(&["systems", "reference"]);
    let beside = reference.replace("log.dirs={disk}", "log.dirs={disk}/../data");
    let file = written(&folder, "beside.toml", &beside);
    let before = Machine::now();
    let output = calm(&folder, &file, &[]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(70), "{err}");
    assert!(err.contains("error: formatting the disk of node"), "{err}");
    assert!(err.contains("left the disk empty"), "{err}");
    assert_eq!(before.left(&folder.0), [""; 0]);
    let in_words = reference.replace("log.dirs={disk}", "log.dirs={home}/data\n# {disk}");
    let folder = Folder::new("systems-in-words");
    let file = written(&folder, "words.toml", &in_words);
    refused(&folder, &file, 64, &["controller.template", "it has no {disk}"]);
}

#[test]
fn files_are_read_as_others_write_them_and_no_device_is() {
    let folder = Folder::new("systems-files");
    let lines = printed(&["systems", "reference"]).replace('\n', "\r\n");
    let file = written(&folder, "lines.toml", &lines);
    let plan = calm(&folder, &file, &["--dry-run"]);
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
    for value in ["a=1\nb=2", "a=1\\"] {
        let plan = calm(&folder, &file, &["--dry-run", "--set", value]);
        assert_eq!(plan.status.code(), Some(64), "{value:?}");
    }
    let endless = folder.0.join("endless.toml");
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    refused(&folder, &endless, 64, &["it is no file"]);
}

#[test]
fn a_format_step_that_fails_is_told_in_its_own_words() {
    let _ground = ground();
    let folder = Folder::new("systems-format");
    let before = Machine::now();
    let program = written(
        &folder,
        "other-program",
        "#!/bin/sh\necho 'FATAL: no disk for the likes of you'\nexit 3\n",
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = example().replace(EXAMPLES_PROGRAM, program.to_str().unwrap());
    let file = written(&folder, "mine.toml", &text);
    let run = start(
        &folder.0,
        "run",
        &["calm", "--time", "1s", "--system", file.to_str().unwrap()],
    )
    .wait();
    assert_eq!(run.code(), 70, "{}", run.said());
    assert!(run.err.contains("no disk for the likes of you"), "{}", run.said());
    assert_eq!(before.left(&folder.0), [""; 0]);
}

fn as_json(toml: &str) -> Value {
    toml::from_str(toml).unwrap()
}

#[test]
fn the_schema_takes_what_is_read_and_refuses_what_is_not() {
    let schema: Value = serde_json::from_str(&printed(&["schema", "system"])).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let shipped = BUILT_IN.map(|name| printed(&["systems", name]));
    for text in shipped.iter().chain([&example()]) {
        let errors: Vec<String> = schema
            .iter_errors(&as_json(text))
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0], "{text}");
    }
    let right = as_json(&shipped[1]);
    let required = ["name", "start", "trouble", "format", "controller", "broker"];
    for key in required {
        let mut wrong = right.clone();
        wrong.as_object_mut().unwrap().remove(key);
        assert!(!schema.is_valid(&wrong), "{key}");
    }
    for (place, value) in [
        ("/name", json!("")),
        ("/start", json!([])),
        ("/trouble/0", json!("")),
        ("/controller/port", json!(0)),
        ("/broker/port", json!(70_000)),
        ("/format/limit_s", json!(0)),
        ("/limits_times", json!(101)),
        ("/server", json!({"a=b": "1"})),
        ("/server_least", json!({"a": "1"})),
        ("/features", json!({"a": {"highest": 1}})),
        ("/files/0/name", json!("a/b")),
        ("/properties/between", json!(["a"])),
        ("/ready", json!({"surprise": 1})),
    ] {
        let mut wrong = right.clone();
        *wrong.pointer_mut(place).unwrap() = value;
        assert!(!schema.is_valid(&wrong), "{place}");
        let folder = Folder::new("systems-schema");
        let file = written(&folder, "wrong.toml", &toml::to_string(&wrong).unwrap());
        assert_eq!(
            calm(&folder, &file, &["--dry-run"]).status.code(),
            Some(64),
            "{place}"
        );
    }
}
