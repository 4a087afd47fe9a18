//! The plain words that all else is said in.

use std::fmt;

/// A node's id, as in `node.id`. Real nodes are never negative; a driver may give negative ids to
/// the addresses of `controller.quorum.bootstrap.servers`, whose owners it does not know yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub i32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The id of a node's metadata folder, drawn when it is formatted: a node that comes back with an
/// empty disk is another voter (KIP-853).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectoryId(pub u128);

/// Who a replica is: its id, and its folder where that is known (KIP-853). Voters that are fixed
/// by `controller.quorum.voters` have no folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaKey {
    /// Its id.
    pub id: NodeId,
    /// Its folder.
    pub directory: Option<DirectoryId>,
}

impl ReplicaKey {
    /// A replica of which only the id is known.
    pub fn of(id: NodeId) -> Self {
        Self { id, directory: None }
    }

    /// Whether both may be the same replica: a folder that is not known may be any.
    pub fn may_be(self, other: Self) -> bool {
        let same_folder = match (self.directory, other.directory) {
            (Some(one), Some(another)) => one == another,
            _ => true,
        };
        self.id == other.id && same_folder
    }
}

impl fmt::Display for ReplicaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.directory {
            Some(DirectoryId(directory)) => write!(f, "{} ({directory:032x})", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}

/// A leadership period. It labels records and messages, and only grows.
pub type Epoch = i32;

/// A position in the log. End offsets are exclusive.
pub type Offset = i64;

/// Names a snapshot: the state that all records below `end_offset` make, the last of which has
/// `epoch`. `00000000000000000000-0000000000` is the one that formatting writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId {
    /// One past the last record in it: the end of a batch.
    pub end_offset: Offset,
    /// That record's epoch.
    pub epoch: Epoch,
}

/// A monotonic time in nanoseconds since whenever the driver likes.
pub type Nanos = u64;

/// The driver's name for a request that a peer is waiting on. The machine only hands it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// The machine's name for a request it sent. The driver only hands it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);
