//! `quorum-state`: the epoch, leader and vote of a member of the metadata quorum.
//!
//! It must be durable before an answer is sent that depends on it, or a member could vote twice in an
//! epoch. JSON, in two versions: 0 for a quorum of fixed voters, which it lists, and 1 (KIP-853), where
//! the vote names the voter's directory too. Either is read into the one form below.
//!
//! A file that is torn, of something else, or of an unknown version is refused, never taken for "no vote",
//! and nothing here overwrites it: only the next [`QuorumState::write`] does. Properties that are not known
//! are ignored, as in Kafka; those that a version has must be there.

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

/// What the file says, whatever its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuorumState {
    /// The epoch.
    pub leader_epoch: i32,
    /// The leader of that epoch, once known.
    pub leader_id: Option<i32>,
    /// Who got this member's vote in that epoch.
    pub voted: Option<VotedKey>,
}

/// Whom a vote is for (KIP-853: a voter is its id and its directory).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VotedKey {
    /// The voter's id.
    pub id: i32,
    /// Its directory, where that is known. Version 0 has no place for it.
    pub directory_id: Option<Uuid>,
}

/// The version to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version<'a> {
    /// The voters are fixed, and listed (`kraft.version` 0).
    V0 {
        /// Their ids.
        voters: &'a [i32],
    },
    /// The voters are in the log (`kraft.version` 1).
    V1,
}

/// Version 0 as it is written; the order is Kafka's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonV0 {
    cluster_id: &'static str,
    leader_id: i32,
    leader_epoch: i32,
    voted_id: i32,
    applied_offset: i64,
    current_voters: Vec<Voter>,
    #[serde(rename = "data_version")]
    data_version: i16,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Voter {
    voter_id: i32,
}

/// Version 1 as it is written; the order is Kafka's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonV1 {
    leader_id: i32,
    leader_epoch: i32,
    voted_id: i32,
    voted_directory_id: String,
    #[serde(rename = "data_version")]
    data_version: i16,
}

/// Either as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    #[serde(rename = "data_version")]
    data_version: i16,
    leader_id: i32,
    leader_epoch: i32,
    voted_id: i32,
    voted_directory_id: Option<String>,
    current_voters: Option<Vec<Voter>>,
}

impl QuorumState {
    /// Reads the file; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the format says.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let Some(text) = atomic::read_text(path).map_err(as_quorum_state)? else {
            return Ok(None);
        };
        let bad = |line, reason| StorageError::QuorumState {
            path: path.to_owned(),
            line,
            reason,
        };
        if text.is_empty() {
            return Err(bad(1, "a JSON object expected, the file is empty".into()));
        }
        let json: Json = serde_json::from_str(&text).map_err(|error| {
            let reason = format!("a whole JSON object of quorum-state expected, but: {error}");
            bad(error.line().max(1), reason)
        })?;
        json.into_state().map(Some).map_err(|reason| bad(1, reason))
    }

    /// Replaces the file, synced: when this returns, the vote holds.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, path: &Path, version: Version<'_>) -> Result<()> {
        let text = match version {
            Version::V0 { voters } => serde_json::to_vec(&self.v0(voters)),
            Version::V1 => serde_json::to_vec(&self.v1()),
        };
        let text = text.map_err(|error| StorageError::io("encode", path)(error.into()))?;
        atomic::replace(path, &text)
    }

    fn v0(&self, voters: &[i32]) -> JsonV0 {
        JsonV0 {
            cluster_id: "",
            leader_id: self.leader_id.unwrap_or(NOBODY),
            leader_epoch: self.leader_epoch,
            voted_id: self.voted.map_or(NOBODY, |voted| voted.id),
            applied_offset: 0,
            current_voters: voters.iter().map(|&voter_id| Voter { voter_id }).collect(),
            data_version: 0,
        }
    }

    fn v1(&self) -> JsonV1 {
        let directory = self.voted.and_then(|voted| voted.directory_id);
        JsonV1 {
            leader_id: self.leader_id.unwrap_or(NOBODY),
            leader_epoch: self.leader_epoch,
            voted_id: self.voted.map_or(NOBODY, |voted| voted.id),
            // Kafka writes the zero id for "none".
            voted_directory_id: format_uuid(directory.unwrap_or(Uuid::nil())),
            data_version: 1,
        }
    }
}

