//! The observer: follows `__cluster_metadata` as any consumer may, and writes what was committed into the history.
//!
//! It fetches from the active controller with replica id −1 and the last applied record's epoch, applies only
//! what an answer's high watermark covers, and fetches the rest again: so nothing uncommitted is ever held, and a
//! change of leader has nothing to corrupt. Where the log begins later it reads the leader's snapshot, and tells the
//! stretch that it did not see as a gap. Where the leader's log leaves what was applied, a committed record is gone:
//! that is told, and the leader's log followed. What it cannot read it passes over, and says so.
//!
//! Nothing that a cluster does ends it; only a history that takes no more entries does.

mod change;
mod control;
mod decode;
mod difference;
mod epochs;
mod follow;
mod image;
mod log;
mod quorum;
mod snapshot;
mod view;

pub use view::{BrokerView, ClusterView};

use crate::connection::Options;
use history::Recorder;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// The name of the metadata log's topic.
pub const METADATA_TOPIC: &str = "__cluster_metadata";

/// What to observe, and how to get there.
#[derive(Clone, Debug)]
pub struct ObserverOptions {
    /// The controllers' addresses.
    pub controllers: BTreeMap<i32, SocketAddr>,
    /// The device to go through, `observer` on the local ground.
    pub bind_device: Option<String>,
}

/// Why an observer ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ObserverError {
    /// The history takes no more entries.
    #[error("the history cannot be written: {0}; is the disk full?")]
    Recorder(#[from] io::Error),
    /// A bug of the observer.
    #[error("the observer's task died: {0}")]
    Died(String),
}

/// A running observer. Dropping it stops it too, but then nobody learns of its error.
#[derive(Debug)]
pub struct Observer {
    view: watch::Receiver<ClusterView>,
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), ObserverError>>,
}

impl Observer {
    /// Starts one. It never stops trying until it is told to, and each attempt is bounded to a second.
    pub fn start(options: ObserverOptions, recorder: Arc<Recorder>) -> Observer {
        let (view_sender, view) = watch::channel(ClusterView::default());
        let (stop, mut stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            tokio::select! {
                ended = run(options, recorder, view_sender) => ended,
                // An error means that the handle was dropped.
                _ = stopped.wait_for(|stop| *stop) => Ok(()),
            }
        });
        Observer { view, stop, task }
    }

    /// The live view. Its sender is gone when the observer has ended: waiting on it then fails.
    pub fn view(&self) -> watch::Receiver<ClusterView> {
        self.view.clone()
    }

    /// Whether it has ended by itself; [`Observer::stop`] says why.
    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Stops it, at once.
    ///
    /// # Errors
    /// Why it had ended before, where it had.
    pub async fn stop(self) -> Result<(), ObserverError> {
        // No receiver means that the task has ended, which is what we want.
        let _ = self.stop.send(true);
        self.task
            .await
            .unwrap_or_else(|why| Err(ObserverError::Died(why.to_string())))
    }
}

/// How long an attempt at a controller may take, whatever it does.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(1);
/// How long a connection may take: short, since a cut controller answers nothing.
const CONNECT_LIMIT: Duration = Duration::from_millis(400);
/// How long a controller may let a fetch wait for a record.
const FETCH_WAIT: Duration = Duration::from_millis(400);
/// How long a controller may take for what it can answer at once; with [`FETCH_WAIT`] below [`ATTEMPT_LIMIT`].
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

async fn run(
    options: ObserverOptions,
    recorder: Arc<Recorder>,
    view: watch::Sender<ClusterView>,
) -> Result<(), ObserverError> {
    let controllers = options.controllers;
    let connect = Options {
        connect_timeout: CONNECT_LIMIT,
        request_timeout: ANSWER_LIMIT,
        bind_device: options.bind_device,
        client_id: "ackall-observer".into(),
    };
    let view = Arc::new(view);
    let (watched, mut met) = quorum::Quorum::new(recorder.clone(), view.clone(), controllers);
    let log = log::Log::new(recorder, view.clone());
    let follower = follow::Follower::new(connect.clone(), view, watched.clone(), log);
    let mut scouts = JoinSet::new();
    let mut following = std::pin::pin!(follower.follow());
    loop {
        tokio::select! {
            error = &mut following => return Err(error),
            Some(address) = met.recv() => {
                scouts.spawn(quorum::scout(watched.clone(), address, connect.clone()));
            }
            // A scout ends only where the history cannot be written.
            Some(ended) = scouts.join_next() => return match ended {
                Ok(error) => Err(error.into()),
                Err(died) => Err(ObserverError::Died(died.to_string())),
            },
        }
    }
}
