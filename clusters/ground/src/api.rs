//! What the harness says to the ground, and hears from it. Plain data, the same on every system.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::proto::DiskLoss;

/// Three texts: what was tried, why it failed, what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// What was tried, on what.
    pub what: String,
    /// Why it failed.
    pub why: String,
    /// What to do next.
    pub next: String,
    /// Whether the machine lacks something (exit status 69), rather than the ground having failed (70).
    pub machine: bool,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.what, self.why, self.next)
    }
}

impl std::error::Error for Error {}

/// What the front launches.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The run's folder: absolute, and there.
    pub run_dir: PathBuf,
    /// The harness's arguments, after `__harness`.
    pub harness_args: Vec<String>,
    /// Under sudo, who asked: user and group id. What is made in the run's folder belongs to them.
    pub owner: Option<(u32, u32)>,
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The harness ended by itself, with this exit status.
    Exited(u8),
    /// A part of the run died: "the wire was killed by signal 9". All the rest is gone.
    Died {
        /// What died, and of what.
        what: String,
    },
    /// The harness did not end by itself after this signal: a second one came, or its grace had passed.
    Interrupted {
        /// The first signal.
        signal: i32,
    },
}

/// This machine lacks something that the ground needs: the caller's exit status is 69.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchError(pub Error);

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for LaunchError {}

/// What a node's disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskKind {
    /// A file system of ours, which knows what was synced: what a cut leaves is chosen. Needs no root.
    #[default]
    Fuse,
    /// The same, and the node's kernel keeps what is written until a sync or a close (`disk::Mode::WriteBack`): faster,
    /// and a fault of single writes is refused.
    FuseWriteBack,
    /// A real ext4 on a loop device: what a cut leaves it decides itself. Needs root.
    Ext4,
    /// A real xfs on a loop device, likewise.
    Xfs,
}

impl DiskKind {
    /// All of them, the default first.
    pub const ALL: [DiskKind; 4] = [
        DiskKind::Fuse,
        DiskKind::FuseWriteBack,
        DiskKind::Ext4,
        DiskKind::Xfs,
    ];

    /// Its word in plans and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            DiskKind::Fuse => "fuse",
            DiskKind::FuseWriteBack => "fuse-write-back",
            DiskKind::Ext4 => "ext4",
            DiskKind::Xfs => "xfs",
        }
    }

    /// How a disk of ours is mounted; none for a real one.
    pub fn mode(self) -> Option<disk::Mode> {
        match self {
            DiskKind::Fuse => Some(disk::Mode::WriteThrough),
            DiskKind::FuseWriteBack => Some(disk::Mode::WriteBack),
            DiskKind::Ext4 | DiskKind::Xfs => None,
        }
    }
}

/// A node to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// The node's number, as the cluster counts.
    pub id: i32,
    /// The node's host name.
    pub name: String,
    /// The node's folder, `<run>/nodes/<id>`. In it are made: `disk`, what the disk holds as the host sees it;
    /// `mount`, which is empty but in the node's own eyes; `lost`, what power cuts took.
    pub home: PathBuf,
    /// Folders and files below `/tmp` that the node still sees, though its `/tmp` is its own (an installed system).
    /// The run's folder is always seen.
    pub visible: Vec<PathBuf>,
    /// What its disk is. A real one leaves nothing in the folder `disk`: what is on it is gone with the run.
    #[serde(default)]
    pub disk: DiskKind,
}

/// A program to run on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program and its arguments. The program `{self}` is this executable itself, as it was at the run's start,
    /// so that a rebuild changes nothing; any other is looked up in PATH.
    pub argv: Vec<String>,
    /// Added to the environment that the run was started with.
    pub env: Vec<(String, String)>,
    /// Where standard output and standard error are appended.
    pub log: PathBuf,
    /// The working folder.
    pub cwd: PathBuf,
}

