//! What a system's file may say, beyond its form: names, commands, features, files, patterns.

use super::source::{At, Wrong};
use crate::cluster::{CONFIG, KRAFT_VERSION};
use crate::log::LOG;
use crate::system::{Feature, System, is_one_line};

/// Names are for one line of a report.
const NAME_CHARACTERS: usize = 100;
/// What the ground keeps in a node's home, beside the configuration and the log.
const OF_THE_RUN: [&str; 6] = ["mount", "disk", "disk-ledger.jsonl", "lost", "trash", "images"];

/// What is wrong with them.
pub(super) fn wrong(system: &System) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    names(system, &mut wrong);
    commands(system, &mut wrong);
    environment(system, &mut wrong);
    server(system, &mut wrong);
    features(system, &mut wrong);
    bugs(system, &mut wrong);
    files(system, &mut wrong);
    patterns(system, &mut wrong);
    wrong
}

fn names(system: &System, wrong: &mut Vec<Wrong>) {
    let why = |text: &str| {
        if text.chars().any(char::is_control) {
            Some("it has control characters")
        } else if text.chars().count() > NAME_CHARACTERS {
            Some("it is longer than a line")
        } else {
            None
        }
    };
    if system.name.trim().is_empty() {
        wrong.push(Wrong::new(
            At::of(&["name"]),
            "it is empty",
            "name the system, as reports are to call it",
        ));
    }
    for (key, text) in [("name", &system.name), ("version", &system.version)] {
        if let Some(why) = why(text) {
            wrong.push(Wrong::new(At::of(&[key]), why, "write it in one short line"));
        }
    }
}

/// A command has a program, found on the search path or by its whole path: nodes have working folders of their own.
fn commands(system: &System, wrong: &mut Vec<Wrong>) {
    for (keys, argv) in system.commands() {
        let at = At::of(keys);
        let Some(program) = argv.first() else {
            wrong.push(Wrong::new(
                at,
                "the command is empty",
                "name its program, and then its arguments",
            ));
            continue;
        };
        let filled = system.own_words(program);
        if program.trim().is_empty() {
            wrong.push(Wrong::new(
                at.nth(0),
                "its program has no name",
                "name the program first",
            ));
        } else if filled.contains('/') && !filled.starts_with(['/', '{']) {
            let why = format!("{filled} is looked for in each node's own folder, where nothing is yet");
            wrong.push(Wrong::new(
                at.nth(0),
                why,
                "name the program by its whole path, which begins with /",
            ));
        }
    }
    for (keys, argv) in system.commands().into_iter().chain(system.argument_lists()) {
        for (n, argument) in argv
            .iter()
            .enumerate()
            .filter(|(_, argument)| argument.contains('\0'))
        {
            let why = format!("{argument:?} has a zero byte, which no program can be given");
            wrong.push(Wrong::new(At::of(keys).nth(n), why, "leave it out"));
        }
    }
}

fn environment(system: &System, wrong: &mut Vec<Wrong>) {
    for (name, value) in &system.environment {
        let at = At::of(&["environment", name]);
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            wrong.push(Wrong::new(
                at,
                "no environment can have it",
                "NAME = \"text\", without = and zero bytes",
            ));
        }
    }
}

fn server(system: &System, wrong: &mut Vec<Wrong>) {
    let of = |table: &'static str| move |key| (table, key);
    let set = system.server.keys().map(of("server"));
    let least = system.server_least.keys().map(of("server_least"));
    for (table, key) in set.chain(least) {
        if key.trim().is_empty() || key.contains(['=', '\n', '\r']) {
            let why = "it is no name of a property";
            let remedy = "write a property's name, and its value behind the =";
            wrong.push(Wrong::new(At::of(&[table, key]), why, remedy));
        }
    }
    for (key, value) in &system.server {
        if !is_one_line(value) {
            let why = format!("{value:?} has more than one line");
            wrong.push(Wrong::new(At::of(&["server", key]), why, "write it in one line"));
        }
    }
}

fn features(system: &System, wrong: &mut Vec<Wrong>) {
    for (name, feature) in &system.features {
        feature_of(&At::of(&["features", name]), feature, wrong);
    }
    if !system.version.is_empty() && !is_version(&system.version) {
        let why = format!("{:?} is no version", system.version);
        wrong.push(Wrong::new(
            At::of(&["version"]),
            why,
            "write numbers with dots: version = \"4.1.2\"",
        ));
    }
    let dated = system
        .features
        .iter()
        .find(|(_, feature)| !feature.since.is_empty());
    if let Some((name, feature)) = dated.filter(|_| system.version.is_empty()) {
        let why = format!("it is missing, and {name} is there since {} only", feature.since);
        wrong.push(Wrong::new(
            At::of(&["version"]),
            why,
            format!("add version = {:?}, or the one it is", feature.since),
        ));
    }
    let features_argument = system.format.argv.iter().any(|argument| argument == "{features}");
    let has = |word: &str| {
        system
            .format
            .feature
            .iter()
            .any(|argument| argument.contains(word))
    };
    if !system.features.is_empty() && !features_argument {
        let why = "it has no argument {features}, so that no level reaches the format step";
        wrong.push(Wrong::new(
            At::of(&["format", "argv"]),
            why,
            "add \"{features}\", or leave [features] out",
        ));
    }
    let tells_levels = has("{feature}") && has("{level}");
    if !system.features.is_empty() && !tells_levels {
        let why = "it has not both {feature} and {level}, by which a level reaches the format step";
        let remedy = "feature = [\"--feature\", \"{feature}={level}\"], or leave [features] out";
        wrong.push(Wrong::new(At::of(&["format", "feature"]), why, remedy));
    }
    if system
        .features
        .get(KRAFT_VERSION)
        .is_some_and(|feature| feature.highest > 0)
    {
        voters(system, wrong);
    }
}

