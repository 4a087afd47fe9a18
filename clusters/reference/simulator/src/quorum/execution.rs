//! The driver: carries out a machine's actions, in order, unless the node crashes in between.

use raft::{
    Action, Batch, Body, Epoch, FetchAnswer, Fetched, LeaderChange, Offset, Raft, ReadRange, Request,
    RequestId, Response, Role, SyncTicket, VoterSet,
};

use super::log::{batches, length, offset};
use super::network::{Cargo, Content, Packet};
use super::settings::MILLISECOND;
use super::world::{Happening, World};
use super::{Application, Disk, Sabotage, Violation, Wish};
use crate::Random;
use crate::random::mix;

impl<A: Application> World<A> {
    /// Carries out all actions of one event, and what the application makes of them.
    pub(super) fn carry_out(
        &mut self,
        at: usize,
        actions: Vec<Action>,
        cargo: &Cargo<A::Payload>,
    ) -> Result<(), Violation> {
        if self.act_all(at, actions, cargo)? {
            self.grant_wishes(at)?;
            self.check_leading(at)?;
            self.wake_later(at)?;
        }
        Ok(())
    }

    /// Carries out a list of actions. False when the node lost power on the way.
    fn act_all(
        &mut self,
        at: usize,
        actions: Vec<Action>,
        cargo: &Cargo<A::Payload>,
    ) -> Result<bool, Violation> {
        let crash = self.crash_point(at, actions.len());
        let mut crash = crash.as_ref().map(|(point, chance)| (*point, chance.clone()));
        for (number, action) in actions.into_iter().enumerate() {
            if let Some((_, chance)) = crash.as_mut().filter(|(point, _)| *point == number) {
                // The quorum state may be the new one already, though nothing was done after it.
                if let (Action::Persist(quorum), true) = (&action, chance.per_mille(500)) {
                    self.persist(at, *quorum)?;
                }
                self.crash(at, chance);
                return Ok(false);
            }
            self.act(at, action, cargo)?;
        }
        Ok(true)
    }

    /// A leader only appends.
    fn check_leading(&mut self, at: usize) -> Result<(), Violation> {
        let node = &self.nodes[at];
        match &node.raft {
            Some(raft) if raft.role() == Role::Leader => self.checks.leads(at, raft.epoch(), node.disk.log()),
            _ => Ok(()),
        }
    }

