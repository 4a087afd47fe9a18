//! A file that has no snapshot's name yet.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::SnapshotId;
use crate::atomic;
use crate::error::{Result, StorageError};
use crate::steps;

/// How the name of a snapshot under construction ends.
const SUFFIX: &str = ".checkpoint.part";
/// How Kafka's name of one that is being removed ends.
const DELETED_SUFFIX: &str = ".checkpoint.deleted";

/// Whether a name is that of a snapshot which was being written, or removed by Kafka, when its process
/// ended.
pub(super) fn is_leftover(file_name: &str) -> bool {
    file_name.ends_with(SUFFIX) || file_name.ends_with(DELETED_SUFFIX)
}

/// The file; removed when it is dropped before it got its name.
#[derive(Debug)]
pub(super) struct Temporary {
    folder: PathBuf,
    id: SnapshotId,
    path: PathBuf,
    file: File,
    named: bool,
}

impl Temporary {
    /// Makes one for `id` in `folder`. As in Kafka a part of the name tells apart those that are written
    /// at once: one may be fetched from a leader while another is made here.
    pub(super) fn create(folder: &Path, id: SnapshotId) -> Result<Self> {
        if id.end_offset < 0 || id.epoch < 0 {
            let reason = "a snapshot has neither a negative end offset nor a negative epoch".to_owned();
            return Err(StorageError::snapshot(&id.path(folder), 0, reason));
        }
        let mut number: u64 = 0;
        loop {
            let path = folder.join(format!("{id}-{number}{SUFFIX}"));
            let opened = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&path);
            match opened {
                Ok(file) => {
                    steps::name_changed(&path);
                    return Ok(Self {
                        folder: folder.to_owned(),
                        id,
                        path,
                        file,
                        named: false,
                    });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(StorageError::io("create", &path)(error)),
            }
        }
    }

    pub(super) fn id(&self) -> SnapshotId {
        self.id
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Syncs the file, and only then gives it its name, durably. Returns it, still open.
    pub(super) fn name(mut self) -> Result<File> {
        let file = self.file.try_clone();
        let file = file.map_err(StorageError::io("open once more", &self.path))?;
        self.file
            .sync_all()
            .map_err(StorageError::io("sync", &self.path))?;
        steps::file_synced(&self.path);
        let name = self.id.path(&self.folder);
        fs::rename(&self.path, &name).map_err(StorageError::io("rename a new file over", &name))?;
        self.named = true;
        steps::name_changed(&name);
        atomic::sync_folder(&self.folder)?;
        Ok(file)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.named {
            // Whoever drops it has an error of its own to tell, or none; `clean` takes what stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}
