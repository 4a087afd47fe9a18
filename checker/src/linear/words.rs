//! A counterexample in words, and as a picture.

use super::decide::explain;
use super::minimal::Minimal;
use super::model::Recorded;
use super::objects::{Object, Origin};
use super::picture::{Bar, Place, draw};
use super::{Answer, Operation};
use crate::{Budget, Example};
use history::{Process, Value};

/// The most operations that are listed: more is read by nobody.
const MOST_LISTED: usize = 30;

/// A counterexample explained.
pub(crate) fn example<M: Recorded>(
    object: &Object<M::Op>,
    model: &M,
    found: &Minimal,
    budget: &Budget,
) -> Example {
    let operations: Vec<_> = found
        .operations
        .iter()
        .map(|at| object.operations[*at].clone())
        .collect();
    let origins: Vec<_> = found.operations.iter().map(|at| object.origins[*at]).collect();
    let story = Story {
        model,
        key: object.key.as_ref(),
        settled: found.settled,
        // Few as they are, they are soon ordered.
        stuck: match explain(&operations, model, budget) {
            Answer::NotLinearizable(stuck) => Some((stuck.at, stuck.linearized)),
            Answer::Linearizable | Answer::Unknown(_) => None,
        },
        operations,
        origins,
    };
    let mut indexes: Vec<u64> = story
        .origins
        .iter()
        .flat_map(|origin| [Some(origin.invoked), origin.completed])
        .flatten()
        .collect();
    indexes.sort_unstable();
    indexes.dedup();
    Example {
        operations: indexes,
        text: story.text(),
        picture: Some(story.picture()),
    }
}

struct Story<'a, M: Recorded> {
    model: &'a M,
    key: Option<&'a Value>,
    operations: Vec<Operation<M::Op>>,
    origins: Vec<Origin>,
    settled: bool,
    /// What cannot be placed, and the order that comes farthest without it.
    stuck: Option<(usize, Vec<usize>)>,
}

impl<M: Recorded> Story<'_, M> {
    fn text(&self) -> String {
        let under = self.key.map_or(String::new(), |key| format!(" under key {key}"));
        let mut lines = vec![match self.operations.len() {
            1 => format!("No order explains this operation{under}, whatever else happened:"),
            count => {
                format!("No order of these {count} operations{under} explains them, whatever else happened:")
            }
        }];
        for (operation, origin) in self.operations.iter().zip(&self.origins).take(MOST_LISTED) {
            lines.push(format!(
                "  {}: {}, {}",
                who(origin.process),
                self.model.words(&operation.op),
                when(origin)
            ));
        }
        if self.operations.len() > MOST_LISTED {
            lines.push(format!("  and {} more", self.operations.len() - MOST_LISTED));
        }
        lines.extend(self.why());
        lines.push(match self.settled {
            true => "None of them can be left out.".into(),
            false => "Some of them might be left out: there was no time to find out.".into(),
        });
        lines.join("\n")
    }

    /// Why what is stuck has no place.
    fn why(&self) -> Option<String> {
        let (at, order) = self.stuck.as_ref()?;
        let name = |at: &usize| self.name(*at);
        let stuck = name(at);
        let order: Vec<String> = order.iter().take(MOST_LISTED).map(name).collect();
        let farthest = match order.is_empty() {
            true => format!("Nothing can come before {stuck}, and the initial state does not allow it"),
            false => format!(
                "They can be ordered as far as {}; then {stuck} cannot be placed",
                order.join(", then ")
            ),
        };
        let begins = self.operations[*at].invoked_at();
        let before: Vec<String> = (0..self.operations.len())
            .filter(|other| {
                self.operations[*other]
                    .completed_at()
                    .is_some_and(|end| end < begins)
            })
            .take(MOST_LISTED)
            .map(|other| name(&other))
            .collect();
        Some(match before.is_empty() {
            true => format!("{farthest}, before, between or after them."),
            false => format!(
                "{farthest}. It began after {} had completed, and cannot come earlier.",
                before.join(" and ")
            ),
        })
    }

    /// An operation's name in a sentence.
    fn name(&self, at: usize) -> String {
        format!(
            "{} of {}",
            self.model.words(&self.operations[at].op),
            who(self.origins[at].process)
        )
    }

    fn picture(&self) -> String {
        let bars: Vec<Bar> = (0..self.operations.len()).map(|at| self.bar(at)).collect();
        draw(&bars)
    }

    fn bar(&self, at: usize) -> Bar {
        let (operation, origin) = (&self.operations[at], &self.origins[at]);
        let place = match &self.stuck {
            Some((stuck, _)) if *stuck == at => Place::Stuck,
            Some((_, order)) => order
                .iter()
                .position(|other| *other == at)
                .map_or(Place::Left, Place::At),
            None => Place::Left,
        };
        let label = self.model.words(&operation.op);
        Bar {
            lane: who(origin.process),
            title: format!("{}: {label}, {}", who(origin.process), when(origin)),
            label,
            from: operation.invoked_at(),
            to: operation.completed_at(),
            place,
        }
    }
}

fn who(process: Process) -> String {
    match process {
        Process::Client(number) => format!("process {number}"),
        _ => "an unnamed process".into(),
    }
}

fn when(origin: &Origin) -> String {
    match origin.completed {
        Some(completed) => format!("entries {} to {completed}", origin.invoked),
        None => format!("entry {} on", origin.invoked),
    }
}
