//! The messages between the keeper and its children: the wire, a disk, a node's init, the harness. One JSON value
//! a packet ([`crate::packet`]). All times are CLOCK_MONOTONIC in nanoseconds.
//!
//! The keeper asks one thing at a time of each child and waits for its answer (within a bound); where a child
//! speaks unasked, its message says so by its type.

use std::path::PathBuf;

use disk::{CallKind, Crash, DiskRule, DiskRuleCounts, DiskSwap, Mended, Policy, Swapped};
use serde::{Deserialize, Serialize};

use crate::api::{DiskKind, Error};
use crate::link_rule::{LinkRule, RuleCounts};

/// The port of the harness's clients.
pub const CLIENTS: u8 = 0;
/// The port of the observer, whose links no partition cuts.
pub const OBSERVER: u8 = 1;
/// The port of the node added first; the others follow.
pub const FIRST_NODE: u8 = 2;
/// Ports in all, so that a set of them fits a `u64`. The last byte of a frame's Ethernet addresses is the port.
pub const PORTS: u8 = 64;
/// The most nodes of a run.
pub const MAX_NODES: usize = (PORTS - FIRST_NODE) as usize;

/// Keeper to wire. Links are directed pairs of ports, `(from, to)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToWire {
    /// Take the TAP beside this message (one non-blocking descriptor, a virtio header before each frame) as the port's cable.
    /// The port's cuts and counters are as they were. Answered `Done`.
    Plug {
        /// The port.
        port: u8,
    },
    /// Pull these cables at one instant: once `Done` is answered, no frame to or from them passes, none that was
    /// delayed either, and their TAPs are closed (that ends the device). A port without a cable is no error.
    Unplug {
        /// The ports.
        ports: Vec<u8>,
    },
    /// Cut or heal links, all between two frames. Stays in force over `Unplug` and `Plug`. Answered `Done`.
    SetCut {
        /// The links.
        pairs: Vec<(u8, u8)>,
        /// Cut them, or heal them.
        cut: bool,
    },
    /// Put a fault's rule on these links, and on no others; one that it had is replaced, and counts anew. Stays in
    /// force over `Unplug` and `Plug`. Answered `Done`.
    SetRule {
        /// The fault.
        fault: u64,
        /// The links.
        pairs: Vec<(u8, u8)>,
        /// The rule.
        rule: LinkRule,
    },
    /// Take a fault's rule away; what still waits for it waits no longer. No error where there is none. Answered
    /// `Done`.
    ClearRule {
        /// The fault.
        fault: u64,
    },
    /// What a fault's rule has met so far. Answered `RuleCounts`.
    RuleCounts {
        /// The fault.
        fault: u64,
    },
    /// Which of these links have a cable at both ends, and no rule. Answered `Free`.
    Free {
        /// The links.
        pairs: Vec<(u8, u8)>,
    },
    /// What went over the links from one port so far. Answered `Counters`.
    Counters {
        /// The port.
        from: u8,
    },
    /// Forget the first frames of these links: the next one that each delivers is its first. Answered `Done`.
    Mark {
        /// The links.
        pairs: Vec<(u8, u8)>,
    },
    /// When these links delivered their first frame since they were marked. Answered `FirstFrames`.
    FirstFrames {
        /// The links.
        pairs: Vec<(u8, u8)>,
    },
}

/// Wire to keeper: each an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromWire {
    /// It is done, and was in force at this time.
    Done {
        /// When.
        at_ns: u64,
    },
    /// The links that carried or dropped something, or are cut.
    Counters {
        /// By `to`, rising.
        links: Vec<LinkCounter>,
    },
    /// What a fault's rule has met so far.
    RuleCounts(RuleCounts),
    /// Which of the links have a cable at both ends, and no rule.
    Free {
        /// In the order asked.
        free: Vec<bool>,
    },
    /// When each link delivered its first frame since it was marked.
    FirstFrames {
        /// In the order asked; none where there was none, or no mark.
        at_ns: Vec<Option<u64>>,
    },
    /// It is not done.
    Failed {
        /// What was tried and why it failed.
        why: String,
    },
}

/// What went over one directed link since the wire began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounter {
    /// The port where frames arrive.
    pub to: u8,
    /// Frames delivered.
    pub passed: u64,
    /// Frames dropped because that was asked for (a cut, a rule) or a cable was pulled.
    pub dropped: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Frames lost though nobody asked for it: short writes, a full queue.
    pub unasked: u64,
    /// Whether it is cut now, all of it or a port's traffic.
    pub cut: bool,
}

