//! Control records of the metadata log: keys, and the bodies of a snapshot's header and footer.
//!
//! A key is a version and a type, both i16. Bodies are Kafka's own flexible messages, each of which
//! begins with its version once more; those that only the quorum understands (leader change, voters,
//! version of the quorum) pass through here encoded.
//!
//! Not here: the markers of transactions, which no metadata log holds.

use bytes::Bytes;

/// The version of a control record's key. Kafka has known no other.
const KEY_VERSION: i16 = 0;
/// The version of the header's and the footer's body.
const BODY_VERSION: i16 = 0;
/// A flexible message ends with the number of its tagged fields; these have none.
const NO_TAGGED_FIELDS: u8 = 0;

/// What a control record of the metadata log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ControlType {
    /// A new leader, and who elected it.
    LeaderChange,
    /// The first record of a snapshot.
    SnapshotHeader,
    /// The last record of a snapshot.
    SnapshotFooter,
    /// The version of the quorum's own protocol (KIP-853).
    KRaftVersion,
    /// The voters (KIP-853).
    KRaftVoters,
}

impl ControlType {
    const ALL: [Self; 5] = [
        Self::LeaderChange,
        Self::SnapshotHeader,
        Self::SnapshotFooter,
        Self::KRaftVersion,
        Self::KRaftVoters,
    ];

    /// The type as keys have it.
    pub fn code(self) -> i16 {
        match self {
            Self::LeaderChange => 2,
            Self::SnapshotHeader => 3,
            Self::SnapshotFooter => 4,
            Self::KRaftVersion => 5,
            Self::KRaftVoters => 6,
        }
    }

    /// The key of such a record.
    pub fn key(self) -> [u8; 4] {
        let ([v0, v1], [t0, t1]) = (KEY_VERSION.to_be_bytes(), self.code().to_be_bytes());
        [v0, v1, t0, t1]
    }

    /// The type that a key names; `None` when it is no key, or of a type not known here.
    pub fn of_key(key: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.key() == key)
    }
}

/// A control record whose body is encoded already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlRecord {
    /// What it is; its key follows from that.
    pub control_type: ControlType,
    /// Its body.
    pub value: Bytes,
}

/// The body of a snapshot's header: `version i16, last contained log timestamp i64`.
pub(crate) fn snapshot_header(last_contained_log_timestamp: i64) -> Vec<u8> {
    let mut body = BODY_VERSION.to_be_bytes().to_vec();
    body.extend(last_contained_log_timestamp.to_be_bytes());
    body.push(NO_TAGGED_FIELDS);
    body
}

/// Reads a header's body; what follows its two fields is tagged, and optional.
pub(crate) fn read_snapshot_header(body: &[u8]) -> Result<i64, String> {
    let rest = read_version(body, "header")?;
    match rest.split_first_chunk() {
        Some((timestamp, [_, ..])) => Ok(i64::from_be_bytes(*timestamp)),
        _ => Err("its header record is cut short".into()),
    }
}

/// The body of a snapshot's footer: `version i16`.
pub(crate) fn snapshot_footer() -> Vec<u8> {
    let mut body = BODY_VERSION.to_be_bytes().to_vec();
    body.push(NO_TAGGED_FIELDS);
    body
}

/// Checks a footer's body.
pub(crate) fn read_snapshot_footer(body: &[u8]) -> Result<(), String> {
    match read_version(body, "footer")? {
        [] => Err("its footer record is cut short".into()),
        _ => Ok(()),
    }
}

fn read_version<'a>(body: &'a [u8], what: &str) -> Result<&'a [u8], String> {
    match body.split_first_chunk() {
        Some((&version, rest)) if i16::from_be_bytes(version) == BODY_VERSION => Ok(rest),
        Some((&version, _)) => Err(format!(
            "its {what} record has version {}, only {BODY_VERSION} is understood",
            i16::from_be_bytes(version)
        )),
        None => Err(format!("its {what} record is cut short")),
    }
}

#[cfg(test)]
mod tests;
