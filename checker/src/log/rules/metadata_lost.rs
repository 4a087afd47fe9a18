//! `metadata-lost`: an acknowledged topic, or a setting of it, is gone, and nobody asked for that. Inside the promise
//! `quorum`, the one that speaks of metadata, unless the quorum lost its disks. Each removal is one instance.
//!
//! Not this: a topic that was deleted on purpose, a setting that was changed on purpose, or set back.

use super::of_cluster;
use crate::log::faults::Faults;
use crate::{Anomaly, Instance};
use history::{Body, Entry, History, Promise};

/// The anomaly.
const NAME: &str = "metadata-lost";
/// Faults that remove topics.
const REMOVE_TOPICS: [&str; 1] = ["recreate-topic"];
/// Faults that change settings.
const CHANGE_SETTINGS: [&str; 3] = ["set-config", "set-min-isr", "recreate-topic"];
/// The resource type of topics.
const TOPIC: i8 = 2;

/// Looks for it. It is about no partition.
pub(crate) fn find(history: &History, faults: &Faults<'_>, quorum_void: Option<u64>) -> Option<Anomaly> {
    let gone = history
        .entries
        .iter()
        .filter_map(|entry| gone(history, faults, entry));
    let instances: Vec<Instance> = gone.collect();
    let is_promised = history.header.promises.contains(&Promise::Quorum);
    let first = instances.iter().filter_map(|instance| instance.lost_at).min()?;
    Some(Anomaly {
        name: NAME.to_owned(),
        inside_promise: is_promised && quorum_void.is_none_or(|void| void > first),
        count: instances.len() as u64,
        follows: None,
        instances,
    })
}

fn gone(history: &History, faults: &Faults<'_>, entry: &Entry) -> Option<Instance> {
    let is_asked = |names: &[&str]| {
        let mut asked = faults.all();
        asked.any(|act| {
            names.contains(&&*act.fault.name) && act.asked.time <= entry.time && !act.was_refused()
        })
    };
    let is_judged = |name: &str| history.header.topics.iter().any(|topic| topic.name == name);
    let what = match &entry.body {
        Body::TopicRemoved(removed) if !is_asked(&REMOVE_TOPICS) => {
            let topic = name_of(history, &removed.id).filter(|name| is_judged(name))?;
            format!("topic {topic} (id {}) is removed", removed.id)
        }
        Body::Config(change)
            if change.value.is_none()
                && change.resource_type == TOPIC
                && is_judged(&change.resource)
                && !is_asked(&CHANGE_SETTINGS) =>
        {
            format!(
                "the setting {} of topic {} is removed",
                change.name, change.resource
            )
        }
        _ => return None,
    };
    Some(Instance {
        lost_at: Some(entry.time),
        ..of_cluster(&[entry.index], format!("{what}, and nobody asked for that"))
    })
}

/// The name of a topic's id, as its partitions have it.
fn name_of<'a>(history: &'a History, id: &str) -> Option<&'a str> {
    history.entries.iter().find_map(|entry| match &entry.body {
        Body::Partition(state) if *state.key.id == *id => Some(&*state.key.topic),
        _ => None,
    })
}
