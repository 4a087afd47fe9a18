//! The committed transactions in sessions, with every read led back to the transaction that wrote what it read.
//!
//! A value that several transactions wrote cannot be led back: such reads are left out (which forbids less, so that
//! what is found stays true), and counted, since nothing passes then. The initial state counts as a transaction,
//! [`INITIAL`], before all others; transactions that write nothing but initial values are part of it.

use super::parse::{Fate, Parsed, Transaction};
use super::reads::{Misread, Origin, Writers};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A committed transaction: sessions one after another, each in its order.
pub(super) type Txn = u32;

/// The transaction that wrote the initial state; it is in no session.
pub(super) const INITIAL: Txn = Txn::MAX;

/// A read of what another transaction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) key: u32,
    pub(super) writer: Txn,
}

/// The writers of a key within one session: a part of [`Sessions::writers`].
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) session: usize,
    pub(super) range: Range<usize>,
}

/// Lists of lists, one after another.
#[derive(Debug, Default)]
pub(super) struct Lists<T> {
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    pub(super) fn new() -> Lists<T> {
        Lists {
            starts: vec![0],
            items: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.items.extend(list);
        self.starts.push(self.items.len());
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The list at a place; empty past the end.
    pub(super) fn get(&self, place: usize) -> &[T] {
        match (self.starts.get(place), self.starts.get(place + 1)) {
            (Some(from), Some(to)) => &self.items[*from..*to],
            _ => &[],
        }
    }
}

/// All committed transactions.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Where each transaction is in [`Parsed::transactions`].
    pub(super) places: Vec<usize>,
    /// Its session.
    pub(super) session: Vec<u32>,
    /// The first transaction of each session, and the number of all at the end.
    pub(super) starts: Vec<u32>,
    /// Reads of each transaction of what others wrote, in its order.
    pub(super) reads: Lists<Read>,
    /// The keys that each transaction writes, ascending.
    pub(super) writes: Lists<u32>,
    /// All writers, key by key, ascending.
    pub(super) writers: Vec<Txn>,
    /// The writers of each key.
    pub(super) groups: Lists<Group>,
    /// Orders that no session shows: a transaction of unknown outcome that was seen, after what its process did before.
    pub(super) seen_after: Vec<(Txn, Txn)>,
    /// Reads of values that several transactions wrote.
    pub(super) ambiguous: u64,
    /// Reads that no level but the weakest allows.
    pub(super) misreads: Vec<Misread>,
}

impl Sessions {
    /// How many transactions there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// How many sessions there are.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many keys there are.
    pub(super) fn keys(&self) -> usize {
        self.groups.len()
    }

    /// All transactions.
    pub(super) fn all(&self) -> Range<Txn> {
        0..self.len() as Txn
    }

    /// The session's next transaction.
    pub(super) fn next(&self, txn: Txn) -> Option<Txn> {
        let next = txn as usize + 1;
        (self.session.get(next) == Some(&self.session[txn as usize])).then_some(txn + 1)
    }

    /// A transaction's reads of what others wrote.
    pub(super) fn reads_of(&self, txn: Txn) -> &[Read] {
        self.reads.get(txn as usize)
    }

    /// The keys that a transaction writes, ascending.
    pub(super) fn writes_of(&self, txn: Txn) -> &[u32] {
        self.writes.get(txn as usize)
    }

    /// Whether a transaction writes a key.
    pub(super) fn writes_key(&self, txn: Txn, key: u32) -> bool {
        self.writes_of(txn).binary_search(&key).is_ok()
    }

    /// The last writer of a group among the first `count` transactions of its session.
    pub(super) fn last_before(&self, group: &Group, count: u32) -> Option<Txn> {
        let writers = &self.writers[group.range.clone()];
        let end = self.starts[group.session].saturating_add(count);
        let below = writers.partition_point(|writer| *writer < end);
        below.checked_sub(1).map(|last| writers[last])
    }

