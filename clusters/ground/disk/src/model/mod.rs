//! The durability model: which bytes and names of a backing folder would survive a cut.
//!
//! Pure in this sense: time is an argument, nothing is random, no thread, no FUSE. The backing folder always
//! holds the current state. For each file that is not wholly durable the model keeps the durable length and the
//! durable bytes of changed pages; for names it keeps a journal of what to take back. A sync forgets them.
//!
//! The rules of [`crate::Profile::Ext4`]:
//! - A sync of a file makes its data durable, and commits the journal: all earlier names and lengths, of
//!   whatever file. A sync of a folder commits the journal. A write with O_SYNC or O_DSYNC is a write and a sync.
//! - The journal commits no data: a file whose name is durable and whose data are not is left with the length
//!   that was durable, which is 0 if it is new. Growing by a write follows the data, but for the rest of the last
//!   block that was there; that growth, a truncation, or growing by ftruncate or fallocate, follows the journal, and
//!   reads as zeros.
//! - What is old enough is written back unasked, names and data apart.
//!
//! Under [`crate::Profile::PosixStrict`] data and lengths are the same, and names follow the syncs of their folders:
//! see `journal`. Both are tracked at once, since only the cut says which of them is asked for.
mod choice;
mod data;
mod gone;
mod harm;
mod journal;
mod names;
mod nodes;
mod settle;
mod unsynced;

pub(crate) use data::extents;
pub use data::{Allocate, Writer};
pub use names::{Entry, Owner, Special, allocation, special};
pub use nodes::ROOT;

use crate::backing::{Files, errno};
use crate::ledger::{self, Bound, Line, WrittenBack};
use crate::{DiskError, DiskPaths};
use gone::Gone;
use journal::Journal;
use nix::errno::Errno;
use nodes::Nodes;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use unsynced::Unsynced;

/// ext4's default `commit=5`.
pub const NAMES_WRITTEN_BACK_AFTER: Duration = Duration::from_secs(5);
/// Linux' default `dirty_expire_centisecs`.
pub const DATA_WRITTEN_BACK_AFTER: Duration = Duration::from_secs(30);

/// Bounds on what a disk keeps to go back.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of pre-images and ranges. Several disks share a laptop's memory.
    pub memory: usize,
    /// Changes of names that could be taken back; a burst of five seconds has far fewer.
    pub names: usize,
    /// Bytes of removed files that wait on the host only for their folder's sync, which may never come.
    pub trash: u64,
    /// Bytes of removed files in all. Above it the journal is committed early, as by a kernel whose own journal is full.
    pub removed: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory: 64 << 20,
            names: 1 << 16,
            trash: 256 << 20,
            removed: 512 << 20,
        }
    }
}

/// Attributes of a node, as the node's kernel shall see them.
#[derive(Debug, Clone)]
pub struct Attr {
    /// The number it has in the mount.
    pub ino: u64,
    /// Names it has; those in the trash do not count.
    pub nlink: u32,
    /// All else.
    pub meta: Metadata,
}

/// The model. Errors are what the node shall see.
#[derive(Debug)]
pub struct Model {
    paths: DiskPaths,
    limits: Limits,
    nodes: Nodes,
    files: Files,
    journal: Journal,
    unsynced: HashMap<u64, Unsynced>,
    /// Pages that a failed sync has given up.
    gone: HashMap<u64, Gone>,
    /// Files by the generation of their state: the oldest first.
    oldest: BTreeMap<u64, u64>,
    generations: u64,
    memory: usize,
    /// Room that the trash takes on the host.
    trash_bytes: u64,
    /// When the power went.
    off_since: Option<Duration>,
    /// A line of the ledger could not be written: told once, by [`Model::take_trouble`].
    trouble: Option<DiskError>,
    forced: u64,
}

impl Model {
    /// Takes what is in the backing folder as durable. Makes the folders that are not there.
    pub fn open(paths: DiskPaths, limits: Limits) -> Result<Model, DiskError> {
        for folder in [&paths.backing, &paths.trash, &paths.lost] {
            fs::create_dir_all(folder).map_err(host("make", folder))?;
        }
        let nodes = fresh_nodes(&paths)?;
        Ok(Model {
            paths,
            limits,
            nodes,
            files: Files::default(),
            journal: Journal::default(),
            unsynced: HashMap::new(),
            gone: HashMap::new(),
            oldest: BTreeMap::new(),
            generations: 0,
            memory: 0,
            trash_bytes: 0,
            off_since: None,
            trouble: None,
            forced: 0,
        })
    }

    /// Writes back what has become old enough.
    pub fn tick(&mut self, now: Duration) {
        if self.off_since.is_some() {
            return;
        }
        let due = self.journal.older_than(now, NAMES_WRITTEN_BACK_AFTER);
        self.commit(due);
        while let Some((_, ino)) = self.oldest.first_key_value() {
            let ino = *ino;
            let old = self
                .unsynced
                .get(&ino)
                .is_none_or(|u| now.saturating_sub(u.since) >= DATA_WRITTEN_BACK_AFTER);
            if !old {
                break;
            }
            self.data_durable(ino);
        }
    }

    /// The cut: from here on nothing becomes durable. Late writes from the node's page cache are still taken in,
    /// as un-synced; everything else that would change the disk, and every sync, is EIO.
    pub fn power_off(&mut self, now: Duration) {
        self.tick(now);
        self.off_since.get_or_insert(now);
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        self.off_since.is_some()
    }

