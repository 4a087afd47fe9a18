//! `ackall kafka fetch`, and `--system apache-kafka` where the jars are not to be had, with a Java and a Maven that are
//! shell scripts: three lines and status 69, and nothing left behind; and what a fetch leaves, which is found again.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use support::{Folder, ackall};

/// Says that it is Java 17, and lists, as if it had loaded them, the classes of whatever it is told to run.
const JAVA: &str = r#"#!/bin/sh
case "$*" in
*-version*) echo '    java.specification.version = 17'; echo '    java.vm.version = 17.0.1' ;;
*-Xshare:dump*) for a; do case $a in -XX:SharedArchiveFile=*) echo archive > "${a#*=}" ;; esac; done ;;
*StorageTool*|*kafka.Kafka*)
    for a; do case $a in -XX:DumpLoadedClassList=*) echo java/A > "${a#*=}" ;; esac; done
    case "$*" in *kafka.Kafka*)
        trap 'exit 143' TERM; echo 'Kafka Server started'; while :; do /bin/sleep 0.05; done ;;
    esac ;;
esac
"#;
/// Copies the one jar that counts, of the version that the project asks for.
const MAVEN: &str = r#"#!/bin/sh
version=$(/bin/sed -n 's/.*<artifactId>kafka-tools<.artifactId><version>\([^<]*\)<.*/\1/p' pom.xml)
/bin/mkdir libs && : > "libs/kafka-clients-$version.jar"
"#;

/// A machine's search path and cache, of a test's own.
struct Place {
    folder: Folder,
    // A script that is being written cannot be executed by others, and whoever forks meanwhile has it open.
    _alone: MutexGuard<'static, ()>,
}

