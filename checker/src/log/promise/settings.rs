//! `min.insync.replicas` as the metadata log sets it.

use history::{ConfigChange, Header};
use std::collections::BTreeMap;

/// The key.
const MIN_ISR: &str = "min.insync.replicas";
/// The resource type of topics.
const TOPIC: i8 = 2;
/// The resource type of brokers; the empty name is the cluster's default.
const BROKER: i8 = 4;
/// Kafka's own default.
const DEFAULT: i32 = 1;

/// The values in force.
#[derive(Clone)]
pub(crate) struct MinIsr {
    topics: BTreeMap<String, i32>,
    cluster: Option<i32>,
}

impl MinIsr {
    /// As the plan creates the topics.
    pub fn of(header: &Header) -> MinIsr {
        let topics = header
            .topics
            .iter()
            .map(|topic| (topic.name.clone(), topic.min_insync_replicas));
        MinIsr {
            topics: topics.collect(),
            cluster: None,
        }
    }

    /// Whether a configuration record sets it, for a topic or for all.
    pub fn is_set_by(change: &ConfigChange) -> bool {
        change.name == MIN_ISR
    }

    /// Takes a configuration record in.
    pub fn take(&mut self, change: &ConfigChange) {
        if change.name != MIN_ISR {
            return;
        }
        let value = change.value.as_deref().and_then(|value| value.parse().ok());
        match (change.resource_type, change.resource.as_str()) {
            (TOPIC, topic) => match value {
                Some(value) => {
                    self.topics.insert(topic.to_owned(), value);
                }
                None => {
                    self.topics.remove(topic);
                }
            },
            (BROKER, "") => self.cluster = value,
            _ => {}
        }
    }

    /// M: the value in force, or the number of replicas where that is less.
    pub fn of_partition(&self, topic: &str, replicas: usize) -> usize {
        let asked = self
            .topics
            .get(topic)
            .copied()
            .or(self.cluster)
            .unwrap_or(DEFAULT);
        usize::try_from(asked).unwrap_or(1).clamp(1, replicas.max(1))
    }
}