    /// Bytes kept to go back.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Bytes written and not durable.
    pub fn unsynced_bytes(&self) -> u64 {
        self.unsynced.values().map(|u| u.written.bytes()).sum()
    }

    /// Names that ext4 has not committed.
    pub fn unsynced_names(&self) -> usize {
        self.journal.uncommitted()
    }

    /// Bytes of removed files that are still on the host.
    pub fn trash_bytes(&self) -> u64 {
        self.trash_bytes
    }

    /// Write-backs that a bound forced.
    pub fn forced(&self) -> u64 {
        self.forced
    }

    /// A failure of the ledger that has not been told yet.
    pub fn take_trouble(&mut self) -> Option<DiskError> {
        self.trouble.take()
    }

    fn powered(&self) -> Result<(), Errno> {
        if self.is_off() { Err(Errno::EIO) } else { Ok(()) }
    }

    /// Attributes of a node.
    pub fn attr(&mut self, ino: u64) -> Result<Attr, Errno> {
        let meta = match self.files.cached(ino) {
            Some(file) => file.metadata().map_err(errno)?,
            None => fs::symlink_metadata(self.path(ino)?).map_err(errno)?,
        };
        self.attr_of(ino, meta)
    }

    fn attr_of(&self, ino: u64, meta: Metadata) -> Result<Attr, Errno> {
        let node = self.nodes.get(ino).ok_or(Errno::ESTALE)?;
        let hidden = match (meta.is_dir(), node.trashed.is_empty()) {
            (true, false) => meta.nlink(),
            (true, true) => 0,
            (false, _) => node.trashed.len() as u64,
        };
        let nlink = meta.nlink().saturating_sub(hidden) as u32;
        Ok(Attr { ino, nlink, meta })
    }

    fn path(&self, ino: u64) -> Result<std::path::PathBuf, Errno> {
        self.nodes.path(ino).ok_or(Errno::ESTALE)
    }

    /// The file's data are durable as they are now.
    fn data_durable(&mut self, ino: u64) {
        if let Some(was) = self.unsynced.remove(&ino) {
            self.memory -= was.cost();
            self.oldest.remove(&was.generation);
        }
        if self.gone.get_mut(&ino).is_some_and(Gone::synced) {
            self.gone.remove(&ino);
        }
    }

    /// Writes the oldest back until the bounds hold again.
    fn enforce(&mut self, now: Duration) {
        if self.is_off() {
            return;
        }
        if self.journal.len() > self.limits.names {
            let (durable, newest) = self.journal.take_oldest(self.journal.len().div_ceil(2));
            let half = durable.len() as u64;
            self.commit(newest);
            self.let_all_go(durable);
            self.say_written_back(now, Bound::Names, None, half);
        }
        if self.trash_bytes > self.limits.removed {
            self.commit(self.journal.newest());
        }
        if self.trash_bytes > self.limits.trash {
            self.clear_trash(now);
        }
        while self.memory > self.limits.memory {
            let Some((_, ino)) = self.oldest.first_key_value() else {
                break;
            };
            self.force(now, *ino);
        }
    }

    /// Lets the oldest removals go that ext4 has committed, down to half the bound.
    fn clear_trash(&mut self, now: Duration) {
        let was = self.trash_bytes;
        while self.trash_bytes > self.limits.trash / 2 {
            let Some(durable) = self.journal.take_committed() else {
                break;
            };
            self.let_all_go(vec![durable]);
        }
        if self.trash_bytes < was {
            self.say_written_back(now, Bound::Trash, None, was - self.trash_bytes);
        }
    }

    fn force(&mut self, now: Duration, ino: u64) {
        let amount = self.unsynced.get(&ino).map_or(0, |u| u.written.bytes());
        self.data_durable(ino);
        self.say_written_back(now, Bound::Memory, Some(ino), amount);
    }

    fn say_written_back(&mut self, now: Duration, why: Bound, ino: Option<u64>, amount: u64) {
        let path = ino.and_then(|i| self.nodes.label(i, &HashMap::new()));
        let path = path.map(|p| p.to_string_lossy().into_owned());
        let line = Line::WrittenBack(WrittenBack {
            at_ns: nanos(now),
            why,
            path,
            amount,
        });
        self.forced += 1;
        if let Err(e) = ledger::append(&self.paths.ledger, &line) {
            self.trouble = Some(e);
        }
    }
}

fn nanos(at: Duration) -> u64 {
    // 2^64 ns are 584 years of uptime.
    at.as_nanos().min(u64::MAX as u128) as u64
}

/// No node but the root, and an empty trash.
fn fresh_nodes(paths: &DiskPaths) -> Result<Nodes, DiskError> {
    let read = |what| host(what, &paths.trash);
    for entry in fs::read_dir(&paths.trash).map_err(read("read"))? {
        let entry = entry.map_err(read("read"))?;
        let folder = entry.file_type().map_err(read("read"))?.is_dir();
        let gone = if folder {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        gone.map_err(host("remove", &entry.path()))?;
    }
    let root = fs::metadata(&paths.backing).map_err(host("read", &paths.backing))?;
    Ok(Nodes::new(paths.backing.clone(), paths.trash.clone(), root.ino()))
}

fn host(what: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> DiskError {
    let path = path.to_path_buf();
    move |why| DiskError::Host { what, path, why }
}
