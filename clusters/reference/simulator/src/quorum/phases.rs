//! The script of a long run: chaos, calm, and then one situation that chance hardly makes.
//!
//! Liveness is checked here, since it is a promise for good times only: each phase makes its own
//! good times (who is up, who is connected to whom) and holds the quorum to what it promises then.
//!
//! * [`Violation::NoLeader`]: a majority of voters is up and fully connected among itself, whatever
//!   becomes of the others: cut off, heard but not hearing, or bridged to some of the majority. Then
//!   somebody leads, and commits. (KIP-595: a leader that hears no majority resigns, so that those
//!   who follow it let go of it; KIP-996: who has lost its leader grants a pre-vote.)
//! * [`Violation::StuckProspective`]: the network is whole, and nobody asks for votes for ever.
//! * [`Violation::ReturnDisturbs`]: a node that was cut off until it had missed its leader many times
//!   over, and has an old log, comes back: a healthy quorum keeps its leader and its epoch (KIP-996).

use std::time::Duration;

use raft::{Epoch, Nanos, NodeId, Raft, Role};

use super::schedule::DecisionId;
use super::settings::MILLISECOND;
use super::world::{Happening, World, node_id};
use super::{Application, Counts, Violation};
use crate::Random;

/// How many times fetch and election time-out together a majority may take to get a leader that
/// commits. One is the rule: half a fetch time-out more until a leader that hears no majority
/// resigns, then an election. Ten is what the quorum promises at its worst (votes that split again
/// and again, each round waiting for a time-out of its own); what never ends misses any bound.
pub const NO_LEADER_ROUNDS: u64 = 10;

/// After a change of the network, what was under way has arrived: some times the slowest delivery.
const DRAIN: Nanos = 50 * MILLISECOND;

/// Liveness is promised where time-outs are long against what a disk and a message may take in good
/// times (40 ms and 5 ms here, there and back): with shorter ones there is no healthy quorum to speak of.
const LEAST_FETCH_TIMEOUT: Duration = Duration::from_millis(150);

/// How many fetch and election time-outs a node is cut off for: several elections in vain.
const ISOLATION_ROUNDS: u64 = 4;

/// For how many a return is watched: the first request for votes comes within one.
const RETURN_ROUNDS: u64 = 2;

impl<A: Application> World<A> {
    /// Chaos, calm and a phase of the script, again and again, until so many events.
    ///
    /// # Errors
    ///
    /// The first broken rule.
    pub fn run_script(&mut self, min_events: u64) -> Result<(), Violation> {
        let mut number = 0;
        while self.counts.events < min_events {
            self.chaos()?;
            self.calm_down()?;
            self.phase(number)?;
            number += 1;
        }
        Ok(())
    }

    /// Faults, for as long as the settings say.
    pub(super) fn chaos(&mut self) -> Result<(), Violation> {
        self.chaotic = true;
        if !self.fault_due {
            self.fault_due = true;
            self.schedule(0, Happening::Fault);
        }
        self.run_for(self.settings.chaos)
    }

    /// The last fault heals, and all works again in time.
    pub(super) fn calm_down(&mut self) -> Result<(), Violation> {
        self.calm()?;
        let (healed_at, committed) = (self.now, self.checks.committed());
        while !self.recovered() {
            if self.now > healed_at + self.settings.recovery {
                return Err(self.stuck());
            }
            self.step()?;
        }
        let took = self.now - healed_at;
        self.counts.slowest_recovery = self.counts.slowest_recovery.max(took);
        if !self.schedule.made().is_empty() {
            self.counts.commits_after_fault += (self.checks.committed() - committed) as u64;
        }
        Ok(())
    }

    fn phase(&mut self, number: u64) -> Result<(), Violation> {
        let mut chance = self.chances(DecisionId::Phase(number));
        self.settle_changes()?;
        let healthy = self.settings.timeouts.fetch_timeout >= LEAST_FETCH_TIMEOUT;
        match chance.index(8) {
            0 => return Ok(()),
            1 | 2 => self.change_chairs(number, &mut chance)?,
            3..=5 if healthy => self.part_all_but_a_majority(number, &mut chance)?,
            _ if healthy => self.cut_off_and_return(number, &mut chance)?,
            _ => self.change_chairs(number, &mut chance)?,
        }
        self.calm_down()
    }

    /// Waits for changes of voters that were asked for in chaos: one that votes the leader out would
    /// end a healthy quorum's epoch, and rightly.
    fn settle_changes(&mut self) -> Result<(), Violation> {
        let until = self.now + self.settings.recovery;
        while self.changes_under_way() > 0 && self.now < until {
            self.step()?;
        }
        self.run_for(DRAIN)
    }

