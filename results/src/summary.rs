//! A result in five lines, for the end of a run on a terminal.

use crate::result::RunResult;
use crate::story;
use checker::Outcome;

/// Bold, in colours that everyone can tell apart (from Okabe and Ito's palette); the word itself says it too.
fn colour(verdict: Outcome) -> &'static str {
    match verdict {
        Outcome::Pass => "\u{1b}[1;38;5;39m",
        Outcome::Fail => "\u{1b}[1;38;5;202m",
        Outcome::Unknown => "\u{1b}[1;38;5;176m",
    }
}
const PLAIN: &str = "\u{1b}[0m";

/// The five lines: verdict, what was lost, the report, how to see it again, how to look closer.
pub fn lines(result: &RunResult, colored: bool) -> Vec<String> {
    let word = result.verdict.text().to_uppercase();
    let word = if colored { format!("{}{word}{PLAIN}", colour(result.verdict)) } else { word };
    [
        format!("{word}: {}", story::verdict(result)),
        format!("lost:    {}", story::losses(result)),
        format!("report:  {}", story::report_path(result)),
        format!("again:   {}", story::again(result)),
        format!("closer:  {}", story::closer(result)),
    ]
    .into_iter()
    .map(|line| one_line(&line))
    .collect()
}

/// What came from a run may hold newlines and escapes; a line is a line, and only colours here are ours.
fn one_line(line: &str) -> String {
    line.chars().filter(|c| !matches!(c, '\n' | '\r')).collect()
}
