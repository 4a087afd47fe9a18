//! `.kafka_cleanshutdown`: left by a clean shutdown, with the broker epoch it ended.
//!
//! KIP-966 rests on it: a broker that names its previous epoch when it registers says "I lost
//! nothing", and stays in the ISR and ELR. Whoever finds no marker, or none that can be read, must say
//! that it does not know (-1), and is treated as having lost its unsynced records.
//!
//! Order: write the marker only after every log of the folder was synced and closed without an error
//! (KAFKA-19221), and never after a start that failed (KAFKA-15375). Read it before registering, then
//! [`remove`] it before the first write to any log.
//!
//! As in Kafka, the removal is not made durable: a loss of power soon after a start can bring the marker
//! back. It then names the epoch before the last, which no longer matches the one that the controller
//! knows, so the election is safe; and [`crate::Log`] checks every batch whatever the marker says.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::error::{Result, StorageError};

/// The file's name in a data folder.
pub const FILE_NAME: &str = ".kafka_cleanshutdown";

/// The content. Properties that are not known are ignored.
#[derive(Serialize, Deserialize)]
struct Content {
    version: i32,
    #[serde(rename = "brokerEpoch")]
    broker_epoch: i64,
}

/// The broker epoch that a clean shutdown ended; `None` when there is no marker, or none that can be
/// read: both mean that nothing is known.
pub fn read(path: &Path) -> Option<i64> {
    let content: Content = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    Some(content.broker_epoch)
}

/// Writes the marker, synced.
///
/// # Errors
/// When the disk refuses.
pub fn write(path: &Path, broker_epoch: i64) -> Result<()> {
    atomic::replace(
        path,
        format!(r#"{{"version":0,"brokerEpoch":{broker_epoch}}}"#).as_bytes(),
    )
}

/// Removes the marker, if there is one. The removal is *not* synced; see above.
///
/// # Errors
/// When the disk refuses.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StorageError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn what_was_written_is_read_until_it_is_removed() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        assert_eq!(read(&path), None);
        write(&path, 42).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            r#"{"version":0,"brokerEpoch":42}"#
        );
        assert_eq!(read(&path), Some(42));
        remove(&path).unwrap();
        assert_eq!(read(&path), None);
        remove(&path).unwrap();
    }

    #[test]
    fn unknown_properties_are_ignored_and_nonsense_is_no_marker() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        fs::write(&path, r#"{"future":[1],"brokerEpoch":7,"version":0}"#).unwrap();
        assert_eq!(read(&path), Some(7));
        for nonsense in [
            "",
            "{",
            "7",
            r#"{"version":0}"#,
            r#"{"version":0,"brokerEpoch":"x"}"#,
        ] {
            fs::write(&path, nonsense).unwrap();
            assert_eq!(read(&path), None, "{nonsense}");
        }
    }
}
