//! What a clock fault asks of a node, and what its processes say that they are shown. Plain data.

use serde::{Deserialize, Serialize};

/// How much faster (or, negative, slower) a clock may go, in millionths: from a tenth of its speed to ten times it.
pub const RATE_PPM: std::ops::RangeInclusive<i64> = -900_000..=9_000_000;
/// How far a rule may move a clock at once, in nanoseconds: a year. More, and sums of rules would reach beyond what
/// programs take for a time.
pub const MAX_STEP_NS: i64 = 365 * 86_400 * 1_000_000_000;
/// The shortest period of a strobe, in nanoseconds: what can still be told from the time that a look takes.
pub const MIN_PERIOD_NS: i64 = 100_000;
/// The strobes that a node's clock may have at a time.
pub const MAX_STROBES: usize = crate::page::MAX_STROBES;

/// What one fault does to one node's clocks. Rules of several faults compose: steps and strobes add, rates multiply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRule {
    /// How far the clock is moved at once.
    pub step_ns: i64,
    /// How much faster it goes from then on, in millionths: at 1000 it gains a millisecond a second.
    pub rate_ppm: i64,
    /// Back and forth.
    pub strobe: Option<Strobe>,
    /// Whether the monotonic clock (and the time since boot) goes along with the wall clock. Never backwards, which no
    /// kernel does: no negative step, no strobe. What it has gained it keeps when the rule goes, until the power does.
    pub monotonic: bool,
}

/// A clock that jumps back and forth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strobe {
    /// What is added every other period, from the second one on.
    pub amplitude_ns: i64,
    /// How long each lasts.
    pub period_ns: i64,
}

impl ClockRule {
    /// Whether it is within bounds; why not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let strobe = self.strobe.unwrap_or(Strobe {
            amplitude_ns: 0,
            period_ns: MIN_PERIOD_NS,
        });
        if !RATE_PPM.contains(&self.rate_ppm) {
            return Err(format!(
                "a rate is from {} to {} ppm, not {}",
                RATE_PPM.start(),
                RATE_PPM.end(),
                self.rate_ppm
            ));
        }
        for moved in [self.step_ns, strobe.amplitude_ns] {
            if !(-MAX_STEP_NS..=MAX_STEP_NS).contains(&moved) {
                return Err(format!(
                    "a clock is moved by at most {MAX_STEP_NS} ns at once, not {moved}"
                ));
            }
        }
        if !(MIN_PERIOD_NS..=MAX_STEP_NS).contains(&strobe.period_ns) {
            return Err(format!(
                "a strobe's period is at least {MIN_PERIOD_NS} ns, not {}",
                strobe.period_ns
            ));
        }
        if self.monotonic && (self.step_ns < 0 || self.strobe.is_some()) {
            return Err(
                "the monotonic clock never goes backwards: no step back and no strobe of it, which no kernel shows a program"
                    .into(),
            );
        }
        Ok(())
    }
}

/// What the processes of a node are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSeen {
    /// When this look was taken, in nanoseconds of the true monotonic clock.
    pub at_ns: u64,
    /// The processes that have said it, each its newest word. It may be from before this look: see
    /// [`ProcessClock::at_ns`].
    pub processes: Vec<ProcessClock>,
    /// Those that the shim is not in, so that no rule reaches them: static programs, or such as drop LD_PRELOAD.
    pub without: Vec<ProcessName>,
    /// Those that have said nothing since the look before: they asked for no clock, or do not ask the C library
    /// (programs in Go), or are stopped.
    pub silent: Vec<ProcessName>,
}

/// A process of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessName {
    /// Its number, as the node counts.
    pub pid: i32,
    /// Its name.
    pub name: String,
    /// Whether a signal has stopped it.
    pub stopped: bool,
}

/// What one process was shown, measured in that process when it asked for a clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessClock {
    /// Its number, as the node counts.
    pub pid: i32,
    /// Its name.
    pub name: String,
    /// When, in nanoseconds of the true monotonic clock.
    pub at_ns: u64,
    /// How uncertain the offsets are: what passed between the two looks at the truth around the look at what is shown.
    pub window_ns: i64,
    /// How far its wall clock was ahead of the kernel's.
    pub wall_offset_ns: i64,
    /// How far it should have been, by the rules in force now.
    pub wall_asked_ns: i64,
    /// How far its monotonic clock was ahead of the kernel's.
    pub monotonic_offset_ns: i64,
    /// How far it should have been, by the rules in force now.
    pub monotonic_asked_ns: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let fine = ClockRule::default();
        assert_eq!(fine.check(), Ok(()));
        let strobe = |amplitude_ns, period_ns| {
            Some(Strobe {
                amplitude_ns,
                period_ns,
            })
        };
        for wrong in [
            ClockRule {
                step_ns: MAX_STEP_NS + 1,
                ..fine
            },
            ClockRule {
                rate_ppm: -900_001,
                ..fine
            },
            ClockRule {
                rate_ppm: 9_000_001,
                ..fine
            },
            ClockRule {
                strobe: strobe(1, 0),
                ..fine
            },
            ClockRule {
                strobe: strobe(i64::MIN, MIN_PERIOD_NS),
                ..fine
            },
            ClockRule {
                step_ns: -1,
                monotonic: true,
                ..fine
            },
            ClockRule {
                strobe: strobe(1, MIN_PERIOD_NS),
                monotonic: true,
                ..fine
            },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        for right in [
            ClockRule {
                step_ns: -MAX_STEP_NS,
                rate_ppm: -900_000,
                strobe: strobe(-1, MIN_PERIOD_NS),
                ..fine
            },
            ClockRule {
                step_ns: 1,
                rate_ppm: -900_000,
                monotonic: true,
                ..fine
            },
        ] {
            assert_eq!(right.check(), Ok(()), "{right:?}");
        }
    }
}
