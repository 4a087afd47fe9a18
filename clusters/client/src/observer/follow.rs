//! Following the metadata log: whom to ask, what for, and what to do with the answer.

use super::log::{Log, Refused};
use super::quorum::{Claim, Quorum};
use super::snapshot::Download;
use super::{ATTEMPT_LIMIT, ClusterView, FETCH_WAIT, METADATA_TOPIC, ObserverError};
use crate::ErrorCode;
use crate::calls::{CurrentLeader, Fetch, FetchSnapshot, Fetched, FetchedSnapshot, NodeEndpoint, TopicRef};
use crate::connection::{Connection, Options};
use crate::error::Error;
use crate::ids::TopicId;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// The metadata topic's id, the same in every cluster.
const METADATA_TOPIC_ID: TopicId = TopicId::from_u128(1);
/// How much a fetch asks for: a controller's own limit for its followers.
const FETCH_BYTES: i32 = 1 << 20;
/// The pause after an answer that brought nothing: what it held was not committed yet.
const UNCOMMITTED_PAUSE: Duration = Duration::from_millis(5);
/// The pause after a failure: long enough not to flood a cluster in an election.
const TROUBLE_PAUSE: Duration = Duration::from_millis(50);

/// Follows the log from its start.
pub(super) struct Follower {
    connect: Options,
    view: Arc<watch::Sender<ClusterView>>,
    quorum: Arc<Quorum>,
    log: Log,
    high_watermark: Option<i64>,
    connection: Option<(Claim, Connection)>,
    /// A snapshot that is being read, from the leader of that claim: another's bytes may differ.
    download: Option<(Claim, Download)>,
}

/// What came of an attempt.
enum Step {
    /// The log went on.
    Applied,
    /// There was nothing new.
    Nothing,
    /// A later leader is known than the one that was asked.
    Moved,
}

/// Why an attempt failed.
enum Trouble {
    /// Try again, perhaps elsewhere.
    Passing(String),
    /// Give up.
    Fatal(ObserverError),
}

impl From<ObserverError> for Trouble {
    fn from(error: ObserverError) -> Self {
        Trouble::Fatal(error)
    }
}

impl From<Refused> for Trouble {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Passing(why) => Trouble::Passing(why),
            Refused::Fatal(error) => Trouble::Fatal(error),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Passing(error.to_string())
    }
}

impl Follower {
    pub(super) fn new(
        connect: Options,
        view: Arc<watch::Sender<ClusterView>>,
        quorum: Arc<Quorum>,
        log: Log,
    ) -> Follower {
        Follower {
            connect,
            view,
            quorum,
            log,
            high_watermark: None,
            connection: None,
            download: None,
        }
    }

    /// Follows for ever; what it gives is why it could not go on.
    pub(super) async fn follow(mut self) -> ObserverError {
        let mut claims = self.quorum.best();
        loop {
            let followed = *claims.borrow_and_update();
            let attempt = tokio::select! {
                attempt = timeout(ATTEMPT_LIMIT, self.attempt()) => attempt,
                // What the one that is asked still says may stand still, or never come.
                _ = claims.wait_for(|best| *best > followed) => Ok(Ok(Step::Moved)),
            };
            let late = |_| {
                Err(Trouble::Passing(format!(
                    "no controller answered within {ATTEMPT_LIMIT:?}"
                )))
            };
            match attempt.unwrap_or_else(late) {
                Ok(Step::Applied) => self.report(None),
                Ok(Step::Nothing) => {
                    self.report(None);
                    sleep(UNCOMMITTED_PAUSE).await;
                }
                Ok(Step::Moved) => self.connection = None,
                Err(Trouble::Passing(why)) => {
                    self.connection = None;
                    self.report(Some(why));
                    self.quorum.look_around();
                    sleep(TROUBLE_PAUSE).await;
                }
                Err(Trouble::Fatal(error)) => return error,
            }
        }
    }

    fn report(&self, trouble: Option<String>) {
        self.view.send_if_modified(|view| {
            let changed = view.trouble != trouble;
            view.trouble = trouble;
            changed
        });
    }

