//! One machine, and short ways to talk to it.
#![allow(dead_code)] // Each test file uses its own part.

use std::num::NonZeroU32;

use raft::*;

pub const MS: Nanos = 1_000_000;
/// Longer than any election timer (T..2T), shorter than two of them.
pub const ELECTION: Nanos = 2_000 * MS;
pub const FETCH_TIMEOUT: Nanos = 2_000 * MS;

pub struct Node {
    pub raft: Raft,
    pub now: Nanos,
    pub actions: Vec<Action>,
    requests: u64,
}

pub fn id(number: i32) -> NodeId {
    NodeId(number)
}

/// A replica without a folder.
pub fn key(number: i32) -> ReplicaKey {
    ReplicaKey::of(id(number))
}

/// Node 1 of voters 1, 2, 3.
pub fn voter() -> Node {
    start(1, &[1, 2, 3], QuorumState::default(), &[])
}

/// Node 9, which observes voters 1, 2, 3.
pub fn observer() -> Node {
    start(9, &[1, 2, 3], QuorumState::default(), &[])
}

/// A node whose log has that many records of each epoch.
pub fn start(node: i32, voters: &[i32], quorum: QuorumState, log: &[(Epoch, i64)]) -> Node {
    let voters: Vec<_> = voters.iter().copied().map(NodeId).collect();
    let config = Config::new(id(node), &voters, Timeouts::default()).unwrap();
    Node::from(Raft::start(0, config, quorum, summary(log), 7).unwrap())
}

impl From<(Raft, Vec<Action>)> for Node {
    fn from((raft, actions): (Raft, Vec<Action>)) -> Self {
        Self {
            raft,
            now: 0,
            actions,
            requests: 0,
        }
    }
}

pub fn summary(log: &[(Epoch, i64)]) -> LogSummary {
    let mut summary = LogSummary::default();
    for (epoch, records) in log {
        summary.epochs.push(EpochStart {
            epoch: *epoch,
            start_offset: summary.end_offset,
        });
        summary.end_offset += records;
    }
    summary
}

pub fn state(epoch: Epoch, leader: Option<i32>, voted: Option<i32>) -> QuorumState {
    QuorumState {
        epoch,
        leader: leader.map(NodeId),
        voted: voted.map(key),
    }
}

pub fn vote(candidate: i32, epoch: Epoch, last: (Epoch, i64)) -> VoteRequest {
    VoteRequest {
        pre_vote: false,
        epoch,
        candidate: key(candidate),
        last_epoch: last.0,
        last_offset: last.1,
    }
}

pub fn pre_vote(candidate: i32, epoch: Epoch, last: (Epoch, i64)) -> VoteRequest {
    VoteRequest {
        pre_vote: true,
        ..vote(candidate, epoch, last)
    }
}

pub fn fetch(replica: i32, epoch: Epoch, offset: i64, last_epoch: Epoch) -> FetchRequest {
    FetchRequest {
        replica: Some(key(replica)),
        epoch: Some(epoch),
        fetch_offset: offset,
        last_fetched_epoch: Some(last_epoch),
        high_watermark: Some(Offset::MAX),
        max_wait: 0,
    }
}

impl Node {
    pub fn event(&mut self, event: Event) -> &[Action] {
        self.actions = self.raft.handle(self.now, event);
        &self.actions
    }

    pub fn wait(&mut self, nanos: Nanos) -> &[Action] {
        self.now += nanos;
        self.event(Event::Tick)
    }

    /// Asks, and returns the answer if there is one yet.
    pub fn ask(&mut self, request: Request) -> Option<Response<ReadRange>> {
        self.requests += 1;
        let id = RequestId(self.requests);
        self.event(Event::Request { id, request });
        self.answer_to(self.requests)
    }

    /// The answer, among the last actions, to the request of that number.
    pub fn answer_to(&self, number: u64) -> Option<Response<ReadRange>> {
        self.actions.iter().find_map(|action| match action {
            Action::Reply { to, response } if to.0 == number => Some(response.clone()),
            _ => None,
        })
    }

    pub fn ask_vote(&mut self, request: VoteRequest) -> Body<ReadRange> {
        self.ask(Request::Vote(request)).unwrap().body
    }

    pub fn ask_fetch(&mut self, request: FetchRequest) -> Body<ReadRange> {
        self.ask(Request::Fetch(request)).unwrap().body
    }

    pub fn begin(&mut self, leader: i32, epoch: Epoch) -> Body<ReadRange> {
        let begin = BeginQuorumEpoch {
            epoch,
            leader: id(leader),
        };
        self.ask(Request::BeginQuorumEpoch(begin)).unwrap().body
    }

