//! Starts of Kafka that go wrong: each is told in three lines, with the reason from the node's own log where there is one,
//! as soon as it is known, and leaves nothing behind.

use clusters::System;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::jvm::{Kafka, kafka};
use crate::support::machine::{Machine, Trace, processes, signal};
use crate::support::{Folder, RUN_LIMIT, Run, ackall, executable, ground, spawn, until};

const ELR: &str = "eligible.leader.replicas.version";
/// Between two looks at a run's processes.
const LOOK: Duration = Duration::from_millis(100);

/// What must be said: the status, parts of the three lines, and the time within which it must be.
struct Expected<'a> {
    code: i32,
    says: &'a [&'a str],
    within: Duration,
}

/// What a start that cannot be ends with, sooner than any limit of the steps of one.
fn at_once<'a>(code: i32, says: &'a [&'a str]) -> Expected<'a> {
    let within = Duration::from_secs(System::apache_kafka("", BTreeMap::new()).ready.limit_s.into());
    Expected { code, says, within }
}

/// Runs `calm` on a system, which must fail as expected.
fn refused(mut command: Command, system: &str, args: &[&str], expected: &Expected<'_>) {
    command.args(["run", "calm", "--no-progress"]);
    fails(command, system, args, expected);
}

/// A command that starts a system must fail as expected, in three lines, and leave nothing.
fn fails(mut command: Command, system: &str, args: &[&str], expected: &Expected<'_>) {
    let folder = Folder::new("bad-start");
    let before = Machine::now();
    let dir = folder.0.join("run");
    command
        .args(["--system", system])
        .args(args)
        .arg("--run-dir")
        .arg(&dir);
    let mut run = spawn(command, &folder.0, "run");
    let mut trace = Trace::of(&run.mark);
    while !run.has_ended() {
        trace.look();
        std::thread::sleep(LOOK);
    }
    let run = run.wait();
    println!("{}\ntook {:?}", run.said(), run.took);
    trace.gone(Instant::now()).unwrap();
    assert_eq!(before.left(&folder.0), [""; 0]);
    assert!(!dir.join("result.json").exists(), "{}", run.said());
    assert_eq!(run.code(), expected.code, "{}", run.said());
    assert!(
        run.took < expected.within,
        "it took {:?}: {}",
        run.took,
        run.said()
    );
    let lines = three_lines(&run);
    for word in expected.says {
        assert!(
            lines.iter().any(|line| line.contains(word)),
            "no {word:?}: {}",
            run.said()
        );
    }
    names_a_log(&dir, &lines[2]);
}

/// The error; before it, that an archive could not be made of what is broken is no error.
fn three_lines(run: &Run) -> [String; 3] {
    assert_eq!(run.out, "");
    let lines = run.err.lines().filter(|line| !line.contains("starts slowly"));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    let lines: [String; 3] = lines.try_into().unwrap_or_else(|lines| panic!("{lines:?}"));
    for (line, begins) in lines.iter().zip(["error: ", "  why: ", "  next: "]) {
        assert!(
            line.starts_with(begins) && line.len() > begins.len(),
            "{lines:#?}"
        );
    }
    // A stack is in the log, and only there.
    assert!(
        !lines[1].contains("\tat ") && !lines[1].contains(" at java."),
        "{lines:#?}"
    );
    lines
}

/// A log that is said to be worth reading is there.
fn names_a_log(run_dir: &Path, next: &str) {
    let Some(log) = next.strip_prefix("  next: read ") else {
        return;
    };
    let log = Path::new(log);
    assert!(
        !log.is_absolute() || (log.starts_with(run_dir) && log.is_file()),
        "{next}"
    );
}

/// A description of one's own: Kafka's, altered.
fn altered(kafka: &Kafka, name: &str, alter: impl FnOnce(&mut System)) -> String {
    written(kafka.folder(), name, kafka.system(), alter)
}

fn written(folder: &Path, name: &str, mut system: System, alter: impl FnOnce(&mut System)) -> String {
    let was = system.clone();
    alter(&mut system);
    assert_ne!(system, was);
    let path = folder.join(format!("{name}.toml"));
    fs::write(&path, toml::to_string(&system).unwrap()).unwrap();
    path.display().to_string()
}

/// A Kafka folder whose jars are those of the tests, but the ones that `but` names.
fn home(kafka: &Kafka, name: &str, but: &str) -> PathBuf {
    let home = kafka.folder().join(name);
    fs::create_dir_all(home.join("libs")).unwrap();
    for entry in fs::read_dir(kafka.jars().libs()).unwrap() {
        let jar = entry.unwrap();
        if !jar.file_name().to_string_lossy().starts_with(but) {
            let there = home.join("libs").join(jar.file_name());
            let linked = fs::hard_link(jar.path(), &there);
            linked
                .or_else(|_| fs::copy(jar.path(), &there).map(|_| ()))
                .unwrap();
        }
    }
    home
}

#[test]
fn what_cannot_be_kafka_is_refused_before_anything_starts() {
    let Some(kafka) = kafka("none") else { return };
    let folder = kafka.folder();
    fs::create_dir_all(folder.join("empty")).unwrap();
    fs::create_dir_all(folder.join("strange/libs")).unwrap();
    fs::write(folder.join("strange/libs/other.jar"), "").unwrap();
    for home in ["empty", "strange", "nowhere"] {
        let path = folder.join(home).display().to_string();
        let says = [path.as_str(), "libs/kafka-clients-VERSION.jar", "--kafka-home"];
        refused(
            kafka.ackall(),
            "apache-kafka",
            &["--kafka-home", &path],
            &at_once(69, &says),
        );
    }
    for version in ["2.8", "9.9"] {
        let says = [version, "3.9 to 4.x"];
        refused(
            kafka.ackall(),
            &format!("apache-kafka:{version}"),
            &[],
            &at_once(69, &says),
        );
    }
    let without = |name: &str, value: &str| {
        let mut command = kafka.ackall();
        command.env_remove("JAVA_HOME").env(name, value);
        command
    };
    for (name, value, says) in [
        ("PATH", "/nowhere", "java: No such file"),
        ("JAVA_HOME", "/nowhere", "/nowhere/bin/java"),
    ] {
        let says = [says, "install Java 17"];
        refused(without(name, value), &kafka.name(), &[], &at_once(69, &says));
    }
}

#[test]
fn a_format_step_that_fails_is_told_in_its_own_words() {
    let Some(kafka) = kafka("format-step") else { return };
    let _ground = ground();
    let whole = fs::read_dir(kafka.jars().libs()).unwrap().flatten();
    let core = whole
        .map(|jar| jar.path())
        .find(|jar| jar.to_string_lossy().contains("/kafka_2.13-"));
    let core = core.expect("Kafka's own jar");
    let broken = home(&kafka, "broken", "kafka_2.13-");
    let bytes = fs::read(&core).unwrap();
    fs::write(
        broken.join("libs").join(core.file_name().unwrap()),
        &bytes[..bytes.len() / 2],
    )
    .unwrap();
    let says = [
        "formatting the disk of node",
        "status 1",
        "Could not find or load main class",
    ];
    let path = broken.display().to_string();
    refused(
        kafka.ackall(),
        "apache-kafka",
        &["--kafka-home", &path],
        &at_once(70, &says),
    );
    let says = [
        "formatting the disk of node",
        "Invalid value 3 for configuration log.segment.bytes",
    ];
    let bad = ["--set", "log.segment.bytes=3"];
    refused(kafka.ackall(), &kafka.name(), &bad, &at_once(70, &says));
}

#[test]
fn a_node_that_ends_at_its_start_is_told_in_its_own_words() {
    let Some(kafka) = kafka("start") else { return };
    let _ground = ground();
    // Nothing but a node looks for this class.
    let bad = ["--set", "authorizer.class.name=no.such.Class"];
    let says = [
        "starting node",
        "ended with status 1",
        "ClassNotFoundException: no.such.Class",
    ];
    refused(kafka.ackall(), &kafka.name(), &bad, &at_once(70, &says));
    // Java itself refuses: less at most than at first.
    let least = altered(&kafka, "least", |system| heap(system, "-Xms64m", "-Xmx8m"));
    let says = ["starting node", "ended with status 1", "heap size"];
    refused(kafka.ackall(), &least, &[], &at_once(70, &says));
    // And it begins, and does not suffice.
    let small = altered(&kafka, "small", |system| heap(system, "-Xms8m", "-Xmx8m"));
    let says = [
        "starting node",
        "ended with status 3",
        "OutOfMemoryError: Java heap space",
    ];
    refused(kafka.ackall(), &small, &[], &at_once(70, &says));
}

fn heap(system: &mut System, first: &str, most: &str) {
    for argument in &mut system.start {
        for (begins, heap) in [("-Xms", first), ("-Xmx", most)] {
            if argument.starts_with(begins) {
                *argument = heap.into();
            }
        }
    }
}

/// The format step of a system that takes level 1, whatever it is told.
fn deaf(system: &mut System) {
    let script = "for word; do shift; case $word in eligible.*=*) word=${word%=*}=1;; esac; \
                  set -- \"$@\" \"$word\"; done; exec \"$@\"";
    let script = script.replace("${word%=*}", ELR);
    let shell = ["/bin/sh", "-c", script.as_str(), "sh"].map(String::from);
    system.format.argv.splice(0..0, shell);
}

/// The run ends, for the level asked for is not the one in force.
fn not_in_force(command: Command, deaf: &str) {
    let feature = format!("{ELR}=0");
    let why = format!("{ELR} has level 1, and 0 was asked for");
    refused(
        command,
        deaf,
        &["--feature", &feature],
        &at_once(70, &[why.as_str(), "ApiVersions"]),
    );
}

#[test]
fn a_level_that_kafka_does_not_have_in_force_ends_the_run() {
    let Some(kafka) = kafka("levels") else { return };
    if !kafka.has_elr() {
        return;
    }
    let _ground = ground();
    let deaf = altered(&kafka, "deaf", deaf);
    not_in_force(kafka.ackall(), &deaf);
}

#[test]
fn a_level_that_the_reference_cluster_does_not_have_in_force_ends_the_run() {
    let _ground = ground();
    let folder = Folder::new("levels");
    let deaf = written(&folder.0, "deaf", System::reference(), |system| {
        deaf(system);
        // A shell does not know who we are.
        let ourselves = system
            .format
            .argv
            .iter_mut()
            .filter(|argument| *argument == "{self}");
        ourselves.for_each(|argument| *argument = executable().display().to_string());
    });
    not_in_force(ackall(), &deaf);
}

#[test]
fn a_cluster_by_hand_tells_of_a_node_that_ends_at_its_start_too() {
    let _ground = ground();
    let folder = Folder::new("by-hand");
    let dead = written(&folder.0, "dead", System::reference(), |system| {
        system.start = [
            "{self}",
            "node",
            "start",
            "--config",
            "nowhere.properties",
            "{bug}",
        ]
        .map(String::from)
        .into();
    });
    let mut command = ackall();
    let sockets = folder.0.join("sockets");
    fs::create_dir(&sockets).unwrap();
    command.env("XDG_RUNTIME_DIR", sockets).arg("up");
    let says = ["starting node", "ended with status 64", "nowhere.properties"];
    fails(command, &dead, &["--quiet"], &at_once(70, &says));
}

#[test]
fn a_signal_ends_a_start_at_once_with_its_own_status() {
    let Some(kafka) = kafka("signal") else { return };
    let _ground = ground();
    let folder = Folder::new("signalled");
    for (name, moment) in [("format", "StorageTool"), ("start", "kafka.Kafka")] {
        let before = Machine::now();
        let dir = folder.0.join(name);
        let mut command = kafka.ackall();
        command.args([
            "run",
            "calm",
            "--no-progress",
            "--system",
            &kafka.name(),
            "--run-dir",
        ]);
        command.arg(&dir).stdin(Stdio::null());
        let run = spawn(command, &folder.0, name);
        let trace = until(moment, RUN_LIMIT, || {
            let there = processes(&run.mark);
            let of_run = |args: &[String], word: &str| args.iter().any(|arg| arg.contains(word));
            let run_dir = dir.to_str().unwrap();
            let found = there
                .iter()
                .any(|process| of_run(&process.args, moment) && of_run(&process.args, run_dir));
            found.then(|| Trace::of(&run.mark))
        });
        let sent = Instant::now();
        signal(run.front(), Signal::SIGTERM);
        let run = run.wait();
        let took = sent.elapsed();
        trace.gone(Instant::now()).unwrap();
        assert_eq!(before.left(&folder.0), [""; 0]);
        assert_eq!(run.code(), 143, "{}", run.said());
        assert_eq!(run.result()["verdict"], "unknown", "{}", run.said());
        assert!(took < Duration::from_secs(4), "{name}: it took {took:?}");
    }
}
