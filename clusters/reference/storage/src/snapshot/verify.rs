//! Whether a file is a whole and sound snapshot.

use std::fs::File;
use std::path::Path;

use super::{SnapshotHeader, SnapshotId};
use crate::batch::{BatchError, BatchHeader, HEADER_BYTES};
use crate::control::{self, ControlRecord, ControlType};
use crate::error::{Result, StorageError};
use crate::record::Records;
use crate::window::Window;

/// What a sound snapshot says of itself.
#[derive(Debug)]
pub(super) struct Verified {
    pub(super) header: SnapshotHeader,
    pub(super) size: u64,
}

/// Checks everything: each batch's CRC, offset, epoch and records, that the first holds the header and
/// the last the footer, and that nothing else is a control batch.
pub(super) fn verify(path: &Path, file: &File, id: SnapshotId) -> Result<Verified> {
    let size = file.metadata().map_err(StorageError::io("stat", path))?.len();
    let mut walk = Walk {
        path,
        file,
        size,
        position: 0,
        window: Window::default(),
    };
    let (mut header, mut footer, mut next_offset) = (None, false, 0);
    while walk.position < size {
        let position = walk.position;
        let fail = |reason: String| StorageError::snapshot(path, position, reason);
        if footer {
            return Err(fail("more follows after its footer".into()));
        }
        let batch = walk.next()?;
        let found = BatchHeader::parse(batch).map_err(|error| fail(error.to_string()))?;
        if found.base_offset != next_offset {
            let begins = found.base_offset;
            return Err(fail(format!(
                "a batch begins at offset {begins} where {next_offset} is due"
            )));
        }
        if found.leader_epoch != id.epoch {
            let epoch = found.leader_epoch;
            return Err(fail(format!(
                "a batch has leader epoch {epoch}, not the snapshot's"
            )));
        }
        next_offset = found.next_offset();
        match (&header, found.attributes.is_control()) {
            (None, true) => header = Some(read_header(batch).map_err(fail)?),
            (None, false) => return Err(fail("it does not begin with a header".into())),
            (Some(_), true) => {
                read_footer(batch).map_err(fail)?;
                footer = true;
            }
            (Some(_), false) => check_data(batch).map_err(fail)?,
        }
    }
    match header {
        Some(header) if footer => Ok(Verified { header, size }),
        Some(_) => Err(StorageError::snapshot(
            path,
            size,
            "it ends without a footer: it was cut short".into(),
        )),
        None => Err(StorageError::snapshot(path, 0, "it is empty".into())),
    }
}

/// Goes from batch to batch through a file.
struct Walk<'a> {
    path: &'a Path,
    file: &'a File,
    size: u64,
    position: u64,
    window: Window,
}

impl Walk<'_> {
    /// The batch at the position, its CRC checked.
    fn next(&mut self) -> Result<&[u8]> {
        read_batch(
            self.path,
            self.file,
            self.size,
            &mut self.window,
            &mut self.position,
        )
    }
}

/// The batch at `position`, its CRC checked; `position` moves behind it.
pub(super) fn read_batch<'a>(
    path: &Path,
    file: &File,
    size: u64,
    window: &'a mut Window,
    position: &mut u64,
) -> Result<&'a [u8]> {
    let at = *position;
    let fail = |error: BatchError| StorageError::snapshot(path, at, error.to_string());
    let bytes = window.get(file, at, HEADER_BYTES, size);
    let header = BatchHeader::parse(bytes.map_err(StorageError::io("read", path))?).map_err(fail)?;
    // The window holds no more than the file has, so a length that lies asks for no memory.
    let bytes = window.get(file, at, header.total_bytes, size);
    let bytes = bytes.map_err(StorageError::io("read", path))?;
    BatchHeader::validate(bytes).map_err(fail)?;
    *position += header.total_bytes as u64;
    Ok(bytes)
}

fn read_header(batch: &[u8]) -> std::result::Result<SnapshotHeader, String> {
    let mut header = None;
    let mut quorum = Vec::new();
    for record in control_records(batch)? {
        match (&header, record.control_type) {
            (None, ControlType::SnapshotHeader) => {
                header = Some(control::read_snapshot_header(&record.value)?);
            }
            (Some(_), ControlType::KRaftVersion | ControlType::KRaftVoters) => quorum.push(record),
            (None, other) => return Err(format!("it begins with a record of type {other:?}, not a header")),
            (Some(_), other) => {
                return Err(format!(
                    "a record of type {other:?} does not belong into a header"
                ));
            }
        }
    }
    let last_contained_log_timestamp = header.ok_or("its first batch is empty")?;
    Ok(SnapshotHeader {
        last_contained_log_timestamp,
        quorum,
    })
}

fn read_footer(batch: &[u8]) -> std::result::Result<(), String> {
    match control_records(batch)?.as_slice() {
        [record] if record.control_type == ControlType::SnapshotFooter => {
            control::read_snapshot_footer(&record.value)
        }
        _ => Err("a control batch after the header is not the footer".into()),
    }
}

/// The records of a control batch, which is never compressed.
fn control_records(batch: &[u8]) -> std::result::Result<Vec<ControlRecord>, String> {
    let mut found = Vec::new();
    for record in Records::of(batch).map_err(|error| error.to_string())? {
        let record = record.map_err(|error| error.to_string())?;
        let control_type = record.key.and_then(ControlType::of_key).ok_or_else(|| {
            format!(
                "a control record has the key {:?}, which is not understood",
                record.key
            )
        })?;
        let value = record.value.ok_or("a control record has no value")?;
        found.push(ControlRecord {
            control_type,
            value: value.to_vec().into(),
        });
    }
    Ok(found)
}

/// Walks the records of a data batch; of a compressed one, which Kafka may have written, the CRC has to do.
fn check_data(batch: &[u8]) -> std::result::Result<(), String> {
    match Records::of(batch) {
        Ok(mut records) => records
            .try_for_each(|record| record.map(|_| ()))
            .map_err(|error| error.to_string()),
        Err(BatchError::Compressed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
