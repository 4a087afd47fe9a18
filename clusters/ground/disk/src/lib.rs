//! A disk that knows what was synced and can lose its power.
//!
//! Two layers. [`model`] decides what is durable: a backing folder always holds the *current* state, and the
//! model keeps only what is needed to go back. [`Disk`] serves that model as a FUSE file system, over a
//! `/dev/fuse` descriptor that somebody else has mounted.
//!
//! What it does not do: it never syncs the backing folder itself, since no real power fails; only the
//! simulated one does. It mounts and unmounts nothing. It does not take modes, owners and times back: a change
//! of attributes counts as durable at once. It keeps no data back from `rename` (a file system mounted with
//! `noauto_da_alloc`): a file renamed over another without a sync may come back empty.
//!
//! Invariants:
//! 1. Reading through the mount, before a cut, equals reading the backing folder.
//! 2. After [`Disk::settle`] the backing folder holds exactly what was durable at the cut, and nothing else.
//! 3. Every byte that a cut drops was saved outside the mount first, and is named by a line of the [`ledger`].
//! 4. What is kept in memory to go back is bounded by [`Limits`]; above it the oldest data are written back, as
//!    a kernel would, and the ledger says so. Only what is written after the power went is outside the bound.
#![forbid(unsafe_code)]

mod backing;
mod disk;
mod fs;
pub mod ledger;
pub mod model;
mod ranges;

pub use disk::{Disk, Serving, Stats, Trouble};
pub use ledger::Loss;
pub use model::Limits;
pub use ranges::Ranges;

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
            ledger: home.join("disk-ledger.jsonl"),
        }
    }
}

/// Which states a cut may legally leave.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// One journal: a sync of any file or folder commits all earlier names and truncations; names are written
    /// back after [`model::NAMES_WRITTEN_BACK_AFTER`], data after [`model::DATA_WRITTEN_BACK_AFTER`].
    #[default]
    Ext4,
}

/// Which of the legal states a cut leaves.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remainder {
    /// Nothing but what was synced (or written back by age).
    #[default]
    OnlySynced,
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
    /// A thread could not be started.
    #[error("disk: no thread for the server: {0}; raise the limit of processes")]
    Thread(std::io::Error),
}