impl Place {
    fn new(name: &str, scripts: &[(&str, &str)]) -> Place {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Folder::new(name);
        fs::create_dir(folder.0.join("bin")).unwrap();
        for (name, text) in scripts {
            let path = folder.0.join("bin").join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Place {
            folder,
            _alone: alone,
        }
    }

    fn cache(&self) -> PathBuf {
        self.folder.0.join("cache")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = ackall();
        command
            .args(args)
            .current_dir(&self.folder.0)
            .env("PATH", self.folder.0.join("bin"))
            .env("ACKALL_KAFKA_CACHE", self.cache())
            .env_remove("ACKALL_KAFKA_HOME")
            .env_remove("JAVA_HOME");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// A Kafka folder with the jar of a version.
    fn home(&self, version: &str) -> String {
        let home = self.folder.0.join(format!("kafka-{version}"));
        fs::create_dir_all(home.join("libs")).unwrap();
        fs::write(home.join(format!("libs/kafka-clients-{version}.jar")), "").unwrap();
        home.display().to_string()
    }
}

/// Three lines with these words, and status 69.
fn refused(output: &Output, says: &[&str]) {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(69), "{err}");
    let lines: Vec<&str> = err.lines().collect();
    let [what, why, next] = lines[..] else {
        panic!("{} lines: {err}", lines.len())
    };
    let form = what.starts_with("error: ") && why.starts_with("  why: ") && next.starts_with("  next: ");
    assert!(form, "{err}");
    for word in says {
        assert!(err.contains(word), "it should say {word:?}: {err}");
    }
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

#[test]
fn what_was_fetched_is_found_again_and_without_maven() {
    let place = Place::new("fetch", &[("java", JAVA), ("mvn", MAVEN)]);
    let first = place.run(&["kafka", "fetch", "4.1", "--json"]);
    assert!(first.status.success(), "{}", text(&first));
    let said: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(
        (&said["version"], &said["fetched"]),
        (&"4.1.2".into(), &true.into())
    );
    assert_eq!(
        said["libs"],
        place.cache().join("kafka-4.1.2/libs").display().to_string()
    );
    assert!(PathBuf::from(said["archive"].as_str().unwrap()).is_file());
    fs::remove_file(place.folder.0.join("bin/mvn")).unwrap();
    let second = place.run(&["kafka", "fetch", "4.1.2"]);
    assert!(second.status.success(), "{}", text(&second));
    let lines = text(&second);
    assert!(
        lines.contains("fetched before") && lines.contains(".jsa"),
        "{lines}"
    );
    refused(
        &place.run(&["kafka", "fetch", "4.2.1"]),
        &["4.2.1", "mvn cannot be run", "ACKALL_KAFKA_HOME"],
    );
}

#[test]
fn no_java_and_a_java_that_is_too_old_are_told() {
    let place = Place::new("no-java", &[("mvn", MAVEN)]);
    refused(&place.run(&["kafka", "fetch", "4.1.2"]), &["java", "JAVA_HOME"]);
    let mut elsewhere = place.command(&["kafka", "fetch"]);
    let output = elsewhere.env("JAVA_HOME", "/nowhere").output().unwrap();
    refused(&output, &["/nowhere/bin/java"]);
    drop(place);
    let old = JAVA.replace("version = 17'", "version = 11'");
    let place = Place::new("old-java", &[("java", &old), ("mvn", MAVEN)]);
    refused(
        &place.run(&["kafka", "fetch", "4.1.2"]),
        &["Java 11", "Java 17 or later"],
    );
    assert!(!place.cache().exists(), "nothing was made");
}

#[test]
fn a_version_that_is_not_supported_is_told_with_those_that_are() {
    let place = Place::new("unsupported", &[("java", JAVA), ("mvn", MAVEN)]);
    for version in ["2.8.2", "5.0.0", "newest", "../up"] {
        let output = place.run(&["kafka", "fetch", version]);
        refused(
            &output,
            &[version, "3.9 to 4.x", "3.9.2, 4.0.1, 4.1.2, 4.2.1, 4.3.1, 4.4.0"],
        );
    }
    let output = place.run(&["run", "calm", "--dry-run", "--system", "apache-kafka:3.4.0"]);
    refused(&output, &["3.4.0", "3.9.2"]);
    assert!(!place.cache().exists(), "nothing was made");
}

#[test]
fn a_repository_out_of_reach_leaves_nothing() {
    let unreachable = "#!/bin/sh\necho '[ERROR] Could not transfer artifact: Unknown host'\nexit 1\n";
    let place = Place::new("unreachable", &[("java", JAVA), ("mvn", unreachable)]);
    refused(
        &place.run(&["kafka", "fetch", "4.1.2"]),
        &["4.1.2", "Unknown host", "repository"],
    );
    let left: Vec<_> = fs::read_dir(place.cache()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "the lock alone: {left:?}");
}

#[test]
fn a_cache_that_cannot_be_written_is_told() {
    let place = Place::new("no-cache", &[("java", JAVA), ("mvn", MAVEN)]);
    fs::write(place.cache(), "a file").unwrap();
    refused(
        &place.run(&["kafka", "fetch", "4.1.2"]),
        &["cache", "ACKALL_KAFKA_CACHE"],
    );
    let mut nowhere = place.command(&["kafka", "fetch", "4.1.2"]);
    for name in ["ACKALL_KAFKA_CACHE", "XDG_CACHE_HOME", "HOME", "SUDO_UID"] {
        nowhere.env_remove(name);
    }
    refused(
        &nowhere.output().unwrap(),
        &["XDG_CACHE_HOME", "ACKALL_KAFKA_CACHE=FOLDER"],
    );
}

#[test]
fn a_folder_without_jars_and_one_of_another_version_are_told() {
    let place = Place::new("homes", &[("java", JAVA)]);
    let dry = ["run", "calm", "--dry-run", "--system"];
    let with = |system: &str, home: &str| {
        let args: Vec<&str> = dry
            .iter()
            .copied()
            .chain([system, "--kafka-home", home])
            .collect();
        place.run(&args)
    };
    let empty = place.folder.0.display().to_string();
    refused(
        &with("apache-kafka", &empty),
        &[&empty, "kafka-clients", "--kafka-home"],
    );
    let home = place.home("4.1.2");
    refused(&with("apache-kafka:4.2.1", &home), &["4.2.1", "4.1.2", &home]);
    refused(
        &with("apache-kafka:3.9.2", &place.home("3.8.1")),
        &["3.8.1", "3.9 to 4.x"],
    );
    for system in ["apache-kafka", "apache-kafka:4.1", "apache-kafka:4.1.2"] {
        let output = with(system, &home);
        assert_eq!(output.status.code(), Some(0), "{system}: {}", text(&output));
    }
}

#[test]
fn an_archive_that_cannot_be_made_is_told_and_no_error() {
    let fails = JAVA.replace("echo 'Kafka Server started'", "echo 'ERROR no port'; exit 1");
    let place = Place::new("slow", &[("java", &fails), ("mvn", MAVEN)]);
    for _ in 0..2 {
        let output = place.run(&["kafka", "fetch", "4.1.2", "--json"]);
        assert!(output.status.success(), "{}", text(&output));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["archive"], serde_json::Value::Null);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            err.contains("starts slowly") && err.contains("ERROR no port"),
            "{err}"
        );
    }
}
