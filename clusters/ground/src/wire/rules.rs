//! The rules of faults on links, without descriptors: what each does to a frame, and what it has met.
//!
//! Every rule draws for every frame that it meets, whatever the others do with it, so that a rule's stream does not
//! depend on other faults. What is struck is counted only where it took: a frame that one rule drops is doubled by none.

use std::collections::BTreeMap;

use super::packet_view::{ETHERNET_HEADER, Packet, Segment};
use super::random::{Random, below};
use crate::link_rule::{Effect, Flap, Held, LinkRule, RuleCounts, WHOLE_PPM};
use crate::proto::PORTS;

/// Of so many held frames the median is taken.
const SAMPLES: usize = 4096;
const NS_A_SECOND: u128 = 1_000_000_000;

/// All rules, by their faults.
#[derive(Default)]
pub struct Rules(BTreeMap<u64, Rule>);

struct Rule {
    rule: LinkRule,
    random: Random,
    counts: RuleCounts,
    /// One bit a link that has met a frame, by the port it comes from.
    met: Vec<u64>,
    /// When each link will have sent what it has, where it has a rate.
    busy_until: BTreeMap<(u8, u8), u64>,
    held: Samples,
}

/// How long frames were held: the extremes of all, and the last few.
#[derive(Default)]
struct Samples {
    extremes: Option<(u64, u64)>,
    last: Vec<u64>,
    next: usize,
}

/// A rule that a frame has met, and how long it is to hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    pub fault: u64,
    pub wait_ns: u64,
}

/// What the rules of a link make of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is no more.
    Dropped,
    /// In its place go a RST to its receiver and one to its sender.
    Reset([Vec<u8>; 2]),
    /// It goes on.
    Goes(Going),
}

/// A frame that goes on.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Going {
    /// What it has become, where it was changed.
    pub changed: Option<Vec<u8>>,
    /// One more each time it was doubled.
    pub copies: u32,
    /// The rules that it met.
    pub met: Vec<Met>,
}

impl Going {
    pub fn wait_ns(&self) -> u64 {
        self.met.iter().map(|met| met.wait_ns).sum()
    }
}

/// One rule's draw for one frame.
struct Draw {
    fault: u64,
    strikes: bool,
    detail: u64,
}

impl Rules {
    pub fn set(&mut self, fault: u64, rule: LinkRule, links: u64, now: u64) {
        let counts = RuleCounts {
            since_ns: now,
            links,
            ..RuleCounts::default()
        };
        let new = Rule {
            rule,
            random: Random::new(rule.seed),
            counts,
            met: vec![0; usize::from(PORTS)],
            busy_until: BTreeMap::new(),
            held: Samples::default(),
        };
        self.0.insert(fault, new);
    }

    pub fn clear(&mut self, fault: u64) {
        self.0.remove(&fault);
    }

    pub fn is_cut(&self, fault: u64) -> bool {
        self.0.get(&fault).is_some_and(|rule| rule.cuts())
    }

    pub fn counts(&self, fault: u64, now: u64) -> Option<RuleCounts> {
        let rule = self.0.get(&fault)?;
        Some(RuleCounts {
            at_ns: now,
            links_met: rule.met.iter().map(|ports| u64::from(ports.count_ones())).sum(),
            held: rule.held.sum_up(),
            ..rule.counts
        })
    }

    /// Has a frame meet the rules of its link.
    pub fn meet(&mut self, faults: &[u64], link: (u8, u8), frame: &[u8], now: u64) -> Verdict {
        let mut draws = Vec::with_capacity(faults.len());
        let (mut dropped, mut reset) = (false, false);
        for fault in faults {
            let Some(rule) = self.0.get_mut(fault) else {
                continue;
            };
            let Some((strikes, detail)) = rule.draw(link, frame, now) else {
                continue;
            };
            dropped |= strikes && rule.drops();
            reset |= strikes && matches!(rule.rule.effect, Effect::Reset { .. });
            draws.push(Draw {
                fault: *fault,
                strikes,
                detail,
            });
        }
        if dropped || reset {
            for draw in draws.iter().filter(|draw| draw.strikes) {
                let Some(rule) = self.0.get_mut(&draw.fault) else {
                    continue;
                };
                let took = if dropped {
                    rule.drops()
                } else {
                    matches!(rule.rule.effect, Effect::Reset { .. })
                };
                rule.counts.struck += u64::from(took);
            }
        }
        if dropped {
            return Verdict::Dropped;
        }
        match reset.then(|| Segment::of(frame)).flatten() {
            Some(segment) => Verdict::Reset(segment.resets(frame)),
            None => self.let_go(&draws, link, frame, now),
        }
    }

