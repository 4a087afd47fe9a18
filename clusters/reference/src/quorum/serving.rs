//! Requests of peers and of clients, which the machine answers, now or later.

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    AddRaftVoterRequest, ApiKey, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest,
    FetchSnapshotRequest, RemoveRaftVoterRequest, UpdateRaftVoterRequest, VoteRequest,
};
use raft::{Body, Event, Fetched, FilledSlice, ReadRange, Refusal, ReplicaKey, RequestId, Response};
use storage::{ReadLimit, StorageError};
use uuid::Uuid;

use super::addresses::Located;
use super::{Fatal, Quorum, wire};
use crate::net::frame::FrameError;
use crate::net::server::{Incoming, Reply};

/// Who waits for the machine's answer.
#[derive(Debug)]
pub(super) enum Asked {
    Vote(Reply),
    Begin(Reply),
    End(Reply),
    Fetch { reply: Reply, max_bytes: usize },
    FetchSnapshot { reply: Reply, max_bytes: usize },
    AddVoter(Reply),
    RemoveVoter(Reply),
    UpdateVoter(Reply),
}

/// Not one of the quorum's requests.
pub struct NotOurs(pub Incoming);

impl Quorum {
    /// Takes a request that is the quorum's to answer; gives back one that is not.
    ///
    /// # Errors
    /// When the node cannot go on. A malformed request closes its connection.
    pub fn serve(&mut self, incoming: Incoming) -> Result<Result<(), NotOurs>, Fatal> {
        let served = match incoming.key {
            ApiKey::Vote => self.vote(incoming),
            ApiKey::BeginQuorumEpoch => self.begin_quorum_epoch(incoming),
            ApiKey::EndQuorumEpoch => self.end_quorum_epoch(incoming),
            ApiKey::Fetch => self.fetch(incoming),
            ApiKey::FetchSnapshot => self.fetch_snapshot(incoming),
            ApiKey::AddRaftVoter => self.add_voter(incoming),
            ApiKey::RemoveRaftVoter => self.remove_voter(incoming),
            ApiKey::UpdateRaftVoter => self.update_voter(incoming),
            _ => return Ok(Err(NotOurs(incoming))),
        };
        match served {
            Ok(served) => served.map(Ok),
            Err(error) => {
                crate::diary::warning!("a connection is closed: {error}");
                Ok(Ok(()))
            }
        }
    }

    fn vote(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<VoteRequest>()?;
        let folder = wire::vote::folder_of(&request);
        let read = wire::vote::read_request(&self.own, request).and_then(|ask| {
            // Where voters change, the candidate's folder is part of who it is, and its log decides (KIP-853).
            let candidate = Some(ask.candidate).filter(|_| !self.own.dynamic);
            self.not_a_twin(candidate, folder).map(|()| ask)
        });
        Ok(match read {
            Ok(ask) => self.ask(raft::Request::Vote(ask), Asked::Vote(reply)),
            Err(error) => {
                let standing = self.as_response();
                reply.send(&wire::vote::refused(
                    error,
                    &standing,
                    self.place_of_leader(&standing),
                ));
                Ok(())
            }
        })
    }

    /// Refuses a replica whose id another folder has, see [`super::company`].
    fn not_a_twin(&mut self, replica: Option<ReplicaKey>, folder: Uuid) -> Result<(), wire::Refused> {
        let Some(replica) = replica else {
            return Ok(());
        };
        let votes = self.own.dynamic && self.raft.voter_set().contains(replica);
        let (now, patience) = (self.clock.ms(), self.folder_patience_ms);
        let replica_in = (replica.id, folder);
        if !self.company.is_twin(&self.own, replica_in, votes, now, patience) {
            return Ok(());
        }
        if self.company.met_twin() {
            let folder = storage::format_uuid(folder);
            crate::diary::warning!(
                "node {} is there twice: its folder {folder} is refused",
                replica.id
            );
        }
        Err(ResponseError::InvalidVoterKey)
    }

    fn begin_quorum_epoch(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<BeginQuorumEpochRequest>()?;
        let read = wire::begin::read_request(&self.own, request).and_then(|(ask, located)| {
            self.learn(located);
            if self.can_reach(ask.leader) {
                Ok(ask)
            } else {
                Err(ResponseError::InvalidRequest)
            }
        });
        Ok(match read {
            Ok(ask) => self.ask(raft::Request::BeginQuorumEpoch(ask), Asked::Begin(reply)),
            Err(error) => {
                let standing = self.as_response();
                reply.send(&wire::begin::refused(
                    error,
                    &standing,
                    self.place_of_leader(&standing),
                ));
                Ok(())
            }
        })
    }

