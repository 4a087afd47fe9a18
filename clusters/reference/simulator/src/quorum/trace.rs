//! What happened: a number for all of it, and words for the end of it.

use std::collections::VecDeque;
use std::fmt;

use raft::{Nanos, Standing};

use super::settings::MILLISECOND;
use crate::random::mix;

/// What happens at a node, for the number's sake.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// It is given an event, or goes down.
    Event = 1,
    /// It acts on one.
    Actions = 2,
}

/// A run's trace. The number is always kept, the words only when asked for.
#[derive(Debug, Default)]
pub struct Trace {
    hash: u64,
    keep: usize,
    lines: VecDeque<String>,
}

impl Trace {
    /// One that keeps the last so many lines.
    pub fn keeping(lines: usize) -> Self {
        Self {
            keep: lines,
            ..Self::default()
        }
    }

    /// Something happened at a node, which is then in that standing, with a log up to there.
    pub(super) fn note(
        &mut self,
        at: Nanos,
        node: usize,
        kind: Kind,
        number: u64,
        words: impl FnOnce() -> String,
    ) {
        let who = ((node as u64) << 8) | kind as u64;
        self.hash = mix(self.hash ^ mix(at).rotate_left(17) ^ mix(number.rotate_left(32) ^ who));
        if self.keep == 0 {
            return;
        }
        let words = words();
        if words.is_empty() {
            return;
        }
        if self.lines.len() == self.keep {
            self.lines.pop_front();
        }
        let (whole, part) = (at / MILLISECOND, at % MILLISECOND / 1000);
        self.lines
            .push_back(format!("{whole:>6}.{part:03} ms  node {node}  {words}"));
    }

    /// Stands for all that happened: the same for the same run, and for hardly any other.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The last lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}

/// A standing as a number.
pub(super) fn standing_number(standing: Standing) -> u64 {
    let leader = standing
        .leader
        .map_or(0xff, |leader| u64::from(leader.0.unsigned_abs()));
    (u64::from(standing.epoch.unsigned_abs()) << 16) | ((standing.role as u64) << 8) | (leader & 0xff)
}

/// Words with `Option`s and wrappers of ids taken out, so that a line is read at a glance.
pub(super) fn plain(value: &dyn fmt::Debug) -> String {
    let text = format!("{value:?}");
    let text = text.replace("NodeId(", "(").replace("Some(", "(");
    let text = text
        .replace("directory: None", "")
        .replace(", directory: (DirectoryId(", " dir((");
    text.replace("ReplicaKey { id: (", "key((")
        .replace("Voter { key: ", "{")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_depends_on_all_and_the_words_are_the_last() {
        let run = |times: &[Nanos], keep| {
            let mut trace = Trace::keeping(keep);
            for at in times {
                trace.note(*at, 1, Kind::Event, 7, || format!("at {at}"));
            }
            trace
        };
        assert_eq!(run(&[1, 2, 3], 0).hash(), run(&[1, 2, 3], 2).hash());
        assert_ne!(run(&[1, 2, 3], 0).hash(), run(&[1, 3, 2], 0).hash());
        let trace = run(&[1_000_000, 2_000_000, 3_000_000], 2);
        let lines: Vec<_> = trace.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].contains("3.000 ms  node 1  at 3000000"), "{lines:?}");
    }
}
