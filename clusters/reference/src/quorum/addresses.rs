//! Where the members of the quorum are.
//!
//! Fixed voters are where the configuration says. Where voters are named in the log (KIP-853), places are
//! learnt: from the VotersRecords of the log and of snapshots, from leaders that announce themselves, and
//! from answers that name a leader; the last word counts. Before anything is known there are the servers of
//! `controller.quorum.bootstrap.servers`, under ids of their own, below zero.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use raft::{NodeId, VoterSet};

use crate::config::{self, Config};

/// The id of the first bootstrap server; -1 is nobody's.
const FIRST_BOOTSTRAP_ID: i32 = -2;
/// How long a name that had no address is left alone.
const LOOK_UP_AGAIN: Duration = Duration::from_secs(10);

/// Where a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The node.
    pub id: i32,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// What is known.
#[derive(Debug)]
pub struct Addresses {
    /// The name of the controllers' listener.
    listener: String,
    /// Whether the configuration has the last word.
    fixed: bool,
    known: BTreeMap<i32, Place>,
}

#[derive(Debug)]
struct Place {
    located: Located,
    /// None where the host's name has no address.
    address: Option<SocketAddr>,
    looked_up: Instant,
}

impl Place {
    fn new(located: Located, address: Option<SocketAddr>) -> Self {
        Self {
            located,
            address,
            looked_up: Instant::now(),
        }
    }

    /// A name without an address is not looked up at every mention: looking it up may take long.
    fn may_be_looked_up(&self) -> bool {
        self.address.is_none() && self.looked_up.elapsed() >= LOOK_UP_AGAIN
    }
}

impl Addresses {
    /// What the configuration says. `own` is this node's own place.
    pub fn new(config: &Config, own: Located) -> Self {
        let mut addresses = Self {
            listener: config.controller_listener.clone(),
            fixed: !config.has_dynamic_quorum(),
            known: BTreeMap::new(),
        };
        let voters = config.voters.iter();
        let voters = voters.map(|voter| (voter.id, &voter.host, voter.port, voter.address));
        let servers = config
            .bootstrap_servers
            .iter()
            .zip((i32::MIN..=FIRST_BOOTSTRAP_ID).rev());
        let servers = servers.map(|(server, id)| (id, &server.host, server.port, server.address));
        for (id, host, port, address) in voters.chain(servers.filter(|_| !addresses.fixed)) {
            let located = Located {
                id,
                host: host.clone(),
                port,
            };
            addresses.known.insert(id, Place::new(located, Some(address)));
        }
        if !addresses.fixed {
            addresses.learn(&own);
        }
        addresses
    }

    /// The ids of the bootstrap servers.
    pub fn bootstrap(&self) -> Vec<NodeId> {
        let below_zero = self.known.range(..0).rev();
        below_zero.map(|(id, _)| NodeId(*id)).collect()
    }

    /// A node said where one is. A name is looked up when it is new, and while it has no address now and then.
    pub fn learn(&mut self, located: &Located) {
        let news = self
            .known
            .get(&located.id)
            .is_none_or(|place| place.located != *located || place.may_be_looked_up());
        if self.fixed || !news {
            return;
        }
        let address = config::resolve(&located.host, located.port).ok();
        self.known
            .insert(located.id, Place::new(located.clone(), address));
    }

    /// The log, or a snapshot, says where the voters are.
    pub fn learn_voters(&mut self, voters: &VoterSet) {
        for voter in voters.iter() {
            let named = voter
                .endpoints
                .iter()
                .find(|endpoint| endpoint.name == self.listener);
            if let Some(endpoint) = named.or(voter.endpoints.first()) {
                self.learn(&Located {
                    id: voter.key.id.0,
                    host: endpoint.host.clone(),
                    port: endpoint.port,
                });
            }
        }
    }

    /// The address of a node, if it is known.
    pub fn address(&self, id: NodeId) -> Option<SocketAddr> {
        self.known.get(&id.0)?.address
    }

    /// The place of a node, if it is known.
    pub fn located(&self, id: NodeId) -> Option<&Located> {
        self.known.get(&id.0).map(|place| &place.located)
    }
}

#[cfg(test)]
mod tests {
    use raft::{Endpoint, ReplicaKey, Voter};

    use super::*;

    fn located(id: i32, port: u16) -> Located {
        Located {
            id,
            host: "127.0.0.1".to_owned(),
            port,
        }
    }

    fn addresses(quorum: &str) -> Addresses {
        let text = format!(
            "process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://127.0.0.1:1\nlog.dirs=/d\n{quorum}\n"
        );
        Addresses::new(&Config::parse("it", &text).unwrap(), located(1, 1))
    }

    fn ports(addresses: &Addresses, ids: &[i32]) -> Vec<Option<u16>> {
        let port = |id: &i32| addresses.address(NodeId(*id)).map(|address| address.port());
        ids.iter().map(port).collect()
    }

    #[test]
    fn the_configuration_has_the_last_word_on_fixed_voters() {
        let mut fixed = addresses("controller.quorum.voters=1@127.0.0.1:1,2@127.0.0.1:2");
        fixed.learn(&located(2, 9));
        fixed.learn(&located(3, 9));
        assert_eq!(ports(&fixed, &[1, 2, 3]), [Some(1), Some(2), None]);
        assert!(fixed.bootstrap().is_empty());
    }

    #[test]
    fn bootstrap_servers_have_ids_below_zero_and_the_rest_is_learnt() {
        let mut dynamic = addresses("controller.quorum.bootstrap.servers=127.0.0.1:5,127.0.0.1:6");
        assert_eq!(dynamic.bootstrap(), [NodeId(-2), NodeId(-3)]);
        assert_eq!(
            ports(&dynamic, &[-2, -3, 1, 2]),
            [Some(5), Some(6), Some(1), None]
        );
        let endpoint = |name: &str, port| Endpoint {
            name: name.to_owned(),
            host: "127.0.0.1".to_owned(),
            port,
        };
        let voter = |id, endpoints| Voter {
            key: ReplicaKey::of(NodeId(id)),
            endpoints,
            kraft_versions: (0, 1),
        };
        let voters = vec![
            voter(2, vec![endpoint("OTHER", 8), endpoint("CONTROLLER", 2)]),
            voter(3, vec![endpoint("OTHER", 3)]),
            voter(4, Vec::new()),
        ];
        dynamic.learn_voters(&VoterSet::new(voters).unwrap());
        assert_eq!(ports(&dynamic, &[2, 3, 4]), [Some(2), Some(3), None]);
        dynamic.learn(&located(2, 22));
        assert_eq!(ports(&dynamic, &[2]), [Some(22)]);
    }
}
