//! Having Maven fetch one version's jars, with what they need, into the cache: once, whoever else asks for it meanwhile.

use super::cache::{refused, turn};
use super::child::Child;
use super::{Absent, Source, version_in};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a fetch may take: 45 MB in 60 files, on a slow line.
pub const FETCH_LIMIT: Duration = Duration::from_secs(300);

/// The Scala version of the server's artifact, the only one that Kafka 4 is built for.
const SCALA: &str = "2.13";
/// What writes the server's log in Kafka 3, and in Kafka 4; both bring the interface only (slf4j 1.7).
const LOG_OF_3: (&str, &str, &str) = ("org.slf4j", "slf4j-reload4j", "1.7.36");
const LOG_OF_4: (&str, &str, &str) = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4");
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
/// The first lines of Maven's complaint that an error repeats.
const TOLD_LINES: usize = 5;

/// The folder of a version's jars in the cache, which Maven fills where it is not there. The version's name must have
/// been looked at: it stands in a path and in XML.
pub fn fetched(
    maven: &dyn Fn() -> Command,
    version: &str,
    cache: &Path,
) -> Result<(PathBuf, Source), Absent> {
    let began = Instant::now();
    let (home, libs) = (home(version, cache), libs(version, cache));
    if libs.is_dir() {
        return Ok((libs, Source::Cache));
    }
    let turn = turn(cache, FETCH_LIMIT).map_err(|why| {
        why.unwrap_or_else(|| {
            failed(
                version,
                format!("another process has been at it for {FETCH_LIMIT:?}"),
            )
        })
    })?;
    // Whoever had the turn before may have fetched it.
    if libs.is_dir() {
        return Ok((libs, Source::Cache));
    }
    let work = cache.join(format!("kafka-{version}.part"));
    empty(&work).map_err(|why| refused(&work, &why))?;
    let made = fill(
        maven(),
        version,
        &work,
        FETCH_LIMIT.saturating_sub(began.elapsed()),
    );
    let moved = made.and_then(|()| {
        turn.hand_over(&work);
        // A folder without jars would be in its place's way.
        let emptied = gone(fs::remove_dir_all(&home));
        emptied
            .and_then(|()| fs::rename(&work, &home))
            .map_err(|why| refused(&home, &why))
    });
    if moved.is_err() {
        // It is made again by whoever asks next; the reason is the first error's.
        let _ = fs::remove_dir_all(&work);
    }
    moved.map(|()| (libs, Source::Maven))
}

/// A version's folder in the cache: a Kafka folder as good as any.
fn home(version: &str, cache: &Path) -> PathBuf {
    cache.join(format!("kafka-{version}"))
}

/// The folder of its jars, whether they are there or not.
pub fn libs(version: &str, cache: &Path) -> PathBuf {
    home(version, cache).join("libs")
}

/// Has Maven copy the jars into `work/libs`, and nothing else be there.
fn fill(maven: Command, version: &str, work: &Path, limit: Duration) -> Result<(), Absent> {
    let (pom, said) = (work.join("pom.xml"), work.join("maven.out"));
    fs::write(&pom, pom_of(version)).map_err(|why| refused(&pom, &why))?;
    run_maven(maven, version, work, &said, limit)?;
    if version_in(&work.join("libs")).is_none() {
        return Err(failed(version, "it succeeded, and copied no jar".into()));
    }
    for file in [pom, said] {
        fs::remove_file(&file).map_err(|why| refused(&file, &why))?;
    }
    Ok(())
}

fn empty(folder: &Path) -> io::Result<()> {
    gone(fs::remove_dir_all(folder))?;
    fs::create_dir(folder)
}

/// What was not there is gone too.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|why| match why.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(why),
    })
}

fn failed(version: &str, why: String) -> Absent {
    Absent::Fetch {
        version: version.to_owned(),
        why,
    }
}

fn run_maven(
    mut maven: Command,
    version: &str,
    work: &Path,
    said: &Path,
    limit: Duration,
) -> Result<(), Absent> {
    maven
        .args(["--batch-mode", "--quiet", "dependency:copy-dependencies"])
        .args(["-DincludeScope=runtime", "-DoutputDirectory=libs"])
        .current_dir(work);
    let child = Child::start(maven, Some(said)).map_err(|why| Absent::Maven {
        version: version.to_owned(),
        why: format!("mvn cannot be run: {why}"),
    })?;
    let (status, said) = child.end(limit).map_err(|why| failed(version, why.to_string()))?;
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(version, format!("{status}: {}", complaint(&said)))),
        None => Err(failed(version, format!("it did not end within {limit:?}"))),
    }
}

fn complaint(said: &str) -> String {
    let errors = said.lines().filter(|line| line.contains("ERROR"));
    errors.take(TOLD_LINES).collect::<Vec<_>>().join(" / ")
}

