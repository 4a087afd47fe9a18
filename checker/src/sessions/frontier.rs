//! Is there one order of all transactions in which every read reads the latest write? The search behind
//! serializability and snapshot isolation.
//!
//! A state is how far each session has come. That is all of it: a version may only be overwritten once all of its
//! readers have read, so what each key holds matters only to readers that the state names. A state that led nowhere
//! is not tried again: that bounds the search by the number of states (Biswas and Enea). Some steps are taken without
//! a choice, since they can never do harm:
//! - a transaction that only reads, and can;
//! - under snapshot isolation, the end of a transaction that has begun and whose writes overwrite nothing that is
//!   still to be read: until it ends, no other transaction may write its keys.
//!
//! Orders that are known from elsewhere forbid steps early.

use super::clocks::Points;
use super::graph::{Edge, Rows, Why};
use super::history::{INITIAL, Txn};
use crate::{Budget, Spent};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// How often the budget is asked, in states.
const ASK: u64 = 1 << 8;

/// What the search found.
pub(super) enum Searched {
    /// An order: the transactions by their ends.
    Order,
    /// There is none.
    None {
        /// How many states were tried.
        states: u64,
        /// How many points the longest beginning of an order has.
        longest: u64,
    },
    /// A limit was reached.
    Spent { spent: Spent, states: u64 },
    /// As many states as were allowed were tried.
    GivenUp,
}

/// A step that was taken: a point, and what its writes hid, which undoing needs.
struct Taken {
    point: u32,
    hidden: Vec<(u32, u32)>,
}

/// A choice: the sessions that may go on, the best last; and how many steps had been taken.
struct Choice {
    sessions: Vec<u32>,
    taken: usize,
}

/// The search.
pub(super) struct Search<'a> {
    points: Points<'a>,
    edges: &'a [Edge],
    rows: Rows,
    /// When each point was, as far as can be guessed: the order in which choices are tried.
    guesses: Vec<u64>,
    /// The versions that each transaction reads.
    reads: Vec<Vec<u32>>,
    /// The version of a transaction's first write; those of its others follow.
    first_version: Vec<u32>,
    /// How many readers of each version have not read.
    unread: Vec<u32>,
    /// The version that each key holds.
    holds: Vec<u32>,
    /// Whether a transaction that has begun and not ended writes a key.
    locked: Vec<bool>,
    /// How many known predecessors of each point are not taken, those of its session left out.
    missing: Vec<u32>,
    /// How many points of each session are taken.
    state: Vec<u32>,
    taken: Vec<Taken>,
    seen: Seen,
}

