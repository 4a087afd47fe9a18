//! The files that formatting writes, in the order that makes the last of them mean that all are there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bytes::BytesMut;
use kafka_protocol::messages::voters_record::{Endpoint, KRaftVersionFeature, Voter};
use kafka_protocol::messages::{BrokerId, VotersRecord};
use kafka_protocol::protocol::{Encodable, StrBytes};
use raft::VoterSet;
use storage::meta_properties::{self, MetaProperties};
use storage::{ControlRecord, ControlType, SnapshotHeader, SnapshotId, SnapshotWriter, StorageError};
use uuid::Uuid;

use super::{Levels, bootstrap};
use crate::clock::Clock;
use crate::failure::Failure;
use crate::features::KRAFT_VERSION;
use crate::quorum::METADATA_FOLDER;

/// The version of the bodies of the quorum's control records.
const VERSION: i16 = 0;

/// Refuses a folder whose metadata log lost its `meta.properties`: what is in it may be all that is left of
/// a cluster.
pub(super) fn check_empty(what: &str, folder: &Path) -> Result<(), Failure> {
    let metadata = folder.join(METADATA_FOLDER);
    let leftover = SnapshotId::BOOTSTRAP.file_name();
    let entries = match fs::read_dir(&metadata) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::other(what, error.to_string(), "Correct log.dirs.")),
    };
    for entry in entries.flatten() {
        // The snapshot that a format writes, under its own name or a passing one, before it was interrupted.
        if !entry.file_name().to_string_lossy().starts_with(&leftover) {
            return Err(Failure::other(
                what,
                format!(
                    "It has no meta.properties, and yet a metadata log: {}.",
                    entry.path().display()
                ),
                "Restore its meta.properties, or use an empty folder.",
            ));
        }
    }
    Ok(())
}

/// Writes everything, each file durable before the next.
pub(super) fn write(
    folder: &Path,
    properties: &MetaProperties,
    levels: &Levels,
    first_voters: Option<&VoterSet>,
) -> Result<(), StorageError> {
    make_durable(folder)?;
    let metadata = folder.join(METADATA_FOLDER);
    if metadata.exists() {
        // Left by a format that was interrupted, see `check_empty`.
        fs::remove_dir_all(&metadata).map_err(refused("remove", &metadata))?;
    }
    if let Some(voters) = first_voters {
        make_durable(&metadata)?;
        write_first_snapshot(&metadata, voters)?;
    }
    bootstrap::write(folder, levels)?;
    sync(folder)?;
    // Last: it is what says that the folder is formatted.
    properties.write(&folder.join(meta_properties::FILE_NAME))
}

/// The snapshot that a log begins with: no metadata, only who votes.
fn write_first_snapshot(folder: &Path, voters: &VoterSet) -> Result<(), StorageError> {
    let now_ms = Clock::start().wall_ms();
    let header = SnapshotHeader {
        last_contained_log_timestamp: now_ms,
        quorum: vec![
            ControlRecord {
                control_type: ControlType::KRaftVersion,
                value: kraft_version().into(),
            },
            ControlRecord {
                control_type: ControlType::KRaftVoters,
                value: voters_record(voters).into(),
            },
        ],
    };
    SnapshotWriter::create(folder, SnapshotId::BOOTSTRAP, &header, now_ms)?.finish()?;
    Ok(())
}

/// `version i16, kraft version i16`, no tagged fields.
fn kraft_version() -> Vec<u8> {
    let [a, b] = VERSION.to_be_bytes();
    let [c, d] = KRAFT_VERSION.most.to_be_bytes();
    vec![a, b, c, d, 0]
}

fn voters_record(voters: &VoterSet) -> Vec<u8> {
    let text = |text: &str| StrBytes::from_string(text.to_owned());
    let endpoint = |endpoint: &raft::Endpoint| {
        Endpoint::default()
            .with_name(text(&endpoint.name))
            .with_host(text(&endpoint.host))
            .with_port(endpoint.port)
    };
    let voter = |voter: &raft::Voter| {
        let (least, most) = voter.kraft_versions;
        let directory = voter.key.directory.map_or(0, |directory| directory.0);
        Voter::default()
            .with_voter_id(BrokerId(voter.key.id.0))
            .with_voter_directory_id(Uuid::from_u128(directory))
            .with_endpoints(voter.endpoints.iter().map(endpoint).collect())
            .with_k_raft_version_feature(
                KRaftVersionFeature::default()
                    .with_min_supported_version(least)
                    .with_max_supported_version(most),
            )
    };
    let record = VotersRecord::default().with_voters(voters.iter().map(voter).collect());
    let mut bytes = BytesMut::new();
    // Nothing in it is longer than a length can say: hosts and names come from a command line.
    let _ = record.encode(&mut bytes, VERSION);
    bytes.to_vec()
}

/// Makes the folder and whatever lies above it, and syncs each name that was made.
fn make_durable(folder: &Path) -> Result<(), StorageError> {
    let missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .map(Path::to_owned)
        .collect();
    fs::create_dir_all(folder).map_err(refused("make the folder", folder))?;
    for made in missing {
        sync(match made.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        })?;
    }
    Ok(())
}

fn sync(folder: &Path) -> Result<(), StorageError> {
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(refused("sync", folder))
}

pub(super) fn refused(tried: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StorageError {
    let path = path.to_owned();
    move |source| StorageError::Io { tried, path, source }
}
