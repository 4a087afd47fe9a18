//! What a node's own log says of why it failed.

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

/// The last lines, in one.
pub(crate) fn tail(text: &str) -> String {
    last(text.lines())
}

/// The last lines that mean trouble, in one; where none does, the last lines.
pub(crate) fn reason(text: &str, trouble: &[String]) -> String {
    let bad = |line: &&str| !is_of_a_trace(line) && trouble.iter().any(|part| line.contains(part.as_str()));
    let found = last(text.lines().filter(bad));
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
        assert_eq!(reason("", &trouble), "");
    }
}
