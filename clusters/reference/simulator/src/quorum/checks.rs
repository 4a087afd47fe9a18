//! The rules that never break, checked after every step.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use raft::{Epoch, Fatal, NodeId, Offset, QuorumState};

use super::Record;
use super::disk::{length, offset};

/// A broken rule. Nodes are named by their place in the simulation, which is also their id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// Two leaders in one epoch.
    ElectionSafety(String),
    /// A leader changed its log other than by appending.
    LeaderAppendOnly(String),
    /// Two logs agree on a record, and not on what precedes it.
    LogMatching(String),
    /// A leader lacks what was committed in an earlier epoch.
    LeaderCompleteness(String),
    /// Two nodes applied different records at one offset.
    StateMachineSafety(String),
    /// A node voted for two candidates in an epoch.
    VoteContradicted(String),
    /// A vote was answered that a crash would undo.
    VoteNotDurable(String),
    /// A high watermark moved back.
    HighWatermarkMovedBack(String),
    /// A leader committed what is durable on less than a majority.
    CommitNotDurable(String),
    /// An epoch moved back.
    EpochMovedBack(String),
    /// A machine gave up.
    Fatal(Fatal),
    /// A machine did what no driver could carry out.
    Contract(String),
    /// A machine asks to be woken in the past: the driver would spin.
    BusyLoop(String),
    /// The quorum did not work again in time after the last fault healed.
    Stuck(String),
    /// A rule of the application's.
    Application(String),
}

