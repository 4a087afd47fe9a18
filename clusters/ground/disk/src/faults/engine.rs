//! Which call meets which rule, and what comes of it. Sans-IO: chance comes from the rules' seeds, time from nowhere.
use crate::CallKind;
use crate::draw::Draw;
use crate::rule::{Crash, DiskEffect, DiskRule, DiskRuleCounts, Errors, Spread, is_under};
use std::collections::BTreeMap;
use std::time::Duration;

/// One call of the node's kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    pub(crate) kind: Option<CallKind>,
    /// On what, below the mount: two paths of a rename or a link. None where nobody knows.
    pub(crate) paths: Vec<String>,
    /// It asks for durability, whatever else it is.
    pub(crate) synced: bool,
    /// Bytes by which it would lengthen its file.
    pub(crate) grows: u64,
    /// Bytes of which it would make room.
    pub(crate) frees: u64,
}

/// What comes of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// It waits so long for each of these faults, and then
    pub(crate) delays: Vec<(u64, Duration)>,
    /// this.
    pub(crate) outcome: Outcome,
}

impl Decision {
    pub(crate) fn delay(&self) -> Duration {
        self.delays.iter().map(|(_, delay)| *delay).sum()
    }
}

/// What a call comes to; of two that are asked for, the later in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done.
    #[default]
    Done,
    /// Well answered, and nothing is durable.
    Lied,
    /// EIO, and its pages are gone.
    PagesLost {
        /// Whose doing it is.
        fault: u64,
    },
    /// It fails.
    Failed(Errors),
    /// It waits for the end of this fault.
    Held(u64),
    /// All have stopped at a call before, by this fault.
    Frozen(u64),
    /// The node is struck.
    Crashed { fault: u64, after: bool, how: Crash },
}

impl Outcome {
    fn rank(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::Lied => 1,
            Outcome::PagesLost { .. } => 2,
            Outcome::Failed(_) => 3,
            Outcome::Held(_) => 4,
            Outcome::Frozen(_) => 5,
            Outcome::Crashed { .. } => 6,
        }
    }
}

#[derive(Debug)]
struct Active {
    rule: DiskRule,
    counts: DiskRuleCounts,
    draw: Draw,
}

/// All rules of a disk.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    rules: BTreeMap<u64, Active>,
    /// By whose rule the disk has stopped.
    frozen: Option<u64>,
}

impl Engine {
    pub(crate) fn set(&mut self, fault: u64, rule: DiskRule, done: DiskRuleCounts) {
        let draw = Draw::new(rule.seed, fault);
        let room_bytes = match rule.effect {
            DiskEffect::Full { room_bytes } => room_bytes,
            _ => 0,
        };
        let counts = DiskRuleCounts { room_bytes, ..done };
        self.rules.insert(fault, Active { rule, counts, draw });
    }

    pub(crate) fn clear(&mut self, fault: u64) {
        self.rules.remove(&fault);
        if self.frozen == Some(fault) {
            self.frozen = None;
        }
    }

    pub(crate) fn counts(&self, fault: u64) -> Option<DiskRuleCounts> {
        self.rules.get(&fault).map(|active| active.counts)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether it matters by how much calls lengthen files.
    pub(crate) fn minds_room(&self) -> bool {
        let full = |active: &Active| matches!(active.rule.effect, DiskEffect::Full { .. });
        self.rules.values().any(full)
    }

    /// The least room that is left by rules on the whole disk.
    pub(crate) fn room(&self) -> Option<u64> {
        let whole = |active: &&Active| {
            active.rule.path.is_empty() && matches!(active.rule.effect, DiskEffect::Full { .. })
        };
        self.rules
            .values()
            .filter(whole)
            .map(|active| active.counts.room_bytes)
            .min()
    }

    pub(crate) fn thaw(&mut self) {
        self.frozen = None;
    }

    pub(crate) fn lost_pages(&mut self, fault: u64, bytes: u64) {
        if let Some(active) = self.rules.get_mut(&fault) {
            active.counts.bytes += bytes;
        }
    }

    pub(crate) fn crashed(&mut self, fault: u64, at_ns: u64) {
        if let Some(active) = self.rules.get_mut(&fault) {
            active.counts.crashed_at_ns = Some(at_ns);
        }
    }

    /// A call that waited was answered.
    pub(crate) fn answered(&mut self, fault: u64, waited: Duration) {
        if let Some(Active { counts, .. }) = self.rules.get_mut(&fault) {
            let ns = waited.as_nanos().min(u128::from(u64::MAX)) as u64;
            counts.answered += 1;
            counts.waited_ns = counts.waited_ns.saturating_add(ns);
            counts.longest_ns = counts.longest_ns.max(ns);
        }
    }

    pub(crate) fn judge(&mut self, call: &Call) -> Decision {
        let mut decision = Decision::default();
        if let Some(fault) = self.frozen {
            decision.outcome = Outcome::Frozen(fault);
            return decision;
        }
        for (fault, active) in &mut self.rules {
            let outcome = match active.strikes(call) {
                None => continue,
                Some(DiskEffect::Slow(spread)) => {
                    decision.delays.push((*fault, drawn(spread, &mut active.draw)));
                    continue;
                }
                Some(DiskEffect::Fail(errors)) => Outcome::Failed(errors),
                Some(DiskEffect::Full { .. }) => Outcome::Failed(Errors::NoSpace),
                Some(DiskEffect::LosePages) => Outcome::PagesLost { fault: *fault },
                Some(DiskEffect::LieAboutSyncs) => Outcome::Lied,
                Some(DiskEffect::Hang) => Outcome::Held(*fault),
                Some(DiskEffect::Crash { after, how }) => Outcome::Crashed {
                    fault: *fault,
                    after,
                    how,
                },
                Some(DiskEffect::Flip { .. } | DiskEffect::CutOff { .. }) => continue,
            };
            if outcome.rank() > decision.outcome.rank() {
                decision.outcome = outcome;
            }
        }
        if let Outcome::Crashed { fault, .. } = decision.outcome {
            self.frozen = Some(fault);
        }
        decision
    }
}

impl Active {
    /// What it does to a call; none where it lets it be.
    fn strikes(&mut self, call: &Call) -> Option<DiskEffect> {
        if !self.is_for(call) {
            return None;
        }
        let (rule, counts) = (&self.rule, &mut self.counts);
        counts.met += 1;
        if let DiskEffect::Full { .. } = rule.effect {
            counts.room_bytes += call.frees;
            if call.grows <= counts.room_bytes {
                counts.room_bytes -= call.grows;
                return None;
            }
        } else if counts.met <= rule.skip {
            return None;
        }
        let times = match rule.effect {
            // A node crashes once.
            DiskEffect::Crash { .. } => Some(1),
            _ => rule.times,
        };
        if times.is_some_and(|times| counts.struck >= times) {
            return None;
        }
        counts.struck += 1;
        Some(rule.effect)
    }