/// A project that is nothing but its dependencies.
fn pom_of(version: &str) -> String {
    let exclusion = |(group, artifact): &(&str, &str)| {
        format!("<exclusion><groupId>{group}</groupId><artifactId>{artifact}</artifactId></exclusion>")
    };
    let exclusions: String = LEFT_OUT.iter().map(exclusion).collect();
    let kafka = "org.apache.kafka";
    let server = dependency((kafka, &format!("kafka_{SCALA}"), version), "");
    let tools = dependency((kafka, "kafka-tools", version), &exclusions);
    let log = dependency(
        if version.starts_with("3.") {
            LOG_OF_3
        } else {
            LOG_OF_4
        },
        "",
    );
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>ackall</groupId><artifactId>kafka-jars</artifactId><version>1</version>\
         <packaging>pom</packaging><dependencies>{server}{tools}{log}</dependencies></project>\n"
    )
}

fn dependency((group, artifact, version): (&str, &str, &str), exclusions: &str) -> String {
    format!(
        "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
         <version>{version}</version><exclusions>{exclusions}</exclusions></dependency>"
    )
}

#[cfg(test)]
mod tests {
    use super::super::child::tests::Place;
    use super::*;

    fn fetch(place: &Place, script: &str) -> Result<(PathBuf, Source), Absent> {
        fetched(&|| place.script(script), "4.8.7", &place.0.join("cache"))
    }

    /// Copies one jar, as Maven would copy many, and counts how often it was called.
    const COPIES: &str = "grep -q '<version>4.8.7</version>' pom.xml || exit 9
        echo called >> ../../calls; sleep 0.2; mkdir libs; touch libs/kafka-clients-4.8.7.jar";

    #[test]
    fn who_asks_at_once_gets_what_was_fetched_once() {
        let place = Place::new("once");
        std::thread::scope(|scope| {
            let askers: Vec<_> = (0..4).map(|_| scope.spawn(|| fetch(&place, COPIES))).collect();
            for asker in askers {
                let (libs, _) = asker.join().unwrap().unwrap();
                assert_eq!(version_in(&libs).as_deref(), Some("4.8.7"));
            }
        });
        assert_eq!(fs::read_to_string(place.0.join("calls")).unwrap(), "called\n");
        assert!(!place.0.join("cache/kafka-4.8.7.part").exists());
        // What is there needs no Maven.
        assert_eq!(super::super::cached(&place.0.join("cache")), ["4.8.7"]);
        assert_eq!(
            super::super::to_fetch(Some("4.8.7"), None, &place.0.join("cache")),
            None
        );
        let other = super::super::to_fetch(Some("4.8"), None, &place.0.join("cache"));
        assert_eq!(other.as_deref(), Some("4.8.0"));
        let (libs, source) = fetch(&place, "exit 1").unwrap();
        assert_eq!(
            (source, libs),
            (Source::Cache, place.0.join("cache/kafka-4.8.7/libs"))
        );
    }

    #[test]
    fn a_fetch_that_failed_leaves_nothing_and_is_made_again() {
        let place = Place::new("fails");
        let script = "echo '[ERROR] no repository'; echo noise; mkdir libs; exit 1";
        let why = fetch(&place, script).unwrap_err().to_string();
        assert!(
            why.contains("Kafka 4.8.7") && why.contains("no repository"),
            "{why}"
        );
        assert!(!why.contains("noise"), "{why}");
        let left: Vec<_> = fs::read_dir(place.0.join("cache")).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "the lock alone: {left:?}");
        // What stands in a version's place and has no jars is no version.
        fs::create_dir(place.0.join("cache/kafka-4.8.7")).unwrap();
        assert_eq!(fetch(&place, COPIES).unwrap().1, Source::Maven);
    }

    #[test]
    fn no_maven_an_empty_success_and_a_cache_that_cannot_be_written_are_told_apart() {
        let place = Place::new("none");
        assert!(
            fetch(&place, "mkdir libs")
                .unwrap_err()
                .to_string()
                .contains("copied no jar")
        );
        let cache = place.0.join("cache");
        let nowhere = fetched(&|| Command::new("/nowhere"), "4.8.7", &cache).unwrap_err();
        assert!(matches!(nowhere, Absent::Maven { .. }), "{nowhere}");
        fs::write(place.0.join("file"), "").unwrap();
        let inside_a_file = fetched(&|| place.script(COPIES), "4.8.7", &place.0.join("file")).unwrap_err();
        assert!(matches!(inside_a_file, Absent::Cache { .. }), "{inside_a_file}");
    }

    #[test]
    fn each_line_of_releases_writes_its_log_by_what_it_knows() {
        assert!(pom_of("3.9.2").contains("<artifactId>slf4j-reload4j</artifactId>"));
        assert!(pom_of("4.0.1").contains("<artifactId>log4j-slf4j-impl</artifactId>"));
    }
}
