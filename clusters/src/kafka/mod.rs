//! Apache Kafka's jars, and the Java that runs them.
//!
//! What it does: takes them from a Kafka folder that was named, else from a cache that Maven fills, once a version
//! ([`find`]); and makes what starts them fast, an archive of their classes ([`KafkaJars::train`]). What it does not:
//! know how a cluster is laid out (`systems/apache-kafka.toml` does), unpack distributions, name a repository (Maven's
//! own settings do).
//!
//! Invariants:
//! 1. What is in the cache is whole or not there: it is made beside, and renamed.
//! 2. It ends: Maven, Java and the wait for another who is at it are bounded.
//! 3. Where there are no jars, [`Absent`] says what was tried, why not, and what to do.
//! 4. Without an archive all works as with one, only slower.

mod absent;
mod archive;
mod cache;
mod child;
mod java;
mod maven;
mod training;
mod versions;

pub use absent::Absent;
pub use archive::{Retry, Slow, TRAINING_LIMIT};
pub use cache::{CACHE, cache};
pub use java::Java;
pub use maven::FETCH_LIMIT;
pub use versions::{TRIED, VERSION};

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use versions::Asked;

/// Names a folder with `libs/*.jar`, as Kafka's own distribution has it.
pub const HOME: &str = "ACKALL_KAFKA_HOME";

/// The jars, and the Java that runs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaJars {
    libs: PathBuf,
    java: Java,
    version: String,
    source: Source,
    archive: Option<PathBuf>,
}

/// Where jars came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A Kafka folder that was named.
    Home,
    /// The cache.
    Cache,
    /// Maven, just now.
    Maven,
}

/// Finds the jars: those of the folder `home`, else of the version asked for ([`VERSION`] where none is) in `cache`,
/// fetched there if need be. `asked` is a release (`4.1.2`) or a line of releases (`4.1`).
///
/// # Errors
/// Where there are none, and why.
pub fn find(asked: Option<&str>, home: Option<&Path>, cache: &Path) -> Result<KafkaJars, Absent> {
    let asked = asked.map(Asked::read).transpose()?;
    let java = Java::find()?;
    let (libs, version, source) = match home.filter(|home| !home.as_os_str().is_empty()) {
        Some(home) => {
            let (libs, version) = at_home(asked.as_ref(), home)?;
            (libs, version, Source::Home)
        }
        None => {
            let version = asked.map_or_else(|| VERSION.to_owned(), |asked| asked.release());
            let (libs, source) = maven::fetched(&|| Command::new("mvn"), &version, cache)?;
            (libs, version, source)
        }
    };
    let mut jars = KafkaJars {
        libs,
        java,
        version,
        source,
        archive: None,
    };
    jars.archive = Some(jars.of().path(cache)).filter(|archive| archive.is_file());
    Ok(jars)
}

/// The release that [`find`] would fetch, where it would.
pub fn to_fetch(asked: Option<&str>, home: Option<&Path>, cache: &Path) -> Option<String> {
    if home.is_some_and(|home| !home.as_os_str().is_empty()) {
        return None;
    }
    let release = match asked {
        Some(asked) => Asked::read(asked).ok()?.release(),
        None => VERSION.to_owned(),
    };
    (!maven::libs(&release, cache).is_dir()).then_some(release)
}

/// The releases whose jars are in `cache`, in order.
pub fn cached(cache: &Path) -> Vec<String> {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut releases: Vec<String> = names
        .filter_map(|name| Some(name.strip_prefix("kafka-")?.to_owned()))
        .filter(|release| Asked::read(release).is_ok() && maven::libs(release, cache).is_dir())
        .collect();
    releases.sort();
    releases
}

impl KafkaJars {
    /// Kafka's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where they came from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The folder of jars.
    pub fn libs(&self) -> &Path {
        &self.libs
    }

    /// The Java.
    pub fn java(&self) -> &Path {
        self.java.path()
    }

    /// The archive of classes, where there is one for these jars and this Java.
    pub fn archive(&self) -> Option<&Path> {
        self.archive.as_deref()
    }

    /// Java's own archive, of its own classes.
    pub fn own_archive(&self) -> PathBuf {
        self.java.own_archive()
    }

    /// Has an archive of classes made in `cache` where there is none yet, which takes as long as a start without one
    /// takes, and once more; [`find`] has taken one that is there. Nodes of jars without one start slowly.
    ///
    /// # Errors
    /// Why there is none. It is no error of a run.
    pub fn train(&mut self, cache: &Path, retry: Retry) -> Result<(), Slow> {
        if self.archive.is_some() {
            return Ok(());
        }
        let java = || Command::new(self.java.path());
        self.archive = Some(self.of().made(&java, cache, retry, TRAINING_LIMIT)?);
        Ok(())
    }