impl<'a> Search<'a> {
    /// A search within what is known. `guesses` says when each point was, as far as can be guessed.
    pub(super) fn new(points: Points<'a>, edges: &'a [Edge], guesses: Vec<u64>) -> Search<'a> {
        let sessions = points.sessions;
        let mut missing = vec![0; points.count()];
        for edge in edges.iter().filter(|edge| !within_session(points, edge)) {
            missing[edge.to as usize] += 1;
        }
        let keys = sessions.keys() as u32;
        let mut first_version = Vec::with_capacity(sessions.len());
        let mut versions = keys;
        for txn in sessions.all() {
            first_version.push(versions);
            versions += sessions.writes_of(txn).len() as u32;
        }
        let mut unread = vec![0; versions as usize];
        let mut reads = Vec::with_capacity(sessions.len());
        for txn in sessions.all() {
            let mut list: Vec<u32> = Vec::new();
            for read in sessions.reads_of(txn) {
                let version = match read.writer {
                    // The initial version of a key has the key's number.
                    INITIAL => Some(read.key),
                    writer => {
                        let place = sessions.writes_of(writer).binary_search(&read.key).ok();
                        place.map(|place| first_version[writer as usize] + place as u32)
                    }
                };
                list.extend(version);
            }
            list.sort_unstable();
            list.dedup();
            for version in &list {
                unread[*version as usize] += 1;
            }
            reads.push(list);
        }
        Search {
            points,
            edges,
            rows: Rows::new(points.count(), edges),
            guesses,
            reads,
            first_version,
            unread,
            holds: (0..keys).collect(),
            locked: vec![false; keys as usize],
            missing,
            state: vec![0; sessions.count()],
            taken: Vec::new(),
            seen: Seen::new(sessions.count()),
        }
    }

    /// Searches; `most` states at most.
    pub(super) fn run(mut self, most: u64, budget: &Budget) -> Searched {
        let all = self.points.count();
        let (mut states, mut longest) = (0, 0);
        let mut choices: Vec<Choice> = Vec::new();
        let searched = loop {
            self.harmless_steps();
            longest = longest.max(self.taken.len());
            if self.taken.len() == all {
                break Searched::Order;
            }
            states += 1;
            if states > most {
                break Searched::GivenUp;
            }
            if states % ASK == 0 {
                budget.tell("searching for an order", longest as u64, all as u64);
                if let Some(spent) = budget.spent() {
                    break Searched::Spent { spent, states };
                }
            }
            if self.seen.is_new(&self.state, budget) {
                choices.push(Choice {
                    sessions: self.candidates(),
                    taken: self.taken.len(),
                });
            }
            if !self.choose(&mut choices) {
                let longest = longest as u64;
                break Searched::None { states, longest };
            }
        };
        self.seen.give_back(budget);
        searched
    }

    /// Takes the next untried step; false where there is none.
    fn choose(&mut self, choices: &mut Vec<Choice>) -> bool {
        while let Some(choice) = choices.last_mut() {
            let (next, mark) = (choice.sessions.pop(), choice.taken);
            self.undo(mark);
            match next.and_then(|session| self.head(session as usize)) {
                Some(point) => {
                    self.take(point);
                    return true;
                }
                None => drop(choices.pop()),
            }
        }
        false
    }

    fn candidates(&self) -> Vec<u32> {
        let mut ready: Vec<(u64, u32)> = Vec::new();
        for session in 0..self.state.len() {
            if let Some(point) = self.head(session).filter(|point| self.can(*point)) {
                ready.push((self.guesses[point as usize], session as u32));
            }
        }
        ready.sort_unstable_by_key(|(guess, _)| std::cmp::Reverse(*guess));
        ready.into_iter().map(|(_, session)| session).collect()
    }

    /// The session's next point.
    fn head(&self, session: usize) -> Option<u32> {
        let starts = &self.points.sessions.starts;
        let point = self.points.begin(starts[session]) + self.state[session];
        (point < self.points.begin(starts[session + 1])).then_some(point)
    }

    /// Takes the steps that need no choice.
    fn harmless_steps(&mut self) {
        let mut again = true;
        while again {
            again = false;
            for session in 0..self.state.len() {
                while let Some(point) = self.head(session) {
                    let txn = self.points.txn(point);
                    let ends = self.points.split && point == self.points.end(txn);
                    let harmless = ends || self.points.sessions.writes_of(txn).is_empty();
                    if !harmless || !self.can(point) {
                        break;
                    }
                    self.take(point);
                    again = true;
                }
            }
        }
    }

    fn can(&self, point: u32) -> bool {
        let txn = self.points.txn(point);
        self.missing[point as usize] == 0
            && (point != self.points.begin(txn) || self.can_begin(txn))
            && (point != self.points.end(txn) || self.can_end(txn))
    }

    fn can_begin(&self, txn: Txn) -> bool {
        let sessions = self.points.sessions;
        let reads = sessions.reads_of(txn);
        let read = &self.reads[txn as usize];
        reads
            .iter()
            .all(|one| read.binary_search(&self.holds[one.key as usize]).is_ok())
            && (!self.points.split
                || sessions
                    .writes_of(txn)
                    .iter()
                    .all(|key| !self.locked[*key as usize]))
    }

    /// Whether what a transaction overwrites has been read by all others.
    fn can_end(&self, txn: Txn) -> bool {
        let read = &self.reads[txn as usize];
        self.points.sessions.writes_of(txn).iter().all(|key| {
            let version = self.holds[*key as usize];
            let own = !self.points.split && read.binary_search(&version).is_ok();
            self.unread[version as usize] == u32::from(own)
        })
    }

    fn take(&mut self, point: u32) {
        let txn = self.points.txn(point);
        let sessions = self.points.sessions;
        let mut hidden = Vec::new();
        if point == self.points.begin(txn) {
            for version in &self.reads[txn as usize] {
                self.unread[*version as usize] -= 1;
            }
            for key in sessions.writes_of(txn) {
                self.locked[*key as usize] = true;
            }
        }
        if point == self.points.end(txn) {
            for (version, key) in (self.first_version[txn as usize]..).zip(sessions.writes_of(txn)) {
                hidden.push((*key, std::mem::replace(&mut self.holds[*key as usize], version)));
                self.locked[*key as usize] = false;
            }
        }
        for place in self.rows.leaving(point) {
            let edge = &self.edges[*place as usize];
            if !within_session(self.points, edge) {
                self.missing[edge.to as usize] -= 1;
            }
        }
        self.state[sessions.session[txn as usize] as usize] += 1;
        self.taken.push(Taken { point, hidden });
    }

    /// Takes steps back, down to a number of them.
    fn undo(&mut self, mark: usize) {
        while self.taken.len() > mark {
            let Some(Taken { point, hidden }) = self.taken.pop() else {
                return;
            };
            let txn = self.points.txn(point);
            let sessions = self.points.sessions;
            self.state[sessions.session[txn as usize] as usize] -= 1;
            for place in self.rows.leaving(point) {
                let edge = &self.edges[*place as usize];
                if !within_session(self.points, edge) {
                    self.missing[edge.to as usize] += 1;
                }
            }
            for (key, version) in hidden {
                self.holds[key as usize] = version;
                self.locked[key as usize] = true;
            }
            if point == self.points.begin(txn) {
                for version in &self.reads[txn as usize] {
                    self.unread[*version as usize] += 1;
                }
                for key in sessions.writes_of(txn) {
                    self.locked[*key as usize] = false;
                }
            }
        }
    }
}

