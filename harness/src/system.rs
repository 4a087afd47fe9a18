//! Which system is under test: `--system`, made a description.

use crate::cli::SystemArgs;
use crate::commands;
use crate::error::{Error, Status, nearest};
use clusters::kafka::Retry;
use clusters::{BUILT_IN, System};
use std::path::Path;

/// The reference cluster's name in [`BUILT_IN`].
pub const REFERENCE: &str = "reference";
/// Apache Kafka's, without or with `:VERSION`.
const APACHE_KAFKA: &str = "apache-kafka";

/// The system that is asked for.
///
/// # Errors
/// Usage, where there is none of that name, or its file has a mistake; 69, where it cannot be had here.
pub fn find(args: &SystemArgs) -> Result<System, Error> {
    let asked = args.system.as_str();
    if asked == REFERENCE {
        return Ok(System::reference());
    }
    if asked == APACHE_KAFKA {
        return apache_kafka(None, args);
    }
    if let Some(version) = asked.strip_prefix("apache-kafka:") {
        return apache_kafka(Some(version), args);
    }
    if asked.ends_with(".toml") {
        return of_file(Path::new(asked));
    }
    Err(unknown(
        asked,
        "--system reference, apache-kafka, apache-kafka:VERSION, or a file FILE.toml",
    ))
}

/// No built-in system has that name.
pub fn unknown(name: &str, next: &str) -> Error {
    let near = nearest(name, BUILT_IN.iter().map(|system| system.name));
    Error::usage(
        format!("looking for the system {name}"),
        format!("there is none of that name; the nearest are {}", near.join(", ")),
        next,
    )
}

/// A user's own.
/// What is in a file, with the line ends that templates have.
fn text_of(path: &Path) -> std::io::Result<String> {
    /// A description is some kilobytes.
    const MOST_BYTES: u64 = 1 << 20;
    // A device or a pipe may have no end; it is looked at before it is opened.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        return Err(std::io::Error::other(format!(
            "it is no file of at most {} MiB",
            MOST_BYTES >> 20
        )));
    }
    Ok(std::fs::read_to_string(path)?.replace("\r\n", "\n"))
}

fn of_file(path: &Path) -> Result<System, Error> {
    let what = format!("reading the system in {}", path.display());
    let text = text_of(path)
        .map_err(|e| Error::usage(&what, e, "name a file that describes a system: docs/systems.md"))?;
    let system = System::read(&text).map_err(|mistake| {
        Error::usage(
            format!("{what}, {}", mistake.place()),
            &mistake.why,
            format!("{} (docs/systems.md has the form)", mistake.remedy),
        )
    })?;
    match system.absent() {
        None => Ok(system),
        Some(absent) => Err(Error::new(
            Status::Unavailable,
            format!(
                "looking for {}, {} in {}",
                absent.what.display(),
                absent.field,
                path.display()
            ),
            absent.why,
            absent.remedy,
        )),
    }
}

/// Apache Kafka with its jars: those of a folder that was named, or of a version that Maven has.
fn apache_kafka(version: Option<&str>, args: &SystemArgs) -> Result<System, Error> {
    let jars = commands::kafka::jars(version, args.kafka_home.as_deref(), None)?;
    Ok(System::apache_kafka(jars.version(), jars.variables()))
}

/// To be called before a system that was found is started, when nothing else stands against it: has what makes the
/// start fast made, where it is not there.
///
/// # Errors
/// As [`find`].
pub fn hasten(args: &SystemArgs, system: &mut System) -> Result<(), Error> {
    if !args.system.starts_with(APACHE_KAFKA) || args.system.ends_with(".toml") {
        return Ok(());
    }
    let home = args.kafka_home.as_deref();
    let jars = commands::kafka::jars(Some(&system.version), home, Some(Retry::Never))?;
    system.variables.extend(jars.variables());
    Ok(())
}
