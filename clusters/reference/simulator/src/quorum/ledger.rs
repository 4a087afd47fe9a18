//! The plainest application: clients append numbers to whoever leads.

use raft::{Epoch, Nanos, Offset, Raft, Role};

use super::settings::{MILLISECOND, Outcome};
use super::{Application, Post, Settings, Violation, Wish, World};
use crate::Random;

/// Numbers to append, and how far each node has applied them.
#[derive(Debug)]
pub struct Ledger {
    next: u64,
    /// How many records each node's next batch has, if it leads; 0 until a client comes. Clients come
    /// to all, so that a leader that is none any more gets its share.
    waiting: Vec<usize>,
    /// When the next client comes, unless that is settled already.
    next_client: Option<Nanos>,
    /// Up to where each node has applied.
    applied: Vec<Offset>,
    /// The first number appended in calm times, and the nodes that have applied it or a later one.
    after_calm: Option<(u64, Vec<bool>)>,
}

impl Ledger {
    /// One for a world of these settings.
    pub fn new(settings: &Settings) -> Self {
        let nodes = settings.voters + settings.observers;
        Self {
            next: 1,
            waiting: vec![0; nodes],
            next_client: Some(MILLISECOND),
            applied: vec![0; nodes],
            after_calm: None,
        }
    }
}

impl Application for Ledger {
    type Payload = u64;
    /// A client comes.
    type Event = ();

    fn fingerprint(payload: &u64) -> u64 {
        *payload
    }

    fn started(&mut self, _now: Nanos, node: usize) {
        self.applied[node] = 0;
    }

    fn crashed(&mut self, _now: Nanos, _node: usize, _random: &mut Random) {}

    fn apply(
        &mut self,
        _now: Nanos,
        node: usize,
        offset: Offset,
        _epoch: Epoch,
        payload: Option<&u64>,
    ) -> Result<(), Violation> {
        if self.applied[node] != offset {
            return Err(Violation::Application(format!(
                "node {node} applies offset {offset} after {}",
                self.applied[node]
            )));
        }
        self.applied[node] = offset + 1;
        if let (Some((first, seen)), Some(number)) = (&mut self.after_calm, payload) {
            seen[node] |= number >= first;
        }
        Ok(())
    }

    fn restored(&mut self, _now: Nanos, node: usize, end: Offset) -> Result<(), Violation> {
        self.applied[node] = end;
        Ok(())
    }

    fn after_step(&mut self, _now: Nanos, node: usize, raft: &Raft) -> Result<Option<Wish<u64>>, Violation> {
        if self.waiting[node] == 0 || raft.role() != Role::Leader {
            return Ok(None);
        }
        let waiting = std::mem::take(&mut self.waiting[node]);
        let numbers = self.next..self.next + waiting as u64;
        self.next = numbers.end;
        Ok(Some(Wish::Append(raft.epoch(), numbers.collect())))
    }

    fn on_event(&mut self, _now: Nanos, (): (), random: &mut Random) -> Result<(), Violation> {
        let waiting = 1 + random.index(3);
        self.waiting.fill(waiting);
        self.next_client = Some(random.between(1, 30) * MILLISECOND);
        Ok(())
    }

    fn take_posts(&mut self) -> Vec<Post<()>> {
        let next = self.next_client.take();
        next.map(|after| Post::Later(after, ())).into_iter().collect()
    }

    fn calm(&mut self, _now: Nanos) {
        self.after_calm = Some((self.next, vec![false; self.applied.len()]));
    }

    fn recovered(&self, _now: Nanos) -> bool {
        let seen = self.after_calm.as_ref().map(|(_, seen)| seen);
        seen.is_some_and(|seen| seen.iter().all(|seen| *seen))
    }

    fn summary(&self) -> String {
        format!("applied up to {:?}, {:?}", self.applied, self.after_calm)
    }
}

/// Runs one seed.
///
/// # Errors
///
/// The first broken rule.
pub fn simulate(seed: u64, settings: Settings) -> Result<Outcome, Violation> {
    let ledger = Ledger::new(&settings);
    let mut world = World::new(seed, settings, ledger)?;
    world.run()
}