    async fn attempt(&mut self) -> Result<Step, Trouble> {
        let claim = self.connected().await?;
        let Some((_, connection)) = &mut self.connection else {
            return Err(Trouble::Passing("the connection was closed".into()));
        };
        // Begun at another leader, it begins again.
        self.download.take_if(|(from, _)| *from != claim);
        if let Some((_, download)) = &self.download {
            let asked = FetchSnapshot {
                id: download.id(),
                current_leader_epoch: claim.epoch,
                position: download.position(),
                max_bytes: FETCH_BYTES,
            };
            let part = connection.fetch_snapshot(&asked).await?;
            return self.take_part(claim, &part);
        }
        let fetch = Fetch {
            topic: TopicRef {
                name: METADATA_TOPIC.into(),
                id: METADATA_TOPIC_ID,
            },
            partition: 0,
            offset: self.log.offset(),
            current_leader_epoch: claim.epoch,
            last_fetched_epoch: self.log.last_epoch(),
            known_high_watermark: self.high_watermark,
            max_wait: FETCH_WAIT,
            max_bytes: FETCH_BYTES,
        };
        let fetched = connection.fetch(&fetch).await?;
        self.take(claim, fetched)
    }

    /// Makes sure of a connection to the leader of the highest epoch known.
    async fn connected(&mut self) -> Result<Claim, Trouble> {
        let best = *self.quorum.best().borrow();
        if let Some((claim, connection)) = &self.connection
            && connection.is_open()
            && best == Some(*claim)
        {
            return Ok(*claim);
        }
        self.connection = None;
        let claim = best.ok_or_else(|| Trouble::Passing("no controller says that it leads".into()))?;
        let address = self.quorum.address(claim.leader).ok_or_else(|| {
            Trouble::Passing(format!(
                "controller {} leads, and no address of it is known",
                claim.leader
            ))
        })?;
        let connection = Connection::connect(address, self.connect.clone()).await?;
        self.connection = Some((claim, connection));
        Ok(claim)
    }

    fn take(&mut self, claim: Claim, fetched: Fetched) -> Result<Step, Trouble> {
        self.hear(fetched.current_leader, &fetched.endpoints);
        refused(claim, fetched.error)?;
        if let Some(id) = fetched.snapshot {
            self.log.wants(claim, id)?;
            self.download = Some((claim, Download::new(id)));
            return Ok(Step::Applied);
        }
        if let Some(diverging) = fetched.diverging {
            self.log.diverges(claim, diverging)?;
            return Ok(Step::Applied);
        }
        self.high_watermark = Some(fetched.high_watermark);
        Ok(match self.log.read(fetched.batches, fetched.high_watermark)? {
            true => Step::Applied,
            false => Step::Nothing,
        })
    }

    /// Takes a part of a snapshot. Whatever is wrong with it, the log is asked again: it names a newer one where this
    /// one was deleted.
    fn take_part(&mut self, claim: Claim, part: &FetchedSnapshot) -> Result<Step, Trouble> {
        let Some((_, mut download)) = self.download.take() else {
            return Ok(Step::Nothing);
        };
        self.hear(part.current_leader, &part.endpoints);
        refused(claim, part.error)?;
        let id = download.id();
        match download.take(part) {
            Err(why) => {
                return Err(Trouble::Passing(format!(
                    "controller {} sends a snapshot (end {}, epoch {}) that cannot be used: {why}",
                    claim.leader, id.end_offset, id.epoch
                )));
            }
            Ok(Some(batches)) => self.log.load(id, &batches)?,
            Ok(None) => self.download = Some((claim, download)),
        }
        Ok(Step::Applied)
    }

    fn hear(&self, leader: Option<CurrentLeader>, endpoints: &[NodeEndpoint]) {
        for end in endpoints {
            self.quorum.meet(end.node, &end.host, end.port);
        }
        if let Some(leader) = leader.filter(|leader| leader.node >= 0) {
            self.quorum.hear(Claim {
                epoch: leader.epoch,
                leader: leader.node,
            });
        }
    }
}

fn refused(claim: Claim, error: ErrorCode) -> Result<(), Trouble> {
    let Some(error) = error.error() else { return Ok(()) };
    Err(Trouble::Passing(format!(
        "controller {} (epoch {}) answers {error}",
        claim.leader, claim.epoch
    )))
}
