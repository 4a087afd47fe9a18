//! `partition.metadata`: which topic the log in a folder belongs to.
//!
//! Two lines: `version: 0` and `topic_id: <id>`. It keeps a log from being taken for that of a topic
//! created later under the same name.

use std::path::Path;

use uuid::Uuid;

use crate::atomic;
use crate::error::{Result, StorageError};
use crate::kafka_uuid::{format_uuid, parse_uuid};

/// The file's name in a log's folder.
pub const FILE_NAME: &str = "partition.metadata";

/// Reads the topic id; `None` when there is no file.
///
/// # Errors
/// When the file cannot be read, or is not what the format says.
pub fn read(path: &Path) -> Result<Option<Uuid>> {
    let Some(text) = atomic::read_text(path)? else {
        return Ok(None);
    };
    let mut lines = text.lines();
    if lines.next() != Some("version: 0") {
        return Err(StorageError::parse(path, 1, "'version: 0' expected"));
    }
    let id = lines
        .next()
        .and_then(|line| line.strip_prefix("topic_id: "))
        .and_then(parse_uuid);
    match (id, lines.next()) {
        (Some(id), None) => Ok(Some(id)),
        (Some(_), Some(_)) => Err(StorageError::parse(path, 3, "nothing more expected")),
        (None, _) => Err(StorageError::parse(
            path,
            2,
            "'topic_id: ' and an id of 22 characters expected",
        )),
    }
}

/// Replaces the file, synced.
///
/// # Errors
/// When the disk refuses.
pub fn write(path: &Path, topic_id: Uuid) -> Result<()> {
    atomic::replace(
        path,
        format!("version: 0\ntopic_id: {}\n", format_uuid(topic_id)).as_bytes(),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::Folder;

    #[test]
    fn what_was_written_is_read() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        assert_eq!(read(&path).unwrap(), None);
        write(&path, Uuid::from_u128(1)).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"
        );
        assert_eq!(read(&path).unwrap(), Some(Uuid::from_u128(1)));
    }

    #[test]
    fn bad_files_are_errors_with_a_line() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        for (text, bad_line) in [
            ("", 1),
            ("version: 1\n", 1),
            ("version: 0\n", 2),
            ("version: 0\ntopic_id: short\n", 2),
            ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\nmore\n", 3),
        ] {
            fs::write(&path, text).unwrap();
            match read(&path) {
                Err(StorageError::Parse { line, .. }) => assert_eq!(line, bad_line, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }
}
