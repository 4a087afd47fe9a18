//! What was found, as a judgement.

use crate::{Example, Finding, Judgement, Operations, Outcome, Reason};
use history::Kind;

/// The judgement in the making.
#[derive(Debug, Default)]
pub(super) struct Report {
    operations: Operations,
    findings: Vec<Finding>,
    lacks: Vec<Reason>,
    remarks: Vec<Reason>,
}

impl Report {
    /// Counts an operation.
    pub(super) fn count(&mut self, outcome: Kind) {
        match outcome {
            Kind::Ok => self.operations.ok += 1,
            Kind::Fail => self.operations.fail += 1,
            Kind::Info | Kind::Invoke => self.operations.info += 1,
        }
    }

    /// A reason not to pass.
    pub(super) fn lack(&mut self, code: &str, message: String) {
        self.lacks.push(Reason::new(code, message));
    }

    /// What is worth knowing, whatever the verdict.
    pub(super) fn remark(&mut self, code: &str, message: String) {
        self.remarks.push(Reason::new(code, message));
    }

    /// An anomaly, where there are instances of it.
    pub(super) fn found(&mut self, found: Instances) {
        if found.count > 0 {
            let mut finding = Finding::new(found.name, found.count, found.examples);
            finding.tolerated = found.tolerated;
            self.findings.push(finding);
        }
    }

    pub(super) fn judgement(self) -> Judgement {
        let counted: Vec<_> = self
            .findings
            .iter()
            .filter(|one| one.tolerated.is_none())
            .collect();
        let verdict = match (counted.is_empty(), self.lacks.is_empty()) {
            (false, _) => Outcome::Fail,
            (true, true) => Outcome::Pass,
            (true, false) => Outcome::Unknown,
        };
        let found = counted
            .iter()
            .map(|one| Reason::new(&*one.name, format!("found {} of {}", one.count, one.name)));
        let mut reasons: Vec<Reason> = found.collect();
        if reasons.is_empty() {
            reasons = self.lacks;
        }
        reasons.extend(self.remarks);
        Judgement {
            verdict,
            reasons,
            anomalies: self.findings,
            models_ruled_out: Vec::new(),
            operations: self.operations,
            operations_total: self.operations.total(),
        }
    }
}

/// Instances of an anomaly: all are counted, some are kept.
#[derive(Debug)]
pub(super) struct Instances {
    name: &'static str,
    count: u64,
    examples: Vec<Example>,
    tolerated: Option<String>,
}

impl Instances {
    pub(super) fn new(name: &'static str) -> Instances {
        Instances {
            name,
            count: 0,
            examples: Vec::new(),
            tolerated: None,
        }
    }

    /// They decide nothing, for a reason.
    pub(super) fn tolerate(&mut self, why: &str) {
        self.tolerated = Some(why.to_owned());
    }

    /// Another one. Its words are asked for only where it is kept.
    pub(super) fn add(&mut self, operations: impl IntoIterator<Item = u64>, text: impl FnOnce() -> String) {
        self.add_many(1, operations, text);
    }

    /// So many more that look alike.
    pub(super) fn add_many(
        &mut self,
        count: u64,
        operations: impl IntoIterator<Item = u64>,
        text: impl FnOnce() -> String,
    ) {
        self.count += count;
        if count > 0 && self.examples.len() < Finding::EXAMPLES {
            let mut operations: Vec<u64> = operations.into_iter().collect();
            operations.sort_unstable();
            operations.dedup();
            self.examples.push(Example {
                operations,
                text: text(),
                picture: None,
            });
        }
    }
}
