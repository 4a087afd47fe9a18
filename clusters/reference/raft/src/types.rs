//! The plain words that all else is said in.

use std::fmt;

/// A node's id, as in `node.id`. Real nodes are never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub i32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A leadership period. It labels records and messages, and only grows.
pub type Epoch = i32;

/// A position in the log. End offsets are exclusive.
pub type Offset = i64;

/// A monotonic time in nanoseconds since whenever the driver likes.
pub type Nanos = u64;

/// The driver's name for a request that a peer is waiting on. The machine only hands it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// The machine's name for a request it sent. The driver only hands it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);
