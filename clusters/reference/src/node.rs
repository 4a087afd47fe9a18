//! A node as a process: its folder checked, its signals heard, its role played.

use std::fs::{File, TryLockError};
use std::sync::Arc;

use storage::meta_properties::{self, MetaProperties};
use tokio::net::TcpSocket;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::api::Catalogue;
use crate::config::{Config, Listener, Role};
use crate::diary::{info, warning};
use crate::failure::Failure;
use crate::net::server::{self, Incoming};
use crate::{broker, controller_node};

/// What the node's folder says: whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The cluster.
    pub cluster_id: String,
    /// The folder's own id.
    pub directory_id: Uuid,
}

impl Home {
    fn read(config: &Config) -> Result<Self, Failure> {
        let path = config.log_dir.join(meta_properties::FILE_NAME);
        let what = format!(
            "Cannot start node {} in {}.",
            config.node_id,
            config.log_dir.display()
        );
        let format_first = "Run `ackall node format --config FILE --cluster-id ID` first.";
        match MetaProperties::read(&path) {
            Err(error) => Err(Failure::other(
                what,
                error.to_string(),
                "Restore the file, or format an empty folder.",
            )),
            Ok(None) => Err(Failure::other(what, "The folder is not formatted.", format_first)),
            Ok(Some(found)) if found.node_id != config.node_id => Err(Failure::other(
                what,
                format!("The folder is that of node {}.", found.node_id),
                "Correct node.id or log.dirs.",
            )),
            Ok(Some(found)) => Ok(Self {
                cluster_id: found.cluster_id,
                directory_id: found.directory_id,
            }),
        }
    }
}

/// Runs a node until SIGTERM or SIGINT has stopped it.
///
/// # Errors
/// When it cannot start, or its disk refuses.
pub fn start(config: Config) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::other("Cannot start.", error.to_string(), "Free descriptors or memory."))?;
    let outcome = runtime.block_on(async {
        let (stop, stopped) = watch::channel(false);
        let signals = signals(stop)?;
        let outcome = run(config, stopped).await;
        signals.abort();
        outcome
    });
    // Requests to other nodes may still be under way; nobody waits for them.
    runtime.shutdown_background();
    outcome
}

/// Runs a node until `stop` becomes true.
///
/// # Errors
/// When it cannot start, or its disk refuses.
pub async fn run(config: Config, stop: watch::Receiver<bool>) -> Result<(), Failure> {
    let home = Home::read(&config)?;
    let _lock = lock(&config)?;
    info!(
        "node {} of cluster {} starts as {:?}",
        config.node_id, home.cluster_id, config.role
    );
    if let Some(bug) = config.bug {
        warning!("BUG {bug} IS SWITCHED ON: this node is broken on purpose");
    }
    match config.role {
        Role::Controller => controller_node::run(config, home, stop).await,
        Role::Broker => broker::run(config, home, stop).await,
    }
}

/// Takes the folder for this process alone, until what is returned is dropped or the process ends, however.
/// The folder itself is what is locked, so that nothing is written.
fn lock(config: &Config) -> Result<File, Failure> {
    let failed = |why: String, next: &str| {
        let folder = config.log_dir.display();
        Failure::other(
            format!("Cannot start node {} in {folder}.", config.node_id),
            why,
            next,
        )
    };
    let folder =
        File::open(&config.log_dir).map_err(|error| failed(error.to_string(), "Correct log.dirs."))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(failed(
            "Another process runs in this folder.".into(),
            "Stop that one first, or name another folder in log.dirs.",
        )),
        Err(TryLockError::Error(error)) => Err(failed(
            format!("The folder cannot be locked: {error}."),
            "Use a file system that has locks.",
        )),
    }
}

fn signals(stop: watch::Sender<bool>) -> Result<JoinHandle<()>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::other(
            "Cannot listen for signals.",
            error.to_string(),
            "Free descriptors.",
        )
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    Ok(tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.send_replace(true);
        // The sender must live as long as somebody listens.
        stop.closed().await;
    }))
}

/// The node's addresses, held from the start on, so that nobody else has them.
#[derive(Debug)]
pub struct Door {
    bound: Vec<Bound>,
}

/// One listener's address.
#[derive(Debug)]
struct Bound {
    socket: TcpSocket,
    name: Arc<str>,
    address: String,
}

/// Listeners that are served.
#[derive(Debug)]
pub struct Serving(Vec<JoinHandle<()>>);

impl Serving {
    /// Takes no new connection from now on.
    pub fn abort(&self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl Door {
    /// Binds the addresses. Until [`Door::open`] whoever connects is refused, and knows that nothing was taken.
    ///
    /// # Errors
    /// When one of them cannot be had.
    pub fn hold(config: &Config) -> Result<Self, Failure> {
        let more = config.more_listeners.iter().map(|more| &more.listener);
        let bound = [&config.listener].into_iter().chain(more).map(Bound::hold);
        let bound = bound.collect::<Result<_, _>>()?;
        Ok(Self { bound })
    }

    /// Serves whoever connects.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open<E>(self, catalogue: Catalogue, core: mpsc::UnboundedSender<E>) -> Result<Serving, Failure>
    where
        E: From<Incoming> + Send + 'static,
    {
        let mut serving = Vec::new();
        for Bound {
            socket,
            name,
            address,
        } in self.bound
        {
            let listener = socket
                .listen(BACKLOG)
                .map_err(|error| not_listening(&address, &error))?;
            info!("listens on {name}://{address}");
            serving.push(tokio::spawn(server::serve(
                listener,
                name,
                catalogue,
                core.clone(),
            )));
        }
        Ok(Serving(serving))
    }
}

impl Bound {
    fn hold(listener: &Listener) -> Result<Self, Failure> {
        let address = format!("{}:{}", listener.host, listener.port);
        match bind(listener) {
            Ok(socket) => Ok(Self {
                socket,
                name: listener.name.as_str().into(),
                address,
            }),
            Err(error) => Err(not_listening(&address, &error)),
        }
    }
}

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;

fn bind(listener: &Listener) -> std::io::Result<TcpSocket> {
    let address = listener.address()?;
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Connections of the node's last life may linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

fn not_listening(address: &str, error: &std::io::Error) -> Failure {
    Failure::other(
        format!("Cannot listen on {address}."),
        error.to_string(),
        "Correct listeners, or stop what holds the address.",
    )
}