/// Whether it is numbers with dots, perhaps with a word behind: `4.1.2`, `4.1.0-rc1`.
fn is_version(text: &str) -> bool {
    let numbers = text.split_once('-').map_or(text, |(numbers, _)| numbers);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    numbers.split('.').all(is_number)
}

fn feature_of(at: &At, feature: &Feature, wrong: &mut Vec<Wrong>) {
    if feature.default > feature.highest {
        let why = format!(
            "{} is more than the highest level, {}",
            feature.default, feature.highest
        );
        wrong.push(Wrong::new(
            at.key("default"),
            why,
            format!("write 0 to {}", feature.highest),
        ));
    }
    if !feature.since.is_empty() && !is_version(&feature.since) {
        let why = format!("{:?} is no version", feature.since);
        wrong.push(Wrong::new(
            at.key("since"),
            why,
            "write numbers with dots: since = \"4.1\"",
        ));
    }
}

/// Where voters may change, the format step must be told who the first are.
fn voters(system: &System, wrong: &mut Vec<Wrong>) {
    let format = &system.format;
    let why = |what: &str| format!("{KRAFT_VERSION} may be 1, and {what}");
    if !format.argv.iter().any(|argument| argument == "{quorum}") {
        let why = why("there is no argument {quorum}, which tells who the first voters are");
        wrong.push(Wrong::new(At::of(&["format", "argv"]), why, "add \"{quorum}\""));
    }
    if !format
        .first
        .iter()
        .any(|argument| argument.contains("{first_voters}"))
    {
        let why = why("no argument here has {first_voters}");
        let remedy = "first = [\"--initial-controllers\", \"{first_voters}\"]";
        wrong.push(Wrong::new(At::of(&["format", "first"]), why, remedy));
    }
}

fn bugs(system: &System, wrong: &mut Vec<Wrong>) {
    let Some(bugs) = &system.bugs else { return };
    if !system.start.iter().any(|argument| argument == "{bug}") {
        let why = "it has no argument {bug}, so that no bug of [bugs] can be switched on";
        wrong.push(Wrong::new(
            At::of(&["start"]),
            why,
            "add \"{bug}\", or leave [bugs] out",
        ));
    }
    if !bugs.argv.iter().any(|argument| argument.contains("{bug}")) {
        let remedy = "argv = [\"--bug\", \"{bug}\"]";
        wrong.push(Wrong::new(
            At::of(&["bugs", "argv"]),
            "it does not name the {bug}",
            remedy,
        ));
    }
}

fn files(system: &System, wrong: &mut Vec<Wrong>) {
    for (n, file) in system.files.iter().enumerate() {
        let name = file.name.as_str();
        let before = system.files.iter().take(n);
        let why = if name.is_empty() || name == "." || name == ".." {
            "it is no name of a file".to_owned()
        } else if name.contains('/') || name.chars().any(char::is_control) {
            format!("{name:?} is no name alone: each file is in the node's home itself")
        } else if [CONFIG, LOG].contains(&name) || OF_THE_RUN.contains(&name) {
            format!("{name} is what the run itself has in a node's home")
        } else if before.clone().any(|file| file.name == name) {
            format!("there is a file {name} already, further up")
        } else {
            continue;
        };
        let at = At::of(&["files"]).nth(n).key("name");
        wrong.push(Wrong::new(
            at,
            why,
            "name it otherwise: name = \"log4j2.properties\", for one",
        ));
    }
}

fn patterns(system: &System, wrong: &mut Vec<Wrong>) {
    for (n, _) in system
        .trouble
        .iter()
        .enumerate()
        .filter(|(_, part)| part.is_empty())
    {
        let at = At::of(&["trouble"]).nth(n);
        wrong.push(Wrong::new(
            at,
            "it is empty, and every line has that",
            "leave it out, or name a part of a line",
        ));
    }
    let between = system
        .properties
        .as_ref()
        .and_then(|properties| properties.between.as_ref());
    for (n, _) in between
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, mark)| mark.is_empty())
    {
        let at = At::of(&["properties", "between"]).nth(n);
        let remedy = "write what stands before a name, and what behind it";
        wrong.push(Wrong::new(at, "it is empty, and marks no name", remedy));
    }
}
