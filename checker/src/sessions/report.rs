//! What was found, as a judgement.

use super::ladder::{Broken, LADDER};
use super::reads::MisreadKind;
use super::words::Words;
use crate::{Finding, Judgement, Level, Operations, Outcome, Reason};

/// The judgement in the making.
pub(super) struct Report {
    asked: Level,
    findings: Vec<Finding>,
    /// The weakest level that is broken.
    weakest: Option<Level>,
    /// What broke each level.
    broken: Vec<(Level, Broken)>,
    /// The strongest level that holds.
    holds: Option<Level>,
    /// Why nothing passes.
    lacks: Vec<Reason>,
    undecided: Vec<(Level, String)>,
}

/// How many rungs of the ladder a level needs.
pub(super) fn rung(level: Level) -> usize {
    match level {
        Level::ReadUncommitted => 0,
        Level::ReadCommitted => 1,
        Level::MonotonicAtomicView | Level::ReadAtomic => 2,
        Level::Causal => 3,
        Level::ParallelSnapshotIsolation => 4,
        Level::SnapshotIsolation | Level::StrongSessionSnapshotIsolation | Level::StrongSnapshotIsolation => {
            5
        }
        Level::CursorStability
        | Level::RepeatableRead
        | Level::Serializable
        | Level::StrongSessionSerializable
        | Level::StrongSerializable => 6,
    }
}

/// The strongest level on the ladder that every history of a level has: where it is broken, the level is.
fn implied(level: Level) -> Level {
    match level {
        Level::ReadUncommitted => Level::ReadUncommitted,
        Level::MonotonicAtomicView | Level::CursorStability | Level::RepeatableRead => Level::ReadCommitted,
        other => LADDER[rung(other).saturating_sub(1)],
    }
}