/// Whether an edge says no more than its session's order does.
fn within_session(points: Points<'_>, edge: &Edge) -> bool {
    edge.why == Why::Session && points.same_session(edge.from, edge.to)
}

/// The states that were tried.
struct Seen {
    width: usize,
    states: Vec<u32>,
    table: HashTable<u32>,
    took: u64,
}

impl Seen {
    fn new(width: usize) -> Seen {
        Seen {
            width,
            states: Vec::new(),
            table: HashTable::new(),
            took: 0,
        }
    }

    /// Whether a state was not tried before; it was from now on.
    fn is_new(&mut self, state: &[u32], budget: &Budget) -> bool {
        let width = self.width;
        let hashed = hash(state);
        let states = &self.states;
        let equal = |number: &u32| states[*number as usize * width..][..width] == *state;
        if self.table.find(hashed, equal).is_some() {
            return false;
        }
        // As many states as fit into memory: each has at least four bytes.
        let number = (self.states.len() / width.max(1)) as u32;
        self.states.extend_from_slice(state);
        let states = &self.states;
        let rehash = |number: &u32| hash(&states[*number as usize * width..][..width]);
        self.table.insert_unique(hashed, number, rehash);
        let bytes = (width * 4 + 8) as u64;
        self.took += bytes;
        budget.take(bytes);
        true
    }

    fn give_back(&mut self, budget: &Budget) {
        budget.give_back(self.took);
    }
}

fn hash(state: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    for number in state {
        hasher.write_u32(*number);
    }
    hasher.finish()
}
