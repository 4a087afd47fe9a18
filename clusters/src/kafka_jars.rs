//! Apache Kafka's jars: where they are, and having Maven fetch them where they are not.
//!
//! What it does: takes them from the folder that `ACKALL_KAFKA_HOME` names, else has `mvn` copy one pinned version
//! with what it needs into a cache, once, whoever else asks for it meanwhile; and makes the command that runs a
//! class of them. What it does not: name a repository (Maven's own settings do), unpack distributions, run anything
//! but Maven and `java -version`.
//!
//! Invariants:
//! 1. A version's folder in the cache is whole or not there: it is filled beside, and renamed.
//! 2. It ends: Maven and the wait for another who fetches are bounded by [`FETCH_LIMIT`].
//! 3. Where there are no jars, [`Absent`] says why, and nothing was left but what can be fetched again.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The version that is fetched where none is asked for.
pub const VERSION: &str = "4.3.1";
/// Names a folder with `libs/*.jar`, as Kafka's own distribution has it.
pub const HOME: &str = "ACKALL_KAFKA_HOME";
/// How long a fetch may take: 45 MB in 50 files, on a slow line.
pub const FETCH_LIMIT: Duration = Duration::from_secs(300);

/// The Scala version of the server's artifact, the only one that Kafka 4 is built for.
const SCALA: &str = "2.13";
/// The logging backend, fit for the slf4j 1.7 of Kafka 4, which itself brings the interface only.
const LOG4J: &str = "2.25.4";
/// What the command-line classes drag in and nobody here runs: the Connect workers and their web server.
const LEFT_OUT: [(&str, &str); 7] = [
    ("org.apache.kafka", "connect-api"),
    ("org.apache.kafka", "connect-json"),
    ("org.apache.kafka", "connect-runtime"),
    ("org.apache.kafka", "connect-transforms"),
    ("org.eclipse.jetty", "*"),
    ("org.eclipse.jetty.ee10", "*"),
    ("org.glassfish.jersey.containers", "*"),
];
/// How often a child, or a lock, is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The last lines of Maven's output that an error repeats.
const TOLD_LINES: usize = 5;

/// The jars, and the Java that runs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaJars {
    libs: PathBuf,
    java: PathBuf,
    version: String,
    source: Source,
}

/// Where jars came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The folder that [`HOME`] names.
    Home,
    /// Maven, now or before.
    Maven,
}

