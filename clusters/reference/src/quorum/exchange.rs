//! Requests to peers.

use std::net::SocketAddr;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest};
use kafka_protocol::protocol::StrBytes;
use raft::{AddVoter, CallId, NodeId, ReplicaKey, Request};

use super::wire::{self, Own};
use super::{Answer, Quorum, Told};
use crate::config;
use crate::features::KRAFT_VERSION;
use crate::net::peers::Peers;
use crate::net::server::Reply;

impl Quorum {
    pub(super) fn send(&self, to: NodeId, call: CallId, request: Request) {
        let (peers, answers) = (self.peers.clone(), self.answers.clone());
        let address = self.addresses.address(to);
        let voter = self.raft.voter_set().get(to).map(|voter| voter.key);
        let key = voter.unwrap_or(ReplicaKey::of(to));
        let (own, broker_epoch) = (self.own.clone(), self.broker_epoch);
        tokio::spawn(async move {
            let outcome = match address {
                Some(address) => exchange(&peers, address, &own, broker_epoch, key, request).await,
                None => Outcome::Failed,
            };
            // The core is gone when the node stops.
            let _ = answers.send(Answer(Told::Peer {
                from: to,
                call,
                outcome,
            }));
        });
    }
}

/// What came of a request.
#[derive(Debug)]
pub enum Outcome {
    /// An answer for the machine.
    Heard(wire::Heard),
    /// None, or one that says no more than that it failed.
    Failed,
    /// The peer is of another cluster.
    OtherCluster,
    /// The peer knows another folder with this node's id.
    Twin,
}

impl Quorum {
    /// Asks who is to vote what it supports.
    pub(super) fn vet(&self, ask: AddVoter, reply: Reply) {
        let (peers, answers) = (self.peers.clone(), self.answers.clone());
        let endpoints = ask.voter.endpoints.iter();
        let mut endpoints = endpoints.filter(|endpoint| endpoint.name == self.own.listener);
        let address = endpoints.find_map(|endpoint| config::resolve(&endpoint.host, endpoint.port).ok());
        tokio::spawn(async move {
            let supported = match address {
                Some(address) => supported_by(&peers, address).await,
                None => None,
            };
            // The core is gone when the node stops.
            let _ = answers.send(Answer(Told::Vetted {
                ask,
                reply,
                supported,
            }));
        });
    }
}

/// The versions of the quorum's protocol that a node supports, 0 alone where it does not say, or serves no Vote: a
/// broker knows the protocol too, but its vote would never come, and a majority that needs it could never be had.
async fn supported_by(peers: &Peers, address: SocketAddr) -> Option<(i16, i16)> {
    let request = ApiVersionsRequest::default()
        .with_client_software_name(StrBytes::from_static_str("ackall"))
        .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
    let answer = match peers.call(address, API_VERSIONS_VERSION, &request).await {
        Ok(answer) => answer,
        // A connection kept from before the node was restarted fails once, and the next one is fresh.
        Err(_) => peers.call(address, API_VERSIONS_VERSION, &request).await.ok()?,
    };
    let votes = answer
        .api_keys
        .iter()
        .any(|api| api.api_key == ApiKey::Vote as i16);
    let mut features = answer.supported_features.iter();
    let found = features.find(|feature| votes && feature.name.as_str() == KRAFT_VERSION.name);
    let levels = found.map(|feature| (feature.min_version, feature.max_version));
    (answer.error_code == 0).then_some(levels.unwrap_or((0, 0)))
}

/// The first version in which a feature whose least level is 0 is told of.
const API_VERSIONS_VERSION: i16 = 4;

async fn exchange(
    peers: &Peers,
    to: SocketAddr,
    own: &Own,
    broker_epoch: i64,
    key: ReplicaKey,
    request: Request,
) -> Outcome {
    /// An answer judged: its own error code, and what it says to the machine.
    macro_rules! ask {
        ($message:ident, $request:expr) => {
            match peers.call(to, wire::$message::VERSION, &$request).await {
                Ok(answer) => judge(answer.error_code, || wire::$message::read_answer(answer)),
                Err(_) => Outcome::Failed,
            }
        };
    }
    match request {
        Request::Vote(ask) => ask!(vote, wire::vote::request(own, key, &ask)),
        Request::BeginQuorumEpoch(ask) => ask!(begin, wire::begin::request(own, key, ask)),
        Request::EndQuorumEpoch(ask) => ask!(end, wire::end::request(own, &ask)),
        Request::Fetch(ask) => {
            let request = wire::fetch::request(own, broker_epoch, &ask);
            match peers.call(to, wire::fetch::VERSION, &request).await {
                Ok(answer) if wire::fetch::knows_a_twin(&answer) => Outcome::Twin,
                Ok(answer) => judge(answer.error_code, || wire::fetch::read_answer(answer)),
                Err(_) => Outcome::Failed,
            }
        }
        Request::FetchSnapshot(ask) => ask!(fetch_snapshot, wire::fetch_snapshot::request(own, &ask)),
        Request::UpdateVoter(ask) => ask!(update_voter, wire::update_voter::request(own, &ask)),
        // Only clients ask for these.
        Request::AddVoter(_) | Request::RemoveVoter(_) => Outcome::Failed,
    }
}

fn judge(error: i16, read: impl FnOnce() -> wire::Read) -> Outcome {
    if error == ResponseError::InconsistentClusterId.code() {
        return Outcome::OtherCluster;
    }
    read().map_or(Outcome::Failed, Outcome::Heard)
}