    fn let_go(&mut self, draws: &[Draw], link: (u8, u8), frame: &[u8], now: u64) -> Verdict {
        let mut going = Going {
            copies: 1,
            ..Going::default()
        };
        for draw in draws {
            let Some(rule) = self.0.get_mut(&draw.fault) else {
                continue;
            };
            let wait_ns = match draw.strikes {
                true => match rule.strike(&mut going, draw.detail, link, frame, now) {
                    Some(wait_ns) => wait_ns,
                    None => return Verdict::Dropped,
                },
                false => 0,
            };
            going.met.push(Met {
                fault: draw.fault,
                wait_ns,
            });
        }
        Verdict::Goes(going)
    }

    /// Whether a frame that waited is now dropped by a cut that has come meanwhile.
    pub fn cut_meanwhile(&mut self, faults: &[u64], link: (u8, u8), frame: &[u8], now: u64) -> bool {
        let mut cut = false;
        for fault in faults {
            let Some(rule) = self.0.get_mut(fault).filter(|rule| rule.cuts()) else {
                continue;
            };
            if rule.draw(link, frame, now).is_some() {
                rule.counts.struck += 1;
                cut = true;
            }
        }
        cut
    }

    /// A frame that met these rules was delivered, `late_ns` after it was due.
    pub fn delivered(&mut self, met: &[Met], bytes: usize, late_ns: u64, overtaken: bool) {
        for Met { fault, wait_ns } in met {
            let Some(rule) = self.0.get_mut(fault) else {
                continue;
            };
            rule.counts.delivered += 1;
            rule.counts.delivered_bytes += bytes as u64;
            if *wait_ns > 0 {
                rule.counts.overtaken += u64::from(overtaken);
                rule.held.take(wait_ns + late_ns);
            }
        }
    }

    /// A frame that was to wait for these rules found no room.
    pub fn overflowed(&mut self, met: &[Met]) {
        for Met { fault, .. } in met.iter().filter(|met| met.wait_ns > 0) {
            if let Some(rule) = self.0.get_mut(fault) {
                rule.counts.overflowed += 1;
            }
        }
    }
}

impl Rule {
    fn cuts(&self) -> bool {
        matches!(self.rule.effect, Effect::Cut | Effect::Silence)
    }

    /// Whether what it strikes is dropped; a full queue drops as well, but is not drawn.
    fn drops(&self) -> bool {
        self.cuts() || matches!(self.rule.effect, Effect::Loss { .. } | Effect::BlackHole { .. })
    }

    /// Meets a frame, if it is one of those it is for: whether it strikes it, and a number for the details.
    fn draw(&mut self, link: (u8, u8), frame: &[u8], now: u64) -> Option<(bool, u64)> {
        let segment = || Segment::of(frame);
        let is_met = match self.rule.effect {
            Effect::Corrupt { .. } => Packet::of(frame).is_some(),
            Effect::CorruptPastChecksum { .. } => segment().is_some_and(Segment::has_data),
            Effect::Reset { .. } => segment().is_some_and(|it| it.is_established(frame)),
            _ => true,
        };
        let port = |port| segment().is_some_and(|it| it.is_of(frame, port));
        if !is_met || !self.rule.port.is_none_or(port) {
            return None;
        }
        if let Some(Flap { on_ns, off_ns }) = self.rule.flap
            && now.saturating_sub(self.counts.since_ns) % (on_ns + off_ns) >= on_ns
        {
            self.counts.spared += 1;
            return None;
        }
        self.counts.offered += 1;
        self.met[usize::from(link.0)] |= 1 << link.1;
        let (chance, detail) = (self.random.draw(), self.random.draw());
        let strikes = match self.rule.effect {
            Effect::Cut | Effect::Silence | Effect::Delay { .. } | Effect::Bandwidth { .. } => true,
            Effect::BlackHole { mtu_bytes } => frame.len() > ETHERNET_HEADER + mtu_bytes as usize,
            Effect::Loss { ppm }
            | Effect::Duplicate { ppm }
            | Effect::Reorder { ppm, .. }
            | Effect::Corrupt { ppm }
            | Effect::CorruptPastChecksum { ppm }
            | Effect::Reset { ppm } => below(chance, WHOLE_PPM.into()) < ppm.into(),
        };
        Some((strikes, detail))
    }

