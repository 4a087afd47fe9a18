//! Topics' ids, where an entry gives only the name.

use history::{Body, History, Key};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The ids that a history knows of each topic's name.
#[derive(Default)]
pub(crate) struct Names(BTreeMap<Arc<str>, BTreeSet<Arc<str>>>);

impl Names {
    /// Gathers the ids.
    pub fn of(history: &History) -> Names {
        let mut names = Names::default();
        let mut last: Option<&Key> = None;
        for key in history.entries.iter().filter_map(|entry| key(&entry.body)) {
            // Most entries repeat the topic of the one before.
            if key.id.is_empty() || last.is_some_and(|last| last.id == key.id && last.topic == key.topic) {
                continue;
            }
            names
                .0
                .entry(key.topic.clone())
                .or_default()
                .insert(key.id.clone());
            last = Some(key);
        }
        names
    }

    /// The key with its id, where it has none and the history knows exactly one for its topic.
    pub fn known(&self, key: &Key) -> Key {
        let mut key = key.clone();
        if let (true, Some(ids)) = (key.id.is_empty(), self.0.get(&key.topic))
            && let (1, Some(id)) = (ids.len(), ids.first())
        {
            key.id = id.clone();
        }
        key
    }
}

fn key(body: &Body) -> Option<&Key> {
    match body {
        Body::Send(send) => Some(&send.key),
        Body::Poll(poll) => Some(&poll.key),
        Body::ListOffsets(asked) => Some(&asked.key),
        Body::FinalRead(read) => Some(&read.key),
        Body::Partition(state) => Some(&state.key),
        _ => None,
    }
}
