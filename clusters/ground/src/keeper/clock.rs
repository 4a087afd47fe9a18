//! A node's clocks: the rules of all faults, composed to what its init puts into the shim's page.
//!
//! The rules are the machine's and outlive its power, as a wrong battery clock does. The monotonic clock begins anew
//! with each life, and never goes backwards within one.

use serde::{Deserialize, Serialize};

use super::{Keeper, refused};
use crate::api::Error;
use crate::clock_rule::{ClockRule, ClockSeen, MAX_STROBES, ProcessClock};
use crate::init::{FromInit, ToInit};
use crate::page::{Flicker, Line, RATE_BITS};
use crate::sys;

const MILLION: i128 = 1_000_000;

/// What a node's init is told: the page's content, as numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Anchor, offset and rate.
    pub wall: [i64; 3],
    /// Anchor, offset and rate.
    pub monotonic: [i64; 3],
    /// Anchor, amplitude and period.
    pub strobes: Vec<[i64; 3]>,
}

/// A rule, and when it was set.
struct InForce {
    fault: u64,
    rule: ClockRule,
    /// On the true wall clock.
    at: i64,
}

/// The clocks of one node.
#[derive(Default)]
pub struct Clocks {
    /// In the order in which they were set: each works on what those before it show.
    rules: Vec<InForce>,
    /// In this life.
    monotonic: Line,
}

impl Clocks {
    /// Puts a fault's rule in, in place of one that it had. Times are the true ones.
    fn set(&mut self, fault: u64, rule: ClockRule, wall: i64, monotonic: i64) {
        self.rules.retain(|other| other.fault != fault);
        let at = wall;
        self.rules.push(InForce { fault, rule, at });
        let step = if rule.monotonic { rule.step_ns } else { 0 };
        self.turn_monotonic(monotonic, step);
    }

    /// Takes a fault's rule out; no matter if there is none.
    fn clear(&mut self, fault: u64, monotonic: i64) {
        self.rules.retain(|other| other.fault != fault);
        self.turn_monotonic(monotonic, 0);
    }

    /// A life begins: the monotonic clock is true, and goes as fast as the rules have it.
    pub fn begin_life(&mut self, monotonic: i64) {
        self.monotonic = Line::default();
        self.turn_monotonic(monotonic, 0);
    }

    /// From now on the monotonic clock goes as the rules have it, from where it is.
    fn turn_monotonic(&mut self, now: i64, step: i64) {
        let rules = self.rules.iter().filter(|in_force| in_force.rule.monotonic);
        self.monotonic = Line {
            anchor: now,
            offset: self.monotonic.gain(now).saturating_add(step),
            rate: product(rules.map(|in_force| in_force.rule.rate_ppm)),
        };
    }

    /// What the wall clock is ahead by at a true time, but for strobes.
    ///
    /// Each rule's rate counts from when it was set, on the clock that the rules before it make.
    fn wall_gain(&self, t: i64) -> i64 {
        let mut began = Vec::with_capacity(self.rules.len());
        for (n, in_force) in self.rules.iter().enumerate() {
            let shown = i128::from(in_force.at) + gain(&self.rules[..n], &began, in_force.at);
            began.push(shown);
        }
        bounded(gain(&self.rules, &began, t))
    }

    /// What the wall clock should be ahead by at a true time, strobes included.
    fn wall_asked(&self, t: i64) -> i64 {
        let strobes: i64 = self.strobes().map(|strobe| strobe.gain(t)).sum();
        self.wall_gain(t).saturating_add(strobes)
    }

    fn strobes(&self) -> impl Iterator<Item = Flicker> {
        let strobe = |in_force: &InForce| {
            let strobe = in_force.rule.strobe?;
            Some(Flicker {
                anchor: in_force.at,
                amplitude: strobe.amplitude_ns,
                period: strobe.period_ns,
            })
        };
        self.rules.iter().filter_map(strobe)
    }

    /// The page's content: past the last rule's beginning the wall clock's gain is a straight line.
    pub fn setting(&self) -> Setting {
        let anchor = self.rules.last().map_or(0, |last| last.at);
        let rates = self.rules.iter().map(|in_force| in_force.rule.rate_ppm);
        Setting {
            wall: [anchor, self.wall_gain(anchor), product(rates)],
            monotonic: [self.monotonic.anchor, self.monotonic.offset, self.monotonic.rate],
            strobes: self
                .strobes()
                .map(|strobe| [strobe.anchor, strobe.amplitude, strobe.period])
                .collect(),
        }
    }
}

