//! The Java that runs Kafka: where it is, and which.

use super::Absent;
use super::child::Child;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The oldest that Kafka 4's servers run on.
const OLDEST: u32 = 17;
/// How long it may take to say its version: a tenth of a second, on a machine with nothing else to do.
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// A Java, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Java {
    path: PathBuf,
    home: PathBuf,
    /// Its version, its builder and its build: archives of classes are good for the very same only.
    build: String,
}

impl Java {
    /// The one of `JAVA_HOME`, else the one that the search path leads to.
    ///
    /// # Errors
    /// Where it cannot be run, or is too old.
    pub fn find() -> Result<Java, Absent> {
        let of_home = |home: std::ffi::OsString| Path::new(&home).join("bin").join("java");
        let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
        let path = home.map_or_else(|| "java".into(), of_home);
        Java::ask(Command::new(&path), &path)
    }

    /// Asks one who it is; the command is `path`, as far as anybody but a test can tell.
    fn ask(mut command: Command, path: &Path) -> Result<Java, Absent> {
        let refused = |why: String| Absent::Java(format!("{}: {why}", path.display()));
        command.args(["-XshowSettings:properties", "-version"]);
        let child = Child::start(command, None).map_err(|why| refused(why.to_string()))?;
        let (status, said) = child.end(ASK_LIMIT).map_err(|why| refused(why.to_string()))?;
        match status {
            None => {
                return Err(refused(format!(
                    "it did not say its version within {ASK_LIMIT:?}"
                )));
            }
            Some(status) if !status.success() => return Err(refused(format!("-version: {status}"))),
            Some(_) => {}
        }
        let property = |name: &str| property(&said, name);
        let version = property("java.specification.version").unwrap_or_default();
        match version.trim_start_matches("1.").parse::<u32>() {
            Ok(number) if number >= OLDEST => {}
            Ok(number) => return Err(refused(format!("it is Java {number}"))),
            Err(_) => return Err(refused("it does not say which Java it is".into())),
        }
        let home = PathBuf::from(property("java.home").unwrap_or_default());
        // A node runs with another search path, if any.
        let found = home.join("bin").join("java");
        Ok(Java {
            path: if found.is_absolute() && found.is_file() {
                found
            } else {
                path.to_owned()
            },
            home,
            build: ["java.vendor", "java.vm.name", "java.vm.version", "os.arch"]
                .map(|name| property(name).unwrap_or_default())
                .join(" "),
        })
    }

    /// The executable.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version, its builder and its build, in words.
    pub fn build(&self) -> &str {
        &self.build
    }

    /// The archive of its own classes, which it takes where none is named.
    pub fn own_archive(&self) -> PathBuf {
        self.home.join("lib").join("server").join("classes.jsa")
    }
}

/// A property, as `-XshowSettings` prints it.
fn property(said: &str, name: &str) -> Option<String> {
    said.lines().find_map(|line| {
        let value = line.trim().strip_prefix(name)?.trim_start().strip_prefix('=')?;
        Some(value.trim().to_owned())
    })
}

#[cfg(test)]
impl Java {
    /// One that nobody runs.
    pub fn of_test(home: &str, build: &str) -> Java {
        Java {
            path: Path::new(home).join("bin/java"),
            home: home.into(),
            build: build.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::child::tests::Place;
    use super::*;

    fn says(name: &str, script: &str) -> Result<Java, Absent> {
        let place = Place::new(name);
        Java::ask(place.script(script), Path::new("java"))
    }

    #[test]
    fn a_java_says_who_it_is() {
        let script = "echo '    java.home = /opt/j' >&2; echo '    java.specification.version = 21' >&2
            echo '    java.vm.version = 21+35' >&2; echo '    java.vm.version.date = x' >&2";
        let java = says("java", script).unwrap();
        assert_eq!(java.own_archive(), Path::new("/opt/j/lib/server/classes.jsa"));
        assert!(java.build().contains("21+35"), "{java:?}");
    }

    #[test]
    fn none_one_that_fails_and_one_that_is_too_old_are_told_apart() {
        let nowhere = Java::ask(Command::new("/nowhere/java"), Path::new("/nowhere/java")).unwrap_err();
        assert!(nowhere.to_string().contains("/nowhere/java"), "{nowhere}");
        let failed = says("java-fails", "exit 7").unwrap_err();
        assert!(failed.to_string().contains("7"), "{failed}");
        let old = says("java-old", "echo 'java.specification.version = 1.8'").unwrap_err();
        assert!(old.to_string().contains("Java 8"), "{old}");
        let mute = says("java-mute", "true").unwrap_err();
        assert!(mute.to_string().contains("which Java"), "{mute}");
    }
}