    fn run_for(&mut self, time: Nanos) -> Result<(), Violation> {
        let until = self.now + time;
        while self.now < until {
            self.step()?;
        }
        Ok(())
    }

    /// Fetch and election time-out together.
    fn round(&self) -> Nanos {
        let timeouts = &self.settings.timeouts;
        let round = timeouts.fetch_timeout + timeouts.election_timeout;
        u64::try_from(round.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Leaders are left with a follower or none, and lose power, one after another: what they wrote is
    /// on few, of several epochs, and comes back with them (the Raft paper's figure 8).
    fn change_chairs(&mut self, number: u64, chance: &mut Random) -> Result<(), Violation> {
        let id = DecisionId::Phase(number);
        let rounds = chance.between(4, 16);
        let what = || format!("{rounds} leaders, one after another, are left with few");
        if self.nodes.len() < 3 || !self.schedule.permits(self.now, id, what) {
            return Ok(());
        }
        self.counts.phases += 1;
        for _ in 0..rounds {
            if let Some(leader) = self.newest_leader() {
                let kept = chance.index(self.nodes.len());
                let inside = |at: usize| at == leader || at == kept;
                for (one, other) in self.links() {
                    if inside(one) != inside(other) {
                        self.network.block(one, other);
                    }
                }
                self.run_for(chance.between(2, 60) * MILLISECOND)?;
                if chance.per_mille(700) {
                    self.crash(leader, chance);
                }
            }
            self.network.heal();
            self.run_for(chance.below(2 * self.round()))?;
        }
        Ok(())
    }

    /// All links, in both directions.
    fn links(&self) -> Vec<(usize, usize)> {
        let nodes = self.nodes.len();
        (0..nodes)
            .flat_map(|one| (0..nodes).map(move |other| (one, other)))
            .collect()
    }

    fn part_all_but_a_majority(&mut self, number: u64, chance: &mut Random) -> Result<(), Violation> {
        let Some((_, leader)) = self.healthy(None) else {
            return Ok(());
        };
        let Some(majority) = self.choose_majority(leader, chance) else {
            return Ok(());
        };
        let cuts = self.choose_cuts(&majority, chance);
        let permitted = self.schedule.permits(self.now, DecisionId::Phase(number), || {
            format!("only {majority:?} are connected among themselves, {leader} led; cut: {cuts:?}")
        });
        if !permitted {
            return Ok(());
        }
        self.counts.phases += 1;
        for (from, to) in cuts {
            self.network.block(from, to);
        }
        self.run_for(DRAIN)?;
        for _ in 0..=chance.below(2) {
            self.somebody_commits(&majority)?;
            self.run_for(chance.below(2 * self.round()))?;
        }
        Ok(())
    }

    /// A majority of voters, of whatever set is in force at whichever node; as often as not, the
    /// leader is not among it.
    fn choose_majority(&self, leader: usize, chance: &mut Random) -> Option<Vec<usize>> {
        let raft = self.nodes[leader].raft.as_ref()?;
        let size = raft.voter_set().majority();
        let mut places: Vec<_> = raft
            .voter_set()
            .keys()
            .filter_map(|key| self.place(key.id))
            .collect();
        shuffle(&mut places, chance);
        if chance.per_mille(700) {
            places.sort_by_key(|place| *place == leader);
        }
        places.truncate(size + chance.index(2));
        self.is_majority(&places).then_some(places)
    }

    /// Whether these are up, and a majority of every set of voters that is in force somewhere.
    fn is_majority(&self, places: &[usize]) -> bool {
        let keys: Vec<_> = places
            .iter()
            .filter_map(|place| self.nodes[*place].raft.as_ref())
            .map(|raft| raft.config().key())
            .collect();
        let sets = self.nodes.iter().flat_map(|node| &node.raft).map(Raft::voter_set);
        let mut sets = sets.filter(|set| !set.is_empty());
        keys.len() == places.len()
            && sets.all(|set| keys.iter().filter(|key| set.contains(**key)).count() >= set.majority())
    }

    /// Which directions of which links to cut: none within the majority.
    fn choose_cuts(&self, majority: &[usize], chance: &mut Random) -> Vec<(usize, usize)> {
        let bridged = chance.per_mille(600);
        let mut cuts = Vec::new();
        let outside: Vec<_> = (0..self.nodes.len())
            .filter(|at| !majority.contains(at))
            .collect();
        for at in &outside {
            let bridge = majority[chance.index(majority.len())];
            for other in majority {
                let (to, from) = match chance.index(4) {
                    _ if bridged => (*other == bridge, *other == bridge),
                    0 => (true, true),
                    1 => (true, false),
                    2 => (false, true),
                    _ => (false, false),
                };
                cuts.extend((!to).then_some((*at, *other)));
                cuts.extend((!from).then_some((*other, *at)));
            }
            for other in outside.iter().filter(|other| *other != at) {
                cuts.extend(chance.per_mille(500).then_some((*at, *other)));
            }
        }
        cuts
    }

    /// The promise of liveness: who can, commits.
    fn somebody_commits(&mut self, majority: &[usize]) -> Result<(), Violation> {
        let (since, known) = (self.now, self.checks.committed());
        let bound = NO_LEADER_ROUNDS * self.round();
        while self.checks.committed() == known {
            if self.now > since + bound {
                return if self.is_majority(majority) {
                    Err(Violation::NoLeader(format!(
                        "nodes {majority:?}, a majority, have been up and connected for {} ms, and \
                         nothing is committed: {}",
                        bound / MILLISECOND,
                        self.standings()
                    )))
                } else {
                    Ok(())
                };
            }
            self.step()?;
        }
        Ok(())
    }

    fn cut_off_and_return(&mut self, number: u64, chance: &mut Random) -> Result<(), Violation> {
        let Some((_, leader)) = self.healthy(None) else {
            return Ok(());
        };
        let Some(away) = self.choose_absentee(leader, chance) else {
            return Ok(());
        };
        let permitted = self.schedule.permits(self.now, DecisionId::Phase(number), || {
            format!("node {away} is cut off and comes back, {leader} led")
        });
        if !permitted {
            return Ok(());
        }
        self.counts.phases += 1;
        for other in (0..self.nodes.len()).filter(|other| *other != away) {
            self.network.block(away, other);
            self.network.block(other, away);
        }
        let longest = 2 * u64::try_from(self.settings.timeouts.election_timeout.as_nanos()).unwrap_or(0);
        self.run_for(ISOLATION_ROUNDS * (self.round() + longest))?;
        self.return_of(away)
    }

    /// A voter without which there is still a majority.
    fn choose_absentee(&self, leader: usize, chance: &mut Random) -> Option<usize> {
        let raft = self.nodes[leader].raft.as_ref()?;
        let mut places: Vec<_> = raft
            .voter_set()
            .keys()
            .filter_map(|key| self.place(key.id))
            .collect();
        shuffle(&mut places, chance);
        let away = places.pop()?;
        self.is_majority(&places).then_some(away)
    }

    /// All is whole again: whoever leads leads on.
    fn return_of(&mut self, away: usize) -> Result<(), Violation> {
        let Some((epoch, leader)) = self.healthy(Some(away)) else {
            return Ok(());
        };
        let was = self.nodes[away].raft.as_ref().map(Raft::standing);
        self.network.heal();
        let until = self.now + RETURN_ROUNDS * self.round();
        while self.now < until {
            self.step()?;
            if self.disturbed(epoch, leader) {
                return Err(Violation::ReturnDisturbs(format!(
                    "node {away} came back as {was:?}, and node {leader}, which led epoch {epoch}, \
                     does not any more: {}",
                    self.standings()
                )));
            }
        }
        Ok(())
    }

    fn disturbed(&self, epoch: Epoch, leader: usize) -> bool {
        let standing = |at: usize| self.nodes[at].raft.as_ref().map(Raft::standing);
        let leads = standing(leader).is_some_and(|it| it.role == Role::Leader && it.epoch == epoch);
        !leads
            || (0..self.nodes.len())
                .filter_map(standing)
                .any(|it| it.epoch > epoch)
    }

    /// The epoch and the leader that all who are up agree on, and who acts as such; one node may
    /// think otherwise.
    fn healthy(&self, except: Option<usize>) -> Option<(Epoch, usize)> {
        let others = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != except);
        let mut standings = others
            .filter_map(|(_, node)| node.raft.as_ref())
            .map(Raft::standing);
        let first = standings.next()?;
        let leader = first.leader?;
        let place = self.place(leader)?;
        let acts = self.nodes[place].raft.as_ref()?.active_epoch() == Some(first.epoch);
        let agreed = standings.all(|it| (it.epoch, it.leader) == (first.epoch, Some(leader)));
        (acts && agreed).then_some((first.epoch, place))
    }

    fn place(&self, id: NodeId) -> Option<usize> {
        (0..self.nodes.len()).find(|at| node_id(*at) == id)
    }

    /// Why the quorum does not work again although all is whole.
    pub(super) fn stuck(&self) -> Violation {
        let words = format!(
            "{} ms after the last fault healed: {}; {}",
            self.settings.recovery / MILLISECOND,
            self.standings(),
            self.app.summary()
        );
        let mut rafts = self.nodes.iter().flat_map(|node| &node.raft);
        let asks = |raft: &Raft| matches!(raft.role(), Role::Prospective | Role::Candidate);
        if rafts.clone().any(asks) {
            Violation::StuckProspective(words)
        } else if !rafts.any(|raft| raft.active_epoch().is_some()) {
            Violation::NoLeader(words)
        } else {
            Violation::Stuck(words)
        }
    }

    fn standings(&self) -> String {
        let standing = |(at, raft): (usize, Option<&Raft>)| match raft.map(|raft| (raft.standing(), raft)) {
            None => format!("{at} down"),
            Some((standing, raft)) => format!(
                "{at} {:?} in {} of {:?} with {} records",
                standing.role,
                standing.epoch,
                standing.leader.map(|leader| leader.0),
                raft.log_end_offset()
            ),
        };
        let rafts = self.nodes.iter().map(|node| node.raft.as_ref()).enumerate();
        rafts.map(standing).collect::<Vec<_>>().join(", ")
    }

    /// What the run had in it so far.
    pub fn counts(&self) -> Counts {
        Counts {
            elections: self.checks.leaders() as u64,
            commits: self.checks.committed() as u64,
            power_cuts: self.crashes,
            faults: self.schedule.made().len() as u64,
            ..self.counts
        }
    }
}

fn shuffle(places: &mut [usize], chance: &mut Random) {
    for at in (1..places.len()).rev() {
        places.swap(at, chance.index(at + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::{FaultKind, Ledger, Settings};

    /// Three voters in good times, one of whom leads.
    fn healthy() -> (World<Ledger>, Epoch, usize) {
        let settings = Settings {
            voters: 3,
            observers: 0,
            dynamic: false,
            without: vec![FaultKind::Drift],
            ..Settings::for_seed(0)
        };
        let mut world = World::new(0, settings.clone(), Ledger::new(&settings)).unwrap();
        world.calm_down().unwrap();
        let (epoch, leader) = world.healthy(None).unwrap();
        (world, epoch, leader)
    }

    fn rule(result: Result<(), Violation>) -> Option<&'static str> {
        result.err().map(|violation| violation.rule())
    }

    #[test]
    fn a_return_that_changes_nothing_disturbs_nobody() {
        let (mut world, epoch, leader) = healthy();
        assert!(!world.disturbed(epoch, leader));
        let away = (leader + 1) % 3;
        assert_eq!(rule(world.return_of(away)), None);
    }

    #[test]
    fn a_leader_that_is_gone_or_an_epoch_that_is_newer_is_a_disturbance() {
        let (mut world, epoch, leader) = healthy();
        assert!(world.disturbed(epoch - 1, leader));
        assert!(world.disturbed(epoch, (leader + 1) % 3));
        world.nodes[leader].raft = None;
        assert!(world.disturbed(epoch, leader));
    }

    #[test]
    fn a_majority_commits_and_one_that_is_cut_apart_does_not() {
        let (mut world, _, leader) = healthy();
        let majority = [leader, (leader + 1) % 3];
        assert_eq!(rule(world.somebody_commits(&majority)), None);
        for (one, other) in world.links() {
            world.network.block(one, other);
        }
        world.run_for(DRAIN).unwrap();
        assert_eq!(rule(world.somebody_commits(&majority)), Some("NoLeader"));
    }

    #[test]
    fn only_those_who_are_up_make_a_majority() {
        let (mut world, _, _) = healthy();
        assert!(world.is_majority(&[0, 1]));
        assert!(!world.is_majority(&[2]));
        world.nodes[1].raft = None;
        assert!(!world.is_majority(&[0, 1]));
    }

    #[test]
    fn what_is_stuck_is_told_by_what_the_nodes_do() {
        let (mut world, _, leader) = healthy();
        assert_eq!(world.stuck().rule(), "Stuck");
        world.nodes[leader].raft = None;
        assert_eq!(world.stuck().rule(), "NoLeader");
        for (one, other) in world.links() {
            world.network.block(one, other);
        }
        let mut rules = std::collections::BTreeSet::new();
        for _ in 0..200 {
            world.run_for(5 * MILLISECOND).unwrap();
            rules.insert(world.stuck().rule());
        }
        assert!(rules.contains("StuckProspective"), "{rules:?}");
    }

    #[test]
    fn a_machine_that_is_not_woken_in_time_and_still_wants_to_be_is_a_busy_loop() {
        let (mut world, ..) = healthy();
        assert_eq!(rule(world.wake_later(0)), None);
        world.now += 60_000 * MILLISECOND;
        assert_eq!(rule(world.wake_later(0)), Some("BusyLoop"));
    }
}
