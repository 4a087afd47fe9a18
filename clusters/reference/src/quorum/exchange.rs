//! Requests to peers.

use std::net::SocketAddr;

use kafka_protocol::messages::ApiVersionsRequest;
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
            let heard = match address {
                Some(address) => exchange(&peers, address, &own, broker_epoch, key, request).await,
                None => None,
            };
            // The core is gone when the node stops.
            let _ = answers.send(Answer(Told::Peer {
                from: to,
                call,
                heard,
            }));
        });
    }
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

/// The versions of the quorum's protocol that a node supports, 0 alone where it does not say.
async fn supported_by(peers: &Peers, address: SocketAddr) -> Option<(i16, i16)> {
    let request = ApiVersionsRequest::default()
        .with_client_software_name(StrBytes::from_static_str("ackall"))
        .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
    let answer = peers.call(address, API_VERSIONS_VERSION, &request).await.ok()?;
    let mut features = answer.supported_features.iter();
    let found = features.find(|feature| feature.name.as_str() == KRAFT_VERSION.name);
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
) -> wire::Read {
    match request {
        Request::Vote(ask) => {
            let request = wire::vote::request(own, key, &ask);
            let answer = peers.call(to, wire::vote::VERSION, &request).await;
            wire::vote::read_answer(answer.ok()?)
        }
        Request::BeginQuorumEpoch(ask) => {
            let request = wire::begin::request(own, key, ask);
            let answer = peers.call(to, wire::begin::VERSION, &request).await;
            wire::begin::read_answer(answer.ok()?)
        }
        Request::EndQuorumEpoch(ask) => {
            let request = wire::end::request(own, &ask);
            let answer = peers.call(to, wire::end::VERSION, &request).await;
            wire::end::read_answer(answer.ok()?)
        }
        Request::Fetch(ask) => {
            let request = wire::fetch::request(own, broker_epoch, &ask);
            let answer = peers.call(to, wire::fetch::VERSION, &request).await;
            wire::fetch::read_answer(answer.ok()?)
        }
        Request::FetchSnapshot(ask) => {
            let request = wire::fetch_snapshot::request(own, &ask);
            let answer = peers.call(to, wire::fetch_snapshot::VERSION, &request).await;
            wire::fetch_snapshot::read_answer(answer.ok()?)
        }
        Request::UpdateVoter(ask) => {
            let request = wire::update_voter::request(own, &ask);
            let answer = peers.call(to, wire::update_voter::VERSION, &request).await;
            wire::update_voter::read_answer(answer.ok()?)
        }
        // Only clients ask for these.
        Request::AddVoter(_) | Request::RemoveVoter(_) => None,
    }
}
