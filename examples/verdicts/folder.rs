//! A folder of histories that has no manifest.

use crate::judge::{Check, Expected, verdict};
use checker::Options;
use std::path::{Path, PathBuf};

/// All files below it, in order of their names.
pub fn checks(folder: &Path) -> Result<Vec<Check>, String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        let entries = std::fs::read_dir(&next).map_err(|e| format!("{}: {e}", next.display()))?;
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => files.push(entry.path()),
            }
        }
    }
    files.sort();
    Ok(files.into_iter().map(|path| check(folder, path)).collect())
}

fn check(folder: &Path, path: PathBuf) -> Check {
    let id = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
    let source = id.split('/').next().unwrap_or_default();
    Check {
        source: if source == id { "." } else { source }.into(),
        format: None,
        model: None,
        options: Options::default(),
        what: "as guessed".into(),
        expected: said(&id).map(|valid| Expected {
            verdict: verdict(valid),
            names: None,
        }),
        not_judged: None,
        id,
        path,
    }
}

/// What the words of a path say.
fn said(path: &str) -> Option<bool> {
    let words = || path.split(|c: char| !c.is_alphanumeric());
    if words().any(|word| matches!(word, "bad" | "invalid")) {
        Some(false)
    } else if words().any(|word| matches!(word, "good" | "ok" | "valid")) {
        Some(true)
    } else {
        None
    }
}
