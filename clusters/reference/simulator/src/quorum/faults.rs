//! What goes wrong, and how it ends.

use raft::{Nanos, Role};

use super::administrators::place_of;
use super::network::Cargo;
use super::schedule::DecisionId;
use super::settings::{FaultKind, MILLISECOND};
use super::world::{Happening, World};
use super::{Application, Disk, Violation};
use crate::Random;
use crate::random::mix;

impl<A: Application> World<A> {
    /// The chances of a decision: its own, whatever others are carried out.
    pub(super) fn chances(&self, id: DecisionId) -> Random {
        let name = match id {
            DecisionId::Fault(number) => mix(number),
            DecisionId::Within(node, list) => mix(mix(node + 1) ^ list),
            DecisionId::Phase(number) => !mix(number),
        };
        Random::new(mix(self.seed ^ name))
    }

    /// Injects one fault, and sets the time of the next.
    pub(super) fn next_fault(&mut self) -> Result<(), Violation> {
        self.fault_due = self.chaotic;
        if !self.chaotic {
            return Ok(());
        }
        let id = DecisionId::Fault(self.faults);
        self.faults += 1;
        let mut chance = self.chances(id);
        let pause = chance.between(5, 300) * MILLISECOND;
        self.schedule(pause, Happening::Fault);
        let kind = FaultKind::DRAWN[chance.index(FaultKind::DRAWN.len())];
        let victim = self.choose_victim(&mut chance);
        let possible = !self.settings.without.contains(&kind) && self.may_hit(kind, victim);
        let what = || format!("{kind:?}, node {victim} if one is meant");
        if possible && self.schedule.permits(self.now, id, what) {
            self.committed_at_fault = self.checks.committed();
            return self.inject(kind, victim, &mut chance);
        }
        Ok(())
    }

    /// The leader as often as not: that is where it hurts.
    fn choose_victim(&self, chance: &mut Random) -> usize {
        let anyone = chance.index(self.nodes.len());
        let leader = self.newest_leader().filter(|_| chance.per_mille(500));
        leader.unwrap_or(anyone)
    }

    fn may_hit(&self, kind: FaultKind, victim: usize) -> bool {
        let up = self.nodes[victim].raft.is_some();
        match kind {
            FaultKind::Kill | FaultKind::PowerCut => up && !self.app.spares(victim),
            FaultKind::DiskLoss => !self.app.spares(victim) && self.can_lose_disk(victim),
            FaultKind::Pause => up && !self.nodes[victim].paused,
            FaultKind::Resign => self.newest_leader().is_some(),
            _ => true,
        }
    }

    fn inject(&mut self, kind: FaultKind, victim: usize, chance: &mut Random) -> Result<(), Violation> {
        match kind {
            FaultKind::Kill => self.go_down(victim, chance, |_, _| {}),
            FaultKind::PowerCut => self.crash(victim, chance),
            FaultKind::Blackout => self.crash_all(chance),
            FaultKind::Cut if self.settings.dynamic && chance.per_mille(200) => self.leave_leader_observers(),
            FaultKind::Cut => self.network.part(chance),
            FaultKind::Degrade => self.network.degrade(chance),
            FaultKind::Heal => self.network.heal(),
            FaultKind::Pause => self.pause(victim, chance),
            FaultKind::Drift => return self.let_drift(victim, chance),
            FaultKind::DiskLoss => self.lose_disk(victim, chance),
            FaultKind::Resign => return self.resign_some(),
            FaultKind::Administrator => {}
        }
        Ok(())
    }

    fn crash_all(&mut self, chance: &mut Random) {
        for at in 0..self.nodes.len() {
            if !self.app.spares(at) {
                self.crash(at, chance);
            }
        }
    }

    /// The leader is left with those who do not vote, and administrators would change that: what a
    /// leader could do wrong about sets of voters, it does here.
    fn leave_leader_observers(&mut self) {
        let Some(leader) = self.newest_leader() else {
            return;
        };
        let Some(raft) = &self.nodes[leader].raft else {
            return;
        };
        let voters = raft.voter_set().keys().map(|key| place_of(key.id));
        let lost: Vec<_> = voters.filter(|at| *at != leader).collect();
        self.network
            .block_where(|from, to| lost.contains(&from) != lost.contains(&to));
        self.call_administrators(leader);
    }

    fn resign_some(&mut self) -> Result<(), Violation> {
        match self.newest_leader() {
            Some(leader) => self.handle(leader, raft::Event::Resign, &Cargo::none()),
            None => Ok(()),
        }
    }

