//! What a node's folder and configuration say, before the machine starts.
//!
//! Nothing is written before all that could be refused was read: `quorum-state`, and every byte of the
//! newest snapshot. Only then is what an ended process left unfinished removed, and the log repaired.

use std::path::Path;

use raft::{DirectoryId, Endpoint, EpochStart, LogSummary, NodeId, ReplicaKey, Voter, VotersAt};
use storage::quorum_state::{self, VotedKey};
use storage::snapshot::{self, SnapshotId, SnapshotReader};
use storage::{Log, LogConfig, ReadLimit, StorageError};

use super::addresses::Located;
use super::wire::{Own, add_voter};
use super::{Identity, control};
use crate::config::{Config, HELD_FETCH_LIMIT, Role};
use crate::diary::info;
use crate::failure::Failure;

/// The pause after a request to a peer that failed.
const RETRY_BACKOFF: std::time::Duration = std::time::Duration::from_millis(50);
/// A follower's fetches are held this fraction of the fetch time-out at most, so that an idle quorum, on a
/// machine that stalls a little, holds no elections.
const HELD_FETCHES_A_TIMEOUT: u32 = 3;

/// What was found.
pub struct Opened {
    pub log: Log,
    pub state: raft::QuorumState,
    pub summary: LogSummary,
    /// The newest snapshot, unless it is the one that formatting wrote.
    pub snapshot: Option<SnapshotReader>,
}

/// Who this node is to the others.
pub fn own(config: &Config, identity: Identity) -> Own {
    Own {
        cluster_id: identity.cluster_id,
        node_id: identity.node_id,
        directory_id: identity.directory_id,
        dynamic: config.has_dynamic_quorum(),
        listener: config.controller_listener.clone(),
        place: Located {
            id: identity.node_id,
            host: config.advertised.host.clone(),
            port: config.advertised.port,
        },
    }
}

/// Opens the folder of the metadata log.
///
/// # Errors
/// When the disk refuses, something in it is damaged beyond what may be repaired, or it is another kind of
/// quorum's.
pub fn open(folder: &Path, config: &Config) -> Result<Opened, Failure> {
    let what = format!("Cannot open the metadata log in {}.", folder.display());
    let failed = |error: StorageError| {
        Failure::other(
            &what,
            error.to_string(),
            "Free the disk, restore the folder, or format an empty one and let the node catch up with the others.",
        )
    };
    if config.role == Role::Controller && has_forgotten_its_vote(folder) {
        return Err(Failure::other(
            what,
            format!(
                "There are records, but no {}: whom this voter gave its vote to is forgotten, and it could vote twice \
                 in an epoch.",
                quorum_state::FILE_NAME
            ),
            "Restore the file; or move the folder away, format an empty one, and let the node catch up with the others.",
        ));
    }
    let opened = open_files(folder, config).map_err(failed)?;
    if !config.has_dynamic_quorum() && !opened.summary.voters.is_empty() {
        return Err(Failure::usage(
            what,
            "The voters are named in it, and controller.quorum.voters names them too.",
            "Leave controller.quorum.voters out, and name controller.quorum.bootstrap.servers.",
        ));
    }
    Ok(opened)
}

/// A voter's state is on disk before any record is: a log with records beside no state has lost it.
fn has_forgotten_its_vote(folder: &Path) -> bool {
    let is_log_with_records = |entry: std::fs::DirEntry| {
        let is_log = entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "log");
        is_log && entry.metadata().is_ok_and(|found| found.len() > 0)
    };
    let stateless = !folder.join(quorum_state::FILE_NAME).exists();
    // A folder that cannot be read is refused a little later, with the reason.
    stateless && std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(is_log_with_records))
}

fn open_files(folder: &Path, config: &Config) -> Result<Opened, StorageError> {
    let stored = quorum_state::QuorumState::read(&folder.join(quorum_state::FILE_NAME))?;
    let newest = if folder.exists() {
        snapshot::newest(folder)?
    } else {
        None
    };
    let reader = newest.map(|id| SnapshotReader::open(folder, id)).transpose()?;
    if folder.exists() {
        let removed = snapshot::clean(folder)?;
        if removed > 0 {
            info!(
                "{removed} unfinished snapshots are removed from {}",
                folder.display()
            );
        }
    }
    let segments = LogConfig {
        // Whole segments are what is removed once snapshots hold them.
        segment_bytes: config.metadata_segment_bytes.min(config.snapshot_after_bytes),
    };
    let (log, recovery) = Log::open_after(folder, segments, newest)?;
    if let Some(reason) = recovery.reason {
        info!(
            "the metadata log was cut by {} bytes: {reason}",
            recovery.cut_bytes
        );
    }
    let summary = summary(folder, &log, reader.as_ref())?;
    let dynamic = config.has_dynamic_quorum();
    Ok(Opened {
        state: stored.map_or_else(raft::QuorumState::default, |stored| state(&stored, dynamic)),
        summary,
        log,
        snapshot: reader.filter(|reader| reader.id() != SnapshotId::BOOTSTRAP),
    })
}

