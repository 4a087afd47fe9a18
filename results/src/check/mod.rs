//! What `ackall check` tells of a history that something else recorded: for machines ([`CheckResult::json`]), on a
//! terminal ([`CheckResult::words`], [`CheckResult::lines`]) and as one HTML file ([`CheckResult::page`]).
//!
//! It shows what the checker found, and decides nothing.

mod lattice;
mod page;
mod story;
mod terminal;

use checker::{Judgement, Level};
use serde::Serialize;
use std::collections::BTreeSet;

/// The JSON Schema of what `check --json` prints.
pub const CHECK_SCHEMA: &str = include_str!("../../schema/check.schema.json");
/// The version of that format.
const SCHEMA: u32 = 1;

/// A history that was judged, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckResult {
    /// [`SCHEMA`].
    schema: u32,
    /// What the checker says; its fields stand beside the others.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// How it was judged; its fields stand beside the others.
    #[serde(flatten)]
    pub how: How,
}

/// How a history was judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct How {
    /// The file's path as it was given; `-` is standard input.
    pub file: String,
    /// How it was read.
    pub format: String,
    /// As what it was judged.
    pub model: String,
    /// Which question that is.
    #[serde(skip)]
    pub question: Question,
    /// The level that it was held against, of transactional models.
    pub level: Option<String>,
    /// Each choice that was made, and who made it.
    pub choices: Vec<Choice>,
    /// The command that judges it so again.
    pub command: String,
    /// How long it took, in seconds, the reading with it.
    pub duration_s: f64,
    /// The most memory that the process had at once, the history with it; null where the system does not say.
    pub peak_memory_bytes: Option<u64>,
    /// This program's version.
    pub ackall_version: String,
}

/// What is asked of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Is it linearizable?
    Linearizable,
    /// Is it at a level of isolation?
    Isolation,
    /// Does an invariant hold?
    Invariant,
    /// Is it what a log of Kafka's may show?
    Log,
    /// Did a promise of this project's own runs hold?
    Promise,
}

/// Something that could have been otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What was chosen.
    pub name: &'static str,
    /// The choice.
    pub value: String,
    /// Who chose.
    pub from: From,
}

/// Who chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// Whoever typed the command.
    CommandLine,
    /// The file says so itself.
    File,
    /// It was guessed by what the file looks like.
    Guessed,
    /// Nobody.
    Default,
}

impl From {
    /// In words.
    fn text(self) -> &'static str {
        match self {
            From::CommandLine => "the command line",
            From::File => "the file",
            From::Guessed => "guessed",
            From::Default => "the default",
        }
    }
}

impl CheckResult {
    /// A result.
    pub fn new(judgement: Judgement, how: How) -> CheckResult {
        CheckResult {
            schema: SCHEMA,
            judgement,
            how,
        }
    }

    /// For machines. Pictures are for the page alone.
    ///
    /// # Errors
    /// Where a number is none that JSON has.
    pub fn json(&self) -> serde_json::Result<serde_json::Value> {
        let mut plain = self.clone();
        for finding in &mut plain.judgement.anomalies {
            for example in &mut finding.examples {
                example.picture = None;
            }
        }
        serde_json::to_value(plain)
    }

    /// The levels that what was found rules out: the weakest, and all that imply one of them.
    fn ruled_out(&self) -> BTreeSet<Level> {
        let weakest: Vec<Level> = self
            .judgement
            .models_ruled_out
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
        let implies_one = |level: &Level| weakest.iter().any(|weak| level.implies(*weak));
        Level::ALL.into_iter().filter(implies_one).collect()
    }
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
