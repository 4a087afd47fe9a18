//! Who votes: a set of voters, and how it came about along the log (KIP-853).

use std::sync::Arc;

use crate::{NodeId, Offset, ReplicaKey};

/// Where a voter can be reached. The machine carries it; the driver reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name.
    pub name: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// One voter, as a VotersRecord describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voter {
    /// Who it is.
    pub key: ReplicaKey,
    /// Where it is; empty where the driver knows by other means.
    pub endpoints: Vec<Endpoint>,
    /// The lowest and the highest `kraft.version` that it supports.
    pub kraft_versions: (i16, i16),
}

impl Voter {
    /// A voter of `controller.quorum.voters`, of which nothing but the id counts.
    pub fn fixed(id: NodeId) -> Self {
        Self {
            key: ReplicaKey::of(id),
            endpoints: Vec::new(),
            kraft_versions: (0, 1),
        }
    }
}

/// A set of voters, in ascending order of ids, each id once. Empty on a node that has been
/// formatted without any and has not heard from a leader yet. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoterSet(Arc<[Voter]>);

impl Default for VoterSet {
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

impl VoterSet {
    /// A set of these.
    ///
    /// # Errors
    ///
    /// The id that is named twice.
    pub fn new(mut voters: Vec<Voter>) -> Result<Self, NodeId> {
        voters.sort_by_key(|voter| voter.key);
        match voters.windows(2).find(|pair| pair[0].key.id == pair[1].key.id) {
            Some(pair) => Err(pair[0].key.id),
            None => Ok(Self(voters.into())),
        }
    }

    /// The voters, in ascending order.
    pub fn iter(&self) -> std::slice::Iter<'_, Voter> {
        self.0.iter()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nobody votes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many make a strict majority.
    pub fn majority(&self) -> usize {
        self.len() / 2 + 1
    }

    /// The voter of that id.
    pub fn get(&self, id: NodeId) -> Option<&Voter> {
        self.0.iter().find(|voter| voter.key.id == id)
    }

    /// Whether some folder of that id votes.
    pub fn contains_id(&self, id: NodeId) -> bool {
        self.get(id).is_some()
    }

    /// Whether this very replica votes: the same id, and the same folder where the set names one.
    pub fn contains(&self, key: ReplicaKey) -> bool {
        self.get(key.id)
            .is_some_and(|voter| voter.key.directory.is_none() || voter.key == key)
    }

    /// The voters' keys.
    pub fn keys(&self) -> impl Iterator<Item = ReplicaKey> + '_ {
        self.0.iter().map(|voter| voter.key)
    }

    /// The set with this voter added; none if its id votes already.
    pub fn with(&self, voter: Voter) -> Option<Self> {
        Self::new(self.0.iter().cloned().chain([voter]).collect()).ok()
    }

    /// The set without that voter; none if it does not vote.
    pub fn without(&self, key: ReplicaKey) -> Option<Self> {
        self.contains(key).then(|| {
            Self(
                self.0
                    .iter()
                    .filter(|voter| voter.key.id != key.id)
                    .cloned()
                    .collect(),
            )
        })
    }

    /// The set with what is said of that voter replaced; none if it does not vote.
    pub fn updated(&self, voter: &Voter) -> Option<Self> {
        self.without(voter.key)?.with(voter.clone())
    }
}

/// A set of voters, and the offset of the record that put it in force. It is in force from the
/// moment the record is appended, committed or not (KIP-853).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VotersAt {
    /// The VotersRecord's offset; the last offset of the snapshot where it is from one, which is
    /// -1 for the snapshot that formatting writes.
    pub offset: Offset,
    /// The voters.
    pub voters: VoterSet,
}

/// The sets in force along the log.
#[derive(Debug, Clone)]
pub(crate) struct VoterHistory {
    /// Those of `controller.quorum.voters`, in force where the log names none.
    fixed: VoterSet,
    changes: Vec<VotersAt>,
}

impl VoterHistory {
    pub(crate) fn new(fixed: VoterSet, changes: Vec<VotersAt>) -> Self {
        Self { fixed, changes }
    }

    /// The set in force.
    pub(crate) fn latest(&self) -> &VoterSet {
        self.changes.last().map_or(&self.fixed, |at| &at.voters)
    }

    /// The record that put the set in force; none for fixed voters (`kraft.version` 0).
    pub(crate) fn latest_change(&self) -> Option<&VotersAt> {
        self.changes.last()
    }

    /// The set that a record before `end` put in force.
    pub(crate) fn before(&self, end: Offset) -> Option<&VoterSet> {
        let named = self.changes.iter().rev().find(|at| at.offset < end);
        named.map(|at| &at.voters)
    }

    pub(crate) fn append(&mut self, at: VotersAt) {
        self.changes.push(at);
    }

    /// The log was cut: what was named at and beyond `end` is in force no more.
    pub(crate) fn truncate(&mut self, end: Offset) {
        self.changes.retain(|at| at.offset < end);
    }

    /// A snapshot took the place of the log.
    pub(crate) fn reset(&mut self, at: Option<VotersAt>) {
        self.changes.clear();
        self.changes.extend(at);
    }
}