/// A signal for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// SIGTERM to the program: a controlled shutdown.
    Terminate,
    /// SIGKILL to every process of the node.
    Kill,
    /// SIGSTOP to every process of the node. Its kernel still acknowledges TCP and accepts connections.
    Stop,
    /// SIGCONT to every process of the node.
    Continue,
}

/// A node that has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoweredOn {
    /// The node's address, the same in each of its lives.
    pub address: Ipv4Addr,
    /// When its network and disk were there.
    pub at_ns: u64,
}

/// A program that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Counts the node's starts, from 1, over all its lives.
    pub start: u32,
    /// When its executable had replaced us (at most a few microseconds late).
    pub exec_at_ns: u64,
}

/// A signal that was sent, and whether it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signalled {
    /// When it was sent.
    pub at_ns: u64,
    /// When every process of the node was seen gone, stopped or going on again. None for [`Signal::Terminate`],
    /// whose effect is the program's business; and where it did not take within a second.
    pub took_at_ns: Option<u64>,
}

/// One node's loss of power.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerCut {
    /// The node.
    pub node: i32,
    /// When its last frame had passed: the instant of the cut, the same for all nodes of one call.
    pub cut_at_ns: u64,
    /// When the last of its processes was gone.
    pub dead_at_ns: u64,
    /// What its disk lost.
    pub loss: DiskLoss,
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Port {
    /// The harness's clients.
    Clients,
    /// The observer.
    Observer,
    /// A node.
    Node(i32),
}

/// What went over one directed link since the run's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCount {
    /// Where frames come from.
    pub from: Port,
    /// Where they go.
    pub to: Port,
    /// Frames delivered.
    pub passed: u64,
    /// Frames dropped because the link was cut or an end had no power.
    pub dropped: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Frames lost though nobody asked for it.
    pub unasked: u64,
    /// Whether the link is cut now.
    pub cut: bool,
}

/// A node's namespaces, by inode number. A number tells apart what is there at one time; the kernel may give it out
/// again to the node's next life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Namespaces {
    /// Processes.
    pub pid: u64,
    /// Mounts.
    pub mnt: u64,
    /// Network.
    pub net: u64,
    /// Host name.
    pub uts: u64,
    /// The network namespace's cookie, which is never given out again; none before Linux 5.14.
    pub net_cookie: Option<u64>,
    /// The process id of the node's init, as the harness sees it.
    pub init: i32,
}

/// What happens unasked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A node's program ended: by itself, or by a signal of ours. A power cut ends it without this event.
    ProgramEnded {
        /// The node.
        node: i32,
        /// Which start of it.
        start: u32,
        /// Its exit status, where it exited.
        status: Option<i32>,
        /// The signal that ended it, where one did.
        signal: Option<i32>,
        /// Whether the kernel's count of out-of-memory kills rose while it ran, and SIGKILL ended it unasked.
        oom: bool,
        /// When it was seen.
        at_ns: u64,
    },
    /// The user wants an end. The harness ends by itself, within [`crate::GRACE`].
    Interrupt {
        /// SIGINT, SIGTERM or SIGHUP.
        signal: i32,
    },
    /// A node's disk has stopped at a call, by a fault's rule, and the node was struck there and then.
    DiskCrashed {
        /// The node.
        node: i32,
        /// The fault.
        fault: u64,
        /// Which start of its program it was.
        start: u32,
        /// At what call.
        call: disk::CallKind,
        /// On what, below the mount.
        path: String,
        /// When the disk stood still.
        at_ns: u64,
        /// The loss of power, where that was asked for.
        cut: Option<PowerCut>,
    },
    /// The host's disk has no room, so a node's writes fail through no fault of its own.
    DiskFull {
        /// The node.
        node: i32,
        /// What was tried, and why it failed.
        why: String,
    },
}

/// One mechanism, as tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The mechanism's name.
    pub name: String,
    /// Whether it works.
    pub available: bool,
    /// How it was tried.
    pub how: String,
    /// Why it does not work; empty where it does.
    pub why_not: String,
    /// One line to copy that would help; empty where it works.
    pub remedy: String,
}
