//! What rules found: counted exactly, with a few examples.

use crate::{Example, Finding};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Instances by the anomaly's name.
#[derive(Default)]
pub(super) struct Found(BTreeMap<Cow<'static, str>, Instances>);

#[derive(Default)]
struct Instances {
    count: u64,
    examples: Vec<Example>,
    /// Of instances that several partitions may show: which.
    operations: BTreeSet<u32>,
    /// What they follow from.
    follows: Option<String>,
}

impl Found {
    /// One more instance. It is only put into words where it is among the first.
    pub fn add(&mut self, name: &'static str, example: impl FnOnce() -> Example) {
        self.one(name.into(), example);
    }

    /// The same, of a name that is put together.
    pub fn add_named(&mut self, name: String, example: impl FnOnce() -> Example) {
        self.one(name.into(), example);
    }

    /// The same, of what follows from another anomaly.
    pub fn add_following(&mut self, name: String, cause: String, example: impl FnOnce() -> Example) {
        self.one(name.clone().into(), example);
        self.0.entry(name.into()).or_default().follows = Some(cause);
    }

    fn one(&mut self, name: Cow<'static, str>, example: impl FnOnce() -> Example) {
        let some = self.0.entry(name).or_default();
        some.count += 1;
        if some.examples.len() < Finding::EXAMPLES {
            some.examples.push(example());
        }
    }

    /// The same, where this operation is not an instance yet.
    pub fn add_operation(&mut self, name: &'static str, op: u32, example: impl FnOnce() -> Example) {
        if self.0.entry(name.into()).or_default().operations.insert(op) {
            self.add(name, example);
        }
    }

    /// Joins what was found elsewhere.
    pub fn join(&mut self, other: Found) {
        for (name, found) in other.0 {
            let some = self.0.entry(name).or_default();
            let before = some.operations.len() as u64;
            let told = found.operations.len() as u64;
            some.operations.extend(found.operations);
            // What both found is one.
            let both = before + told - some.operations.len() as u64;
            some.count += found.count - both;
            let room = Finding::EXAMPLES.saturating_sub(some.examples.len());
            some.examples.extend(found.examples.into_iter().take(room));
        }
    }

    /// All findings.
    pub fn into_findings(self) -> Vec<Finding> {
        let finding = |(name, some): (Cow<'static, str>, Instances)| Finding {
            follows: some.follows,
            ..Finding::new(name, some.count, some.examples)
        };
        self.0.into_iter().map(finding).collect()
    }
}

/// An example: entries that prove it, in any order, and words.
pub(super) fn example(entries: &[u64], text: String) -> Example {
    let mut operations = entries.to_vec();
    operations.sort_unstable();
    operations.dedup();
    Example {
        operations,
        text,
        picture: None,
    }
}
