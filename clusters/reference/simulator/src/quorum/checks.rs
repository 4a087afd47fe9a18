//! The rules that never break, checked after every step.
//!
//! They know nothing of how a node keeps its log: what they see of one is a [`LogView`], in which
//! every record has a *chain*, a number that stands for it and for all before it. So a log that
//! begins at a snapshot is judged like any other (the snapshot has the chain of the last record
//! that it covers), and two logs agree up to an offset if their chains there are the same.
//!
//! Nodes are places in the simulation; voters are keys, since a node that lost its disk comes back
//! as another voter (KIP-853). The rules hold whatever voters there are: one leader an epoch, no
//! matter which set elected it; what one leader committed, every later one has.
//!
//! Every check costs no more than the records it is told of: nothing is searched at every step.

use std::collections::{BTreeMap, HashMap};

use raft::{Epoch, Offset, QuorumState, ReplicaKey, SnapshotId};

use super::log::{length, offset};
use super::{Disk, Log, Record};

mod violation;

pub use violation::{NAMED, Violation};

/// What the checks see of a node's log.
pub trait LogView {
    /// Where it begins; all before it is in a snapshot, or was never there.
    fn start(&self) -> Offset;

    /// One past its last record.
    fn end(&self) -> Offset;

    /// What stands for the record at that offset and all before it; known from the last record
    /// before the log's start on.
    fn chain(&self, at: Offset) -> Option<u64>;

    /// Whether that record is the last of its batch.
    fn ends_batch(&self, at: Offset) -> bool;
}

/// All that was written.
impl<P> LogView for Log<P> {
    fn start(&self) -> Offset {
        offset(Self::start(self))
    }

    fn end(&self) -> Offset {
        offset(Self::end(self))
    }

    fn chain(&self, at: Offset) -> Option<u64> {
        self.chain_below(usize::try_from(at.checked_add(1)?).ok()?)
    }

    fn ends_batch(&self, at: Offset) -> bool {
        usize::try_from(at).is_ok_and(|at| self.get(at).is_some_and(|record| record.ends_batch))
    }
}

/// What is durable on a disk, in the log or in a snapshot.
impl<P: Clone> LogView for Disk<P> {
    fn start(&self) -> Offset {
        offset(self.durable_bounds().0)
    }

    fn end(&self) -> Offset {
        offset(self.durable_bounds().1)
    }

    fn chain(&self, at: Offset) -> Option<u64> {
        self.durable_chain_below(usize::try_from(at.checked_add(1)?).ok()?)
    }

    fn ends_batch(&self, at: Offset) -> bool {
        self.durable_log().ends_batch(at)
    }
}

/// A record known to be committed.
#[derive(Debug, Clone, Copy)]
struct Committed {
    chain: u64,
    ends_batch: bool,
    /// The epoch in which it was first known to be.
    known_in: Epoch,
}

/// A leader, and what its log was when it was elected.
#[derive(Debug)]
struct Leadership {
    node: usize,
    /// The offset of the first of `chains`.
    first: Offset,
    chains: Vec<u64>,
}

impl Leadership {
    /// Whether its log had that record. What is before all that it knew of counts as known: its
    /// snapshot covers it, and was checked itself.
    fn had(&self, at: Offset, chain: u64) -> bool {
        at < self.first || self.chains.get(length(at - self.first)) == Some(&chain)
    }
}

/// What a leader's log was when it was last looked at.
#[derive(Debug, Clone, Copy)]
struct Led {
    epoch: Epoch,
    end: Offset,
    chain: Option<u64>,
}

/// All that has happened, as far as it binds what may happen.
#[derive(Debug, Default)]
pub struct Checks {
    named_only: bool,
    leaders: BTreeMap<Epoch, Leadership>,
    /// Each leader's log, while it leads.
    led: HashMap<usize, Led>,
    votes: HashMap<(ReplicaKey, Epoch), ReplicaKey>,
    epochs: HashMap<ReplicaKey, Epoch>,
    /// By offset: the chain of each epoch's record there.
    written: Vec<Vec<(Epoch, u64)>>,
    committed: Vec<Committed>,
}

