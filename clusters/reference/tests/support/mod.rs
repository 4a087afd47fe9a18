//! A whole cluster in this process, on the loopback interface: each node a thread with a runtime of its own.
//!
//! Killing a node drops its runtime: its sockets close and nothing is flushed, as with SIGKILL; what it wrote
//! stays in the page cache.
#![allow(dead_code, reason = "each test uses its share")]

pub mod client;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reference::config::Config;
use reference::format::Initial;
use reference::{Failure, format, node};
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

/// How long a state may take to come about.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A folder that goes away.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ackall-reference-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running node.
struct Running {
    stop: watch::Sender<bool>,
    kill: Option<oneshot::Sender<()>>,
    thread: JoinHandle<Option<Result<(), Failure>>>,
}

/// A cluster: controllers 100.., brokers 0...
pub struct Cluster {
    folder: Folder,
    voters: Vec<(i32, SocketAddr)>,
    brokers: Vec<(i32, SocketAddr)>,
    /// Where brokers listen for others than nodes; nowhere where it is empty.
    second: Vec<(i32, SocketAddr)>,
    running: std::collections::BTreeMap<i32, Running>,
    properties: String,
    /// Whether the voters are named in the metadata log, and may change.
    dynamic: bool,
}

impl Cluster {
    fn laid_out(controllers: usize, brokers: usize, properties: &str, dynamic: bool) -> Self {
        let free = |count: usize| {
            let held: Vec<_> = (0..count)
                .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
                .collect();
            held.iter()
                .map(|listener| listener.local_addr().unwrap())
                .collect::<Vec<_>>()
        };
        let addresses = free(controllers + brokers);
        let (first, rest) = addresses.split_at(controllers);
        Self {
            folder: Folder::new(),
            voters: (100..).zip(first.iter().copied()).collect(),
            brokers: (0..).zip(rest.iter().copied()).collect(),
            second: Vec::new(),
            running: Default::default(),
            properties: properties.to_owned(),
            dynamic,
        }
    }

    /// Formats and starts one whose voters may change: the first `voting` controllers vote, the others are
    /// formatted to join, and not started.
    pub fn start_dynamic(voting: usize, spare: usize, brokers: usize, properties: &str) -> Self {
        let mut cluster = Self::laid_out(voting + spare, brokers, properties, true);
        let initial = cluster.voters[..voting]
            .iter()
            .zip(1..)
            .map(|((id, at), number)| {
                format!(
                    "{id}@{at}:{}",
                    storage::format_uuid(Uuid::from_u128((7 << 64) + number))
                )
                .parse()
                .unwrap()
            });
        let initial = Initial::Named(initial.collect());
        let spares: Vec<i32> = cluster.voters[voting..].iter().map(|(id, _)| *id).collect();
        for id in cluster.ids() {
            let initial = match id {
                _ if spares.contains(&id) => Initial::InTheLog,
                100.. => initial.clone(),
                _ => Initial::Unsaid,
            };
            cluster.format_node(id, initial);
            if !spares.contains(&id) {
                cluster.start_node(id);
            }
        }
        cluster
    }

    fn format_node(&self, id: i32, initial: Initial) {
        let mut request = format::Request::new("night", format::features(&[]).unwrap());
        request.initial = initial;
        format::format(&self.config(id), &request).unwrap();
    }

    /// A node that does not run loses its disk, and gets an empty one.
    pub fn replace_disk(&self, id: i32) {
        std::fs::remove_dir_all(self.file(id, "")).unwrap();
        let joins = self.dynamic && id >= 100;
        self.format_node(id, if joins { Initial::InTheLog } else { Initial::Unsaid });
    }

    /// The id of a node's folder.
    pub fn directory(&self, id: i32) -> Uuid {
        let path = self.file(id, storage::meta_properties::FILE_NAME);
        let found = storage::meta_properties::MetaProperties::read(&path).unwrap();
        found.unwrap().directory_id
    }

    /// Formats and starts one.
    pub fn start(controllers: usize, brokers: usize, properties: &str, features: &[&str]) -> Self {
        let cluster = Self::laid_out(controllers, brokers, properties, false);
        cluster.begun(features)
    }

    /// The same, where each broker of `second` listens for others than nodes too, on the listener OUTSIDE.
    pub fn start_with_second(controllers: usize, brokers: usize, second: &[i32]) -> Self {
        let mut cluster = Self::laid_out(controllers, brokers + second.len(), "", false);
        let addresses = cluster
            .brokers
            .split_off(brokers)
            .into_iter()
            .map(|(_, address)| address);
        cluster.second = second.iter().copied().zip(addresses).collect();
        cluster.begun(&[])
    }

