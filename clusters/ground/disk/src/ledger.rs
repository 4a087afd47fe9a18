//! The ledger: what each cut dropped, and where the dropped bytes were saved. JSON lines outside the mount.
//!
//! Times are nanoseconds of the machine's monotonic clock, which every process of a run shares.
use crate::{DiskError, Profile, Remainder};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// The power went and the remainder was made.
    Cut(Cut),
    /// Data or names became durable although nobody asked, because the disk's memory was used up.
    WrittenBack(WrittenBack),
}

/// What a cut dropped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// When the power went.
    pub at_ns: u64,
    /// Which fault it was.
    pub fault: u64,
    /// The policy that made the remainder.
    pub remainder: Remainder,
    /// Which states it held for legal.
    pub profile: Profile,
    /// What it drew from.
    pub seed: u64,
    /// Bytes written and lost, over all files.
    pub bytes: u64,
    /// Files that lost bytes, a length or their name.
    pub files: Vec<LostFile>,
    /// Names taken back, the latest first.
    pub names: Vec<LostName>,
    /// Bytes written, not synced, and kept all the same.
    pub kept_bytes: u64,
    /// Files that have such bytes.
    pub kept_files: Vec<KeptFile>,
    /// Changes of names that nobody synced, and that were kept all the same; the oldest first.
    pub kept_names: Vec<LostName>,
}

/// What one file kept though nobody had synced it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Its path below the mount at the cut.
    pub path: String,
    /// The kept bytes, `[from, to)`.
    pub ranges: Vec<(u64, u64)>,
}

/// Bytes written in one run, of which a cut kept a part and dropped another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mixed {
    /// Where the run begins.
    pub from: u64,
    /// Where it ended.
    pub to: u64,
    /// Where all of it was saved as it was, relative to the folder of lost bytes: what was lost is found by reading
    /// what was there, not its pieces.
    pub saved: String,
}

/// One file's loss.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LostFile {
    /// Its path below the mount at the cut (the path it was removed from, where the removal was taken back).
    pub path: String,
    /// The dropped bytes, `[from, to)`.
    pub ranges: Vec<(u64, u64)>,
    /// Where each range was saved, relative to the folder of lost bytes; as many as `ranges`.
    pub saved: Vec<String>,
    /// The runs of which a part was kept.
    #[serde(default)]
    pub mixed: Vec<Mixed>,
    /// Its length at the cut.
    pub had_length: u64,
    /// Its length now; none where its name went.
    pub left_length: Option<u64>,
}

/// One change of names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum LostName {
    /// A file, folder, link or symlink that is not there any more.
    Created {
        /// Its path below the mount.
        path: String,
    },
    /// A removed name that is there again.
    Removed {
        /// Its path below the mount.
        path: String,
    },
    /// A rename that did not happen.
    Renamed {
        /// The old path, which is there again.
        from: String,
        /// The new path.
        to: String,
        /// Whether something that the rename had replaced is there again.
        replaced: bool,
    },
}

/// A forced write-back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrittenBack {
    /// When.
    pub at_ns: u64,
    /// Which bound was met.
    pub why: Bound,
    /// The file whose data became durable; none for names.
    pub path: Option<String>,
    /// Un-synced bytes, names, or bytes of removed files, whose fate became durable.
    pub amount: u64,
}

/// A bound of [`crate::Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Bytes kept to go back.
    Memory,
    /// Names that are not durable.
    Names,
    /// Bytes of removed files that waited for their folders' syncs: under `posix-strict` they can not come back any more.
    Trash,
}

/// What a cut came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Bytes dropped.
    pub bytes: u64,
    /// Files that lost bytes, a length or their name.
    pub files: u64,
    /// Names taken back.
    pub names: u64,
    /// Bytes kept though nobody had synced them.
    pub kept_bytes: u64,
    /// Names kept though nobody had synced them.
    pub kept_names: u64,
    /// The line of the ledger, as it was written.
    pub line: String,
}

/// Appends one line and returns it.
pub(crate) fn append(ledger: &Path, line: &Line) -> Result<String, DiskError> {
    let host = |why| DiskError::Host {
        what: "append to",
        path: ledger.into(),
        why,
    };
    let mut text = serde_json::to_string(line).map_err(|e| host(e.into()))?;
    text.push('\n');
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(ledger)
        .map_err(host)?;
    file.write_all(text.as_bytes()).map_err(host)?;
    text.pop();
    Ok(text)
}