fn state(stored: &quorum_state::QuorumState, dynamic: bool) -> raft::QuorumState {
    // Where voters are fixed directories do not count, whoever wrote them down.
    let directory = |voted: VotedKey| voted.directory_id.filter(|_| dynamic);
    raft::QuorumState {
        epoch: stored.leader_epoch,
        leader: stored.leader_id.map(NodeId),
        voted: stored.voted.map(|voted| ReplicaKey {
            id: NodeId(voted.id),
            directory: directory(voted).map(|id| DirectoryId(id.as_u128())),
        }),
    }
}

fn summary(folder: &Path, log: &Log, newest: Option<&SnapshotReader>) -> Result<LogSummary, StorageError> {
    // Where nothing follows the snapshot, the epoch it ends in may be noted, and has no record.
    let entries = log.epochs().entries().iter();
    let with_records = entries.filter(|entry| entry.start_offset < log.end_offset());
    let epochs = with_records.map(|entry| EpochStart {
        epoch: entry.leader_epoch,
        start_offset: entry.start_offset,
    });
    let unreadable = |position: i64| {
        let path = folder.to_owned();
        move |why: String| StorageError::Parse {
            path,
            line: usize::try_from(position).unwrap_or(0),
            reason: why,
        }
    };
    let mut voters = Vec::new();
    if let Some(reader) = newest {
        let end_offset = reader.id().end_offset;
        let named = control::voters_of(reader.header()).map_err(unreadable(end_offset))?;
        voters.extend(named.map(|voters| VotersAt {
            offset: end_offset - 1,
            voters,
        }));
    }
    for header in log.headers(log.start_offset())? {
        let header = header?;
        if header.attributes.is_control() {
            let limit = ReadLimit {
                max_bytes: 0,
                at_least_one: true,
                upper_bound: header.next_offset(),
            };
            let batch = log.read(header.base_offset, limit)?;
            voters.extend(control::voters_in(&batch).map_err(unreadable(header.base_offset))?);
        }
    }
    Ok(LogSummary {
        epochs: epochs.collect(),
        end_offset: log.end_offset(),
        start_offset: log.start_offset(),
        snapshot: newest.map(|reader| super::snapshots::raft_id(reader.id())),
        voters,
    })
}

/// What the machine is told of the configuration.
///
/// # Errors
/// When no set of running nodes could ever work this way.
pub fn settings(
    config: &Config,
    own: &Own,
    bootstrap: Vec<NodeId>,
) -> Result<raft::Config, raft::ConfigError> {
    let timeouts = raft::Timeouts {
        election_timeout: config.election_timeout,
        fetch_timeout: config.fetch_timeout,
        election_backoff_max: config.election_backoff_max,
        request_timeout: config.request_timeout,
        retry_backoff: RETRY_BACKOFF,
        fetch_max_wait: (config.fetch_timeout / HELD_FETCHES_A_TIMEOUT).min(HELD_FETCH_LIMIT),
    };
    let settings = if own.dynamic {
        raft::Config::dynamic(voter(own), bootstrap, timeouts)?
    } else {
        let voters: Vec<NodeId> = config.voters.iter().map(|voter| NodeId(voter.id)).collect();
        raft::Config::new(NodeId(config.node_id), &voters, timeouts)?
    };
    let settings = match config.role {
        Role::Controller => settings,
        Role::Broker => settings.never_votes(),
    };
    Ok(match config.bug {
        Some(bug) => settings.with_bug(bug),
        None => settings,
    })
}

/// This node, as a VotersRecord would name it.
fn voter(own: &Own) -> Voter {
    Voter {
        key: ReplicaKey {
            id: NodeId(own.node_id),
            directory: Some(DirectoryId(own.directory_id.as_u128())),
        },
        endpoints: vec![Endpoint {
            name: own.listener.clone(),
            host: own.place.host.clone(),
            port: own.place.port,
        }],
        kraft_versions: add_voter::KRAFT_VERSIONS,
    }
}
