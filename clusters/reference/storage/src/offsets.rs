//! Checkpoints of one offset per partition: high watermarks, recovery points, log starts.
//!
//! Format: a line `0` (the version), a line with the number of entries, then `topic partition offset`.
//! A missing file is an empty checkpoint. Not checked: that a topic or partition exists.

use std::collections::BTreeMap;
use std::path::Path;

use crate::atomic;
use crate::error::{Result, StorageError};

/// High watermarks of the partitions of a log folder.
pub const HIGH_WATERMARKS_FILE: &str = "replication-offset-checkpoint";
/// Offsets up to which a log is known to be on the disk.
pub const RECOVERY_POINTS_FILE: &str = "recovery-point-offset-checkpoint";
/// Log start offsets.
pub const LOG_STARTS_FILE: &str = "log-start-offset-checkpoint";

const VERSION: &str = "0";

/// The offsets of a checkpoint, by topic and partition.
pub type Offsets = BTreeMap<(String, i32), i64>;

/// Reads a checkpoint.
///
/// # Errors
/// When it cannot be read, or is not what the format says.
pub fn read(path: &Path) -> Result<Offsets> {
    let Some(text) = atomic::read_text(path)? else {
        return Ok(Offsets::new());
    };
    let mut offsets = Offsets::new();
    for (number, line) in checkpoint_lines(path, &text, VERSION)? {
        let bad = |reason| StorageError::parse(path, number, reason);
        let (partition, offset) = parse_entry(line)
            .ok_or_else(|| bad(format!("'topic partition offset' expected, found '{line}'")))?;
        if offsets.insert(partition, offset).is_some() {
            return Err(bad("the partition occurs twice".into()));
        }
    }
    Ok(offsets)
}

/// Replaces a checkpoint, synced.
///
/// # Errors
/// When the disk refuses.
pub fn write(path: &Path, offsets: &Offsets) -> Result<()> {
    let mut text = format!("{VERSION}\n{}\n", offsets.len());
    for ((topic, partition), offset) in offsets {
        text.push_str(&format!("{topic} {partition} {offset}\n"));
    }
    atomic::replace(path, text.as_bytes())
}

/// What a stored high watermark means for the log as it was found: never above its end, which a loss of
/// power may have moved back, nor below its start. Unknown means the start.
pub fn clamp_high_watermark(stored: Option<i64>, log_start: i64, log_end: i64) -> i64 {
    stored.unwrap_or(log_start).min(log_end).max(log_start)
}

fn parse_entry(line: &str) -> Option<((String, i32), i64)> {
    let mut fields = line.split(' ');
    let (topic, partition, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let partition: i32 = partition.parse().ok().filter(|&partition| partition >= 0)?;
    let offset = offset.parse().ok().filter(|&offset| offset >= 0)?;
    (!topic.is_empty() && fields.next().is_none()).then(|| ((topic.to_owned(), partition), offset))
}

/// The entries of a checkpoint with their line numbers, once version and count are found right.
pub(crate) fn checkpoint_lines<'a>(
    path: &Path,
    text: &'a str,
    version: &str,
) -> Result<Vec<(usize, &'a str)>> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    match lines.next() {
        Some((_, found)) if found == version => {}
        found => {
            let found = found.map_or("nothing", |(_, line)| line);
            return Err(StorageError::parse(
                path,
                1,
                format!("version '{version}' expected, found '{found}'"),
            ));
        }
    }
    let count: usize = lines
        .next()
        .and_then(|(_, line)| line.parse().ok())
        .ok_or_else(|| StorageError::parse(path, 2, "the number of entries expected"))?;
    let entries: Vec<_> = lines.collect();
    if entries.len() != count {
        let reason = format!("{count} entries announced, {} found", entries.len());
        return Err(StorageError::parse(path, 2, reason));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::Folder;

    #[test]
    fn the_file_is_kafkas() {
        let folder = Folder::new();
        let path = folder.file(HIGH_WATERMARKS_FILE);
        assert!(read(&path).unwrap().is_empty());
        let offsets = Offsets::from([(("b".into(), 0), 5), (("a".into(), 1), 7)]);
        write(&path, &offsets).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "0\n2\na 1 7\nb 0 5\n");
        assert_eq!(read(&path).unwrap(), offsets);
    }

    #[test]
    fn bad_files_are_errors_with_a_line() {
        let folder = Folder::new();
        let path = folder.file(HIGH_WATERMARKS_FILE);
        for (text, bad_line) in [
            ("0\n1\na 0\n", 3),
            ("0\n1\na 0 1 2\n", 3),
            ("0\n1\na -1 1\n", 3),
            ("0\n1\na 0 -1\n", 3),
            ("0\n1\n 0 1\n", 3),
            ("0\n2\na 0 1\na 0 2\n", 4),
            ("0\n3\na 0 1\n", 2),
        ] {
            fs::write(&path, text).unwrap();
            match read(&path) {
                Err(StorageError::Parse { line, .. }) => assert_eq!(line, bad_line, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_high_watermark_is_kept_within_the_log() {
        assert_eq!(clamp_high_watermark(Some(5), 2, 9), 5);
        assert_eq!(clamp_high_watermark(Some(50), 2, 9), 9);
        assert_eq!(clamp_high_watermark(Some(1), 2, 9), 2);
        assert_eq!(clamp_high_watermark(None, 2, 9), 2);
    }
}
