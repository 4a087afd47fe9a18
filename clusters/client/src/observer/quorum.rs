//! Who leads the quorum: each controller is asked on a connection of its own, again and again.
//!
//! Only a leader answers DescribeQuorum without an error. Each new pair of leader and epoch goes into the
//! history, also one of a lower epoch than is known: two leaders of one epoch must not pass unseen.

use super::{ATTEMPT_LIMIT, ClusterView};
use crate::calls::QuorumDescription;
use crate::connection::{Connection, Options};
use crate::error::Error;
use history::{Body, Kind, Process, QuorumState, Recorder};
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How often each controller is asked: a new leader is followed this soon, also while the old one still talks.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// A controller that claims, or is said, to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    /// The quorum's epoch.
    pub epoch: i32,
    /// The controller.
    pub leader: i32,
}

/// What the scouts share with the follower.
pub(super) struct Quorum {
    recorder: Arc<Recorder>,
    view: Arc<watch::Sender<ClusterView>>,
    recorded: Mutex<BTreeSet<Claim>>,
    best: watch::Sender<Option<Claim>>,
}

impl Quorum {
    pub(super) fn new(recorder: Arc<Recorder>, view: Arc<watch::Sender<ClusterView>>) -> Arc<Quorum> {
        let (best, _) = watch::channel(None);
        Arc::new(Quorum {
            recorder,
            view,
            recorded: Mutex::default(),
            best,
        })
    }

    /// The claim with the highest epoch so far.
    pub(super) fn best(&self) -> watch::Receiver<Option<Claim>> {
        self.best.subscribe()
    }

    /// Takes a claim in as the place to fetch from, if its epoch is the highest.
    pub(super) fn hear(&self, claim: Claim) {
        self.best.send_if_modified(|best| {
            let newer = best.is_none_or(|best| best.epoch < claim.epoch);
            if newer {
                *best = Some(claim);
            }
            newer
        });
    }

    /// Takes in what a leader says of itself.
    fn answered(&self, description: &QuorumDescription) -> io::Result<()> {
        let claim = Claim {
            epoch: description.epoch,
            leader: description.leader,
        };
        let state = QuorumState {
            leader: description.leader,
            epoch: description.epoch,
            high_watermark: description.high_watermark,
        };
        // A panic under the lock cannot leave a set half-changed.
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.insert(claim) {
            self.recorder
                .record(Process::Observer, Kind::Ok, Body::Quorum(state))?;
        }
        drop(recorded);
        self.view.send_if_modified(|view| {
            let known = view.quorum;
            let newer = (known.epoch, known.high_watermark) < (state.epoch, state.high_watermark);
            if newer {
                view.quorum = state;
            }
            newer
        });
        self.hear(claim);
        Ok(())
    }
}

/// Asks one controller for ever. Ends only where the history cannot be written.
pub(super) async fn scout(quorum: Arc<Quorum>, address: SocketAddr, options: Options) -> io::Error {
    let mut connection = None;
    loop {
        let asked = timeout(ATTEMPT_LIMIT, ask(&mut connection, address, &options)).await;
        // No answer is no news: the follower tells of trouble.
        if let Ok(Ok(description)) = asked
            && description.error.is_none()
            && description.leader >= 0
            && let Err(error) = quorum.answered(&description)
        {
            return error;
        }
        sleep(ASK_EVERY).await;
    }
}

async fn ask(
    connection: &mut Option<Connection>,
    address: SocketAddr,
    options: &Options,
) -> Result<QuorumDescription, Error> {
    let open = match connection.take().filter(Connection::is_open) {
        Some(open) => open,
        None => Connection::connect(address, options.clone()).await?,
    };
    connection.insert(open).describe_quorum().await
}
