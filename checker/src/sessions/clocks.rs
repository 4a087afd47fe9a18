//! Which nodes come before which, as vector clocks: for each node, how many of each session's nodes it comes after.

use super::graph::{Edge, Rows, Why, topological};
use super::history::{INITIAL, Sessions, Txn};
use crate::{Budget, Spent};
use std::ops::Range;

/// The nodes of a graph: transactions, or their beginnings and ends, session by session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points<'a> {
    pub(super) sessions: &'a Sessions,
    /// Whether a transaction's beginning and end are apart (snapshot isolation).
    pub(super) split: bool,
}

impl Points<'_> {
    fn each(self) -> u32 {
        1 + u32::from(self.split)
    }

    pub(super) fn count(self) -> usize {
        self.sessions.len() * self.each() as usize
    }

    /// When a transaction reads.
    pub(super) fn begin(self, txn: Txn) -> u32 {
        txn * self.each()
    }

    /// When a transaction writes.
    pub(super) fn end(self, txn: Txn) -> u32 {
        txn * self.each() + self.each() - 1
    }

    pub(super) fn txn(self, point: u32) -> Txn {
        point / self.each()
    }

    fn session(self, point: u32) -> usize {
        self.sessions.session[self.txn(point) as usize] as usize
    }

    pub(super) fn same_session(self, point: u32, other: u32) -> bool {
        self.session(point) == self.session(other)
    }

    /// A point's place within its session.
    fn position(self, point: u32) -> u32 {
        point - self.begin(self.sessions.starts[self.session(point)])
    }

    /// The orders that every level has: those of sessions, and writers before their readers.
    pub(super) fn base(self) -> Vec<Edge> {
        let sessions = self.sessions;
        let mut edges = Vec::new();
        let mut add = |from, to, why| edges.push(Edge { from, to, why });
        for txn in sessions.all() {
            if self.split {
                add(self.begin(txn), self.end(txn), Why::Session);
            }
            if let Some(next) = sessions.next(txn) {
                add(self.end(txn), self.begin(next), Why::Session);
            }
            let mut before = None;
            for read in sessions.reads_of(txn) {
                if read.writer != INITIAL && before != Some(read.writer) {
                    let why = Why::Read { key: read.key };
                    add(self.end(read.writer), self.begin(txn), why);
                    before = Some(read.writer);
                }
            }
        }
        for (before, after) in &sessions.seen_after {
            add(self.end(*before), self.begin(*after), Why::Session);
        }
        edges
    }
}

/// The clocks of all points.
pub(super) struct Clocks<'a> {
    points: Points<'a>,
    /// The first of the sessions that the clocks are about, and how many these are.
    first: usize,
    width: usize,
    /// For each point and session: how many of the session's points come before it, or are it.
    past: Vec<u32>,
    /// For each point and session: the place of the first of the session's points that comes after it, or is it.
    future: Vec<u32>,
}

/// Why there are no clocks.
pub(super) enum NoClocks {
    Cyclic,
    Spent(Spent),
}