    /// Does what it does to a frame that goes on: how long that is to wait; none where the queue is full.
    fn strike(
        &mut self,
        going: &mut Going,
        detail: u64,
        link: (u8, u8),
        frame: &[u8],
        now: u64,
    ) -> Option<u64> {
        let mut changed = || going.changed.take().unwrap_or_else(|| frame.to_vec());
        let mut wait_ns = 0;
        match self.rule.effect {
            Effect::Delay { delay_ns, jitter_ns } => {
                wait_ns = delay_ns - jitter_ns + below(detail, 2 * jitter_ns + 1);
            }
            Effect::Reorder { hold_ns, .. } => wait_ns = hold_ns,
            Effect::Bandwidth {
                bits_per_second,
                queue_bytes,
            } => wait_ns = self.transmit(link, frame.len(), (bits_per_second, queue_bytes), now)?,
            Effect::Duplicate { .. } => going.copies += 1,
            Effect::Corrupt { .. } => {
                let mut flipped = changed();
                if let Some(packet) = Packet::of(&flipped) {
                    packet.flip(&mut flipped, detail);
                }
                going.changed = Some(flipped);
            }
            Effect::CorruptPastChecksum { .. } => {
                let mut flipped = changed();
                if let Some(segment) = Segment::of(&flipped) {
                    segment.flip(&mut flipped, detail);
                }
                going.changed = Some(flipped);
            }
            // These let nothing go on that they strike.
            Effect::Cut
            | Effect::Silence
            | Effect::Loss { .. }
            | Effect::BlackHole { .. }
            | Effect::Reset { .. } => {}
        }
        self.counts.struck += 1;
        Some(wait_ns)
    }

    /// How long a frame takes behind those that wait already: a token bucket that holds one frame.
    fn transmit(
        &mut self,
        link: (u8, u8),
        bytes: usize,
        (bits_per_second, queue_bytes): (u64, u64),
        now: u64,
    ) -> Option<u64> {
        let rate = u128::from(bits_per_second);
        let busy_until = self.busy_until.entry(link).or_insert(now);
        let busy_ns = busy_until.saturating_sub(now);
        let waiting = u128::from(busy_ns) * rate / 8 / NS_A_SECOND;
        if busy_ns > 0 && waiting + bytes as u128 > u128::from(queue_bytes) {
            self.counts.overflowed += 1;
            return None;
        }
        let takes_ns = (bytes as u128 * 8 * NS_A_SECOND).div_ceil(rate) as u64;
        *busy_until = now + busy_ns + takes_ns;
        Some(busy_ns + takes_ns)
    }
}

impl Samples {
    fn take(&mut self, ns: u64) {
        let (least, most) = self.extremes.unwrap_or((ns, ns));
        self.extremes = Some((least.min(ns), most.max(ns)));
        if self.last.len() < SAMPLES {
            self.last.push(ns);
        } else {
            self.last[self.next] = ns;
            self.next = (self.next + 1) % SAMPLES;
        }
    }

    fn sum_up(&self) -> Option<Held> {
        let (min_ns, max_ns) = self.extremes?;
        let mut last = self.last.clone();
        let middle = last.len() / 2;
        let (_, median, _) = last.select_nth_unstable(middle);
        Some(Held {
            min_ns,
            median_ns: *median,
            max_ns,
        })
    }
}
