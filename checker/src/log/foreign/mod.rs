//! Kafka histories that something else recorded: sends, polls and transactions on keys, each a partition.
//!
//! The rules are those of the best existing workload, by its definitions, on sparse offsets; `docs/checkers.md`
//! tells where and why this differs. A history is read into columns (`read`), each partition's values are put in
//! order (`case`), and every file of `rules` accuses one partition of one thing; partitions go in parallel. Then
//! operations are searched for cycles (`cycles`).

mod case;
mod committed;
mod cycles;
mod found;
mod lag;
mod read;
mod rules;
mod tolerated;
mod transfers;
mod versions;

use crate::log::parallel;
use crate::{Budget, Finding, JudgeError, Judgement, Options, Outcome, Reason};
use case::Case;
use committed::Committed;
use cycles::Cycles;
use found::Found;
use history::{Op, ReadError};
use transfers::Transfers;
use versions::Versions;

/// Judges a Kafka history that something else recorded.
pub(crate) fn judge(
    options: &Options,
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Judgement, JudgeError> {
    let transfers = read::read(history)?;
    Ok(judge_transfers(options, budget, &transfers))
}

fn judge_transfers(options: &Options, budget: &Budget, transfers: &Transfers) -> Judgement {
    let committed = Committed::of(transfers);
    let places: Vec<u32> = (0..transfers.partitions.len() as u32).collect();
    let total = places.len() as u64;
    budget.tell("partitions", 0, total);
    let answers = parallel::map(&places, transfers.records(), |place| {
        if let Some(spent) = budget.spent() {
            return Err(spent);
        }
        let case = Case::new(transfers, &committed, *place);
        Ok((rules::find_all(&case), lag::worst(&case), Versions::of(case)))
    });
    budget.tell("partitions", total, total);
    let mut found = Found::default();
    let mut reasons = Vec::new();
    let mut worst = None;
    let mut versions = Vec::new();
    for answer in answers {
        match answer {
            Ok((mine, lag, order)) => {
                found.join(mine);
                versions.push(order);
                worst = worst.max(lag);
            }
            Err(spent) if reasons.is_empty() => reasons.push(Reason::new("budget", spent.to_string())),
            Err(_) => {}
        }
    }
    if reasons.is_empty() {
        let cycles = Cycles {
            transfers,
            versions: &versions,
        };
        reasons.extend(cycles.find(options, budget, &mut found));
    }
    let nothing = transfers
        .partitions
        .iter()
        .all(|p| p.sends.is_empty() && p.polls.is_empty());
    if nothing {
        let message = "no operation sent or polled anything: there is nothing to judge";
        reasons.push(Reason::new("no-operations", message));
    }
    judgement(options, transfers, found, reasons, worst)
}

fn judgement(
    options: &Options,
    transfers: &Transfers,
    found: Found,
    lacks: Vec<Reason>,
    worst: Option<lag::Lag>,
) -> Judgement {
    let mut anomalies = found.into_findings();
    for finding in &mut anomalies {
        finding.tolerated = tolerated::why(&finding.name, options).map(str::to_owned);
    }
    anomalies.sort_by_key(|finding| (finding.tolerated.is_some(), rules::rank(&finding.name)));
    let decides = |finding: &&Finding| finding.tolerated.is_none();
    let verdict = if anomalies.iter().any(|finding| decides(&finding)) {
        Outcome::Fail
    } else if lacks.is_empty() {
        Outcome::Pass
    } else {
        Outcome::Unknown
    };
    let mut reasons: Vec<Reason> = anomalies
        .iter()
        .filter(decides)
        .map(|finding| Reason::new(&finding.name, format!("{}: {}", finding.name, finding.count)))
        .collect();
    reasons.extend(lacks);
    reasons.extend(worst.map(|lag| lag.reason(transfers)));
    Judgement {
        verdict,
        reasons,
        anomalies,
        models_ruled_out: Vec::new(),
        operations: transfers.counts,
        operations_total: transfers.counts.total(),
    }
}
