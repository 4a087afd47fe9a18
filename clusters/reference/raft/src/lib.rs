//! KRaft, sans-IO: elections, epochs and the replicated log, as one state machine.
//!
//! One [`Raft`] is one node's view of one quorum: a *voter* (a controller) or an *observer* (a
//! broker, which looks for the leader, follows it and never votes). Everything goes in as an
//! [`Event`] with the present time, and comes out as a list of [`Action`]s. There is no clock, no
//! socket, no file, no thread here, and no randomness but the seed that the driver hands in.
//!
//! # How the work is split
//!
//! The machine knows offsets and epochs; the *driver* (the server, or a simulator) has the bytes.
//!
//! * **Writing as leader**: [`Raft::append`] answers with an [`Action::Append`] that fixes the
//!   batch's base offset and epoch; the driver stamps and writes the batch it wanted to append.
//! * **Serving a Fetch**: the machine decides validity, divergence, and *when* to answer (it parks
//!   long polls itself); the answer says from which offset to read ([`ReadRange`]), and the driver
//!   reads the log at the moment it executes the action.
//! * **Following**: the driver decodes a Fetch response down to its batches' offsets and epochs
//!   ([`Batch`]); [`Action::AppendFetched`] says how many of them, in order, to write.
//! * **Applying**: [`Action::Commit`] carries the high watermark; only records below it may be
//!   applied to anything. A Fetch returns uncommitted records to everyone.
//! * **Clusters, listeners, authentication**: cluster ids, voter keys and addresses are the
//!   driver's to check and to map; here a node is its id.
//!
//! # The driver's contract
//!
//! 1. Execute a list of actions *in order*, before the next event is handed in.
//! 2. [`Action::Persist`] is on disk (synced, and safe against a torn write) before any later
//!    action is executed. That is what "a vote is persisted before it is answered" rests on.
//! 3. [`Action::Append`], [`Action::AppendFetched`] and [`Action::Truncate`] are visible to later
//!    reads at once, but need not be synced. [`Action::Sync`] asks for that; it may take its time,
//!    and several may be served by the last. When done, hand in [`Event::Synced`] with its ticket.
//! 4. The log that [`Raft::start`] is given has been synced. A batch in it is whole: after a crash,
//!    what is left of a batch is cut off (a controller's batch may not be applied by half).
//! 5. A response reaches the machine only in the incarnation that sent the call.
//! 6. Hand in [`Event::Tick`] at [`Raft::next_deadline`] or soon after it. Early ticks do nothing.
//! 7. [`Action::InstallSnapshot`] is answered by an event soon; meanwhile the node neither fetches
//!    nor stands for election. Installed means: the snapshot is on disk, then the log is emptied.
//! 8. After [`Action::Fatal`] the machine is dead: it ignores whatever follows.
//!
//! # Sources
//!
//! Every rule names where it comes from, beside its code: *seed 1* to *seed 6* are the steps of the
//! seed document "How does leader election work in KRaft, and what is a leader epoch?", with its
//! further headings by name (*seed, split votes*; *seed, pre-vote*; *seed, fetch*; *seed, restart*);
//! KIP-595 (KRaft), KIP-630 (snapshots), KIP-853 (voters that change), KIP-996 (pre-vote) with the
//! request or the heading concerned; *Raft* is the paper of Ongaro and Ousterhout, by section.
//!
//! # Invariants
//!
//! * The epoch only grows. In one epoch a node votes for one candidate at most, follows one leader
//!   at most, and leads at most once: a leader that restarts comes back resigned.
//! * A node is elected by a strict majority of voters, each of which had a log no newer than its.
//! * The leader counts its own log only as far as it is synced, followers' as far as they fetched;
//!   a voter syncs before it fetches again. The high watermark covers what a majority has, and
//!   moves only once a record of the leader's own epoch is covered.
//! * The high watermark of an incarnation never moves back, and nothing below it is truncated.
//!
//! * Voters are fixed, or named by the log (KIP-853): a set is in force from its record on, until
//!   the record is truncated; one change at a time, and none before the leader has committed a
//!   record of its own epoch.
//! * A snapshot (KIP-630) ends at a batch's end, and holds only what is committed.
//!
//! # What is not here
//!
//! The upgrade of a quorum from fixed voters to named ones (`kraft.version` 0 to 1) while it runs,
//! and voters that add themselves (KIP-1186).

mod bug;
mod config;
mod event;
mod log;
mod machine;
mod message;
mod quorum;
mod random;
mod types;
mod voters;

pub use bug::{Bug, UnknownBug};
pub use config::{Config, ConfigError, Timeouts};
pub use event::{Action, Event, Fatal, LeaderChange, SyncTicket};
pub use log::{EpochEnd, EpochStart, LogError, LogSummary};
pub use machine::{NotLeader, Raft, ReplicaProgress, Role, Standing, StartError};
pub use message::{
    AddVoter, Batch, BeginQuorumEpoch, Body, EndQuorumEpoch, FetchAnswer, FetchRequest, FetchSnapshotRequest,
    Fetched, FilledSlice, ReadRange, Refusal, RemoveVoter, Request, Response, SnapshotSlice, UpdateVoter,
    VoteRequest,
};
pub use quorum::QuorumState;
pub use types::{CallId, DirectoryId, Epoch, Nanos, NodeId, Offset, ReplicaKey, RequestId, SnapshotId};
pub use voters::{Endpoint, Voter, VoterSet, VotersAt};
