//! A run's history as plain JSON, read while it grows or when it is over. It shares no code with the reader.

use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A history that may still grow.
pub struct Tail {
    path: PathBuf,
    file: Option<File>,
    torn: Vec<u8>,
}

impl Tail {
    /// Of the run in this folder, which need not be there yet.
    pub fn of(run: &Path) -> Tail {
        Tail {
            path: run.join("history.jsonl"),
            file: None,
            torn: Vec::new(),
        }
    }

    /// The whole lines that were added since the last call and contain a text.
    pub fn added(&mut self, text: &str) -> Vec<Value> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.torn).unwrap();
        }
        let whole = self
            .torn
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let rest = self.torn.split_off(whole);
        let lines = String::from_utf8(std::mem::replace(&mut self.torn, rest)).unwrap();
        let wanted = lines.lines().filter(|line| line.contains(text));
        wanted.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// All lines of a history: the header, then the entries.
pub fn lines(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("history.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The entries of one kind, oldest first.
pub fn entries<'a>(lines: &'a [Value], f: &str) -> impl Iterator<Item = &'a Value> {
    lines[1..].iter().filter(move |line| line["f"] == f)
}
