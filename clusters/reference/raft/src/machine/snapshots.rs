//! Snapshots (KIP-630): taken here, served as leader, fetched as follower.

use super::Raft;
use super::state::{Download, State};
use crate::{
    Action, Body, Bug, FetchSnapshotRequest, Nanos, NodeId, Offset, ReadRange, Refusal, Request, SnapshotId,
    SnapshotSlice, VoterSet, VotersAt,
};

impl Raft {
    /// The newest snapshot; none while the log has all.
    pub fn snapshot(&self) -> Option<SnapshotId> {
        self.log.snapshot()
    }

    /// The name of a snapshot of the state that has applied all below `applied`, which is a batch's
    /// end, since only whole batches are applied. None where it is not committed, or there is a
    /// snapshot as new already (KIP-630: a snapshot ends at a committed batch's end).
    pub fn snapshot_at(&self, applied: Offset) -> Option<SnapshotId> {
        let committed = self.high_watermark?.min(self.log.end());
        let newest = self.log.snapshot().map_or(0, |id| id.end_offset);
        let end_offset = match applied {
            _ if self.config.has(Bug::SnapshotInsideBatch) => applied - 1,
            _ => applied,
        };
        if end_offset <= newest.max(self.log.start()) || end_offset > committed {
            return None;
        }
        let epoch = self.log.epoch_before(end_offset)?;
        Some(SnapshotId { end_offset, epoch })
    }

    /// The voters in force after the record before `end_offset`; none where they are fixed. A
    /// snapshot that ends there names them.
    pub fn voters_at(&self, end_offset: Offset) -> Option<&VoterSet> {
        self.voters.before(end_offset)
    }

    pub(super) fn on_snapshot_taken(&mut self, snapshot: SnapshotId, log_start: Offset) {
        let committed = self.high_watermark.unwrap_or(0);
        if snapshot.end_offset <= committed {
            self.log.note_snapshot(snapshot, log_start);
        }
    }

    /// The leader's part: whether it is the one to ask. What the snapshot holds is the driver's.
    pub(super) fn on_fetch_snapshot(
        &mut self,
        now: Nanos,
        request: FetchSnapshotRequest,
    ) -> Result<Body<ReadRange>, Refusal> {
        self.check_epoch(request.epoch)?;
        if let Some(replica) = request.replica {
            self.note_contact(now, replica, None);
        }
        Ok(Body::FetchSnapshot(SnapshotSlice {
            snapshot: request.snapshot,
            position: request.position,
            filled: None,
        }))
    }

    /// The leader no longer has what follows this log (KIP-630 "Fetch", on snapshot ids). A snapshot that ends before what is known to
    /// be committed is no use, and would undo it.
    pub(super) fn begin_download(&mut self, now: Nanos, leader: NodeId, snapshot: SnapshotId) {
        let committed = self.high_watermark.unwrap_or(0);
        if snapshot.end_offset <= 0 || snapshot.end_offset < committed {
            return self.back_off(now, leader);
        }
        if let State::Follower(following) = &mut self.state {
            following.download = Some(Download {
                snapshot,
                position: 0,
            });
        }
    }

    pub(super) fn download_request(&self) -> Option<Request> {
        let State::Follower(following) = &self.state else {
            return None;
        };
        let Download { snapshot, position } = following.download?;
        Some(Request::FetchSnapshot(FetchSnapshotRequest {
            replica: Some(self.config.key()),
            epoch: Some(self.quorum.epoch),
            snapshot,
            position,
        }))
    }

    pub(super) fn on_snapshot_slice(&mut self, now: Nanos, from: NodeId, slice: SnapshotSlice) {
        let deadline = self.fetch_timer(now);
        let State::Follower(following) = &mut self.state else {
            return;
        };
        let (true, Some(download)) = (following.leader == from, &mut following.download) else {
            return;
        };
        let Some(filled) = slice.filled.filter(|filled| {
            let right_place = slice.snapshot == download.snapshot && slice.position == download.position;
            let left = filled.size.checked_sub(download.position);
            right_place && filled.length > 0 && left.is_some_and(|left| filled.length <= left)
        }) else {
            self.abandon_download();
            return self.back_off(now, from);
        };
        following.deadline = deadline;
        following.fetched = true;
        let position = download.position;
        download.position += filled.length;
        let whole = download.position == filled.size;
        self.actions.push(Action::WriteSnapshotPart {
            snapshot: slice.snapshot,
            position,
        });
        if whole {
            following.download = None;
            self.installing = Some(slice.snapshot);
            self.actions.push(Action::InstallSnapshot(slice.snapshot));
        }
    }

    /// What was fetched of a snapshot is of no use any more.
    pub(super) fn abandon_download(&mut self) {
        if let State::Follower(following) = &mut self.state
            && let Some(download) = following.download.take()
        {
            self.actions.push(Action::AbandonSnapshot(download.snapshot));
        }
    }

    pub(super) fn on_installed(&mut self, now: Nanos, snapshot: SnapshotId, voters: Option<VoterSet>) {
        if self.installing != Some(snapshot) {
            return;
        }
        self.installing = None;
        self.log.reset(snapshot);
        self.voters.reset(voters.map(|voters| VotersAt {
            offset: snapshot.end_offset - 1,
            voters,
        }));
        self.commit(snapshot.end_offset);
        self.have_time_again(now);
        self.note_voters_changed(now);
    }

    pub(super) fn on_snapshot_refused(&mut self, now: Nanos, snapshot: SnapshotId) {
        if self.installing == Some(snapshot) {
            self.installing = None;
            if let State::Follower(following) = &self.state {
                self.back_off(now, following.leader);
            }
            self.have_time_again(now);
        }
    }

    /// The leader was not asked while the snapshot was put in place, so it could not be missed.
    fn have_time_again(&mut self, now: Nanos) {
        let deadline = self.fetch_timer(now);
        if let State::Follower(following) = &mut self.state {
            following.deadline = deadline;
        }
    }
}
