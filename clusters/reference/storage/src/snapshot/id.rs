//! The name of a snapshot.

use std::fmt;
use std::path::{Path, PathBuf};

/// Digits of the end offset in a name.
const OFFSET_DIGITS: usize = 20;
/// Digits of the epoch in a name.
const EPOCH_DIGITS: usize = 10;
const SUFFIX: &str = ".checkpoint";

/// Which snapshot: ordered by what it contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId {
    /// The offset after the last record that it stands for: the log goes on here.
    pub end_offset: i64,
    /// The leader epoch of that last record.
    pub epoch: i32,
}

impl SnapshotId {
    /// The snapshot a cluster begins with, made when the folder is formatted.
    pub const BOOTSTRAP: Self = Self {
        end_offset: 0,
        epoch: 0,
    };

    /// The name of its file.
    pub fn file_name(self) -> String {
        format!("{self}{SUFFIX}")
    }

    /// Its file in `folder`.
    pub fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.file_name())
    }

    /// Reads the name of a file; `None` when it is not one of a finished snapshot.
    pub fn parse(file_name: &str) -> Option<Self> {
        let (offset, epoch) = file_name.strip_suffix(SUFFIX)?.split_once('-')?;
        Some(Self {
            end_offset: digits(offset, OFFSET_DIGITS)?.parse().ok()?,
            epoch: digits(epoch, EPOCH_DIGITS)?.parse().ok()?,
        })
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{:0OFFSET_DIGITS$}-{:0EPOCH_DIGITS$}",
            self.end_offset, self.epoch
        )
    }
}

/// `text`, if it is so many decimal digits and nothing else.
fn digits(text: &str, count: usize) -> Option<&str> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}