impl Checks {
    /// With `named_only`, a rule that is none of [`NAMED`] is not checked where one of those breaks in
    /// the end: a bug is to be caught by what it does to the quorum's users.
    pub fn new(named_only: bool) -> Self {
        Self {
            named_only,
            ..Self::default()
        }
    }

    /// How many leaders there were.
    pub fn leaders(&self) -> usize {
        self.leaders.len()
    }

    /// How many records were committed.
    pub fn committed(&self) -> usize {
        self.committed.len()
    }

    /// The newest epoch that had a leader, and which.
    pub fn newest_leader(&self) -> Option<(Epoch, usize)> {
        let newest = self.leaders.last_key_value();
        newest.map(|(epoch, leadership)| (*epoch, leadership.node))
    }

    /// A node wrote this record. (Log matching, Raft paper, figure 3: logs that agree on a record's
    /// offset and epoch agree on all before it.)
    ///
    /// # Errors
    ///
    /// Log matching.
    pub fn wrote<P>(&mut self, node: usize, at: usize, record: &Record<P>) -> Result<(), Violation> {
        self.matches(node, at, record.epoch, record.chain)
    }

    fn matches(&mut self, node: usize, at: usize, epoch: Epoch, chain: u64) -> Result<(), Violation> {
        if self.written.len() <= at {
            self.written.resize_with(at + 1, Vec::new);
        }
        let known = self.written[at].iter().find(|(known, _)| *known == epoch);
        match known {
            Some((_, known)) if *known == chain => Ok(()),
            Some(_) => Err(Violation::LogMatching(format!(
                "node {node}'s record at offset {at} of epoch {epoch} is another, or follows others, \
                 than another node's"
            ))),
            None => {
                self.written[at].push((epoch, chain));
                Ok(())
            }
        }
    }

    /// A node became leader, with this log. (Election safety and leader completeness, Raft paper,
    /// figure 3. A leader that restarts does not lead its epoch again: KRaft has it come back
    /// resigned, since what it had not synced is gone while others may have fetched it.)
    ///
    /// # Errors
    ///
    /// Election safety, leader completeness.
    pub fn elected<L: LogView + ?Sized>(
        &mut self,
        node: usize,
        epoch: Epoch,
        log: &L,
    ) -> Result<(), Violation> {
        let first = (log.start() - 1).max(0);
        let known = first..log.end();
        let chains = known.filter_map(|at| log.chain(at)).collect();
        let leadership = Leadership { node, first, chains };
        if let Some(other) = self.leaders.insert(epoch, leadership) {
            return Err(Violation::ElectionSafety(format!(
                "nodes {} and {node} both became leader of epoch {epoch}",
                other.node
            )));
        }
        self.led.remove(&node);
        self.leads(node, epoch, log)?;
        let before = self.committed.partition_point(|record| record.known_in < epoch);
        let Some(last) = before.checked_sub(1) else {
            return Ok(());
        };
        if self.holds(log, last) {
            Ok(())
        } else {
            Err(Violation::LeaderCompleteness(format!(
                "node {node}, leader of epoch {epoch}, lacks the record at offset {last}, \
                 committed in epoch {}",
                self.committed[last].known_in
            )))
        }
    }

    /// A node leads that epoch, and this is its log now. (Leader append-only, Raft paper, figure 3.)
    ///
    /// # Errors
    ///
    /// When it lost or changed a record that it had since it began to lead.
    pub fn leads<L: LogView + ?Sized>(
        &mut self,
        node: usize,
        epoch: Epoch,
        log: &L,
    ) -> Result<(), Violation> {
        let end = log.end();
        let now = Led {
            epoch,
            end,
            chain: log.chain(end - 1),
        };
        let Some(before) = self.led.insert(node, now).filter(|led| led.epoch == epoch) else {
            return Ok(());
        };
        if before.end <= end && log.chain(before.end - 1) == before.chain {
            return Ok(());
        }
        // A snapshot that the leader takes may cover all that it had.
        if before.end <= end && before.end < log.start() {
            return Ok(());
        }
        Err(Violation::LeaderAppendOnly(format!(
            "node {node}, leader of epoch {epoch}, had records up to {}, and now has up to {end}, \
             or others",
            before.end
        )))
    }

