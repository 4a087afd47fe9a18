//! Nodes with folders and configurations of their own.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use crate::process::Process;
use crate::support::{Folder, ackall, until};

/// How long a state may take.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The cluster that nodes belong to, unless a test says otherwise.
pub const CLUSTER: &str = "night";

/// A few nodes: controllers from 100, brokers from 0.
pub struct Night {
    folder: Folder,
    running: BTreeMap<i32, Process>,
    addresses: BTreeMap<i32, SocketAddr>,
    dynamic: bool,
}

/// Whether voters are named in the log, or fixed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Voters {
    Fixed,
    InTheLog,
}

impl Night {
    /// Nodes with addresses, none of which is formatted yet.
    pub fn of(name: &str, voters: Voters, ids: &[i32]) -> Night {
        let held: Vec<_> = ids
            .iter()
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let addresses = held.iter().map(|listener| listener.local_addr().unwrap());
        let night = Night {
            folder: Folder::new(name),
            running: BTreeMap::new(),
            addresses: ids.iter().copied().zip(addresses).collect(),
            dynamic: voters == Voters::InTheLog,
        };
        for id in ids {
            fs::write(night.config(*id), night.properties(*id)).unwrap();
        }
        night
    }

    /// The controllers of `of`, formatted and started.
    pub fn started(name: &str, voters: Voters, ids: &[i32]) -> Night {
        let mut night = Night::of(name, voters, ids);
        for id in ids {
            night.format_one(*id);
            night.start(*id);
        }
        night
    }

    /// A node's configuration.
    pub fn properties(&self, id: i32) -> String {
        let (role, listener) = if id >= 100 {
            ("controller", "CONTROLLER")
        } else {
            ("broker", "PLAINTEXT")
        };
        let controllers = self.addresses.range(100..);
        let quorum = if self.dynamic {
            let asked: Vec<String> = controllers.map(|(_, address)| address.to_string()).collect();
            format!("controller.quorum.bootstrap.servers={}", asked.join(","))
        } else {
            let voters: Vec<String> = controllers
                .map(|(id, address)| format!("{id}@{address}"))
                .collect();
            format!("controller.quorum.voters={}", voters.join(","))
        };
        format!(
            "process.roles={role}\nnode.id={id}\n{quorum}\nlisteners={listener}://{}\n\
             controller.listener.names=CONTROLLER\nlog.dirs={}\ncontroller.quorum.election.timeout.ms=300\n\
             controller.quorum.fetch.timeout.ms=600\nbroker.heartbeat.interval.ms=250\n\
             broker.session.timeout.ms=1500\n",
            self.addresses[&id],
            self.disk(id).display()
        )
    }

    /// A path of this test's.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    /// A node's configuration file.
    pub fn config(&self, id: i32) -> PathBuf {
        self.path(&format!("{id}.properties"))
    }

    /// A node's folder.
    pub fn disk(&self, id: i32) -> PathBuf {
        self.path(&id.to_string())
    }

    /// Where a node listens.
    pub fn address(&self, id: i32) -> SocketAddr {
        self.addresses[&id]
    }

    /// Formats a node's folder with these options.
    pub fn format(&self, id: i32, options: &[&str]) {
        let formatted = format(&self.config(id), CLUSTER, options);
        assert!(formatted.status.success(), "{formatted:?}");
    }

    /// Formats it as it should be: of voters in the log, 100 is the first.
    pub fn format_one(&self, id: i32) {
        let options: &[&str] = match (self.dynamic, id) {
            (true, 100) => &["--standalone"],
            (true, _) => &["--no-initial-controllers"],
            (false, _) => &[],
        };
        self.format(id, options);
    }

    /// Starts a node.
    pub fn start(&mut self, id: i32) {
        let process = start(&self.config(id), &[], &self.path(&format!("{id}.said")));
        self.running.insert(id, process);
    }

    /// Has a node stop by itself.
    pub fn stop(&mut self, id: i32) {
        let (status, said) = self.running.remove(&id).unwrap().stop();
        assert!(status.success(), "{said}");
    }

    /// Ends a node at once.
    pub fn kill(&mut self, id: i32) {
        drop(self.running.remove(&id).unwrap());
    }

    /// What a node has said so far.
    pub fn said(&self, id: i32) -> String {
        self.running[&id].said()
    }

    /// What `ackall admin quorum describe` says of it, once there is a leader.
    pub fn described(&self, id: i32) -> serde_json::Value {
        let via = self.address(id).to_string();
        let flag = if id >= 100 {
            "--bootstrap-controller"
        } else {
            "--bootstrap-server"
        };
        let output = admin(&["describe", flag, &via, "--json", "--timeout", "30s"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Runs `ackall node format`.
pub fn format(config: &Path, cluster: &str, options: &[&str]) -> Output {
    ackall()
        .args(["node", "format", "--cluster-id", cluster, "--config"])
        .arg(config)
        .args(options)
        .output()
        .unwrap()
}

/// Starts `ackall node start`.
pub fn start(config: &Path, options: &[&str], said: &Path) -> Process {
    let mut command = ackall();
    command
        .args(["node", "start", "--config"])
        .arg(config)
        .args(options);
    Process::start(command, said)
}

/// Runs `ackall admin quorum`.
pub fn admin(words: &[&str]) -> Output {
    ackall().args(["admin", "quorum"]).args(words).output().unwrap()
}

/// Waits until something was said.
pub fn until_said(what: &str, said: impl Fn() -> String) {
    until(&format!("somebody to say {what:?}"), PATIENCE, || {
        said().contains(what).then_some(())
    });
}
