//! What a system needs on this machine: its programs, and the paths among its words.

use super::System;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// This executable.
const OURSELVES: &str = "{self}";

/// Something that a system names, and this machine has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The key that names it: `format.argv`.
    pub field: String,
    /// What is not there.
    pub what: PathBuf,
    /// Why not.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.what.display(), self.field, self.why)
    }
}

impl System {
    /// The first thing that this system names and this machine has not.
    pub fn absent(&self) -> Option<Absent> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        self.absent_path().or_else(|| self.absent_program(&folders))
    }

    /// Its commands that have a program, by the keys that they are under.
    pub(crate) fn commands(&self) -> Vec<(&'static [&'static str], &[String])> {
        let mut commands: Vec<(&'static [&'static str], &[String])> = vec![
            (&["start"], &self.start),
            (&["format", "argv"], &self.format.argv),
        ];
        if let Some(properties) = &self.properties {
            commands.push((&["properties", "argv"], &properties.argv));
        }
        if let Some(bugs) = &self.bugs {
            commands.push((&["bugs", "names"], &bugs.names));
        }
        commands
    }

    /// Arguments that stand for a word of a command.
    pub(crate) fn argument_lists(&self) -> Vec<(&'static [&'static str], &[String])> {
        let format = &self.format;
        let mut lists: Vec<(&'static [&'static str], &[String])> = vec![
            (&["format", "feature"], &format.feature),
            (&["format", "first"], &format.first),
            (&["format", "joins"], &format.joins),
        ];
        lists.extend(
            self.bugs
                .iter()
                .map(|bugs| (&["bugs", "argv"] as _, bugs.argv.as_slice())),
        );
        lists
    }

    fn absent_program(&self, folders: &[PathBuf]) -> Option<Absent> {
        self.commands().into_iter().find_map(|(keys, argv)| {
            let program = self.own_words(argv.first()?);
            let why = (program != OURSELVES)
                .then(|| why_not(&program, folders))
                .flatten()?;
            Some(Absent {
                field: keys.join("."),
                what: program.into(),
                why,
                remedy: "install it, or name it by its whole path".into(),
            })
        })
    }

    /// A word that is a path leads somewhere: a node sees this machine's files.
    fn absent_path(&self) -> Option<Absent> {
        let mut paths = self
            .variables
            .iter()
            .map(|(word, value)| (word, Path::new(value)));
        let (word, path) = paths.find(|(_, path)| path.is_absolute() && !path.exists())?;
        Some(Absent {
            field: format!("variables.{word}"),
            what: path.to_owned(),
            why: "there is no such file or folder".into(),
            remedy: format!("name in [variables] where {word} is on this machine"),
        })
    }
}

/// Why a program cannot be run, if so.
fn why_not(program: &str, folders: &[PathBuf]) -> Option<String> {
    let is_program = |path: &Path| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let path = Path::new(program);
    if !program.contains('/') {
        let found = folders.iter().any(|folder| is_program(&folder.join(program)));
        return (!found).then(|| "no folder of PATH has such a program".to_owned());
    }
    if is_program(path) {
        return None;
    }
    Some(match path.exists() {
        true => "it is no file that can be executed".into(),
        false => "there is no such file".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent(program: &str) -> Option<Absent> {
        System::of_commands("s", &["{self}"], &[program], 1).absent()
    }

    #[test]
    fn programs_are_looked_up_as_they_will_be() {
        assert_eq!(absent("{self}"), None);
        assert_eq!(absent("sh"), None);
        assert_eq!(absent("/bin/sh"), None);
        for (program, says) in [
            ("no-such-program", "PATH"),
            ("/no/such/program", "no such file"),
            ("/etc/passwd", "executed"),
            ("/etc", "executed"),
        ] {
            let absent = absent(program).unwrap();
            assert!(absent.why.contains(says), "{absent}");
            assert_eq!(absent.field, "start");
        }
    }

    #[test]
    fn a_word_that_is_a_path_leads_somewhere() {
        let mut system = System::of_commands("s", &["{self}"], &["{java}"], 1);
        system.variables = [("java", "sh"), ("libs", "/no/such/folder")]
            .map(|(word, value)| (word.to_owned(), value.to_owned()))
            .into();
        assert_eq!(system.absent().unwrap().field, "variables.libs");
        system.variables.insert("libs".into(), "/bin".into());
        assert_eq!(system.absent(), None);
        system.variables.insert("java".into(), "no-such-java".into());
        assert_eq!(system.absent().unwrap().what, Path::new("no-such-java"));
    }
}
