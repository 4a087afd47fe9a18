//! Who leads the quorum: each controller is asked on a connection of its own, again and again, and at once where the
//! follower is in trouble. One that hangs holds up nobody else. Controllers that joined later are learnt of from the
//! addresses that answers name.
//!
//! Only a leader answers DescribeQuorum without an error. Each new pair of leader and epoch goes into the
//! history, also one of a lower epoch than is known: two leaders of one epoch must not pass unseen.

use super::{ATTEMPT_LIMIT, ClusterView};
use crate::calls::QuorumDescription;
use crate::connection::{Connection, Options};
use crate::error::Error;
use history::{Body, Kind, Process, QuorumState, Recorder};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::timeout;

/// How often each controller is asked: a new leader is followed this soon, also while the old one still talks.
const ASK_EVERY: Duration = Duration::from_millis(200);
/// So many controllers are asked at most; the ids in answers are the servers' to make up.
const CONTROLLERS_MAX: usize = 100;

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
    controllers: Mutex<BTreeMap<i32, SocketAddr>>,
    /// Controllers that were not known before: each is to have a scout.
    met: mpsc::UnboundedSender<SocketAddr>,
    look: Notify,
}

impl Quorum {
    /// Knows these controllers; gives the addresses of those and of all that it learns of later.
    pub(super) fn new(
        recorder: Arc<Recorder>,
        view: Arc<watch::Sender<ClusterView>>,
        controllers: BTreeMap<i32, SocketAddr>,
    ) -> (Arc<Quorum>, mpsc::UnboundedReceiver<SocketAddr>) {
        let (best, _) = watch::channel(None);
        let (met, scouted) = mpsc::unbounded_channel();
        for address in controllers.values().copied() {
            // It cannot be closed: its receiver is here.
            let _ = met.send(address);
        }
        let quorum = Arc::new(Quorum {
            recorder,
            view,
            recorded: Mutex::default(),
            best,
            controllers: Mutex::new(controllers),
            met,
            look: Notify::new(),
        });
        (quorum, scouted)
    }

    /// Where a controller listens.
    pub(super) fn address(&self, controller: i32) -> Option<SocketAddr> {
        let controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
        controllers.get(&controller).copied()
    }

    /// An answer names a controller's address. Addresses that are known are believed before it; names that would have
    /// to be looked up are not.
    pub(super) fn meet(&self, controller: i32, host: &str, port: impl TryInto<u16>) {
        let (Ok(host), Ok(port)) = (host.parse::<IpAddr>(), port.try_into()) else {
            return;
        };
        let mut controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
        if controllers.len() < CONTROLLERS_MAX && !controllers.contains_key(&controller) {
            let address = SocketAddr::new(host, port);
            controllers.insert(controller, address);
            // Closed where the observer ends.
            let _ = self.met.send(address);
        }
    }

    /// Asks all controllers now.
    pub(super) fn look_around(&self) {
        self.look.notify_waiters();
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
        if let Ok(Ok(description)) = asked {
            for node in &description.nodes {
                for listener in &node.listeners {
                    quorum.meet(node.node, &listener.host, listener.port);
                }
            }
            if description.error.is_none()
                && description.leader >= 0
                && let Err(error) = quorum.answered(&description)
            {
                return error;
            }
        }
        // Asked for, or in time: either way it is time to ask.
        let _ = timeout(ASK_EVERY, quorum.look.notified()).await;
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
