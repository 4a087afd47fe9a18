//! Requests to peers.

use std::net::SocketAddr;

use raft::{CallId, NodeId, ReplicaKey, Request};

use super::wire::{self, Own};
use super::{Answer, Quorum, Told};
use crate::net::peers::Peers;

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
