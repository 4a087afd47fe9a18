//! What a fault asks of links, and what it did there. Plain data, the same on every system.

use serde::{Deserialize, Serialize};

/// Everything: a share of one million parts in a million.
pub const WHOLE_PPM: u32 = 1_000_000;
/// The longest delay, hold or phase: an hour. Nothing waits longer for anything in a run.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
/// The slowest link: a frame of 1500 bytes takes 12 s.
pub const SLOWEST_BITS_PER_SECOND: u64 = 1_000;
/// The fastest link to which a rate can be given.
pub const FASTEST_BITS_PER_SECOND: u64 = 100_000_000_000;

/// What one fault does to the frames of some directed links.
///
/// Several rules compose on one link: a frame meets all of them, is dropped by any, and their delays add. Each rule
/// draws from a stream of its own, once for every frame that it meets, whatever the other rules do with the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRule {
    /// What it does.
    pub effect: Effect,
    /// Only to TCP segments from or to this port; to all frames where there is none.
    pub port: Option<u16>,
    /// Only in turns; all the time where there is none.
    pub flap: Option<Flap>,
    /// Begins its stream of draws.
    pub seed: u64,
}

/// In force for a time, then not for a time, over and over, from the instant the rule was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flap {
    /// How long it is in force.
    pub on_ns: u64,
    /// How long it then is not.
    pub off_ns: u64,
}

/// What becomes of a frame. Shares are parts in a million of the frames that the rule meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// It is dropped; so is one that waits, delayed, when the cut comes.
    Cut,
    /// Like [`Effect::Cut`]: the machine at one end has stopped. The only effect that the observer's links can have.
    Silence,
    /// It arrives later, by a time drawn evenly from `delay_ns - jitter_ns` to `delay_ns + jitter_ns`.
    Delay {
        /// How much later.
        delay_ns: u64,
        /// At most `delay_ns`. Frames overtake each other where it exceeds the time between them.
        jitter_ns: u64,
    },
    /// Some are dropped.
    Loss {
        /// How many.
        ppm: u32,
    },
    /// Some arrive twice.
    Duplicate {
        /// How many.
        ppm: u32,
    },
    /// Some are held back, so that what follows within that time overtakes them.
    Reorder {
        /// How many.
        ppm: u32,
        /// How long they are held.
        hold_ns: u64,
    },
    /// One bit of some packets is flipped, and every checksum is as it was: the receiving kernel drops the packet.
    Corrupt {
        /// How many.
        ppm: u32,
    },
    /// One bit of the data of some TCP segments is flipped and the checksum made to fit: the application reads it.
    /// Segments without data are not met.
    CorruptPastChecksum {
        /// How many.
        ppm: u32,
    },
    /// Each directed link sends one frame after the other at this rate. What does not fit the queue is dropped.
    Bandwidth {
        /// The rate.
        bits_per_second: u64,
        /// How many bytes may wait on each link.
        queue_bytes: u64,
    },
    /// Some segments of established TCP connections are replaced by a RST to either end. Other frames are not met.
    Reset {
        /// How many.
        ppm: u32,
    },
    /// Packets longer than this vanish without a word.
    BlackHole {
        /// The longest that passes, with its IP header: what an MTU counts.
        mtu_bytes: u32,
    },
}

impl LinkRule {
    /// A rule without filter or turns.
    pub fn of(effect: Effect, seed: u64) -> LinkRule {
        LinkRule {
            effect,
            port: None,
            flap: None,
            seed,
        }
    }

