//! What faults ask of the model: what a call is on, and changes behind its back.
use super::Model;
use crate::DiskError;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;

impl Model {
    /// Where a node is, below the mount; none once it is deleted.
    pub(crate) fn path_of(&self, ino: u64) -> Option<String> {
        let path = self.nodes.label(ino, &HashMap::new())?;
        Some(path.to_string_lossy().into_owned())
    }

    /// Where a name is, below the mount.
    pub(crate) fn path_in(&self, folder: u64, name: &OsStr) -> Option<String> {
        let path = self.nodes.label(folder, &HashMap::new())?.join(name);
        Some(path.to_string_lossy().into_owned())
    }

    /// A file's length; 0 for what is none.
    pub(crate) fn length(&mut self, ino: u64) -> u64 {
        self.attr(ino)
            .ok()
            .filter(|attr| attr.meta.is_file())
            .map_or(0, |attr| attr.meta.len())
    }

    /// How many bytes of room there are once a name is gone.
    pub(crate) fn bytes_in(&self, folder: u64, name: &OsStr) -> u64 {
        let there = self.nodes.path(folder).map(|path| path.join(name));
        let meta = there.and_then(|path| fs::symlink_metadata(path).ok());
        let last = |meta: &fs::Metadata| meta.is_file() && meta.nlink() == 1;
        meta.filter(last).map_or(0, |meta| meta.len())
    }

    /// All nodes that the kernel was told of, and where they are.
    pub(crate) fn known(&self) -> Vec<(u64, String)> {
        let inos = self.nodes.all();
        inos.filter_map(|ino| Some((ino, self.path_of(ino)?))).collect()
    }

    /// The node of a backing file, where it was met.
    pub(crate) fn node_of(&self, backing: u64) -> Option<u64> {
        self.nodes.of_backing(backing)
    }

    /// The backing file of a node.
    pub(crate) fn backing_of(&self, ino: u64) -> Option<u64> {
        self.nodes.backing_of(ino)
    }

    /// What was written to a file is written back now, as a kernel may at any time.
    pub(crate) fn write_back(&mut self, ino: u64) {
        self.data_durable(ino);
    }

    /// A durable byte that was written over, and would come back by a cut, is another.
    pub(crate) fn mend_before(&mut self, ino: u64, at: u64, bad: u8, good: u8) {
        if let Some(state) = self.unsynced.get_mut(&ino) {
            state.mend_before(at, bad, good);
        }
    }

    /// Takes what is in the backing folder now as durable, as at the opening. Nobody may use the disk meanwhile.
    pub(crate) fn reopen(&mut self) -> Result<(), DiskError> {
        *self = Model::open(self.paths.clone(), self.limits)?;
        Ok(())
    }

    /// The folders.
    pub(crate) fn paths(&self) -> &crate::DiskPaths {
        &self.paths
    }
}
