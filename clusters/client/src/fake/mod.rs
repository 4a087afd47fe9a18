//! A node for tests: speaks enough of the protocol for this client, and does what a test tells it to.
//!
//! It is no cluster: each fake has its own logs, leads nothing by itself, and names whatever leader it is given.
//! What it does to the next requests of a kind is scripted by [`Reaction`]s; without one it behaves.

mod answers;
mod batches;
mod quorum;
mod serve;

pub use batches::{control_batch, metadata_batch, snapshot_bytes};

use crate::batch;
use crate::ids::TopicId;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What to do to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Do what is asked.
    Behave,
    /// Answer with an error code, and do nothing else.
    Refuse(i16),
    /// Do what is asked, then answer with an error code.
    DoThenRefuse(i16),
    /// Do what is asked, but give no offset.
    WithoutOffset,
    /// Close the connection.
    Disconnect,
    /// Do what is asked, then close the connection.
    DoThenDisconnect,
    /// Never answer.
    Silence,
    /// Answer with bytes that are no answer.
    Garbage,
    /// Send a part of a snapshot, and say that it is of another place in it.
    OtherPosition,
    /// Send a part of a snapshot, and say that it is of another one.
    OtherSnapshot,
}

/// A log of a fake: one partition of one topic.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The topic's id.
    pub id: TopicId,
    /// Batches in order, each with its base offset and the offset after it.
    pub batches: Vec<(i64, i64, Bytes)>,
    /// The high watermark; none is the end of the log.
    pub high_watermark: Option<i64>,
    /// The log start.
    pub start: i64,
    /// Whether it is a metadata log: consumers see what is above the high watermark, and a fetch's offset and last
    /// epoch are compared with the log's (KIP-595).
    pub is_metadata: bool,
    /// Who leads it, as this node says.
    pub leader: i32,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// In-sync replicas, as this node says.
    pub isr: Vec<i32>,
    /// What every fetch is told to diverge at, whatever the log holds: epoch and end offset.
    pub diverging: Option<(i32, i64)>,
    /// The snapshot that a metadata log names to those who ask for less than it holds: end offset and epoch.
    pub snapshot: Option<(i64, i32)>,
    /// Whether every fetch is told to read the snapshot.
    pub insists: bool,
    /// The snapshots that can be read, by end offset and epoch.
    pub snapshots: BTreeMap<(i64, i32), Bytes>,
}

impl Log {
    /// The offset after the last record.
    pub fn end(&self) -> i64 {
        self.batches.last().map_or(self.start, |(_, end, _)| *end)
    }

    /// The high watermark.
    pub fn committed(&self) -> i64 {
        self.high_watermark.unwrap_or_else(|| self.end())
    }

    /// Appends a batch as it is, of so many records, at the end.
    pub fn append(&mut self, batch: &[u8], records: i64) -> i64 {
        let base = self.end();
        self.batches
            .push((base, base + records, batch::place(batch, base, self.leader_epoch)));
        base
    }

    /// Makes a snapshot the only one, and drops the records that it holds.
    pub fn shorten(&mut self, end_offset: i64, epoch: i32, records: &[Bytes]) {
        self.snapshot = Some((end_offset, epoch));
        self.snapshots = [((end_offset, epoch), snapshot_bytes(records))].into();
        self.batches.retain(|(base, _, _)| *base >= end_offset);
        self.start = end_offset;
    }

    /// The greatest epoch of its batches that is not above another, and where it ends.
    fn end_of(&self, epoch: i32) -> (i32, i64) {
        let until = self
            .batches
            .partition_point(|(_, _, batch)| epoch_of(batch) <= epoch);
        let before = self.batches[..until].last();
        before.map_or((0, self.start), |(_, end, batch)| (epoch_of(batch), *end))
    }

    /// Cuts the log off at an offset.
    pub fn truncate(&mut self, end: i64) {
        self.batches.retain(|(_, batch_end, _)| *batch_end <= end);
    }
}

/// The partition leader epoch of a batch that a fake stored.
fn epoch_of(batch: &[u8]) -> i32 {
    let bytes = batch.get(12..16).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(-1, i32::from_be_bytes)
}

/// What a fake knows and does.
#[derive(Debug, Default)]
pub struct State {
    /// Its id.
    pub node: i32,
    /// The brokers it names in Metadata.
    pub brokers: BTreeMap<i32, SocketAddr>,
    /// Its logs by topic and partition.
    pub logs: BTreeMap<(String, i32), Log>,
    /// What to do to the next requests, by call number (0 Produce, 1 Fetch, 2 ListOffsets, 3 Metadata).
    pub script: BTreeMap<i16, VecDeque<Reaction>>,
    /// The highest version offered of a call, where not all.
    pub at_most: BTreeMap<i16, i16>,
    /// Calls it was asked, by number.
    pub asked: Vec<i16>,
    /// The quorum's leader and epoch, which it claims where it is that leader.
    pub quorum: (i32, i32),
    /// Finalised features.
    pub features: BTreeMap<String, i16>,
    /// The quorum's voters: id, directory, address.
    pub voters: BTreeMap<i32, (TopicId, SocketAddr)>,
    /// Whether it answers nothing at all, its connections open.
    pub hangs: bool,
    /// How many bytes of a snapshot it sends at once; 0 is as many as are asked for.
    pub snapshot_part: usize,
}

impl State {
    /// One of its logs, made where there is none.
    pub fn log(&mut self, topic: &str, partition: i32) -> &mut Log {
        self.logs.entry((topic.to_owned(), partition)).or_default()
    }

    /// Does these to the next requests of a call.
    pub fn react(&mut self, call: i16, reactions: impl IntoIterator<Item = Reaction>) {
        self.script.entry(call).or_default().extend(reactions);
    }
}

/// A running fake; it goes with its handle.
#[derive(Debug)]
pub struct Fake {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

impl Fake {
    /// Starts one on a port of its own on the loopback address.
    ///
    /// # Errors
    /// Where the port cannot be had.
    pub async fn start(node: i32) -> io::Result<Fake> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let fake = Fake {
            address,
            task: tokio::spawn(serve::accept(listener, shared.clone())),
            shared,
        };
        fake.change(|state| state.node = node);
        Ok(fake)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Looks at its state, or changes it; waiting fetches look again.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.shared.lock());
        self.shared.changed.notify_waiters();
        changed
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        // Connections live in the accepting task's set, and end with it.
        self.task.abort();
    }
}