/// Keeper to a node's disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToDisk {
    /// First of all, once: where the disk lives. Answered `Done`.
    Open {
        /// The node.
        node: i32,
        /// The node's folder on the host, and there. In it: `disk`, the backing folder, and `lost`, both there; the
        /// disk adds a folder for removed names and its ledger.
        home: PathBuf,
        /// What it is. A real one is made here; answered `Lacks` where the machine cannot.
        #[serde(default)]
        disk: DiskKind,
    },
    /// Power is on, of a real disk: answered `Done`, with the mount beside it, which is in no namespace yet.
    Mount,
    /// Power is on, of a disk of ours: serve the FUSE device beside this message, mounted by the node's init. Answered `Done`
    /// once a thread is about to read it; the kernel's INIT may come later.
    Serve,
    /// The cut: from this instant no sync is acknowledged. A real disk is read, within bounds, and shut down. With ours
    /// everything outstanding is answered (EIO); what the
    /// kernel still writes is taken in as un-synced. Answered `Done`.
    PowerOff,
    /// Close the FUSE device at once: the kernel fails every request and lets its callers die. Only after
    /// `PowerOff`, when the node's processes do not end. Answered `Done`.
    Abort,
    /// The node is dead: wait (1 s at most) for the session's end, make what the cut leaves, forget the rest.
    /// Answered `Loss`.
    Settle {
        /// The fault, for the ledger.
        fault: u64,
        /// Which of the legal states it leaves; the disk mixes its node's number into the seed.
        policy: Policy,
    },
    /// How much the disk holds. Answered `Stats`.
    Stats,
    /// What a fault asks. Answered `Told`, or `Failed`.
    Fault {
        /// The fault.
        fault: u64,
        /// What it asks.
        ask: DiskAsk,
    },
    /// The node's processes are dying: answer all calls that wait by a fault, once. Answered `Done`.
    LetGo,
}

/// What a fault asks of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskAsk {
    /// Put this rule in force, in place of one that the fault had.
    SetRule(DiskRule),
    /// Take the fault's rule away, and mend what it damaged. No error where there is none.
    ClearRule,
    /// What the rule has met. An error where there is none.
    Counts,
    /// Replace the disk as a whole.
    Swap(DiskSwap),
}

/// What a disk tells a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskTold {
    /// The rule is in force.
    Set {
        /// Since when.
        at_ns: u64,
    },
    /// It is taken away.
    Cleared(Mended),
    /// What it has met.
    Counts(DiskRuleCounts),
    /// The disk was replaced.
    Swapped(Swapped),
}

/// A disk has stopped at a call: its node is to be struck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCrash {
    /// By which fault.
    pub fault: u64,
    /// How it is to be struck.
    pub how: Crash,
    /// Since when the disk stands still.
    pub at_ns: u64,
    /// At what call.
    pub call: CallKind,
    /// On what, below the mount.
    pub path: String,
}

/// Disk to keeper. `Full` and `Crashed` come unasked; the others are answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromDisk {
    /// It is done.
    Done {
        /// When.
        at_ns: u64,
    },
    /// What the cut took.
    Loss(DiskLoss),
    /// How much the disk holds.
    Stats(DiskStats),
    /// What a fault wanted to know.
    Told(DiskTold),
    /// Unasked: see there.
    Crashed(DiskCrash),
    /// The machine cannot have such a disk.
    Lacks(Error),
    /// It is not done.
    Failed {
        /// What was tried and why it failed.
        why: String,
    },
    /// Unasked: the backing folder has no room, so the node's writes fail through no fault of its own.
    Full {
        /// What was tried and why it failed.
        why: String,
    },
}

/// What one power cut took from one disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskLoss {
    /// Bytes lost in all.
    pub bytes: u64,
    /// Files that lost bytes, or their names.
    pub files: u64,
    /// Bytes that nobody had synced and that are there all the same.
    #[serde(default)]
    pub kept_unsynced: u64,
}

/// What a disk holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskStats {
    /// Bytes written since the disk was opened.
    pub written: u64,
    /// Syncs acknowledged since the disk was opened.
    pub syncs: u64,
    /// Bytes that a cut now could take.
    pub unsynced: u64,
}