    /// A node does nothing for a while: its process is stopped, or collects garbage.
    fn pause(&mut self, at: usize, chance: &mut Random) {
        let node = &mut self.nodes[at];
        node.paused = true;
        let incarnation = node.incarnation;
        let long = chance.between(10, 700) * MILLISECOND;
        self.schedule(long, Happening::Resume(at, incarnation));
    }

    /// A node's clock goes on at another rate.
    fn let_drift(&mut self, at: usize, chance: &mut Random) -> Result<(), Violation> {
        let node = &mut self.nodes[at];
        if chance.per_mille(300) {
            node.clock.run_wild(self.now, chance);
        } else {
            node.clock.drift(self.now, chance);
        }
        self.reckon_anew(at)
    }

    /// Its next deadline comes at another time.
    fn reckon_anew(&mut self, at: usize) -> Result<(), Violation> {
        if self.nodes[at].tick_at.take().is_some() {
            // What was due while the clock was changed is done first, as by any driver.
            return self.handle(at, raft::Event::Tick, &Cargo::none());
        }
        Ok(())
    }

    /// Where in a list of actions the node loses power, and the chances of how; mostly nowhere.
    pub(super) fn crash_point(&mut self, at: usize, actions: usize) -> Option<(usize, Random)> {
        let node = &mut self.nodes[at];
        node.lists += 1;
        if !self.chaotic || actions == 0 {
            return None;
        }
        let leads = node.raft.as_ref().is_some_and(|raft| raft.role() == Role::Leader);
        let id = DecisionId::Within(at as u64, node.lists);
        let mut chance = self.chances(id);
        let often = if leads { 4 } else { 2 };
        let spared = self.settings.without.contains(&FaultKind::PowerCut) || self.app.spares(at);
        if !chance.per_mille(often) || spared {
            return None;
        }
        let point = chance.index(actions);
        let what = || format!("node {at} loses power before action {point} of {actions}");
        let permitted = self.schedule.permits(self.now, id, what);
        permitted.then_some((point, chance))
    }

    /// Whether the node loses power at a moment that is worth it. Then it has.
    pub(super) fn crashes_now(&mut self, at: usize) -> bool {
        self.nodes[at].lists += 1;
        let id = DecisionId::Within(at as u64, self.nodes[at].lists);
        let mut chance = self.chances(id);
        let spared = self.settings.without.contains(&FaultKind::PowerCut) || self.app.spares(at);
        if !self.chaotic || spared || !chance.per_mille(50) {
            return false;
        }
        let what = || format!("node {at} loses power between a snapshot and its log");
        let crashes = self.schedule.permits(self.now, id, what);
        if crashes {
            self.crash(at, &mut chance);
        }
        crashes
    }

    /// A node loses power, and with it what it had not synced; it comes back after a while.
    pub(super) fn crash(&mut self, at: usize, chance: &mut Random) {
        if self.nodes[at].raft.is_some() {
            self.crashes += 1;
            self.go_down(at, chance, Disk::lose_power);
        }
    }

    /// A node is gone, and with it something of its disk. It comes back after a while.
    pub(super) fn go_down(
        &mut self,
        at: usize,
        chance: &mut Random,
        lose: impl FnOnce(&mut Disk<A::Payload>, &mut Random),
    ) {
        let node = &mut self.nodes[at];
        let was_up = node.raft.take().is_some();
        lose(&mut node.disk, chance);
        if !was_up {
            return;
        }
        node.asked.clear();
        node.paused = false;
        self.committed_at_fault = self.checks.committed();
        self.app.crashed(self.now, at, &mut self.random);
        let down: Nanos = if chance.per_mille(500) {
            chance.between(1, 20)
        } else {
            chance.between(20, 600)
        };
        self.schedule(down * MILLISECOND, Happening::Restart(at));
    }

    /// A node stops in good order, with all it had on disk.
    pub(super) fn stop(&mut self, at: usize, down: Nanos) {
        let node = &mut self.nodes[at];
        if node.raft.take().is_some() {
            node.disk.sync(node.disk.log().end());
            node.asked.clear();
            self.schedule(down, Happening::Restart(at));
        }
    }

    /// The last fault heals. Clocks still drift, as clocks do.
    pub(super) fn calm(&mut self) -> Result<(), Violation> {
        self.chaotic = false;
        self.network.heal();
        self.app.calm(self.now);
        for at in 0..self.nodes.len() {
            self.nodes[at].paused = false;
            self.start(at)?;
            if !self.settings.without.contains(&FaultKind::Drift) {
                self.nodes[at].clock.drift(self.now, &mut self.random);
                self.reckon_anew(at)?;
            }
        }
        Ok(())
    }
}
