//! Files of a node: segmented logs of record batches, checkpoints, markers.
//!
//! Everything here is synchronous `std::fs`: plain reads and writes at a position, `fdatasync`,
//! `fsync`, `rename`. No memory map and no direct I/O, so that any file system will do, one in user
//! space included. One file a format.
//!
//! What this crate does:
//! - [`batch`], [`record`], [`build`]: record batches of format 2. A batch is opaque beyond its
//!   header, so a compressed one passes through untouched.
//! - [`log`]: a folder of segments, with a leader-epoch cache ([`epochs`]), which can be appended to,
//!   read, truncated, synced, and which repairs itself when opened.
//! - [`snapshot`]: what a metadata log said up to an offset, in one file; [`control`]: its control records.
//! - [`offsets`], [`partition_metadata`], [`meta_properties`], [`clean_shutdown`], [`quorum_state`]:
//!   the small files of a node, in Kafka's own formats.
//!
//! What it does not: decide *when* to sync (the caller does, by `flush.interval.messages` or by its
//! protocol), keep the state of producers, retain by time or size, compact, or decompress.
//!
//! Invariants:
//! - Bytes read from a disk or a socket never panic: they are errors with a path and a line, or a
//!   place at which a log is cut.
//! - The batches of a log are contiguous: each begins at the offset where the one before it ends, and
//!   leader epochs never decrease along it.
//! - After a failed write or sync that cannot be undone a log refuses all further writes: what the
//!   disk then holds is unknown until the log is opened again.
//! - A small file is replaced whole or not at all: written beside, synced, renamed, folder synced.

mod atomic;
pub mod batch;
pub mod build;
pub mod clean_shutdown;
pub mod control;
pub mod epochs;
mod error;
mod kafka_uuid;
pub mod log;
pub mod meta_properties;
pub mod offsets;
pub mod partition_metadata;
pub mod quorum_state;
pub mod record;
mod segment;
pub mod snapshot;
mod steps;
#[cfg(test)]
mod testing;
mod varint;
mod window;

pub use batch::{Attributes, BatchError, BatchHeader, Batches, Compression};
pub use build::BatchBuilder;
pub use control::{ControlRecord, ControlType};
pub use epochs::{EpochEnd, EpochEntry, LeaderEpochs};
pub use error::{Result, StorageError};
pub use kafka_uuid::{format_uuid, parse_uuid};
pub use log::{Appended, Log, LogConfig, ReadLimit, Recovery};
pub use record::{Header, Record, Records};
pub use snapshot::{
    SnapshotBatch, SnapshotHeader, SnapshotId, SnapshotReader, SnapshotReceiver, SnapshotWriter,
};
