//! One partition's part of a history.

use super::Mark;
use history::{Key, Kind, TopicPlan};

/// What a history says about one partition of a judged topic.
pub(crate) struct Partition<'a> {
    /// The partition.
    pub key: Key,
    /// Its topic's plan.
    pub plan: &'a TopicPlan,
    /// The sends, in the order of their invocations.
    pub sends: Vec<SendOp>,
    /// Every (offset, value) that a poll showed or an acks=all acknowledgement named, by offset, then in the
    /// order of the completions.
    pub sightings: Vec<Sighting>,
    /// What answers said about the log start, in the order of the completions.
    pub log_starts: Vec<LogStart>,
    /// The last final read.
    pub final_end: Option<FinalEnd>,
    /// Ranges of offsets that final polls passed over: from where they asked to after the last record they got.
    pub passed: Vec<(i64, i64)>,
    /// Where polls did not go on to the very next offset, in the order of the completions.
    pub steps: Vec<Step>,
    /// What became of each send, as far as it was acknowledged with acks=all and the final read tells.
    pub fates: Vec<Fate>,
}

/// A send.
#[derive(Clone, Debug)]
pub(crate) struct SendOp {
    /// The value.
    pub value: u64,
    /// Whether acks=all was asked for.
    pub acks_all: bool,
    /// The broker asked.
    pub node: Option<i32>,
    /// When it was invoked.
    pub invoked: Mark,
    /// When it completed.
    pub done: Option<Mark>,
    /// How it ended.
    pub outcome: Kind,
    /// The offset given.
    pub offset: Option<i64>,
}

impl SendOp {
    /// When it was acknowledged with acks=all; none where it was not.
    pub fn acked(&self) -> Option<Mark> {
        self.done.filter(|_| self.outcome == Kind::Ok && self.acks_all)
    }
}

/// A completed operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// When it was invoked.
    pub invoked: Mark,
    /// When it completed.
    pub done: Mark,
    /// The broker that answered.
    pub node: Option<i32>,
}

/// A value at an offset, as an operation showed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    /// The offset.
    pub offset: i64,
    /// The value; none where its self-check failed.
    pub value: Option<u64>,
    /// The leader epoch of its batch; acknowledgements do not tell.
    pub epoch: Option<i32>,
    /// The operation, an index into [`super::Facts::ops`]: ascending in the order of the completions.
    pub op: u32,
    /// How it was shown.
    pub how: How,
}

/// A step of a poll from one offset to another that is not the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The operation, an index into [`super::Facts::ops`].
    pub op: u32,
    /// The offset of the record before; the one before that which the poll asked for, where this is its first record.
    pub from: i64,
    /// The offset of the record.
    pub to: i64,
    /// Whether both are records of the answer.
    pub within: bool,
}

/// How a value was shown at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// An acks=all acknowledgement of this send named it.
    Ack {
        /// An index into [`Partition::sends`].
        send: u32,
    },
    /// A poll returned it.
    Poll {
        /// Whether the poll belongs to the final read.
        last: bool,
    },
}

/// What one answer says about where a log starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogStart {
    /// The log start.
    pub offset: i64,
    /// When it was asked for.
    pub invoked: Mark,
    /// When it was answered.
    pub done: Mark,
}

/// The summary of a final read.
#[derive(Clone, Debug)]
pub(crate) struct FinalEnd {
    /// The log's start and end, where the read went from one to the other.
    pub complete: Option<(i64, i64)>,
    /// Why it did not.
    pub reason: Option<String>,
    /// Its entry.
    pub at: Mark,
}

/// What became of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Not acknowledged with acks=all, allowed to go, or beyond what the final read tells.
    Untold,
    /// The final read shows it where it was acknowledged.
    Kept,
    /// The final read passed its offset and did not show it there.
    Lost,
    /// The final log ends before its offset.
    TailLost,
}

impl Partition<'_> {
    /// The sightings in groups of one offset, ascending.
    pub fn by_offset(&self) -> impl Iterator<Item = &[Sighting]> {
        self.sightings.chunk_by(|a, b| a.offset == b.offset)
    }

    /// What was shown from one offset up to before another.
    pub fn between(&self, from: i64, to: i64) -> &[Sighting] {
        let rest = &self.sightings[self.sightings.partition_point(|s| s.offset < from)..];
        &rest[..rest.partition_point(|s| s.offset < to)]
    }

    /// Decides what became of each acknowledged send. Asks for sorted sightings.
    pub fn tell_fates(&mut self) {
        let mut fates = vec![Fate::Untold; self.sends.len()];
        for group in self.by_offset() {
            for sighting in group {
                let How::Ack { send } = sighting.how else { continue };
                let kept = group
                    .iter()
                    .any(|s| s.how == How::Poll { last: true } && s.value == sighting.value);
                fates[send as usize] = if kept {
                    Fate::Kept
                } else {
                    self.fate_of_absent(sighting.offset)
                };
            }
        }
        self.tell_fates_without_offset(&mut fates);
        self.fates = fates;
    }

    /// What became of a record that the final read did not show at its offset.
    pub fn fate_of_absent(&self, offset: i64) -> Fate {
        match self.final_end.as_ref().and_then(|end| end.complete) {
            Some((_, end)) if offset >= end => Fate::TailLost,
            // A log start that may move has released it: nobody promised to keep it.
            Some((start, _)) if offset < start && self.plan.log_start_may_move => Fate::Untold,
            Some(_) => Fate::Lost,
            // Not read to the end: only what the final polls passed over is told.
            None if self.passed.iter().any(|&(from, to)| (from..to).contains(&offset)) => Fate::Lost,
            None => Fate::Untold,
        }
    }

    /// Acknowledgements that gave no offset: kept where the value stands anywhere in the final log.
    fn tell_fates_without_offset(&self, fates: &mut [Fate]) {
        let Some((start, _)) = self.final_end.as_ref().and_then(|end| end.complete) else {
            return;
        };
        let nowhere = |send: &SendOp| send.acked().is_some() && send.offset.is_none();
        if !self.sends.iter().any(nowhere) {
            return;
        }
        let last = self
            .sightings
            .iter()
            .filter(|s| s.how == How::Poll { last: true });
        let mut values: Vec<u64> = last.filter_map(|s| s.value).collect();
        values.sort_unstable();
        for (send, fate) in self.sends.iter().zip(fates).filter(|(send, _)| nowhere(send)) {
            *fate = match values.binary_search(&send.value) {
                Ok(_) => Fate::Kept,
                // It may have stood below a log start that was allowed to move.
                Err(_) if self.plan.log_start_may_move && start > 0 => Fate::Untold,
                Err(_) => Fate::Lost,
            };
        }
    }
}
