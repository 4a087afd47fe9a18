//! From what was found to a judgement.

use super::anomaly::TxnAnomaly;
use super::found::Instances;
use super::levels::{covers, proscribes, ruled_out};
use super::search::{Found, Ring, Search};
use super::shorten::shorten;
use super::store::Store;
use super::words::{Explain, tell};
use crate::{Finding, Judgement, Level, Outcome, Reason};
use std::collections::BTreeMap;

/// The name of a history without a single edge between transactions: nothing can be said of their order.
const EMPTY: &str = "empty-transaction-graph";
/// The code of a search that was cut short.
const TIMEOUT: &str = "cycle-search-timeout";

/// What was found of a history.
pub(super) struct Report<'a, E> {
    /// The transactions.
    pub(super) store: &'a Store,
    /// The level that it is held against.
    pub(super) level: Level,
    /// What is no cycle.
    pub(super) direct: Vec<(TxnAnomaly, Instances)>,
    /// The cycles.
    pub(super) search: Search,
    /// Whether the graph has no edge.
    pub(super) empty: bool,
    /// Explains edges.
    pub(super) explain: &'a E,
}

impl<E: Explain> Report<'_, E> {
    /// The judgement.
    pub(super) fn judgement(mut self) -> Judgement {
        self.direct.retain(|(_, instances)| instances.count > 0);
        let cycles = self.cycles();
        let mut anomalies: Vec<TxnAnomaly> = self.direct.iter().map(|(anomaly, _)| *anomaly).collect();
        anomalies.extend(cycles.keys());
        anomalies.sort_unstable();
        let failed = anomalies.iter().any(|anomaly| proscribes(self.level, *anomaly));
        let mut reasons = self.reasons(&anomalies);
        let open = self.empty || self.search.spent.is_some();
        let mut findings = self.findings(cycles);
        if self.empty {
            findings.push(Finding::new(EMPTY, 1, Vec::new()));
        }
        let verdict = match (failed, open) {
            (true, _) => Outcome::Fail,
            (false, true) => Outcome::Unknown,
            (false, false) => Outcome::Pass,
        };
        if verdict == Outcome::Pass {
            let level = self.level.text();
            reasons.push(Reason::new(
                level,
                format!("nothing was found that {level} rules out"),
            ));
        }
        Judgement {
            verdict,
            reasons,
            anomalies: findings,
            models_ruled_out: ruled_out(&anomalies),
            operations: self.store.operations,
            operations_total: self.store.operations.total(),
        }
    }

    /// The cycles by what they are told as. One that needs a clock though data prove the hop too is told by the data,
    /// where all that it rules out is ruled out anyway.
    fn cycles(&self) -> BTreeMap<TxnAnomaly, Vec<Ring>> {
        let known = |skip: usize| {
            let others = self.search.found.iter().enumerate();
            let others = others.filter(move |(place, _)| *place != skip);
            let cycles = others.map(|(_, found)| TxnAnomaly::Cycle(found.anomaly));
            self.direct.iter().map(|(anomaly, _)| *anomaly).chain(cycles)
        };
        let mut cycles: BTreeMap<TxnAnomaly, Vec<Ring>> = BTreeMap::new();
        for (place, found) in self.search.found.iter().enumerate() {
            let Found {
                anomaly,
                ring,
                by_data,
            } = found;
            let told = match by_data {
                Some((other, by_data))
                    if covers(TxnAnomaly::Cycle(*other), *anomaly)
                        || known(place).any(|known| covers(known, *anomaly)) =>
                {
                    (*other, by_data)
                }
                _ => (*anomaly, ring),
            };
            cycles
                .entry(TxnAnomaly::Cycle(told.0))
                .or_default()
                .push(shorten(self.store, told.1));
        }
        cycles
    }

    fn findings(&mut self, cycles: BTreeMap<TxnAnomaly, Vec<Ring>>) -> Vec<Finding> {
        let mut findings: Vec<(TxnAnomaly, Finding)> = Vec::new();
        for (anomaly, instances) in std::mem::take(&mut self.direct) {
            findings.push((
                anomaly,
                Finding::new(anomaly.name(), instances.count, instances.examples),
            ));
        }
        for (anomaly, mut rings) in cycles {
            rings.sort_by_key(|ring| ring.hops.len());
            let examples = rings
                .iter()
                .take(Finding::EXAMPLES)
                .map(|ring| tell(self.store, self.explain, ring))
                .collect();
            findings.push((
                anomaly,
                Finding::new(anomaly.name(), rings.len() as u64, examples),
            ));
        }
        for (anomaly, finding) in &mut findings {
            if !proscribes(self.level, *anomaly) {
                finding.tolerated = Some(match anomaly {
                    TxnAnomaly::ThinAirRead => "the history may have begun after the write".into(),
                    _ => format!("{} allows it", self.level.text()),
                });
            }
        }
        findings.sort_by_key(|(anomaly, finding)| (finding.tolerated.is_some(), *anomaly));
        findings.into_iter().map(|(_, finding)| finding).collect()
    }

    fn reasons(&self, anomalies: &[TxnAnomaly]) -> Vec<Reason> {
        let level = self.level.text();
        let mut reasons: Vec<Reason> = anomalies
            .iter()
            .filter(|anomaly| proscribes(self.level, **anomaly))
            .map(|anomaly| Reason::new(anomaly.name(), format!("{level} rules out {}", anomaly.name())))
            .collect();
        if self.empty {
            let why = "no transaction is known to precede another: the history shows no order";
            reasons.push(Reason::new(EMPTY, why));
        }
        if let Some(spent) = self.search.spent {
            reasons.push(Reason::new(TIMEOUT, format!("cycles: {spent}")));
        }
        if self.search.cut_short > 0 {
            let why = format!(
                "in {} components it stayed open whether a cycle with a single rw is among them: the search reached its \
                 limit; what is told of them rules out the same levels",
                self.search.cut_short
            );
            reasons.push(Reason::new(TIMEOUT, why));
        }
        reasons
    }
}
