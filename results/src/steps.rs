//! The steps of a history: when each began, and how it ended.

use history::{Body, History};

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub name: String,
    /// What it does, in the scenario's words.
    pub text: String,
    /// Nanoseconds on the run's clock.
    pub began: u64,
    pub end: End,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The state that it should bring came.
    Reached { at: u64, seen: String },
    /// It did not, within the limit.
    NotReached { at: u64, why: String },
    /// The history says no more of it.
    Open,
}

/// The steps, in the order of their beginning. An entry of a step that is known already is its end: reached, or not.
pub(crate) fn of(history: &History) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for entry in &history.entries {
        let Body::Step(step) = &entry.body else { continue };
        let (at, text) = (entry.time, step.text.clone());
        match steps.iter_mut().find(|known| known.name == step.name) {
            Some(known) if step.reached => known.end = End::Reached { at, seen: text },
            Some(known) => known.end = End::NotReached { at, why: text },
            None => {
                let end = if step.reached { End::Reached { at, seen: text.clone() } } else { End::Open };
                steps.push(Step { name: step.name.clone(), text, began: at, end });
            }
        }
    }
    steps
}

/// The step in force at a time: the last that had begun.
pub(crate) fn at(steps: &[Step], time: u64) -> Option<&Step> {
    steps.iter().rev().find(|step| step.began <= time)
}
