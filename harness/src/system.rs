//! Which system is under test: `--system`, made a description.

use crate::cli::SystemArgs;
use crate::commands;
use crate::error::{Error, Status, nearest};
use clusters::kafka::{KafkaJars, Retry};
use clusters::{BUILT_IN, System};
use std::path::Path;

/// The reference cluster's name in [`BUILT_IN`].
pub const REFERENCE: &str = "reference";
/// Apache Kafka's, without or with `:VERSION`.
const APACHE_KAFKA: &str = "apache-kafka";

/// A system that was found.
pub struct Found {
    /// Its description.
    pub system: System,
    /// What it runs on, where it is Apache Kafka.
    jars: Option<KafkaJars>,
}

impl Found {
    /// The system, to be started now that nothing else stands against it: what makes its start fast is made, where it
    /// is not there.
    ///
    /// # Errors
    /// 69, where there is no place for that.
    pub fn hastened(self) -> Result<System, Error> {
        let Some(mut jars) = self.jars else {
            return Ok(self.system);
        };
        commands::kafka::train(&mut jars, Retry::Never)?;
        Ok(System::apache_kafka(jars.version(), jars.variables()))
    }
}

/// The system that is asked for.
///
/// # Errors
/// Usage, where there is none of that name, or its file has a mistake; 69, where it cannot be had here.
pub fn find(args: &SystemArgs) -> Result<Found, Error> {
    let asked = args.system.as_str();
    if let Some(version) = kafka_version(asked) {
        let jars = commands::kafka::jars(version, args.kafka_home.as_deref())?;
        return Ok(Found {
            system: System::apache_kafka(jars.version(), jars.variables()),
            jars: Some(jars),
        });
    }
    let system = match asked {
        REFERENCE => System::reference(),
        file if file.ends_with(".toml") => of_file(Path::new(file))?,
        _ => {
            return Err(unknown(
                asked,
                "--system reference, apache-kafka, apache-kafka:VERSION, or a file FILE.toml",
            ));
        }
    };
    Ok(Found { system, jars: None })
}

/// Whether it is Apache Kafka that is asked for, and of which version, where one is said.
fn kafka_version(asked: &str) -> Option<Option<&str>> {
    match asked.strip_prefix(APACHE_KAFKA)? {
        "" => Some(None),
        more => more.strip_prefix(':').map(Some),
    }
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

/// A user's own.
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
