//! The first voters of a quorum whose voters may change (KIP-853), as the command line names them.
//!
//! The rules are those of Kafka's storage tool: a configuration with `controller.quorum.voters` has all it
//! needs; one without needs a word from each controller on how the quorum begins.

use std::str::FromStr;

use raft::{DirectoryId, Endpoint, NodeId, ReplicaKey, Voter, VoterSet};
use uuid::Uuid;

use super::{check_directory_id, directory_id, votes};
use crate::config::{Config, host_and_port};
use crate::failure::Failure;
use crate::features::KRAFT_VERSION;

/// Who the first voters are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Initial {
    /// Nothing was said.
    Unsaid,
    /// This controller alone (`--standalone`).
    Standalone,
    /// These (`--initial-controllers`).
    Named(Vec<InitialController>),
    /// They stand in the log of others (`--no-initial-controllers`).
    InTheLog,
}

/// One of `--initial-controllers`: `ID@HOST:PORT:DIRECTORY_ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitialController {
    /// The node.
    pub id: i32,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The id of its folder.
    pub directory_id: Uuid,
}

/// What the first voters come to on one node.
pub(super) struct FirstVoters {
    /// The voters, where the command line names them.
    pub first: Option<VoterSet>,
    /// The id that this node's folder has to have, where it is one of them.
    pub own_directory: Option<Uuid>,
}

const OPTION: &str = "--initial-controllers";
const WAYS: &str = "Say --standalone (it is the only voter), --initial-controllers (it is one of these) or \
                    --no-initial-controllers (it joins a quorum that is there).";

impl FromStr for InitialController {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let bad = |why: &str| {
            Failure::usage(
                format!("Cannot use {OPTION}: '{text}'."),
                why,
                "Write ID@HOST:PORT:DIRECTORY_ID, several with commas between them.",
            )
        };
        let (id, rest) = text
            .split_once('@')
            .ok_or_else(|| bad("It has no '@' after the node's id."))?;
        let id = id
            .parse()
            .ok()
            .filter(|id| *id >= 0)
            .ok_or_else(|| bad("What stands before '@' is no node's id."))?;
        let (address, directory) = rest
            .rsplit_once(':')
            .ok_or_else(|| bad("It has no ':' before the folder's id."))?;
        let (host, port) = host_and_port(address)
            .filter(|(host, port)| !host.is_empty() && *port > 0)
            .ok_or_else(|| bad("Between '@' and the folder's id there must be HOST:PORT."))?;
        Ok(Self {
            id,
            host,
            port,
            directory_id: directory_id(OPTION, directory)?,
        })
    }
}

impl Initial {
    /// What the command line says: at most one of its three options.
    ///
    /// # Errors
    /// When a controller of the list is malformed.
    pub fn of_options(standalone: bool, named: &[String], in_the_log: bool) -> Result<Self, Failure> {
        if standalone {
            return Ok(Self::Standalone);
        }
        if in_the_log {
            return Ok(Self::InTheLog);
        }
        if named.is_empty() {
            return Ok(Self::Unsaid);
        }
        Ok(Self::Named(
            named
                .iter()
                .map(|text| text.trim().parse())
                .collect::<Result<_, _>>()?,
        ))
    }

    /// Checks it against the configuration.
    pub(super) fn voters(
        &self,
        what: &str,
        config: &Config,
        asked_id: Option<Uuid>,
    ) -> Result<FirstVoters, Failure> {
        let none = FirstVoters {
            first: None,
            own_directory: None,
        };
        let fixed = !config.has_dynamic_quorum();
        match self {
            Self::Standalone | Self::Named(_) if fixed => Err(Failure::usage(
                what,
                "controller.quorum.voters names the voters for ever, so there are no first ones that could change.",
                "Leave --standalone and --initial-controllers out, or set controller.quorum.bootstrap.servers instead.",
            )),
            Self::Unsaid if !fixed && votes(config) => Err(Failure::usage(
                what,
                "controller.quorum.voters is not set, and nothing says how this controller's quorum begins.",
                WAYS,
            )),
            Self::Unsaid | Self::InTheLog => Ok(none),
            Self::Standalone if !votes(config) => Err(Failure::usage(
                what,
                "--standalone makes this node the only voter, and only a controller votes.",
                "Leave it out for a broker.",
            )),
            Self::Standalone => standalone(what, config, asked_id),
            Self::Named(controllers) => named(what, config, asked_id, controllers),
        }
    }
}

fn standalone(what: &str, config: &Config, asked_id: Option<Uuid>) -> Result<FirstVoters, Failure> {
    let listener = &config.advertised;
    if listener.host.is_empty() || listener.port == 0 {
        return Err(Failure::usage(
            what,
            "Its listener has no host and port that others could connect to.",
            "Name both in listeners, or in advertised.listeners.",
        ));
    }
    let directory_id = asked_id.unwrap_or_else(super::drawn_directory_id);
    let own = InitialController {
        id: config.node_id,
        host: listener.host.clone(),
        port: listener.port,
        directory_id,
    };
    Ok(FirstVoters {
        first: voter_set(config, &[own]).ok(),
        own_directory: Some(directory_id),
    })
}

fn named(
    what: &str,
    config: &Config,
    asked_id: Option<Uuid>,
    controllers: &[InitialController],
) -> Result<FirstVoters, Failure> {
    let bad = |why: String| {
        Failure::usage(
            what,
            why,
            format!("Correct {OPTION}: it is the same on every node."),
        )
    };
    for (at, controller) in controllers.iter().enumerate() {
        check_directory_id(what, controller.directory_id)?;
        if controllers[..at]
            .iter()
            .any(|other| other.directory_id == controller.directory_id)
        {
            let id = storage::format_uuid(controller.directory_id);
            return Err(bad(format!(
                "The folder's id {id} occurs twice: each folder has its own."
            )));
        }
    }
    let set = voter_set(config, controllers).map_err(|id| bad(format!("Node {id} occurs twice.")))?;
    let own = controllers
        .iter()
        .find(|controller| controller.id == config.node_id)
        .map(|controller| controller.directory_id);
    match (own, asked_id) {
        (Some(own), Some(asked)) if own != asked => Err(Failure::usage(
            what,
            format!(
                "--directory-id says {}, and {OPTION} says {} of node {}.",
                storage::format_uuid(asked),
                storage::format_uuid(own),
                config.node_id
            ),
            "Leave --directory-id out: a first voter takes its id from the list.",
        )),
        _ if own.is_some() && !votes(config) => Err(bad(format!(
            "Node {} is a broker, and only controllers vote.",
            config.node_id
        ))),
        _ => Ok(FirstVoters {
            first: Some(set),
            own_directory: own,
        }),
    }
}

/// As the VotersRecord has them.
fn voter_set(config: &Config, controllers: &[InitialController]) -> Result<VoterSet, NodeId> {
    let voter = |controller: &InitialController| Voter {
        key: ReplicaKey {
            id: NodeId(controller.id),
            directory: Some(DirectoryId(controller.directory_id.as_u128())),
        },
        endpoints: vec![Endpoint {
            name: config.controller_listener.clone(),
            host: controller.host.clone(),
            port: controller.port,
        }],
        kraft_versions: (KRAFT_VERSION.least, KRAFT_VERSION.most),
    };
    VoterSet::new(controllers.iter().map(voter).collect())
}
