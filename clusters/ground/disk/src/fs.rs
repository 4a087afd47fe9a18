//! The FUSE server: requests in, the model asked, answers out. Write-through: every write call arrives at once,
//! and only pages of shared mappings arrive late. One thread serves; answers are sent with no lock of
//! the model held.
use crate::Mode;
use crate::disk::Disk;
use crate::model::{Attr, Entry, Owner, Writer, allocation, special};
use crate::serve::Served;
use fuser::*;
use nix::errno::Errno as Code;
use nix::libc::{O_EXCL, O_TRUNC};
use nix::unistd::Whence;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the kernel may keep names and attributes: nobody else changes them, so as long as it likes.
const KNOWN_FOR: Duration = Duration::from_secs(3600);
/// Above this a write is split by the kernel.
const MAX_WRITE: u32 = 1 << 20;
/// Inode numbers are not reused while a mount lives.
const GENERATION: Generation = Generation(0);

thread_local! {
    /// What is read on its way to the kernel.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(crate) struct Fs {
    pub(crate) disk: Arc<Disk>,
    /// Entries of open folders, as they were when reading began.
    listings: Mutex<HashMap<u64, Vec<Entry>>>,
    handles: AtomicU64,
}

impl Fs {
    pub(crate) fn session(disk: Arc<Disk>, mounted: OwnedFd) -> io::Result<Session<Served>> {
        let fs = Fs {
            disk,
            listings: Mutex::default(),
            handles: AtomicU64::new(1),
        };
        let mut config = Config::default();
        config.n_threads = Some(1);
        Session::from_fd(Served::new(fs), mounted, SessionACL::All, config)
    }

    fn listings(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Vec<Entry>>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn created(&self, disk: Result<Attr, Code>, reply: ReplyEntry) {
        match disk {
            Ok(attr) => reply.entry(&KNOWN_FOR, &file_attr(&attr), GENERATION),
            Err(e) => reply.error(code(e)),
        }
    }

    fn sync(&self, done: Result<(), Code>, reply: ReplyEmpty) {
        if done.is_ok() {
            self.disk.fsyncs.fetch_add(1, Relaxed);
        }
        empty(done, reply);
    }
}

pub(crate) fn code(e: Code) -> Errno {
    Errno::from_i32(e as i32)
}

fn empty(done: Result<(), Code>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(e) => reply.error(code(e)),
    }
}

