//! Names: what makes and removes them.
//!
//! A removed name always moves to the trash, so that taking it back is one rename and a deleted file that is
//! still open has a path. It leaves the trash when its removal is durable and nobody has it open.
use super::data::Allocate;
use super::journal::Undo;
use super::nodes::{Name, ROOT, Trashed};
use super::{Attr, Model};
use crate::backing::errno;
use nix::errno::Errno;
use nix::sys::stat::{Mode, SFlag, mknod};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, FileType, Metadata, OpenOptions, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{
    DirBuilderExt, DirEntryExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// stat(2) counts room in these.
const BLOCK: u64 = 512;

/// One entry of a folder.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The number it has in the mount.
    pub ino: u64,
    /// What it is.
    pub kind: FileType,
    /// Its name.
    pub name: OsString,
}

/// Whose a new node is: user and group.
pub type Owner = Option<(u32, u32)>;

/// A node that is not a file, folder or symlink.
#[derive(Debug, Clone, Copy)]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}

impl Model {
    /// ext4's journal commits all up to a number.
    pub(super) fn commit(&mut self, number: u64) {
        for length in self.journal.commit(number) {
            self.commit_length(length);
        }
    }

    /// These changes are durable in every sense.
    pub(super) fn let_all_go(&mut self, durable: Vec<Undo>) {
        for (ino, trash) in durable.iter().filter_map(Undo::trashed) {
            self.let_go(ino, trash);
        }
    }

    /// The removal behind a name in the trash is durable.
    fn let_go(&mut self, ino: u64, trash: u64) {
        let Some(node) = self.nodes.get_mut(ino) else {
            return;
        };
        if let Some(t) = node.trashed.iter_mut().find(|t| t.id == trash) {
            t.held = false;
            self.trash_bytes -= t.bytes;
        }
        self.clear_orphan(ino);
    }

    /// Removes from the trash what nothing holds, unless it is all that is left of an open file.
    pub(super) fn clear_orphan(&mut self, ino: u64) {
        let Some(node) = self.nodes.get(ino) else { return };
        if node.trashed.iter().all(|t| t.held) {
            return;
        }
        // An open file needs a path; so does one that has names the disk has not met yet.
        let nameless = node.names.is_empty();
        let needed = nameless && (node.opens > 0 || self.has_unmet_names(ino));
        let Some(node) = self.nodes.get(ino) else { return };
        let (stay, go): (Vec<Trashed>, Vec<Trashed>) = node.trashed.iter().partition(|t| t.held || needed);
        for t in &go {
            let path = self.nodes.trash_path(t.id);
            // What cannot be removed is only room on the host, and the next opening empties the trash.
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        }
        let vanished = nameless && stay.is_empty();
        if let Some(node) = self.nodes.get_mut(ino) {
            node.trashed = stay;
        }
        if vanished {
            self.files.close(ino);
            self.data_durable(ino);
            self.gone.remove(&ino);
            self.nodes.vanish(ino);
        }
    }

    fn has_unmet_names(&mut self, ino: u64) -> bool {
        self.attr(ino).is_ok_and(|a| a.nlink > 0)
    }

