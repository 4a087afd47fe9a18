//! Words in braces: which stand where.
//!
//! What is replaced where is in `fill`; this knows no more than the names.

use super::source::{At, Wrong};
use crate::nearest::nearest;
use crate::system::System;
use std::collections::BTreeSet;

/// The words that are not the file's own, and where each stands.
const BUILT_IN: [(&str, &str); 18] = [
    ("self", "as the program of a command"),
    ("version", ANYWHERE),
    ("cluster_id", ANYWHERE),
    ("node_id", ANYWHERE),
    ("address", ANYWHERE),
    ("voters", ANYWHERE),
    ("config", ANYWHERE),
    ("home", ANYWHERE),
    ("disk", ANYWHERE),
    ("quorum", "in a template, and as an argument of [format].argv"),
    ("features", "as an argument of [format].argv"),
    ("bug", "as an argument of start, and in [bugs].argv"),
    ("properties", "in a template"),
    ("host_listener", "in the broker's template"),
    ("host_advertised", "in the broker's template"),
    ("host_port", "in [broker.host].advertised"),
    ("feature", "in [format].feature"),
    ("level", "in [format].feature"),
];
const ANYWHERE: &str = "in what belongs to one node: start, [format].argv, templates, files, the environment";
/// Stands in `[format].first` alone, whose form says all of it.
const FIRST_VOTERS: &str = "first_voters";

/// What is replaced in all that belongs to one node.
const OF_NODE: &[&str] = &[
    "cluster_id",
    "node_id",
    "address",
    "voters",
    "config",
    "home",
    "disk",
];

/// Every word that is not the file's own.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(word, _)| *word).chain([FIRST_VOTERS])
}

/// A text of the file in which words are replaced.
struct Place<'a> {
    at: At,
    text: &'a str,
    /// Whether the file's own words, and `{version}`, are known.
    own: bool,
    /// The words that are known besides: those of a node, and these.
    of_node: bool,
    more: &'static [&'static str],
    /// The words that stand alone or not at all.
    alone: &'static [&'static str],
}

impl<'a> Place<'a> {
    /// One that belongs to a node.
    fn of_node(at: At, text: &'a str) -> Place<'a> {
        Place {
            at,
            text,
            own: true,
            of_node: true,
            more: &[],
            alone: &[],
        }
    }

    /// One that belongs to none, and has these words alone.
    fn only(at: At, text: &'a str, more: &'static [&'static str]) -> Place<'a> {
        Place {
            own: false,
            of_node: false,
            more,
            ..Place::of_node(at, text)
        }
    }

    fn knows(&self, word: &str, system: &System) -> bool {
        self.known(system).any(|known| known == word)
    }

    fn known<'k>(&'k self, system: &'k System) -> impl Iterator<Item = &'k str> {
        let of_node = OF_NODE.iter().copied().filter(|_| self.of_node);
        let own = system.variables.keys().map(String::as_str).chain(["version"]);
        let own = own.filter(|_| self.own);
        let more = self.more.iter().chain(self.alone).copied();
        of_node.chain(own).chain(more)
    }
}

/// The texts of a list.
fn list(at: At, texts: &[String]) -> impl Iterator<Item = (At, &str)> {
    let texts = texts.iter().enumerate();
    texts.map(move |(n, text)| (at.nth(n), text.as_str()))
}

/// A command: its program may be this very executable.
fn command<'a>(at: At, argv: &'a [String], place: impl Fn(At, &'a str) -> Place<'a>) -> Vec<Place<'a>> {
    let places = list(at, argv).enumerate().map(|(n, (at, text))| {
        let place = place(at, text);
        // The ground takes the word for the program, and nothing else for it.
        if n == 0 {
            Place {
                alone: &["self"],
                ..place
            }
        } else {
            place
        }
    });
    places.collect()
}

/// The commands of a system.
fn commands(system: &System) -> Vec<Place<'_>> {
    let of_no_node = |at, text| Place {
        own: true,
        ..Place::only(at, text, &[])
    };
    let mut places = command(At::of(&["start"]), &system.start, |at, text| Place {
        alone: &["bug"],
        ..Place::of_node(at, text)
    });
    places.extend(command(
        At::of(&["format", "argv"]),
        &system.format.argv,
        |at, text| Place {
            alone: &["features", "quorum"],
            ..Place::of_node(at, text)
        },
    ));
    if let Some(properties) = &system.properties {
        places.extend(command(
            At::of(&["properties", "argv"]),
            &properties.argv,
            of_no_node,
        ));
    }
    if let Some(bugs) = &system.bugs {
        places.extend(command(At::of(&["bugs", "names"]), &bugs.names, of_no_node));
    }
    places
}

/// Arguments that stand for a word of a command.
fn arguments(system: &System) -> Vec<Place<'_>> {
    let format = &system.format;
    let of = |keys: &[&str], texts, words| {
        list(At::of(keys), texts).map(move |(at, text)| Place::only(at, text, words))
    };
    let mut places: Vec<_> = of(&["format", "feature"], &format.feature, &["feature", "level"]).collect();
    places.extend(of(&["format", "first"], &format.first, &[FIRST_VOTERS]));
    places.extend(of(&["format", "joins"], &format.joins, &[]));
    if let Some(bugs) = &system.bugs {
        places.extend(of(&["bugs", "argv"], &bugs.argv, &["bug"]));
    }
    places
}

