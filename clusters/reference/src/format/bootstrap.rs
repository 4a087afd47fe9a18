//! `bootstrap.checkpoint`: what the first active controller writes into an empty metadata log. It has the
//! form of a snapshot: a header, the records, a footer, each batch of them at the epoch 0.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use bytes::BytesMut;
use kafka_protocol::messages::{SnapshotFooterRecord, SnapshotHeaderRecord};
use kafka_protocol::protocol::{Decodable, Encodable};
use records::{FeatureLevel, Record};
use storage::{BatchBuilder, BatchError, Batches, ControlType, Records, StorageError};

use super::Levels;
use super::files::refused;
use crate::clock::Clock;
use crate::failure::Failure;

/// The name of the file with the initial records.
pub const BOOTSTRAP_FILE: &str = "bootstrap.checkpoint";
/// The version of the header's and the footer's body.
const VERSION: i16 = 0;

/// Writes and syncs the file. Its name is the caller's to sync.
pub(super) fn write(folder: &Path, levels: &Levels) -> Result<(), StorageError> {
    let path = folder.join(BOOTSTRAP_FILE);
    let bytes = encode(levels, Clock::start().wall_ms()).map_err(|source| StorageError::Batch {
        path: path.clone(),
        source,
    })?;
    let mut file = File::create(&path).map_err(refused("create", &path))?;
    file.write_all(&bytes)
        .and_then(|()| file.sync_all())
        .map_err(refused("write", &path))
}

fn encode(levels: &Levels, now_ms: i64) -> Result<Vec<u8>, BatchError> {
    let header = SnapshotHeaderRecord::default().with_last_contained_log_timestamp(now_ms);
    let mut head = BatchBuilder::new(now_ms).control();
    head.push(
        Some(&ControlType::SnapshotHeader.key()),
        Some(&body(&header)),
        &[],
    )?;
    let mut data = BatchBuilder::new(now_ms);
    for (name, level) in levels.iter() {
        let record = Record::FeatureLevel(FeatureLevel {
            name: name.to_owned(),
            level,
        });
        data.push(None, Some(&record.encode()), &[])?;
    }
    let mut foot = BatchBuilder::new(now_ms).control();
    foot.push(
        Some(&ControlType::SnapshotFooter.key()),
        Some(&body(&SnapshotFooterRecord::default())),
        &[],
    )?;
    let mut bytes = Vec::new();
    let mut next_offset = 0;
    for batch in [head, data, foot] {
        bytes.extend_from_slice(&batch.build(next_offset, 0)?);
        next_offset += batch.len() as i64;
    }
    Ok(bytes)
}

fn body(message: &impl Encodable) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    // Two messages of fixed fields in a version that they have: nothing in them can fail to be written.
    let _ = message.encode(&mut bytes, VERSION);
    bytes.to_vec()
}

/// The feature levels in the bootstrap file of a formatted folder.
///
/// # Errors
/// When it cannot be read, or is not what formatting writes: torn, of something else, or damaged.
pub fn read_bootstrap(folder: &Path) -> Result<Levels, Failure> {
    let path = folder.join(BOOTSTRAP_FILE);
    fs::read(&path)
        .map_err(|error| error.to_string())
        .and_then(|bytes| decode(&bytes))
        .map_err(|why| {
            Failure::other(
                format!("Cannot read {}.", path.display()),
                why,
                "Restore the file, or format an empty folder.",
            )
        })
}

fn decode(bytes: &[u8]) -> Result<Levels, String> {
    let mut levels = BTreeMap::new();
    let (mut begun, mut ended) = (false, false);
    for batch in Batches::new(bytes) {
        let (header, batch) = batch.map_err(|error| error.to_string())?;
        if ended {
            return Err("More follows after its footer.".into());
        }
        for record in Records::of(batch).map_err(|error| error.to_string())? {
            let record = record.map_err(|error| error.to_string())?;
            let value = record.value.unwrap_or_default();
            if header.attributes.is_control() {
                let kind = record.key.and_then(ControlType::of_key);
                match kind {
                    Some(ControlType::SnapshotHeader) if !begun => {
                        begun = whole::<SnapshotHeaderRecord>(value)?
                    }
                    Some(ControlType::SnapshotFooter) if begun => {
                        ended = whole::<SnapshotFooterRecord>(value)?
                    }
                    _ => return Err(format!("It holds a control record out of place: {kind:?}.")),
                }
                continue;
            }
            if !begun {
                return Err("It does not begin with a header.".into());
            }
            match Record::decode(value) {
                Ok(Record::FeatureLevel(level)) => drop(levels.insert(level.name, level.level)),
                Ok(other) => return Err(format!("It holds a record that does not belong there: {other:?}")),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
    if ended {
        Ok(Levels::of(levels))
    } else {
        Err("It ends without a footer: it was cut short.".into())
    }
}

/// Whether a body is one of that message.
fn whole<M: Decodable>(mut body: &[u8]) -> Result<bool, String> {
    M::decode(&mut body, VERSION)
        .map(|_| true)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        encode(&super::super::features(&[]).unwrap(), 7).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let levels = decode(&sample()).unwrap();
        assert_eq!(levels.get("metadata.version"), Some(26));
        assert_eq!(levels.get("eligible.leader.replicas.version"), Some(1));
        assert_eq!(levels.get("kraft.version"), None);
    }

    #[test]
    fn a_torn_or_damaged_file_is_refused() {
        let whole = sample();
        for length in 0..whole.len() {
            assert!(decode(&whole[..length]).is_err(), "cut at {length}");
        }
        for at in 0..whole.len() {
            // The base offset and the leader epoch are outside the CRC, and mean nothing here.
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            if let Ok(read) = decode(&damaged) {
                assert_eq!(read, decode(&whole).unwrap(), "damaged at {at}");
            }
        }
        let mut twice = whole.clone();
        twice.extend_from_slice(&whole);
        assert!(decode(&twice).unwrap_err().contains("after its footer"));
    }

    /// By hand from the formats: a header of 3 fields (version, time, no tags), keys of type 3 and 4.
    #[test]
    fn header_and_footer_are_kafkas() {
        let bytes = sample();
        let batches: Vec<_> = Batches::new(&bytes).map(|batch| batch.unwrap().1).collect();
        let record = |batch: &'_ [u8]| {
            let record = Records::of(batch).unwrap().next().unwrap().unwrap();
            (record.key.unwrap().to_vec(), record.value.unwrap().to_vec())
        };
        assert_eq!(batches.len(), 3);
        assert_eq!(
            record(batches[0]),
            (vec![0, 0, 0, 3], vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0])
        );
        assert_eq!(record(batches[2]), (vec![0, 0, 0, 4], vec![0, 0, 0]));
    }
}