/// Why there are no jars.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absent {
    /// No Java.
    #[error("java cannot be run ({0}); install Java 17 or later, or set JAVA_HOME")]
    Java(String),
    /// The folder that was named holds none.
    #[error("{HOME} names {}, which has no libs/kafka-clients-*.jar; name a Kafka folder, or unset it", .0.display())]
    Home(PathBuf),
    /// No Maven.
    #[error("mvn cannot be run ({0}), and {HOME} is not set; install either Maven or Kafka")]
    Maven(String),
    /// Maven gave none.
    #[error("mvn cannot fetch Kafka {version}: {why}; is there a repository in reach? Else set {HOME}")]
    Fetch {
        /// The version.
        version: String,
        /// What Maven said.
        why: String,
    },
    /// The cache cannot be written.
    #[error("the cache {} cannot be written: {why}; free the disk, or name another folder", .path.display())]
    Cache {
        /// The cache.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

/// Finds the jars: those of [`HOME`], else `version` in `cache`, fetched there if need be.
///
/// # Errors
/// Where there are none, and why.
pub fn find(version: &str, cache: &Path) -> Result<KafkaJars, Absent> {
    let java = java()?;
    if let Some(home) = std::env::var_os(HOME).filter(|home| !home.is_empty()) {
        return at_home(Path::new(&home), java);
    }
    let libs = fetched(&|| Command::new("mvn"), version, cache)?;
    Ok(KafkaJars {
        libs,
        java,
        version: version.to_owned(),
        source: Source::Maven,
    })
}

impl KafkaJars {
    /// A command that runs Java on the jars; class and arguments are to be added.
    pub fn java(&self, heap_mib: u32) -> Command {
        let mut command = Command::new(&self.java);
        command
            // Short-lived: the first compiler and the simplest collector start fastest, and take one core.
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"])
            .arg(format!("-Xmx{heap_mib}m"))
            .arg("-cp")
            .arg(self.libs.join("*"));
        command
    }

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
}

fn java() -> Result<PathBuf, Absent> {
    let of_home = |home: std::ffi::OsString| Path::new(&home).join("bin").join("java");
    let java = std::env::var_os("JAVA_HOME").map_or_else(|| "java".into(), of_home);
    let tried = Command::new(&java)
        .arg("-version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match tried {
        Ok(status) if status.success() => Ok(java),
        Ok(status) => Err(Absent::Java(format!("{} -version: {status}", java.display()))),
        Err(why) => Err(Absent::Java(format!("{}: {why}", java.display()))),
    }
}

fn at_home(home: &Path, java: PathBuf) -> Result<KafkaJars, Absent> {
    let libs = home.join("libs");
    let version = version_in(&libs).ok_or_else(|| Absent::Home(home.to_owned()))?;
    Ok(KafkaJars {
        libs,
        java,
        version,
        source: Source::Home,
    })
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

/// The folder of a version's jars in the cache, which Maven fills where it is not there.
fn fetched(maven: &dyn Fn() -> Command, version: &str, cache: &Path) -> Result<PathBuf, Absent> {
    // The name stands in a path and in XML.
    if version.is_empty()
        || !version
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
    {
        return Err(failed(version, "that is no version".into()));
    }
    let began = Instant::now();
    let refused = |why: io::Error| Absent::Cache {
        path: cache.to_owned(),
        why: why.to_string(),
    };
    let libs = cache.join(format!("kafka-{version}"));
    if libs.is_dir() {
        return Ok(libs);
    }
    fs::create_dir_all(cache).map_err(refused)?;
    let lock = File::create(cache.join("lock")).map_err(refused)?;
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if began.elapsed() < FETCH_LIMIT => std::thread::sleep(LOOK_EVERY),
            Err(TryLockError::WouldBlock) => {
                let why = format!("another process has been fetching for {FETCH_LIMIT:?}");
                return Err(failed(version, why));
            }
            Err(TryLockError::Error(why)) => return Err(refused(why)),
        }
    }
    // Whoever held the lock may have fetched it.
    if libs.is_dir() {
        return Ok(libs);
    }
    let work = cache.join(format!("kafka-{version}.part"));
    match fs::remove_dir_all(&work) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(refused(why)),
        _ => {}
    }
    fs::create_dir(&work).map_err(refused)?;
    fs::write(work.join("pom.xml"), pom(version)).map_err(refused)?;
    run_maven(
        maven(),
        version,
        &work,
        FETCH_LIMIT.saturating_sub(began.elapsed()),
    )?;
    if version_in(&work.join("libs")).is_none() {
        return Err(failed(version, "it succeeded, and copied no jar".into()));
    }
    fs::rename(work.join("libs"), &libs).map_err(refused)?;
    fs::remove_dir_all(&work).map_err(refused)?;
    Ok(libs)
}

fn failed(version: &str, why: String) -> Absent {
    Absent::Fetch {
        version: version.to_owned(),
        why,
    }
}

fn run_maven(mut maven: Command, version: &str, work: &Path, limit: Duration) -> Result<(), Absent> {
    let said = work.join("maven.out");
    let refused = |why: io::Error| Absent::Cache {
        path: work.to_owned(),
        why: why.to_string(),
    };
    let out = File::create(&said).map_err(refused)?;
    let err = out.try_clone().map_err(refused)?;
    let mut child = maven
        .args(["--batch-mode", "--quiet", "dependency:copy-dependencies"])
        .args(["-DincludeScope=runtime", "-DoutputDirectory=libs"])
        .current_dir(work)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(|why| Absent::Maven(why.to_string()))?;
    let ended = wait(&mut child, limit).map_err(refused)?;
    match ended {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(version, format!("{status}: {}", last_lines(&said)))),
        None => Err(failed(version, format!("it did not end within {limit:?}"))),
    }
}

/// Waits for a child's end; past the limit it is killed, and there is none.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn last_lines(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).collect();
    errors[..errors.len().min(TOLD_LINES)].join(" / ")
}

/// A project that is nothing but its dependencies.
fn pom(version: &str) -> String {
    let exclusion = |(group, artifact): &(&str, &str)| {
        format!("<exclusion><groupId>{group}</groupId><artifactId>{artifact}</artifactId></exclusion>")
    };
    let exclusions: String = LEFT_OUT.iter().map(exclusion).collect();
    let kafka = "org.apache.kafka";
    let server = dependency(kafka, &format!("kafka_{SCALA}"), version, "");
    let tools = dependency(kafka, "kafka-tools", version, &exclusions);
    let log = dependency("org.apache.logging.log4j", "log4j-slf4j-impl", LOG4J, "");
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>ackall</groupId><artifactId>kafka-jars</artifactId><version>1</version>\
         <packaging>pom</packaging><dependencies>{server}{tools}{log}</dependencies></project>\n"
    )
}

