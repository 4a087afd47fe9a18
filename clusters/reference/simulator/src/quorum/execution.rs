//! The driver: carries out a machine's actions, in order, unless the node crashes in between.

use raft::{
    Action, Batch, Body, CallId, Epoch, FetchAnswer, Fetched, LeaderChange, NodeId, Offset, Raft, ReadRange,
    Request, RequestId, Response, Role, SyncTicket,
};

use super::disk::{length, offset};
use super::network::{Content, Packet};
use super::settings::MILLISECOND;
use super::world::{Happening, World, node_id};
use super::{Application, Record, Sabotage, Violation, Wish};

impl<A: Application> World<A> {
    /// Carries out all actions of one event, and what the application makes of them.
    pub(super) fn carry_out(
        &mut self,
        at: usize,
        actions: Vec<Action>,
        records: &[Record<A::Payload>],
    ) -> Result<(), Violation> {
        let crash_before = self.crash_point(at, actions.len());
        for (number, action) in actions.into_iter().enumerate() {
            if crash_before == Some(number) {
                self.crash(at);
                return Ok(());
            }
            self.act(at, action, records)?;
        }
        self.grant_wishes(at)?;
        self.check_leading(at)?;
        self.wake_later(at)
    }

    /// A leader only appends.
    fn check_leading(&mut self, at: usize) -> Result<(), Violation> {
        let node = &self.nodes[at];
        match &node.raft {
            Some(raft) if raft.role() == Role::Leader => {
                self.checks.leads(at, raft.epoch(), node.disk.log())
            }
            _ => Ok(()),
        }
    }

    /// Asks the application what it wishes until it wishes nothing.
    pub(super) fn grant_wishes(&mut self, at: usize) -> Result<(), Violation> {
        while let Some(raft) = &mut self.nodes[at].raft {
            let Some(wish) = self.app.after_step(self.now, at, raft)? else {
                break;
            };
            let actions = match wish {
                Wish::Stop(down) => {
                    self.stop(at, down);
                    return Ok(());
                }
                Wish::Resign => raft.handle(self.now, raft::Event::Resign),
                Wish::Append(epoch, payloads) => {
                    let Some(actions) = append(raft, self.now, epoch, payloads.len()) else {
                        continue;
                    };
                    self.write_own(at, epoch, payloads)?;
                    actions
                }
            };
            let crash_before = self.crash_point(at, actions.len());
            for (number, action) in actions.into_iter().enumerate() {
                if crash_before == Some(number) {
                    self.crash(at);
                    return Ok(());
                }
                self.act(at, action, &[])?;
            }
            self.wake_later(at)?;
        }
        Ok(())
    }

    /// One batch, written by its leader. The machine's Append follows, and agrees.
    fn write_own(&mut self, at: usize, epoch: Epoch, payloads: Vec<A::Payload>) -> Result<(), Violation> {
        let labelled = payloads.into_iter().map(|payload| {
            let fingerprint = A::fingerprint(&payload);
            (Some(payload), fingerprint)
        });
        self.write_batch(at, epoch, labelled.collect())
    }

    fn write_batch(
        &mut self,
        at: usize,
        epoch: Epoch,
        batch: Vec<(Option<A::Payload>, u64)>,
    ) -> Result<(), Violation> {
        let disk = &mut self.nodes[at].disk;
        let base = disk.log().len();
        disk.write(epoch, batch);
        self.check_written(at, base)
    }

    fn check_written(&mut self, at: usize, base: usize) -> Result<(), Violation> {
        let log = self.nodes[at].disk.log();
        for (position, record) in log.iter().enumerate().skip(base) {
            self.checks.wrote(at, position, record)?;
        }
        Ok(())
    }