    /// The writers of a group from a place in its session on.
    pub(super) fn from(&self, group: &Group, position: u32) -> &[Txn] {
        let writers = &self.writers[group.range.clone()];
        let first = self.starts[group.session].saturating_add(position);
        &writers[writers.partition_point(|writer| *writer < first)..]
    }
}

impl Sessions {
    /// Some of the transactions alone: reads from the others are left out.
    pub(super) fn only(&self, keep: impl Fn(Txn) -> bool) -> Sessions {
        let kept: Vec<Txn> = self.all().filter(|txn| keep(*txn)).collect();
        let mut numbers = vec![None; self.len()];
        for (number, txn) in (0u32..).zip(&kept) {
            numbers[*txn as usize] = Some(number);
        }
        let number = |txn: Txn| match txn {
            INITIAL => Some(INITIAL),
            txn => numbers[txn as usize],
        };
        let mut part = Sessions {
            places: kept.iter().map(|txn| self.places[*txn as usize]).collect(),
            session: Vec::with_capacity(kept.len()),
            starts: vec![0],
            reads: Lists::new(),
            writes: Lists::new(),
            writers: Vec::new(),
            groups: Lists::new(),
            seen_after: Vec::new(),
            ambiguous: 0,
            misreads: Vec::new(),
        };
        for same in kept.chunk_by(|a, b| self.session[*a as usize] == self.session[*b as usize]) {
            let session = part.starts.len() as u32 - 1;
            part.session.resize(part.session.len() + same.len(), session);
            part.starts.push(part.session.len() as u32);
        }
        for txn in &kept {
            let reads = self.reads_of(*txn).iter();
            part.reads.push(reads.filter_map(|read| {
                let writer = number(read.writer)?;
                Some(Read {
                    key: read.key,
                    writer,
                })
            }));
            part.writes.push(self.writes_of(*txn).iter().copied());
        }
        let seen_after = self.seen_after.iter();
        part.seen_after = seen_after
            .filter_map(|(a, b)| number(*a).zip(number(*b)))
            .collect();
        part.group_writers(self.keys());
        part
    }
}

/// Puts committed transactions into sessions, and leads their reads back.
pub(super) fn sessions(parsed: &Parsed, initial: Option<&history::Value>) -> Sessions {
    let writers = Writers::new(parsed, initial);
    let mut seen_after = Vec::new();
    let (places, session, starts) = in_sessions(parsed, &writers, &mut seen_after);
    let mut numbers = vec![INITIAL; parsed.transactions.len()];
    for (txn, place) in places.iter().enumerate() {
        numbers[*place] = txn as Txn;
    }
    let seen_after = seen_after
        .into_iter()
        .map(|(a, b)| (numbers[a], numbers[b]))
        .collect();
    let mut made = Sessions {
        places,
        session,
        starts,
        reads: Lists::new(),
        writes: Lists::new(),
        writers: Vec::new(),
        groups: Lists::new(),
        seen_after,
        ambiguous: 0,
        misreads: Vec::new(),
    };
    made.lead_back(parsed, &writers, &numbers);
    made.group_writers(parsed.keys.len());
    made
}

type InSessions = (Vec<usize>, Vec<u32>, Vec<u32>);

/// Committed transactions by session, in the order of sessions' first entries. One of unknown outcome is in a session
/// of its own: it may have taken effect after what its process did next.
fn in_sessions(parsed: &Parsed, writers: &Writers, seen_after: &mut Vec<(usize, usize)>) -> InSessions {
    let mut lists: Vec<Vec<usize>> = Vec::new();
    let mut of_process: FxHashMap<u64, usize> = FxHashMap::default();
    for (place, transaction) in parsed.transactions.iter().enumerate() {
        if !takes_part(writers, place, transaction) {
            continue;
        }
        let known = transaction
            .process
            .and_then(|process| of_process.get(&process))
            .copied();
        match (transaction.fate, transaction.process, known) {
            (Fate::Committed, _, Some(list)) => lists[list].push(place),
            (Fate::Committed, Some(process), None) => {
                of_process.insert(process, lists.len());
                lists.push(vec![place]);
            }
            (_, _, known) => {
                let earlier = |before: &&usize| parsed.transactions[**before].index < transaction.index;
                let before = known.and_then(|list| lists[list].iter().rev().find(earlier));
                seen_after.extend(before.map(|before| (*before, place)));
                lists.push(vec![place]);
            }
        }
    }
    let mut session = Vec::new();
    let mut starts = vec![0];
    for (number, list) in lists.iter().enumerate() {
        session.resize(session.len() + list.len(), number as u32);
        starts.push(session.len() as u32);
    }
    (lists.concat(), session, starts)
}

fn takes_part(writers: &Writers, place: usize, transaction: &Transaction) -> bool {
    match transaction.fate {
        Fate::Committed => !writers.is_initial(place),
        Fate::Perhaps => writers.is_seen(place),
        Fate::Aborted => false,
    }
}

impl Sessions {
    fn lead_back(&mut self, parsed: &Parsed, writers: &Writers, numbers: &[Txn]) {
        // The last value that the transaction at hand wrote to each key.
        let mut own: FxHashMap<u32, u32> = FxHashMap::default();
        let mut reads = Vec::new();
        for place in self.places.clone() {
            let transaction = &parsed.transactions[place];
            own.clear();
            reads.clear();
            for event in parsed.events_of(transaction) {
                if event.write {
                    own.insert(event.key, event.value);
                    continue;
                }
                // What a transaction of unknown outcome read was not told.
                if transaction.fate != Fate::Committed {
                    continue;
                }
                match writers.origin(place, event, own.get(&event.key)) {
                    Origin::Own => {}
                    Origin::Initial => reads.push(Read {
                        key: event.key,
                        writer: INITIAL,
                    }),
                    Origin::Other(writer) => reads.push(Read {
                        key: event.key,
                        writer: numbers[writer],
                    }),
                    Origin::Ambiguous => self.ambiguous += 1,
                    Origin::Nowhere(kind) => self.misreads.push(Misread {
                        kind,
                        reader: place,
                        event: *event,
                        writer: writers.some_writer(event),
                    }),
                }
            }
            self.reads.push(reads.iter().copied());
            let mut written: Vec<u32> = own.keys().copied().collect();
            written.sort_unstable();
            self.writes.push(written);
        }
    }

    fn group_writers(&mut self, keys: usize) {
        let mut writers: Vec<(u32, Txn)> = Vec::new();
        for txn in self.all() {
            writers.extend(self.writes_of(txn).iter().map(|key| (*key, txn)));
        }
        writers.sort_unstable();
        let mut from = 0;
        for key in 0..keys as u32 {
            let mut groups: Vec<Group> = Vec::new();
            while let Some((_, txn)) = writers.get(from).filter(|(of, _)| *of == key) {
                let session = self.session[*txn as usize] as usize;
                match groups.last_mut().filter(|group| group.session == session) {
                    Some(group) => group.range.end = from + 1,
                    None => groups.push(Group {
                        session,
                        range: from..from + 1,
                    }),
                }
                from += 1;
            }
            self.groups.push(groups);
        }
        self.writers = writers.into_iter().map(|(_, txn)| txn).collect();
    }
}
