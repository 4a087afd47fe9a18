//! Machines beside the cluster's own, which a fault brings in and takes away: a second process with a node's number, a
//! controller or a broker that is new. What a run knows of nodes, and tells of them, is not of these: their links are
//! whole, their ends are nobody's news.

use crate::cluster::{CONFIG, Cluster, Error, Node, RoleKind};
use crate::log::how_ended;
use ground::{DiskKind, Event, NodeSpec, Policy, Port, Signal};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tokio::sync::broadcast;

/// The ground's number of the first of them; a cluster's nodes have lower ones.
const FIRST: i32 = 10_000;

/// Whether a number of the ground's is that of a guest.
pub(crate) fn is_guest(host: i32) -> bool {
    host >= FIRST
}

/// A machine beside the cluster's own.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its number on the ground: [`Port::Node`] of it are its links.
    pub host: i32,
    /// The node that it plays: its number, its part, its own address and home.
    pub node: Node,
}

/// What a cluster knows beside its nodes.
pub(crate) struct Beside {
    run_dir: PathBuf,
    guests: Mutex<Vec<(Guest, bool)>>,
    events: broadcast::Sender<Event>,
    /// Properties that faults have set: the node, the fault, the key and its value. The latest counts.
    properties: Mutex<Vec<(i32, u64, String, String)>>,
}

impl Beside {
    pub(crate) fn new(run_dir: PathBuf, events: broadcast::Sender<Event>) -> Beside {
        Beside {
            run_dir,
            guests: Mutex::default(),
            events,
            properties: Mutex::default(),
        }
    }

    /// A node's properties: the layout's, and over them those that faults have set.
    pub(crate) fn properties(&self, id: i32, of_all: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut all = of_all.clone();
        let set = self.properties.lock().unwrap_or_else(PoisonError::into_inner);
        let set = set.iter().filter(|(node, ..)| *node == id);
        all.extend(set.map(|(_, _, key, value)| (key.clone(), value.clone())));
        all
    }
}

impl Cluster {
    /// Brings a machine in that plays this node: with a disk of its own, formatted, and power. One that did before and
    /// was dismissed comes back, with what its disk has.
    ///
    /// # Errors
    /// Where one is in already that plays it, the ground has no room, or the format step fails.
    pub async fn invite(&self, node_id: i32, role: RoleKind) -> Result<Guest, Error> {
        let known = {
            let mut guests = self.guests();
            let found = guests.iter_mut().find(|(guest, _)| guest.node.id == node_id);
            match found {
                Some((_, true)) => return Err(Error::GuestIsIn(node_id)),
                Some((guest, is_in)) => {
                    *is_in = true;
                    Some(guest.clone())
                }
                None => None,
            }
        };
        if let Some(guest) = known {
            self.ground.power_on(guest.host)?;
            return Ok(guest);
        }
        let guest = self.new_guest(node_id, role)?;
        self.guests().push((guest.clone(), true));
        self.ground.power_on(guest.host)?;
        self.write_config(&guest.node)?;
        self.write_files(&guest.node)?;
        self.format_guest(&guest).await?;
        Ok(guest)
    }

    /// Brings a machine in that plays a node whose number nobody has.
    ///
    /// # Errors
    /// As [`Cluster::invite`].
    pub async fn invite_new(&self, role: RoleKind) -> Result<Guest, Error> {
        let highest = self.of_role(role).map(|node| node.id).max().unwrap_or_default();
        let taken: Vec<i32> = self
            .guests()
            .iter()
            .filter(|(_, is_in)| *is_in)
            .map(|(guest, _)| guest.node.id)
            .collect();
        let free = (highest + 1..FIRST).find(|id| !taken.contains(id) && self.node(*id).is_err());
        self.invite(free.unwrap_or(highest + 1), role).await
    }

    fn new_guest(&self, node_id: i32, role: RoleKind) -> Result<Guest, Error> {
        let n = self.guests().len();
        // As many as the ground has ports, so few.
        let host = FIRST + n as i32;
        let home = self.beside.run_dir.join("guests").join(n.to_string());
        let spec = NodeSpec {
            disk: DiskKind::Fuse,
            id: host,
            name: format!("guest-{n}"),
            home: home.clone(),
            visible: self.system.installed(),
        };
        let address = self.ground.add_node(spec)?;
        let port = self.role_of(role).port;
        Ok(Guest {
            host,
            node: Node {
                id: node_id,
                role,
                address: SocketAddr::from((address, port)),
                host: None,
                home,
            },
        })
    }