    fn act(&mut self, at: usize, action: Action, records: &[Record<A::Payload>]) -> Result<(), Violation> {
        match action {
            Action::Persist(quorum) => self.persist(at, quorum),
            Action::Standing(standing) => self.check_standing(at, standing),
            Action::AppendLeaderChange(change) => self.write_leader_change(at, &change),
            Action::Append { base_offset, .. } => self.check_append(at, base_offset),
            Action::AppendFetched { batches } => self.write_fetched(at, batches, records),
            Action::Truncate { end_offset } => self.truncate(at, end_offset),
            Action::Sync(ticket) => self.sync_later(at, ticket),
            Action::Commit { high_watermark } => self.commit(at, high_watermark),
            Action::Send { to, call, request } => {
                self.send(at, to, call, request);
                Ok(())
            }
            Action::Reply { to, response } => self.reply(at, to, response),
            Action::AppendVoters { .. }
            | Action::WriteSnapshotPart { .. }
            | Action::InstallSnapshot(_)
            | Action::AbandonSnapshot(_) => Err(Violation::Contract(
                "voters are fixed and there are no snapshots, yet the machine acts as if not".to_owned(),
            )),
            Action::Fatal(reason) => Err(Violation::Fatal(reason)),
        }
    }

    fn persist(&mut self, at: usize, quorum: raft::QuorumState) -> Result<(), Violation> {
        let key = self.key_of(at);
        self.check_epoch(key, quorum.epoch)?;
        let node = &mut self.nodes[at];
        if self.settings.sabotage != Some(Sabotage::ForgetQuorumState) {
            node.disk.persist(quorum);
        }
        // A vote for oneself counts from here on.
        match quorum.voted {
            Some(candidate) if candidate == key => {
                let durable = self.durable_quorum(at, quorum);
                self.checks.voted(key, quorum.epoch, candidate, durable)
            }
            _ => Ok(()),
        }
    }

    /// What the disk has of the quorum state; under sabotage, what it claims to have, so that the
    /// rules show what comes of the lie rather than the lie.
    fn durable_quorum(&self, at: usize, claimed: raft::QuorumState) -> raft::QuorumState {
        if self.settings.sabotage == Some(Sabotage::ForgetQuorumState) {
            claimed
        } else {
            self.nodes[at].disk.quorum()
        }
    }

    fn check_standing(&mut self, at: usize, standing: raft::Standing) -> Result<(), Violation> {
        let key = self.key_of(at);
        self.check_epoch(key, standing.epoch)?;
        let log = self.nodes[at].disk.log();
        match standing.role {
            Role::Candidate => self.checks.vote_stands(key, standing.epoch, key),
            Role::Leader => self.checks.elected(at, standing.epoch, log),
            _ => Ok(()),
        }
    }

    /// Under this sabotage the rules are to show what comes of the lie, not the lie.
    fn check_epoch(&mut self, replica: raft::ReplicaKey, epoch: Epoch) -> Result<(), Violation> {
        if self.settings.sabotage == Some(Sabotage::ForgetQuorumState) {
            return Ok(());
        }
        self.checks.in_epoch(replica, epoch)
    }

    fn key_of(&self, at: usize) -> raft::ReplicaKey {
        let raft = self.nodes[at].raft.as_ref();
        raft.map_or_else(|| raft::ReplicaKey::of(node_id(at)), |raft| raft.config().key())
    }

    fn write_leader_change(&mut self, at: usize, change: &LeaderChange) -> Result<(), Violation> {
        let node = &mut self.nodes[at];
        if offset(node.disk.log().len()) != change.base_offset {
            return Err(Violation::Contract(format!(
                "node {at} is to write {change:?} at the end of a log of {}",
                node.disk.log().len()
            )));
        }
        let fingerprint = u64::from(change.leader.0.unsigned_abs());
        self.write_batch(at, change.epoch, vec![(None, fingerprint)])
    }

    fn check_append(&self, at: usize, base_offset: Offset) -> Result<(), Violation> {
        let raft_end = self.nodes[at].raft.as_ref().map(Raft::log_end_offset);
        let end = offset(self.nodes[at].disk.log().len());
        if base_offset < end && raft_end == Some(end) {
            return Ok(());
        }
        Err(Violation::Contract(format!(
            "node {at} appended at {base_offset}; log {end}, machine {raft_end:?}"
        )))
    }

    fn write_fetched(
        &mut self,
        at: usize,
        batches: usize,
        records: &[Record<A::Payload>],
    ) -> Result<(), Violation> {
        self.forbid_to_leader(at, "copied records")?;
        let disk = &mut self.nodes[at].disk;
        let base = disk.log().len();
        let mut left = batches;
        for record in records {
            if left == 0 {
                break;
            }
            left -= usize::from(record.ends_batch);
            disk.copy(record.clone());
        }
        self.check_written(at, base)
    }

