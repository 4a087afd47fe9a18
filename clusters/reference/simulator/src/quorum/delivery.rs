//! Messages: given to the network, and handed to whom they are for.

use raft::{Body, CallId, Event, Raft, Refusal, ReplicaKey, Request, Response};

use super::network::{Cargo, Content, Packet};
use super::world::{Asked, Happening, World};
use super::{Application, Sabotage, Violation};

impl<A: Application> World<A> {
    /// Gives a message to the network, which may lose it, double it, or be slow.
    pub(super) fn post(&mut self, packet: Packet<A::Payload>) {
        let dead = self.settings.sabotage == Some(Sabotage::DeadNetwork);
        let carried = self.network.carries(packet.from, packet.to) && !dead;
        if !carried || self.network.loses(&mut self.random) {
            if self.random.per_mille(300) {
                self.break_connection(packet);
            }
            return;
        }
        if self.network.duplicates(&mut self.random) {
            self.put_under_way(packet.clone());
        }
        self.put_under_way(packet);
    }

    fn put_under_way(&mut self, packet: Packet<A::Payload>) {
        if self.is_change(&packet) {
            self.admin_packets += 1;
        }
        let delay = self.network.delay(&mut self.random);
        self.schedule(delay, Happening::Arrival(packet));
    }

    /// Whether it is an administrator's wish.
    fn is_change(&self, packet: &Packet<A::Payload>) -> bool {
        packet.from >= self.nodes.len() && matches!(packet.content, Content::Request(..))
    }

    /// The caller notices, after a while, that its connection is gone.
    fn break_connection(&mut self, packet: Packet<A::Payload>) {
        let (caller, callee) = match packet.content {
            Content::Request(..) => (packet.from, packet.to),
            _ => (packet.to, packet.from),
        };
        self.put_under_way(Packet {
            from: callee,
            to: caller,
            content: Content::Broken,
            ..packet
        });
    }

    pub(super) fn arrive(&mut self, packet: Packet<A::Payload>) -> Result<(), Violation> {
        if self.is_change(&packet) {
            self.admin_packets -= 1;
        }
        if let Some(which) = packet.to.checked_sub(self.nodes.len()) {
            self.answer_administrator(which, packet.content);
            return Ok(());
        }
        let node = &self.nodes[packet.to];
        let Some(raft) = &node.raft else {
            if matches!(packet.content, Content::Request(..)) {
                self.break_connection(packet);
            }
            return Ok(());
        };
        let own_answer = node.incarnation == packet.incarnation;
        let key = node.key(packet.to);
        match packet.content {
            Content::Request(_, Some(voter)) if !may_be(voter, key) => {
                let refused = refusal(raft, Refusal::InvalidRequest);
                self.answer(packet, refused);
                Ok(())
            }
            Content::Request(ref request, _) => {
                let asked = Asked {
                    from: packet.from,
                    incarnation: packet.incarnation,
                    call: packet.call,
                    callee: packet.callee,
                    request: request.clone(),
                };
                let request = request.clone();
                let id = self.nodes[packet.to].note_request(asked);
                self.handle(packet.to, Event::Request { id, request }, &Cargo::none())
            }
            _ if !own_answer => Ok(()),
            Content::Response(response, cargo) => {
                let response = Event::Response {
                    from: packet.callee,
                    call: packet.call,
                    response,
                };
                self.handle(packet.to, response, &cargo)
            }
            Content::Broken => {
                let failed = Event::CallFailed {
                    to: packet.callee,
                    call: packet.call,
                };
                self.handle(packet.to, failed, &Cargo::none())
            }
        }
    }

    /// An answer that the driver gives itself, without asking the machine.
    fn answer(&mut self, request: Packet<A::Payload>, response: Response<Vec<raft::Batch>>) {
        self.post(Packet {
            from: request.to,
            to: request.from,
            content: Content::Response(response, Cargo::none()),
            ..request
        });
    }

    /// Sends what a machine wants sent.
    pub(super) fn send(
        &mut self,
        from: usize,
        to: raft::NodeId,
        call: CallId,
        mut request: Request,
    ) -> Result<(), Violation> {
        self.falsify(&mut request);
        let place = super::administrators::place_of(to);
        let incarnation = self.nodes[from].incarnation;
        if place >= self.nodes.len() {
            return Err(Violation::Contract(format!(
                "node {from} calls node {to}, which there is not"
            )));
        }
        let voter = self.addressed_voter(from, to, &request);
        self.post(Packet {
            from,
            to: place,
            incarnation,
            call,
            callee: to,
            content: Content::Request(request, voter),
        });
        Ok(())
    }

    /// Which voter such a request names as the one that is asked: with another's folder, or a
    /// disk that is new, a node must not answer for it (KIP-853, INVALID_VOTER_KEY).
    fn addressed_voter(&self, from: usize, to: raft::NodeId, request: &Request) -> Option<ReplicaKey> {
        match request {
            Request::Vote(_) | Request::BeginQuorumEpoch(_) => {
                let raft = self.nodes[from].raft.as_ref()?;
                raft.voter_set().get(to).map(|voter| voter.key)
            }
            _ => None,
        }
    }

    fn falsify(&self, request: &mut Request) {
        let sabotage = self.settings.sabotage;
        match request {
            Request::Vote(vote) if sabotage == Some(Sabotage::BoastInVotes) => {
                vote.last_epoch = vote.epoch - i32::from(!vote.pre_vote);
                vote.last_offset = raft::Offset::MAX;
            }
            Request::Fetch(fetch) if sabotage == Some(Sabotage::HideDivergence) => {
                fetch.last_fetched_epoch = fetch.epoch;
            }
            _ => {}
        }
    }
}

fn may_be(voter: ReplicaKey, key: ReplicaKey) -> bool {
    voter.id == key.id && (voter.directory.is_none() || voter.directory == key.directory)
}

fn refusal(raft: &Raft, refusal: Refusal) -> Response<Vec<raft::Batch>> {
    Response {
        epoch: raft.epoch(),
        leader: raft.leader(),
        body: Body::Refused(refusal),
    }
}
