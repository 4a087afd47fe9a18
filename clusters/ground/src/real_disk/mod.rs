//! A real ext4 or xfs as a node's disk: an image without a name on a loop device, its power cut by the file system's
//! own shutdown, without a flush of its log (FS_IOC_SHUTDOWN). Needs root.
//!
//! What it does: makes the file system, mounts it (as a mount of no namespace, which the node's init moves into its
//! own), cuts it, mounts it again (the kernel replays the journal), and says what the cut took. What it does not:
//! choose what is left. The file system decides that, with the kernel's write-back; what the device was handed before
//! the cut is on it, so that writes are neither torn nor reordered below the file system.
//!
//! Invariants:
//! 1. Nothing has a name: the image is removed before it is used, the loop device clears itself when the last of its
//!    file descriptors and mounts is gone, and a mount belongs to a descriptor or to the node's namespace. So nothing
//!    is left, whoever is killed.
//! 2. A file system is mounted only when the kernel has let go of its life before: the device is seen to be free.
//! 3. Nobody but the node opens a path of it while the node runs; what a cut takes is read when the node stands still.

mod device;
mod look;
mod loss;
mod make;
mod mount;
pub(crate) mod process;
mod trial;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sys;
use device::LoopDevice;
pub use look::Bounds;
use look::Look;
pub use loss::{Difference, RealCut};
pub(crate) use mount::move_to;
pub use trial::try_real_disk;

/// How long the kernel may take to let go of a file system whose last user is gone.
const FREE_PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks whether it has.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// Which file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Ext4, Kind::Xfs];

    /// Its name, as mount(8) has it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Ext4 => "ext4",
            Kind::Xfs => "xfs",
        }
    }
}

/// How it is mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Without ext4's habit of writing a file out when it is renamed over another, or closed after a truncation: a cut
    /// leaves more states. Means nothing on xfs.
    pub no_auto_da_alloc: bool,
}

/// A real file system whose power can be cut.
pub struct RealDisk {
    kind: Kind,
    options: Options,
    device: LoopDevice,
    state: State,
}

enum State {
    /// Not mounted by us.
    Off,
    /// Mounted, in no namespace: ready for the next life.
    Ready(OwnedFd),
    /// Handed out. The descriptor of its root, and with it the mount, is held until the cut.
    On(File),
    /// Shut down; what was there.
    Cut { before: Look, at_ns: u64 },
}

/// What one cut came to.
#[derive(Debug)]
pub struct Cut {
    /// When the file system was shut down.
    pub at_ns: u64,
    /// What is not there any more.
    pub difference: Difference,
    before: Look,
}

impl RealDisk {
    /// Makes a file system on an image in a folder, in which no name is left.
    ///
    /// # Errors
    /// Where the machine lacks something, or the folder takes no file: with what helps.
    pub fn make(kind: Kind, folder: &Path, options: Options) -> Result<RealDisk, crate::Error> {
        make::make(kind, folder, options)
    }

    /// Its file system.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Power on: the mount, which belongs to the descriptor until it is moved into a namespace. Paths below it can be
    /// reached through `/proc/self/fd`.
    ///
    /// # Errors
    /// Where a life of it goes on, or the kernel refuses.
    pub fn mount(&mut self) -> io::Result<OwnedFd> {
        let ready = match std::mem::replace(&mut self.state, State::Off) {
            State::Ready(mount) => mount,
            // One whose node did not come up: it ended without a cut, and all of it is there.
            State::On(root) => {
                drop(root);
                self.mounted()?
            }
            State::Off => self.mounted()?,
            cut @ State::Cut { .. } => {
                self.state = cut;
                return Err(io::Error::other(
                    "what the cut left was not looked at yet; settle comes first",
                ));
            }
        };
        self.state = State::On(mount::root(&ready)?);
        Ok(ready)
    }

    fn mounted(&self) -> io::Result<OwnedFd> {
        let deadline = Instant::now() + FREE_PATIENCE;
        while !self.device.is_free()? {
            if Instant::now() > deadline {
                let what = format!("{} is still mounted after {FREE_PATIENCE:?}", self.kind.word());
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("{what}; is a process of the node still there?"),
                ));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        mount::mount(self.kind, self.options, self.device.path())
    }

    /// The cut: what is there is looked at within bounds, then the file system is shut down without a flush of its
    /// log. The node's processes should stand still, or what they write meanwhile is lost untold.
    ///
    /// # Errors
    /// Where it is not mounted, or the kernel refuses.
    pub fn cut(&mut self, bounds: Bounds) -> io::Result<u64> {
        let State::On(root) = &self.state else {
            return Err(io::Error::other("the power is off; mount it first"));
        };
        let before = Look::at(&below(root), bounds)?;
        mount::shut_down(root)?;
        let at_ns = sys::monotonic_ns();
        self.state = State::Cut { before, at_ns };
        Ok(at_ns)
    }

    /// Whether it was cut and not settled since.
    pub fn is_cut(&self) -> bool {
        matches!(self.state, State::Cut { .. })
    }

    /// Once every user of the mount is gone: mounts it again, and compares.
    ///
    /// # Errors
    /// Where it was not cut, somebody still uses the mount, or the kernel refuses.
    pub fn settle(&mut self) -> io::Result<Cut> {
        if !self.is_cut() {
            return Err(io::Error::other("the power is on; the cut comes before"));
        }
        let mount = self.mounted()?;
        let State::Cut { before, at_ns } = std::mem::replace(&mut self.state, State::Off) else {
            unreachable!("it was cut a moment ago, and mounting changes no state")
        };
        let difference = loss::difference(&before, &below(&mount))?;
        self.state = State::Ready(mount);
        Ok(Cut {
            at_ns,
            difference,
            before,
        })
    }

    /// What the device was given so far: bytes written, the file system's own included, and flushes.
    ///
    /// # Errors
    /// Where the kernel does not say.
    pub fn written(&self) -> io::Result<(u64, u64)> {
        self.device.written()
    }
}

impl Cut {
    /// Saves what was lost below `lost`, in a folder of the fault's, and gives the ledger's line.
    ///
    /// # Errors
    /// Where the folder takes no file.
    pub fn save(self, kind: Kind, fault: u64, lost: &Path) -> io::Result<RealCut> {
        loss::save(self, kind, fault, lost)
    }
}

/// A folder that is open, as a path.
pub fn below(folder: &impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()))
}

/// Writes a range of a file back and waits for it, as the kernel does unasked after 30 s; syncs nothing. For those who
/// look for what a cut may leave.
///
/// # Errors
/// Where the kernel refuses, or the device does.
pub fn write_back(file: &File, from: u64, length: u64) -> io::Result<()> {
    const ALL: libc::c_uint =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes a descriptor and numbers.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), from as i64, length as i64, ALL) };
    sys::said("sync_file_range", sys::check(done.into())).map(drop)
}
