//! Snapshots of the metadata log: what the log said up to an offset, in one file beside its segments.
//!
//! The file `<end offset, 20 digits>-<epoch, 10 digits>.checkpoint` holds record batches: first a control
//! batch with the header (and, where voters change, the version of the quorum and the voters), then data,
//! then a control batch with the footer. Offsets in the file count from 0 without a gap, and every batch
//! has the snapshot's epoch as its leader epoch: all as Kafka writes it (KIP-630, KIP-853).
//!
//! - [`SnapshotWriter`] makes one from records, [`SnapshotReceiver`] from the chunks of FetchSnapshot.
//! - [`SnapshotReader`] opens one, checks it whole, and hands out batches, or bytes for FetchSnapshot.
//! - [`list`], [`newest`], [`clean`], [`remove_older_than`] look after the folder.
//!
//! What this module does not: decide when to take a snapshot or whether its end offset is a boundary of
//! batches in the log (see [`crate::Log::is_batch_boundary`]), know what the records mean, or decompress.
//!
//! Invariants:
//! - A file has a snapshot's name only once it is whole and synced: it is written under another name,
//!   synced, renamed, and the folder synced. One that came in chunks is checked before the renaming.
//! - The newest snapshot is never removed: the log may begin at its end.
//! - Bytes of a disk or a peer never panic: they are errors with the path and the byte.

mod folder;
mod id;
mod reader;
mod receiver;
mod temporary;
mod verify;
mod writer;

use crate::control::ControlRecord;

pub use folder::{clean, list, newest, remove_older_than};
pub use id::SnapshotId;
pub use reader::{SnapshotBatch, SnapshotBatches, SnapshotReader};
pub use receiver::SnapshotReceiver;
pub use writer::{BATCH_BYTES, MAX_RECORD_BYTES, SnapshotWriter};

/// What the first batch of a snapshot says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotHeader {
    /// When the last record that the snapshot stands for was appended, in milliseconds since 1970.
    pub last_contained_log_timestamp: i64,
    /// The version of the quorum, and the voters, where these change (KIP-853). Nothing else may stand
    /// here.
    pub quorum: Vec<ControlRecord>,
}

#[cfg(test)]
mod tests;
