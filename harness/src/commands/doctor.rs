//! `ackall doctor`: what this machine allows, tried for real. First what every run needs, then what single faults need.

use crate::error::{Error, Status};
use clusters::kafka;
use ground::Probe;
use ground::doctor::{probe, probe_faults};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// Probes and prints; the status is 0 where the default run can go.
pub fn doctor(json: bool) -> Result<Status, Error> {
    let here = std::env::current_dir().map_err(|e| {
        Error::usage(
            "finding the folder to try the disk in",
            e,
            "run it in a folder that is there",
        )
    })?;
    let needed = probe(&here);
    let mut others = probe_faults();
    others.push(java());
    others.push(kafka_jars());
    if json {
        let rows: Vec<_> = needed.iter().chain(&others).map(row).collect();
        say!("{}", serde_json::Value::Array(rows));
    } else {
        say!("every run needs:");
        needed.iter().for_each(print_probe);
        say!("single faults and other systems need:");
        others.iter().for_each(print_probe);
    }
    Ok(if needed.iter().all(|probe| probe.available) {
        Status::Pass
    } else {
        Status::Unavailable
    })
}

fn row(probe: &Probe) -> serde_json::Value {
    json!({
        "name": probe.name,
        "available": probe.available,
        "how": probe.how,
        "why_not": probe.why_not,
        "remedy": probe.remedy,
    })
}

fn print_probe(probe: &Probe) {
    if probe.available {
        say!("  yes  {:<28} {}", probe.name, probe.how);
    } else {
        say!("  no   {:<28} {}", probe.name, probe.why_not);
        say!("       {:<28} try: {}", "", probe.remedy);
    }
}

fn told(name: &str, how: &str, why_not: Option<String>, remedy: &str) -> Probe {
    Probe {
        name: name.into(),
        available: why_not.is_none(),
        how: how.into(),
        remedy: if why_not.is_none() {
            String::new()
        } else {
            remedy.into()
        },
        why_not: why_not.unwrap_or_default(),
    }
}

/// Java, which Apache Kafka runs on.
fn java() -> Probe {
    let run = Command::new("java").arg("-version").stdin(Stdio::null()).output();
    let why_not = match run {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("java -version ended with {}", output.status)),
        Err(why) => Some(format!("java -version: {why}")),
    };
    told(
        "Java",
        "java -version",
        why_not,
        "sudo apt-get install -y openjdk-17-jre-headless",
    )
}

/// Kafka's jars where they are at hand, or Maven, which fetches them; nothing is fetched for it.
fn kafka_jars() -> Probe {
    let home = kafka::HOME;
    let named = std::env::var_os(home).filter(|folder| !folder.is_empty());
    let cached = kafka::cache()
        .map(|cache| kafka::cached(&cache))
        .unwrap_or_default();
    let (how, why_not) = match named {
        Some(folder) => {
            let libs = Path::new(&folder).join("libs");
            let why = (!has_jars(&libs)).then(|| format!("{} has no jars", libs.display()));
            (format!("*.jar in {}", libs.display()), why)
        }
        None if !cached.is_empty() => (format!("in the cache: {}", cached.join(", ")), None),
        None => ("mvn fetches them when they are asked for".into(), no_maven()),
    };
    told(
        "Kafka jars",
        &how,
        why_not,
        &format!("export {home}=FOLDER_OF_KAFKA, or sudo apt-get install -y maven, then ackall kafka fetch"),
    )
}

fn no_maven() -> Option<String> {
    let home = kafka::HOME;
    match Command::new("mvn").arg("--version").stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!(
            "{home} is not set, the cache is empty, and mvn --version ended with {}",
            output.status
        )),
        Err(why) => Some(format!(
            "{home} is not set, the cache is empty, and mvn cannot be run: {why}"
        )),
    }
}

fn has_jars(folder: &Path) -> bool {
    let is_jar = |entry: std::fs::DirEntry| {
        entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "jar")
    };
    std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(is_jar))
}
