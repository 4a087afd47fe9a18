//! Between the kernel and the file system: each call is judged by the faults that are in force before it is done. With
//! none in force that is one look at a flag, and the call is done on the server's own thread.
//!
//! What waits has its answer with it and is done later by whoever lets it go: the timer, the end of a fault, a cut.
//! `release`, `forget` and the like are not judged: no process waits for them.
use crate::faults::{Call, Crashed, Decision, Outcome};
use crate::fs::{Fs, code};
use crate::model::{Owner, Writer};
use crate::rule::{Crash, Errors};
use crate::{CallKind, Disk};
use fuser::*;
use nix::errno::Errno as Code;
use nix::libc::O_DSYNC;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The file system as the kernel sees it.
pub(crate) struct Served(Arc<Fs>);

/// Whose a new node is.
fn caller(request: &Request) -> Owner {
    Some((request.uid(), request.gid()))
}

/// An answer that can say no.
trait Answer: Send + 'static {
    fn refuse(self, why: Errno);
}

macro_rules! answers {
    ($($reply:ident),*) => {
        $(impl Answer for $reply {
            fn refuse(self, why: Errno) {
                self.error(why);
            }
        })*
    };
}

answers!(
    ReplyEmpty,
    ReplyData,
    ReplyEntry,
    ReplyAttr,
    ReplyOpen,
    ReplyWrite,
    ReplyCreate,
    ReplyDirectory,
    ReplyLseek
);

/// What a call is on.
enum On<'a> {
    Node(INodeNo),
    Name(INodeNo, &'a OsStr),
    Names((INodeNo, &'a OsStr), (INodeNo, &'a OsStr)),
}

/// What a call would do to the room on the disk.
enum Room {
    Same,
    /// The file is at least so long afterwards.
    UpTo(u64),
    /// The file is so long afterwards.
    Exactly(u64),
    /// The name that is last named is gone.
    Without,
}

/// What a call is.
struct Asked<'a> {
    kind: CallKind,
    on: On<'a>,
    room: Room,
    synced: bool,
    /// From the page cache: no process waits for it, and it survives a kill.
    cached: bool,
}

impl<'a> Asked<'a> {
    fn of(kind: CallKind, on: On<'a>) -> Asked<'a> {
        Asked {
            kind,
            on,
            room: Room::Same,
            synced: false,
            cached: false,
        }
    }

    fn room(self, room: Room) -> Asked<'a> {
        Asked { room, ..self }
    }
}

impl Served {
    pub(crate) fn new(fs: Fs) -> Served {
        Served(Arc::new(fs))
    }

    fn disk(&self) -> &Arc<Disk> {
        &self.0.disk
    }

    /// Nothing is in force.
    fn calm(&self) -> bool {
        !self.disk().faults.any()
    }

    /// Does a call, as far as faults allow.
    fn pass<R: Answer>(&self, asked: Asked<'_>, reply: R, act: impl FnOnce(&Fs, R) + Send + 'static) {
        if self.calm() {
            return act(&self.0, reply);
        }
        self.pass_sync(asked, reply, |fs, reply, _| act(fs, reply));
    }

    /// As [`Served::pass`], for calls that may be lied to or lose their pages.
    fn pass_sync<R: Answer>(
        &self,
        asked: Asked<'_>,
        reply: R,
        act: impl FnOnce(&Fs, R, Outcome) + Send + 'static,
    ) {
        if self.calm() {
            return act(&self.0, reply, Outcome::Done);
        }
        let cached = asked.cached;
        let kind = asked.kind;
        let (path, decision) = self.judge(asked);
        let fs = self.0.clone();
        let outcome = decision.outcome;
        match outcome {
            Outcome::Done | Outcome::Lied | Outcome::PagesLost { .. } => {
                self.when(&decision, move || act(&fs, reply, outcome))
            }
            Outcome::Failed(errors) => self.when(&decision, move || reply.refuse(errno(errors))),
            Outcome::Held(fault) => {
                let began = Instant::now();
                let job = move || {
                    fs.disk.faults.state().engine.answered(fault, began.elapsed());
                    act(&fs, reply, Outcome::Done);
                };
                self.disk().faults.waiting.hold(fault, Box::new(job));
            }
            Outcome::Frozen(fault) => self.freeze(fault, cached, reply, act),
            Outcome::Crashed {
                fault,
                after: true,
                how,
            } => {
                act(&fs, reply, Outcome::Done);
                self.crash(fault, how, kind, path);
            }
            Outcome::Crashed {
                fault,
                after: false,
                how,
            } => {
                self.freeze(fault, cached, reply, act);
                self.crash(fault, how, kind, path);
            }
        }
    }

