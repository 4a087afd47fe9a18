//! A system under test, as data: how its nodes are configured, formatted, started and recognised.
//!
//! What a system's file may say is here; how its words are replaced is in `fill`, how a file is read and
//! what is told of a mistake in `read`, and what a system needs of this machine in
//! `programs`.

mod fill;
mod programs;
mod read;

pub use fill::{Fill, First, is_one_line};
pub use programs::Absent;
pub use read::Mistake;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A system that comes with this program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Its file, in the form that users write for their own systems.
    pub toml: &'static str,
}

/// The reference cluster's file.
const REFERENCE: &str = include_str!("../../systems/reference.toml");
/// Apache Kafka's.
const APACHE_KAFKA: &str = include_str!("../../systems/apache-kafka.toml");

/// The systems that come with this program. The first is the default.
pub const BUILT_IN: [BuiltIn; 2] = [
    BuiltIn {
        name: "reference",
        summary: "The cluster that comes with ackall, for the harness to be tried on.",
        toml: REFERENCE,
    },
    BuiltIn {
        name: "apache-kafka",
        summary: "Apache Kafka 3.9 to 4.x; its jars come from Maven, or from a folder.",
        toml: APACHE_KAFKA,
    },
];

/// A system, as its TOML file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Its version, where it has one of its own.
    #[serde(default)]
    pub version: String,
    /// The command that runs a node until it is told to stop; the argument `{bug}` becomes the arguments of
    /// the bug that is on, if one is.
    pub start: Vec<String>,
    /// Parts of log lines that mean trouble; they are what is told of a node that did not come up.
    pub trouble: Vec<String>,
    /// How many times as long as a scenario says its steps, and the run, may take.
    #[serde(default = "once")]
    pub limits_times: u32,
    /// Words of the file's own, which stand for `{word}` wherever a word is replaced.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Added to the environment of each command.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Server properties that each node has where nothing else says otherwise.
    #[serde(default)]
    pub server: BTreeMap<String, String>,
    /// Server properties, whole numbers, below which those of a scenario are raised.
    #[serde(default)]
    pub server_least: BTreeMap<String, i64>,
    /// The features that it has levels of, by their names.
    #[serde(default)]
    pub features: BTreeMap<String, Feature>,
    /// How to learn which properties a configuration may have; where it does not say, any may be set.
    #[serde(default)]
    pub properties: Option<Properties>,
    /// How a node's disk is formatted.
    pub format: Format,
    /// When a node serves.
    #[serde(default)]
    pub ready: Ready,
    /// The bugs that can be switched on; none where the system has none to offer.
    #[serde(default)]
    pub bugs: Option<Bugs>,
    /// The controllers.
    pub controller: Role,
    /// The brokers.
    pub broker: Role,
    /// Files beside the configuration in each node's home.
    #[serde(default)]
    pub files: Vec<HomeFile>,
}

fn once() -> u32 {
    1
}

/// A feature of which a system has levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// The highest level; 0 is always one.
    pub highest: i16,
    /// The level of a run that says nothing.
    pub default: i16,
    /// The first version that has it; any, where it does not say.
    #[serde(default)]
    pub since: String,
}

/// How to learn which properties a configuration may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Properties {
    /// The command. It prints JSON, an array of `{name, type, default, doc}`; or
    pub argv: Vec<String>,
    /// a text, in which each name stands between these two.
    #[serde(default)]
    pub between: Option<[String; 2]>,
    /// Names that the text leaves out.
    #[serde(default)]
    pub also: Vec<String>,
}

/// How a node's disk is formatted, once, before its first start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    /// The command; the argument `{features}` becomes the arguments of each feature.
    pub argv: Vec<String>,
    /// The arguments of one feature, from `{feature}` and `{level}`.
    #[serde(default)]
    pub feature: Vec<String>,
    /// Where the voters of the metadata quorum may change: the arguments that stand for `{quorum}` in the command, of
    /// one of the first voters, which are `{first_voters}`.
    #[serde(default)]
    pub first: Vec<String>,
    /// And those of any other node.
    #[serde(default)]
    pub joins: Vec<String>,
    /// How long the formatting of all disks may take, in seconds.
    #[serde(default = "format_limit_s")]
    pub limit_s: u32,
}

/// Formatting is a handful of small files.
fn format_limit_s() -> u32 {
    20
}

/// When a cluster serves: every broker is in the metadata log and not fenced, and besides:
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// each node's log has a line with this; where it is empty, no line is waited for.
    #[serde(default)]
    pub log: String,
    /// How long that may take, in seconds.
    #[serde(default = "ready_limit_s")]
    pub limit_s: u32,
}

/// A native program is up within a second; the rest is for a machine that has other things to do.
fn ready_limit_s() -> u32 {
    30
}

impl Default for Ready {
    fn default() -> Ready {
        Ready {
            log: String::new(),
            limit_s: ready_limit_s(),
        }
    }
}