    fn truncate(&mut self, at: usize, end_offset: Offset) -> Result<(), Violation> {
        self.forbid_to_leader(at, "truncated its log")?;
        if self.settings.sabotage != Some(Sabotage::SkipTruncation) {
            self.nodes[at].disk.truncate(length(end_offset));
        }
        Ok(())
    }

    fn forbid_to_leader(&self, at: usize, what: &str) -> Result<(), Violation> {
        match self.nodes[at].raft.as_ref().map(Raft::role) {
            Some(Role::Leader) => Err(Violation::LeaderAppendOnly(format!("leader {at} {what}"))),
            _ => Ok(()),
        }
    }

    fn sync_later(&mut self, at: usize, ticket: SyncTicket) -> Result<(), Violation> {
        let delay = if self.settings.sabotage == Some(Sabotage::LieAboutSync) {
            1
        } else if self.random.per_mille(900) {
            self.random.between(MILLISECOND / 10, 2 * MILLISECOND)
        } else {
            self.random.between(2 * MILLISECOND, 40 * MILLISECOND)
        };
        let incarnation = self.nodes[at].incarnation;
        self.schedule(delay, Happening::Synced(at, incarnation, ticket));
        Ok(())
    }

    pub(super) fn sync_disk(&mut self, at: usize, ticket: SyncTicket) {
        if self.settings.sabotage != Some(Sabotage::LieAboutSync) {
            self.nodes[at].disk.sync(length(ticket.end_offset()));
        }
    }

    fn commit(&mut self, at: usize, high_watermark: Offset) -> Result<(), Violation> {
        let node = &mut self.nodes[at];
        let before = node.high_watermark.unwrap_or(0);
        if high_watermark <= before {
            return Err(Violation::HighWatermarkMovedBack(format!(
                "node {at} goes from {before} to {high_watermark}"
            )));
        }
        node.high_watermark = Some(high_watermark);
        let Some(raft) = &node.raft else {
            return Ok(());
        };
        let (epoch, leads) = (raft.epoch(), raft.role() == Role::Leader);
        self.checks
            .commit(at, epoch, node.disk.log(), (before, high_watermark))?;
        // Under this sabotage the rules are to show what comes of the lie, not the lie.
        if leads && self.settings.sabotage != Some(Sabotage::LieAboutSync) {
            let voters = self.nodes[..self.settings.voters].iter();
            let logs = voters.map(|voter| Some(voter.disk.durable_log()));
            self.checks.durable(at, high_watermark, logs)?;
        }
        for position in length(before)..length(high_watermark) {
            let record = &self.nodes[at].disk.log()[position];
            let payload = record.payload.as_ref();
            self.app
                .apply(self.now, at, offset(position), record.epoch, payload)?;
        }
        Ok(())
    }

    fn send(&mut self, from: usize, to: NodeId, call: CallId, mut request: Request) {
        let sabotage = self.settings.sabotage;
        match &mut request {
            Request::Vote(vote) if sabotage == Some(Sabotage::BoastInVotes) => {
                vote.last_epoch = vote.epoch - i32::from(!vote.pre_vote);
                vote.last_offset = Offset::MAX;
            }
            Request::Fetch(fetch) if sabotage == Some(Sabotage::HideDivergence) => {
                fetch.last_fetched_epoch = fetch.epoch;
            }
            _ => {}
        }
        let to = length(i64::from(to.0));
        let incarnation = self.nodes[from].incarnation;
        self.post(Packet {
            from,
            to,
            incarnation,
            call,
            content: Content::Request(request),
        });
    }

    fn reply(&mut self, at: usize, to: RequestId, response: Response<ReadRange>) -> Result<(), Violation> {
        let Some(asked) = self.nodes[at].asked.remove(&to) else {
            return Err(Violation::Contract(format!("node {at} answered {to:?} twice")));
        };
        if let (Request::Vote(vote), Body::Vote { granted: true }) = (&asked.request, &response.body)
            && !vote.pre_vote
        {
            let claimed = raft::QuorumState {
                epoch: vote.epoch,
                leader: None,
                voted: Some(vote.candidate),
            };
            let durable = self.durable_quorum(at, claimed);
            let key = self.key_of(at);
            self.checks.voted(key, vote.epoch, vote.candidate, durable)?;
        }
        let (response, records) = self.fill(at, response);
        self.post(Packet {
            from: at,
            to: asked.from,
            incarnation: asked.incarnation,
            call: asked.call,
            content: Content::Response(response, records),
        });
        Ok(())
    }

