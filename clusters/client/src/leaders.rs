//! The leaders of one topic, looked up once for all who ask.

use crate::calls::TopicRef;
use crate::cluster::Cluster;
use crate::ids::TopicId;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Who leads a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The broker.
    pub node: i32,
    /// Its leader epoch.
    pub epoch: i32,
    /// Where it listens.
    pub address: SocketAddr,
}

/// A topic's leaders: the highest epochs that any broker named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicLeaders {
    /// The topic's id; nil from clusters that do not say.
    pub id: TopicId,
    /// The leader of each partition; none where it has none, or its address is not known.
    pub partitions: BTreeMap<i32, Option<Leader>>,
}

/// A cache of one topic's leaders, shared by clients: an outage costs one look-up, not one for each of them.
#[derive(Debug)]
pub struct Leaders {
    cluster: Arc<Cluster>,
    topic: String,
    /// When the last look-up began, and what it gave.
    last: Mutex<Option<(Instant, TopicLeaders)>>,
}

impl Leaders {
    /// For one topic of a cluster. Nothing is asked yet.
    pub fn new(cluster: Arc<Cluster>, topic: impl Into<String>) -> Leaders {
        Leaders {
            cluster,
            topic: topic.into(),
            last: Mutex::new(None),
        }
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The cluster asked.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The topic, with its id as far as known, and a partition's leader by a look-up that began after `since`
    /// (none: any will do). None where no broker names a leader now.
    pub async fn find(&self, partition: i32, since: Option<Instant>) -> Option<(TopicRef, Leader)> {
        let mut last = self.last.lock().await;
        let fresh = |began: Instant| since.is_none_or(|since| began > since);
        if !last.as_ref().is_some_and(|(began, _)| fresh(*began)) {
            let began = Instant::now();
            *last = self
                .cluster
                .topic_leaders(&self.topic)
                .await
                .map(|leaders| (began, leaders));
        }
        let (_, leaders) = last.as_ref()?;
        let leader = leaders.partitions.get(&partition).copied().flatten()?;
        Some((
            TopicRef {
                name: self.topic.clone(),
                id: leaders.id,
            },
            leader,
        ))
    }
}
