//! Open descriptors of the backing folder, by inode: the hot path looks no path up.
use nix::errno::Errno;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// Descriptors kept; half of the usual soft limit of 1024 for a process.
const MAX_OPEN_FILES: usize = 512;

/// The host's answer, as the node shall see it.
pub(crate) fn errno(e: io::Error) -> Errno {
    e.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// A bounded set of descriptors. All can be opened again by path: even a deleted file has one, in the trash.
#[derive(Debug, Default)]
pub(crate) struct Files {
    open: HashMap<u64, (Arc<File>, u64)>,
    clock: u64,
}

impl Files {
    pub(crate) fn cached(&mut self, ino: u64) -> Option<Arc<File>> {
        self.clock += 1;
        let (file, used) = self.open.get_mut(&ino)?;
        *used = self.clock;
        Some(file.clone())
    }

    pub(crate) fn open(&mut self, ino: u64, path: &Path) -> Result<Arc<File>, Errno> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
            .open(path)
            .map_err(errno)?;
        Ok(self.insert(ino, file))
    }

    pub(crate) fn insert(&mut self, ino: u64, file: File) -> Arc<File> {
        if self.open.len() >= MAX_OPEN_FILES {
            self.evict();
        }
        self.clock += 1;
        let file = Arc::new(file);
        self.open.insert(ino, (file.clone(), self.clock));
        file
    }

    pub(crate) fn close(&mut self, ino: u64) {
        self.open.remove(&ino);
    }

    pub(crate) fn close_all(&mut self) {
        self.open.clear();
    }

    /// Closes the older half: a scan now and then, not one an open.
    fn evict(&mut self) {
        let mut ages: Vec<u64> = self.open.values().map(|(_, used)| *used).collect();
        let middle = ages.len() / 2;
        let (_, median, _) = ages.select_nth_unstable(middle);
        let median = *median;
        self.open.retain(|_, (_, used)| *used >= median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_the_latest_stay() {
        let mut files = Files::default();
        for ino in 0..3 * MAX_OPEN_FILES as u64 {
            files.insert(ino, File::open("/dev/null").unwrap());
            assert!(files.open.len() <= MAX_OPEN_FILES);
        }
        assert!(files.cached(3 * MAX_OPEN_FILES as u64 - 1).is_some());
        assert!(files.cached(0).is_none());
    }
}
