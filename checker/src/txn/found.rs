//! Instances of anomalies that are no cycles, counted; some are kept as examples.

use super::store::Store;
use crate::{Example, Finding};

/// The instances of one anomaly.
#[derive(Debug, Default)]
pub(super) struct Instances {
    /// How many there are.
    pub(super) count: u64,
    /// The first of them.
    pub(super) examples: Vec<Example>,
}

impl Instances {
    /// Adds one. The example is made only where it is kept.
    pub(super) fn add(&mut self, example: impl FnOnce() -> Example) {
        self.count += 1;
        if self.examples.len() < Finding::EXAMPLES {
            self.examples.push(example());
        }
    }
}

/// An example: indexes of entries, and what happened.
pub(super) fn example(mut operations: Vec<u64>, text: String) -> Example {
    operations.sort_unstable();
    operations.dedup();
    Example {
        operations,
        text,
        picture: None,
    }
}

/// An example in which one transaction read what another did (`what`: its write, its append) to a key.
pub(super) fn read_of(
    store: &Store,
    what: &str,
    writer: u32,
    reader: u32,
    element: u32,
    but: &str,
) -> Example {
    let operations = vec![
        store.transactions[writer as usize].index,
        store.transactions[reader as usize].index,
    ];
    let text = format!(
        "T1 = {}\nT2 = {}\nT2 read T1's {what} of {} to {}, {but}",
        store.text(writer),
        store.text(reader),
        store.value(element),
        store.key_name(store.elements.key(element))
    );
    example(operations, text)
}
