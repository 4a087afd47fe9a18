//! What must survive a crash besides the log.

use crate::{Epoch, NodeId, ReplicaKey};

/// The contents of `quorum-state`. The default is that of a node that has never run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuorumState {
    /// The newest epoch this node has heard of.
    pub epoch: Epoch,
    /// That epoch's leader, once known.
    pub leader: Option<NodeId>,
    /// Whom this node voted for in that epoch.
    pub voted: Option<ReplicaKey>,
}
