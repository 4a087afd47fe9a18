//! Nodes: their folders and disks, their programs and signals.

use std::net::Ipv4Addr;
use std::time::Duration;

use nix::unistd::Pid;

use super::{Keeper, refused};
use crate::api::{Error, Namespaces, NodeSpec, Program, Signal, Signalled, Started};
use crate::init::{FromInit, ToInit};
use crate::net;
use crate::owner::make_folder;
use crate::proto::{DiskStats, FIRST_NODE, FromDisk, MAX_NODES, ToDisk};
use crate::spawn::{Child, Role, spawn};

/// How long a disk may take to its first answer: it has just been executed, and reads its folder.
const DISK_START: Duration = Duration::from_secs(10);
/// How long a disk may take to answer what needs no input or output.
pub const DISK_PATIENCE: Duration = Duration::from_secs(2);
/// How long an init may take to start a program; longer than its own bound, so that its word is heard.
const START_PATIENCE: Duration = Duration::from_secs(12);
/// How long an init may take to send a signal and see it take, longer than its own bound; or to look at all processes.
pub const SIGNAL_PATIENCE: Duration = Duration::from_secs(5);
/// The longest host name that Linux takes.
const HOST_NAME: usize = 64;

/// One node, with power or without.
pub struct Node {
    pub spec: NodeSpec,
    pub port: u8,
    pub disk: Child,
    /// What exists only while it has power.
    pub life: Option<Life>,
    /// What its clocks show.
    pub clocks: super::clock::Clocks,
    /// Its disk has stopped at a call: it is to be struck.
    pub crash: Option<crate::proto::DiskCrash>,
    /// Starts of its program, over all its lives.
    pub starts: u32,
    /// Limits of its resources, in the order in which they were set.
    pub limits: Vec<super::limits::Limited>,
}

/// A node that has power.
pub struct Life {
    pub init: Child,
    pub namespaces: Namespaces,
}

impl Node {
    pub fn id(&self) -> i32 {
        self.spec.id
    }

    pub fn disk_name(&self) -> String {
        format!("the disk of node {}", self.spec.id)
    }

    pub fn init_name(&self) -> String {
        format!("the init of node {}", self.spec.id)
    }

    /// Its init's process id; 0, which no process of ours has, where it has no power.
    pub fn init_pid(&self) -> Pid {
        self.life.as_ref().map_or(Pid::from_raw(0), |life| life.init.pid)
    }
}

impl Keeper {
    pub(super) fn add_node(&mut self, spec: NodeSpec) -> Result<Ipv4Addr, Error> {
        let what = format!("adding node {} ({})", spec.id, spec.name);
        self.check(&spec)
            .map_err(|why| refused(what.clone(), why, "correct the node's description"))?;
        let failed = |why: String| {
            refused(
                what.clone(),
                why,
                "is the run's folder writable, with room in it?",
            )
        };
        for folder in ["disk", "mount", "lost"] {
            make_folder(&spec.home.join(folder), self.owner).map_err(|error| failed(error.to_string()))?;
        }
        let role = Role {
            args: &["__disk"],
            namespaces: 0,
            session: false,
            stdin: false,
            owner: None,
        };
        let disk = spawn(&role).map_err(|error| failed(error.to_string()))?;
        let open = ToDisk::Open {
            node: spec.id,
            home: spec.home.clone(),
            disk: spec.disk,
        };
        // At most MAX_NODES, so a port is at most PORTS.
        let port = FIRST_NODE + self.nodes.len() as u8;
        let (id, channel) = (spec.id, disk.channel.clone());
        self.nodes.push(Node {
            spec,
            port,
            disk,
            life: None,
            clocks: super::clock::Clocks::default(),
            crash: None,
            starts: 0,
            limits: Vec::new(),
        });
        match self.ask::<FromDisk>(id, &channel, &open, DISK_START) {
            Ok(FromDisk::Done { .. }) => Ok(net::address(port)),
            // It has no power and never will: the run cannot go on without it.
            Ok(FromDisk::Failed { why }) => Err(failed(why)),
            Ok(FromDisk::Lacks(error)) => Err(error),
            Ok(other) => self.die(format!("the disk of node {id} answers {other:?} when opened")),
            Err(silence) => self.die(format!("the disk of node {id} hangs when opened: {silence}")),
        }
    }