    /// The disk has stopped. What a process asks for is refused once the process is dying; what comes from the page
    /// cache is done then.
    fn freeze<R: Answer>(
        &self,
        fault: u64,
        cached: bool,
        reply: R,
        act: impl FnOnce(&Fs, R, Outcome) + Send + 'static,
    ) {
        let fs = self.0.clone();
        let job = move || match cached {
            true => act(&fs, reply, Outcome::Done),
            false => reply.refuse(Errno::EIO),
        };
        self.disk().faults.waiting.hold(fault, Box::new(job));
    }

    fn crash(&self, fault: u64, how: Crash, call: CallKind, path: String) {
        let disk = self.disk();
        if let Crash::Power(_) = how {
            disk.model_off();
        }
        let at_ns = crate::disk::now().as_nanos() as u64;
        disk.faults.state().engine.crashed(fault, at_ns);
        if let Some(listener) = disk.faults.listener.get() {
            listener(Crashed {
                fault,
                how,
                at_ns,
                call,
                path,
            });
        }
    }

    /// Does it at once, or when it has waited.
    fn when(&self, decision: &Decision, act: impl FnOnce() + Send + 'static) {
        let delay = decision.delay();
        if decision.delays.is_empty() {
            return act();
        }
        let disk = self.disk().clone();
        let delays = decision.delays.clone();
        let began = Instant::now();
        let job = move || {
            // Each has its own part of the wait, and its being late; one that was let go early waited no longer.
            let waited = began.elapsed();
            let late = waited.saturating_sub(delay);
            let mut state = disk.faults.state();
            for (fault, own) in delays {
                state.engine.answered(fault, (own + late).min(waited));
            }
            drop(state);
            act();
        };
        let faults = decision.delays.iter().map(|(fault, _)| *fault).collect();
        self.disk()
            .faults
            .waiting
            .until(began + delay, faults, Box::new(job));
    }

    fn judge(&self, asked: Asked<'_>) -> (String, Decision) {
        let minds_room = self.disk().faults.state().engine.minds_room();
        let mut call = Call {
            kind: Some(asked.kind),
            synced: asked.synced,
            ..Call::default()
        };
        {
            let mut model = self.disk().model();
            let (one, other) = match asked.on {
                On::Node(ino) => (model.path_of(ino.0), None),
                On::Name(folder, name) => (model.path_in(folder.0, name), None),
                On::Names(a, b) => (model.path_in(a.0.0, a.1), model.path_in(b.0.0, b.1)),
            };
            call.paths.extend(one.into_iter().chain(other));
            if minds_room {
                let is = match (&asked.room, &asked.on) {
                    (Room::Without, On::Name(folder, name) | On::Names(_, (folder, name))) => {
                        model.bytes_in(folder.0, name)
                    }
                    (_, On::Node(ino)) => model.length(ino.0),
                    _ => 0,
                };
                (call.grows, call.frees) = match asked.room {
                    Room::Same => (0, 0),
                    Room::UpTo(end) => (end.saturating_sub(is), 0),
                    Room::Exactly(length) => (length.saturating_sub(is), is.saturating_sub(length)),
                    Room::Without => (0, is),
                };
            }
        }
        let decision = self.disk().faults.state().engine.judge(&call);
        (call.paths.into_iter().next().unwrap_or_default(), decision)
    }

    fn written_over(&self, ino: INodeNo, range: (u64, u64), late: Option<&[u8]>) {
        if !self.calm() {
            self.disk().written_over(ino.0, range, late);
        }
    }
}

