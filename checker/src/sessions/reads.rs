//! Where a value that was read comes from, and the reads that nothing but read uncommitted allows: of values that
//! nobody wrote, of aborted transactions (Adya's G1a), of values that their transaction overwrote (G1b), and against
//! the transaction's own writes.

use super::parse::{Event, Fate, Parsed};
use history::Value;
use rustc_hash::FxHashMap;

/// What is wrong with a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MisreadKind {
    /// Nobody wrote the value.
    ThinAir,
    /// A transaction that aborted wrote it.
    Aborted,
    /// Its transaction overwrote it.
    Intermediate,
    /// The transaction itself wrote another value before.
    Internal,
    /// The transaction itself writes the value later.
    Future,
}

impl MisreadKind {
    /// All of them, the worst first.
    pub(super) const ALL: [MisreadKind; 5] = [
        MisreadKind::ThinAir,
        MisreadKind::Aborted,
        MisreadKind::Intermediate,
        MisreadKind::Internal,
        MisreadKind::Future,
    ];

    /// The anomaly's name.
    pub(super) fn text(self) -> &'static str {
        match self {
            MisreadKind::ThinAir => "thin-air-read",
            MisreadKind::Aborted => "aborted-read",
            MisreadKind::Intermediate => "intermediate-read",
            MisreadKind::Internal => "internal",
            MisreadKind::Future => "future-read",
        }
    }
}

/// A read that is wrong by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misread {
    pub(super) kind: MisreadKind,
    /// The transaction that read, by its place among all.
    pub(super) reader: usize,
    pub(super) event: Event,
    /// A transaction that wrote the value, where one did.
    pub(super) writer: Option<usize>,
}

/// Where a value that was read comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The transaction itself.
    Own,
    /// The initial state.
    Initial,
    /// Another transaction, by its place among all.
    Other(usize),
    /// One of several.
    Ambiguous,
    /// Nothing that may be read.
    Nowhere(MisreadKind),
}

/// Who wrote a value to a key.
#[derive(Clone, Copy, Debug)]
struct Wrote {
    /// By its place among all.
    place: usize,
    aborted: bool,
    /// Whether it is the transaction's last write to the key.
    last: bool,
    /// Whether another transaction that did not abort wrote it too.
    several: bool,
}

/// Who wrote what.
pub(super) struct Writers {
    wrote: FxHashMap<(u32, u32), Wrote>,
    /// The numbers of initial values.
    initial: Vec<u32>,
    sets_up: Vec<bool>,
    seen: Vec<bool>,
}

impl Writers {
    /// Of all transactions. `initial` is the initial value; nil and 0 where none is given.
    pub(super) fn new(parsed: &Parsed, initial: Option<&Value>) -> Writers {
        let nil = parsed.value_number(&Value::Nil);
        let other = match initial {
            // Where nil is read for the initial state, 0 is a value as any other.
            None if reads_nil(parsed, nil) => None,
            None => parsed.value_number(&Value::Int(0)),
            Some(initial) => parsed.value_number(initial),
        };
        let mut writers = Writers {
            wrote: FxHashMap::default(),
            initial: nil.into_iter().chain(other).collect(),
            sets_up: vec![false; parsed.transactions.len()],
            seen: vec![false; parsed.transactions.len()],
        };
        writers.collect(parsed);
        writers.see(parsed);
        writers
    }

    /// Whether a transaction, by its place, is part of the initial state.
    pub(super) fn is_initial(&self, place: usize) -> bool {
        self.sets_up[place]
    }

    /// Whether a committed transaction read what this one wrote.
    pub(super) fn is_seen(&self, place: usize) -> bool {
        self.seen[place]
    }

    /// A transaction that wrote a value, where one did.
    pub(super) fn some_writer(&self, event: &Event) -> Option<usize> {
        self.wrote.get(&(event.key, event.value)).map(|wrote| wrote.place)
    }

    /// Where a read's value comes from. `own` is what the transaction wrote to the key before.
    pub(super) fn origin(&self, reader: usize, event: &Event, own: Option<&u32>) -> Origin {
        let wrote = self.wrote.get(&(event.key, event.value));
        let initial = self.initial.contains(&event.value);
        if let Some(own) = own {
            return match wrote {
                _ if *own == event.value => Origin::Own,
                None if !initial => Origin::Nowhere(MisreadKind::ThinAir),
                Some(wrote) if wrote.place == reader && !wrote.several => {
                    Origin::Nowhere(MisreadKind::Future)
                }
                _ => Origin::Nowhere(MisreadKind::Internal),
            };
        }
        match wrote {
            None if initial => Origin::Initial,
            None => Origin::Nowhere(MisreadKind::ThinAir),
            Some(_) if initial => Origin::Ambiguous,
            Some(wrote) if wrote.several => Origin::Ambiguous,
            Some(wrote) if wrote.aborted => Origin::Nowhere(MisreadKind::Aborted),
            Some(wrote) if wrote.place == reader => Origin::Nowhere(MisreadKind::Future),
            Some(wrote) if !wrote.last => Origin::Nowhere(MisreadKind::Intermediate),
            Some(wrote) => Origin::Other(wrote.place),
        }
    }

    fn collect(&mut self, parsed: &Parsed) {
        let mut last: FxHashMap<u32, u32> = FxHashMap::default();
        for (place, transaction) in parsed.transactions.iter().enumerate() {
            let events = parsed.events_of(transaction);
            if transaction.fate == Fate::Committed && self.only_sets_up(events) {
                self.sets_up[place] = true;
                continue;
            }
            last.clear();
            last.extend(
                events
                    .iter()
                    .filter(|event| event.write)
                    .map(|event| (event.key, event.value)),
            );
            for event in events.iter().filter(|event| event.write) {
                let wrote = Wrote {
                    place,
                    aborted: transaction.fate == Fate::Aborted,
                    last: last.get(&event.key) == Some(&event.value),
                    several: false,
                };
                self.wrote
                    .entry((event.key, event.value))
                    .and_modify(|before| before.join(wrote))
                    .or_insert(wrote);
            }
        }
    }

    /// Whether a transaction does nothing but write initial values.
    fn only_sets_up(&self, events: &[Event]) -> bool {
        !events.is_empty()
            && events
                .iter()
                .all(|event| event.write && self.initial.contains(&event.value))
    }

    fn see(&mut self, parsed: &Parsed) {
        for transaction in parsed
            .transactions
            .iter()
            .filter(|one| one.fate == Fate::Committed)
        {
            for event in parsed.events_of(transaction).iter().filter(|event| !event.write) {
                if let Some(wrote) = self.wrote.get(&(event.key, event.value)) {
                    self.seen[wrote.place] = true;
                }
            }
        }
    }
}

impl Wrote {
    /// Another write of the same value to the same key. An aborted one gives way: if it were it that was read, that
    /// would be wrong anyway.
    fn join(&mut self, other: Wrote) {
        if self.place == other.place {
            self.last |= other.last;
        } else if self.aborted {
            *self = other;
        } else if !other.aborted {
            self.several = true;
        }
    }
}

fn reads_nil(parsed: &Parsed, nil: Option<u32>) -> bool {
    if nil.is_none() {
        return false;
    }
    let committed = parsed
        .transactions
        .iter()
        .filter(|one| one.fate == Fate::Committed);
    committed
        .flat_map(|one| parsed.events_of(one))
        .any(|event| !event.write && Some(event.value) == nil)
}
