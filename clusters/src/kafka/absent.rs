//! Why there are no jars: what was tried, why it failed, what to do next.

use super::{CACHE, HOME, TRIED};
use std::fmt;
use std::path::PathBuf;

/// Why there are no jars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// No Java, or one that is too old: why.
    Java(String),
    /// A version that is none, or none that can be run here.
    Unsupported(String),
    /// The folder that was named holds none.
    Home(PathBuf),
    /// The folder that was named holds another version than the one asked for.
    OtherVersion {
        /// The folder.
        home: PathBuf,
        /// What it holds.
        has: String,
        /// What was asked for.
        asked: String,
    },
    /// No Maven.
    Maven {
        /// The version.
        version: String,
        /// Why it cannot be run.
        why: String,
    },
    /// Maven gave none.
    Fetch {
        /// The version.
        version: String,
        /// What Maven said.
        why: String,
    },
    /// The cache cannot be written.
    Cache {
        /// The cache.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// No folder to keep a cache in.
    NoCache,
}

impl Absent {
    /// What was tried, and on what.
    pub fn what(&self) -> String {
        match self {
            Absent::Java(_) => "running Java, for Apache Kafka".into(),
            Absent::Unsupported(version) => format!("finding Apache Kafka {version}"),
            Absent::Home(home) => format!("taking Apache Kafka from {}", home.display()),
            Absent::OtherVersion { home, asked, .. } => {
                format!("taking Apache Kafka {asked} from {}", home.display())
            }
            Absent::Maven { version, .. } | Absent::Fetch { version, .. } => {
                format!("fetching the jars of Apache Kafka {version} with mvn")
            }
            Absent::Cache { path, .. } => format!("keeping Apache Kafka's jars in {}", path.display()),
            Absent::NoCache => "finding the folder for Apache Kafka's jars".into(),
        }
    }

    /// Why it failed.
    pub fn why(&self) -> String {
        match self {
            Absent::Java(why)
            | Absent::Maven { why, .. }
            | Absent::Fetch { why, .. }
            | Absent::Cache { why, .. } => why.clone(),
            Absent::Unsupported(_) => "only the releases 3.9 to 4.x are supported".into(),
            Absent::Home(_) => "it has no libs/kafka-clients-VERSION.jar".into(),
            Absent::OtherVersion { has, .. } => format!("it holds {has}"),
            Absent::NoCache => format!("none of {CACHE}, XDG_CACHE_HOME and HOME is set"),
        }
    }

    /// What to do next.
    pub fn next(&self) -> String {
        match self {
            Absent::Java(_) => "install Java 17 or later (openjdk-17-jre-headless), or set JAVA_HOME".into(),
            Absent::Unsupported(_) => format!("name one of {}", TRIED.join(", ")),
            Absent::Home(_) => {
                format!("name an unpacked Kafka (--kafka-home, {HOME}), or none: mvn fetches it")
            }
            Absent::OtherVersion { has, .. } => {
                format!("ask for {has}, or name another folder (--kafka-home, {HOME})")
            }
            Absent::Maven { .. } => format!("install Maven, or unpack a Kafka and name its folder in {HOME}"),
            Absent::Fetch { .. } => format!(
                "see that mvn reaches a repository (its settings name one), or unpack a Kafka and name its folder in {HOME}"
            ),
            Absent::Cache { .. } => format!("free the disk, or name another folder in {CACHE}"),
            Absent::NoCache => format!("{CACHE}=FOLDER"),
        }
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what(), self.why(), self.next())
    }
}

impl std::error::Error for Absent {}
