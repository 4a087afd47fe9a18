//! `meta.properties`: to which cluster and node a data folder belongs.
//!
//! Lines `key=value`; `#` begins a comment. `version` is 1; keys that are not known are ignored.

use std::collections::BTreeMap;
use std::path::Path;

use uuid::Uuid;

use crate::atomic;
use crate::error::{Result, StorageError};
use crate::kafka_uuid::{format_uuid, parse_uuid};

/// The file's name in a data folder.
pub const FILE_NAME: &str = "meta.properties";

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaProperties {
    /// The cluster, as text: Kafka lets it be any string.
    pub cluster_id: String,
    /// The node.
    pub node_id: i32,
    /// The data folder's own id.
    pub directory_id: Uuid,
}

impl MetaProperties {
    /// Reads the file; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the format says.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let Some(text) = atomic::read_text(path)? else {
            return Ok(None);
        };
        let lines = Lines::parse(path, &text)?;
        lines.get("version", |version| (version == "1").then_some(()))?;
        Ok(Some(Self {
            cluster_id: lines.get("cluster.id", |id| (!id.is_empty()).then(|| id.to_owned()))?,
            node_id: lines.get("node.id", |id| id.parse().ok().filter(|&id: &i32| id >= 0))?,
            directory_id: lines.get("directory.id", parse_uuid)?,
        }))
    }

    /// Replaces the file, synced.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = format!(
            "version=1\ncluster.id={}\nnode.id={}\ndirectory.id={}\n",
            self.cluster_id,
            self.node_id,
            format_uuid(self.directory_id)
        );
        atomic::replace(path, text.as_bytes())
    }
}

/// The file's properties, each with its line.
struct Lines<'a> {
    path: &'a Path,
    values: BTreeMap<&'a str, (usize, &'a str)>,
    count: usize,
}

impl<'a> Lines<'a> {
    fn parse(path: &'a Path, text: &'a str) -> Result<Self> {
        let mut values = BTreeMap::new();
        let mut count = 0;
        for line in text.lines() {
            count += 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = line.split_once('=').ok_or_else(|| {
                StorageError::parse(path, count, format!("'key=value' expected, found '{line}'"))
            })?;
            values.insert(key.trim(), (count, value.trim()));
        }
        Ok(Self { path, values, count })
    }

    fn get<T>(&self, key: &str, convert: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        let Some(&(line, value)) = self.values.get(key) else {
            return Err(StorageError::parse(
                self.path,
                self.count.max(1),
                format!("no '{key}' in the file"),
            ));
        };
        convert(value)
            .ok_or_else(|| StorageError::parse(self.path, line, format!("'{value}' is no value of '{key}'")))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::Folder;

    fn sample() -> MetaProperties {
        let directory_id = Uuid::from_u128(1);
        MetaProperties {
            cluster_id: "night".into(),
            node_id: 3,
            directory_id,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        assert_eq!(MetaProperties::read(&path).unwrap(), None);
        sample().write(&path).unwrap();
        assert_eq!(MetaProperties::read(&path).unwrap(), Some(sample()));
    }

    #[test]
    fn comments_and_unknown_keys_do_no_harm() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        let text = "#\n#Mon Jan 01\n\n node.id = 3\nversion=1\nfuture=x=y\ncluster.id=night\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ";
        fs::write(&path, text).unwrap();
        assert_eq!(MetaProperties::read(&path).unwrap(), Some(sample()));
    }

    #[test]
    fn bad_files_are_errors_with_a_line() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        let rest = "cluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n";
        for (text, bad_line) in [
            (String::new(), 1),
            ("version=1\nnonsense\n".into(), 2),
            (format!("version=2\nnode.id=1\n{rest}"), 1),
            (format!("version=1\nnode.id=-1\n{rest}"), 2),
            (format!("version=1\n{rest}"), 3),
            ("version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n".into(), 4),
        ] {
            fs::write(&path, &text).unwrap();
            match MetaProperties::read(&path) {
                Err(StorageError::Parse { line, .. }) => assert_eq!(line, bad_line, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }
}
