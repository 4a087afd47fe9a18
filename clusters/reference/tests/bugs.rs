//! With no bug named, none can happen: shown on the sources, for a path that is never taken cannot be run.
//!
//! The machine's configuration has one private field for a bug, none from the start. One method fills it; it
//! is called in one place of the node and one of the simulator. One method asks it, and every line that names
//! a bug is such a question.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources below a folder of this crate, each without white space and without its unit tests.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
            if is_tests {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, code(&text)));
            }
        }
    }
    assert!(!found.is_empty(), "{folder}");
    found
}

/// What of a file is compiled outside tests, without comments and white space.
fn code(text: &str) -> String {
    let lines = text
        .lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split_whitespace()).collect()
}

/// How often bugs are given to a machine.
fn given(sources: &[(PathBuf, String)]) -> usize {
    sources
        .iter()
        .map(|(_, code)| code.matches(".with_bug(").count())
        .sum()
}

/// Where a bug's name stands for anything but a question whether it is on.
fn unasked(code: &str) -> Vec<&str> {
    let named = code.match_indices("Bug::").filter(|(at, _)| {
        let name = &code[at + "Bug::".len()..];
        // `Bug::ALL`, the list of names, has no lower case in it.
        name.starts_with(char::is_uppercase) && !name.starts_with("ALL")
    });
    named
        .filter(|(at, _)| {
            let before = &code[..*at];
            !before.ends_with(".has(") && !before.ends_with(".has(crate::")
        })
        .map(|(at, _)| &code[at..code.len().min(at + 60)])
        .collect()
}

#[test]
fn a_bug_is_given_to_a_machine_in_one_place_of_the_node_and_one_of_the_simulator() {
    assert_eq!(given(&sources("src")), 1);
    assert_eq!(given(&sources("simulator/src")), 1);
    assert_eq!(given(&sources("raft/src")), 0);
}

#[test]
fn every_line_of_the_machine_that_names_a_bug_asks_whether_it_is_on() {
    let mut asked = 0;
    for (path, code) in sources("raft/src") {
        if path.ends_with("bug.rs") {
            continue;
        }
        assert_eq!(unasked(&code), [] as [&str; 0], "{}", path.display());
        asked += code.matches(".has(Bug::").count();
    }
    assert!(asked >= raft::Bug::ALL.len(), "{asked} questions");
    // The simulator chooses circumstances by the bug that it was asked for; the node knows none by name.
    for (path, code) in sources("src") {
        assert_eq!(unasked(&code), [] as [&str; 0], "{}", path.display());
    }
}

#[test]
fn the_field_is_private_and_empty_unless_it_is_filled() {
    let (_, config) = sources("raft/src")
        .into_iter()
        .find(|(path, _)| path.ends_with("config.rs"))
        .unwrap();
    assert_eq!(config.matches(",bug:Option<Bug>,").count(), 1, "private");
    assert_eq!(config.matches("bug:None").count(), 1);
    assert_eq!(config.matches("self.bug=Some").count(), 1);
    assert_eq!(
        config.matches("self.bug").count(),
        2,
        "one to fill it, one to ask it"
    );
}

#[test]
fn a_bug_outside_a_question_would_be_seen() {
    assert_eq!(unasked("ifself.config.has(Bug::NoPreVote){}").len(), 0);
    assert_eq!(unasked("letbug=Bug::NoPreVote;").len(), 1);
    assert_eq!(unasked("Some(raft::Bug::NoPreVote)").len(), 1);
    assert_eq!(code("a\n// b\n#[cfg(test)]\nmod tests"), "a");
}
