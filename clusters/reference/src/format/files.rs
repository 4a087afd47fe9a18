//! The files that formatting writes, in the order that makes the last of them mean that all are there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use raft::VoterSet;
use storage::meta_properties::{self, MetaProperties};
use storage::{SnapshotHeader, SnapshotId, SnapshotWriter, StorageError};

use super::{Levels, bootstrap};
use crate::clock::Clock;
use crate::failure::Failure;
use crate::quorum::{METADATA_FOLDER, control};

/// Refuses a folder whose metadata log lost its `meta.properties`: what is in it may be all that is left of
/// a cluster.
pub(super) fn check_empty(what: &str, folder: &Path) -> Result<(), Failure> {
    let metadata = folder.join(METADATA_FOLDER);
    let leftover = SnapshotId::BOOTSTRAP.file_name();
    let entries = match fs::read_dir(&metadata) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::other(what, error.to_string(), "Correct log.dirs.")),
    };
    for entry in entries.flatten() {
        // The snapshot that a format writes, under its own name or a passing one, before it was interrupted.
        if !entry.file_name().to_string_lossy().starts_with(&leftover) {
            return Err(Failure::other(
                what,
                format!(
                    "It has no meta.properties, and yet a metadata log: {}.",
                    entry.path().display()
                ),
                "Restore its meta.properties, or use an empty folder.",
            ));
        }
    }
    Ok(())
}

/// Writes everything, each file durable before the next.
pub(super) fn write(
    folder: &Path,
    properties: &MetaProperties,
    levels: &Levels,
    first_voters: Option<&VoterSet>,
) -> Result<(), StorageError> {
    make_durable(folder)?;
    let metadata = folder.join(METADATA_FOLDER);
    if metadata.exists() {
        // Left by a format that was interrupted, see `check_empty`.
        fs::remove_dir_all(&metadata).map_err(refused("remove", &metadata))?;
    }
    if let Some(voters) = first_voters {
        make_durable(&metadata)?;
        write_first_snapshot(&metadata, voters)?;
    }
    bootstrap::write(folder, levels)?;
    sync(folder)?;
    // Last: it is what says that the folder is formatted.
    properties.write(&folder.join(meta_properties::FILE_NAME))
}

/// The snapshot that a log begins with: no metadata, only who votes.
fn write_first_snapshot(folder: &Path, voters: &VoterSet) -> Result<(), StorageError> {
    let now_ms = Clock::start().wall_ms();
    let quorum = control::header_records(voters)
        .map_err(|why| refused("write the first voters into", folder)(std::io::Error::other(why)))?;
    let header = SnapshotHeader {
        last_contained_log_timestamp: now_ms,
        quorum,
    };
    SnapshotWriter::create(folder, SnapshotId::BOOTSTRAP, &header, now_ms)?.finish()?;
    Ok(())
}

/// Makes the folder and whatever lies above it, and syncs each name that was made.
fn make_durable(folder: &Path) -> Result<(), StorageError> {
    let missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .map(Path::to_owned)
        .collect();
    fs::create_dir_all(folder).map_err(refused("make the folder", folder))?;
    for made in missing {
        sync(match made.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        })?;
    }
    Ok(())
}

fn sync(folder: &Path) -> Result<(), StorageError> {
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(refused("sync", folder))
}

pub(super) fn refused(tried: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StorageError {
    let path = path.to_owned();
    move |source| StorageError::Io { tried, path, source }
}
