//! A cluster of one system, laid out on the local ground.

use crate::guest::{Beside, is_guest};
use crate::log::{self, LOG};
use crate::lost_records::{Lost, lost};
use crate::system::{Fill, First, Role, System};
use ground::{
    ClockRule, ClockSeen, DiskKind, DiskRule, DiskRuleCounts, DiskSwap, Event, Ground, Limit, LimitSeen,
    LinkCount, LinkRule, Mended, NodeSpec, Policy, Port, PowerCut, Program, Remainder, RuleCounts, Signal,
    Swapped,
};
use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast;

/// The feature whose level says whether voters may change.
pub const KRAFT_VERSION: &str = "kraft.version";
/// The number of the first controller; the others follow. Scenarios name nodes by their numbers, on any system.
pub const FIRST_CONTROLLER: i32 = 100;
/// The number of the first broker; the others follow.
pub const FIRST_BROKER: i32 = 0;
/// Events that may wait for a slow listener: more than a run has processes.
const EVENT_BACKLOG: usize = 1024;
/// Where a node's configuration is, in its home.
pub(crate) const CONFIG: &str = "server.properties";

/// What a node may offer to a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Its processes can be signalled and started.
    Process,
    /// Its links can be cut, and count frames.
    Links,
    /// Its power can be cut: what was not synced is lost.
    Power,
    /// Its share of a resource can be limited.
    Resources(Resource),
    /// Its disk can fail, lie, wait, be damaged or replaced, and counts what it did.
    Disk,
    /// Its clocks can be set apart from the truth, and what its programs are shown can be measured.
    Clock,
    /// It answers a client: the cluster does it by its own hands.
    Client,
}

/// A resource of which a node can be given less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Processor time.
    Cpu,
    /// Memory.
    Memory,
    /// Open files and sockets of a process.
    Descriptors,
}

/// What was done to a node's program, told at once: see [`Cluster::on_program`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramTold {
    /// It was started; its number among the node's programs.
    Started(u32),
    /// It was asked to end by itself.
    StopAsked(u32),
}

/// Who is told of it, with the node's number.
type Listener = Box<dyn Fn(i32, ProgramTold) + Send + Sync>;

/// Which part a node plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoleKind {
    /// A voter of the metadata quorum.
    Controller,
    /// Holds partitions.
    Broker,
}

/// A node of the cluster.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its number.
    pub id: i32,
    /// Its part.
    pub role: RoleKind,
    /// Where it listens.
    pub address: SocketAddr,
    /// Where clients on the host reach it, where they do.
    pub host: Option<SocketAddr>,
    /// Its folder in the run's folder.
    pub home: PathBuf,
}

/// What to lay out.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    /// The run's folder.
    pub run_dir: &'a Path,
    /// The system.
    pub system: System,
    /// How many controllers.
    pub controllers: i32,
    /// How many brokers.
    pub brokers: i32,
    /// The cluster's id, in Kafka's base64 form.
    pub cluster_id: String,
    /// Server properties of each node.
    pub properties: BTreeMap<String, String>,
    /// Feature levels for the format step. With [`KRAFT_VERSION`] of 1 or more the voters of the metadata quorum may
    /// change (KIP-853): the controllers are the first, named in the log, and each node is told whom to ask for them.
    pub features: BTreeMap<String, i16>,
    /// The bug of the system's that is on in every node.
    pub bug: Option<String>,
    /// What each node's disk is.
    pub disk: DiskKind,
}