    fn check(&self, spec: &NodeSpec) -> Result<(), String> {
        if self.nodes.iter().any(|node| node.id() == spec.id) {
            return Err("there is a node of that number".into());
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(format!("a run has at most {MAX_NODES} nodes"));
        }
        if spec.name.is_empty() || spec.name.len() > HOST_NAME {
            return Err(format!("a host name has 1 to {HOST_NAME} bytes"));
        }
        if !spec.home.starts_with(&self.run_dir) {
            return Err(format!(
                "{} is not in the run's folder {}",
                spec.home.display(),
                self.run_dir.display()
            ));
        }
        Ok(())
    }

    /// The place of a node in `self.nodes`.
    pub(super) fn find(&self, id: i32, what: &str) -> Result<usize, Error> {
        let found = self.nodes.iter().position(|node| node.id() == id);
        found.ok_or_else(|| refused(what.into(), format!("there is no node {id}"), "add it first"))
    }

    /// The place and the life of a node that has power.
    pub(super) fn alive(&self, id: i32, what: &str) -> Result<(usize, &Life), Error> {
        let at = self.find(id, what)?;
        match &self.nodes[at].life {
            Some(life) => Ok((at, life)),
            None => Err(refused(
                what.into(),
                format!("node {id} has no power"),
                "power it on first",
            )),
        }
    }

    pub(super) fn start(&mut self, id: i32, program: Program) -> Result<Started, Error> {
        let what = format!("starting {:?} on node {id}", program.argv);
        let (at, life) = self.alive(id, &what)?;
        let channel = life.init.channel.clone();
        let start = self.nodes[at].starts + 1;
        let order = ToInit::Start {
            start,
            program,
            owner: self.owner,
        };
        match self.ask::<FromInit>(id, &channel, &order, START_PATIENCE) {
            Ok(FromInit::Started { exec_at_ns }) => {
                self.nodes[at].starts = start;
                self.apply_limits(at).map_err(|why| {
                    refused(
                        what.clone(),
                        format!("its limits: {why}"),
                        "see the harness's log",
                    )
                })?;
                Ok(Started { start, exec_at_ns })
            }
            Ok(FromInit::Failed { why }) => Err(refused(
                what,
                why,
                "is the program installed, and its folder on the node's disk there?",
            )),
            other => self.odd_init(at, other),
        }
    }

    pub(super) fn signal(&mut self, id: i32, signal: Signal) -> Result<Signalled, Error> {
        let what = format!("sending {signal:?} to node {id}");
        let (at, life) = self.alive(id, &what)?;
        let channel = life.init.channel.clone();
        let answer = match signal {
            Signal::Kill => self.kill(at, &channel),
            other => self.ask::<FromInit>(id, &channel, &ToInit::Signal(other), SIGNAL_PATIENCE),
        };
        match answer {
            Ok(FromInit::Signalled(signalled)) => Ok(signalled),
            Ok(FromInit::Failed { why }) => Err(refused(what, why, "start the node's program first")),
            other => self.odd_init(at, other),
        }
    }

    /// An init that answers something else, or not at all, has failed; so has the run.
    pub(super) fn odd_init<T>(&self, at: usize, answer: Result<FromInit, super::children::Silence>) -> T {
        let name = self.nodes[at].init_name();
        match answer {
            Ok(other) => self.die(format!("{name} answers {other:?}")),
            Err(silence) => self.die(format!("{name} hangs: {silence}")),
        }
    }

    pub(super) fn namespaces(&self, id: i32) -> Result<Namespaces, Error> {
        self.alive(id, &format!("asking for the namespaces of node {id}"))
            .map(|(_, life)| life.namespaces)
    }

    pub(super) fn disk_stats(&mut self, id: i32) -> Result<DiskStats, Error> {
        let what = format!("asking the disk of node {id}");
        let at = self.find(id, &what)?;
        match self.ask_disk(at, &ToDisk::Stats, DISK_PATIENCE) {
            FromDisk::Stats(stats) => Ok(stats),
            FromDisk::Failed { why } => Err(refused(what, why, "see the harness's log")),
            other => self.die(format!("{} answers {other:?}", self.nodes[at].disk_name())),
        }
    }

    /// Asks a disk; one that does not answer has failed, and so has the run.
    pub(super) fn ask_disk(&mut self, at: usize, question: &ToDisk, within: Duration) -> FromDisk {
        let (id, channel) = (self.nodes[at].id(), self.nodes[at].disk.channel.clone());
        match self.ask(id, &channel, question, within) {
            Ok(answer) => answer,
            Err(silence) => self.die(format!("{} hangs: {silence}", self.nodes[at].disk_name())),
        }
    }
}