    /// A broker's second address.
    pub fn second_address(&self, id: i32) -> Option<SocketAddr> {
        self.second
            .iter()
            .find(|(node, _)| *node == id)
            .map(|(_, address)| *address)
    }

    fn begun(self, features: &[&str]) -> Self {
        let mut cluster = self;
        let features: Vec<String> = features.iter().map(|text| text.to_string()).collect();
        let levels = format::features(&features).unwrap();
        for id in cluster.ids() {
            let request = format::Request::new("night", levels.clone());
            format::format(&cluster.config(id), &request).unwrap();
            cluster.start_node(id);
        }
        cluster
    }

    /// All nodes.
    pub fn ids(&self) -> Vec<i32> {
        self.voters
            .iter()
            .chain(&self.brokers)
            .map(|(id, _)| *id)
            .collect()
    }

    /// The configuration of a node.
    pub fn config(&self, id: i32) -> Config {
        let voters: Vec<String> = self
            .voters
            .iter()
            .map(|(id, address)| match self.dynamic {
                true => address.to_string(),
                false => format!("{id}@{address}"),
            })
            .collect();
        let quorum = match self.dynamic {
            true => "controller.quorum.bootstrap.servers",
            false => "controller.quorum.voters",
        };
        let (role, listener) = if id >= 100 {
            ("controller", "CONTROLLER")
        } else {
            ("broker", "PLAINTEXT")
        };
        let second = match self.second_address(id) {
            Some(address) => format!(",OUTSIDE://{address}"),
            None => String::new(),
        };
        let text = format!(
            "process.roles={role}\nnode.id={id}\n{quorum}={}\nlisteners={listener}://{}{second}\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT\n\
             controller.listener.names=CONTROLLER\nlog.dirs={}\n\
             controller.quorum.election.timeout.ms=300\ncontroller.quorum.fetch.timeout.ms=600\n\
             broker.heartbeat.interval.ms=250\nbroker.session.timeout.ms=1500\nreplica.lag.time.max.ms=1500\n\
             replica.fetch.backoff.ms=100\n{}\n",
            voters.join(","),
            self.address(id),
            self.folder.path().join(id.to_string()).display(),
            self.properties,
        );
        Config::parse("test", &text).unwrap()
    }

    /// Where a node listens.
    pub fn address(&self, id: i32) -> SocketAddr {
        self.voters
            .iter()
            .chain(&self.brokers)
            .find(|(node, _)| *node == id)
            .unwrap()
            .1
    }

    /// A controller that does not run gets another port.
    pub fn move_to_another_port(&mut self, id: i32) {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut all = self.voters.iter_mut();
        all.find(|(node, _)| *node == id).unwrap().1 = free;
    }

    /// The brokers that run.
    pub fn live_brokers(&self) -> Vec<i32> {
        self.running.keys().copied().filter(|id| *id < 100).collect()
    }

    /// Starts a node.
    pub fn start_node(&mut self, id: i32) {
        let config = self.config(id);
        let (stop, stopped) = watch::channel(false);
        let (kill, killed) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                tokio::select! {
                    outcome = node::run(config, stopped) => Some(outcome),
                    _ = killed => None,
                }
            })
        });
        let kill = Some(kill);
        self.running.insert(id, Running { stop, kill, thread });
    }

    /// Ends a node at once.
    pub fn kill(&mut self, id: i32) {
        let mut node = self.running.remove(&id).unwrap();
        let _ = node.kill.take().unwrap().send(());
        assert!(
            node.thread.join().unwrap().is_none(),
            "node {id} had ended by itself"
        );
    }

    /// Has a node stop by itself.
    pub fn stop(&mut self, id: i32) -> Result<(), Failure> {
        let node = self.running.remove(&id).unwrap();
        node.stop.send_replace(true);
        node.thread.join().unwrap().unwrap()
    }

    /// How a node ends by itself, which it does.
    pub fn outcome(&mut self, id: i32) -> Result<(), Failure> {
        let node = self.running.remove(&id).unwrap();
        node.thread.join().unwrap().unwrap()
    }

    /// A file of a node.
    pub fn file(&self, id: i32, name: &str) -> PathBuf {
        self.folder.path().join(id.to_string()).join(name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for id in self.running.keys().copied().collect::<Vec<_>>() {
            let mut node = self.running.remove(&id).unwrap();
            let _ = node.kill.take().unwrap().send(());
            let _ = node.thread.join();
        }
    }
}

/// Waits until there is something.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
