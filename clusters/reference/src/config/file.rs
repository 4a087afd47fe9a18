//! The text of a `server.properties`: `key=value` lines, `#` and `!` begin a comment.
//!
//! Not supported, and refused rather than misread: continuation lines.

use std::collections::BTreeMap;

use super::table::{self, Property, Type};
use crate::failure::Failure;

/// The values of a file, each of a known property and of its type.
#[derive(Debug, Clone, Default)]
pub struct Values {
    values: BTreeMap<&'static str, String>,
}

const FORM: &str = "Write one property a line, as key=value; `ackall node properties` lists them.";

impl Values {
    /// Reads the text of a file called `origin`.
    ///
    /// # Errors
    /// When a line is no property, a property is unknown, or a value is not of its type.
    pub fn parse(origin: &str, text: &str) -> Result<Self, Failure> {
        let mut values = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let what = format!("Cannot use {origin}, line {}: {line}", index + 1);
            let (name, value) = line
                .split_once('=')
                .ok_or_else(|| Failure::usage(&what, "It is not of the form key=value.", FORM))?;
            values.put(&what, name.trim(), value.trim())?;
        }
        Ok(values)
    }

    fn put(&mut self, what: &str, name: &str, value: &str) -> Result<(), Failure> {
        let property = table::find(name).ok_or_else(|| {
            Failure::usage(
                what,
                format!("There is no property '{name}'."),
                format!(
                    "Did you mean {}? `ackall node properties` lists all.",
                    table::nearest(name)
                ),
            )
        })?;
        if value.ends_with('\\') {
            return Err(Failure::usage(
                what,
                "Continuation lines are not supported.",
                FORM,
            ));
        }
        check(property, value).map_err(|why| Failure::usage(what, why, property.doc))?;
        if self.values.insert(property.name, value.to_owned()).is_some() {
            return Err(Failure::usage(
                what,
                format!("{name} was set before in the same file."),
                "Keep one of the two lines.",
            ));
        }
        Ok(())
    }

    /// The value, or the default; empty where there is neither.
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(value) => value,
            None => table::find(name)
                .and_then(|property| property.default)
                .unwrap_or_default(),
        }
    }

    /// The members of a list.
    pub fn list(&self, name: &str) -> Vec<&str> {
        self.text(name)
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .collect()
    }

    /// A number. Its form was checked as it was put; -1 where it has neither value nor default.
    pub fn number(&self, name: &str) -> i64 {
        self.text(name).parse().unwrap_or(-1)
    }

    /// A truth value.
    pub fn truth(&self, name: &str) -> bool {
        self.text(name) == "true"
    }
}

fn check(property: &Property, value: &str) -> Result<(), String> {
    let most = match property.kind {
        Type::String | Type::List => return Ok(()),
        Type::Boolean if matches!(value, "true" | "false") => return Ok(()),
        Type::Boolean => return Err(format!("'{value}' is neither true nor false.")),
        Type::Int => i64::from(i32::MAX),
        Type::Long => i64::MAX,
    };
    let range = property.least..=most;
    match value.parse::<i64>() {
        Ok(number) if range.contains(&number) => Ok(()),
        _ => Err(format!(
            "'{value}' is no whole number from {} to {most}.",
            property.least
        )),
    }
}
