//! A file's text with the places of its parts.

use super::Mistake;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where in a file something stands: the keys that lead to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct At(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Nth(usize),
}

impl At {
    /// The place that these keys lead to.
    pub fn of(keys: &[&str]) -> At {
        At(keys.iter().map(|key| Step::Key(key.to_string())).collect())
    }

    /// One key further.
    pub fn key(&self, key: &str) -> At {
        self.and(Step::Key(key.to_owned()))
    }

    /// An element of the list that is here.
    pub fn nth(&self, n: usize) -> At {
        self.and(Step::Nth(n))
    }

    fn and(&self, step: Step) -> At {
        let mut steps = self.0.clone();
        steps.push(step);
        At(steps)
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let bare = |key: &str| !key.is_empty() && key.chars().all(is_bare);
        // The line tells which element it is.
        let keys = self.0.iter().filter_map(|step| match step {
            Step::Key(key) if bare(key) => Some(key.clone()),
            Step::Key(key) => Some(format!("{key:?}")),
            Step::Nth(_) => None,
        });
        f.write_str(&keys.collect::<Vec<_>>().join("."))
    }
}

/// Something that is wrong: where, why, and what to do.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    at: At,
    piece: Option<Piece>,
    why: String,
    remedy: String,
}

/// The part of a text that is wrong, by which its line is found.
#[derive(Clone, Debug)]
enum Piece {
    First(String),
    Last(String),
}

impl Wrong {
    /// Of a key or a value.
    pub fn new(at: At, why: impl Into<String>, remedy: impl Into<String>) -> Wrong {
        Wrong {
            at,
            piece: None,
            why: why.into(),
            remedy: remedy.into(),
        }
    }

    /// Of the first such piece of a text.
    pub fn in_text(self, piece: &str) -> Wrong {
        let piece = Some(Piece::First(piece.to_owned()));
        Wrong { piece, ..self }
    }

    /// Of the last such piece of a text.
    pub fn last_in_text(self, piece: &str) -> Wrong {
        let piece = Some(Piece::Last(piece.to_owned()));
        Wrong { piece, ..self }
    }
}

/// A file that is TOML.
pub(super) struct Source<'a> {
    text: &'a str,
    root: Spanned<DeTable<'a>>,
}

impl<'a> Source<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// Where it is no TOML.
    pub fn parse(text: &'a str) -> Result<Source<'a>, Mistake> {
        let root = DeTable::parse(text).map_err(|e| not_toml(text, &e))?;
        Ok(Source { text, root })
    }

    /// All of it.
    pub fn root(&self) -> &DeTable<'a> {
        self.root.get_ref()
    }

    /// What is wrong, with its line.
    pub fn told(&self, wrong: Wrong) -> Mistake {
        let found = self.find(&wrong.at);
        let start = found.map(|(start, value)| {
            let raw = self.text.get(value.clone()).unwrap_or_default();
            // What is written with escapes is not found: then it is the text's first line.
            let piece = match &wrong.piece {
                None => None,
                Some(Piece::First(piece)) => raw.find(piece),
                Some(Piece::Last(piece)) => raw.rfind(piece),
            };
            piece.map_or(start, |offset| value.start + offset)
        });
        Mistake {
            line: start.and_then(|start| line_at(self.text, start)),
            field: wrong.at.to_string(),
            why: wrong.why,
            remedy: wrong.remedy,
        }
    }

    /// Where the deepest part of a place that is there begins, and its value.
    fn find(&self, at: &At) -> Option<(usize, Range<usize>)> {
        let mut found: Option<(usize, &Spanned<DeValue<'a>>)> = None;
        for step in &at.0 {
            let value = found.map(|(_, value)| value.get_ref());
            let next = match step {
                Step::Key(key) => {
                    let table = value.map_or(Some(self.root()), DeValue::as_table);
                    let mut entries = table.into_iter().flat_map(DeTable::iter);
                    let entry = entries.find(|(known, _)| known.get_ref() == key);
                    entry.map(|(key, value)| (key.span().start, value))
                }
                Step::Nth(n) => {
                    let list = value.and_then(DeValue::as_array);
                    let element = list.and_then(|list| list.get(*n));
                    element.map(|value| (value.span().start, value))
                }
            };
            if next.is_none() {
                break;
            }
            found = next;
        }
        found.map(|(start, value)| (start, value.span()))
    }
}

/// The parser's own words, for what is no TOML.
pub(super) fn not_toml(text: &str, e: &toml::de::Error) -> Mistake {
    Mistake {
        line: e.span().and_then(|span| line_at(text, span.start)),
        field: String::new(),
        why: format!("it is no TOML: {}", e.message().trim()),
        remedy: "mend that line: text stands in quotes, a list in [ ], a key only once in its table".into(),
    }
}

/// The line of a byte.
fn line_at(text: &str, byte: usize) -> Option<usize> {
    Some(text.get(..byte)?.matches('\n').count() + 1)
}
