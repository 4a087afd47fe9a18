//! Snapshots: taken of what was applied, served in slices, fetched and put in place.

use raft::{Body, Event, FilledSlice, Offset, Raft, Refusal, SnapshotId, SnapshotSlice};

use super::disk::{Part, Snapshot, State};
use super::log::{length, offset};
use super::network::{Cargo, Slice};
use super::settings::MILLISECOND;
use super::world::{Happening, World};
use super::{Application, Violation};

impl<A: Application> World<A> {
    /// After some commits a node decides to take a snapshot.
    pub(super) fn maybe_plan_snapshot(&mut self, at: usize) {
        if self.random.per_mille(self.settings.snapshots_per_mille) {
            let incarnation = self.nodes[at].incarnation;
            let delay = self.random.below(5 * MILLISECOND);
            self.schedule(delay, Happening::TakeSnapshot(at, incarnation));
        }
    }

    /// The state is what was applied; writing it takes a while.
    pub(super) fn take_snapshot(&mut self, at: usize) -> Result<(), Violation> {
        let node = &self.nodes[at];
        let applied = offset(node.state.end);
        let Some(id) = node.raft.as_ref().and_then(|raft| raft.snapshot_at(applied)) else {
            return Ok(());
        };
        let Some(state) = self.state_at(at, id.end_offset) else {
            return Err(Violation::Contract(format!(
                "node {at} is to take snapshot {id:?}, and has applied up to {applied}"
            )));
        };
        let voters = node.disk.voters_below(state.end).map(|at| at.voters);
        let snapshot = Snapshot { id, state, voters };
        let incarnation = node.incarnation;
        let delay = self.random.between(MILLISECOND / 10, 20 * MILLISECOND);
        self.schedule(delay, Happening::SnapshotWritten(at, incarnation, snapshot));
        Ok(())
    }

    /// The state that the node had when it had applied all below `end`, as far as it is not long ago.
    fn state_at(&self, at: usize, end: Offset) -> Option<State> {
        let node = &self.nodes[at];
        let end = length(end);
        if end == node.state.end {
            return Some(node.state);
        }
        let mut state = node.before_last_batch;
        let known = (state.end..node.state.end).contains(&end);
        for position in state.end..end {
            state.apply(position, node.disk.log().get(position)?);
        }
        known.then_some(state)
    }

    /// The snapshot has its name; then the machine hears of it; then the log's beginning may go.
    pub(super) fn snapshot_written(&mut self, at: usize, snapshot: Snapshot) -> Result<(), Violation> {
        let disk = &mut self.nodes[at].disk;
        let newest = disk.snapshot().map_or(0, |newest| newest.id.end_offset);
        if snapshot.id.end_offset <= newest {
            return Ok(());
        }
        let id = snapshot.id;
        disk.add_snapshot(snapshot);
        if self.crashes_now(at) {
            return Ok(());
        }
        let log_start = self.choose_log_start(at, id);
        let incarnation = self.nodes[at].incarnation;
        let taken = Event::SnapshotTaken {
            snapshot: id,
            log_start: offset(log_start),
        };
        self.handle(at, taken, &Cargo::none())?;
        let node = &mut self.nodes[at];
        if node.raft.is_some() && node.incarnation == incarnation {
            let kept = 1 + self.random.index(2);
            node.disk.drop_before(log_start, kept);
            return self.check_log_start(at);
        }
        Ok(())
    }

    /// Anywhere that a batch begins, from where the log does to where the snapshot ends.
    fn choose_log_start(&mut self, at: usize, id: SnapshotId) -> usize {
        let log = self.nodes[at].disk.log();
        let (start, end) = (log.start(), log.batch_start(length(id.end_offset)));
        match self.random.index(3) {
            0 => start,
            1 => end,
            _ => log.batch_start(start + self.random.index(end - start + 1)),
        }
    }

    fn check_log_start(&self, at: usize) -> Result<(), Violation> {
        let node = &self.nodes[at];
        let start = offset(node.disk.log().start());
        match node.raft.as_ref().map(Raft::log_start_offset) {
            Some(machine) if machine != start => Err(Violation::Contract(format!(
                "node {at}'s log begins at {start}, and its machine believes at {machine}"
            ))),
            _ => Ok(()),
        }
    }