    fn is_for(&self, call: &Call) -> bool {
        let Some(kind) = call.kind else { return false };
        let rule = &self.rule;
        let fits = match rule.effect {
            DiskEffect::LosePages => kind == CallKind::Sync,
            DiskEffect::LieAboutSyncs => kind == CallKind::Sync || call.synced,
            DiskEffect::Full { .. } => call.grows > 0 || call.frees > 0,
            DiskEffect::Flip { .. } | DiskEffect::CutOff { .. } => false,
            _ => true,
        };
        let meant = rule.calls.is_empty()
            || rule.calls.contains(&kind)
            || (call.synced && rule.calls.contains(&CallKind::Sync));
        fits && meant && (rule.path.is_empty() || call.paths.iter().any(|path| is_under(&rule.path, path)))
    }
}

fn drawn(spread: Spread, draw: &mut Draw) -> Duration {
    let ns = match spread {
        Spread::Fixed { ns } => ns,
        Spread::Uniform { least_ns, most_ns } => least_ns + draw.below(most_ns.saturating_sub(least_ns) + 1),
        Spread::Exponential { mean_ns, most_ns } => {
            // As fine as a double is: in (0, 1].
            const STEPS: u64 = 1 << 53;
            let unit = (draw.below(STEPS) + 1) as f64 / STEPS as f64;
            let ns = -unit.ln() * mean_ns as f64;
            (ns as u64).min(most_ns)
        }
    };
    Duration::from_nanos(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    fn call(kind: CallKind, path: &str) -> Call {
        Call {
            kind: Some(kind),
            paths: vec![path.into()],
            ..Call::default()
        }
    }

    fn engine(rules: &[(u64, DiskRule)]) -> Engine {
        let mut engine = Engine::default();
        for (fault, rule) in rules {
            engine.set(*fault, rule.clone(), DiskRuleCounts::default());
        }
        engine
    }

    fn fails() -> DiskRule {
        DiskRule::of(DiskEffect::Fail(Errors::Io))
    }

    #[test]
    fn a_rule_strikes_its_calls_and_its_folder_so_often_and_no_other() {
        let rule = DiskRule {
            calls: vec![CallKind::Write, CallKind::Sync],
            path: "data-1".into(),
            skip: 1,
            times: Some(2),
            ..fails()
        };
        let mut engine = engine(&[(7, rule)]);
        let mut says = |kind, path| engine.judge(&call(kind, path)).outcome;
        let failed = Outcome::Failed(Errors::Io);
        assert_eq!(says(CallKind::Read, "data-1/x"), Outcome::Done);
        assert_eq!(says(CallKind::Write, "data-2/x"), Outcome::Done);
        assert_eq!(says(CallKind::Write, "data-1/x"), Outcome::Done, "skipped");
        assert_eq!(says(CallKind::Sync, "data-1"), failed);
        assert_eq!(says(CallKind::Write, "data-1/y/z"), failed);
        assert_eq!(
            says(CallKind::Write, "data-1/x"),
            Outcome::Done,
            "twice was enough"
        );
        let counts = engine.counts(7).unwrap();
        assert_eq!((counts.met, counts.struck), (4, 2));
        engine.clear(7);
        assert!(engine.is_empty() && engine.counts(7).is_none());
    }

    #[test]
    fn faults_overlap_and_the_gravest_wins() {
        let fixed = |ns| DiskRule::of(DiskEffect::Slow(Spread::Fixed { ns }));
        let mut engine = engine(&[
            (1, fixed(5)),
            (2, fails()),
            (3, fixed(7)),
            (4, DiskRule::of(DiskEffect::Hang)),
        ]);
        let decision = engine.judge(&call(CallKind::Open, "x"));
        assert_eq!(decision.outcome, Outcome::Held(4));
        assert_eq!(decision.delay(), Duration::from_nanos(12));
        engine.clear(4);
        engine.clear(1);
        let decision = engine.judge(&call(CallKind::Open, "x"));
        assert_eq!(decision.outcome, Outcome::Failed(Errors::Io));
        assert_eq!(decision.delays, [(3, Duration::from_nanos(7))]);
    }

    #[test]
    fn a_crash_comes_once_and_stops_all_until_it_is_let_go() {
        let how = Crash::Power(Policy::default());
        let crash = DiskRule {
            calls: vec![CallKind::Sync],
            skip: 2,
            ..DiskRule::of(DiskEffect::Crash { after: false, how })
        };
        let mut engine = engine(&[(9, crash)]);
        let mut says = |kind| engine.judge(&call(kind, "x")).outcome;
        assert_eq!(says(CallKind::Sync), Outcome::Done);
        assert_eq!(says(CallKind::Sync), Outcome::Done);
        let crashed = Outcome::Crashed {
            fault: 9,
            after: false,
            how,
        };
        assert_eq!(says(CallKind::Sync), crashed);
        assert_eq!(says(CallKind::Read), Outcome::Frozen(9));
        engine.thaw();
        let outcome = engine.judge(&call(CallKind::Sync, "x")).outcome;
        assert_eq!(outcome, Outcome::Done, "once");
    }

    #[test]
    fn room_is_used_up_and_made() {
        let mut engine = engine(&[(1, DiskRule::of(DiskEffect::Full { room_bytes: 10 }))]);
        let mut says = |kind, grows, frees| {
            let call = Call {
                grows,
                frees,
                ..call(kind, "x")
            };
            engine.judge(&call).outcome == Outcome::Done
        };
        assert!(says(CallKind::Write, 8, 0));
        assert!(!says(CallKind::Write, 3, 0));
        assert!(says(CallKind::Write, 0, 0), "over what is there");
        assert!(says(CallKind::Read, 0, 0));
        assert!(says(CallKind::Remove, 0, 4));
        assert!(says(CallKind::Write, 6, 0));
        assert_eq!(engine.room(), Some(0));
        let counts = engine.counts(1).unwrap();
        assert_eq!((counts.met, counts.struck), (4, 1));
    }

    #[test]
    fn syncs_are_lied_to_and_writes_that_sync_too() {
        let mut engine = engine(&[(1, DiskRule::of(DiskEffect::LieAboutSyncs))]);
        assert_eq!(engine.judge(&call(CallKind::Write, "x")).outcome, Outcome::Done);
        assert_eq!(engine.judge(&call(CallKind::Sync, "x")).outcome, Outcome::Lied);
        let synced = Call {
            synced: true,
            ..call(CallKind::Write, "x")
        };
        assert_eq!(engine.judge(&synced).outcome, Outcome::Lied);
        engine.clear(1);
        engine.set(2, DiskRule::of(DiskEffect::LosePages), DiskRuleCounts::default());
        assert_eq!(engine.judge(&synced).outcome, Outcome::Done);
    }

    #[test]
    fn waits_are_drawn_as_asked() {
        let draws = |spread| {
            let mut draw = Draw::new(3, 4);
            (0..20_000)
                .map(|_| drawn(spread, &mut draw).as_nanos() as u64)
                .collect::<Vec<_>>()
        };
        let mean = |all: &[u64]| all.iter().sum::<u64>() / all.len() as u64;
        assert!(draws(Spread::Fixed { ns: 5 }).iter().all(|ns| *ns == 5));
        let uniform = draws(Spread::Uniform {
            least_ns: 1_000,
            most_ns: 3_000,
        });
        assert!(uniform.iter().all(|ns| (1_000..=3_000).contains(ns)));
        assert!(mean(&uniform).abs_diff(2_000) < 20, "{}", mean(&uniform));
        let tail = draws(Spread::Exponential {
            mean_ns: 1_000,
            most_ns: 9_000,
        });
        assert!(mean(&tail).abs_diff(1_000) < 40, "{}", mean(&tail));
        assert!(tail.iter().any(|ns| *ns > 5_000) && tail.iter().all(|ns| *ns <= 9_000));
        let below = tail.iter().filter(|ns| **ns < 693).count();
        assert!(
            below.abs_diff(10_000) < 400,
            "the median is ln 2 of the mean: {below}"
        );
    }
}
