//! What was measured, and whether it is enough.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// `controller.quorum.fetch.timeout.ms` of the nodes.
pub const FETCH_TIMEOUT: Duration = Duration::from_millis(600);
/// `controller.quorum.election.timeout.ms` of the nodes.
pub const ELECTION_TIMEOUT: Duration = Duration::from_millis(300);
/// What waits for a leader are measured in: fetch and election time-out together.
pub const UNIT: Duration = Duration::from_millis(900);
/// In units: the most that the median of a kind's waits may be, and any of them.
const BOUNDS: (f64, f64) = (3.0, 10.0);
/// A campaign of fewer rounds has no median worth a bound.
const ROUNDS_FOR_A_MEDIAN: usize = 10;

/// A round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Round {
    /// Its number, from 0.
    pub round: usize,
    /// When it was healed, in words.
    pub healed: String,
    /// Who was hit.
    pub victims: Vec<i32>,
    /// What was measured of the fault and its heal.
    pub took: BTreeMap<String, f64>,
    /// Leader and epoch before.
    pub before: (i32, i32),
    /// Leader and epoch after.
    pub after: (i32, i32),
    /// From the fault to another active leader, where a majority was left and was waited for.
    pub failover_ms: Option<f64>,
    /// From the beginning of the heal to the first frame between controllers that it concerns.
    pub first_frame_ms: Option<f64>,
    /// From that frame to an active leader; none where there was none in time.
    pub leader_ms: Option<f64>,
    /// From that frame to the acknowledgement of a topic that was asked for after it.
    pub ack_ms: Option<f64>,
    /// Whether a leader that had been elected during the fault lost its office by the return of the victim.
    pub disturbed: bool,
    /// Topics acknowledged so far.
    pub acked: usize,
    /// Acknowledged topics that were missing or had another id afterwards.
    pub lost: Vec<String>,
}

/// All rounds of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// The kind's name.
    pub kind: String,
    /// How many rounds were asked for.
    pub asked: usize,
    /// The rounds that were made.
    pub rounds: Vec<Round>,
    /// Elections: epochs from the first round's start to the last one's end.
    pub epochs: i32,
    /// Rules that were broken, in words.
    pub wrong: Vec<String>,
    /// A fault that did not take, or a heal that was not seen: the rounds ended with it.
    pub not_taken: Option<String>,
}

impl Figures {
    fn waits(&self, of: impl Fn(&Round) -> Option<f64>) -> Vec<f64> {
        let mut waits: Vec<f64> = self.rounds.iter().filter_map(of).collect();
        waits.sort_by(f64::total_cmp);
        waits
    }

    /// From the fault to another active leader.
    pub fn failovers(&self) -> Vec<f64> {
        self.waits(|round| round.failover_ms)
    }

    /// From the first frame after the heal to an active leader.
    pub fn leaders(&self) -> Vec<f64> {
        self.waits(|round| round.leader_ms)
    }

    /// From the first frame after the heal to an acknowledged topic.
    pub fn acks(&self) -> Vec<f64> {
        self.waits(|round| round.ack_ms)
    }

    /// Losses of acknowledged metadata.
    pub fn lost(&self) -> usize {
        self.rounds.iter().map(|round| round.lost.len()).sum()
    }

    /// What falls short, in words; nothing where all is well.
    pub fn short(&self) -> Vec<String> {
        let mut short = self.wrong.clone();
        let lost = self.rounds.iter().filter(|round| !round.lost.is_empty());
        short.extend(lost.map(|round| {
            format!(
                "round {}: {} acknowledged topics lost, {:?} for one",
                round.round,
                round.lost.len(),
                round.lost[0]
            )
        }));
        for (what, waits) in [
            ("after the fault", self.failovers()),
            ("after the heal", self.leaders()),
        ] {
            let (median, worst) = (units(median(&waits)), units(worst(&waits)));
            if worst > BOUNDS.1 || waits.len() >= ROUNDS_FOR_A_MEDIAN && median > BOUNDS.0 {
                short.push(format!(
                    "a leader {what}: median {median:.2}, worst {worst:.2} times fetch and election time-out"
                ));
            }
        }
        if self.rounds.len() < self.asked {
            short.push(format!(
                "{} of {} rounds were made",
                self.rounds.len(),
                self.asked
            ));
        }
        short
    }
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

fn worst(sorted: &[f64]) -> f64 {
    sorted.last().copied().unwrap_or(0.0)
}

fn units(ms: f64) -> f64 {
    ms / (UNIT.as_secs_f64() * 1e3)
}

/// Median and worst, in milliseconds and units.
fn cell(sorted: &[f64]) -> String {
    if sorted.is_empty() {
        return "–".into();
    }
    let (median, worst) = (median(sorted), worst(sorted));
    format!(
        "{median:.0} / {worst:.0} ms ({:.2}× / {:.2}×)",
        units(median),
        units(worst)
    )
}

/// The table, in Markdown.
pub fn table(all: &[Figures]) -> String {
    let mut text = String::from(
        "| kind | rounds, each took | acked topics | lost | epochs | disturbed | leader after the fault, median / worst | leader after the first packet, median / worst | next ack after it, median / worst |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for kind in all {
        let disturbed = kind.rounds.iter().filter(|round| round.disturbed).count();
        let _ = writeln!(
            text,
            "| {} | {} of {} | {} | {} | {} | {disturbed} | {} | {} | {} |",
            kind.kind,
            kind.rounds.len(),
            kind.asked,
            kind.rounds.last().map_or(0, |round| round.acked),
            kind.lost(),
            kind.epochs,
            cell(&kind.failovers()),
            cell(&kind.leaders()),
            cell(&kind.acks()),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(leaders: &[f64]) -> Figures {
        let round = |(n, leader): (usize, &f64)| Round {
            round: n,
            leader_ms: Some(*leader),
            ..Round::default()
        };
        Figures {
            kind: "k".into(),
            asked: leaders.len(),
            rounds: leaders.iter().enumerate().map(round).collect(),
            epochs: 0,
            wrong: vec![],
            not_taken: None,
        }
    }

    #[test]
    fn rounds_within_the_bounds_are_enough() {
        assert_eq!(figures(&[2_000.0; 12]).short(), [""; 0]);
        assert_eq!(
            figures(&[8_900.0, 10.0]).short(),
            [""; 0],
            "two rounds have no median"
        );
        assert!(table(&[figures(&[900.0; 3])]).contains("| k | 3 of 3 | 0 | 0 |"));
    }

    #[test]
    fn what_falls_short_is_told() {
        let slow = figures(&[2_800.0; 12]);
        assert!(slow.short()[0].contains("median 3.11"), "{:?}", slow.short());
        let worst = figures(&[9_100.0, 10.0]);
        assert!(worst.short()[0].contains("worst 10.11"), "{:?}", worst.short());
        let mut lost = figures(&[1.0]);
        lost.rounds[0].lost.push("t-1".into());
        assert!(lost.short()[0].contains("1 acknowledged topics lost"));
        let mut ended = figures(&[1.0]);
        ended.asked = 2;
        ended.wrong.push("two leaders".into());
        assert_eq!(ended.short().len(), 2);
    }
}