    async fn format_guest(&self, guest: &Guest) -> Result<(), Error> {
        let mut events = self.beside.events.subscribe();
        let argv = self.format_argv(&guest.node, true);
        self.run_on(guest.host, &guest.node, argv)?;
        let end = async {
            loop {
                match events.recv().await {
                    Ok(Event::ProgramEnded {
                        node, status, signal, ..
                    }) if node == guest.host => return (status, signal),
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return (None, None),
                }
            }
        };
        let limit = self.format_limit();
        let how = match tokio::time::timeout(limit, end).await {
            Ok((Some(0), _)) => return Ok(()),
            Ok((status, signal)) => how_ended(status, signal),
            Err(_) => format!("did not end within {limit:?}"),
        };
        Err(Error::Format {
            node: guest.node.id,
            how,
            log: self.guest_log_tail(guest),
        })
    }

    /// Starts a guest's program, as the node's that it plays.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start_guest(&self, guest: &Guest) -> Result<(), Error> {
        let argv = self.start_argv(&guest.node);
        self.run_on(guest.host, &guest.node, argv)?;
        Ok(())
    }

    /// Asks a guest's program to end by itself.
    ///
    /// # Errors
    /// Where it runs none.
    pub fn stop_guest(&self, guest: &Guest) -> Result<(), Error> {
        self.ground.signal(guest.host, Signal::Terminate)?;
        Ok(())
    }

    /// Whether a guest's program runs.
    pub fn guest_runs(&self, guest: &Guest) -> bool {
        self.runs(guest.host)
    }

    /// Takes a guest away: its power goes, and exactly its processes with it.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn dismiss(&self, guest: &Guest, fault: u64) -> Result<(), Error> {
        self.power_off(&[guest.host], fault, Policy::default())?;
        for (known, is_in) in self.guests().iter_mut() {
            *is_in &= known.host != guest.host;
        }
        Ok(())
    }

    /// Frames that a guest has sent to the cluster's nodes, and were delivered.
    ///
    /// # Errors
    /// Where the ground refuses.
    pub fn guest_frames(&self, guest: &Guest) -> Result<u64, Error> {
        let to_nodes = |to: &Port| matches!(to, Port::Node(id) if !is_guest(*id));
        let counts = self.counters()?.into_iter();
        let of_it = counts.filter(|count| count.from == Port::Node(guest.host) && to_nodes(&count.to));
        Ok(of_it.map(|count| count.passed).sum())
    }

    /// The last lines of a guest's log, in one.
    pub fn guest_log_tail(&self, guest: &Guest) -> String {
        crate::cluster::tail(&guest.node)
    }

    /// From a node's next start on it has this property; one that another fault sets later counts before it.
    ///
    /// # Errors
    /// Where there is no such node, or its configuration cannot be written.
    pub fn set_property(&self, id: i32, fault: u64, key: &str, value: &str) -> Result<(), Error> {
        let node = self.node(id)?.clone();
        let set = (id, fault, key.to_owned(), value.to_owned());
        let all = &self.beside.properties;
        all.lock().unwrap_or_else(PoisonError::into_inner).push(set);
        self.write_config(&node)
    }

    /// From a node's next start on it has no property of this fault's any more; no error where it has none.
    ///
    /// # Errors
    /// As [`Cluster::set_property`].
    pub fn clear_property(&self, id: i32, fault: u64) -> Result<(), Error> {
        let node = self.node(id)?.clone();
        let is_others = |(of, by, ..): &(i32, u64, String, String)| *of != id || *by != fault;
        let all = &self.beside.properties;
        all.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(is_others);
        self.write_config(&node)
    }

    fn guests(&self) -> std::sync::MutexGuard<'_, Vec<(Guest, bool)>> {
        self.beside.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a node's configuration: read when its program starts.
    pub(crate) fn write_config(&self, node: &Node) -> Result<(), Error> {
        write_home(node, CONFIG, &self.config_text(node))
    }

    /// Writes a node's further files.
    pub(crate) fn write_files(&self, node: &Node) -> Result<(), Error> {
        let mut files = self.file_texts(node).into_iter();
        files.try_for_each(|(name, text)| write_home(node, &name, &text))
    }
}

/// Writes a file of a node's home.
fn write_home(node: &Node, name: &str, text: &str) -> Result<(), Error> {
    let path = node.home.join(name);
    std::fs::write(&path, text).map_err(|source| Error::File { path, source })
}
