//! A part of a history's lines, parsed by itself.

use super::fast::Fast;
use crate::Entry;
use std::vec::IntoIter;

/// Entries of consecutive lines, up to the first that is none.
#[derive(Debug)]
pub(super) struct Part {
    pub entries: IntoIter<Entry>,
    /// What is wrong with the line behind the last of them, where something is.
    pub wrong: Option<String>,
}

/// Cuts lines, each with its newline, into parts of whole lines: at most so many, none much smaller than asked.
pub(super) fn cut(mut lines: &[u8], least: usize, most: usize) -> Vec<&[u8]> {
    let size = lines.len().div_ceil(most.max(1)).max(least);
    let mut parts = Vec::new();
    while lines.len() > size {
        let rest = lines.get(size..).unwrap_or_default();
        let Some(newline) = rest.iter().position(|byte| *byte == b'\n') else {
            break;
        };
        let (part, behind) = lines.split_at(size + newline + 1);
        parts.push(part);
        lines = behind;
    }
    if !lines.is_empty() {
        parts.push(lines);
    }
    parts
}

/// Few lines are shorter.
const SHORT_LINE: usize = 128;

impl Part {
    /// Parses lines, each with its newline.
    pub fn of(lines: &[u8]) -> Part {
        let mut fast = Fast::default();
        let mut entries = Vec::with_capacity(lines.len() / SHORT_LINE);
        let mut wrong = None;
        let mut rest = lines;
        while !rest.is_empty() {
            if let Some(length) = fast.entry(rest, &mut entries) {
                rest = rest.get(length..).unwrap_or_default();
                continue;
            }
            let end = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(rest.len(), |at| at + 1);
            let (line, behind) = rest.split_at(end);
            match serde_json::from_slice(line) {
                Ok(entry) => entries.push(entry),
                Err(error) => {
                    wrong = Some(error.to_string());
                    break;
                }
            }
            rest = behind;
        }
        Part {
            entries: entries.into_iter(),
            wrong,
        }
    }
}
