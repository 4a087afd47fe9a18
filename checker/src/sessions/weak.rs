//! Read committed and read atomic (Biswas and Enea's axioms), with AWDIT's fewest orders that decide them.
//!
//! Both say which versions must be older than one that was read; a history is of the level where these orders, those
//! of sessions, and of writers before their readers have no cycle. Of the orders that an axiom gives, those are left
//! out that follow from others: what is left takes O(n √n) for n operations, since two lists of keys are compared by
//! walking through the shorter one.

use super::graph::{Edge, Why};
use super::history::{INITIAL, Read, Sessions, Txn};
use rustc_hash::{FxHashMap, FxHashSet};

/// A transaction read the initial state of a key although it saw a transaction that wrote it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StaleInitial {
    pub(super) seen: Txn,
    pub(super) reader: Txn,
    pub(super) key: u32,
}

/// What a level demands beside the base orders.
#[derive(Debug, Default)]
pub(super) struct Demands {
    pub(super) edges: Vec<Edge>,
    pub(super) stale: Vec<StaleInitial>,
}

impl Demands {
    /// `reader` saw `seen`, which writes the key of `read`: so `seen` is older than what was read.
    pub(super) fn older(&mut self, seen: Txn, reader: Txn, read: Read) {
        let key = read.key;
        if read.writer == INITIAL {
            self.stale.push(StaleInitial { seen, reader, key });
        } else if read.writer != seen {
            let why = Why::Overwritten { key, reader };
            self.edges.push(Edge {
                from: seen,
                to: read.writer,
                why,
            });
        }
    }
}

/// Read committed: once a transaction has read from another one, it reads nothing that this one overwrote.
pub(super) fn read_committed(sessions: &Sessions) -> Demands {
    let mut demands = Demands::default();
    let mut first: FxHashSet<Txn> = FxHashSet::default();
    let mut opens: Vec<bool> = Vec::new();
    // The next read of each key, after the place at hand.
    let mut next: FxHashMap<u32, Read> = FxHashMap::default();
    for txn in sessions.all() {
        let reads = sessions.reads_of(txn);
        if reads.len() < 2 {
            continue;
        }
        first.clear();
        next.clear();
        opens.clear();
        opens.extend(reads.iter().map(|read| first.insert(read.writer)));
        for (read, opens) in reads.iter().zip(&opens).rev() {
            // Later reads from the same transaction demand nothing that the first one does not.
            if *opens && read.writer != INITIAL {
                let written = sessions.writes_of(read.writer);
                if written.len() < next.len() {
                    let found = written.iter().filter_map(|key| next.get(key));
                    found.for_each(|later| demands.older(read.writer, txn, *later));
                } else {
                    let found = next
                        .values()
                        .filter(|later| written.binary_search(&later.key).is_ok());
                    found.for_each(|later| demands.older(read.writer, txn, *later));
                }
            }
            // A key's reads are a chain: a transaction demands nothing of those after the next one.
            if let Some(later) = next.insert(read.key, *read)
                && read.writer != INITIAL
            {
                demands.older(read.writer, txn, later);
            }
        }
    }
    demands
}

/// Read atomic: of a transaction that was read from, or that is earlier in the session, everything is seen.
pub(super) fn read_atomic(sessions: &Sessions) -> Demands {
    let mut demands = Demands::default();
    let mut last_writer: FxHashMap<u32, Txn> = FxHashMap::default();
    let mut reads: Vec<Read> = Vec::new();
    let mut writers: Vec<Txn> = Vec::new();
    let mut session = None;
    for txn in sessions.all() {
        if session.replace(sessions.session[txn as usize]) != Some(sessions.session[txn as usize]) {
            last_writer.clear();
        }
        reads.clear();
        reads.extend_from_slice(sessions.reads_of(txn));
        reads.sort_unstable_by_key(|read| (read.key, read.writer));
        reads.dedup();
        for read in &reads {
            if let Some(seen) = last_writer.get(&read.key) {
                demands.older(*seen, txn, *read);
            }
        }
        writers.clear();
        writers.extend(
            reads
                .iter()
                .map(|read| read.writer)
                .filter(|writer| *writer != INITIAL),
        );
        writers.sort_unstable();
        writers.dedup();
        for seen in &writers {
            all_of(sessions, *seen, txn, &reads, &mut demands);
        }
        last_writer.extend(sessions.writes_of(txn).iter().map(|key| (*key, txn)));
    }
    demands
}

/// All that a transaction wrote is seen by a reader of some of it.
fn all_of(sessions: &Sessions, seen: Txn, reader: Txn, reads: &[Read], demands: &mut Demands) {
    let written = sessions.writes_of(seen);
    if written.len() < reads.len() {
        for key in written {
            let first = reads.partition_point(|read| read.key < *key);
            let same = reads[first..].iter().take_while(|read| read.key == *key);
            same.for_each(|read| demands.older(seen, reader, *read));
        }
    } else {
        let same = reads
            .iter()
            .filter(|read| written.binary_search(&read.key).is_ok());
        same.for_each(|read| demands.older(seen, reader, *read));
    }
}