impl Ready {
    /// How long a cluster may take until it serves.
    pub fn limit(&self) -> Duration {
        Duration::from_secs(self.limit_s.into())
    }
}

/// Bugs that can be switched on by name, for the harness to notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bugs {
    /// The command that prints their names.
    pub names: Vec<String>,
    /// The arguments that switch on the bug `{bug}`.
    pub argv: Vec<String>,
}

/// A kind of node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The port it listens on.
    pub port: u16,
    /// Its configuration file.
    pub template: String,
    /// Its listener for clients on the host; none where it has none to offer.
    #[serde(default)]
    pub host: Option<HostListener>,
}

/// A second listener of a node, to which a port of the host's loopback leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostListener {
    /// The port it listens on, on the node.
    pub port: u16,
    /// What stands for `{host_listener}` in the template.
    pub listener: String,
    /// What stands for `{host_advertised}` in the template, from `{host_port}`.
    pub advertised: String,
}

/// A file in each node's home, for logging for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomeFile {
    /// Its name; `{home}/NAME` is its path.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl Default for System {
    /// The reference cluster.
    fn default() -> System {
        System::reference()
    }
}

impl System {
    /// The reference cluster.
    pub fn reference() -> System {
        // The file is part of the build, and a test reads it.
        System::read(REFERENCE).expect("systems/reference.toml is tested to be right")
    }

    /// Apache Kafka of a version, with what its commands need: the words of its file's `[variables]`.
    pub fn apache_kafka(version: &str, variables: BTreeMap<String, String>) -> System {
        // The same.
        let mut kafka = System::read(APACHE_KAFKA).expect("systems/apache-kafka.toml is tested to be right");
        kafka.version = version.to_owned();
        // Which version it is stands in its own place.
        kafka
            .variables
            .extend(variables.into_iter().filter(|(word, _)| word != "version"));
        kafka
    }

    /// A system that is no more than two commands, and a port that its nodes listen on.
    pub fn of_commands(name: &str, format: &[&str], start: &[&str], port: u16) -> System {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        let role = Role {
            port,
            template: String::new(),
            host: None,
        };
        System {
            name: name.into(),
            version: String::new(),
            start: words(start),
            trouble: Vec::new(),
            limits_times: once(),
            variables: BTreeMap::new(),
            environment: BTreeMap::new(),
            server: BTreeMap::new(),
            server_least: BTreeMap::new(),
            features: BTreeMap::new(),
            properties: None,
            format: Format {
                argv: words(format),
                feature: Vec::new(),
                first: Vec::new(),
                joins: Vec::new(),
                limit_s: format_limit_s(),
            },
            ready: Ready::default(),
            bugs: None,
            controller: role.clone(),
            broker: role,
            files: Vec::new(),
        }
    }

    /// Folders and files that its commands name: a node sees them, wherever on the host they are.
    pub fn installed(&self) -> Vec<PathBuf> {
        let commands = [&self.start, &self.format.argv];
        let words = commands.into_iter().flatten().chain(self.variables.values());
        let paths = words.map(PathBuf::from);
        paths.filter(|path| path.is_absolute() && path.exists()).collect()
    }

    /// The features of which this version has levels.
    pub fn features(&self) -> impl Iterator<Item = (&str, &Feature)> {
        let has = |feature: &Feature| feature.since.is_empty() || is_from(&self.version, &feature.since);
        let features = self.features.iter();
        features.filter_map(move |(name, feature)| has(feature).then_some((name.as_str(), feature)))
    }

    /// The highest level of a feature; 0 where this version does not know it.
    pub fn highest_level(&self, feature: &str) -> i16 {
        let mut known = self.features();
        known
            .find(|(name, _)| *name == feature)
            .map_or(0, |(_, feature)| feature.highest)
    }
}

/// Whether a version, numbers with dots, is another one or a later one.
fn is_from(version: &str, first: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(['.', '-'])
            .map_while(|part| part.parse().ok())
            .collect()
    };
    numbers(version) >= numbers(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        for (version, first) in [
            ("4.0.1", "4.0"),
            ("4.10.0", "4.9"),
            ("4.0", "4.0"),
            ("10.0", "4.1"),
        ] {
            assert!(is_from(version, first), "{version} {first}");
        }
        for (version, first) in [("3.9.2", "4.0"), ("4.0.1", "4.1"), ("", "4.0")] {
            assert!(!is_from(version, first), "{version} {first}");
        }
    }

    #[test]
    fn an_old_version_does_not_know_a_new_feature() {
        let elr = "eligible.leader.replicas.version";
        let kafka = |version| System::apache_kafka(version, BTreeMap::new());
        assert_eq!(kafka("3.9.2").highest_level(elr), 0);
        assert_eq!(kafka("4.0.1").highest_level(elr), 1);
        assert_eq!(System::reference().highest_level(elr), 1);
    }
}