impl Json {
    fn into_state(self) -> std::result::Result<QuorumState, String> {
        let directory_id = match self.data_version {
            0 => {
                let voters = self.current_voters.ok_or("currentVoters expected in version 0")?;
                if let Some(voter) = voters.iter().find(|voter| voter.voter_id < 0) {
                    return Err(format!("voterId {} is negative", voter.voter_id));
                }
                None
            }
            1 => directory(self.voted_directory_id.as_deref())?,
            other => return Err(format!("data_version 0 or 1 expected, found {other}")),
        };
        if self.leader_epoch < 0 {
            return Err(format!(
                "leaderEpoch of 0 or more expected, found {}",
                self.leader_epoch
            ));
        }
        let voted = match (somebody("votedId", self.voted_id)?, directory_id) {
            (Some(id), directory_id) => Some(VotedKey { id, directory_id }),
            (None, None) => None,
            (None, Some(_)) => {
                return Err("votedId expected beside votedDirectoryId, found -1".into());
            }
        };
        Ok(QuorumState {
            leader_epoch: self.leader_epoch,
            leader_id: somebody("leaderId", self.leader_id)?,
            voted,
        })
    }
}

fn somebody(field: &str, id: i32) -> std::result::Result<Option<i32>, String> {
    match id {
        NOBODY => Ok(None),
        id if id >= 0 => Ok(Some(id)),
        id => Err(format!("{field} of -1 or more expected, found {id}")),
    }
}

fn directory(text: Option<&str>) -> std::result::Result<Option<Uuid>, String> {
    let text = text.ok_or("votedDirectoryId expected in version 1")?;
    let id = parse_uuid(text).ok_or_else(|| format!("votedDirectoryId '{text}' is not an id"))?;
    Ok(Some(id).filter(|id| !id.is_nil()))
}