    /// The calls among the last actions.
    pub fn sent(&self) -> Vec<(i32, CallId, Request)> {
        let calls = self.actions.iter().filter_map(|action| match action {
            Action::Send { to, call, request } => Some((to.0, *call, request.clone())),
            _ => None,
        });
        calls.collect()
    }

    pub fn fetch_sent(&self) -> Option<(i32, CallId, FetchRequest)> {
        self.sent()
            .into_iter()
            .find_map(|(to, call, request)| match request {
                Request::Fetch(fetch) => Some((to, call, fetch)),
                _ => None,
            })
    }

    /// Answers a call that was made among the last actions.
    pub fn respond(&mut self, from: i32, body: Body<Vec<Batch>>) -> &[Action] {
        let (epoch, leader) = (self.raft.epoch(), self.raft.leader());
        self.respond_as(from, epoch, leader.map(|node| node.0), body)
    }

    pub fn respond_as(
        &mut self,
        from: i32,
        epoch: Epoch,
        leader: Option<i32>,
        body: Body<Vec<Batch>>,
    ) -> &[Action] {
        let call = self.sent().iter().find(|call| call.0 == from).expect("no call").1;
        let response = Response {
            epoch,
            leader: leader.map(NodeId),
            body,
        };
        self.event(Event::Response {
            from: id(from),
            call,
            response,
        })
    }

    /// Becomes leader with node 2's votes.
    pub fn elect(&mut self) {
        self.wait(ELECTION);
        assert_eq!(self.raft.role(), Role::Prospective);
        self.respond(2, Body::Vote { granted: true });
        assert_eq!(self.raft.role(), Role::Candidate);
        self.respond(2, Body::Vote { granted: true });
        assert_eq!(self.raft.role(), Role::Leader);
    }

    pub fn append(&mut self, records: u32) {
        let records = NonZeroU32::new(records).unwrap();
        let epoch = self.raft.epoch();
        self.actions = self.raft.append(self.now, epoch, records).unwrap();
    }

    /// Hands back the newest ticket among the last actions.
    pub fn sync(&mut self) -> &[Action] {
        let ticket = self.ticket().expect("nothing to sync");
        self.event(Event::Synced(ticket))
    }

    pub fn ticket(&self) -> Option<SyncTicket> {
        self.actions.iter().rev().find_map(|action| match action {
            Action::Sync(ticket) => Some(*ticket),
            _ => None,
        })
    }

    pub fn persisted(&self) -> Option<QuorumState> {
        self.place(|action| matches!(action, Action::Persist(_)))
            .map(|at| match &self.actions[at] {
                Action::Persist(state) => *state,
                _ => unreachable!(),
            })
    }

    pub fn place(&self, of: impl Fn(&Action) -> bool) -> Option<usize> {
        self.actions.iter().position(of)
    }

    pub fn committed(&self) -> Option<Offset> {
        self.actions.iter().find_map(|action| match action {
            Action::Commit { high_watermark } => Some(*high_watermark),
            _ => None,
        })
    }

    pub fn has(&self, action: &Action) -> bool {
        self.actions.contains(action)
    }
}

pub fn granted() -> Body<ReadRange> {
    Body::Vote { granted: true }
}

pub fn denied() -> Body<ReadRange> {
    Body::Vote { granted: false }
}

pub fn refused(refusal: Refusal) -> Body<ReadRange> {
    Body::Refused(refusal)
}

/// A leader's answer with records of these (base, end, epoch).
pub fn records(high_watermark: Option<i64>, batches: &[(i64, i64, Epoch)]) -> Body<Vec<Batch>> {
    let batches = batches.iter().map(|(base_offset, end_offset, epoch)| Batch {
        base_offset: *base_offset,
        end_offset: *end_offset,
        epoch: *epoch,
        voters: None,
    });
    Body::Fetch(FetchAnswer {
        high_watermark,
        fetched: Fetched::Records(batches.collect()),
    })
}

pub fn diverging<R>(epoch: Epoch, end_offset: i64) -> Body<R> {
    Body::Fetch(FetchAnswer {
        high_watermark: None,
        fetched: Fetched::Diverging(EpochEnd { epoch, end_offset }),
    })
}

/// An answer, as the driver sees it before it fills in the records.
pub fn range(high_watermark: Option<i64>, from: i64, end: i64) -> Body<ReadRange> {
    Body::Fetch(FetchAnswer {
        high_watermark,
        fetched: Fetched::Records(ReadRange { from, end }),
    })
}