    /// Whether each of its numbers is within its bounds.
    ///
    /// # Errors
    /// The first that is not, in words.
    pub fn check(&self) -> Result<(), String> {
        let time = |name: &str, ns: u64| match ns {
            0..=LONGEST_NS => Ok(()),
            _ => Err(format!("{name} is {ns} ns: at most {LONGEST_NS} are allowed")),
        };
        if let Some(Flap { on_ns, off_ns }) = self.flap {
            time("the time in force", on_ns)?;
            time("the time not in force", off_ns)?;
            if on_ns == 0 || off_ns == 0 {
                return Err("a rule in turns needs two times above zero".into());
            }
        }
        match self.effect {
            Effect::Cut | Effect::Silence | Effect::BlackHole { .. } => Ok(()),
            Effect::Delay { delay_ns, jitter_ns } => {
                time("the delay", delay_ns)?;
                if jitter_ns > delay_ns {
                    return Err(format!(
                        "the jitter is {jitter_ns} ns, more than the delay of {delay_ns} ns"
                    ));
                }
                Ok(())
            }
            Effect::Reorder { ppm, hold_ns } => share(ppm).and(time("the hold", hold_ns)),
            Effect::Loss { ppm }
            | Effect::Duplicate { ppm }
            | Effect::Corrupt { ppm }
            | Effect::CorruptPastChecksum { ppm }
            | Effect::Reset { ppm } => share(ppm),
            Effect::Bandwidth { bits_per_second, .. } => {
                if (SLOWEST_BITS_PER_SECOND..=FASTEST_BITS_PER_SECOND).contains(&bits_per_second) {
                    Ok(())
                } else {
                    Err(format!(
                        "the rate is {bits_per_second} bit/s: {SLOWEST_BITS_PER_SECOND} to {FASTEST_BITS_PER_SECOND} are allowed"
                    ))
                }
            }
        }
    }
}

fn share(ppm: u32) -> Result<(), String> {
    if ppm <= WHOLE_PPM {
        Ok(())
    } else {
        Err(format!("the share is {ppm} parts in a million: more than all"))
    }
}

/// What a rule met and did since it was set, as the switch counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCounts {
    /// When it was set.
    pub since_ns: u64,
    /// When this was counted.
    pub at_ns: u64,
    /// On how many directed links it is.
    pub links: u64,
    /// On how many of them it has met a frame.
    pub links_met: u64,
    /// Frames that it met: the port is theirs, and it was in force.
    pub offered: u64,
    /// Frames to which it did what it does: dropped, delayed, flipped, sent twice, replaced by a RST.
    pub struck: u64,
    /// Frames that it met and that were delivered all the same, each once however often it was doubled.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Frames that waited for it, and were delivered after one that had come later.
    pub overtaken: u64,
    /// Frames that found the queue full: this rule's own, or all waiting frames' together.
    pub overflowed: u64,
    /// Its port's frames that came while it was not in force, in turns.
    pub spared: u64,
    /// How long it held the frames that it delayed, from frame in to frame out.
    pub held: Option<Held>,
}

/// How long frames were held by one rule; the waits of other rules are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The least of all.
    pub min_ns: u64,
    /// The median of the last few thousand.
    pub median_ns: u64,
    /// The most of all.
    pub max_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_said() {
        let good = [
            Effect::Cut,
            Effect::Loss { ppm: WHOLE_PPM },
            Effect::Delay {
                delay_ns: LONGEST_NS,
                jitter_ns: LONGEST_NS,
            },
            Effect::Bandwidth {
                bits_per_second: SLOWEST_BITS_PER_SECOND,
                queue_bytes: 0,
            },
        ];
        for effect in good {
            assert_eq!(LinkRule::of(effect, 0).check(), Ok(()));
        }
        let bad = [
            Effect::Loss { ppm: WHOLE_PPM + 1 },
            Effect::Reset { ppm: WHOLE_PPM + 1 },
            Effect::Delay {
                delay_ns: 1,
                jitter_ns: 2,
            },
            Effect::Reorder {
                ppm: 1,
                hold_ns: LONGEST_NS + 1,
            },
            Effect::Bandwidth {
                bits_per_second: SLOWEST_BITS_PER_SECOND - 1,
                queue_bytes: 0,
            },
        ];
        for effect in bad {
            assert!(LinkRule::of(effect, 0).check().is_err(), "{effect:?}");
        }
        let never = Flap { on_ns: 0, off_ns: 1 };
        let rule = LinkRule {
            flap: Some(never),
            ..LinkRule::of(Effect::Cut, 0)
        };
        assert!(rule.check().is_err());
    }
}