    /// Reads the piece of a snapshot that an answer promises, if the snapshot is still there.
    pub(super) fn fill_slice<R>(&mut self, at: usize, slice: SnapshotSlice) -> (Body<R>, Option<Slice>) {
        let Some(snapshot) = self.nodes[at].disk.find_snapshot(slice.snapshot) else {
            return (Body::Refused(Refusal::SnapshotNotFound), None);
        };
        let size = snapshot.size();
        if slice.position >= size {
            return (Body::Refused(Refusal::PositionOutOfRange), None);
        }
        let length = (size - slice.position).min(self.settings.slice_max);
        let cargo = Slice {
            snapshot: snapshot.clone(),
            length,
            damaged: self.chaotic && self.random.per_mille(5),
        };
        let filled = Some(FilledSlice { size, length });
        (
            Body::FetchSnapshot(SnapshotSlice { filled, ..slice }),
            Some(cargo),
        )
    }

    /// A slice is written behind those before it.
    pub(super) fn write_part(
        &mut self,
        at: usize,
        id: SnapshotId,
        position: u64,
        cargo: &Cargo<A::Payload>,
    ) -> Result<(), Violation> {
        let wrong = |why: &str| {
            let text = format!("node {at} is to write a slice of {id:?} at {position}: {why}");
            Err(Violation::Contract(text))
        };
        let Some(slice) = &cargo.slice else {
            return wrong("the event has none");
        };
        let disk = &mut self.nodes[at].disk;
        if position == 0 {
            disk.part = Some(Part {
                snapshot: slice.snapshot.clone(),
                length: 0,
                damaged: false,
            });
        }
        let Some(part) = disk.part.as_mut().filter(|part| part.snapshot.id == id) else {
            return wrong("none is being fetched");
        };
        if part.length != position {
            return wrong("something is missing before it");
        }
        part.length += slice.length;
        part.damaged |= slice.damaged || slice.snapshot != part.snapshot;
        Ok(())
    }

    /// What was fetched of a snapshot goes.
    pub(super) fn abandon_part(&mut self, at: usize) {
        self.nodes[at].disk.part = None;
    }

    /// All of it is there: syncing and checking it takes a while.
    pub(super) fn install_later(&mut self, at: usize, id: SnapshotId) {
        let delay = self.random.between(MILLISECOND / 10, 20 * MILLISECOND);
        let incarnation = self.nodes[at].incarnation;
        self.schedule(delay, Happening::Install(at, incarnation, id));
    }

    pub(super) fn install(&mut self, at: usize, id: SnapshotId) -> Result<(), Violation> {
        let part = self.nodes[at].disk.part.take();
        let Some(part) = part.filter(|part| part.snapshot.id == id && part.length == part.snapshot.size())
        else {
            return Err(Violation::Contract(format!(
                "node {at} is to install {id:?}, of which it does not have all"
            )));
        };
        if part.damaged {
            self.counts.snapshots_refused += 1;
            return self.handle(at, Event::SnapshotRefused(id), &Cargo::none());
        }
        let voters = part.snapshot.voters.clone();
        self.nodes[at].disk.install(part.snapshot);
        self.counts.snapshot_fetches += 1;
        if self.crashes_now(at) {
            return Ok(());
        }
        self.load_snapshot(at)?;
        let installed = Event::SnapshotInstalled { snapshot: id, voters };
        self.handle(at, installed, &Cargo::none())
    }

    /// The node's state is that of its newest snapshot; the first one there is, if there is none.
    pub(super) fn load_snapshot(&mut self, at: usize) -> Result<(), Violation> {
        let node = &mut self.nodes[at];
        let Some(snapshot) = node.disk.snapshot() else {
            node.state = State::default();
            node.before_last_batch = node.state;
            return Ok(());
        };
        node.state = snapshot.state;
        node.before_last_batch = node.state;
        let (id, chain) = (snapshot.id, snapshot.state.chain);
        self.checks.restored(at, id, chain)?;
        self.app.restored(self.now, at, id.end_offset)
    }
}
