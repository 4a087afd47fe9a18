//! Which inode has which names. Paths are made from folders upwards, so renaming a folder touches one node.
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The root's inode number, in FUSE and here.
pub const ROOT: u64 = 1;

/// A name: a folder and an entry of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub(crate) folder: u64,
    pub(crate) name: OsString,
}

impl Name {
    pub(crate) fn new(folder: u64, name: &OsStr) -> Name {
        Name {
            folder,
            name: name.into(),
        }
    }
}

/// A name in the trash. `held` as long as a removal that is not durable would need it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trashed {
    pub(crate) id: u64,
    pub(crate) held: bool,
    /// Room it takes on the host.
    pub(crate) bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The backing folder's number for it.
    backing: u64,
    /// Names that are known; all of them, once the node has been met by each.
    pub(crate) names: Vec<Name>,
    pub(crate) trashed: Vec<Trashed>,
    /// How often the kernel was told of it.
    lookups: u64,
    /// How often it is open.
    pub(crate) opens: u64,
}

/// All nodes met since the disk was opened or settled.
#[derive(Debug)]
pub(crate) struct Nodes {
    nodes: HashMap<u64, Node>,
    by_backing: HashMap<u64, u64>,
    next: u64,
    root: PathBuf,
    trash: PathBuf,
}

impl Nodes {
    pub(crate) fn new(root: PathBuf, trash: PathBuf, root_backing: u64) -> Nodes {
        let node = Node {
            backing: root_backing,
            ..Node::default()
        };
        Nodes {
            nodes: HashMap::from([(ROOT, node)]),
            by_backing: HashMap::from([(root_backing, ROOT)]),
            next: ROOT + 1,
            root,
            trash,
        }
    }

    /// All that were met.
    pub(crate) fn all(&self) -> impl Iterator<Item = u64> + '_ {
        self.nodes.keys().copied()
    }

    pub(crate) fn of_backing(&self, backing: u64) -> Option<u64> {
        self.by_backing.get(&backing).copied()
    }

    pub(crate) fn backing_of(&self, ino: u64) -> Option<u64> {
        self.nodes.get(&ino).map(|node| node.backing)
    }

    pub(crate) fn get(&self, ino: u64) -> Option<&Node> {
        self.nodes.get(&ino)
    }

    pub(crate) fn get_mut(&mut self, ino: u64) -> Option<&mut Node> {
        self.nodes.get_mut(&ino)
    }

    /// The node of a backing inode that was found under a name.
    pub(crate) fn meet(&mut self, backing: u64, name: Name) -> u64 {
        let next = &mut self.next;
        let ino = *self.by_backing.entry(backing).or_insert_with(|| {
            *next += 1;
            *next - 1
        });
        let node = self.nodes.entry(ino).or_insert_with(|| Node {
            backing,
            ..Node::default()
        });
        if ino != ROOT && !node.names.contains(&name) {
            node.names.push(name);
        }
        ino
    }

    pub(crate) fn looked_up(&mut self, ino: u64) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.lookups += 1;
        }
    }

    pub(crate) fn forget(&mut self, ino: u64, count: u64) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.lookups = node.lookups.saturating_sub(count);
        }
        self.sweep(ino);
    }

    pub(crate) fn add_name(&mut self, ino: u64, name: Name) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.names.push(name);
        }
    }

    pub(crate) fn remove_name(&mut self, ino: u64, name: &Name) {
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.names.retain(|n| n != name);
        }
    }

    /// The last name is gone, in the trash as well: the backing number may be used again.
    pub(crate) fn vanish(&mut self, ino: u64) {
        if let Some(node) = self.nodes.get(&ino) {
            self.by_backing.remove(&node.backing);
        }
        self.sweep(ino);
    }

    /// Forgets a node that neither the disk nor the kernel can meet again.
    fn sweep(&mut self, ino: u64) {
        let gone = |n: &Node| n.names.is_empty() && n.trashed.is_empty() && n.lookups == 0 && n.opens == 0;
        if ino != ROOT && self.nodes.get(&ino).is_some_and(gone) {
            self.nodes.remove(&ino);
        }
    }

    /// Where the node is in the host's file system; none once it has vanished.
    pub(crate) fn path(&self, ino: u64) -> Option<PathBuf> {
        let mut below = Vec::new();
        let mut at = ino;
        let top = loop {
            if at == ROOT {
                break self.root.clone();
            }
            let node = self.nodes.get(&at)?;
            if let Some(name) = node.names.first() {
                below.push(name.name.as_os_str());
                at = name.folder;
            } else {
                break self.trash_path(node.trashed.first()?.id);
            }
        };
        Some(below.iter().rev().fold(top, |mut path, name| {
            path.push(name);
            path
        }))
    }

    /// The path below the mount. `removed` has the names of what is in the trash.
    pub(crate) fn label(&self, ino: u64, removed: &HashMap<u64, Name>) -> Option<PathBuf> {
        let mut below = Vec::new();
        let mut at = ino;
        while at != ROOT {
            let name = self.nodes.get(&at)?.names.first().or_else(|| removed.get(&at))?;
            below.push(name.name.as_os_str());
            at = name.folder;
        }
        Some(below.iter().rev().collect())
    }

    pub(crate) fn trash_path(&self, id: u64) -> PathBuf {
        self.trash.join(id.to_string())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}
