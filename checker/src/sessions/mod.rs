//! Histories of sessions of transactions, without times: which isolation level do they have?
//!
//! A transaction reads and writes registers; nil and 0 are initial. The levels are those of Biswas and Enea ("On the
//! Complexity of Checking Transactional Consistency") and of Cerone and Gotsman ("Analysing Snapshot Isolation"), and
//! the order of each session is part of all of them: the strong-session forms are the same as the plain ones here.
//! Read committed, read atomic and causal are decided as AWDIT does ([`weak`], [`saturate`]); the stronger ones by
//! following rules to the end and then searching ([`frontier`], [`parallel`]), which may take longer than there is.

mod clocks;
mod core;
mod frontier;
mod graph;
mod history;
mod ladder;
mod parallel;
mod parse;
mod reads;
mod report;
mod saturate;
mod weak;
mod words;

use crate::{Budget, JudgeError, Judgement, Level, Options};
use ::history::{Op, ReadError};
use ladder::{Found, Judge, LADDER};
use report::Report;
use words::Words;

/// Judges a history.
pub(crate) fn judge(
    options: &Options,
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Judgement, JudgeError> {
    let parsed = parse::parse(budget, history)?;
    let level = options.level.unwrap_or(Level::Serializable);
    let mut report = Report::new(level);
    if let Some(spent) = budget.spent() {
        report.lack("budget", format!("the history was not read to its end: {spent}"));
        return Ok(report.judgement(parsed.operations));
    }
    let sessions = self::history::sessions(&parsed, options.initial.as_ref());
    let words = Words {
        parsed: &parsed,
        sessions: &sessions,
    };
    report.misreads(words);
    if sessions.ambiguous > 0 {
        let reads = sessions.ambiguous;
        report.lack(
            "ambiguous-values",
            format!(
                "{reads} reads were left out, since several transactions wrote the value that they read (or it is the \
                 initial one). Write every value of a key once"
            ),
        );
    }
    if sessions.places.is_empty() {
        report.lack(
            "no-operations",
            "no transaction committed: there is nothing to judge".into(),
        );
    }
    climb(Judge { words, budget }, report::rung(level), &mut report);
    Ok(report.judgement(parsed.operations))
}

/// Judges the levels up to a rung of the ladder, until one is broken.
fn climb(judge: Judge<'_>, top: usize, report: &mut Report) {
    if report.is_broken() {
        return;
    }
    let polynomial = LADDER.iter().take(top).take(3);
    for level in polynomial {
        match judge.level(*level) {
            Found::Holds => report.holds(*level),
            Found::Broken(broken) => return report.broken(*level, broken),
            Found::Undecided(why) => return report.undecided(*level, why),
        }
    }
    if top <= 3 {
        return;
    }
    if let Some(lost) = judge.lost_updates() {
        return report.broken(Level::ParallelSnapshotIsolation, lost);
    }
    // The level that was asked for first: where it holds, so do the weaker ones.
    for level in LADDER.iter().take(top).skip(3).rev() {
        match judge.level(*level) {
            Found::Holds => return report.holds(*level),
            Found::Broken(broken) => report.broken(*level, broken),
            Found::Undecided(why) => report.undecided(*level, why),
        }
    }
}
