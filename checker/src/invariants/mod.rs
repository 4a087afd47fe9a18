//! Invariants of special histories: bank, long-fork, set-full (Jepsen's workloads of these names).

mod bank;
mod long_fork;
mod report;
mod set_full;

use crate::{Budget, JudgeError, Judgement, ModelName, Options};
use history::{Op, Operation, Process, ReadError, pairs};
use report::Report;

/// How often the budget is asked, in operations.
const ASK: u64 = 1 << 12;

/// Judges a history.
pub(crate) fn judge(
    model: ModelName,
    options: &Options,
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Judgement, JudgeError> {
    let mut report = Report::default();
    match model {
        ModelName::Bank => {
            let mut bank = bank::Bank::new(options)?;
            each(history, budget, &mut report, |operation| bank.take(operation))?;
            bank.end(&mut report);
        }
        ModelName::LongFork => {
            let mut groups = long_fork::Reads::new(options.group_size);
            each(history, budget, &mut report, |operation| groups.take(operation))?;
            groups.end(budget, &mut report);
        }
        // No other model comes here.
        _ => {
            let mut sets = set_full::Sets::default();
            each(history, budget, &mut report, |operation| sets.take(operation))?;
            sets.end(options, budget, &mut report)?;
        }
    }
    Ok(report.judgement())
}

/// Gives every operation to a model.
fn each(
    history: impl Iterator<Item = Result<Op, ReadError>>,
    budget: &Budget,
    report: &mut Report,
    mut take: impl FnMut(Operation) -> Result<(), JudgeError>,
) -> Result<(), JudgeError> {
    for (count, operation) in (0u64..).zip(pairs(history)) {
        let operation = operation?;
        if count % ASK == 0 {
            budget.tell("reading the history", count, 0);
            if let Some(spent) = budget.spent() {
                report.lack("budget", format!("the history was not read to its end: {spent}"));
                break;
            }
        }
        // Without processes an invocation cannot be paired: its completion tells of it, where there is one.
        if operation.process != Process::Unnamed || operation.completed.is_some() {
            report.count(operation.outcome);
        }
        take(operation)?;
    }
    Ok(())
}

/// The index of the entry that tells most of an operation.
fn told_at(operation: &Operation) -> u64 {
    operation.completed.unwrap_or(operation.invoked).index
}
