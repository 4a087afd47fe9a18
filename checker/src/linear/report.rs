//! The judgement on the objects of a history.

use super::decide::{Decision, Undecided, Until, decide_all};
use super::minimal::minimal;
use super::model::Recorded;
use super::objects::Object;
use super::{Operation, words};
use crate::{Budget, Example, Finding, Judgement, Operations, Outcome, Reason, codes};
use std::time::Duration;

/// The anomaly's name.
pub(crate) const NONLINEARIZABLE: &str = "nonlinearizable";

/// Decides all objects.
pub(crate) fn decisions<M: Recorded>(
    model: &M,
    objects: &[Object<M::Op>],
    until: Until,
    budget: &Budget,
) -> Vec<Decision> {
    let histories: Vec<&[Operation<M::Op>]> = objects.iter().map(|object| &object.operations[..]).collect();
    decide_all(&histories, model, until, budget)
}

/// What the decisions come to.
pub(crate) fn verdict(decisions: &[Decision]) -> Outcome {
    let any = |is: fn(&Decision) -> bool| decisions.iter().any(is);
    if any(|decision| matches!(decision, Decision::Stuck(_))) {
        Outcome::Fail
    } else if any(|decision| matches!(decision, Decision::Unknown(_))) {
        Outcome::Unknown
    } else {
        Outcome::Pass
    }
}

/// Decides all objects, and says what was found.
pub(crate) fn report<M: Recorded>(
    model: &M,
    objects: &[Object<M::Op>],
    operations: Operations,
    budget: &Budget,
) -> Judgement {
    let left = budget.left();
    let decisions = decisions(model, objects, Until::First, budget);
    let took = left.saturating_sub(budget.left());
    let failing = |place: &usize| matches!(decisions[*place], Decision::Stuck(_));
    let failing: Vec<usize> = (0..objects.len()).filter(failing).collect();
    let mut reasons = Vec::new();
    if !failing.is_empty() {
        reasons.push(Reason::new(NONLINEARIZABLE, which(objects, &failing)));
    }
    reasons.extend(undecided(objects, &decisions));
    let examples = failing.iter().take(Finding::EXAMPLES).map(|place| {
        let object = &objects[*place];
        let at = match decisions[*place] {
            Decision::Stuck(at) => at,
            _ => None,
        };
        example(model, object, at, took, budget)
    });
    reasons.extend(model.assumed());
    if operations.total() == 0 {
        let message = "there is no operation to judge, so nothing speaks against it, and nothing for it";
        reasons.push(Reason::new("no-operations", message));
    }
    let finding = Finding::new(NONLINEARIZABLE, failing.len() as u64, examples.collect());
    Judgement {
        verdict: verdict(&decisions),
        reasons,
        anomalies: if failing.is_empty() {
            Vec::new()
        } else {
            vec![finding]
        },
        models_ruled_out: Vec::new(),
        operations,
        operations_total: operations.total(),
    }
}

/// In words, which objects have no order.
fn which<Op>(objects: &[Object<Op>], failing: &[usize]) -> String {
    let keys = names(objects, failing);
    match (failing.len(), objects.len()) {
        (_, 1) if keys.is_empty() => "no order of the operations explains all answers".into(),
        (some, all) => {
            format!("{some} of {all} keys: no order of their operations explains all answers: {keys}")
        }
    }
}

/// Why objects were not decided, where some were not.
fn undecided<Op>(objects: &[Object<Op>], decisions: &[Decision]) -> Option<Reason> {
    let open = |place: &usize| matches!(decisions[*place], Decision::Unknown(_));
    let open: Vec<usize> = (0..objects.len()).filter(open).collect();
    let first = decisions[*open.first()?];
    let why = match first {
        Decision::Unknown(Undecided::Spent(spent)) => spent.to_string(),
        _ => "not looked at to the end, since the verdict stands without them".into(),
    };
    let all = objects.len();
    let keys = match names(objects, &open) {
        keys if keys.is_empty() => String::new(),
        keys => format!(" ({} of {all} keys: {keys}; all others are decided)", open.len()),
    };
    Some(Reason::new(codes::BUDGET, format!("{why}{keys}")))
}

/// How many keys are named at most.
const NAMED: usize = 10;

fn names<Op>(objects: &[Object<Op>], places: &[usize]) -> String {
    let keys = places.iter().filter_map(|place| objects[*place].key.as_ref());
    let mut named: Vec<String> = keys.take(NAMED).map(|key| key.to_string()).collect();
    if places.len() > NAMED && !named.is_empty() {
        named.push(format!("and {} more", places.len() - NAMED));
    }
    named.join(", ")
}

/// The least time that explaining one object may take, where there is as much: below, nobody notices.
const LEAST_TO_EXPLAIN: Duration = Duration::from_millis(300);

/// A counterexample of an object that fails. It takes no longer than the verdict did, or than nobody notices.
fn example<M: Recorded>(
    model: &M,
    object: &Object<M::Op>,
    at: Option<usize>,
    took: Duration,
    budget: &Budget,
) -> Example {
    let time = took.max(LEAST_TO_EXPLAIN).min(budget.left());
    let explaining = Budget::new(time, budget.memory_left());
    let stuck = at
        .and_then(|at| object.operations[at].completed_at())
        .unwrap_or(0);
    let found = minimal(&object.operations, model, stuck, &explaining);
    words::example(object, model, &found)
}
