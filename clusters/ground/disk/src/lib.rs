//! A disk that knows what was synced and can lose its power.
//!
//! Two layers. [`model`] decides what is durable: a backing folder always holds the *current* state, and the
//! model keeps only what is needed to go back. [`Disk`] serves that model as a FUSE file system, over a
//! `/dev/fuse` descriptor that somebody else has mounted.
//!
//! Between the two stands what faults ask for ([`DiskRule`]): each call is judged before it is done, and may fail, wait,
//! hang, be lied to, or be the one at which the node is struck. With no rule in force that is one look at a flag.
//!
//! What it does not do: it never syncs the backing folder itself, since no real power fails; only the
//! simulated one does. It mounts and unmounts nothing. It does not take modes, owners and times back: a change
//! of attributes counts as durable at once. It keeps no data back from `rename` (a file system mounted with
//! `noauto_da_alloc`): a file renamed over another without a sync may come back empty.
//!
//! Elsewhere than on Linux there are the policies alone, for those who write and read them.
//!
//! Invariants:
//! 1. Reading through the mount, before a cut, equals reading the backing folder.
//! 2. After [`Disk::settle`] the backing folder holds one of the states that the profile allows, chosen by the policy
//!    from its seed; by default exactly what was durable at the cut.
//! 3. Every byte that a cut drops was saved outside the mount first, and is named by a line of the
//!    [`ledger`]; so are those that it keeps though nobody synced them.
//! 4. What is kept in memory to go back is bounded by [`Limits`]; above it the oldest data are written back, as
//!    a kernel would, and the ledger says so. Only what is written after the power went is outside the bound.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod backing;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(target_os = "linux")]
mod draw;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod fs;
#[cfg(target_os = "linux")]
pub mod ledger;
mod mode;
#[cfg(target_os = "linux")]
pub mod model;
mod policy;
#[cfg(target_os = "linux")]
mod ranges;
mod rule;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod swap;

#[cfg(target_os = "linux")]
pub use linux::*;
pub use mode::Mode;
pub use policy::{Policy, Profile, Remainder, UnknownWord};
pub use rule::{
    ALL_PPM, CallKind, Crash, DiskEffect, DiskRule, DiskRuleCounts, DiskSwap, Errors, MAX_CUT_BYTES,
    MAX_DAMAGED_FILES, MAX_WAIT_NS, Mended, Spread, Stripe, Swapped,
};

#[cfg(target_os = "linux")]
mod linux {
    pub use crate::disk::{Disk, Serving, Settings, Stats, Trouble};
    pub use crate::faults::Crashed;
    pub use crate::ledger::Loss;
    pub use crate::model::Limits;
    pub use crate::ranges::Ranges;
}

use std::path::PathBuf;

/// Where a disk lives. `trash` must be on the same file system as `backing`, and outside it.
#[derive(Debug, Clone)]
pub struct DiskPaths {
    /// The folder that is served: always the current state.
    pub backing: PathBuf,
    /// Removed names wait here until their removal is durable. The disk empties it.
    pub trash: PathBuf,
    /// Bytes that a cut dropped: `<lost>/<fault>/<path>@<offset>`.
    pub lost: PathBuf,
    /// Disks that were replaced, and copies: `<images>/<fault>/`. Made when needed, on the file system of `backing`.
    pub images: PathBuf,
    /// JSON lines, one a cut and one a forced write-back.
    pub ledger: PathBuf,
}

impl DiskPaths {
    /// The usual layout of one disk's folder: `disk`, `trash`, `lost` and `disk-ledger.jsonl` in `home`.
    pub fn in_home(home: impl Into<PathBuf>) -> DiskPaths {
        let home = home.into();
        DiskPaths {
            backing: home.join("disk"),
            trash: home.join("trash"),
            lost: home.join("lost"),
            images: home.join("images"),
            ledger: home.join("disk-ledger.jsonl"),
        }
    }
}

/// Why a disk could not be opened, served or settled.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The host's own file system refused something.
    #[error("disk: {what} {}: {why}; is the host's file system full or read-only?", path.display())]
    Host {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The host's answer.
        why: std::io::Error,
    },
    /// A mount is still being served.
    #[error("disk: the mount is still served; unmount it (its last user must be dead) and ask again")]
    StillServing,
    /// [`Disk::settle`] without [`Disk::power_off`].
    #[error("disk: the power is on; power_off comes before settle")]
    PowerIsOn,
    /// [`Disk::serve`] with the power off.
    #[error("disk: the power is off; settle comes before serve")]
    PowerIsOff,
    /// A fault's rule is out of bounds.
    #[error("disk: the rule cannot be: {0}")]
    Rule(String),
    /// A thread could not be started.
    #[error("disk: no thread for the server: {0}; raise the limit of processes")]
    Thread(std::io::Error),
}