/// Files of a node, and its environment.
fn texts(system: &System) -> Vec<Place<'_>> {
    let template = |role: &str, text, more| Place {
        more,
        ..Place::of_node(At::of(&[role, "template"]), text)
    };
    let mut places = vec![
        template(
            "controller",
            &system.controller.template,
            &["quorum", "properties"],
        ),
        template(
            "broker",
            &system.broker.template,
            &["quorum", "properties", "host_listener", "host_advertised"],
        ),
    ];
    if let Some(host) = &system.broker.host {
        let at = At::of(&["broker", "host"]);
        places.push(Place::of_node(at.key("listener"), &host.listener));
        places.push(Place {
            more: &["host_port"],
            ..Place::of_node(at.key("advertised"), &host.advertised)
        });
    }
    let environment = system.environment.iter();
    places.extend(environment.map(|(name, text)| Place::of_node(At::of(&["environment", name]), text)));
    let files = system.files.iter().enumerate();
    places.extend(files.map(|(n, file)| Place::of_node(At::of(&["files"]).nth(n).key("text"), &file.text)));
    places
}

/// What is wrong with words in braces.
pub(super) fn wrong(system: &System) -> Vec<Wrong> {
    let places = [commands(system), arguments(system), texts(system)];
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for place in places.iter().flatten() {
        for word in in_braces(place.text) {
            if !place.knows(word, system) {
                wrong.push(unknown(place, word, system));
            } else if place.alone.contains(&word) && place.text != format!("{{{word}}}") {
                wrong.push(not_alone(place, word));
            }
            used.insert(word);
        }
    }
    wrong.extend(
        system
            .variables
            .iter()
            .filter_map(|(name, value)| variable(name, value, &used)),
    );
    wrong
}

fn unknown(place: &Place<'_>, word: &str, system: &System) -> Wrong {
    let elsewhere = BUILT_IN
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, stands)| *stands);
    let elsewhere = elsewhere.or((word == FIRST_VOTERS).then_some("in [format].first"));
    let (why, remedy) = match elsewhere {
        Some(stands) => (
            format!("{{{word}}} has no meaning here: it stands {stands}"),
            "leave it out".to_owned(),
        ),
        None => (
            format!("there is no word {{{word}}} here"),
            known_are(word, &place.known(system).collect::<Vec<_>>()),
        ),
    };
    Wrong::new(place.at.clone(), why, remedy).in_text(&format!("{{{word}}}"))
}

fn known_are(word: &str, known: &[&str]) -> String {
    let lower = word.to_lowercase().replace(['-', '.'], "_");
    let near: Vec<String> = nearest(&lower, known.iter().copied())
        .into_iter()
        .map(|near| format!("{{{near}}}"))
        .collect();
    if near.is_empty() {
        return "leave it out: no word is replaced here".into();
    }
    format!(
        "the nearest are {}; a word of your own stands in [variables]",
        near.join(", ")
    )
}

fn not_alone(place: &Place<'_>, word: &str) -> Wrong {
    let why = format!("{{{word}}} stands inside a longer argument, and becomes any number of them");
    let remedy = format!("make it an argument of its own: \"{{{word}}}\"");
    Wrong::new(place.at.clone(), why, remedy).in_text(&format!("{{{word}}}"))
}

/// What is wrong with a word of the file's own.
fn variable(name: &str, value: &str, used: &BTreeSet<&str>) -> Option<Wrong> {
    let mut built_in = all();
    let (why, remedy) = if !in_braces(&format!("{{{name}}}")).contains(&name) {
        (
            "no such word can stand in braces".to_owned(),
            "name it with letters, digits and _, a letter first".to_owned(),
        )
    } else if built_in.any(|word| word == name) {
        (
            format!("{{{name}}} has a meaning already"),
            format!("name it otherwise: my_{name}"),
        )
    } else if let Some(word) = in_braces(value).first() {
        (
            format!("{{{word}}} stands in a word's own value, where nothing is replaced"),
            format!("write out what {{{word}}} stands for"),
        )
    } else if !used.contains(name) {
        (
            format!("no command, template or file has {{{name}}}"),
            format!("write {{{name}}} where it belongs, or leave the line out"),
        )
    } else {
        return None;
    };
    Some(Wrong::new(At::of(&["variables", name]), why, remedy))
}

/// The words in braces of a text. `${home}` and `%d{ISO8601}` are another language's: of shells, of logging
/// configurations.
pub(super) fn in_braces(text: &str) -> Vec<&str> {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    let mut words = Vec::new();
    for (at, _) in text.match_indices('{') {
        let (before, after) = (&text[..at], &text[at + 1..]);
        if let Some((word, _)) = after.split_once('}')
            && is_word(word)
            && !is_of_another_language(before)
        {
            words.push(word);
        }
    }
    words
}

fn is_of_another_language(before: &str) -> bool {
    let conversion = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    before.ends_with('$') || (conversion.ends_with('%') && conversion.len() < before.len())
}
