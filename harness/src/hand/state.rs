//! The state of a cluster by hand, as a table and as JSON.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A cluster by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Its run's folder.
    pub run: PathBuf,
    /// The process id of its front.
    pub front: u32,
    /// Its nodes.
    pub nodes: Vec<NodeState>,
    /// How many faults are in.
    pub faults: usize,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeState {
    /// Its number.
    pub node: i32,
    /// `broker` or `controller`.
    pub role: String,
    /// Where it listens, in the cluster's own network.
    pub address: SocketAddr,
    /// Where clients on the host reach it.
    pub host_address: Option<SocketAddr>,
    /// `down`, where its program does not run; `fenced`; else `up`.
    pub state: String,
    /// How many partitions it leads.
    pub leads: usize,
    /// Whether it is the active controller.
    pub active: bool,
}

impl State {
    /// The table.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{} is up · {}", self.name, self.run.display())];
        let row = |node: &str, role: &str, host: &str, inside: &str, state: &str| {
            format!("{node:<6}{role:<12}{host:<18}{inside:<18}{state}")
                .trim_end()
                .to_string()
        };
        lines.push(row("node", "role", "on the host", "inside", "state"));
        for node in &self.nodes {
            let host = node
                .host_address
                .map_or("-".to_string(), |address| address.to_string());
            let mut state = node.state.clone();
            if node.active {
                state += ", active";
            }
            if node.leads > 0 {
                state += &format!(", leads {}", node.leads);
            }
            let inside = node.address.to_string();
            lines.push(row(&node.node.to_string(), &node.role, &host, &inside, &state));
        }
        match self.faults {
            0 => {}
            1 => lines.push("1 fault is in".into()),
            several => lines.push(format!("{several} faults are in")),
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_a_table() {
        let node = |node, role: &str, host: Option<&str>, state: &str| NodeState {
            node,
            role: role.into(),
            address: "10.9.0.4:9092".parse().unwrap(),
            host_address: host.map(|host| host.parse().unwrap()),
            state: state.into(),
            leads: usize::from(host.is_some()) * 2,
            active: host.is_none(),
        };
        let state = State {
            name: "default".into(),
            run: "/r".into(),
            front: 7,
            nodes: vec![
                node(0, "broker", Some("127.0.0.1:40001"), "up"),
                node(100, "controller", None, "up"),
            ],
            faults: 0,
        };
        let expected = [
            "default is up · /r",
            "node  role        on the host       inside            state",
            "0     broker      127.0.0.1:40001   10.9.0.4:9092     up, leads 2",
            "100   controller  -                 10.9.0.4:9092     up, active",
        ];
        assert_eq!(state.lines(), expected);
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state);
    }
}
