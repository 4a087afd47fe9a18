//! A judgement on a terminal: what was found in words, then five lines.

use super::{CheckResult, story};
use crate::summary::{one_line, word};

/// Examples of one finding that are told; the JSON and the page have more.
const EXAMPLES_TOLD: usize = 3;

impl CheckResult {
    /// What was found, with the first examples in words.
    pub fn words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for finding in &self.judgement.anomalies {
            lines.push(one_line(&story::title(finding)));
            for example in finding.examples.iter().take(EXAMPLES_TOLD) {
                for (place, line) in example.text.lines().enumerate() {
                    let mark = if place == 0 { "  - " } else { "    " };
                    lines.push(format!("{mark}{}", one_line(line)));
                }
                if !example.operations.is_empty() {
                    lines.push(format!("    entries {}", story::entries(&example.operations)));
                }
            }
        }
        lines
    }

    /// The five lines: verdict, what was found, how it was judged, how to see it again, how to look closer.
    pub fn lines(&self, colored: bool) -> Vec<String> {
        vec![
            format!(
                "{}: {}",
                word(self.judgement.verdict, colored),
                one_line(&story::verdict(self))
            ),
            format!("found:   {}", one_line(&story::found(self))),
            format!("judged:  {}", one_line(&story::judged(self))),
            format!("again:   {}", one_line(&self.how.command)),
            format!("closer:  {}", one_line(&self.closer())),
        ]
    }

    /// How to look closer: at the first thing that was found, or at the page.
    fn closer(&self) -> String {
        let page = format!("{} --html check.html", self.how.command);
        match self.judgement.anomalies.first() {
            Some(first) => format!("{page}; ackall explain {}", first.name),
            None => page,
        }
    }
}
