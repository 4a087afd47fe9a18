//! Nodes that should not be there: of another cluster, or with the number of a node that is there already.
//!
//! Another cluster's node refuses whatever names this one's cluster. One that does may itself be the stranger;
//! when a majority of the voters says so, it is this node, which then ends before it has written anything of
//! what they say. Kafka's nodes end at the first such answer, so that one stranger, started first, ends the
//! rest.
//!
//! Where voters are fixed (`kraft.version` 0) only ids count, and two processes with one id would vote and
//! acknowledge in each other's name. Each folder has an id of its own that every Fetch and Vote tells: while
//! one of them is heard, the other is refused. Where voters change (`kraft.version` 1, KIP-853) the id of the
//! folder is part of who a voter is, and the machine tells them apart; but a second node that observes under
//! an id would register as it too, and the two would write each other out of the metadata for ever. So its
//! Fetch is refused all the same, while the other is heard; a voter's never is.

use std::collections::{BTreeMap, BTreeSet};

use raft::NodeId;
use uuid::Uuid;

use super::wire::Own;

/// What is known of them.
#[derive(Debug, Default)]
pub struct Company {
    /// Somebody answered as a node of this cluster does.
    met_own: bool,
    /// Who said that this node is of another cluster.
    strangers: BTreeSet<NodeId>,
    /// Whose folder was heard when, in milliseconds.
    folders: BTreeMap<NodeId, (Uuid, u64)>,
    told_of_twin: bool,
}

/// What an answer of another cluster's node means.
#[derive(Debug, PartialEq, Eq)]
pub enum Stranger {
    /// Heard of before.
    Known,
    /// A new one; it may be the other that is wrong.
    New,
    /// So many say it that this node is the stranger.
    ThisNode,
}

impl Company {
    /// A peer answered as one of this cluster.
    pub fn met_own(&mut self) {
        self.met_own = true;
    }

    /// A peer, one of `asked` that can be asked, says that this node is of another cluster.
    pub fn met_stranger(&mut self, peer: NodeId, asked: usize) -> Stranger {
        let is_new = self.strangers.insert(peer);
        if !self.met_own && self.strangers.len() > asked / 2 {
            Stranger::ThisNode
        } else if is_new {
            Stranger::New
        } else {
            Stranger::Known
        }
    }

    /// Whether a replica's id is in use by another folder: this node's own, or one that was heard within
    /// `patience_ms`. Otherwise the replica, which is so if it `votes` in that folder, is from now on the one
    /// that was heard.
    pub fn is_twin(
        &mut self,
        own: &Own,
        (id, folder): (NodeId, Uuid),
        votes: bool,
        now_ms: u64,
        patience_ms: u64,
    ) -> bool {
        if folder.is_nil() {
            return false;
        }
        if id.0 == own.node_id {
            return folder != own.directory_id;
        }
        match self.folders.get(&id) {
            Some((known, at)) if !votes && *known != folder && now_ms.saturating_sub(*at) < patience_ms => {
                true
            }
            _ => {
                self.folders.insert(id, (folder, now_ms));
                false
            }
        }
    }

    /// Whether it is the first time that this node hears of its twin.
    pub fn met_twin(&mut self) -> bool {
        !std::mem::replace(&mut self.told_of_twin, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::Located;

    fn own(dynamic: bool) -> Own {
        Own {
            cluster_id: "c".into(),
            node_id: 1,
            directory_id: Uuid::from_u128(101),
            dynamic,
            listener: "CONTROLLER".into(),
            place: Located {
                id: 1,
                host: "h".into(),
                port: 1,
            },
        }
    }

    #[test]
    fn a_majority_of_strangers_makes_this_node_the_stranger() {
        let mut company = Company::default();
        assert_eq!(company.met_stranger(NodeId(2), 3), Stranger::New);
        assert_eq!(company.met_stranger(NodeId(2), 3), Stranger::Known);
        assert_eq!(company.met_stranger(NodeId(3), 3), Stranger::ThisNode);
        let mut company = Company::default();
        company.met_own();
        assert_eq!(company.met_stranger(NodeId(2), 3), Stranger::New);
        assert_eq!(company.met_stranger(NodeId(3), 3), Stranger::New);
        assert_eq!(Company::default().met_stranger(NodeId(2), 1), Stranger::ThisNode);
    }

    #[test]
    fn of_two_folders_with_one_id_the_one_that_is_heard_stays() {
        let (mut company, own) = (Company::default(), own(false));
        let (first, second) = (Uuid::from_u128(201), Uuid::from_u128(202));
        let mut twin = |folder, now| company.is_twin(&own, (NodeId(2), folder), false, now, 100);
        assert!(!twin(first, 0) && twin(second, 50) && !twin(first, 90) && twin(second, 189));
        // The first is not heard any more: its disk was replaced.
        assert!(!twin(second, 190) && twin(first, 200));
        assert!(!twin(Uuid::nil(), 200));
        assert!(company.is_twin(&own, (NodeId(1), first), false, 0, 100));
        assert!(!company.is_twin(&own, (NodeId(1), own.directory_id), false, 0, 100));
    }

    #[test]
    fn where_voters_change_a_voter_is_heard_and_who_observes_under_its_id_is_not() {
        let (mut company, own) = (Company::default(), own(true));
        let (voter, observer) = (Uuid::from_u128(201), Uuid::from_u128(202));
        let mut twin = |folder, now| company.is_twin(&own, (NodeId(2), folder), folder == voter, now, 100);
        assert!(!twin(observer, 0) && !twin(voter, 10) && twin(observer, 20) && !twin(voter, 30));
        // The voter's disk is gone, and another took its place.
        assert!(!twin(observer, 130) && !twin(observer, 140));
    }
}