fn errno(errors: Errors) -> Errno {
    code(match errors {
        Errors::Io => Code::EIO,
        Errors::NoSpace => Code::ENOSPC,
    })
}

/// What a sync answers.
fn sync(fs: &Fs, ino: INodeNo, reply: ReplyEmpty, outcome: Outcome, act: impl FnOnce(&Fs, ReplyEmpty)) {
    match outcome {
        Outcome::Lied => reply.ok(),
        Outcome::PagesLost { fault } => {
            let bytes = fs.disk.model().lose_pages(ino.0);
            fs.disk.faults.state().engine.lost_pages(fault, bytes);
            reply.error(Errno::EIO);
        }
        _ => act(fs, reply),
    }
}

impl Filesystem for Served {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        self.0.init(config)
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let own = name.to_owned();
        let asked = Asked::of(CallKind::Look, On::Name(parent, name));
        self.pass(asked, reply, move |fs, reply| fs.lookup(parent, &own, reply));
    }

    fn forget(&self, _: &Request, ino: INodeNo, count: u64) {
        self.0.forget(ino, count);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let asked = Asked::of(CallKind::Look, On::Node(ino));
        self.pass(asked, reply, move |fs, reply| fs.getattr(ino, reply));
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if let Some(size) = size {
            self.written_over(ino, (size, u64::MAX), None);
        }
        let room = size.map_or(Room::Same, Room::Exactly);
        let asked = Asked::of(CallKind::Change, On::Node(ino)).room(room);
        self.pass(asked, reply, move |fs, reply| {
            fs.setattr(ino, mode, (uid, gid), size, (atime, mtime), reply);
        });
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let asked = Asked::of(CallKind::Look, On::Node(ino));
        self.pass(asked, reply, move |fs, reply| fs.readlink(ino, reply));
    }

    fn mknod(
        &self,
        r: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let (own, who) = (name.to_owned(), caller(r));
        let asked = Asked::of(CallKind::Create, On::Name(parent, name));
        self.pass(asked, reply, move |fs, reply| {
            fs.mknod(who, parent, &own, mode, umask, reply);
        });
    }

    fn mkdir(&self, r: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let (own, who) = (name.to_owned(), caller(r));
        let asked = Asked::of(CallKind::Create, On::Name(parent, name));
        self.pass(asked, reply, move |fs, reply| {
            fs.mkdir(who, parent, &own, mode, umask, reply);
        });
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let own = name.to_owned();
        let asked = Asked::of(CallKind::Remove, On::Name(parent, name)).room(Room::Without);
        self.pass(asked, reply, move |fs, reply| fs.unlink(parent, &own, reply));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let own = name.to_owned();
        let asked = Asked::of(CallKind::Remove, On::Name(parent, name));
        self.pass(asked, reply, move |fs, reply| fs.rmdir(parent, &own, reply));
    }

    fn symlink(&self, r: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let (own, target, who) = (name.to_owned(), target.to_owned(), caller(r));
        let asked = Asked::of(CallKind::Create, On::Name(parent, name));
        self.pass(asked, reply, move |fs, reply| {
            fs.symlink(who, parent, &own, &target, reply);
        });
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to): (OsString, OsString) = (name.to_owned(), newname.to_owned());
        let on = On::Names((parent, name), (newparent, newname));
        let asked = Asked::of(CallKind::Rename, on).room(Room::Without);
        self.pass(asked, reply, move |fs, reply| {
            fs.rename(parent, &from, newparent, &to, flags, reply);
        });
    }

    fn link(&self, _: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let own = newname.to_owned();
        let asked = Asked::of(CallKind::Create, On::Name(newparent, newname));
        self.pass(asked, reply, move |fs, reply| {
            fs.link(ino, newparent, &own, reply)
        });
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let asked = Asked::of(CallKind::Open, On::Node(ino));
        self.pass(asked, reply, move |fs, reply| fs.open(ino, reply));
    }

    fn create(
        &self,
        r: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (own, who) = (name.to_owned(), caller(r));
        let asked = Asked::of(CallKind::Create, On::Name(parent, name));
        self.pass(asked, reply, move |fs, reply| {
            fs.create(who, parent, &own, mode & !umask, flags, reply);
        });
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let asked = Asked::of(CallKind::Read, On::Node(ino));
        self.pass(asked, reply, move |fs, reply| fs.read(ino, offset, size, reply));
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // O_SYNC has O_DSYNC's bit.
        let writer = match write_flags.contains(WriteFlags::FUSE_WRITE_CACHE) {
            true => Writer::PageCache,
            false if flags.0 & O_DSYNC != 0 => Writer::SyncedCall,
            false => Writer::Call,
        };
        if self.calm() {
            // Without a copy.
            return self.0.write(ino, offset, data, writer, reply);
        }
        let end = offset.saturating_add(data.len() as u64);
        self.written_over(ino, (offset, end), (writer == Writer::PageCache).then_some(data));
        let asked = Asked {
            synced: writer == Writer::SyncedCall,
            cached: writer == Writer::PageCache,
            ..Asked::of(CallKind::Write, On::Node(ino)).room(Room::UpTo(end))
        };
        let data = data.to_vec();
        self.pass_sync(asked, reply, move |fs, reply, outcome| {
            let writer = match (outcome, writer) {
                (Outcome::Lied, Writer::SyncedCall) => Writer::Call,
                _ => writer,
            };
            fs.write(ino, offset, &data, writer, reply);
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.0.flush(reply);
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.0.release(ino, reply);
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let asked = Asked {
            synced: true,
            ..Asked::of(CallKind::Sync, On::Node(ino))
        };
        self.pass_sync(asked, reply, move |fs, reply, outcome| {
            sync(fs, ino, reply, outcome, |fs, reply| fs.fsync(ino, reply));
        });
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.0.opendir(reply);
    }

    fn readdir(&self, _: &Request, ino: INodeNo, fh: FileHandle, offset: u64, reply: ReplyDirectory) {
        let asked = Asked::of(CallKind::List, On::Node(ino));
        self.pass(asked, reply, move |fs, reply| fs.readdir(ino, fh, offset, reply));
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.0.releasedir(fh, reply);
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let asked = Asked {
            synced: true,
            ..Asked::of(CallKind::Sync, On::Node(ino))
        };
        self.pass_sync(asked, reply, move |fs, reply, outcome| {
            sync(fs, ino, reply, outcome, |fs, reply| fs.fsyncdir(ino, reply));
        });
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let room = match self.calm() {
            true => None,
            false => self.disk().faults.state().engine.room(),
        };
        self.0.statfs(room, reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let end = offset.saturating_add(length);
        self.written_over(ino, (offset, end), None);
        let asked = Asked::of(CallKind::Allocate, On::Node(ino)).room(Room::UpTo(end));
        self.pass(asked, reply, move |fs, reply| {
            fs.fallocate(ino, offset, length, mode, reply);
        });
    }

    fn lseek(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        let asked = Asked::of(CallKind::Look, On::Node(ino));
        self.pass(asked, reply, move |fs, reply| {
            fs.lseek(ino, offset, whence, reply)
        });
    }
}

/// How long the kernel may take to drop what it keeps.
const DROP_PATIENCE: Duration = Duration::from_secs(1);

/// Has the kernel forget what it keeps of these nodes, so that it asks again. In a thread of its own: pages that are
/// being written are waited for, and they may wait for a fault.
pub(crate) fn forget_pages(notifier: Notifier, inos: Vec<u64>) {
    let (said, done) = std::sync::mpsc::channel();
    let started = std::thread::Builder::new()
        .name("disk-forget".into())
        .spawn(move || {
            for ino in inos {
                // A node that the kernel does not know has no pages; a mount that is gone has no nodes.
                let _ = notifier.inval_inode(INodeNo(ino), 0, 0);
            }
            let _ = said.send(());
        });
    if started.is_ok() {
        let _ = done.recv_timeout(DROP_PATIENCE);
    }
}
