//! `quorum-state`: the epoch, leader and vote of a member of the metadata quorum.
//!
//! It must be durable before an answer is sent that depends on it, or a member could vote twice in an
//! epoch. JSON, in two versions: 0 for a quorum of fixed voters, which it lists, and 1 (KIP-853), where
//! the vote names the voter's directory too.

use std::path::Path;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::atomic;
use crate::error::{Result, StorageError};
use crate::kafka_uuid::{format_uuid, parse_uuid};

/// The file's name in the metadata log's folder.
pub const FILE_NAME: &str = "quorum-state";
/// How the file writes "nobody".
const NOBODY: i32 = -1;

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumState {
    /// The epoch.
    pub leader_epoch: i32,
    /// The leader of that epoch, once known.
    pub leader_id: Option<i32>,
    /// Who got this member's vote in that epoch.
    pub voted_id: Option<i32>,
    /// The version, with what only it has.
    pub format: Format,
}

/// The two versions of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// Version 0: the voters are fixed, and listed.
    V0 {
        /// The ids of the voters.
        voters: Vec<i32>,
    },
    /// Version 1: voters are in the log.
    V1 {
        /// The directory of the voter that got the vote.
        voted_directory_id: Option<Uuid>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster_id: Option<String>,
    leader_id: i32,
    leader_epoch: i32,
    voted_id: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    voted_directory_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    applied_offset: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_voters: Option<Vec<Voter>>,
    #[serde(rename = "data_version")]
    data_version: i16,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Voter {
    voter_id: i32,
}

impl QuorumState {
    /// Reads the file; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the format says.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let Some(text) = atomic::read_text(path)? else {
            return Ok(None);
        };
        let json: Json = serde_json::from_str(&text)
            .map_err(|error| StorageError::parse(path, error.line().max(1), error.to_string()))?;
        json.into_state()
            .map(Some)
            .map_err(|reason| StorageError::parse(path, 1, reason))
    }

    /// Replaces the file, synced: when this returns, the vote holds.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_vec(&Json::from_state(self))
            .map_err(|error| StorageError::io("encode", path)(error.into()))?;
        atomic::replace(path, &text)
    }
}

impl Json {
    fn from_state(state: &QuorumState) -> Self {
        let mut json = Self {
            cluster_id: None,
            leader_id: state.leader_id.unwrap_or(NOBODY),
            leader_epoch: state.leader_epoch,
            voted_id: state.voted_id.unwrap_or(NOBODY),
            voted_directory_id: None,
            applied_offset: None,
            current_voters: None,
            data_version: 0,
        };
        match &state.format {
            Format::V0 { voters } => {
                json.cluster_id = Some(String::new());
                json.applied_offset = Some(0);
                json.current_voters = Some(voters.iter().map(|&voter_id| Voter { voter_id }).collect());
            }
            Format::V1 { voted_directory_id } => {
                json.data_version = 1;
                // Kafka writes the zero id for "none".
                json.voted_directory_id = Some(format_uuid(voted_directory_id.unwrap_or(Uuid::nil())));
            }
        }
        json
    }

    fn into_state(self) -> std::result::Result<QuorumState, String> {
        let format = match self.data_version {
            0 => Format::V0 {
                voters: self
                    .current_voters
                    .unwrap_or_default()
                    .iter()
                    .map(|voter| voter.voter_id)
                    .collect(),
            },
            1 => Format::V1 {
                voted_directory_id: directory(self.voted_directory_id.as_deref())?,
            },
            other => return Err(format!("data_version {other} is neither 0 nor 1")),
        };
        if self.leader_epoch < 0 {
            return Err(format!("leaderEpoch {} is negative", self.leader_epoch));
        }
        Ok(QuorumState {
            leader_epoch: self.leader_epoch,
            leader_id: somebody("leaderId", self.leader_id)?,
            voted_id: somebody("votedId", self.voted_id)?,
            format,
        })
    }
}

fn somebody(field: &str, id: i32) -> std::result::Result<Option<i32>, String> {
    match id {
        NOBODY => Ok(None),
        id if id >= 0 => Ok(Some(id)),
        id => Err(format!("{field} {id} is negative")),
    }
}

fn directory(text: Option<&str>) -> std::result::Result<Option<Uuid>, String> {
    let Some(text) = text else { return Ok(None) };
    let id = parse_uuid(text).ok_or_else(|| format!("votedDirectoryId '{text}' is not an id"))?;
    Ok(Some(id).filter(|id| !id.is_nil()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::Folder;

    fn round_trip(state: &QuorumState) -> String {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        assert_eq!(QuorumState::read(&path).unwrap(), None);
        state.write(&path).unwrap();
        assert_eq!(QuorumState::read(&path).unwrap().as_ref(), Some(state));
        fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn version_0_is_kafkas() {
        let format = Format::V0 { voters: vec![1, 2] };
        let text = round_trip(&QuorumState {
            leader_epoch: 4,
            leader_id: None,
            voted_id: Some(2),
            format,
        });
        assert_eq!(
            text,
            r#"{"clusterId":"","leaderId":-1,"leaderEpoch":4,"votedId":2,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}"#
        );
    }

    #[test]
    fn version_1_is_kafkas() {
        let format = Format::V1 {
            voted_directory_id: Some(Uuid::from_u128(1)),
        };
        let text = round_trip(&QuorumState {
            leader_epoch: 4,
            leader_id: Some(3),
            voted_id: Some(2),
            format,
        });
        assert_eq!(
            text,
            r#"{"leaderId":3,"leaderEpoch":4,"votedId":2,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAQ","data_version":1}"#
        );
        let format = Format::V1 {
            voted_directory_id: None,
        };
        round_trip(&QuorumState {
            leader_epoch: 0,
            leader_id: None,
            voted_id: None,
            format,
        });
    }

    #[test]
    fn bad_files_are_errors_with_a_line() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        for (text, bad_line) in [
            ("", 1),
            ("{\n\"leaderId\": x}", 2),
            (
                r#"{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":2}"#,
                1,
            ),
            (
                r#"{"leaderId":-7,"leaderEpoch":1,"votedId":-1,"data_version":1}"#,
                1,
            ),
            (
                r#"{"leaderId":1,"leaderEpoch":-1,"votedId":-1,"data_version":1}"#,
                1,
            ),
            (
                r#"{"leaderId":1,"leaderEpoch":1,"votedId":1,"votedDirectoryId":"x","data_version":1}"#,
                1,
            ),
        ] {
            fs::write(&path, text).unwrap();
            match QuorumState::read(&path) {
                Err(StorageError::Parse { line, .. }) => assert_eq!(line, bad_line, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }
}
