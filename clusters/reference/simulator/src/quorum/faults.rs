//! What goes wrong, and how it ends.

use raft::{Nanos, Role};

use super::settings::MILLISECOND;
use super::world::{Happening, World};
use super::{Application, Violation};

impl<A: Application> World<A> {
    /// Injects one fault, and sets the time of the next.
    pub(super) fn next_fault(&mut self) -> Result<(), Violation> {
        if !self.chaotic {
            return Ok(());
        }
        match self.random.index(12) {
            0..=2 => self.crash_some(),
            3 | 4 => self.network.part(&mut self.random),
            5 | 6 => self.network.degrade(&mut self.random),
            7..=9 => self.network.heal(),
            10 => self.crash_all(),
            _ => self.resign_some()?,
        }
        let pause = self.random.between(5, 300) * MILLISECOND;
        self.schedule(pause, Happening::Fault);
        Ok(())
    }

    /// The leader as often as not: that is where it hurts.
    fn crash_some(&mut self) {
        let anyone = self.random.index(self.nodes.len());
        let victim = match self.newest_leader() {
            Some(leader) if self.random.per_mille(500) => leader,
            _ => anyone,
        };
        if !self.app.spares(victim) {
            self.crash(victim);
        }
    }

    fn crash_all(&mut self) {
        for at in 0..self.nodes.len() {
            if !self.app.spares(at) {
                self.crash(at);
            }
        }
    }

    fn resign_some(&mut self) -> Result<(), Violation> {
        match self.newest_leader() {
            Some(leader) => self.handle(leader, raft::Event::Resign, &[]),
            None => Ok(()),
        }
    }

    /// Where in a list of actions the node crashes; mostly nowhere.
    pub(super) fn crash_point(&mut self, at: usize, actions: usize) -> Option<usize> {
        if !self.chaotic || actions == 0 || self.app.spares(at) {
            return None;
        }
        let leads = self.nodes[at]
            .raft
            .as_ref()
            .is_some_and(|raft| raft.role() == Role::Leader);
        let chance = if leads { 4 } else { 2 };
        self.random.per_mille(chance).then(|| self.random.index(actions))
    }

    /// A node is gone, with all that it had not synced; it comes back after a while.
    pub(super) fn crash(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        if node.raft.take().is_none() {
            return;
        }
        self.crashes += 1;
        node.disk.crash(&mut self.random);
        self.app.crashed(self.now, at, &mut self.random);
        let down: Nanos = if self.random.per_mille(500) {
            self.random.between(1, 20)
        } else {
            self.random.between(20, 600)
        };
        self.schedule(down * MILLISECOND, Happening::Restart(at));
    }

    /// A node stops in good order, with all it had on disk.
    pub(super) fn stop(&mut self, at: usize, down: Nanos) {
        let node = &mut self.nodes[at];
        if node.raft.take().is_some() {
            node.disk.sync(node.disk.log().len());
            self.schedule(down, Happening::Restart(at));
        }
    }

    /// The last fault heals.
    pub(super) fn calm(&mut self) -> Result<(), Violation> {
        self.chaotic = false;
        self.network.heal();
        self.app.calm(self.now);
        for at in 0..self.nodes.len() {
            self.start(at)?;
        }
        Ok(())
    }
}
