//! One disk: the model behind a lock, the power switch, and the thread that serves a mount.
use crate::faults::Faults;
use crate::fs::Fs;
use crate::ledger::Loss;
use crate::model::{Limits, Model};
use crate::{DiskError, DiskPaths, Mode, Policy};
use fuser::Notifier;
use nix::errno::Errno;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What befell the harness's own storage. The node sees an error too, which no fault asked for: the run must end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What was tried.
    pub what: String,
    /// The host's answer.
    pub why: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the host's storage refused {}: {}; make room, or check the host's disk",
            self.what, self.why
        )
    }
}

/// Who hears of [`Trouble`]. Called on the server's thread, with no lock held; must not block.
pub(crate) type Reporter = Box<dyn Fn(Trouble) + Send + Sync>;

/// Counters since the disk was opened, and what it keeps now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes that nodes wrote.
    pub bytes_written: u64,
    /// Syncs of files and folders that were answered well.
    pub fsyncs: u64,
    /// Bytes written and not durable.
    pub unsynced_bytes: u64,
    /// Names that are not durable.
    pub unsynced_names: u64,
    /// Memory kept to go back.
    pub memory: u64,
    /// Write-backs that a bound forced.
    pub forced: u64,
}

/// What a disk is opened with, besides its place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// How it is mounted, each time.
    pub mode: Mode,
    /// Bounds on what it keeps to go back.
    pub limits: Limits,
}

/// A disk. Its power is on when it is opened.
pub struct Disk {
    model: Mutex<Model>,
    mode: Mode,
    pub(crate) serving: AtomicUsize,
    pub(crate) faults: Faults,
    /// Tells the kernel what to forget, while a mount is served.
    notifier: Mutex<Option<Notifier>>,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) fsyncs: AtomicU64,
    reporter: Reporter,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Disk {
    /// Opens a disk as usual: write-through, with the usual bounds. What is in the backing folder counts as durable.
    pub fn open(
        paths: DiskPaths,
        reporter: impl Fn(Trouble) + Send + Sync + 'static,
    ) -> Result<Arc<Disk>, DiskError> {
        Disk::with(paths, Settings::default(), reporter)
    }

    /// Opens a disk with settings of one's own.
    pub fn with(
        paths: DiskPaths,
        settings: Settings,
        reporter: impl Fn(Trouble) + Send + Sync + 'static,
    ) -> Result<Arc<Disk>, DiskError> {
        Ok(Arc::new(Disk {
            model: Mutex::new(Model::open(paths, settings.limits)?),
            mode: settings.mode,
            serving: AtomicUsize::new(0),
            faults: Faults::default(),
            notifier: Mutex::default(),
            bytes_written: AtomicU64::new(0),
            fsyncs: AtomicU64::new(0),
            reporter: Box::new(reporter),
        }))
    }

    /// How it is mounted.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Serves a `/dev/fuse` descriptor that somebody else has mounted, until that mount is gone. Returns when a
    /// thread is about to read it. No copy of the descriptor may stay elsewhere, or closing it here aborts nothing.
    pub fn serve(self: &Arc<Self>, mounted: OwnedFd) -> Result<Serving, DiskError> {
        if self.model().is_off() {
            return Err(DiskError::PowerIsOff);
        }
        let (said, done) = sync_channel(1);
        let disk = self.clone();
        self.serving.fetch_add(1, Ordering::SeqCst);
        let thread = std::thread::Builder::new().name("disk".into()).spawn(move || {
            let ended = Fs::session(disk.clone(), mounted).and_then(|session| {
                *disk.notifier() = Some(session.notifier());
                session.run()
            });
            // A mount may go before anybody has asked it for anything.
            let ended = ended.or_else(|why| match why.kind() {
                std::io::ErrorKind::NotConnected | std::io::ErrorKind::ConnectionAborted => Ok(()),
                _ => Err(why),
            });
            // It holds the device open.
            *disk.notifier() = None;
            disk.serving.fetch_sub(1, Ordering::SeqCst);
            // Nobody may be waiting any more.
            let _ = said.send(ended);
        });
        if let Err(e) = thread {
            self.serving.fetch_sub(1, Ordering::SeqCst);
            return Err(DiskError::Thread(e));
        }
        Ok(Serving { done })
    }

    /// The cut: no write and no sync that was not answered before becomes durable after this returns. All that waits by
    /// a fault is answered.
    pub fn power_off(&self) {
        self.model_off();
        self.faults.power(true);
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        self.model().is_off()
    }

    /// Makes the remainder of the cut, once the mount is gone, and turns the power on again.
    pub fn settle(&self, fault: u64, policy: Policy) -> Result<Loss, DiskError> {
        if self.serving.load(Ordering::SeqCst) > 0 {
            return Err(DiskError::StillServing);
        }
        let loss = self.model().settle(fault, policy)?;
        self.faults.look_again();
        self.faults.power(false);
        Ok(loss)
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        let mut model = self.model();
        model.tick(now());
        Stats {
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
            fsyncs: self.fsyncs.load(Ordering::Relaxed),
            unsynced_bytes: model.unsynced_bytes(),
            unsynced_names: model.unsynced_names() as u64,
            memory: model.memory() as u64,
            forced: model.forced(),
        }
    }

    pub(crate) fn notifier(&self) -> MutexGuard<'_, Option<Notifier>> {
        self.notifier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        // A panic under the lock is a bug of the model; the run is told by the dead server's mount.
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one request on the model, and reports what the host refused.
    pub(crate) fn request<T>(
        &self,
        what: &'static str,
        act: impl FnOnce(&mut Model, Duration) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let mut model = self.model();
        let powered = !model.is_off();
        let done = act(&mut model, now());
        let trouble = model.take_trouble();
        drop(model);
        if let Some(trouble) = trouble {
            (self.reporter)(Trouble {
                what: "a line of the ledger".into(),
                why: trouble.to_string(),
            });
        }
        match &done {
            Err(why @ (Errno::ENOSPC | Errno::EDQUOT | Errno::EROFS)) => self.tell(what, *why),
            Err(why @ Errno::EIO) if powered => self.tell(what, *why),
            _ => {}
        }
        done
    }

    fn tell(&self, what: &str, why: Errno) {
        (self.reporter)(Trouble {
            what: what.into(),
            why: why.to_string(),
        });
    }
}

/// A mount being served.
#[derive(Debug)]
pub struct Serving {
    done: Receiver<std::io::Result<()>>,
}

impl Serving {
    /// Waits until the mount is gone.
    pub fn join(self) -> std::io::Result<()> {
        self.done.recv().unwrap_or_else(|_| Err(ended_badly()))
    }

    /// Waits until the mount is gone, at most so long. None where it is still there.
    pub fn join_within(&self, limit: Duration) -> Option<std::io::Result<()>> {
        match self.done.recv_timeout(limit) {
            Ok(ended) => Some(ended),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(ended_badly())),
        }
    }
}

fn ended_badly() -> std::io::Error {
    std::io::Error::other("the disk's server ended without a word; this is a bug of the disk")
}

/// The machine's monotonic clock, which all processes of a run share.
pub(crate) fn now() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    // CLOCK_MONOTONIC is always there on Linux.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}