    /// Where a name of a folder is, on the host. A removed folder has no names.
    fn place(&self, folder: u64, name: &OsStr) -> Result<PathBuf, Errno> {
        let bytes = name.as_bytes();
        if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
            return Err(Errno::EINVAL);
        }
        let node = self.nodes.get(folder).ok_or(Errno::ESTALE)?;
        if folder != ROOT && node.names.is_empty() {
            return Err(Errno::ENOENT);
        }
        Ok(self.path(folder)?.join(name))
    }

    /// What is there, as a node.
    fn found(&mut self, folder: u64, name: &OsStr) -> Result<(u64, PathBuf, Metadata), Errno> {
        let path = self.place(folder, name)?;
        let meta = fs::symlink_metadata(&path).map_err(errno)?;
        let ino = self.nodes.meet(meta.ino(), Name::new(folder, name));
        Ok((ino, path, meta))
    }

    /// Finds a name, and counts that the kernel knows its node now.
    pub fn lookup(&mut self, folder: u64, name: &OsStr) -> Result<Attr, Errno> {
        let (ino, _, meta) = self.found(folder, name)?;
        self.nodes.looked_up(ino);
        self.attr_of(ino, meta)
    }

    /// The kernel forgets `count` lookups.
    pub fn forget(&mut self, ino: u64, count: u64) {
        self.nodes.forget(ino, count);
    }

    /// All entries of a folder, by name.
    pub fn list(&mut self, folder: u64) -> Result<Vec<Entry>, Errno> {
        let mut entries = Vec::new();
        let gone = folder != ROOT && self.nodes.get(folder).ok_or(Errno::ESTALE)?.names.is_empty();
        if gone {
            return Ok(entries);
        }
        for entry in fs::read_dir(self.path(folder)?).map_err(errno)? {
            let entry = entry.map_err(errno)?;
            let name = entry.file_name();
            let ino = self.nodes.meet(entry.ino(), Name::new(folder, &name));
            entries.push(Entry {
                ino,
                kind: entry.file_type().map_err(errno)?,
                name,
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Makes a file and opens its descriptor. EEXIST where the name is taken.
    pub fn create(
        &mut self,
        now: Duration,
        folder: u64,
        name: &OsStr,
        mode: u32,
        owner: Owner,
    ) -> Result<Attr, Errno> {
        let path = self.make_way(now, folder, name)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(errno)?;
        let attr = self.made(now, folder, name, &path, Some(mode), owner)?;
        self.files.insert(attr.ino, file);
        Ok(attr)
    }

    /// Makes a folder.
    pub fn mkdir(
        &mut self,
        now: Duration,
        folder: u64,
        name: &OsStr,
        mode: u32,
        owner: Owner,
    ) -> Result<Attr, Errno> {
        let path = self.make_way(now, folder, name)?;
        DirBuilder::new().mode(0o700).create(&path).map_err(errno)?;
        self.made(now, folder, name, &path, Some(mode), owner)
    }

    /// Makes a symlink.
    pub fn symlink(
        &mut self,
        now: Duration,
        folder: u64,
        name: &OsStr,
        target: &Path,
        owner: Owner,
    ) -> Result<Attr, Errno> {
        let path = self.make_way(now, folder, name)?;
        symlink(target, &path).map_err(errno)?;
        self.made(now, folder, name, &path, None, owner)
    }

    /// Makes a pipe or a socket.
    pub fn special(
        &mut self,
        now: Duration,
        folder: u64,
        name: &OsStr,
        what: Special,
        mode: u32,
        owner: Owner,
    ) -> Result<Attr, Errno> {
        let path = self.make_way(now, folder, name)?;
        let kind = match what {
            Special::Fifo => SFlag::S_IFIFO,
            Special::Socket => SFlag::S_IFSOCK,
        };
        mknod(&path, kind, Mode::S_IRUSR | Mode::S_IWUSR, 0)?;
        self.made(now, folder, name, &path, Some(mode), owner)
    }

    /// Gives a file a further name.
    pub fn link(&mut self, now: Duration, ino: u64, folder: u64, name: &OsStr) -> Result<Attr, Errno> {
        let path = self.make_way(now, folder, name)?;
        if self.attr(ino)?.nlink == 0 {
            return Err(Errno::ENOENT);
        }
        fs::hard_link(self.path(ino)?, &path).map_err(errno)?;
        let (ino, _, meta) = self.found(folder, name)?;
        self.journal.push(
            now,
            Undo::Created {
                ino,
                name: Name::new(folder, name),
                fresh: false,
            },
        );
        self.enforce(now);
        self.nodes.looked_up(ino);
        self.attr_of(ino, meta)
    }

    fn make_way(&mut self, now: Duration, folder: u64, name: &OsStr) -> Result<PathBuf, Errno> {
        self.powered()?;
        self.tick(now);
        self.place(folder, name)
    }

    /// Owner and mode of a new node, and its journal entry.
    fn made(
        &mut self,
        now: Duration,
        folder: u64,
        name: &OsStr,
        path: &Path,
        mode: Option<u32>,
        owner: Owner,
    ) -> Result<Attr, Errno> {
        let dressed = self.dress(folder, path, mode, owner);
        let (ino, _, meta) = self.found(folder, name)?;
        self.journal.push(
            now,
            Undo::Created {
                ino,
                name: Name::new(folder, name),
                fresh: true,
            },
        );
        self.enforce(now);
        if let Err(e) = dressed {
            self.remove(now, folder, name, meta.is_dir())?;
            return Err(e);
        }
        self.nodes.looked_up(ino);
        self.attr_of(ino, meta)
    }

    fn dress(&self, folder: u64, path: &Path, mode: Option<u32>, owner: Owner) -> Result<(), Errno> {
        let meta = fs::symlink_metadata(path).map_err(errno)?;
        if let Some((uid, gid)) = owner {
            // A set-group-id folder has given its group already.
            let inherited = fs::metadata(self.path(folder)?).map_err(errno)?.mode() & 0o2000 != 0;
            let uid = (uid != meta.uid()).then_some(uid);
            let gid = (gid != meta.gid() && !inherited).then_some(gid);
            if uid.is_some() || gid.is_some() {
                lchown(path, uid, gid).map_err(errno)?;
            }
        }
        match mode {
            Some(mode) => {
                let kept = if meta.is_dir() { meta.mode() & 0o2000 } else { 0 };
                fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 | kept)).map_err(errno)
            }
            None => Ok(()),
        }
    }

    /// Removes a file's name.
    pub fn unlink(&mut self, now: Duration, folder: u64, name: &OsStr) -> Result<(), Errno> {
        self.powered()?;
        self.tick(now);
        self.remove(now, folder, name, false)
    }

    /// Removes an empty folder.
    pub fn rmdir(&mut self, now: Duration, folder: u64, name: &OsStr) -> Result<(), Errno> {
        self.powered()?;
        self.tick(now);
        self.remove(now, folder, name, true)
    }

    fn remove(&mut self, now: Duration, folder: u64, name: &OsStr, is_folder: bool) -> Result<(), Errno> {
        let (ino, path, meta) = self.found(folder, name)?;
        match (is_folder, meta.is_dir()) {
            (true, false) => return Err(Errno::ENOTDIR),
            (false, true) => return Err(Errno::EISDIR),
            (true, true) => empty(&path)?,
            (false, false) => {}
        }
        let name = Name::new(folder, name);
        let trash = self.discard(ino, &name, &path, &meta)?;
        self.journal.push(now, Undo::Removed { ino, name, trash });
        self.enforce(now);
        Ok(())
    }

    fn discard(&mut self, ino: u64, name: &Name, path: &Path, meta: &Metadata) -> Result<u64, Errno> {
        let id = self.journal_id();
        // A name of several takes no room.
        let bytes = match meta.nlink() {
            1 => meta.blocks() * BLOCK,
            _ => 0,
        };
        fs::rename(path, self.nodes.trash_path(id)).map_err(errno)?;
        self.nodes.remove_name(ino, name);
        if let Some(node) = self.nodes.get_mut(ino) {
            node.trashed.push(Trashed {
                id,
                held: true,
                bytes,
            });
            self.trash_bytes += bytes;
        }
        Ok(id)
    }

    pub(super) fn bring_back(&mut self, ino: u64, name: &Name, trash: u64) -> Result<(), Errno> {
        let path = self.path(name.folder)?.join(&name.name);
        fs::rename(self.nodes.trash_path(trash), path).map_err(errno)?;
        if let Some(node) = self.nodes.get_mut(ino) {
            let back = node.trashed.iter().position(|t| t.id == trash);
            let bytes = back.map_or(0, |at| node.trashed.remove(at).bytes);
            self.trash_bytes -= bytes;
        }
        self.nodes.add_name(ino, name.clone());
        Ok(())
    }

    fn journal_id(&mut self) -> u64 {
        self.generations += 1;
        self.generations
    }

    /// Renames, over what is there unless `no_replace`.
    pub fn rename(
        &mut self,
        now: Duration,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        no_replace: bool,
    ) -> Result<(), Errno> {
        self.powered()?;
        self.tick(now);
        let (ino, path, meta) = self.found(from.0, from.1)?;
        let target = self.place(to.0, to.1)?;
        if meta.is_dir() && target.starts_with(&path) && target != path {
            return Err(Errno::EINVAL);
        }
        let to_name = Name::new(to.0, to.1);
        let replaced = match self.found(to.0, to.1) {
            Ok(_) if no_replace => return Err(Errno::EEXIST),
            Ok((other, _, _)) if other == ino => return Ok(()),
            Ok((other, target, there)) => {
                match (meta.is_dir(), there.is_dir()) {
                    (true, false) => return Err(Errno::ENOTDIR),
                    (false, true) => return Err(Errno::EISDIR),
                    (true, true) => empty(&target)?,
                    (false, false) => {}
                }
                Some((other, self.discard(other, &to_name, &target, &there)?))
            }
            Err(Errno::ENOENT) => None,
            Err(e) => return Err(e),
        };
        if let Err(e) = fs::rename(&path, &target) {
            if let Some((other, trash)) = replaced {
                self.bring_back(other, &to_name, trash)?;
            }
            return Err(errno(e));
        }
        let from = Name::new(from.0, from.1);
        self.nodes.remove_name(ino, &from);
        self.nodes.add_name(ino, to_name.clone());
        self.journal.push(
            now,
            Undo::Renamed {
                ino,
                from,
                to: to_name,
                replaced,
                folder: meta.is_dir(),
            },
        );
        self.enforce(now);
        Ok(())
    }

    /// Where a symlink points.
    pub fn read_link(&mut self, ino: u64) -> Result<PathBuf, Errno> {
        fs::read_link(self.path(ino)?).map_err(errno)
    }

    /// Changes a mode. Attributes count as durable at once.
    pub fn set_mode(&mut self, ino: u64, mode: u32) -> Result<(), Errno> {
        self.powered()?;
        if self.attr(ino)?.meta.is_symlink() {
            return Err(Errno::EOPNOTSUPP); // Linux knows no modes of symlinks; the call would follow it.
        }
        fs::set_permissions(self.path(ino)?, Permissions::from_mode(mode & 0o7777)).map_err(errno)
    }

    /// Changes an owner.
    pub fn set_owner(&mut self, ino: u64, uid: Option<u32>, gid: Option<u32>) -> Result<(), Errno> {
        self.powered()?;
        lchown(self.path(ino)?, uid, gid).map_err(errno)
    }

    /// Sets times; none leaves a time as it is.
    pub fn set_times(
        &mut self,
        ino: u64,
        accessed: Option<Duration>,
        modified: Option<Duration>,
    ) -> Result<(), Errno> {
        use nix::sys::stat::{UtimensatFlags, utimensat};
        use nix::sys::time::TimeSpec;
        self.powered()?;
        let time = |t: Option<Duration>| t.map_or(TimeSpec::UTIME_OMIT, TimeSpec::from_duration);
        let path = self.path(ino)?;
        let here = nix::fcntl::AT_FDCWD;
        utimensat(
            here,
            &path,
            &time(accessed),
            &time(modified),
            UtimensatFlags::NoFollowSymlink,
        )
    }

    /// The host's file system below the disk.
    pub fn statvfs(&self) -> Result<nix::sys::statvfs::Statvfs, Errno> {
        nix::sys::statvfs::statvfs(self.nodes.root())
    }
}

fn empty(folder: &Path) -> Result<(), Errno> {
    match fs::read_dir(folder).map_err(errno)?.next() {
        None => Ok(()),
        Some(Ok(_)) => Err(Errno::ENOTEMPTY),
        Some(Err(e)) => Err(errno(e)),
    }
}

/// What a mode of fallocate(2) asks for; none where it is not offered.
pub fn allocation(mode: i32) -> Option<Allocate> {
    use nix::libc::{FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE, FALLOC_FL_ZERO_RANGE};
    const PUNCH: i32 = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    match mode {
        0 => Some(Allocate::Grow),
        FALLOC_FL_KEEP_SIZE => Some(Allocate::Keep),
        PUNCH => Some(Allocate::Punch),
        FALLOC_FL_ZERO_RANGE => Some(Allocate::Zero),
        _ => None,
    }
}

/// What a mode of mknod(2) asks for; none where it is not offered (devices).
pub fn special(mode: u32) -> Option<Special> {
    match SFlag::from_bits_truncate(mode) & SFlag::S_IFMT {
        SFlag::S_IFIFO => Some(Special::Fifo),
        SFlag::S_IFSOCK => Some(Special::Socket),
        _ => None,
    }
}
