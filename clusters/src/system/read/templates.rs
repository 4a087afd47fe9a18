//! What a configuration's template must have, and how its lines look: Kafka's properties, `key=value`.

use super::source::{At, Wrong};
use super::words::in_braces;
use crate::system::{Role, System};
use std::collections::BTreeSet;

/// Words of which a template has at least one, and a line for it.
const NEEDED: [(&[&str], &str); 5] = [
    (&["node_id"], "node.id={node_id}"),
    (&["address"], "listeners=PLAINTEXT://{address}:PORT"),
    (&["disk"], "log.dirs={disk}"),
    (&["quorum", "voters"], "{quorum}"),
    (&["properties"], "{properties}"),
];
/// Words that become lines.
const LINES: [&str; 2] = ["{quorum}", "{properties}"];
/// The properties that `{quorum}` becomes.
const OF_QUORUM: [&str; 2] = ["controller.quorum.voters", "controller.quorum.bootstrap.servers"];

/// What is wrong with the templates.
pub(super) fn wrong(system: &System) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (name, role) in [("controller", &system.controller), ("broker", &system.broker)] {
        let template = Template {
            at: At::of(&[name, "template"]),
            text: &role.template,
        };
        template.needs_words(&mut wrong);
        template.has_properties(system, &mut wrong);
        template.has_the_port(At::of(&[name, "port"]), role, &mut wrong);
        template.has_the_host(At::of(&[name, "host"]), role, &mut wrong);
    }
    wrong
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', '!'])
}

struct Template<'a> {
    at: At,
    text: &'a str,
}

impl Template<'_> {
    fn needs_words(&self, wrong: &mut Vec<Wrong>) {
        // What a comment says reaches no node.
        let lines = self.text.lines().filter(|line| !is_comment(line));
        let words: Vec<&str> = lines.flat_map(in_braces).collect();
        for (needed, line) in NEEDED {
            if !needed.iter().any(|word| words.contains(word)) {
                let named: Vec<String> = needed.iter().map(|word| format!("{{{word}}}")).collect();
                let why = format!("it has no {}", named.join(" and no "));
                wrong.push(Wrong::new(self.at.clone(), why, format!("add a line {line}")));
            }
        }
    }

    /// Each line is a property, a comment, or a word that becomes lines; no property stands twice.
    fn has_properties(&self, system: &System, wrong: &mut Vec<Wrong>) {
        let mut keys: BTreeSet<&str> = BTreeSet::new();
        let mut goes_on = false;
        for line in self.text.lines().map(str::trim) {
            let is_rest = std::mem::replace(&mut goes_on, line.ends_with('\\'));
            if is_rest || line.is_empty() || is_comment(line) {
                continue;
            }
            if let Some(word) = LINES.iter().find(|word| line.contains(**word)) {
                if line != *word {
                    wrong.push(self.not_a_line(word, line));
                } else if *word == "{quorum}" {
                    self.adds(&OF_QUORUM, line, &mut keys, wrong);
                }
                continue;
            }
            match line.split_once('=').map(|(key, _)| key.trim_end()) {
                Some(key) if !key.is_empty() => {
                    if system.server.contains_key(key) {
                        wrong.push(self.in_server(key));
                    }
                    self.adds(&[key], line, &mut keys, wrong);
                }
                _ => wrong.push(self.no_property(line)),
            }
        }
        // It is taken away with its line's end.
        if self.text.ends_with("{properties}") {
            let remedy = "end its line: put the closing quotes on a line of their own";
            let why = "{properties} is not a whole line";
            wrong.push(Wrong::new(self.at.clone(), why, remedy).last_in_text("{properties}"));
        }
    }

    fn adds<'k>(&self, added: &[&'k str], line: &str, keys: &mut BTreeSet<&'k str>, wrong: &mut Vec<Wrong>) {
        if let Some(key) = added.iter().find(|key| keys.contains(**key)) {
            let why = format!("{key} has a value already, further up");
            wrong.push(Wrong::new(self.at.clone(), why, "leave one of them out").last_in_text(line));
        }
        keys.extend(added);
    }

    fn not_a_line(&self, word: &str, line: &str) -> Wrong {
        let why = format!("{word} stands inside a longer line, and becomes lines of its own");
        let remedy = match word {
            "{quorum}" => "write {quorum} alone in its line, or controller.quorum.voters={voters}",
            _ => "write {properties} alone in its line",
        };
        Wrong::new(self.at.clone(), why, remedy).in_text(line)
    }

    fn no_property(&self, line: &str) -> Wrong {
        let why = format!("{line:?} is no property");
        Wrong::new(self.at.clone(), why, "write key=value, or # before a comment").in_text(line)
    }

    fn in_server(&self, key: &str) -> Wrong {
        let why = format!("[server] has a value for {key}, too");
        Wrong::new(self.at.clone(), why, "leave one of them out").in_text(key)
    }

    fn has_the_port(&self, at: At, role: &Role, wrong: &mut Vec<Wrong>) {
        if !has_number(self.text, role.port) {
            let why = format!(
                "the template has no port {0}, and clients will look for the node there",
                role.port
            );
            let remedy = format!(
                "write {} in the template's listener, or that listener's port here",
                role.port
            );
            wrong.push(Wrong::new(at, why, remedy));
        }
    }

    fn has_the_host(&self, at: At, role: &Role, wrong: &mut Vec<Wrong>) {
        let Some(host) = &role.host else { return };
        if host.port == role.port {
            let why = format!("{} is the port of the node's other listener, too", host.port);
            wrong.push(Wrong::new(at.key("port"), why, "take another, 9192 for one"));
        }
        for (key, word, property) in [
            ("listener", "host_listener", "listeners="),
            ("advertised", "host_advertised", "advertised.listeners="),
        ] {
            if !in_braces(self.text).contains(&word) {
                let why = format!("the template has no {{{word}}}, which stands for it");
                let remedy = format!("write {{{word}}} at the end of the template's {property}");
                wrong.push(Wrong::new(at.key(key), why, remedy));
            }
        }
        if !has_number(&host.listener, host.port) {
            let why = format!(
                "it has no port {}, to which clients on the host are led",
                host.port
            );
            let remedy = format!("listener = \",HOST://{{address}}:{}\"", host.port);
            wrong.push(Wrong::new(at.key("listener"), why, remedy));
        }
        if !in_braces(&host.advertised).contains(&"host_port") {
            let why = "it has no {host_port}, by which clients on the host reach the node";
            let remedy = "advertised = \",HOST://127.0.0.1:{host_port}\"";
            wrong.push(Wrong::new(at.key("advertised"), why, remedy));
        }
    }
}

/// Whether a text has a number, not as a part of another.
fn has_number(text: &str, number: u16) -> bool {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    numbers.any(|found| found == number.to_string())
}
