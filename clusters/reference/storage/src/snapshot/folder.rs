//! The snapshots of a folder.

use std::fs;
use std::path::Path;

use super::{SnapshotId, temporary};
use crate::atomic;
use crate::error::{Result, StorageError};
use crate::steps;

/// The snapshots in `folder`, oldest first. Files that are none are passed over, unfinished ones too.
///
/// # Errors
/// When the disk refuses.
pub fn list(folder: &Path) -> Result<Vec<SnapshotId>> {
    let mut found: Vec<_> = names(folder)?
        .iter()
        .filter_map(|name| SnapshotId::parse(name))
        .collect();
    found.sort();
    Ok(found)
}

/// The newest snapshot in `folder`, if there is any.
///
/// # Errors
/// When the disk refuses.
pub fn newest(folder: &Path) -> Result<Option<SnapshotId>> {
    Ok(list(folder)?.pop())
}

/// Removes what a process that ended left unfinished, and returns how many files that were. To be called
/// once, before anything else is done in `folder`: nothing may be under construction there. It also makes
/// the names durable that the ended process gave.
///
/// # Errors
/// When the disk refuses.
pub fn clean(folder: &Path) -> Result<usize> {
    let mut removed = 0;
    for name in names(folder)?.iter().filter(|name| temporary::is_leftover(name)) {
        remove(&folder.join(name))?;
        removed += 1;
    }
    atomic::sync_folder(folder)?;
    Ok(removed)
}

/// Removes the snapshots older than `id`, and returns which. The newest stays whatever `id` says, the
/// bootstrap snapshot too while it is that.
///
/// # Errors
/// When the disk refuses.
pub fn remove_older_than(folder: &Path, id: SnapshotId) -> Result<Vec<SnapshotId>> {
    let mut old = list(folder)?;
    old.pop();
    old.retain(|snapshot| *snapshot < id);
    if old.is_empty() {
        return Ok(old);
    }
    // The newest's name must be durable before those go that it replaces, whoever gave it.
    atomic::sync_folder(folder)?;
    for snapshot in &old {
        remove(&snapshot.path(folder))?;
    }
    atomic::sync_folder(folder)?;
    Ok(old)
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(StorageError::io("remove", path))?;
    steps::name_changed(path);
    Ok(())
}

/// Names that are not UTF-8 are nobody's here.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let names = entries.map_err(StorageError::io("list", folder))?;
    Ok(names
        .into_iter()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect())
}