    fn of(&self) -> archive::Of<'_> {
        archive::Of {
            version: &self.version,
            libs: &self.libs,
            java: &self.java,
        }
    }

    /// The words that a system's description may use of them: `java` (the executable), `libs` (the folder:
    /// `-cp {libs}/*`), `version`, and `archive`, which stands in `-XX:SharedArchiveFile={archive} -Xshare:auto`;
    /// where there is none it is Java's own, which Java would take without being told.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let own = self.own_archive();
        BTreeMap::from([
            ("java".into(), text(self.java())),
            ("libs".into(), text(&self.libs)),
            ("version".into(), self.version.clone()),
            ("archive".into(), text(self.archive().unwrap_or(&own))),
        ])
    }

    /// A command that runs Java on the jars; class and arguments are to be added.
    pub fn command(&self, heap_mib: u32) -> Command {
        let mut command = Command::new(self.java());
        command
            // Short-lived: the first compiler and the simplest collector start fastest, and take one core.
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"])
            .arg(format!("-Xmx{heap_mib}m"));
        if let Some(archive) = self.archive() {
            command.arg(format!("-XX:SharedArchiveFile={}", archive.display()));
        }
        command.arg("-cp").arg(self.libs.join("*"));
        command
    }
}

/// The jars of a Kafka folder, and their version, which must be the one asked for.
fn at_home(asked: Option<&Asked>, home: &Path) -> Result<(PathBuf, String), Absent> {
    // Nodes are started elsewhere than in this process's folder.
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let libs = home.join("libs");
    let Some(version) = version_in(&libs) else {
        return Err(Absent::Home(home));
    };
    Asked::read(&version)?;
    match asked {
        Some(asked) if !asked.agrees(&version) => Err(Absent::OtherVersion {
            home,
            has: version,
            asked: asked.to_string(),
        }),
        _ => Ok((libs, version)),
    }
}

/// The version of the jars in a folder, by the name of the one that all others need.
fn version_in(libs: &Path) -> Option<String> {
    fs::read_dir(libs).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix("kafka-clients-")?.strip_suffix(".jar")?;
        version
            .starts_with(|first: char| first.is_ascii_digit())
            .then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::child::tests::Place;
    use super::*;

    fn home_of(name: &str, version: &str) -> Place {
        let place = Place::new(name);
        fs::create_dir(place.0.join("libs")).unwrap();
        fs::write(place.0.join(format!("libs/kafka-clients-{version}.jar")), "").unwrap();
        place
    }

    #[test]
    fn a_home_is_known_by_its_jars() {
        let place = Place::new("home");
        let refused = at_home(None, &place.0).unwrap_err();
        assert!(matches!(refused, Absent::Home(_)), "{refused}");
        let place = home_of("home", "4.1.2");
        fs::write(place.0.join("libs/kafka-clients-x.jar"), "").unwrap();
        let (libs, version) = at_home(None, &place.0).unwrap();
        assert_eq!((libs, version.as_str()), (place.0.join("libs"), "4.1.2"));
    }

    #[test]
    fn the_version_of_a_home_is_the_one_asked_for() {
        let place = home_of("agrees", "4.1.2");
        for asked in ["4.1.2", "4.1"] {
            at_home(Some(&Asked::read(asked).unwrap()), &place.0).unwrap();
        }
        for asked in ["4.1.1", "4.2", "3.9"] {
            let why = at_home(Some(&Asked::read(asked).unwrap()), &place.0).unwrap_err();
            let text = why.to_string();
            assert!(text.contains("4.1.2") && text.contains(asked), "{text}");
        }
        let old = home_of("old", "3.8.1");
        let refused = at_home(None, &old.0).unwrap_err();
        assert!(matches!(refused, Absent::Unsupported(_)), "{refused}");
    }

    #[test]
    fn the_words_of_a_description_are_all_filled() {
        let mut jars = KafkaJars {
            libs: "/k/libs".into(),
            java: Java::of_test("/j", "17"),
            version: "4.1.2".into(),
            source: Source::Home,
            archive: None,
        };
        let words = jars.variables();
        assert_eq!(words["libs"], "/k/libs");
        assert_eq!(words["java"], "/j/bin/java");
        assert_eq!(words["version"], "4.1.2");
        assert_eq!(words["archive"], "/j/lib/server/classes.jsa");
        jars.archive = Some("/c/a.jsa".into());
        assert_eq!(jars.variables()["archive"], "/c/a.jsa");
        let command = jars.command(128);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        assert!(args.contains(&"-Xmx128m".into()));
        assert!(args.contains(&"-XX:SharedArchiveFile=/c/a.jsa".into()));
        assert_eq!(args.last().unwrap(), "/k/libs/*");
    }
}