    /// Whether a log has a committed record: itself, or a snapshot of what is committed that covers it.
    fn holds<L: LogView + ?Sized>(&self, log: &L, at: usize) -> bool {
        let at = offset(at).max(log.start() - 1);
        let committed = self.committed.get(length(at));
        committed.is_some_and(|committed| log.chain(at) == Some(committed.chain))
    }

    /// A replica voted, and its disk has this. (A vote is on disk before it is answered: Raft
    /// paper, 5.2 and figure 2; KIP-595, quorum state.)
    ///
    /// # Errors
    ///
    /// A contradiction to an earlier vote, or a vote that a crash would undo.
    pub fn voted(
        &mut self,
        voter: ReplicaKey,
        epoch: Epoch,
        candidate: ReplicaKey,
        durable: QuorumState,
    ) -> Result<(), Violation> {
        self.vote_stands(voter, epoch, candidate)?;
        let on_disk = durable.epoch > epoch || (durable.epoch == epoch && durable.voted == Some(candidate));
        if on_disk || self.named_only {
            Ok(())
        } else {
            Err(Violation::VoteNotDurable(format!(
                "{voter} answered with a vote for {candidate} in epoch {epoch}, but its disk has \
                 {durable:?}"
            )))
        }
    }

    /// A replica voted, on disk or not.
    ///
    /// # Errors
    ///
    /// A contradiction to an earlier vote of the same epoch.
    pub fn vote_stands(
        &mut self,
        voter: ReplicaKey,
        epoch: Epoch,
        candidate: ReplicaKey,
    ) -> Result<(), Violation> {
        let first = *self.votes.entry((voter, epoch)).or_insert(candidate);
        if first == candidate {
            return Ok(());
        }
        Err(Violation::VoteContradicted(format!(
            "{voter} voted for {first} and for {candidate} in epoch {epoch}"
        )))
    }

    /// A replica acts in that epoch, before or after a restart. (Epochs only grow: Raft paper, 5.1.)
    ///
    /// # Errors
    ///
    /// When it acted in a higher one before.
    pub fn in_epoch(&mut self, replica: ReplicaKey, epoch: Epoch) -> Result<(), Violation> {
        let highest = self.epochs.entry(replica).or_insert(epoch);
        if *highest <= epoch {
            *highest = epoch;
            return Ok(());
        }
        Err(Violation::EpochMovedBack(format!(
            "{replica} goes from epoch {highest} to {epoch}"
        )))
    }

    /// A node in that epoch takes its log to be committed from `from` up to `to`. (State-machine
    /// safety and leader completeness, Raft paper, figure 3: also a leader that was elected
    /// before the commit was known has what it covers.)
    ///
    /// # Errors
    ///
    /// State-machine safety; leader completeness; a high watermark that does not grow.
    pub fn commit<L: LogView + ?Sized>(
        &mut self,
        node: usize,
        epoch: Epoch,
        log: &L,
        (from, to): (Offset, Offset),
    ) -> Result<(), Violation> {
        if to < from {
            return Err(Violation::HighWatermarkMovedBack(format!(
                "node {node} goes from {from} to {to}"
            )));
        }
        let known_before = self.committed.len();
        for at in length(from.max(log.start() - 1))..length(to) {
            let Some(chain) = log.chain(offset(at)) else {
                return Err(Violation::Contract(format!(
                    "node {node} is to apply offset {at}, beyond its log's end {}",
                    log.end()
                )));
            };
            match self.committed.get(at) {
                Some(known) if known.chain == chain => {}
                Some(_) => {
                    return Err(Violation::StateMachineSafety(format!(
                        "node {node} applies another record at offset {at} than was committed"
                    )));
                }
                None if at > self.committed.len() => {
                    return Err(Violation::StateMachineSafety(format!(
                        "node {node}'s snapshot covers offset {at}, and only {} records are committed",
                        self.committed.len()
                    )));
                }
                None => self.committed.push(Committed {
                    chain,
                    ends_batch: log.ends_batch(offset(at)),
                    known_in: epoch,
                }),
            }
        }
        self.later_leaders_have(node, epoch, known_before)
    }