    /// Reads the records an answer promises.
    fn fill(
        &self,
        at: usize,
        response: Response<ReadRange>,
    ) -> (Response<Vec<Batch>>, Vec<Record<A::Payload>>) {
        let mut records = Vec::new();
        let body = match response.body {
            Body::FetchSnapshot(slice) => Body::FetchSnapshot(slice),
            Body::VotersChanged => Body::VotersChanged,
            Body::Fetch(FetchAnswer {
                high_watermark,
                fetched,
            }) => {
                let mut high_watermark = high_watermark;
                let fetched = match fetched {
                    Fetched::Snapshot(snapshot) => Fetched::Snapshot(snapshot),
                    Fetched::Diverging(end) => Fetched::Diverging(end),
                    Fetched::Records(ReadRange { from, end }) => {
                        let disk = &self.nodes[at].disk;
                        let from = length(from).min(disk.log().len());
                        let to = disk.read_up_to(from, self.settings.fetch_max);
                        records = disk.log()[from..to.min(length(end))].to_vec();
                        Fetched::Records(batches(from, &records))
                    }
                };
                if self.settings.sabotage == Some(Sabotage::InflateHighWatermark) {
                    high_watermark = Some(offset(self.nodes[at].disk.log().len()));
                }
                Body::Fetch(FetchAnswer {
                    high_watermark,
                    fetched,
                })
            }
            Body::Vote { granted } => {
                let forged = self.settings.sabotage == Some(Sabotage::ForgeBallots);
                Body::Vote {
                    granted: granted || forged,
                }
            }
            Body::BeginQuorumEpoch => Body::BeginQuorumEpoch,
            Body::EndQuorumEpoch => Body::EndQuorumEpoch,
            Body::Refused(refusal) => Body::Refused(refusal),
        };
        let Response { epoch, leader, .. } = response;
        (Response { epoch, leader, body }, records)
    }

    /// Gives a message to the network, which may lose it, double it, or be slow.
    fn post(&mut self, packet: Packet<A::Payload>) {
        let dead = self.settings.sabotage == Some(Sabotage::DeadNetwork);
        let carried = self.network.carries(packet.from, packet.to) && !dead;
        if !carried || self.network.loses(&mut self.random) {
            if self.random.per_mille(300) {
                let (caller, callee) = match packet.content {
                    Content::Request(_) => (packet.from, packet.to),
                    _ => (packet.to, packet.from),
                };
                self.break_connection(caller, callee, packet.incarnation, packet.call);
            }
            return;
        }
        if self.network.duplicates(&mut self.random) {
            let delay = self.network.delay(&mut self.random);
            self.schedule(delay, Happening::Arrival(packet.clone()));
        }
        let delay = self.network.delay(&mut self.random);
        self.schedule(delay, Happening::Arrival(packet));
    }

    /// The caller notices, after a while, that its connection is gone.
    pub(super) fn break_connection(&mut self, caller: usize, callee: usize, incarnation: u64, call: CallId) {
        let delay = self.network.delay(&mut self.random);
        let packet = Packet {
            from: callee,
            to: caller,
            incarnation,
            call,
            content: Content::Broken,
        };
        self.schedule(delay, Happening::Arrival(packet));
    }
}

/// Appends at the machine. None when it does not lead that epoch.
fn append(raft: &mut Raft, now: u64, epoch: Epoch, records: usize) -> Option<Vec<Action>> {
    let records = std::num::NonZeroU32::new(u32::try_from(records).ok()?)?;
    raft.append(now, epoch, records).ok()
}

fn batches<P>(from: usize, records: &[Record<P>]) -> Vec<Batch> {
    let mut base = from;
    let whole = records.split_inclusive(|record| record.ends_batch);
    whole
        .map(|batch| {
            let base_offset = offset(base);
            base += batch.len();
            Batch {
                base_offset,
                end_offset: offset(base),
                epoch: batch[0].epoch,
                voters: None,
            }
        })
        .collect()
}
