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
                let end = if step.reached {
                    End::Reached {
                        at,
                        seen: text.clone(),
                    }
                } else {
                    End::Open
                };
                steps.push(Step {
                    name: step.name.clone(),
                    text,
                    began: at,
                    end,
                });
            }
        }
    }
    steps
}

/// The step in force at a time: the last that had begun.
pub(crate) fn at(steps: &[Step], time: u64) -> Option<&Step> {
    steps.iter().rev().find(|step| step.began <= time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::{empty, night};

    #[test]
    fn steps_begin_and_are_reached() {
        let steps = of(&night(true));
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["T0", "T1", "T2", "T3", "T4"]);
        assert!(
            steps
                .iter()
                .all(|step| matches!(step.end, End::Reached { at, .. } if at > step.began))
        );
        assert_eq!(at(&steps, 8_000_000_000).unwrap().name, "T2");
        assert_eq!(at(&steps, 3_599_999_999), None);
    }

    #[test]
    fn a_step_that_failed_and_one_that_was_cut_short_are_told_apart() {
        let mut history = night(true);
        history
            .entries
            .retain(|entry| !matches!(&entry.body, Body::Step(step) if step.name == "T4" && step.reached));
        for entry in &mut history.entries {
            if let Body::Step(step) = &mut entry.body
                && step.name == "T3"
            {
                step.reached = false;
            }
        }
        let steps = of(&history);
        assert!(matches!(&steps[3].end, End::NotReached { why, .. } if why.contains("healed")));
        assert_eq!(steps[4].end, End::Open);
        assert_eq!(of(&empty()), []);
    }

    #[test]
    fn a_step_known_only_by_its_end_is_a_step() {
        let mut history = night(true);
        history.entries.retain(|entry| match &entry.body {
            Body::Step(step) => step.name == "T0" && step.reached,
            _ => true,
        });
        let steps = of(&history);
        assert!(matches!(
            &steps[..],
            [Step {
                end: End::Reached { .. },
                ..
            }]
        ));
    }
}
