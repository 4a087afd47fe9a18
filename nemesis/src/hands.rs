//! The cluster's own hands: what an administrator's client asks, through any broker that answers, and how it is seen
//! that it was done. The client goes by the observer's link, which is never cut.
//!
//! What is asked is asked again until a broker says that it is done or will not be: an answer that was lost leaves
//! behind what the next attempt finds done already ([`Wish::is_done`]).

use crate::{Kind, NotTaken, Order, Param};
use client::calls::{
    AddVoter, Administered, ConfigResource, CreatePartitions, CreateTopic, DescribedTopic, Election,
    FeatureChange, Layout, QuorumDescription, RemoveVoter, VoterChanged,
};
use client::{Connection, ErrorCode, Options};
use clusters::{Cluster, OBSERVER_DEVICE, RoleKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a wish may take to be done, and to be seen, by native programs: an election of the controllers fits in, and
/// replicas that come must catch up.
const LIMIT: Duration = Duration::from_secs(20);
/// How long a server may take over one request.
pub(crate) const WITHIN: Duration = Duration::from_secs(1);
/// Between two attempts, and between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// The topic that is meant.
pub(crate) const TOPIC: Param = Param {
    name: "topic",
    text: "the topic",
    kind: Kind::Text("night"),
};
/// The partition that is meant.
pub(crate) const PARTITION: Param = Param {
    name: "partition",
    text: "its partition",
    kind: Kind::Number {
        least: 0.0,
        most: 9_999.0,
        default: crate::Default::Is(0.0),
    },
};
/// What every one of these faults measures.
pub(crate) const ASKED: (&str, &str) = (
    "asked_ms",
    "from the first request until a broker said that it is done and committed; absent where nothing was asked",
);
/// And that.
pub(crate) const SEEN: (&str, &str) = ("seen_ms", "from then on until a broker was seen to know it");

const NOT_CONTROLLER: ErrorCode = ErrorCode(41);
const INVALID_PARTITIONS: ErrorCode = ErrorCode(37);
const ELECTION_NOT_NEEDED: ErrorCode = ErrorCode(84);
const NO_REASSIGNMENT_IN_PROGRESS: ErrorCode = ErrorCode(85);
const BROKER_ID_NOT_REGISTERED: ErrorCode = ErrorCode(102);
const DUPLICATE_VOTER: ErrorCode = ErrorCode(126);

/// What is asked.
pub(crate) enum Wish {
    Elect(Election, String, i32),
    /// None cancels what is under way.
    Reassign(String, i32, Option<Vec<i32>>),
    Grow(String, i32),
    Delete(String),
    Create(String, Vec<Vec<i32>>, BTreeMap<String, String>),
    Configure(ConfigResource, BTreeMap<String, Option<String>>),
    Unregister(i32),
    Level(String, i16, FeatureChange),
    AddVoter(AddVoter),
    RemoveVoter(RemoveVoter),
}

impl From<VoterChanged> for Answer {
    fn from(changed: VoterChanged) -> Answer {
        Answer(Administered {
            error: changed.error,
            message: changed.message,
        })
    }
}

/// An answer of whichever kind.
struct Answer(Administered);

impl Wish {
    async fn ask(&self, connection: &mut Connection) -> Result<Administered, client::Error> {
        match self {
            Wish::Elect(election, topic, partition) => {
                connection
                    .elect_leader(*election, topic, *partition, WITHIN)
                    .await
            }
            Wish::Reassign(topic, partition, replicas) => {
                connection
                    .reassign(topic, *partition, replicas.as_deref(), WITHIN)
                    .await
            }
            Wish::Grow(topic, count) => {
                let growth = CreatePartitions {
                    topic: topic.clone(),
                    count: *count,
                    assignment: None,
                    timeout: WITHIN,
                };
                connection.create_partitions(&growth).await
            }
            Wish::Delete(topic) => connection.delete_topic(topic, WITHIN).await,
            Wish::Create(topic, replicas, configs) => {
                let topic = CreateTopic {
                    name: topic.clone(),
                    layout: Layout::Assigned(replicas.clone()),
                    configs: configs.clone(),
                    timeout: WITHIN,
                };
                let created = connection.create_topic(&topic).await?;
                Ok(Administered {
                    error: created.error,
                    message: created.message,
                })
            }
            Wish::Configure(resource, configs) => connection.alter_configs(resource, configs).await,
            Wish::Unregister(broker) => connection.unregister_broker(*broker).await,
            Wish::Level(feature, level, change) => {
                connection.update_feature(feature, *level, *change, WITHIN).await
            }
            Wish::AddVoter(voter) => Ok(Answer::from(connection.add_raft_voter(voter).await?).0),
            Wish::RemoveVoter(voter) => Ok(Answer::from(connection.remove_raft_voter(voter).await?).0),
        }
    }

    /// Whether an answer says that it is done, or was so already.
    fn is_done(&self, answer: ErrorCode) -> bool {
        let already = match self {
            Wish::Elect(..) => Some(ELECTION_NOT_NEEDED),
            Wish::Grow(..) => Some(INVALID_PARTITIONS),
            Wish::Delete(_) => Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            Wish::Create(..) => Some(ErrorCode::TOPIC_ALREADY_EXISTS),
            Wish::Unregister(_) => Some(BROKER_ID_NOT_REGISTERED),
            Wish::Reassign(.., None) => Some(NO_REASSIGNMENT_IN_PROGRESS),
            Wish::AddVoter(_) => Some(DUPLICATE_VOTER),
            Wish::RemoveVoter(_) => Some(ErrorCode::VOTER_NOT_FOUND),
            Wish::Reassign(..) | Wish::Configure(..) | Wish::Level(..) => None,
        };
        answer.is_none() || Some(answer) == already
    }
}

/// Has a wish done; the milliseconds that took.
pub(crate) async fn done(cluster: &Cluster, wish: &Wish) -> Result<f64, NotTaken> {
    let (began, limit) = (Instant::now(), cluster.patience(LIMIT));
    let mut last = "no broker answers".to_string();
    while began.elapsed() < limit {
        for address in brokers(cluster) {
            let answer = match Connection::connect(address, options()).await {
                Ok(mut connection) => wish.ask(&mut connection).await,
                Err(why) => Err(why),
            };
            match answer {
                Ok(answer) if wish.is_done(answer.error) => return Ok(milliseconds(began)),
                // No controller is active at the moment, or it was not heard in time.
                Ok(answer)
                    if matches!(
                        answer.error,
                        NOT_CONTROLLER | ErrorCode::REQUEST_TIMED_OUT | ErrorCode::NOT_LEADER_OR_FOLLOWER
                    ) =>
                {
                    last = format!("{address} says {}", answer.error);
                }
                Ok(answer) => {
                    return Err(NotTaken::NotSeen(format!(
                        "the cluster refuses: {} ({})",
                        answer.error,
                        answer.message.unwrap_or_default()
                    )));
                }
                Err(why) => last = why.to_string(),
            }
        }
        sleep(PAUSE).await;
    }
    Err(NotTaken::NotSeen(format!(
        "it was not done within {limit:?}: {last}"
    )))
}

/// What is looked at.
#[derive(Clone, Copy)]
pub(crate) enum Look<'a> {
    /// A topic.
    Topic(&'a str),
    /// A resource's configuration.
    Config(&'a ConfigResource),
    /// The brokers that are registered.
    Brokers,
    /// The levels of features.
    Levels,
    /// Partitions that are being moved.
    Moves,
    /// The quorum, as the active controller knows it.
    Quorum,
}

/// What was seen.
pub(crate) enum View {
    Topic(DescribedTopic),
    /// The values that the resource has of its own, and those that count there.
    Config(BTreeMap<String, String>, BTreeMap<String, String>),
    /// Each with where it listens and whether it is fenced.
    Brokers(BTreeMap<i32, Listed>),
    Levels(BTreeMap<String, i16>),
    Moves(BTreeSet<(String, i32)>),
    Quorum(QuorumDescription),
}

/// A broker, as a broker lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Its host.
    pub(crate) host: String,
    /// Whether it is fenced.
    pub(crate) fenced: bool,
}

async fn look(connection: &mut Connection, at: Look<'_>) -> Result<View, client::Error> {
    Ok(match at {
        Look::Topic(topic) => View::Topic(connection.describe_topic_partitions(topic).await?),
        Look::Config(resource) => {
            let described = connection.describe_configs(resource).await?.configs;
            let known = described
                .into_iter()
                .filter_map(|(key, config)| Some((key, config.value?, config.is_own)));
            let known: Vec<_> = known.collect();
            let own = known.iter().filter(|(.., is_own)| *is_own);
            View::Config(
                own.map(|(key, value, _)| (key.clone(), value.clone())).collect(),
                known.into_iter().map(|(key, value, _)| (key, value)).collect(),
            )
        }
        Look::Brokers => {
            let brokers = connection.describe_cluster().await?.brokers;
            View::Brokers(
                brokers
                    .iter()
                    .map(|broker| (broker.node, listed(broker)))
                    .collect(),
            )
        }
        Look::Moves => {
            let moves = connection.list_reassignments().await?.ongoing.into_iter();
            View::Moves(moves.map(|it| (it.topic, it.partition)).collect())
        }
        Look::Quorum => View::Quorum(connection.describe_quorum().await?),
        Look::Levels => {
            let features = connection.api_versions().await?.features;
            View::Levels(
                features
                    .into_iter()
                    .map(|(name, range)| (name, range.finalised))
                    .collect(),
            )
        }
    })
}

fn listed(broker: &client::calls::DescribedBroker) -> Listed {
    Listed {
        host: broker.host.clone(),
        fenced: broker.fenced,
    }
}

/// Looks until a broker shows what is waited for; that, and the milliseconds it took.
pub(crate) async fn seen<T>(
    cluster: &Cluster,
    at: Look<'_>,
    what: &str,
    found: impl Fn(&View) -> Option<T>,
) -> Result<(T, f64), NotTaken> {
    seen_by(cluster, None, at, what, found).await
}

/// The same, by a broker other than this one, which may know less of itself than they.
pub(crate) async fn seen_by<T>(
    cluster: &Cluster,
    but: Option<i32>,
    at: Look<'_>,
    what: &str,
    found: impl Fn(&View) -> Option<T>,
) -> Result<(T, f64), NotTaken> {
    seen_within(cluster, (but, LIMIT), at, what, found).await
}

/// The same, within what that limit of native programs is for the system.
async fn seen_within<T>(
    cluster: &Cluster,
    (but, limit): (Option<i32>, Duration),
    at: Look<'_>,
    what: &str,
    found: impl Fn(&View) -> Option<T>,
) -> Result<(T, f64), NotTaken> {
    let (began, limit) = (Instant::now(), cluster.patience(limit));
    while began.elapsed() < limit {
        let others = cluster
            .of_role(RoleKind::Broker)
            .filter(|node| Some(node.id) != but);
        for address in others.map(|node| node.address) {
            let Ok(mut connection) = Connection::connect(address, options()).await else {
                continue;
            };
            if let Ok(view) = look(&mut connection, at).await
                && let Some(found) = found(&view)
            {
                return Ok((found, milliseconds(began)));
            }
        }
        sleep(PAUSE).await;
    }
    Err(NotTaken::NotSeen(format!("{what} was not seen within {limit:?}")))
}

/// A topic as a broker knows it.
pub(crate) async fn topic(cluster: &Cluster, name: &str) -> Result<DescribedTopic, NotTaken> {
    let known = |view: &View| match view {
        View::Topic(topic) if topic.error.is_none() => Some(topic.clone()),
        _ => None,
    };
    let what = format!("the topic {name:?}");
    Ok(seen(cluster, Look::Topic(name), &what, known).await?.0)
}

/// Waits until a broker lists one as unfenced, or not at all any more; the milliseconds that took.
pub(crate) async fn broker_is(cluster: &Cluster, node: i32, there: bool) -> Result<f64, NotTaken> {
    broker_is_within(cluster, node, there, LIMIT).await
}

/// The same, within what that limit of native programs is for the system.
pub(crate) async fn broker_is_within(
    cluster: &Cluster,
    node: i32,
    there: bool,
    limit: Duration,
) -> Result<f64, NotTaken> {
    let is_so = |view: &View| match view {
        View::Brokers(brokers) => {
            let is = brokers.get(&node).map(|broker| broker.fenced);
            (is == there.then_some(false)).then_some(())
        }
        _ => None,
    };
    let what = match there {
        false => format!("a list of brokers without {node}"),
        true => format!("broker {node}, registered and unfenced,"),
    };
    let seen = seen_within(cluster, (None, limit), Look::Brokers, &what, is_so);
    Ok(seen.await?.1)
}

/// The quorum with an active controller, as that one knows it.
pub(crate) async fn quorum<T>(
    cluster: &Cluster,
    what: &str,
    found: impl Fn(&QuorumDescription) -> Option<T>,
) -> Result<(T, f64), NotTaken> {
    let known = |view: &View| match view {
        View::Quorum(quorum) if quorum.error.is_none() && quorum.leader >= 0 => found(quorum),
        _ => None,
    };
    seen(cluster, Look::Quorum, what, known).await
}

/// The order's topic and partition.
pub(crate) fn target(order: &Order) -> (String, i32) {
    // A number within a partition's bounds, by its own.
    (
        order.params.text("topic").to_owned(),
        order.params.number("partition") as i32,
    )
}

fn brokers(cluster: &Cluster) -> impl Iterator<Item = std::net::SocketAddr> + '_ {
    cluster.of_role(RoleKind::Broker).map(|node| node.address)
}

fn options() -> Options {
    Options {
        bind_device: Some(OBSERVER_DEVICE.into()),
        ..Options::default()
    }
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// What orders that are in found, for their heals to restore: by the order's number, which is unique in a run.
pub(crate) struct Found<T>(Mutex<BTreeMap<u64, T>>);

impl<T> Found<T> {
    pub(crate) const fn new() -> Found<T> {
        Found(Mutex::new(BTreeMap::new()))
    }

    pub(crate) fn keep(&self, order: &Order, found: T) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(order.id, found);
    }

    pub(crate) fn take(&self, order: &Order) -> Result<T, NotTaken> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let why = || NotTaken::NotSeen(format!("fault {} is not in", order.id));
        all.remove(&order.id).ok_or_else(why)
    }
}