/// What rules add to the wall clock at a true time; `began` is what the clock before each showed when it was set.
fn gain(rules: &[InForce], began: &[i128], t: i64) -> i128 {
    let mut gain = 0;
    for (in_force, began) in rules.iter().zip(began) {
        let shown = i128::from(t) + gain;
        gain += (shown - began) * i128::from(in_force.rule.rate_ppm) / MILLION;
        gain += i128::from(in_force.rule.step_ns);
    }
    gain
}

fn bounded(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// What a clock gains in a nanosecond where its speed is multiplied by these rates.
fn product(rates: impl Iterator<Item = i64>) -> i64 {
    /// Ten rules of ten times the speed each would be no time any more.
    const FASTEST: i128 = 1_000 << RATE_BITS;
    let one = 1_i128 << RATE_BITS;
    let speed = rates.fold(one, |speed, ppm| {
        (speed * (MILLION + i128::from(ppm)) / MILLION).min(FASTEST)
    });
    // At most a thousand times 2^48, which is below 2^63.
    (speed - one) as i64
}

/// The true wall clock and the true monotonic clock.
fn now() -> (i64, i64) {
    let monotonic = i64::try_from(sys::monotonic_ns()).unwrap_or(i64::MAX);
    (sys::wall_ns(), monotonic)
}

impl Keeper {
    /// Puts a fault's rule on a node's clocks; when it was in force.
    pub(super) fn set_clock(&mut self, id: i32, fault: u64, rule: ClockRule) -> Result<u64, Error> {
        let what = format!("setting the clock of node {id} for fault {fault}");
        let at = self.find(id, &what)?;
        let clocks = &mut self.nodes[at].clocks;
        let strobes = clocks
            .rules
            .iter()
            .filter(|other| other.fault != fault && other.rule.strobe.is_some());
        if rule.strobe.is_some() && strobes.count() >= MAX_STROBES {
            return Err(refused(
                what,
                format!("it has {MAX_STROBES} strobes"),
                "heal one of them first",
            ));
        }
        rule.check()
            .and_then(|()| crate::init::clock_shim_is_there())
            .map_err(|why| refused(what, why, "ask for another fault"))?;
        let (wall, monotonic) = now();
        clocks.set(fault, rule, wall, monotonic);
        Ok(self.turn_clock(at))
    }

    /// Takes a fault's rule off a node's clocks; when it was gone.
    pub(super) fn clear_clock(&mut self, id: i32, fault: u64) -> Result<u64, Error> {
        let at = self.find(id, &format!("clearing the clock of node {id} of fault {fault}"))?;
        self.nodes[at].clocks.clear(fault, now().1);
        Ok(self.turn_clock(at))
    }

    /// Tells a node that has power what its clocks are to show.
    fn turn_clock(&mut self, at: usize) -> u64 {
        let (id, setting) = (self.nodes[at].id(), self.nodes[at].clocks.setting());
        let Some(life) = &self.nodes[at].life else {
            return sys::monotonic_ns();
        };
        let channel = life.init.channel.clone();
        match self.ask(
            id,
            &channel,
            &ToInit::SetClock(setting),
            super::node::SIGNAL_PATIENCE,
        ) {
            Ok(FromInit::ClockSet { at_ns }) => at_ns,
            other => self.odd_init(at, other),
        }
    }

    /// What a node's processes have said that they are shown; asks them to say it again.
    pub(super) fn clock_seen(&mut self, id: i32) -> Result<ClockSeen, Error> {
        let (at, life) = self.alive(id, &format!("asking what the clock of node {id} shows"))?;
        let channel = life.init.channel.clone();
        let look = match self.ask(id, &channel, &ToInit::LookAtClock, super::node::SIGNAL_PATIENCE) {
            Ok(FromInit::ClockLook(look)) => look,
            other => self.odd_init(at, other),
        };
        let clocks = &self.nodes[at].clocks;
        let processes = look.reports.into_iter().map(|report| ProcessClock {
            pid: report.pid,
            name: report.name,
            at_ns: u64::try_from(report.monotonic_true).unwrap_or_default(),
            window_ns: report.window,
            wall_offset_ns: report.wall_shown.wrapping_sub(report.wall_true),
            wall_asked_ns: clocks.wall_asked(report.wall_true),
            monotonic_offset_ns: report.monotonic_shown.wrapping_sub(report.monotonic_true),
            monotonic_asked_ns: clocks.monotonic.gain(report.monotonic_true),
        });
        Ok(ClockSeen {
            at_ns: look.at_ns,
            processes: processes.collect(),
            without: look.without,
            silent: look.silent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    /// A wall clock of today.
    const NOW: i64 = 1_800_000_000 * SECOND;

    fn step(step_ns: i64) -> ClockRule {
        ClockRule {
            step_ns,
            ..ClockRule::default()
        }
    }

    fn rate(rate_ppm: i64, monotonic: bool) -> ClockRule {
        ClockRule {
            rate_ppm,
            monotonic,
            ..ClockRule::default()
        }
    }

    fn line([anchor, offset, rate]: [i64; 3]) -> Line {
        Line { anchor, offset, rate }
    }

    #[test]
    fn steps_add_rates_multiply_and_healing_one_leaves_the_others() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.setting(), Setting::default());
        clocks.set(1, step(-5 * SECOND), NOW, 0);
        clocks.set(2, rate(500_000, false), NOW, 0);
        clocks.set(3, rate(1_000_000, false), NOW + 10 * SECOND, 0);
        let at = NOW + 20 * SECOND;
        // Ten seconds at 1.5 times and ten at 3 times the speed.
        assert_eq!(clocks.wall_asked(at), (15 + 30 - 20 - 5) * SECOND);
        clocks.clear(3, 0);
        assert_eq!(clocks.wall_asked(at), (30 - 20 - 5) * SECOND);
        clocks.clear(1, 0);
        assert_eq!(clocks.wall_asked(at), 10 * SECOND);
        clocks.clear(2, 0);
        assert_eq!(clocks.setting(), Setting::default());
    }

    #[test]
    fn the_page_says_what_the_rules_do() {
        let mut clocks = Clocks::default();
        for (fault, rule) in [
            rate(300_000, false),
            step(7 * SECOND),
            rate(-400_000, false),
            rate(123, false),
        ]
        .into_iter()
        .enumerate()
        {
            clocks.set(fault as u64, rule, NOW + fault as i64 * SECOND, 0);
        }
        let page = line(clocks.setting().wall);
        for after in [4, 100, 86_400] {
            let t = NOW + after * SECOND;
            let wrong = (page.gain(t) - clocks.wall_asked(t)).abs();
            assert!(wrong < 1_000, "{wrong} ns after {after} s");
            let back = (page.truth(t + page.gain(t)) - t).abs();
            assert!(back < 10, "{back} ns after {after} s");
        }
    }

    #[test]
    fn the_monotonic_clock_keeps_what_it_has_gained_until_the_power_goes() {
        let mut clocks = Clocks::default();
        clocks.begin_life(0);
        let and_a_step = ClockRule {
            step_ns: SECOND,
            ..rate(100_000, true)
        };
        clocks.set(1, and_a_step, NOW, 10 * SECOND);
        let (near, gain) = (
            |a: i64, b: i64| (a - b).abs() < 10,
            |clocks: &Clocks, s: i64| clocks.monotonic.gain(s * SECOND),
        );
        assert!(near(gain(&clocks, 10), SECOND));
        assert!(near(gain(&clocks, 20), 2 * SECOND));
        clocks.clear(1, 20 * SECOND);
        assert!(near(gain(&clocks, 50), 2 * SECOND));
        clocks.set(2, rate(100_000, true), NOW, 50 * SECOND);
        clocks.begin_life(60 * SECOND);
        assert!(near(gain(&clocks, 60), 0));
        assert!(near(gain(&clocks, 70), SECOND));
    }

    #[test]
    fn a_strobe_goes_up_and_down() {
        let mut clocks = Clocks::default();
        let strobe = Some(crate::clock_rule::Strobe {
            amplitude_ns: 3,
            period_ns: SECOND,
        });
        clocks.set(1, ClockRule { strobe, ..step(100) }, NOW, 0);
        let at = |tenths: i64| clocks.wall_asked(NOW + tenths * SECOND / 10);
        assert_eq!([at(5), at(15), at(25), at(35)], [100, 103, 100, 103]);
        assert_eq!(clocks.setting().strobes, [[NOW, 3, SECOND]]);
    }
}
