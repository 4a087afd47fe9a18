//! Executes what the machine decides, in order.

use raft::{Action, Body, CallId, Event, Fetched, NodeId};
use storage::quorum_state::{self, Version, VotedKey};
use storage::{BatchBuilder, StorageError};

use super::company::Stranger;
use super::exchange::Outcome;
use super::{Fatal, Quorum, control, wire};
use crate::diary::{info, warning};

/// What the machine is executing for.
pub enum Context<'a> {
    Nothing,
    /// An answer of a peer.
    Heard(&'a Content),
    /// A batch to append.
    Batch(&'a BatchBuilder),
}

/// What an answer holds that the machine does not see.
pub struct Content {
    pub bytes: bytes::Bytes,
    /// Of the snapshot that the bytes are a piece of.
    pub snapshot_size: u64,
}

impl Quorum {
    pub(super) fn handle(&mut self, event: Event) -> Result<(), Fatal> {
        self.handle_with(event, &Context::Nothing)
    }

    fn handle_with(&mut self, event: Event, context: &Context<'_>) -> Result<(), Fatal> {
        let actions = self.raft.handle(self.clock.nanos(), event);
        self.carry_out_with(actions, context)
    }

    pub(super) fn carry_out(&mut self, actions: Vec<Action>) -> Result<(), Fatal> {
        self.carry_out_with(actions, &Context::Nothing)
    }

    /// Executes actions, and then those that what they gave rise to leads to.
    pub(super) fn carry_out_with(
        &mut self,
        actions: Vec<Action>,
        context: &Context<'_>,
    ) -> Result<(), Fatal> {
        for action in actions {
            self.execute(action, context)?;
        }
        while let Some(event) = self.arising.pop_front() {
            for action in self.raft.handle(self.clock.nanos(), event) {
                self.execute(action, &Context::Nothing)?;
            }
        }
        Ok(())
    }

    /// Hands to the machine what came of a request.
    pub(super) fn take_outcome(&mut self, from: NodeId, call: CallId, outcome: Outcome) -> Result<(), Fatal> {
        match outcome {
            Outcome::Heard(heard) => {
                self.company.met_own();
                return self.take_heard(from, call, heard);
            }
            Outcome::Failed => {}
            Outcome::OtherCluster => self.met_stranger(from)?,
            Outcome::Twin if self.company.met_twin() => warning!(
                "the leader refuses this node: another folder has its node.id {} and is heard; stop one of the two",
                self.own.node_id
            ),
            Outcome::Twin => {}
        }
        self.handle(Event::CallFailed { to: from, call })
    }

    fn met_stranger(&mut self, from: NodeId) -> Result<(), Fatal> {
        let voters = self.raft.voter_set().len();
        let asked = if voters > 0 {
            voters
        } else {
            self.addresses.bootstrap().len()
        };
        let address = self.addresses.address(from);
        let at = address.map_or_else(|| "an unknown address".into(), |address| address.to_string());
        match self.company.met_stranger(from, asked) {
            Stranger::Known => Ok(()),
            Stranger::New => {
                warning!("the controller at {at} is not of cluster {}", self.own.cluster_id);
                Ok(())
            }
            Stranger::ThisNode => Err(Fatal::Quorum(format!(
                "this folder is formatted for cluster {}, and the controllers, the one at {at} among them, are of another",
                self.own.cluster_id
            ))),
        }
    }

    /// Hands an answer of a peer to the machine. Where nodes are is learnt first: the machine may want to
    /// talk to them at once.
    fn take_heard(&mut self, from: NodeId, call: CallId, mut heard: wire::Heard) -> Result<(), Fatal> {
        for located in &heard.nodes {
            self.addresses.learn(located);
        }
        let mut snapshot_size = 0;
        match &heard.response.body {
            Body::Fetch(answer) => {
                if let Fetched::Records(batches) = &answer.fetched {
                    for at in batches.iter().filter_map(|batch| batch.voters.as_ref()) {
                        self.addresses.learn_voters(&at.voters);
                    }
                }
            }
            Body::FetchSnapshot(slice) => snapshot_size = slice.filled.map_or(0, |filled| filled.size),
            _ => {}
        }
        let leader = heard.response.leader;
        heard.response.leader = leader.filter(|leader| self.can_reach(*leader));
        let content = Content {
            bytes: heard.bytes,
            snapshot_size,
        };
        let response = heard.response;
        self.handle_with(
            Event::Response { from, call, response },
            &Context::Heard(&content),
        )
    }

    /// A leader that cannot be reached is as good as none.
    pub(super) fn can_reach(&self, leader: NodeId) -> bool {
        leader.0 == self.own.node_id || self.addresses.address(leader).is_some()
    }

    fn execute(&mut self, action: Action, context: &Context<'_>) -> Result<(), Fatal> {
        match action {
            Action::Persist(state) => self.persist(state)?,
            Action::Standing(_) => self.standing_changed = true,
            Action::AppendLeaderChange(change) => {
                let batch = control::leader_change(&change, self.clock.wall_ms());
                self.append_control(batch, change.base_offset, change.epoch)?;
            }
            Action::AppendVoters {
                base_offset,
                epoch,
                voters,
            } => {
                self.addresses.learn_voters(&voters);
                let names: Vec<String> = voters.keys().map(|key| key.to_string()).collect();
                info!("from offset {base_offset} on the voters are {}", names.join(", "));
                let batch = control::voters(&voters, self.clock.wall_ms());
                self.append_control(batch, base_offset, epoch)?;
            }
            Action::Append { base_offset, epoch } => {
                if let Context::Batch(batch) = context {
                    let bytes = batch
                        .build(base_offset, epoch)
                        .map_err(|error| Fatal::Quorum(error.to_string()))?;
                    self.log.append_as_follower(&bytes)?;
                }
            }
            Action::AppendFetched { batches } => {
                if let Context::Heard(content) = context {
                    let whole = wire::fetch::whole_batches(&content.bytes).take(batches);
                    let bytes: usize = whole.map(|(header, _)| header.total_bytes).sum();
                    self.log.append_as_follower(&content.bytes[..bytes])?;
                }
            }
            Action::Truncate { end_offset } => {
                info!(
                    "the metadata log is cut from {} to {end_offset}, where it departs from the leader's",
                    self.log.end_offset()
                );
                self.log.truncate_to(end_offset)?;
            }
            Action::WriteSnapshotPart { snapshot, position } => {
                if let Context::Heard(content) = context {
                    self.snapshots.take_piece(snapshot, position, content)?;
                }
            }
            Action::InstallSnapshot(snapshot) => self.install_snapshot(snapshot)?,
            Action::AbandonSnapshot(snapshot) => self.snapshots.abandon(snapshot),
            Action::Sync(ticket) => self.ticket = Some(ticket),
            Action::Commit { high_watermark } => self.high_watermark = high_watermark,
            Action::Send { to, call, request } => self.send(to, call, request),
            Action::Reply { to, response } => self.reply(to, response)?,
            Action::Fatal(fatal) => return Err(Fatal::Quorum(fatal.to_string())),
        }
        Ok(())
    }

    fn persist(&self, state: raft::QuorumState) -> Result<(), StorageError> {
        let directory = |key| Some(wire::directory(key)).filter(|id| !id.is_nil());
        let stored = quorum_state::QuorumState {
            leader_epoch: state.epoch,
            leader_id: state.leader.map(|id| id.0),
            voted: state.voted.map(|key| VotedKey {
                id: key.id.0,
                directory_id: directory(key),
            }),
        };
        if self.own.dynamic {
            return stored.write(&self.state_path, Version::V1);
        }
        let voters: Vec<i32> = self.raft.voter_set().keys().map(|key| key.id.0).collect();
        stored.write(&self.state_path, Version::V0 { voters: &voters })
    }

    fn append_control(
        &mut self,
        batch: Result<BatchBuilder, String>,
        base_offset: i64,
        epoch: i32,
    ) -> Result<(), Fatal> {
        let bytes =
            batch.and_then(|batch| batch.build(base_offset, epoch).map_err(|error| error.to_string()));
        let bytes =
            bytes.map_err(|why| Fatal::Quorum(format!("a control batch cannot be written: {why}")))?;
        self.log.append_as_follower(&bytes)?;
        Ok(())
    }
}
