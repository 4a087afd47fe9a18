//! A counterexample in words, and as a picture.

use super::minimal::Minimal;
use super::model::Recorded;
use super::objects::{Object, Origin};
use super::picture::{Bar, Place, draw};
use crate::Example;
use history::Process;

/// The most operations that are listed: more is read by nobody.
const MOST_LISTED: usize = 30;

/// A counterexample explained.
pub(crate) fn example<M: Recorded>(object: &Object<M::Op>, model: &M, found: &Minimal) -> Example {
    let story = Story { model, object, found };
    let origins = found.operations.iter().map(|at| &object.origins[*at]);
    let mut indexes: Vec<u64> = origins
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
    object: &'a Object<M::Op>,
    found: &'a Minimal,
}

impl<M: Recorded> Story<'_, M> {
    fn text(&self) -> String {
        let under = self
            .object
            .key
            .as_ref()
            .map_or(String::new(), |key| format!(" under key {key}"));
        let mut lines = vec![match self.found.operations.len() {
            1 => format!("This operation{under} has no place, whatever else happened:"),
            count => format!("These {count} operations{under} have no order, whatever else happened:"),
        }];
        lines.extend(self.list(&self.found.operations));
        let besides = self.besides();
        if !besides.is_empty() {
            lines.push("Of the rest, which may have happened or not, this helps:".into());
            lines.extend(self.list(&besides));
        }
        lines.push(self.why());
        lines.push(match self.found.settled {
            true => "None of them can be left out.".into(),
            false => "Some of them might be left out: there was no time to find out.".into(),
        });
        lines.join("\n")
    }

    fn list(&self, operations: &[usize]) -> Vec<String> {
        let line = |at: &usize| {
            let origin = &self.object.origins[*at];
            format!("  {}: {}, {}", who(origin.process), self.words(*at), when(origin))
        };
        let mut lines: Vec<String> = operations.iter().take(MOST_LISTED).map(line).collect();
        if operations.len() > MOST_LISTED {
            lines.push(format!("  and {} more", operations.len() - MOST_LISTED));
        }
        lines
    }

    /// What stands in the order, but is not of the counterexample.
    fn besides(&self) -> Vec<usize> {
        let order = self.found.order.iter().flatten();
        order
            .filter(|at| !self.found.operations.contains(at))
            .copied()
            .collect()
    }

    /// Why what completes last has no place.
    fn why(&self) -> String {
        let name = |at: &usize| self.name(*at);
        let stuck = name(&self.found.stuck);
        let farthest = match self.found.order.as_deref() {
            None => format!("Without {stuck} there may be one"),
            Some([]) => format!("{stuck} does not fit the initial state, and nothing can come before it"),
            Some(order) => {
                let names: Vec<String> = order.iter().take(MOST_LISTED).map(name).collect();
                format!(
                    "An order is {}; but {stuck} has no place in this one or any other",
                    names.join(", then ")
                )
            }
        };
        let begins = self.object.operations[self.found.stuck].invoked_at();
        let ended = |at: &&usize| {
            self.object.operations[**at]
                .completed_at()
                .is_some_and(|end| end < begins)
        };
        let before: Vec<String> = self
            .found
            .operations
            .iter()
            .filter(ended)
            .take(MOST_LISTED)
            .map(name)
            .collect();
        match before.is_empty() {
            true => format!("{farthest}."),
            false => format!(
                "{farthest}: it began after {} had completed.",
                before.join(" and ")
            ),
        }
    }

    fn words(&self, at: usize) -> String {
        self.model.words(&self.object.operations[at].op)
    }

    /// An operation's name in a sentence.
    fn name(&self, at: usize) -> String {
        format!("{} of {}", self.words(at), who(self.object.origins[at].process))
    }

    fn picture(&self) -> String {
        let drawn = self.found.operations.iter().copied().chain(self.besides());
        let bars: Vec<Bar> = drawn.map(|at| self.bar(at)).collect();
        draw(&bars)
    }

    fn bar(&self, at: usize) -> Bar {
        let (operation, origin) = (&self.object.operations[at], &self.object.origins[at]);
        let in_order = self.found.order.iter().flatten().position(|other| *other == at);
        let label = self.words(at);
        Bar {
            lane: who(origin.process),
            title: format!("{}: {label}, {}", who(origin.process), when(origin)),
            label,
            from: operation.invoked_at(),
            to: operation.completed_at(),
            certain: self.found.operations.contains(&at),
            place: match in_order {
                _ if at == self.found.stuck => Place::Stuck,
                Some(place) => Place::At(place),
                None => Place::Left,
            },
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