    fn end_quorum_epoch(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<EndQuorumEpochRequest>()?;
        Ok(match wire::end::read_request(&self.own, request) {
            Ok((ask, located)) => {
                self.learn(located);
                self.ask(raft::Request::EndQuorumEpoch(ask), Asked::End(reply))
            }
            Err(error) => {
                reply.send(&wire::end::refused(error));
                Ok(())
            }
        })
    }

    fn fetch(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<FetchRequest>()?;
        let folder = wire::fetch::folder_of(&request);
        let read = wire::fetch::read_request(&self.own, request, reply.version())
            .and_then(|(ask, max_bytes)| self.not_a_twin(ask.replica, folder).map(|()| (ask, max_bytes)));
        Ok(match read {
            Ok((ask, max_bytes)) => self.ask(raft::Request::Fetch(ask), Asked::Fetch { reply, max_bytes }),
            Err(error) => {
                reply.send(&wire::fetch::refused(error));
                Ok(())
            }
        })
    }

    fn fetch_snapshot(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<FetchSnapshotRequest>()?;
        Ok(match wire::fetch_snapshot::read_request(&self.own, request) {
            Ok((ask, max_bytes)) => {
                let asked = Asked::FetchSnapshot { reply, max_bytes };
                self.ask(raft::Request::FetchSnapshot(ask), asked)
            }
            Err(error) => {
                reply.send(&wire::fetch_snapshot::refused(error));
                Ok(())
            }
        })
    }

    /// Before the machine is asked, the leader asks the new voter what it supports, which shows too that it
    /// can be reached (KIP-853, "AddRaftVoter": "send an ApiVersions request").
    fn add_voter(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<AddRaftVoterRequest>()?;
        let read = self
            .changeable()
            .and_then(|()| wire::add_voter::read_request(&self.own, request));
        let ask = match read {
            Ok(ask) => ask,
            Err(error) => {
                reply.send(&wire::add_voter::answer(error.code(), Some(why_not(error))));
                return Ok(Ok(()));
            }
        };
        if self.raft.role() == raft::Role::Leader {
            self.vet(ask, reply);
            return Ok(Ok(()));
        }
        Ok(self.ask(raft::Request::AddVoter(ask), Asked::AddVoter(reply)))
    }

    /// Hands the wish to the machine, with what the new voter said of itself.
    pub(super) fn add_vetted(
        &mut self,
        mut ask: raft::AddVoter,
        reply: Reply,
        supported: Option<(i16, i16)>,
    ) -> Result<(), Fatal> {
        let Some(supported) = supported else {
            let code = wire::refusal_code(Refusal::RequestTimedOut);
            let why = "the new voter does not answer at its endpoint: start it, or correct the endpoint";
            reply.send(&wire::add_voter::answer(code, Some(why)));
            return Ok(());
        };
        ask.voter.kraft_versions = supported;
        self.ask(raft::Request::AddVoter(ask), Asked::AddVoter(reply))
    }

    fn remove_voter(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<RemoveRaftVoterRequest>()?;
        let timeout = self.request_timeout_nanos;
        let read = self
            .changeable()
            .and_then(|()| wire::remove_voter::read_request(&self.own, request, timeout));
        Ok(match read {
            Ok(ask) => self.ask(raft::Request::RemoveVoter(ask), Asked::RemoveVoter(reply)),
            Err(error) => {
                reply.send(&wire::remove_voter::answer(error.code(), Some(why_not(error))));
                Ok(())
            }
        })
    }

    fn update_voter(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<UpdateRaftVoterRequest>()?;
        Ok(
            match self
                .changeable()
                .and_then(|()| wire::update_voter::read_request(&self.own, request))
            {
                Ok(ask) => self.ask(raft::Request::UpdateVoter(ask), Asked::UpdateVoter(reply)),
                Err(error) => {
                    reply.send(&wire::update_voter::refused(error));
                    Ok(())
                }
            },
        )
    }

    /// Fixed voters stay (`kraft.version` 0).
    fn changeable(&self) -> Result<(), wire::Refused> {
        if self.own.dynamic {
            Ok(())
        } else {
            Err(ResponseError::UnsupportedVersion)
        }
    }

    fn learn(&mut self, located: Option<Located>) {
        if let Some(located) = located {
            self.addresses.learn(&located);
        }
    }

    fn ask(&mut self, request: raft::Request, asked: Asked) -> Result<(), Fatal> {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        self.asked.insert(id, asked);
        self.handle(Event::Request { id, request })
    }