impl<'a> Clocks<'a> {
    /// The clocks of a graph, of some of the sessions. What they hold is taken from the budget until
    /// [`Clocks::give_back`].
    pub(super) fn new(
        points: Points<'a>,
        edges: &[Edge],
        sessions: Range<usize>,
        forward: bool,
        budget: &Budget,
    ) -> Result<Clocks<'a>, NoClocks> {
        let rows = Rows::new(points.count(), edges);
        let order = topological(points.count(), edges, &rows);
        if order.len() < points.count() {
            return Err(NoClocks::Cyclic);
        }
        let width = sessions.len();
        let cells = points.count() * width;
        let bytes = (cells * 4 * (1 + usize::from(forward))) as u64;
        if bytes > budget.memory_left() {
            budget.memory_is_spent();
        }
        if let Some(spent) = budget.spent() {
            return Err(NoClocks::Spent(spent));
        }
        budget.take(bytes);
        let mut clocks = Clocks {
            points,
            first: sessions.start,
            width,
            past: vec![0; cells],
            future: vec![u32::MAX; if forward { cells } else { 0 }],
        };
        clocks.fill_past(&order, edges, &rows);
        if forward {
            clocks.fill_future(&order, edges, &rows);
        }
        Ok(clocks)
    }

    /// Gives back what the clocks took from the budget.
    pub(super) fn give_back(self, budget: &Budget) {
        budget.give_back(((self.past.len() + self.future.len()) * 4) as u64);
    }

    fn fill_past(&mut self, order: &[u32], edges: &[Edge], rows: &Rows) {
        for point in order {
            if let Some(own) = self.own(*point) {
                self.past[own] = self.past[own].max(self.points.position(*point) + 1);
            }
            for place in rows.leaving(*point) {
                let to = edges[*place as usize].to;
                let (from, into) = two_rows(&mut self.past, *point as usize, to as usize, self.width);
                for (cell, other) in into.iter_mut().zip(from) {
                    *cell = (*cell).max(*other);
                }
            }
        }
    }

    fn fill_future(&mut self, order: &[u32], edges: &[Edge], rows: &Rows) {
        for point in order.iter().rev() {
            for place in rows.leaving(*point) {
                let to = edges[*place as usize].to;
                let (from, into) = two_rows(&mut self.future, to as usize, *point as usize, self.width);
                for (cell, other) in into.iter_mut().zip(from) {
                    *cell = (*cell).min(*other);
                }
            }
            if let Some(own) = self.own(*point) {
                self.future[own] = self.future[own].min(self.points.position(*point));
            }
        }
    }

    /// When each point was, as far as can be guessed: in the middle between all that comes before it and all that comes
    /// after it. A point that comes before another has a lower number.
    pub(super) fn guesses(&self) -> Vec<u64> {
        let starts = &self.points.sessions.starts;
        let lengths: Vec<u32> = starts
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) * self.points.each())
            .collect();
        let past = self.past.chunks(self.width.max(1));
        let future = self.future.chunks(self.width.max(1));
        let guess = |(past, future): (&[u32], &[u32])| {
            let later = future
                .iter()
                .zip(&lengths)
                .map(|(first, length)| *first.min(length));
            past.iter().copied().chain(later).map(u64::from).sum()
        };
        past.zip(future).map(guess).collect()
    }

    /// Whether the clocks are about a session. Only then may it be asked for.
    pub(super) fn cover(&self, session: usize) -> bool {
        (self.first..self.first + self.width).contains(&session)
    }

    /// A point's cell of its own session, where the clocks are about that.
    fn own(&self, point: u32) -> Option<usize> {
        let session = self.points.session(point);
        self.cover(session).then(|| self.cell(point, session))
    }

    fn cell(&self, point: u32, session: usize) -> usize {
        point as usize * self.width + session - self.first
    }

    /// Whether a point comes before another, or is it.
    pub(super) fn before(&self, point: u32, other: u32) -> bool {
        self.past[self.cell(other, self.points.session(point))] > self.points.position(point)
    }

    /// How many of a session's transactions, other than the point's own, ended before a point.
    pub(super) fn ended_before(&self, session: usize, point: u32) -> u32 {
        let points = self.past[self.cell(point, session)];
        let ended = points / self.points.each();
        let own = session == self.points.session(point) && !self.points.split;
        ended - u32::from(own)
    }

    /// The place of the first of a session's transactions that certainly ends after a point; past all where none does.
    pub(super) fn first_ending_after(&self, session: usize, point: u32) -> u32 {
        match self.future[self.cell(point, session)] {
            u32::MAX => u32::MAX,
            position => position / self.points.each(),
        }
    }
}

/// Two different rows of a table: one to read, one to write.
fn two_rows(table: &mut [u32], from: usize, into: usize, width: usize) -> (&[u32], &mut [u32]) {
    if from < into {
        let (low, high) = table.split_at_mut(into * width);
        (&low[from * width..(from + 1) * width], &mut high[..width])
    } else {
        let (low, high) = table.split_at_mut(from * width);
        (&high[..width], &mut low[into * width..(into + 1) * width])
    }
}
