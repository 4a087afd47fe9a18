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

/// Apache Kafka's jars: those of a folder that was named, or of a version that Maven has. What takes long is told.
///
/// # Errors
/// 69, where there are none, and why.
pub fn jars(version: Option<&str>, home: Option<&Path>) -> Result<KafkaJars, Error> {
    let cache = kafka::cache().map_err(lacking)?;
    if let Some(release) = kafka::to_fetch(version, home, &cache) {
        progress(format_args!("fetching Apache Kafka {release} with mvn"));
    }
    kafka::find(version, home, &cache).map_err(lacking)
}

/// Has the jars' archive of classes made, where there is none, before they are started. A slow start is a start: that
/// there is none is told, and no error.
///
/// # Errors
/// 69, where there is no place for a cache.
pub fn train(jars: &mut KafkaJars, retry: Retry) -> Result<(), Error> {
    if jars.archive().is_some() {
        return Ok(());
    }
    let (cache, version) = (kafka::cache().map_err(lacking)?, jars.version());
    progress(format_args!(
        "starting Apache Kafka {version} once, for an archive of its classes"
    ));
    if let Err(slow) = jars.train(&cache, retry) {
        warn(format_args!("{slow}"));
    }
    Ok(())
}

fn fetch(version: Option<&str>, json: bool) -> Result<Status, Error> {
    let mut jars = jars(version, None)?;
    train(&mut jars, Retry::Now)?;
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
            })
        );
        return Ok(Status::Pass);
    }
    let when = if fetched { "now" } else { "before" };
    say!("Apache Kafka {}: fetched {when}", jars.version());
    say!("  jars     {}", jars.libs().display());
    if let Some(archive) = jars.archive() {
        say!("  archive  {}", archive.display());
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
