//! Replacing a small file whole or not at all, also across a loss of power.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Result, StorageError};
use crate::steps;

/// Writes `bytes` beside `path`, syncs them, renames over `path`, and syncs the folder.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = temporary(path);
    let mut file = File::create(&temporary).map_err(StorageError::io("create", &temporary))?;
    file.write_all(bytes)
        .map_err(StorageError::io("write", &temporary))?;
    file.sync_all().map_err(StorageError::io("sync", &temporary))?;
    steps::file_synced(&temporary);
    fs::rename(&temporary, path).map_err(StorageError::io("rename a new file over", path))?;
    steps::name_changed(path);
    sync_folder_of(path)
}

/// Syncs the names in the folder that holds `path`.
pub(crate) fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    sync_folder(folder)
}

/// Syncs the names in `folder`.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    let opened = File::open(folder).map_err(StorageError::io("open", folder))?;
    opened.sync_all().map_err(StorageError::io("sync", folder))?;
    steps::folder_synced(folder);
    Ok(())
}

/// Reads a file as text; `None` when there is none.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StorageError::io("read", path)(error)),
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
            Err(StorageError::parse(path, line, "it is not UTF-8"))
        }
    }
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = Folder::new();
        let path = folder.file("small");
        for text in ["first, and longer", "second"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(read_text(&path).unwrap().as_deref(), Some(text));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(matches!(
            replace(&folder.file("no/such"), b""),
            Err(StorageError::Io { .. })
        ));
    }

    #[test]
    fn text_that_is_none_is_found_by_its_line() {
        let folder = Folder::new();
        let path = folder.file("binary");
        assert_eq!(read_text(&path).unwrap(), None);
        fs::write(&path, b"one\ntwo\xff").unwrap();
        assert!(matches!(
            read_text(&path),
            Err(StorageError::Parse { line: 2, .. })
        ));
    }
}