/// Why something could not be done to a cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ground refused.
    #[error("{0}")]
    Ground(#[from] ground::Error),
    /// A file of the run's folder could not be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The format step of a node failed.
    #[error("formatting the disk of node {node}: the command {how}; its log says: {log}")]
    Format {
        /// The node.
        node: i32,
        /// How it ended.
        how: String,
        /// The end of its log.
        log: String,
    },
    /// A signal was sent, and its effect was not seen.
    #[error("node {node} was sent the signal {signal:?}, and was not seen to follow it")]
    NotSignalled {
        /// The node.
        node: i32,
        /// The signal.
        signal: Signal,
    },
    /// There is no such node.
    #[error("there is no node {0}")]
    NoNode(i32),
    /// A machine that plays this node is in already.
    #[error("a machine beside the cluster's own plays node {0} already")]
    GuestIsIn(i32),
}

/// Has ports of the host's loopback lead to the brokers' listeners for it.
fn lead_in(ground: &Ground, system: &System, nodes: &mut [Node], host_ports: &[u16]) -> Result<(), Error> {
    let Some(host) = &system.broker.host else {
        return Ok(());
    };
    let brokers = nodes.iter_mut().filter(|node| node.role == RoleKind::Broker);
    for ((n, port), node) in host_ports.iter().enumerate().zip(brokers) {
        ground.forward(n, SocketAddr::new(node.address.ip(), host.port))?;
        node.host = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, *port)));
    }
    Ok(())
}

/// Whether features have the voters of the metadata quorum change.
fn may_change(features: &BTreeMap<String, i16>) -> bool {
    features.get(KRAFT_VERSION).is_some_and(|level| *level >= 1)
}

/// The id of a first voter's folder: every node is told those of all, so they are made here.
fn folder_id(node: i32) -> String {
    /// Above Kafka's reserved ids, and of no first letter that command lines would take for an option.
    const FIRST: u128 = 0x61 << 120;
    client::topic_id_text(client::TopicId::from_u128(
        FIRST | u128::from(node.unsigned_abs()),
    ))
}

/// The last lines of a node's log, in one.
pub(crate) fn tail(node: &Node) -> String {
    log::tail(&log::text(&node.home))
}

/// A cluster, laid out: its nodes have homes, addresses and power, and can be started.
pub struct Cluster {
    pub(crate) ground: Ground,
    pub(crate) beside: Beside,
    layout_properties: BTreeMap<String, String>,
    features: BTreeMap<String, i16>,
    bug: Option<String>,
    pub(crate) system: System,
    disk: DiskKind,
    cluster_id: String,
    voters: String,
    /// The first voters with their folders' ids, where they may change.
    first_voters: Option<String>,
    nodes: Vec<Node>,
    starts: Mutex<BTreeMap<i32, u32>>,
    /// The newest start that has ended, of each node.
    ended: Arc<Mutex<BTreeMap<i32, u32>>>,
    /// The newest start that we ended, or asked to end, of each node.
    ended_by_us: Arc<Mutex<BTreeMap<i32, u32>>>,
    told: Mutex<Option<Listener>>,
    events: broadcast::Sender<Event>,
}

impl Cluster {
    /// Makes the nodes' homes, gives them power and writes their configurations. Nothing runs yet.
    ///
    /// # Errors
    /// Where the ground refuses, or the run's folder takes no file.
    pub fn lay_out(ground: Ground, events: Receiver<Event>, layout: Layout<'_>) -> Result<Cluster, Error> {
        Cluster::lay_out_for_host(ground, events, layout, &[])
    }

