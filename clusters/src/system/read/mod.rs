//! Reading a system's file, and telling what is wrong with it.
//!
//! Three looks at it, each only where the one before found nothing: is it TOML (`source`); has each table the keys, and
//! each key the kind of value, that the form knows (`form`); is what they say possible (`rules`, `words`,
//! `templates`). No look starts a process or opens a file.

mod form;
mod rules;
mod source;
mod templates;
// A case is a line.
#[cfg(test)]
#[rustfmt::skip]
mod tests;
mod words;

use super::System;
use source::{Source, Wrong};
use std::fmt;

/// A mistake in a system's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Its line, counted from 1; none of what is not there.
    pub line: Option<usize>,
    /// The key, with the tables that it is in: `format.argv`. Empty, where the file is no TOML.
    pub field: String,
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

impl Mistake {
    /// Where it is, in words.
    pub fn place(&self) -> String {
        let line = self.line.map(|line| format!("line {line}"));
        let field = Some(self.field.clone()).filter(|field| !field.is_empty());
        let parts: Vec<String> = line.into_iter().chain(field).collect();
        parts.join(", ")
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place(), self.why, self.remedy)
    }
}

impl std::error::Error for Mistake {}

impl System {
    /// Reads a system's file.
    ///
    /// # Errors
    /// The first of its mistakes.
    pub fn read(text: &str) -> Result<System, Mistake> {
        let source = Source::parse(text)?;
        first(&source, form::wrong(source.root()))?;
        let system: System = toml::from_str(text).map_err(|e| source::not_toml(text, &e))?;
        let wrong = [
            words::wrong(&system),
            templates::wrong(&system),
            rules::wrong(&system),
        ];
        first(&source, wrong.concat())?;
        Ok(system)
    }
}

/// The first of them in the file; what is missing comes after all that is there.
fn first(source: &Source<'_>, wrong: Vec<Wrong>) -> Result<(), Mistake> {
    let told = wrong.into_iter().map(|wrong| source.told(wrong));
    match told.min_by_key(|mistake| mistake.line.unwrap_or(usize::MAX)) {
        None => Ok(()),
        Some(mistake) => Err(mistake),
    }
}