fn kind_of(kind: std::fs::FileType) -> FileType {
    match kind {
        k if k.is_dir() => FileType::Directory,
        k if k.is_symlink() => FileType::Symlink,
        k if k.is_fifo() => FileType::NamedPipe,
        k if k.is_socket() => FileType::Socket,
        k if k.is_char_device() => FileType::CharDevice,
        k if k.is_block_device() => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

fn file_attr(attr: &Attr) -> FileAttr {
    let m = &attr.meta;
    FileAttr {
        ino: INodeNo(attr.ino),
        size: m.len(),
        blocks: m.blocks(),
        atime: m.accessed().unwrap_or(UNIX_EPOCH),
        mtime: m.modified().unwrap_or(UNIX_EPOCH),
        ctime: UNIX_EPOCH + Duration::new(m.ctime().max(0) as u64, m.ctime_nsec() as u32),
        crtime: UNIX_EPOCH,
        kind: kind_of(m.file_type()),
        perm: (m.mode() & 0o7777) as u16,
        nlink: attr.nlink,
        uid: m.uid(),
        gid: m.gid(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

fn since_epoch(t: TimeOrNow) -> Duration {
    let at = match t {
        TimeOrNow::SpecificTime(at) => at,
        TimeOrNow::Now => SystemTime::now(),
    };
    at.duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Fs {
    pub(crate) fn init(&self, config: &mut KernelConfig) -> io::Result<()> {
        // What the kernel does not have is done without: smaller writes, symlinks read each time.
        let _ = config.set_max_write(MAX_WRITE);
        let _ = config.add_capabilities(InitFlags::FUSE_MAX_PAGES);
        let _ = config.add_capabilities(InitFlags::FUSE_CACHE_SYMLINKS);
        if self.disk.mode() == Mode::WriteBack {
            let refused =
                |_| io::Error::other("this kernel has no write-back cache for FUSE (Linux has since 3.15)");
            config
                .add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE)
                .map_err(refused)?;
        }
        Ok(())
    }

    pub(crate) fn lookup(&self, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.created(
            self.disk.request("lookup", |m, _| m.lookup(parent.0, name)),
            reply,
        );
    }

    pub(crate) fn forget(&self, ino: INodeNo, count: u64) {
        self.disk.model().forget(ino.0, count);
    }

    pub(crate) fn getattr(&self, ino: INodeNo, reply: ReplyAttr) {
        match self.disk.request("stat", |m, _| m.attr(ino.0)) {
            Ok(attr) => reply.attr(&KNOWN_FOR, &file_attr(&attr)),
            Err(e) => reply.error(code(e)),
        }
    }

    pub(crate) fn setattr(
        &self,
        ino: INodeNo,
        mode: Option<u32>,
        (uid, gid): (Option<u32>, Option<u32>),
        size: Option<u64>,
        (atime, mtime): (Option<TimeOrNow>, Option<TimeOrNow>),
        reply: ReplyAttr,
    ) {
        let changed = self.disk.request("a change of attributes", |m, now| {
            if let Some(size) = size {
                m.set_length(now, ino.0, size)?;
            }
            if uid.is_some() || gid.is_some() {
                m.set_owner(ino.0, uid, gid)?;
            }
            if let Some(mode) = mode {
                m.set_mode(ino.0, mode)?;
            }
            if atime.is_some() || mtime.is_some() {
                m.set_times(ino.0, atime.map(since_epoch), mtime.map(since_epoch))?;
            }
            m.attr(ino.0)
        });
        match changed {
            Ok(attr) => reply.attr(&KNOWN_FOR, &file_attr(&attr)),
            Err(e) => reply.error(code(e)),
        }
    }

    pub(crate) fn readlink(&self, ino: INodeNo, reply: ReplyData) {
        use std::os::unix::ffi::OsStrExt;
        match self.disk.request("readlink", |m, _| m.read_link(ino.0)) {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(e) => reply.error(code(e)),
        }
    }

    pub(crate) fn mknod(
        &self,
        owner: Owner,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let perm = mode & !umask & 0o7777;
        let made = self.disk.request("mknod", |m, now| match special(mode) {
            Some(what) => m.special(now, parent.0, name, what, perm, owner),
            None if mode & nix::libc::S_IFMT == nix::libc::S_IFREG => {
                m.create(now, parent.0, name, perm, owner)
            }
            None => Err(Code::EPERM),
        });
        self.created(made, reply);
    }

    pub(crate) fn mkdir(
        &self,
        owner: Owner,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let made = self.disk.request("mkdir", |m, now| {
            m.mkdir(now, parent.0, name, mode & !umask, owner)
        });
        self.created(made, reply);
    }

    pub(crate) fn unlink(&self, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(
            self.disk
                .request("unlink", |m, now| m.unlink(now, parent.0, name)),
            reply,
        );
    }

    pub(crate) fn rmdir(&self, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(
            self.disk.request("rmdir", |m, now| m.rmdir(now, parent.0, name)),
            reply,
        );
    }

    pub(crate) fn symlink(
        &self,
        owner: Owner,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        self.created(
            self.disk
                .request("symlink", |m, now| m.symlink(now, parent.0, name, target, owner)),
            reply,
        );
    }

    pub(crate) fn rename(
        &self,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !(flags - RenameFlags::RENAME_NOREPLACE).is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let no_replace = flags.contains(RenameFlags::RENAME_NOREPLACE);
        let (from, to) = ((parent.0, name), (newparent.0, newname));
        empty(
            self.disk
                .request("rename", |m, now| m.rename(now, from, to, no_replace)),
            reply,
        );
    }

    pub(crate) fn link(&self, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        self.created(
            self.disk
                .request("link", |m, now| m.link(now, ino.0, newparent.0, newname)),
            reply,
        );
    }

    pub(crate) fn open(&self, ino: INodeNo, reply: ReplyOpen) {
        // O_TRUNC comes as a change of length of its own, before this.
        match self.disk.request("open", |m, _| m.opened(ino.0)) {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(e) => reply.error(code(e)),
        }
    }

    pub(crate) fn create(
        &self,
        owner: Owner,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let made = self.disk.request("create", |m, now| {
            let attr = match m.create(now, parent.0, name, mode, owner) {
                Err(Code::EEXIST) if flags & O_EXCL == 0 => {
                    let attr = m.lookup(parent.0, name)?;
                    if flags & O_TRUNC != 0 {
                        m.set_length(now, attr.ino, 0)?;
                    }
                    m.attr(attr.ino)?
                }
                made => made?,
            };
            m.opened(attr.ino)?;
            Ok(attr)
        });
        match made {
            Ok(attr) => {
                let keep = FopenFlags::FOPEN_KEEP_CACHE;
                reply.created(&KNOWN_FOR, &file_attr(&attr), GENERATION, FileHandle(0), keep);
            }
            Err(e) => reply.error(code(e)),
        }
    }

    pub(crate) fn read(&self, ino: INodeNo, offset: u64, size: u32, reply: ReplyData) {
        READ.with_borrow_mut(|buffer| {
            // Never longer than the kernel's largest request; made once, and not cleared each time.
            if buffer.len() < size as usize {
                buffer.resize(size as usize, 0);
            }
            let into = &mut buffer[..size as usize];
            match self.disk.request("read", |m, _| m.read(ino.0, offset, into)) {
                Ok(read) => reply.data(&buffer[..read]),
                Err(e) => reply.error(code(e)),
            }
        });
    }

    pub(crate) fn write(&self, ino: INodeNo, offset: u64, data: &[u8], writer: Writer, reply: ReplyWrite) {
        match self
            .disk
            .request("write", |m, now| m.write(now, ino.0, offset, data, writer))
        {
            Ok(()) => {
                self.disk.bytes_written.fetch_add(data.len() as u64, Relaxed);
                // A request is at most MAX_WRITE long.
                reply.written(data.len() as u32);
            }
            Err(e) => reply.error(code(e)),
        }
    }

    /// Nothing to do at a close, and the kernel need not ask again.
    pub(crate) fn flush(&self, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    pub(crate) fn release(&self, ino: INodeNo, reply: ReplyEmpty) {
        self.disk.model().closed(ino.0);
        reply.ok();
    }

    pub(crate) fn fsync(&self, ino: INodeNo, reply: ReplyEmpty) {
        self.sync(self.disk.request("fsync", |m, now| m.sync(now, ino.0)), reply);
    }

    pub(crate) fn opendir(&self, reply: ReplyOpen) {
        let handle = self.handles.fetch_add(1, Relaxed);
        reply.opened(FileHandle(handle), FopenFlags::empty());
    }

    pub(crate) fn readdir(&self, ino: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut listings = self.listings();
        if offset == 0 {
            match self.disk.request("readdir", |m, _| m.list(ino.0)) {
                Ok(entries) => listings.insert(fh.0, entries),
                Err(e) => return reply.error(code(e)),
            };
        }
        let entries = listings.get(&fh.0).map_or(&[][..], Vec::as_slice);
        for (index, entry) in entries.iter().enumerate().skip(offset as usize) {
            let next = index as u64 + 1;
            if reply.add(INodeNo(entry.ino), next, kind_of(entry.kind), &entry.name) {
                break;
            }
        }
        reply.ok();
    }

    pub(crate) fn releasedir(&self, fh: FileHandle, reply: ReplyEmpty) {
        self.listings().remove(&fh.0);
        reply.ok();
    }

    pub(crate) fn fsyncdir(&self, ino: INodeNo, reply: ReplyEmpty) {
        self.sync(
            self.disk
                .request("fsync of a folder", |m, now| m.sync_folder(now, ino.0)),
            reply,
        );
    }

    /// `room` bounds what is free, in bytes.
    pub(crate) fn statfs(&self, room: Option<u64>, reply: ReplyStatfs) {
        let free = |blocks: u64, size: u64| room.map_or(blocks, |bytes| blocks.min(bytes / size.max(1)));
        match self.disk.request("statfs", |m, _| m.statvfs()) {
            Ok(s) => reply.statfs(
                s.blocks(),
                free(s.blocks_free(), s.fragment_size()),
                free(s.blocks_available(), s.fragment_size()),
                s.files(),
                s.files_free(),
                s.block_size() as u32,
                s.name_max() as u32,
                s.fragment_size() as u32,
            ),
            Err(e) => reply.error(code(e)),
        }
    }

    pub(crate) fn fallocate(&self, ino: INodeNo, offset: u64, length: u64, mode: i32, reply: ReplyEmpty) {
        let Some(how) = allocation(mode) else {
            return reply.error(Errno::EOPNOTSUPP);
        };
        empty(
            self.disk
                .request("fallocate", |m, now| m.allocate(now, ino.0, offset, length, how)),
            reply,
        );
    }

    pub(crate) fn lseek(&self, ino: INodeNo, offset: i64, whence: i32, reply: ReplyLseek) {
        if self.disk.mode() == Mode::WriteBack {
            // Only the kernel knows which bytes it has not written yet; it takes all for data then.
            return reply.error(Errno::ENOSYS);
        }
        let whence = match whence {
            nix::libc::SEEK_DATA => Whence::SeekData,
            nix::libc::SEEK_HOLE => Whence::SeekHole,
            // The kernel does the others itself.
            _ => return reply.error(Errno::EINVAL),
        };
        match self.disk.request("lseek", |m, _| m.seek(ino.0, offset, whence)) {
            Ok(at) => reply.offset(at),
            Err(e) => reply.error(code(e)),
        }
    }
}