    /// The same; each of these ports of the host's loopback leads to a broker, in their order. The front has handed the
    /// listeners of them in.
    ///
    /// # Errors
    /// As [`Cluster::lay_out`].
    pub fn lay_out_for_host(
        ground: Ground,
        events: Receiver<Event>,
        layout: Layout<'_>,
        host_ports: &[u16],
    ) -> Result<Cluster, Error> {
        let (sender, _) = broadcast::channel(EVENT_BACKLOG);
        let pump = sender.clone();
        let (guests, _) = broadcast::channel(EVENT_BACKLOG);
        let guests_pump = guests.clone();
        let ended: Arc<Mutex<BTreeMap<i32, u32>>> = Arc::default();
        let ends = ended.clone();
        let ended_by_us: Arc<Mutex<BTreeMap<i32, u32>>> = Arc::default();
        let our_ends = ended_by_us.clone();
        std::thread::spawn(move || {
            // Ends with the ground. Nobody listening is no error: the history has what was seen.
            for event in events {
                if let Event::ProgramEnded { node, start, .. }
                | Event::DiskCrashed {
                    node,
                    start,
                    cut: Some(_),
                    ..
                } = event
                {
                    ends.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(node, start);
                }
                if let Event::DiskCrashed { node, start, .. } = event {
                    our_ends
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(node, start);
                }
                let of_guest = matches!(event, Event::ProgramEnded { node, .. } if is_guest(node));
                let _ = if of_guest {
                    guests_pump.send(event)
                } else {
                    pump.send(event)
                };
            }
        });
        let mut nodes = Vec::new();
        let system = &layout.system;
        let controllers = (FIRST_CONTROLLER, &system.controller, RoleKind::Controller);
        let brokers = (FIRST_BROKER, &system.broker, RoleKind::Broker);
        for ((first, role, kind), count) in [(controllers, layout.controllers), (brokers, layout.brokers)] {
            for id in first..first + count {
                let home = layout.run_dir.join("nodes").join(id.to_string());
                let spec = NodeSpec {
                    disk: layout.disk,
                    id,
                    name: format!("node-{id}"),
                    home: home.clone(),
                    visible: system.installed(),
                };
                let address = ground.add_node(spec)?;
                nodes.push(Node {
                    id,
                    role: kind,
                    address: SocketAddr::from((address, role.port)),
                    host: None,
                    home,
                });
            }
        }
        lead_in(&ground, &layout.system, &mut nodes, host_ports)?;
        let voter = |node: &Node| format!("{}@{}", node.id, node.address);
        let voters: Vec<String> = nodes
            .iter()
            .filter(|node| node.role == RoleKind::Controller)
            .map(voter)
            .collect();
        let first_voters = may_change(&layout.features).then(|| {
            let controllers = nodes.iter().filter(|node| node.role == RoleKind::Controller);
            let first = controllers.map(|node| format!("{}:{}", voter(node), folder_id(node.id)));
            first.collect::<Vec<_>>().join(",")
        });
        let cluster = Cluster {
            ground,
            beside: Beside::new(layout.run_dir.to_owned(), guests),
            layout_properties: layout.properties,
            features: layout.features,
            bug: layout.bug,
            system: layout.system,
            disk: layout.disk,
            cluster_id: layout.cluster_id,
            voters: voters.join(","),
            first_voters,
            nodes,
            starts: Mutex::default(),
            ended,
            ended_by_us,
            told: Mutex::default(),
            events: sender,
        };
        for node in &cluster.nodes {
            cluster.ground.power_on(node.id)?;
            cluster.write_config(node)?;
            cluster.write_files(node)?;
        }
        Ok(cluster)
    }

    /// A node's configuration.
    pub(crate) fn config_text(&self, node: &Node) -> String {
        self.with_fill(node, false, |fill| {
            self.system.config(self.role_of(node.role), fill)
        })
    }

    /// The names and texts of a node's further files.
    pub(crate) fn file_texts(&self, node: &Node) -> Vec<(String, String)> {
        self.with_fill(node, false, |fill| {
            let files = self.system.files.iter();
            files
                .map(|file| (file.name.clone(), self.system.file(file, fill)))
                .collect()
        })
    }

    /// The command that formats a node's disk; of one that joins a quorum that is there, or of one of the first.
    pub(crate) fn format_argv(&self, node: &Node, joins: bool) -> Vec<String> {
        self.with_fill(node, joins, |fill| {
            self.system.format_command(fill, &self.features)
        })
    }

    pub(crate) fn start_argv(&self, node: &Node) -> Vec<String> {
        self.with_fill(node, false, |fill| {
            self.system.start_command(fill, self.bug.as_deref())
        })
    }