/// Text that is none, said with the advice that fits this file.
fn as_quorum_state(error: StorageError) -> StorageError {
    match error {
        StorageError::Parse { path, line, reason } => StorageError::QuorumState { path, line, reason },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{Contents, Folder, after_power_cuts, folder_of};

    const V0: &str = r#"{"clusterId":"","leaderId":-1,"leaderEpoch":4,"votedId":2,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}"#;
    const V1: &str = r#"{"leaderId":3,"leaderEpoch":4,"votedId":2,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAQ","data_version":1}"#;
    const V1_NOBODY: &str = r#"{"leaderId":-1,"leaderEpoch":0,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}"#;

    fn state(leader_epoch: i32, leader_id: Option<i32>, voted: Option<(i32, Option<u128>)>) -> QuorumState {
        QuorumState {
            leader_epoch,
            leader_id,
            voted: voted.map(|(id, directory)| VotedKey {
                id,
                directory_id: directory.map(Uuid::from_u128),
            }),
        }
    }

    #[test]
    fn both_versions_are_kafkas_to_the_byte() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        assert_eq!(QuorumState::read(&path).unwrap(), None);
        let voters = &[1, 2];
        for (state, version, golden) in [
            (state(4, None, Some((2, None))), Version::V0 { voters }, V0),
            (state(4, Some(3), Some((2, Some(1)))), Version::V1, V1),
            (state(0, None, None), Version::V1, V1_NOBODY),
        ] {
            state.write(&path, version).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), golden);
            assert_eq!(QuorumState::read(&path).unwrap(), Some(state));
        }
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing beside it"
        );
    }

    /// On the way from version 0 to 1 a vote has no directory; on the way back it loses it.
    #[test]
    fn one_form_serves_both_versions() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        fs::write(&path, V0).unwrap();
        let read = QuorumState::read(&path).unwrap().unwrap();
        read.write(&path, Version::V1).unwrap();
        assert_eq!(QuorumState::read(&path).unwrap(), Some(read));
        let with_directory = state(4, None, Some((2, Some(9))));
        with_directory
            .write(&path, Version::V0 { voters: &[1, 2] })
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), V0);
    }

    /// Refuses `bytes` at `bad_line` for a reason that has `word`, and leaves the file as it was.
    fn refused(bytes: &[u8], bad_line: usize, word: &str) {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        fs::write(&path, bytes).unwrap();
        let shown = String::from_utf8_lossy(bytes);
        match QuorumState::read(&path) {
            Err(error @ StorageError::QuorumState { line, .. }) => {
                let said = error.to_string();
                assert_eq!(line, bad_line, "{shown}: {said}");
                for part in [
                    path.to_str().unwrap(),
                    &format!("line {line}"),
                    word,
                    "restore the file",
                ] {
                    assert!(said.contains(part), "{shown}: {said} lacks {part}");
                }
            }
            other => panic!("{shown}: {other:?}"),
        }
        assert_eq!(fs::read(&path).unwrap(), bytes, "overwritten");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_torn_file_is_refused_at_every_length() {
        for golden in [V0, V1] {
            for length in 0..golden.len() {
                refused(&golden.as_bytes()[..length], 1, "expected");
            }
            refused(&vec![0; golden.len()], 1, "expected");
            refused(&[golden, golden].concat().into_bytes(), 1, "trailing");
        }
    }

    #[test]
    fn a_foreign_or_impossible_file_is_refused() {
        for (text, word) in [
            (r#"{"version":0,"brokerEpoch":7}"#, "missing field"),
            ("[]", "expected"),
            ("7", "expected"),
            ("null", "expected"),
            (
                r#"{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":2}"#,
                "data_version",
            ),
            (
                r#"{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":-1}"#,
                "data_version",
            ),
            (
                r#"{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":70000}"#,
                "70000",
            ),
            (r#"{"leaderId":1,"leaderEpoch":1,"votedId":-1}"#, "data_version"),
            (
                r#"{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":0}"#,
                "currentVoters",
            ),
            (
                r#"{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":1}"#,
                "votedDirectoryId",
            ),
            (r#"{"leaderId":1,"leaderEpoch":1,"data_version":1}"#, "votedId"),
        ] {
            refused(text.as_bytes(), 1, word);
        }
        for (from, to, word) in [
            (r#""leaderEpoch":4"#, r#""leaderEpoch":-1"#, "leaderEpoch"),
            (r#""leaderEpoch":4"#, r#""leaderEpoch":2147483648"#, "2147483648"),
            (r#""leaderId":3"#, r#""leaderId":-7"#, "leaderId"),
            (r#""votedId":2"#, r#""votedId":-1"#, "votedId expected"),
            (r#""votedId":2"#, r#""votedId":-2"#, "votedId"),
            ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAA", "not an id"),
        ] {
            refused(V1.replace(from, to).as_bytes(), 1, word);
        }
        refused(
            V0.replace(r#"{"voterId":2}"#, r#"{"voterId":-2}"#).as_bytes(),
            1,
            "voterId",
        );
        refused(b"{\n\"leaderId\": x}", 2, "expected");
        refused(b"{\n\n\xff}", 3, "UTF-8");
    }

    /// Whatever a loss of power leaves while a vote is written: the one before, or the new one.
    #[test]
    fn a_loss_of_power_leaves_the_old_vote_or_the_new_one() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        let (old, new) = (state(4, None, Some((2, None))), state(5, None, Some((3, None))));
        old.write(&path, Version::V1).unwrap();
        let ((), left) = after_power_cuts(folder.path(), || new.write(&path, Version::V1).unwrap());
        let read = |contents: &Contents| {
            let folder = folder_of(contents);
            QuorumState::read(&folder.file(FILE_NAME)).unwrap()
        };
        let after: Vec<_> = left.after.iter().map(read).collect();
        assert_eq!(after, [Some(new)], "when the writing returns, the vote holds");
        let read: Vec<_> = left.during.iter().map(read).collect();
        assert!(read.contains(&Some(old)) && read.contains(&Some(new)));
        assert!(
            read.iter().all(|found| [Some(old), Some(new)].contains(found)),
            "{read:?}"
        );
        assert_eq!(QuorumState::read(&path).unwrap(), Some(new));
    }

    #[test]
    fn a_property_of_a_later_kafka_is_passed_over() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        fs::write(&path, V1.replace('{', r#"{"future":[1],"#)).unwrap();
        assert!(QuorumState::read(&path).unwrap().is_some());
    }
}
