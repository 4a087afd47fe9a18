//! Control records of the metadata log: who leads it from here on, and who votes (KIP-595, KIP-853).

use super::change::{Change, Unread};
use crate::batch::ControlRecord;
use crate::ids::topic_id_text;
use bytes::Buf;
use history::Voter;
use kafka_protocol::messages::{KRaftVersionRecord, LeaderChangeMessage, VotersRecord};
use kafka_protocol::protocol::{Decodable, Message};

/// The feature whose level a KRaftVersion record sets.
const KRAFT_VERSION: &str = "kraft.version";

/// The types, as the keys number them.
mod kind {
    pub const LEADER_CHANGE: i16 = 2;
    pub const SNAPSHOT_HEADER: i16 = 3;
    pub const SNAPSHOT_FOOTER: i16 = 4;
    pub const KRAFT_VERSION: i16 = 5;
    pub const KRAFT_VOTERS: i16 = 6;
}

/// What a control record is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// The first record of a snapshot.
    Header,
    /// The last record of a snapshot.
    Footer,
    /// One that is told.
    Change(Change),
}

/// Reads one control record of a batch of that epoch.
pub(super) fn decode(record: &ControlRecord, epoch: i32) -> Result<Control, Unread> {
    let mut key = record.key.clone();
    let (version, kind) = (key.try_get_i16(), key.try_get_i16());
    let (Ok(_), Ok(kind)) = (version, kind) else {
        return Err(unread(format!(
            "a control record has a key of {} bytes",
            record.key.len()
        )));
    };
    Ok(Control::Change(match kind {
        kind::SNAPSHOT_HEADER => return Ok(Control::Header),
        kind::SNAPSHOT_FOOTER => return Ok(Control::Footer),
        kind::LEADER_CHANGE => {
            let message: LeaderChangeMessage = body(record, "LeaderChange")?;
            Change::Leader {
                leader: message.leader_id.0,
                epoch,
                voters: message.voters.iter().map(|voter| voter.voter_id).collect(),
            }
        }
        kind::KRAFT_VERSION => {
            let message: KRaftVersionRecord = body(record, "KRaftVersion")?;
            Change::Feature {
                name: KRAFT_VERSION.into(),
                level: message.k_raft_version,
            }
        }
        kind::KRAFT_VOTERS => Change::Voters(voters(body(record, "KRaftVoters")?)),
        other => return Err(unread(format!("control records of type {other} are not known"))),
    }))
}

/// Each body begins with the version it is written in.
fn body<M: Message + Decodable>(record: &ControlRecord, name: &str) -> Result<M, Unread> {
    let mut value = record.value.clone();
    let version = (&value[..])
        .try_get_i16()
        .map_err(|_| unread(format!("a {name} record has no version")))?;
    if !(M::VERSIONS.min..=M::VERSIONS.max).contains(&version) {
        return Err(unread(format!(
            "version {version} of a {name} record is newer than what is known"
        )));
    }
    M::decode(&mut value, version).map_err(|why| unread(format!("a {name} record: {why}")))
}

fn voters(record: VotersRecord) -> Vec<Voter> {
    let voter = record.voters.into_iter().map(|voter| Voter {
        node: voter.voter_id.0,
        directory: topic_id_text(voter.voter_directory_id),
        endpoints: voter
            .endpoints
            .iter()
            .map(|end| format!("{}://{}:{}", end.name.as_str(), end.host.as_str(), end.port))
            .collect(),
    });
    voter.collect()
}

/// Control records have no number among the metadata records' types. They say nothing of brokers and partitions.
fn unread(why: String) -> Unread {
    Unread {
        record_type: None,
        version: None,
        hides: false,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn record(kind: u8, value: &[u8]) -> ControlRecord {
        ControlRecord {
            offset: 0,
            key: Bytes::copy_from_slice(&[0, 0, 0, kind]),
            value: Bytes::copy_from_slice(value),
        }
    }

    /// Version 1: leader 101; voter 101 with the directory 1; nobody granted a vote.
    fn leader_change() -> Vec<u8> {
        let mut value = vec![0, 1, 0, 0, 0, 101, 2, 0, 0, 0, 101];
        value.extend([[0; 15].as_slice(), &[1, 0]].concat());
        value.extend([1, 0]);
        value
    }

    /// Version 0: voter 102 with the directory 1, at C://h:9, supporting kraft.version 0 to 1.
    fn voters_record() -> Vec<u8> {
        let mut value = vec![0, 0, 2, 0, 0, 0, 102];
        value.extend([[0; 15].as_slice(), &[1]].concat());
        value.extend([2, 2, b'C', 2, b'h', 0, 9, 0]);
        value.extend([0, 0, 0, 1, 0, 0, 0]);
        value
    }

    #[test]
    fn leaders_versions_and_voters_are_read() {
        let leader = Change::Leader {
            leader: 101,
            epoch: 7,
            voters: vec![101],
        };
        assert_eq!(
            decode(&record(2, &leader_change()), 7),
            Ok(Control::Change(leader))
        );
        let level = Change::Feature {
            name: "kraft.version".into(),
            level: 1,
        };
        assert_eq!(
            decode(&record(5, &[0, 0, 0, 1, 0]), 7),
            Ok(Control::Change(level))
        );
        let voter = Voter {
            node: 102,
            directory: "AAAAAAAAAAAAAAAAAAAAAQ".into(),
            endpoints: vec!["C://h:9".into()],
        };
        let voters = Change::Voters(vec![voter]);
        assert_eq!(
            decode(&record(6, &voters_record()), 7),
            Ok(Control::Change(voters))
        );
        assert_eq!(decode(&record(3, &[]), 7), Ok(Control::Header));
        assert_eq!(decode(&record(4, &[]), 7), Ok(Control::Footer));
    }

    #[test]
    fn what_is_newer_or_broken_is_passed_over() {
        let why = |record: &ControlRecord| decode(record, 7).unwrap_err().why;
        assert!(why(&record(9, &[])).contains("type 9"));
        assert!(why(&record(5, &[0, 9, 0, 1, 0])).contains("version 9"));
        assert!(why(&record(5, &[0])).contains("no version"));
        let short = ControlRecord {
            key: Bytes::from_static(&[0, 0]),
            ..record(2, &[])
        };
        assert!(why(&short).contains("key of 2 bytes"));
        for (kind, whole) in [(2, leader_change()), (6, voters_record())] {
            for at in 0..whole.len() {
                assert!(
                    decode(&record(kind, &whole[..at]), 7).is_err(),
                    "{kind} cut at {at}"
                );
            }
        }
    }
}