    pub(crate) fn role_of(&self, role: RoleKind) -> &Role {
        match role {
            RoleKind::Controller => &self.system.controller,
            RoleKind::Broker => &self.system.broker,
        }
    }

    fn with_fill<T>(&self, node: &Node, joins: bool, with: impl FnOnce(&Fill<'_>) -> T) -> T {
        let std::net::IpAddr::V4(address) = node.address.ip() else {
            unreachable!("the local ground gives IPv4 addresses only")
        };
        with(&Fill {
            cluster_id: &self.cluster_id,
            node_id: node.id,
            address,
            voters: &self.voters,
            first: match &self.first_voters {
                None => First::Fixed,
                Some(_) if joins || node.role == RoleKind::Broker => First::Joins,
                Some(first) => First::Among(first),
            },
            config: &node.home.join(CONFIG),
            home: &node.home,
            disk: &node.home.join("mount"),
            properties: &self.beside.properties(node.id, &self.layout_properties),
            host_port: node.host.map(|host| host.port()),
        })
    }

    /// All that happens to nodes from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes of one role.
    pub fn of_role(&self, role: RoleKind) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| node.role == role)
    }

    /// A node by its number.
    ///
    /// # Errors
    /// Where there is none.
    pub fn node(&self, id: i32) -> Result<&Node, Error> {
        self.nodes
            .iter()
            .find(|node| node.id == id)
            .ok_or(Error::NoNode(id))
    }

    /// Formats every disk, all at once, and waits for the last. Gives the nodes whose disks are empty all the same; of
    /// real disks that is not looked at.
    ///
    /// # Errors
    /// Where a format command cannot be started, fails, or does not end in time.
    pub async fn format(&self) -> Result<Vec<i32>, Error> {
        let all: Vec<&Node> = self.nodes.iter().collect();
        self.format_all(&all).await?;
        self.let_time_pass()
    }

    /// A disk was formatted long before the night that is played, and what that wrote was written back since, whether
    /// the program has synced it or not (StorageTool of Apache Kafka 4 does not sync `bootstrap.checkpoint`, and a node
    /// without that does not start). A real disk syncs itself every few seconds. While the power is off it is seen whose
    /// disks are empty.
    fn let_time_pass(&self) -> Result<Vec<i32>, Error> {
        /// Of no fault.
        const NO_FAULT: u64 = 0;
        if self.disk.mode().is_none() {
            return Ok(Vec::new());
        }
        let ids: Vec<i32> = self.nodes.iter().map(|node| node.id).collect();
        let whole = Policy {
            remainder: Remainder::Everything,
            ..Policy::default()
        };
        self.power_off(&ids, NO_FAULT, whole)?;
        let is_empty =
            |node: &&Node| fs::read_dir(node.home.join("disk")).is_ok_and(|mut names| names.next().is_none());
        let empty = self.nodes.iter().filter(is_empty).map(|node| node.id).collect();
        ids.iter().try_for_each(|id| self.power_on(*id))?;
        Ok(empty)
    }

    async fn format_all(&self, nodes: &[&Node]) -> Result<(), Error> {
        let mut events = self.events();
        for node in nodes {
            self.run(node, self.format_argv(node, false))?;
        }
        let mut waiting: Vec<i32> = nodes.iter().map(|node| node.id).collect();
        let all = async {
            while !waiting.is_empty() {
                let Ok(event) = events.recv().await else { continue };
                let Event::ProgramEnded {
                    node, status, signal, ..
                } = event
                else {
                    continue;
                };
                if !waiting.contains(&node) {
                    continue;
                }
                if status != Some(0) {
                    return Err(self.format_failed(node, log::how_ended(status, signal)));
                }
                waiting.retain(|id| *id != node);
            }
            Ok(())
        };
        let limit = self.format_limit();
        match tokio::time::timeout(limit, all).await {
            Ok(done) => done,
            Err(_) => Err(self.format_failed(waiting[0], format!("did not end within {limit:?}"))),
        }
    }

    /// How long the formatting of all disks may take.
    pub(crate) fn format_limit(&self) -> Duration {
        Duration::from_secs(self.system.format.limit_s.into())
    }

    fn format_failed(&self, node: i32, how: String) -> Error {
        Error::Format {
            node,
            how,
            log: self.log_reason(node),
        }
    }

    /// Starts a node's program; gives its number among the node's programs, and the instant of its exec in
    /// nanoseconds of the monotonic clock.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(&self, id: i32) -> Result<(u32, u64), Error> {
        let node = self.node(id)?;
        self.run(node, self.start_argv(node))
    }

    fn run(&self, node: &Node, argv: Vec<String>) -> Result<(u32, u64), Error> {
        let started = self.run_on(node.id, node, argv)?;
        self.tell(node.id, ProgramTold::Started(started.0));
        Ok(started)
    }

    /// Runs a program on one of the ground's nodes, as this node's.
    pub(crate) fn run_on(&self, host: i32, node: &Node, argv: Vec<String>) -> Result<(u32, u64), Error> {
        let program = Program {
            argv,
            env: self.with_fill(node, false, |fill| self.system.environment(fill)),
            log: node.home.join(LOG),
            cwd: node.home.clone(),
        };
        let started = self.ground.start(host, program)?;
        self.starts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(host, started.start);
        Ok((started.start, started.exec_at_ns))
    }

    /// The number of a node's newest program, among all that it ran; 0 where there was none.
    pub fn last_start(&self, id: i32) -> u32 {
        self.starts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&id)
            .copied()
            .unwrap_or_default()
    }

    /// From now on this is called whenever a node's program was started or is about to be asked to end, by whomever,
    /// in the order of it.
    pub fn on_program(&self, told: impl Fn(i32, ProgramTold) + Send + Sync + 'static) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(told));
    }

    fn tell(&self, node: i32, what: ProgramTold) {
        if let Some(told) = &*self.told.lock().unwrap_or_else(PoisonError::into_inner) {
            told(node, what);
        }
    }

    /// Whether a node's program runs: it was started, and its end has not been seen.
    pub fn runs(&self, id: i32) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        self.last_start(id) > ended.get(&id).copied().unwrap_or_default()
    }

    /// Whether a node's program is gone by our own hand, and not by itself.
    pub fn was_ended(&self, id: i32) -> bool {
        !self.runs(id) && self.was_asked_to_end(id, self.last_start(id))
    }

    /// Whether a node's so many-th program was ended by us, or asked to end.
    pub fn was_asked_to_end(&self, id: i32, start: u32) -> bool {
        let ours = self.ended_by_us.lock().unwrap_or_else(PoisonError::into_inner);
        ours.get(&id).copied().unwrap_or_default() >= start
    }

    fn we_end(&self, id: i32) {
        let start = self.last_start(id);
        let mut ours = self.ended_by_us.lock().unwrap_or_else(PoisonError::into_inner);
        ours.insert(id, start);
    }

    /// Signals a node.
    ///
    /// # Errors
    /// Where the ground refuses, or the signal was not seen to take.
    pub fn signal(&self, id: i32, signal: Signal) -> Result<(), Error> {
        if signal == Signal::Terminate && self.runs(id) {
            self.tell(id, ProgramTold::StopAsked(self.last_start(id)));
        }
        if matches!(signal, Signal::Terminate | Signal::Kill) {
            self.we_end(id);
        }
        match self.ground.signal(id, signal)?.took_at_ns {
            // What a process makes of SIGTERM is its own business.
            None if signal != Signal::Terminate => Err(Error::NotSignalled { node: id, signal }),
            _ => Ok(()),
        }
    }

    /// Cuts the power of some nodes, at one instant; what their disks have left the policy says.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn power_off(&self, ids: &[i32], fault: u64, policy: Policy) -> Result<Vec<PowerCut>, Error> {
        let cuts = self.ground.power_off(ids, fault, policy)?;
        ids.iter().for_each(|id| self.we_end(*id));
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            ended.insert(*id, self.last_start(*id));
        }
        Ok(cuts)
    }

    /// Whether a node has power.
    pub fn has_power(&self, id: i32) -> bool {
        self.ground.namespaces(id).is_ok()
    }

    /// Gives a node power again; it is not started by that.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn power_on(&self, id: i32) -> Result<(), Error> {
        self.ground.power_on(id)?;
        Ok(())
    }

    /// Puts a fault's rule on directed links, at the instant that is returned, in nanoseconds of the monotonic clock;
    /// see [`Ground::set_rule`].
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn set_rule(&self, fault: u64, links: &[(Port, Port)], rule: LinkRule) -> Result<u64, Error> {
        Ok(self.ground.set_rule(fault, links, rule)?)
    }

    /// Takes a fault's rule away; no error where there is none.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn clear_rule(&self, fault: u64) -> Result<u64, Error> {
        Ok(self.ground.clear_rule(fault)?)
    }

    /// What a fault's rule has met and done so far.
    ///
    /// # Errors
    /// Where the fault has no rule.
    pub fn rule_counts(&self, fault: u64) -> Result<RuleCounts, Error> {
        Ok(self.ground.rule_counts(fault)?)
    }

    /// Which of these links have power at both ends, and no rule; in the order asked.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn free_links(&self, links: &[(Port, Port)]) -> Result<Vec<bool>, Error> {
        Ok(self.ground.free_links(links)?)
    }

    /// Puts a fault's rule on a node's clocks, from the instant on that is returned, in nanoseconds of the monotonic
    /// clock; see [`Ground::set_clock`].
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn set_clock(&self, id: i32, fault: u64, rule: ClockRule) -> Result<u64, Error> {
        Ok(self.ground.set_clock(id, fault, rule)?)
    }

    /// Takes a fault's rule off a node's clocks; no error where there is none.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn clear_clock(&self, id: i32, fault: u64) -> Result<u64, Error> {
        Ok(self.ground.clear_clock(id, fault)?)
    }

    /// What the node's processes have said that their clocks show; and asks them to say it again.
    ///
    /// # Errors
    /// Where the node has no power.
    pub fn clock_seen(&self, id: i32) -> Result<ClockSeen, Error> {
        Ok(self.ground.clock_seen(id)?)
    }

    /// Puts a limit on all of a node's processes, and on those of its later programs; see [`Ground::set_limit`].
    ///
    /// # Errors
    /// Where the machine has no means for it, or the ground refuses.
    pub fn set_limit(&self, id: i32, fault: u64, limit: Limit) -> Result<LimitSeen, Error> {
        Ok(self.ground.set_limit(id, fault, limit)?)
    }

    /// Lifts a fault's limit; no error where there is none.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn clear_limit(&self, id: i32, fault: u64) -> Result<(), Error> {
        Ok(self.ground.clear_limit(id, fault)?)
    }

    /// What a fault's limit has met so far.
    ///
    /// # Errors
    /// Where the fault has none.
    pub fn limit_seen(&self, id: i32, fault: u64) -> Result<LimitSeen, Error> {
        Ok(self.ground.limit_seen(id, fault)?)
    }

    /// Puts a fault's rule in force on a node's disk, from the instant on that is returned, in nanoseconds of the
    /// monotonic clock; see [`Ground::set_disk_rule`].
    ///
    /// # Errors
    /// Where the ground refuses, or the node's disk is a real one.
    pub fn set_disk_rule(&self, id: i32, fault: u64, rule: DiskRule) -> Result<u64, Error> {
        Ok(self.ground.set_disk_rule(id, fault, rule)?)
    }

    /// Takes a fault's rule off a node's disk, and mends what it damaged; no error where there is none.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn clear_disk_rule(&self, id: i32, fault: u64) -> Result<Mended, Error> {
        Ok(self.ground.clear_disk_rule(id, fault)?)
    }

    /// What a fault's rule on a node's disk has met and done so far.
    ///
    /// # Errors
    /// Where the fault has none.
    pub fn disk_rule_counts(&self, id: i32, fault: u64) -> Result<DiskRuleCounts, Error> {
        Ok(self.ground.disk_rule_counts(id, fault)?)
    }

    /// Copies a node's disk, or puts another in its place, which wants the node without power.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn swap_disk(&self, id: i32, fault: u64, swap: DiskSwap) -> Result<Swapped, Error> {
        Ok(self.ground.swap_disk(id, fault, swap)?)
    }

    /// Formats the disk of one node that runs no program, and waits for the end of it.
    ///
    /// # Errors
    /// Where the format command cannot be started, fails, or does not end in time.
    pub async fn format_one(&self, id: i32) -> Result<(), Error> {
        self.format_all(&[self.node(id)?]).await
    }

    /// What each directed link carried.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn counters(&self) -> Result<Vec<LinkCount>, Error> {
        Ok(self.ground.counters()?)
    }

    /// Marks directed links, so that the first frame that each delivers from now on is noted; the instant of it, in
    /// nanoseconds of the monotonic clock.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn mark(&self, pairs: &[(Port, Port)]) -> Result<u64, Error> {
        Ok(self.ground.mark(pairs)?)
    }

    /// When each of these links delivered its first frame since it was marked; none where it has not.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn first_frames(&self, pairs: &[(Port, Port)]) -> Result<Vec<Option<u64>>, Error> {
        Ok(self.ground.first_frames(pairs)?)
    }

    /// What a power cut took from a node's disk, and which records, as the disk's ledger and the lost bytes tell.
    ///
    /// # Errors
    /// Where the ledger or the saved bytes cannot be read.
    pub fn lost(&self, id: i32, fault: u64) -> Result<Lost, Error> {
        let home = &self.node(id)?.home;
        lost(home, fault).map_err(|source| Error::File {
            path: home.clone(),
            source,
        })
    }

    /// Where a node's log is.
    pub fn log_path(&self, id: i32) -> Option<PathBuf> {
        self.node(id).ok().map(|node| node.home.join(LOG))
    }

    /// The last lines of a node's log, in one.
    pub fn log_tail(&self, id: i32) -> String {
        self.node(id).map(tail).unwrap_or_default()
    }

    /// Why a node failed, by its own log: the last lines that mean trouble, else the last lines.
    pub fn log_reason(&self, id: i32) -> String {
        self.node(id)
            .map(|node| log::reason(&log::text(&node.home), &self.system.trouble))
            .unwrap_or_default()
    }

    /// Whether each of the nodes has said that it is ready, where the system waits for that.
    pub fn all_said_ready(&self) -> bool {
        let word = &self.system.ready.log;
        let said = |node: &Node| log::text(&node.home).contains(word.as_str());
        word.is_empty() || self.nodes.iter().all(said)
    }

    /// How long that may take on this system which a native program does within `limit`.
    pub fn patience(&self, limit: Duration) -> Duration {
        limit * self.system.limits_times
    }

    /// How long the cluster may take until it serves.
    pub fn ready_limit(&self) -> Duration {
        self.system.ready.limit()
    }

    /// Lines of the nodes' logs that mean trouble: (node, line).
    pub fn trouble(&self) -> Vec<(i32, String)> {
        let mut found = Vec::new();
        for node in &self.nodes {
            let text = log::text(&node.home);
            let bad = |line: &&str| self.system.trouble.iter().any(|pattern| line.contains(pattern));
            found.extend(text.lines().filter(bad).map(|line| (node.id, line.to_string())));
        }
        found
    }
}