impl Report {
    pub(super) fn new(asked: Level) -> Report {
        Report {
            asked,
            findings: Vec::new(),
            weakest: None,
            broken: Vec::new(),
            holds: None,
            lacks: Vec::new(),
            undecided: Vec::new(),
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.weakest.is_some()
    }

    pub(super) fn lack(&mut self, code: &str, message: String) {
        self.lacks.push(Reason::new(code, message));
    }

    pub(super) fn holds(&mut self, level: Level) {
        self.holds = self.holds.max(Some(level));
    }

    pub(super) fn undecided(&mut self, level: Level, why: String) {
        self.undecided.push((level, why));
    }

    pub(super) fn broken(&mut self, level: Level, broken: Broken) {
        self.weakest = Some(self.weakest.map_or(level, |weakest| weakest.min(level)));
        self.broken.push((level, broken));
    }

    /// Reads that are wrong by themselves.
    pub(super) fn misreads(&mut self, words: Words<'_>) {
        let misreads = &words.sessions.misreads;
        for kind in MisreadKind::ALL {
            let found: Vec<_> = misreads.iter().filter(|misread| misread.kind == kind).collect();
            if found.is_empty() {
                continue;
            }
            let rules_out = match kind {
                MisreadKind::ThinAir => Level::ReadUncommitted,
                _ => Level::ReadCommitted,
            };
            self.weakest = Some(self.weakest.map_or(rules_out, |weakest| weakest.min(rules_out)));
            let examples = found
                .iter()
                .take(Finding::EXAMPLES)
                .map(|misread| words.misread(misread));
            let mut finding = Finding::new(kind.text(), found.len() as u64, examples.collect());
            if !self.asked.implies(rules_out) {
                finding.tolerated = Some(format!("{} allows it", self.asked.text()));
            }
            self.findings.push(finding);
        }
    }

    pub(super) fn judgement(mut self, operations: Operations) -> Judgement {
        self.level_findings();
        let fails = self.weakest.is_some_and(|weakest| implied(self.asked) >= weakest);
        let lacks = self.all_lacks();
        let verdict = match (fails, lacks.is_empty()) {
            (true, _) => Outcome::Fail,
            (false, true) => Outcome::Pass,
            (false, false) => Outcome::Unknown,
        };
        let reasons = if fails { self.found() } else { lacks };
        Judgement {
            verdict,
            reasons,
            models_ruled_out: self.weakest.iter().map(|level| level.text().to_owned()).collect(),
            anomalies: self.findings,
            operations,
            operations_total: operations.total(),
        }
    }

    fn found(&self) -> Vec<Reason> {
        let counted = self.findings.iter().filter(|finding| finding.tolerated.is_none());
        counted
            .map(|finding| {
                Reason::new(
                    &*finding.name,
                    format!("found {} of {}", finding.count, finding.name),
                )
            })
            .collect()
    }

    /// Why the level that was asked for cannot be said to hold.
    fn all_lacks(&self) -> Vec<Reason> {
        let mut lacks = self.lacks.clone();
        let asked = self.asked;
        if matches!(asked, Level::StrongSnapshotIsolation | Level::StrongSerializable) {
            lacks.push(Reason::new(
                "no-real-time",
                format!(
                    "{} is about real time, and histories of sessions have none",
                    asked.text()
                ),
            ));
        }
        let held = rung(asked)
            .checked_sub(1)
            .is_none_or(|top| self.holds >= Some(LADDER[top]));
        if held {
            return lacks;
        }
        for (level, why) in &self.undecided {
            lacks.push(Reason::new("budget", format!("{}: {why}", level.text())));
        }
        if self.is_broken() && self.undecided.is_empty() {
            lacks.push(Reason::new(
                "between-levels",
                format!(
                    "read committed holds, and a stronger level than {} does not: sessions of reads and writes do not tell \
                     more",
                    asked.text()
                ),
            ));
        }
        lacks
    }

    /// One finding a name: those of shapes, then each level that is broken, the weakest first.
    fn level_findings(&mut self) {
        let Some(weakest) = self.weakest else {
            return;
        };
        let mut shapes: Vec<Finding> = Vec::new();
        for (_, broken) in &self.broken {
            for (name, example) in &broken.shown {
                let Some(name) = name else { continue };
                match shapes.iter_mut().find(|finding| finding.name == *name) {
                    Some(finding) if finding.examples.contains(example) => {}
                    Some(finding) => {
                        finding.count += 1;
                        finding.examples.push(example.clone());
                    }
                    None => shapes.push(Finding::new(*name, 1, vec![example.clone()])),
                }
            }
            // All lost updates are counted, whatever is shown of them.
            for finding in shapes.iter_mut().filter(|finding| finding.name == "lost-update") {
                finding.count = finding.count.max(broken.count);
            }
        }
        for finding in &mut shapes {
            finding.examples.truncate(Finding::EXAMPLES);
        }
        self.findings.extend(shapes);
        let first = self.findings.first().map(|finding| finding.name.clone());
        let asked = rung(self.asked);
        let levels = LADDER
            .iter()
            .take(asked.max(1))
            .filter(|level| **level >= weakest);
        for level in levels {
            let mut finding = self.level_finding(*level);
            finding.follows = match LADDER.contains(&weakest) && *level != weakest {
                true => Some(format!("not-{}", weakest.text())),
                // It has examples of its own, or follows from a read that is wrong by itself.
                false => first.clone().filter(|_| finding.examples.is_empty()),
            };
            if implied(self.asked) < *level {
                finding.tolerated = Some(format!("{} allows it", self.asked.text()));
            }
            self.findings.push(finding);
        }
    }

    fn level_finding(&self, level: Level) -> Finding {
        // Those of stronger levels follow from the weakest one's.
        let own = self
            .broken
            .iter()
            .find(|(of, _)| *of == level && self.weakest == Some(level));
        let (count, examples) = own.map_or((1, Vec::new()), |(_, broken)| {
            (
                broken.count,
                broken.shown.iter().map(|(_, example)| example.clone()).collect(),
            )
        });
        Finding::new(format!("not-{}", level.text()), count, examples)
    }
}