fn dependency(group: &str, artifact: &str, version: &str, exclusions: &str) -> String {
    format!(
        "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
         <version>{version}</version><exclusions>{exclusions}</exclusions></dependency>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a `mvn` of a test's own, and a cache.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str, script: &str) -> Place {
            let path = std::env::temp_dir().join(format!("ackall-jars-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("mvn"), script).unwrap();
            Place(path)
        }
        /// Its script, run by a shell: a file just written cannot always be executed, while others fork.
        fn maven(&self) -> Command {
            let mut command = Command::new("/bin/sh");
            command.arg(self.0.join("mvn"));
            command
        }
        fn fetch(&self) -> Result<PathBuf, Absent> {
            fetched(&|| self.maven(), "9.8.7", &self.0.join("cache"))
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Copies one jar, as Maven would copy many, and counts how often it was called.
    const COPIES: &str = "grep -q '<version>9.8.7</version>' pom.xml || exit 9\n\
                          echo called >> ../../calls; sleep 0.2; mkdir libs; touch libs/kafka-clients-9.8.7.jar";

    #[test]
    fn who_asks_at_once_gets_what_was_fetched_once() {
        let place = Place::new("once", COPIES);
        std::thread::scope(|scope| {
            let askers: Vec<_> = (0..4).map(|_| scope.spawn(|| place.fetch())).collect();
            for asker in askers {
                let libs = asker.join().unwrap().unwrap();
                assert_eq!(version_in(&libs).as_deref(), Some("9.8.7"));
            }
        });
        assert_eq!(fs::read_to_string(place.0.join("calls")).unwrap(), "called\n");
        assert!(!place.0.join("cache/kafka-9.8.7.part").exists());
    }

    #[test]
    fn a_fetch_that_failed_leaves_no_version_and_is_made_again() {
        let place = Place::new("fails", "echo '[ERROR] no repository'; mkdir libs; exit 1");
        let why = place.fetch().unwrap_err().to_string();
        assert!(
            why.contains("Kafka 9.8.7") && why.contains("no repository"),
            "{why}"
        );
        assert!(!place.0.join("cache/kafka-9.8.7").exists());
        fs::write(place.0.join("mvn"), COPIES).unwrap();
        place.fetch().unwrap();
    }

    #[test]
    fn no_maven_an_empty_success_and_no_version_are_told_apart() {
        let place = Place::new("none", "mkdir libs");
        let cache = place.0.join("cache");
        assert!(place.fetch().unwrap_err().to_string().contains("copied no jar"));
        let nowhere = fetched(&|| Command::new("/nowhere"), "9.8.7", &cache).unwrap_err();
        assert!(matches!(nowhere, Absent::Maven(_)), "{nowhere}");
        for version in ["", "../up", "1<2"] {
            let why = fetched(&|| place.maven(), version, &cache).unwrap_err();
            assert!(why.to_string().contains("no version"), "{why}");
        }
        fs::write(place.0.join("file"), "").unwrap();
        let inside_a_file = fetched(&|| place.maven(), "9.8.7", &place.0.join("file")).unwrap_err();
        assert!(matches!(inside_a_file, Absent::Cache { .. }), "{inside_a_file}");
    }

    #[test]
    fn a_home_is_known_by_its_jars() {
        let place = Place::new("home", "");
        let refused = at_home(&place.0, "java".into()).unwrap_err();
        assert!(matches!(refused, Absent::Home(_)), "{refused}");
        fs::create_dir(place.0.join("libs")).unwrap();
        fs::write(place.0.join("libs/kafka-clients-4.1.2.jar"), "").unwrap();
        fs::write(place.0.join("libs/kafka-clients-x.jar"), "").unwrap();
        let found = at_home(&place.0, "java".into()).unwrap();
        assert_eq!((found.version(), found.source()), ("4.1.2", Source::Home));
        let command = found.java(128);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        assert!(args.contains(&"-Xmx128m".into()));
        assert!(args.last().unwrap().ends_with("libs/*"));
    }

    #[test]
    fn a_child_that_does_not_end_is_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(wait(&mut child, Duration::from_millis(60)).unwrap().is_none());
        assert!(child.try_wait().unwrap().is_some());
    }
}
