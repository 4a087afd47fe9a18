//! Following the metadata log.

use super::decode::decode;
use super::image::Image;
use super::quorum::{Claim, Quorum};
use super::{ATTEMPT_LIMIT, ClusterView, FETCH_WAIT, METADATA_TOPIC, ObserverError};
use crate::batch::{Batch, Content};
use crate::calls::{Fetch, Fetched, TopicRef};
use crate::connection::{Connection, Options};
use crate::error::Error;
use crate::ids::TopicId;
use history::{Body, Kind, Process, Recorder};
use std::collections::BTreeMap;
use std::net::SocketAddr;
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
    controllers: BTreeMap<i32, SocketAddr>,
    connect: Options,
    recorder: Arc<Recorder>,
    view: Arc<watch::Sender<ClusterView>>,
    quorum: Arc<Quorum>,
    image: Image,
    /// The offset after the last applied record.
    applied: i64,
    /// The leader epoch of the batch before `applied`.
    applied_epoch: i32,
    high_watermark: Option<i64>,
    connection: Option<(Claim, Connection)>,
}

/// What came of an attempt.
enum Step {
    /// Records were applied.
    Applied,
    /// There was nothing new.
    Nothing,
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

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Passing(error.to_string())
    }
}

impl Follower {
    pub(super) fn new(
        controllers: BTreeMap<i32, SocketAddr>,
        connect: Options,
        recorder: Arc<Recorder>,
        view: Arc<watch::Sender<ClusterView>>,
        quorum: Arc<Quorum>,
    ) -> Follower {
        Follower {
            controllers,
            connect,
            recorder,
            view,
            quorum,
            image: Image::default(),
            applied: 0,
            applied_epoch: 0,
            high_watermark: None,
            connection: None,
        }
    }

    /// Follows for ever; what it gives is why it could not go on.
    pub(super) async fn follow(mut self) -> ObserverError {
        loop {
            let attempt = timeout(ATTEMPT_LIMIT, self.attempt()).await;
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
                Err(Trouble::Passing(why)) => {
                    self.connection = None;
                    self.report(Some(why));
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
        let fetch = Fetch {
            topic: TopicRef {
                name: METADATA_TOPIC.into(),
                id: METADATA_TOPIC_ID,
            },
            partition: 0,
            offset: self.applied,
            current_leader_epoch: claim.epoch,
            last_fetched_epoch: self.applied_epoch,
            known_high_watermark: self.high_watermark,
            max_wait: FETCH_WAIT,
            max_bytes: FETCH_BYTES,
        };
        let mut claims = self.quorum.best();
        let Some((_, connection)) = &mut self.connection else {
            return Err(Trouble::Passing("the connection was closed".into()));
        };
        let fetched = tokio::select! {
            fetched = connection.fetch(&fetch) => fetched?,
            // A later leader is known: what this one still says may stand still.
            _ = claims.wait_for(|best| best.is_some_and(|best| best.epoch > claim.epoch)) => {
                return Err(Trouble::Passing(format!("controller {} leads no more", claim.leader)));
            }
        };
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
        let unknown = || Trouble::Passing("no controller says that it leads".into());
        let claim = best.ok_or_else(unknown)?;
        let address = self.controllers.get(&claim.leader).copied().ok_or_else(unknown)?;
        let connection = Connection::connect(address, self.connect.clone()).await?;
        self.connection = Some((claim, connection));
        Ok(claim)
    }

    fn take(&mut self, claim: Claim, fetched: Fetched) -> Result<Step, Trouble> {
        if let Some(hint) = fetched.current_leader.filter(|hint| hint.node >= 0) {
            self.quorum.hear(Claim {
                epoch: hint.epoch,
                leader: hint.node,
            });
        }
        if let Some(error) = fetched.error.error() {
            let why = format!(
                "controller {} (epoch {}) answers {error}",
                claim.leader, claim.epoch
            );
            return Err(Trouble::Passing(why));
        }
        if let Some(snapshot) = fetched.snapshot {
            let (end_offset, applied) = (snapshot.end_offset, self.applied);
            return Err(ObserverError::Snapshot { end_offset, applied }.into());
        }
        if let Some(diverging) = fetched.diverging {
            return Err(Trouble::Fatal(ObserverError::Diverged {
                leader: claim.leader,
                epoch: claim.epoch,
                end_offset: diverging.end_offset,
                applied: self.applied,
            }));
        }
        self.high_watermark = Some(fetched.high_watermark);
        let before = self.applied;
        for batch in fetched.batches {
            if batch.last_offset < self.applied {
                continue;
            }
            // A batch takes effect as a whole: it is committed when its last record is.
            if batch.last_offset >= fetched.high_watermark {
                break;
            }
            self.apply(batch)?;
        }
        Ok(if self.applied > before {
            Step::Applied
        } else {
            Step::Nothing
        })
    }

    /// Applies a committed batch: into the history record by record, into the view at once.
    fn apply(&mut self, batch: Batch) -> Result<(), Trouble> {
        if batch.base_offset > self.applied {
            let why = format!(
                "the log jumps from offset {} to {}",
                self.applied, batch.base_offset
            );
            return Err(ObserverError::Record {
                offset: self.applied,
                why,
            }
            .into());
        }
        let records = match batch.content {
            Content::Records(records) => records,
            Content::Control(_) => Vec::new(),
            Content::Corrupt(why) => {
                // The bytes may have been hurt on their way: asked again, they come whole or stay in the view.
                return Err(Trouble::Passing(format!(
                    "the batch at {} is corrupt: {why}",
                    batch.base_offset
                )));
            }
        };
        let mut seen: Vec<Body> = Vec::new();
        for (offset, value) in records.into_iter().filter(|(offset, _)| *offset >= self.applied) {
            let place = history::LogPlace::of(offset, batch.base_offset);
            let change = decode(&value.unwrap_or_default());
            let told = change.and_then(|change| self.image.apply(change, place));
            seen.extend(told.map_err(|why| ObserverError::Record { offset, why })?);
        }
        for body in &seen {
            self.recorder
                .record(Process::Observer, Kind::Ok, body.clone())
                .map_err(ObserverError::from)?;
        }
        self.applied = batch.last_offset + 1;
        self.applied_epoch = batch.leader_epoch;
        self.view.send_modify(|view| {
            seen.iter().for_each(|body| view.take(body));
            view.applied = self.applied;
        });
        Ok(())
    }
}