    /// Asks the application what it wishes until it wishes nothing.
    pub(super) fn grant_wishes(&mut self, at: usize) -> Result<(), Violation> {
        loop {
            let node = &mut self.nodes[at];
            let Some(raft) = &mut node.raft else {
                break;
            };
            let Some(wish) = self.app.after_step(self.now, at, raft)? else {
                break;
            };
            let now = node.clock.read(self.now);
            let actions = match wish {
                Wish::Stop(down) => {
                    self.stop(at, down);
                    return Ok(());
                }
                Wish::Resign => raft.handle(now, raft::Event::Resign),
                Wish::Append(epoch, payloads) => {
                    let Some(actions) = append(raft, now, epoch, payloads.len()) else {
                        continue;
                    };
                    self.write_own(at, epoch, payloads)?;
                    actions
                }
            };
            self.counts.note(&actions);
            if !self.act_all(at, actions, &Cargo::none())? {
                return Ok(());
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
        let disk = &mut self.nodes[at].disk;
        let base = disk.log().end();
        disk.write(epoch, labelled.collect());
        self.check_written(at, base)
    }

    /// One batch of the quorum's own records.
    fn write_control(
        &mut self,
        at: usize,
        base_offset: Offset,
        epoch: Epoch,
        batch: Vec<(Option<VoterSet>, u64)>,
    ) -> Result<(), Violation> {
        let disk = &mut self.nodes[at].disk;
        let base = disk.log().end();
        if offset(base) != base_offset {
            return Err(Violation::Contract(format!(
                "node {at} is to write at {base_offset}, and its log ends at {base}"
            )));
        }
        disk.write_control(epoch, batch);
        self.check_written(at, base)
    }

    fn check_written(&mut self, at: usize, base: usize) -> Result<(), Violation> {
        let log = self.nodes[at].disk.log();
        for (position, record) in (base..).zip(log.range(base, log.end())) {
            self.checks.wrote(at, position, record)?;
        }
        Ok(())
    }

    fn act(&mut self, at: usize, action: Action, cargo: &Cargo<A::Payload>) -> Result<(), Violation> {
        match action {
            Action::Persist(quorum) => self.persist(at, quorum),
            Action::Standing(standing) => self.check_standing(at, standing),
            Action::AppendLeaderChange(change) => self.write_leader_change(at, change),
            Action::AppendVoters {
                base_offset,
                epoch,
                voters,
            } => {
                let print = fingerprint(&voters);
                self.write_control(at, base_offset, epoch, vec![(Some(voters), print)])
            }
            Action::Append { base_offset, .. } => self.check_append(at, base_offset),
            Action::AppendFetched { batches } => self.write_fetched(at, batches, cargo),
            Action::Truncate { end_offset } => self.truncate(at, end_offset),
            Action::Sync(ticket) => self.sync_later(at, ticket),
            Action::Commit { high_watermark } => self.commit(at, high_watermark),
            Action::Send { to, call, request } => self.send(at, to, call, request),
            Action::Reply { to, response } => self.reply(at, to, response),
            Action::WriteSnapshotPart { snapshot, position } => {
                self.write_part(at, snapshot, position, cargo)
            }
            Action::InstallSnapshot(snapshot) => {
                self.install_later(at, snapshot);
                Ok(())
            }
            Action::AbandonSnapshot(_) => {
                self.abandon_part(at);
                Ok(())
            }
            // With a bug on, that a machine notices is no catch: the node is down, and the rules are to
            // show what came of the bug.
            Action::Fatal(_) if self.settings.bug.is_some() => {
                let mut chance = Random::new(self.random.word());
                self.crash(at, &mut chance);
                Ok(())
            }
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
        self.nodes[at].key(at)
    }

    /// Of one record, or, where the log does not name the voters yet, of three.
    fn write_leader_change(&mut self, at: usize, change: LeaderChange) -> Result<(), Violation> {
        let mut batch = vec![(None, u64::from(change.leader.0.unsigned_abs()))];
        if let Some(voters) = change.voter_set {
            let print = fingerprint(&voters);
            batch.extend([(None, 1), (Some(voters), print)]);
        }
        self.write_control(at, change.base_offset, change.epoch, batch)
    }

    fn check_append(&self, at: usize, base_offset: Offset) -> Result<(), Violation> {
        let raft_end = self.nodes[at].raft.as_ref().map(Raft::log_end_offset);
        let end = offset(self.nodes[at].disk.log().end());
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
        cargo: &Cargo<A::Payload>,
    ) -> Result<(), Violation> {
        self.forbid_to_leader(at, "copied records")?;
        let disk = &mut self.nodes[at].disk;
        let base = disk.log().end();
        let mut left = batches;
        for record in &cargo.records {
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
        let known = self.checks.committed();
        self.checks
            .commit(at, epoch, node.disk.log(), (before, high_watermark))?;
        self.note_committed_voters(at, known);
        // Under this sabotage the rules are to show what comes of the lie, not the lie.
        if leads && self.settings.sabotage != Some(Sabotage::LieAboutSync) {
            let disks = self.voters_disks(at);
            self.checks.durable(at, high_watermark, disks.into_iter())?;
        }
        self.apply(at, length(high_watermark))?;
        self.maybe_plan_snapshot(at);
        Ok(())
    }

    /// The disks of those who vote, as that node's log has it; none for one that is gone.
    fn voters_disks(&self, at: usize) -> Vec<Option<&Disk<A::Payload>>> {
        let Some(named) = self.nodes[at].disk.voters_below(usize::MAX) else {
            let voters = self.nodes[..self.settings.voters].iter();
            return voters.map(|voter| Some(&voter.disk)).collect();
        };
        let disk = |key: raft::ReplicaKey| {
            let place = length(i64::from(key.id.0));
            let node = self.nodes.get(place)?;
            (node.key(place) == key).then_some(&node.disk)
        };
        named.voters.keys().map(disk).collect()
    }

    /// Which voters are known to be committed, now that more than `known` records are.
    fn note_committed_voters(&mut self, at: usize, known: usize) {
        let committed = offset(self.checks.committed());
        let changes = self.nodes[at].disk.log().changes().iter().rev();
        let fresh = changes.take_while(|change| change.offset >= offset(known));
        let fresh: Vec<_> = fresh
            .filter(|change| change.offset < committed)
            .cloned()
            .collect();
        for change in fresh.into_iter().rev() {
            let before = self.committed_voters.replace(change.clone());
            let changed = before.is_some_and(|before| before.voters != change.voters);
            self.counts.voter_changes += u64::from(changed);
        }
    }

    /// Applies whole batches: those that end below the high watermark.
    fn apply(&mut self, at: usize, committed: usize) -> Result<(), Violation> {
        loop {
            let node = &mut self.nodes[at];
            let log = node.disk.log();
            // What is read is a batch: all of it, also where the state has half of it already.
            let base = log.batch_start(node.state.end);
            let Some(end) = log.batch_end(base).filter(|end| *end <= committed) else {
                return Ok(());
            };
            node.before_last_batch = node.state;
            for position in base..end {
                let record = &node.disk.log()[position];
                node.state.apply(position, record);
                self.checks.applied(at, position, node.state.chain)?;
                let payload = record.payload.as_ref();
                self.app
                    .apply(self.now, at, offset(position), record.epoch, payload)?;
            }
        }
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
        let (response, cargo) = self.fill(at, response);
        self.post(Packet {
            from: at,
            to: asked.from,
            incarnation: asked.incarnation,
            call: asked.call,
            callee: asked.callee,
            content: Content::Response(response, cargo),
        });
        Ok(())
    }

    /// Reads what an answer promises.
    fn fill(
        &mut self,
        at: usize,
        response: Response<ReadRange>,
    ) -> (Response<Vec<Batch>>, Cargo<A::Payload>) {
        let mut cargo = Cargo::none();
        let body = match response.body {
            Body::FetchSnapshot(slice) => {
                let (body, slice) = self.fill_slice(at, slice);
                cargo.slice = slice;
                body
            }
            Body::VotersChanged => Body::VotersChanged,
            Body::Fetch(answer) => Body::Fetch(self.fill_fetch(at, answer, &mut cargo)),
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
        (Response { epoch, leader, body }, cargo)
    }

    fn fill_fetch(
        &self,
        at: usize,
        answer: FetchAnswer<ReadRange>,
        cargo: &mut Cargo<A::Payload>,
    ) -> FetchAnswer<Vec<Batch>> {
        let log = self.nodes[at].disk.log();
        let fetched = match answer.fetched {
            Fetched::Snapshot(snapshot) => Fetched::Snapshot(snapshot),
            Fetched::Diverging(end) => Fetched::Diverging(end),
            Fetched::Records(ReadRange { from, end }) => {
                // Files hold batches: who asks for the middle of one gets it from its beginning.
                let from = log.batch_start(length(from));
                let to = log.read_up_to(from, self.settings.fetch_max);
                cargo.records = log.range(from, to.min(length(end))).to_vec();
                Fetched::Records(batches(from, &cargo.records))
            }
        };
        let mut high_watermark = answer.high_watermark;
        if self.settings.sabotage == Some(Sabotage::InflateHighWatermark) {
            high_watermark = Some(offset(log.end()));
        }
        FetchAnswer {
            high_watermark,
            fetched,
        }
    }
}

/// Appends at the machine. None when it does not lead that epoch.
fn append(raft: &mut Raft, now: u64, epoch: Epoch, records: usize) -> Option<Vec<Action>> {
    let records = std::num::NonZeroU32::new(u32::try_from(records).ok()?)?;
    raft.append(now, epoch, records).ok()
}

/// Tells sets of voters apart.
fn fingerprint(voters: &VoterSet) -> u64 {
    voters.iter().fold(0x70, |print, voter| {
        let directory = voter.key.directory.map_or(0, |directory| directory.0 as u64);
        let port = voter.endpoints.first().map_or(0, |endpoint| endpoint.port);
        let id = u64::from(voter.key.id.0.unsigned_abs());
        mix(print ^ mix(directory ^ id) ^ u64::from(port))
    })
}