    /// What an answer says that the machine was not asked for.
    fn as_response(&self) -> Response<ReadRange> {
        let standing = self.raft.standing();
        Response {
            epoch: standing.epoch,
            leader: standing.leader,
            body: Body::Vote { granted: false },
        }
    }

    fn place_of_leader(&self, response: &Response<ReadRange>) -> Option<&Located> {
        self.addresses.located(response.leader?)
    }

    /// Sends the machine's answer to whoever waits for it.
    pub(super) fn reply(&mut self, to: RequestId, mut response: Response<ReadRange>) -> Result<(), Fatal> {
        let Some(asked) = self.asked.remove(&to) else {
            return Ok(());
        };
        let leader = self.place_of_leader(&response);
        let code = match response.body {
            Body::Refused(refusal) => wire::refusal_code(refusal),
            _ => 0,
        };
        let why = match response.body {
            Body::Refused(refusal) => Some(why_refused(refusal)),
            _ => None,
        };
        match asked {
            Asked::Vote(reply) => reply.send(&wire::vote::answer(&response, leader)),
            Asked::Begin(reply) => reply.send(&wire::begin::answer(&response, leader)),
            Asked::End(reply) => reply.send(&wire::end::answer(&response, leader)),
            Asked::Fetch { reply, max_bytes } => {
                let records = self.read_for(&response, max_bytes)?;
                reply.send(&wire::fetch::answer(&response, records, leader));
            }
            Asked::FetchSnapshot { reply, max_bytes } => {
                let piece = self.fill(&mut response, max_bytes)?;
                let leader = self.place_of_leader(&response);
                reply.send(&wire::fetch_snapshot::answer(&response, piece, leader));
            }
            Asked::AddVoter(reply) => reply.send(&wire::add_voter::answer(code, why)),
            Asked::RemoveVoter(reply) => reply.send(&wire::remove_voter::answer(code, why)),
            Asked::UpdateVoter(reply) => reply.send(&wire::update_voter::answer(&response, leader)),
        }
        Ok(())
    }

    fn read_for(&self, response: &Response<ReadRange>, max_bytes: usize) -> Result<Bytes, StorageError> {
        let Body::Fetch(raft::FetchAnswer {
            fetched: Fetched::Records(range),
            ..
        }) = &response.body
        else {
            return Ok(Bytes::new());
        };
        if range.from >= range.end {
            return Ok(Bytes::new());
        }
        let limit = ReadLimit {
            max_bytes,
            at_least_one: true,
            upper_bound: range.end,
        };
        self.log.read(range.from, limit)
    }

    /// Fills a piece of a snapshot in, or refuses it: the machine does not know files (KIP-630,
    /// "FetchSnapshot", on SNAPSHOT_NOT_FOUND and POSITION_OUT_OF_RANGE).
    fn fill(&self, response: &mut Response<ReadRange>, max_bytes: usize) -> Result<Bytes, StorageError> {
        let Body::FetchSnapshot(slice) = &mut response.body else {
            return Ok(Bytes::new());
        };
        let Some(snapshot) = self.snapshots.get(slice.snapshot) else {
            response.body = Body::Refused(Refusal::SnapshotNotFound);
            return Ok(Bytes::new());
        };
        if slice.position >= snapshot.size() {
            response.body = Body::Refused(Refusal::PositionOutOfRange);
            return Ok(Bytes::new());
        }
        let piece = snapshot.read_at(slice.position, max_bytes)?;
        slice.filled = Some(FilledSlice {
            size: snapshot.size(),
            length: piece.len() as u64,
        });
        Ok(piece)
    }
}

/// A malformed request closes its connection; otherwise it was dealt with, or the node cannot go on.
type Served = Result<Result<(), Fatal>, FrameError>;

/// Why a change of voters never reached the machine.
fn why_not(error: wire::Refused) -> &'static str {
    match error {
        ResponseError::UnsupportedVersion => {
            "the voters are fixed by controller.quorum.voters (kraft.version 0)"
        }
        ResponseError::InconsistentClusterId => "the request is another cluster's",
        _ => "a voter has an id, a directory's id, and an endpoint on the controllers' listener",
    }
}

/// Why the machine refuses a change of voters.
fn why_refused(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NotLeaderOrFollower => "only the active controller changes the voters",
        Refusal::DuplicateVoter => "a node of that id votes already: remove it first",
        Refusal::VoterNotFound => "no voter has that id and that directory's id",
        Refusal::RequestTimedOut => {
            "another change is not committed yet, the leader is new, or the voter has not caught up: try again"
        }
        Refusal::UnsupportedVersion => {
            "the voters are fixed (kraft.version 0), or the new one is no controller with the quorum's kraft.version"
        }
        _ => "the request cannot be taken",
    }
}