    /// What has just become known to be committed is in the logs of later leaders, too.
    fn later_leaders_have(&self, node: usize, epoch: Epoch, known_before: usize) -> Result<(), Violation> {
        let (Some(committed), Some(last)) = (self.committed.last(), self.committed.len().checked_sub(1))
        else {
            return Ok(());
        };
        if self.committed.len() == known_before {
            return Ok(());
        }
        let mut later = self.leaders.range(epoch.saturating_add(1)..);
        match later.find(|(_, leadership)| !leadership.had(offset(last), committed.chain)) {
            None => Ok(()),
            Some((later, leadership)) => Err(Violation::LeaderCompleteness(format!(
                "node {node} committed offset {last} in epoch {epoch}, which node {}, leader of \
                 epoch {later}, did not have when it was elected",
                leadership.node
            ))),
        }
    }

    /// A node applied the record at that offset, and has this state: `chain` stands for all that it
    /// applied, in the order in which it did.
    ///
    /// # Errors
    ///
    /// State-machine safety.
    pub fn applied(&self, node: usize, at: usize, chain: u64) -> Result<(), Violation> {
        if self.committed.get(at).is_some_and(|known| known.chain == chain) {
            return Ok(());
        }
        Err(Violation::StateMachineSafety(format!(
            "node {node}'s state after offset {at} is not what the committed records make: some were \
             left out, or applied twice"
        )))
    }

    /// A node's state is a snapshot's from now on: `chain` stands for the last record in it.
    /// (State-machine safety; a batch is applied as a whole, so a state of half a batch is one that
    /// no other node ever had: KIP-630, snapshots end at batch boundaries.)
    ///
    /// # Errors
    ///
    /// State-machine safety.
    pub fn restored(&self, node: usize, snapshot: SnapshotId, chain: u64) -> Result<(), Violation> {
        let Some(last) = length(snapshot.end_offset).checked_sub(1) else {
            return Ok(());
        };
        let Some(known) = self.committed.get(last) else {
            return Err(Violation::StateMachineSafety(format!(
                "node {node}'s state is that of a snapshot up to {}, and only {} records are committed",
                snapshot.end_offset,
                self.committed.len()
            )));
        };
        if known.chain != chain {
            return Err(Violation::StateMachineSafety(format!(
                "node {node}'s state is that of a snapshot up to {}, of other records than were committed",
                snapshot.end_offset
            )));
        }
        if !known.ends_batch {
            return Err(Violation::StateMachineSafety(format!(
                "node {node}'s state is that of a snapshot up to {}, which has half of a batch",
                snapshot.end_offset
            )));
        }
        Ok(())
    }

    /// A leader committed up to there; these are the durable logs of the voters by whose majority it
    /// did so, none for one whose disk is gone: it may have had what it said it had.
    ///
    /// # Errors
    ///
    /// When no majority has it.
    pub fn durable<'a, L: LogView + ?Sized + 'a>(
        &self,
        node: usize,
        to: Offset,
        logs: impl Iterator<Item = Option<&'a L>>,
    ) -> Result<(), Violation> {
        let Some(last) = length(to).checked_sub(1) else {
            return Ok(());
        };
        let (mut having, mut all) = (0, 0);
        for log in logs {
            all += 1;
            having += usize::from(log.is_none_or(|log| self.holds(log, last)));
        }
        if having > all / 2 || self.named_only {
            Ok(())
        } else {
            Err(Violation::CommitNotDurable(format!(
                "node {node} committed up to {to}, which {having} of {all} voters have on disk"
            )))
        }
    }
}

#[cfg(test)]
mod tests;
