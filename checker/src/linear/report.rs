//! The judgement on the objects of a history.

use super::decide::{Decision, Undecided, decide_all, stuck};
use super::model::Recorded;
use super::objects::Object;
use super::{Operation, Stuck};
use crate::{Budget, Example, Finding, Judgement, Operations, Outcome, Reason, codes};

/// The anomaly's name.
pub(crate) const NONLINEARIZABLE: &str = "nonlinearizable";

/// Decides all objects, and says what was found.
pub(crate) fn report<M: Recorded>(
    model: &M,
    objects: &[Object<M::Op>],
    operations: Operations,
    budget: &Budget,
) -> Judgement {
    let histories: Vec<&[Operation<M::Op>]> = objects.iter().map(|object| &object.operations[..]).collect();
    let decisions = decide_all(&histories, model, budget);
    let failing = |place: &usize| matches!(decisions[*place], Decision::Stuck(_));
    let failing: Vec<usize> = (0..objects.len()).filter(failing).collect();
    let mut reasons = Vec::new();
    if !failing.is_empty() {
        reasons.push(Reason::new(NONLINEARIZABLE, which(objects, &failing)));
    }
    reasons.extend(undecided(objects, &decisions));
    let verdict = if !failing.is_empty() {
        Outcome::Fail
    } else if reasons.is_empty() {
        Outcome::Pass
    } else {
        Outcome::Unknown
    };
    let examples = failing.iter().take(Finding::EXAMPLES).map(|place| {
        let object = &objects[*place];
        let at = match decisions[*place] {
            Decision::Stuck(at) => at,
            _ => None,
        };
        example(model, object, &stuck(&object.operations, model, at, budget))
    });
    reasons.extend(model.assumed());
    let finding = Finding::new(NONLINEARIZABLE, failing.len() as u64, examples.collect());
    Judgement {
        verdict,
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

/// The operation that cannot be placed, after the last that could be.
fn example<M: Recorded>(model: &M, object: &Object<M::Op>, stuck: &Stuck) -> Example {
    let last = stuck.linearized.iter().rev().take(NAMED).rev();
    let mut entries: Vec<u64> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for op in last.chain([&stuck.at]) {
        let (operation, origin) = (&object.operations[*op], &object.origins[*op]);
        entries.extend([Some(origin.invoked), origin.completed].into_iter().flatten());
        lines.push(format!("{} {}", origin.invoked, model.words(&operation.op)));
    }
    entries.sort_unstable();
    let key = object
        .key
        .as_ref()
        .map_or(String::new(), |key| format!("key {key}: "));
    let cannot = lines.pop().unwrap_or_default();
    Example {
        operations: entries,
        text: format!("{key}after\n{}\nthere is no room for\n{cannot}", lines.join("\n")),
        picture: None,
    }
}
