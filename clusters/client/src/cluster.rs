//! The brokers of a cluster, and whom they take for the leader.

use crate::calls::TopicMetadata;
use crate::connection::{Connection, Options};
use crate::error::Error;
use crate::ids::TopicId;
use crate::leaders::{Leader, TopicLeaders};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// How long all brokers together may take to say who leads. Short: a cut broker never answers.
const LOOKUP_LIMIT: Duration = Duration::from_millis(500);
/// How long the others may take once one has answered: enough to tell a stale answer from a fresh one.
const LOOKUP_GRACE: Duration = Duration::from_millis(100);

/// A cluster as its clients know it: the addresses of all its brokers.
#[derive(Clone, Debug)]
pub struct Cluster {
    brokers: BTreeMap<i32, SocketAddr>,
    options: Options,
    lookup_limit: Duration,
    lookup_grace: Duration,
}

impl Cluster {
    /// A cluster of these brokers. The addresses are believed before those that brokers advertise.
    pub fn new(brokers: BTreeMap<i32, SocketAddr>, options: Options) -> Cluster {
        Cluster {
            brokers,
            options,
            lookup_limit: LOOKUP_LIMIT,
            lookup_grace: LOOKUP_GRACE,
        }
    }

    /// Waits otherwise for brokers to say who leads: so long for a first answer, so long from it on for the
    /// others. Without this it is half a second and a tenth.
    pub fn with_lookup(self, limit: Duration, grace: Duration) -> Cluster {
        Cluster {
            lookup_limit: limit,
            lookup_grace: grace,
            ..self
        }
    }

    /// The brokers' addresses.
    pub fn brokers(&self) -> &BTreeMap<i32, SocketAddr> {
        &self.brokers
    }

    /// How connections are made.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Connects to an address as this cluster's clients do.
    ///
    /// # Errors
    /// As [`Connection::connect`].
    pub async fn connect(&self, address: SocketAddr) -> Result<Connection, Error> {
        Connection::connect(address, self.options.clone()).await
    }

    /// Connects to whichever broker answers first in the order of their ids.
    ///
    /// # Errors
    /// The last broker's, where none answers; none where there are no brokers.
    pub async fn connect_any(&self) -> Result<Connection, Option<Error>> {
        let mut last = None;
        for address in self.brokers.values() {
            match self.connect(*address).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
        }
        Err(last)
    }

    /// Asks every broker at once who leads a topic's partitions, and takes for each partition the answer with
    /// the highest leader epoch: a broker cut off from the controllers still names the leader it knew last.
    ///
    /// None where no broker knows the topic in time.
    pub async fn topic_leaders(&self, topic: &str) -> Option<TopicLeaders> {
        let mut asked = JoinSet::new();
        for address in self.brokers.values().copied() {
            let (options, topic) = (self.options.clone(), topic.to_owned());
            asked.spawn(async move {
                Connection::connect(address, options)
                    .await?
                    .metadata(&topic)
                    .await
            });
        }
        let mut best = Best::default();
        let mut deadline = Instant::now() + self.lookup_limit;
        while let Ok(Some(answer)) = timeout_at(deadline, asked.join_next()).await {
            // A task of ours that panicked, and a broker that does not answer, both say nothing.
            if let Ok(Ok(metadata)) = answer
                && best.learn(metadata)
            {
                deadline = deadline.min(Instant::now() + self.lookup_grace);
            }
        }
        best.leaders(&self.brokers)
    }
}

/// The best answers so far.
#[derive(Default)]
struct Best {
    id: TopicId,
    id_epoch: Option<i32>,
    partitions: BTreeMap<i32, (i32, Option<i32>)>,
    advertised: BTreeMap<i32, SocketAddr>,
}

impl Best {
    /// Takes an answer in; false where its broker does not know the topic.
    fn learn(&mut self, metadata: TopicMetadata) -> bool {
        if !metadata.topic.error.is_none() {
            return false;
        }
        for broker in metadata.brokers {
            if let (Ok(host), Ok(port)) = (broker.host.parse(), u16::try_from(broker.port)) {
                self.advertised.insert(broker.node, SocketAddr::new(host, port));
            }
        }
        for partition in metadata.topic.partitions {
            // Option's order puts "no leader" below any leader, so a tie goes to the one who names one.
            let said = (
                partition.leader_epoch,
                (partition.leader >= 0).then_some(partition.leader),
            );
            let known = self.partitions.entry(partition.partition).or_insert(said);
            *known = said.max(*known);
            if self.id_epoch.is_none_or(|epoch| epoch < partition.leader_epoch) {
                self.id_epoch = Some(partition.leader_epoch);
                self.id = metadata.topic.id;
            }
        }
        true
    }

    fn leaders(self, bootstrap: &BTreeMap<i32, SocketAddr>) -> Option<TopicLeaders> {
        if self.partitions.is_empty() {
            return None;
        }
        let leader = |epoch, node: Option<i32>| {
            let node = node?;
            let address = bootstrap
                .get(&node)
                .or_else(|| self.advertised.get(&node))
                .copied()?;
            Some(Leader { node, epoch, address })
        };
        let partitions = self
            .partitions
            .iter()
            .map(|(number, (epoch, node))| (*number, leader(*epoch, *node)));
        Some(TopicLeaders {
            id: self.id,
            partitions: partitions.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{MetadataPartition, MetadataTopic};
    use crate::error_code::ErrorCode;

    fn answer(leader: i32, leader_epoch: i32) -> TopicMetadata {
        let partition = MetadataPartition {
            error: ErrorCode::NONE,
            partition: 0,
            leader,
            leader_epoch,
            replicas: vec![0, 1, 2],
            isr: vec![leader],
        };
        TopicMetadata {
            brokers: Vec::new(),
            topic: MetadataTopic {
                error: ErrorCode::NONE,
                id: TopicId::from_u128(9),
                partitions: vec![partition],
            },
        }
    }

    fn best(answers: &[(i32, i32)]) -> Option<Leader> {
        let mut best = Best::default();
        for (leader, epoch) in answers {
            best.learn(answer(*leader, *epoch));
        }
        let bootstrap = (0..3)
            .map(|node| (node, ([127, 0, 0, 1], 9000 + node as u16).into()))
            .collect();
        best.leaders(&bootstrap).unwrap().partitions[&0]
    }

    #[test]
    fn the_highest_epoch_is_believed() {
        assert_eq!(
            best(&[(0, 4), (2, 5), (0, 4)]).map(|leader| (leader.node, leader.epoch)),
            Some((2, 5))
        );
        assert_eq!(best(&[(2, 5), (-1, 5)]).map(|leader| leader.node), Some(2));
    }

    #[test]
    fn no_leader_of_a_higher_epoch_beats_a_leader() {
        assert_eq!(best(&[(0, 4), (-1, 5)]), None);
    }
}
