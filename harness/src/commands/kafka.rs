//! `ackall kafka`: Apache Kafka's jars in the cache, and the archive of classes with which they start fast.

use crate::cli::KafkaArgs;
use crate::error::{Error, Status};
use clusters::kafka::{self, KafkaJars, Retry, Source};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Does what is asked.
pub fn kafka(asked: &KafkaArgs) -> Result<Status, Error> {
    match asked {
        KafkaArgs::Fetch { version, json } => fetch(version.as_deref(), *json),
    }
}

/// Apache Kafka's jars with their archive, for a cluster: those of a folder that was named, or of a version that
/// Maven has. What takes long is told.
pub fn jars(version: Option<&str>, home: Option<&Path>) -> Result<KafkaJars, Error> {
    Ok(ready(version, home, Retry::Never)?.jars)
}

struct Ready {
    jars: KafkaJars,
    /// Whether the archive was made just now; none where there is none.
    trained: Option<bool>,
}

fn ready(version: Option<&str>, home: Option<&Path>, retry: Retry) -> Result<Ready, Error> {
    let cache = kafka::cache().map_err(lacking)?;
    if let Some(release) = kafka::to_fetch(version, home, &cache) {
        progress(format_args!(
            "fetching Apache Kafka {release} with mvn into {}",
            cache.display()
        ));
    }
    let mut jars = kafka::find(version, home, &cache).map_err(lacking)?;
    if jars.archive().is_some() {
        return Ok(Ready {
            jars,
            trained: Some(false),
        });
    }
    progress(format_args!(
        "starting Apache Kafka {} once, for an archive of its classes",
        jars.version()
    ));
    let trained = match jars.train(&cache, retry) {
        Ok(()) => Some(true),
        Err(slow) => {
            warn(format_args!("{slow}"));
            None
        }
    };
    Ok(Ready { jars, trained })
}

fn fetch(version: Option<&str>, json: bool) -> Result<Status, Error> {
    let Ready { jars, trained } = ready(version, None, Retry::Now)?;
    let fetched = jars.source() == Source::Maven;
    if json {
        say!(
            "{}",
            json!({
                "version": jars.version(),
                "libs": jars.libs(),
                "java": jars.java(),
                "archive": jars.archive(),
                "fetched": fetched,
                "trained": trained == Some(true),
            })
        );
        return Ok(Status::Pass);
    }
    let when = |now: bool| if now { "now" } else { "before" };
    say!("Apache Kafka {}: fetched {}", jars.version(), when(fetched));
    say!("  jars     {}", jars.libs().display());
    if let (Some(archive), Some(now)) = (jars.archive(), trained) {
        say!("  archive  {} (made {})", archive.display(), when(now));
    }
    say!("  run it   ackall run --system apache-kafka:{}", jars.version());
    Ok(Status::Pass)
}

fn lacking(absent: kafka::Absent) -> Error {
    Error::new(Status::Unavailable, absent.what(), absent.why(), absent.next())
}

/// A line for whoever waits at a terminal.
fn progress(text: std::fmt::Arguments<'_>) {
    if std::io::stderr().is_terminal() {
        warn(text);
    }
}

/// A line for whoever reads; where nobody can all goes on.
fn warn(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