impl Violation {
    /// The rule's name, without the case.
    pub fn rule(&self) -> String {
        let text = format!("{self:?}");
        text.chars().take_while(char::is_ascii_alphanumeric).collect()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A record known to be committed.
#[derive(Debug, Clone, Copy)]
struct Committed {
    chain: u64,
    /// The epoch in which it was first known to be.
    known_in: Epoch,
}

/// All that has happened, as far as it binds what may happen.
#[derive(Debug, Default)]
pub struct Checks {
    leaders: BTreeMap<Epoch, usize>,
    votes: HashMap<(usize, Epoch), NodeId>,
    chains: HashMap<(Offset, Epoch), u64>,
    committed: Vec<Committed>,
}

impl Checks {
    /// How many leaders there were.
    pub fn leaders(&self) -> usize {
        self.leaders.len()
    }

    /// How many records were committed.
    pub fn committed(&self) -> usize {
        self.committed.len()
    }

    /// A node wrote this record.
    ///
    /// # Errors
    ///
    /// Log matching.
    pub fn wrote<P>(&mut self, node: usize, at: usize, record: &Record<P>) -> Result<(), Violation> {
        let known = self
            .chains
            .entry((offset(at), record.epoch))
            .or_insert(record.chain);
        if *known == record.chain {
            Ok(())
        } else {
            Err(Violation::LogMatching(format!(
                "node {node}'s record at offset {at} of epoch {} follows other records than \
                 another node's",
                record.epoch
            )))
        }
    }

    /// A node became leader, with this log.
    ///
    /// # Errors
    ///
    /// Election safety, leader completeness.
    pub fn elected<P>(&mut self, node: usize, epoch: Epoch, log: &[Record<P>]) -> Result<(), Violation> {
        if let Some(other) = self.leaders.insert(epoch, node) {
            return Err(Violation::ElectionSafety(format!(
                "nodes {other} and {node} both became leader of epoch {epoch}"
            )));
        }
        let before = self.committed.partition_point(|record| record.known_in < epoch);
        let Some(last) = before.checked_sub(1) else {
            return Ok(());
        };
        if log
            .get(last)
            .is_some_and(|record| record.chain == self.committed[last].chain)
        {
            Ok(())
        } else {
            Err(Violation::LeaderCompleteness(format!(
                "node {node}, leader of epoch {epoch}, lacks the record at offset {last}, \
                 committed in epoch {}",
                self.committed[last].known_in
            )))
        }
    }

    /// A node voted, and its disk has this.
    ///
    /// # Errors
    ///
    /// A contradiction to an earlier vote, or a vote that a crash would undo.
    pub fn voted(
        &mut self,
        node: usize,
        epoch: Epoch,
        candidate: NodeId,
        durable: QuorumState,
    ) -> Result<(), Violation> {
        let first = *self.votes.entry((node, epoch)).or_insert(candidate);
        if first != candidate {
            return Err(Violation::VoteContradicted(format!(
                "node {node} voted for {first} and for {candidate} in epoch {epoch}"
            )));
        }
        if durable.epoch > epoch
            || (durable.epoch == epoch && durable.voted.map(|key| key.id) == Some(candidate))
        {
            Ok(())
        } else {
            Err(Violation::VoteNotDurable(format!(
                "node {node} answered with a vote for {candidate} in epoch {epoch}, but its disk \
                 has {durable:?}"
            )))
        }
    }

    /// A node in that epoch takes its log to be committed from `from` up to `to`.
    ///
    /// # Errors
    ///
    /// State-machine safety.
    pub fn commit<P>(
        &mut self,
        node: usize,
        epoch: Epoch,
        log: &[Record<P>],
        (from, to): (Offset, Offset),
    ) -> Result<(), Violation> {
        for at in length(from)..length(to) {
            let Some(record) = log.get(at) else {
                return Err(Violation::Contract(format!(
                    "node {node} is to apply offset {at}, beyond its log's end {}",
                    log.len()
                )));
            };
            match self.committed.get(at) {
                Some(known) if known.chain == record.chain => {}
                Some(_) => {
                    return Err(Violation::StateMachineSafety(format!(
                        "node {node} applies another record at offset {at} than was committed"
                    )));
                }
                None => self.committed.push(Committed {
                    chain: record.chain,
                    known_in: epoch,
                }),
            }
        }
        Ok(())
    }

    /// A leader committed up to there; these are the voters' durable logs.
    ///
    /// # Errors
    ///
    /// When no majority has it.
    pub fn durable<'a, P: 'a>(
        &self,
        node: usize,
        to: Offset,
        logs: impl Iterator<Item = &'a [Record<P>]>,
    ) -> Result<(), Violation> {
        let Some(last) = length(to).checked_sub(1) else {
            return Ok(());
        };
        let (mut having, mut all) = (0, 0);
        for log in logs {
            all += 1;
            let has = log
                .get(last)
                .is_some_and(|it| it.chain == self.committed[last].chain);
            having += usize::from(has);
        }
        if having > all / 2 {
            Ok(())
        } else {
            Err(Violation::CommitNotDurable(format!(
                "node {node} committed up to {to}, which {having} of {all} voters have on disk"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::Disk;

    /// A log of one record of each of these epochs.
    fn log(epochs: &[Epoch]) -> Vec<Record<u64>> {
        let mut disk = Disk::new();
        for epoch in epochs {
            disk.write(*epoch, vec![(None, 0)]);
        }
        disk.log().to_vec()
    }

    fn rule(result: Result<(), Violation>) -> Option<String> {
        result.err().map(|violation| violation.rule())
    }

    #[test]
    fn an_epoch_has_one_leader() {
        let mut checks = Checks::default();
        assert_eq!(rule(checks.elected::<u64>(0, 1, &[])), None);
        assert_eq!(rule(checks.elected::<u64>(1, 2, &[])), None);
        let again = checks.elected::<u64>(0, 2, &[]);
        assert_eq!(rule(again).as_deref(), Some("ElectionSafety"));
    }

    /// The Raft paper's figure 8: a record of an earlier epoch is on a majority, is taken to be
    /// committed without one of the leader's own on top, and a leader without it is elected.
    #[test]
    fn a_record_of_an_earlier_epoch_committed_too_soon_is_missed() {
        let mut checks = Checks::default();
        let leader = log(&[1, 2]);
        assert_eq!(rule(checks.commit(0, 4, &leader, (0, 2))), None);
        let other = log(&[1, 3]);
        let elected = checks.elected(4, 5, &other);
        assert_eq!(rule(elected).as_deref(), Some("LeaderCompleteness"));
        assert_eq!(rule(checks.elected(4, 6, &log(&[1, 2, 5]))), None);
    }

    #[test]
    fn a_leader_of_an_epoch_before_the_commit_may_lack_it() {
        let mut checks = Checks::default();
        assert_eq!(rule(checks.commit(0, 4, &log(&[4]), (0, 1))), None);
        assert_eq!(rule(checks.elected(1, 3, &log(&[]))), None);
    }

    #[test]
    fn all_apply_the_same() {
        let mut checks = Checks::default();
        assert_eq!(rule(checks.commit(0, 2, &log(&[1, 2]), (0, 2))), None);
        assert_eq!(rule(checks.commit(1, 2, &log(&[1, 2]), (0, 2))), None);
        let other = checks.commit(2, 3, &log(&[1, 3]), (1, 2));
        assert_eq!(rule(other).as_deref(), Some("StateMachineSafety"));
    }

    #[test]
    fn a_record_determines_those_before_it() {
        let mut checks = Checks::default();
        assert_eq!(rule(checks.wrote(0, 1, &log(&[1, 3])[1])), None);
        assert_eq!(rule(checks.wrote(1, 1, &log(&[1, 3])[1])), None);
        let other = checks.wrote(2, 1, &log(&[2, 3])[1]);
        assert_eq!(rule(other).as_deref(), Some("LogMatching"));
    }

    #[test]
    fn votes_are_durable_and_not_contradicted() {
        let mut checks = Checks::default();
        let durable = |epoch, voted| QuorumState {
            epoch,
            leader: None,
            voted: Some(raft::ReplicaKey::of(NodeId(voted))),
        };
        assert_eq!(rule(checks.voted(0, 3, NodeId(1), durable(3, 1))), None);
        assert_eq!(rule(checks.voted(0, 3, NodeId(1), durable(4, 2))), None);
        let lost = checks.voted(1, 3, NodeId(1), durable(2, 1));
        assert_eq!(rule(lost).as_deref(), Some("VoteNotDurable"));
        let twice = checks.voted(0, 3, NodeId(2), durable(3, 2));
        assert_eq!(rule(twice).as_deref(), Some("VoteContradicted"));
    }

    #[test]
    fn a_commit_is_on_most_disks() {
        let mut checks = Checks::default();
        let (all, short) = (log(&[1, 1]), log(&[1]));
        checks.commit(0, 1, &all, (0, 2)).unwrap();
        let on =
            |disks: [&Vec<Record<u64>>; 3]| rule(checks.durable(0, 2, disks.into_iter().map(Vec::as_slice)));
        assert_eq!(on([&all, &all, &short]), None);
        let few = on([&all, &short, &short]);
        assert_eq!(few.as_deref(), Some("CommitNotDurable"));
    }
}
