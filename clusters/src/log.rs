//! What a node's own log says of why it failed.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Where a node's output goes, in its home.
pub(crate) const LOG: &str = "node.log";
/// Lines that an error repeats.
const LINES: usize = 3;
/// Characters of a line that an error repeats: the rest is in the log.
const LINE_CHARACTERS: usize = 300;

/// A node's log, as far as it can be read.
pub(crate) fn text(home: &Path) -> String {
    let bytes = fs::read(home.join(LOG)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How a program ended, in words that follow its name.
pub fn how_ended(status: Option<i32>, signal: Option<i32>) -> String {
    match (status, signal) {
        (Some(status), _) => format!("ended with status {status}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended, nobody knows how".into(),
    }
}

/// The last lines, in one.
pub(crate) fn tail(text: &str) -> String {
    last(text.lines())
}

/// The last lines that mean trouble, each once, in one; where none does, the last lines.
pub(crate) fn reason(text: &str, trouble: &[String]) -> String {
    let bad = |line: &&str| !is_of_a_trace(line) && trouble.iter().any(|part| line.contains(part.as_str()));
    let mut seen = HashSet::new();
    let found = last(text.lines().filter(bad).filter(|line| seen.insert(*line)));
    if found.is_empty() { tail(text) } else { found }
}

/// Whether a line is of a stack trace: the lines before it say what happened.
fn is_of_a_trace(line: &str) -> bool {
    line.trim_start().starts_with("at ") && line.starts_with([' ', '\t'])
}

fn last<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = lines
        .map(|line| line.trim().chars().take(LINE_CHARACTERS).collect())
        .collect();
    lines[lines.len().saturating_sub(LINES)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_before_what_came_last() {
        let text = "a\nERROR no room\n\tat x.ERROR(y)\nbye\nbye\nbye\n";
        let trouble = ["ERROR".to_string()];
        assert_eq!(reason(text, &trouble), "ERROR no room");
        assert_eq!(reason("a\nb\nc\nd\n", &trouble), "b | c | d");
        assert_eq!(
            reason("ERROR x\nERROR y\nERROR x\nbye\n", &trouble),
            "ERROR x | ERROR y"
        );
        assert_eq!(reason("", &trouble), "");
    }

    #[test]
    fn an_end_is_told_in_words() {
        assert_eq!(how_ended(Some(3), None), "ended with status 3");
        assert_eq!(how_ended(None, Some(9)), "was killed by signal 9");
    }
}
