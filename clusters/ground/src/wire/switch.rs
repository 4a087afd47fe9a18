//! The switch, without descriptors: which ports a frame goes to, its fate on each link, and what is counted.
//!
//! A frame's fate is decided in one place, [`Link::fate`]: whether its link is cut, has a cable, and has rules. What
//! rules do is theirs ([`super::rules`]); what they hold back waits here ([`super::queue`]).

use super::packet_view::ETHERNET_HEADER;
use super::queue::{Late, Queue};
use super::rules::{Going, Rules, Verdict};
use crate::link_rule::{LinkRule, RuleCounts};
use crate::proto::{LinkCounter, PORTS};

/// What a port's Ethernet address begins with; the port follows.
const PREFIX: [u8; 5] = [2, 0, 10, 9, 0];

/// What becomes of a frame on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is delivered.
    Deliver,
    /// It is dropped, because that was asked for.
    Drop,
    /// There is no cable at the other end: nothing to deliver it to.
    NoCable,
    /// The link has rules, which it is to meet.
    Ruled,
}

/// What becomes of a frame that has met the rules of its link.
#[derive(Debug)]
pub enum Ruled {
    /// It is no more, or waits.
    Kept,
    /// In its place go a RST to its receiver and one to its sender.
    Reset([Vec<u8>; 2]),
    /// It is delivered now.
    Now(Ticket, Option<Vec<u8>>),
}

/// What is counted once a frame that met rules is delivered.
#[derive(Debug)]
pub struct Ticket {
    due_ns: u64,
    link: (u8, u8),
    order: u64,
    going: Going,
}

impl Ticket {
    /// How often it is delivered.
    pub fn copies(&self) -> u32 {
        self.going.copies
    }
}

/// One directed link: what is asked of it, and what went over it.
#[derive(Clone, Debug, Default)]
struct Link {
    cut: bool,
    /// The faults whose rules are on it, rising.
    rules: Vec<u64>,
    /// Frames that have met rules.
    came: u64,
    /// The newest of them that was delivered.
    newest: u64,
    passed: u64,
    bytes: u64,
    dropped_by_cut: u64,
    dropped_by_rule: u64,
    dropped_without_cable: u64,
    unasked: u64,
    first: First,
}

/// When a link delivered its first frame since it was marked: an observation that changes no frame's fate.
#[derive(Clone, Copy, Debug, Default)]
enum First {
    #[default]
    NotAsked,
    Awaited,
    At(u64),
}

impl Link {
    fn fate(&self, cable: bool) -> Fate {
        match (self.cut, self.rules.is_empty(), cable) {
            (true, _, _) => Fate::Drop,
            (false, false, _) => Fate::Ruled,
            (false, true, false) => Fate::NoCable,
            (false, true, true) => Fate::Deliver,
        }
    }

    fn dropped(&self) -> u64 {
        self.dropped_by_cut + self.dropped_by_rule + self.dropped_without_cable
    }
}

/// All links and cables.
pub struct Switch {
    links: Vec<Link>,
    /// One bit a port.
    cables: u64,
    rules: Rules,
    queue: Queue,
}

impl Switch {
    pub fn new() -> Switch {
        Switch {
            links: vec![Link::default(); usize::from(PORTS) * usize::from(PORTS)],
            cables: 0,
            rules: Rules::default(),
            queue: Queue::default(),
        }
    }

    pub fn plug(&mut self, port: u8) {
        self.cables |= 1 << port;
    }

    /// From now on nothing of this port is delivered, nor what waits to come from it or go to it.
    pub fn unplug(&mut self, port: u8) {
        self.cables &= !(1 << port);
        for (from, to) in self.queue.purge(|(from, to)| from == port || to == port) {
            self.link(from, to).dropped_without_cable += 1;
        }
    }

    fn has_cable(&self, port: u8) -> bool {
        self.cables & 1 << port != 0
    }

    pub fn set_cut(&mut self, from: u8, to: u8, cut: bool) {
        self.link(from, to).cut = cut;
    }

    /// Both are below PORTS: whoever takes a port from outside checks it.
    fn link(&mut self, from: u8, to: u8) -> &mut Link {
        &mut self.links[usize::from(from) * usize::from(PORTS) + usize::from(to)]
    }

    /// Where a frame from a port goes, one bit a port. A broadcast goes to all others that have a cable; an address
    /// that is no port's goes nowhere.
    pub fn destinations(&self, from: u8, frame: &[u8]) -> u64 {
        if frame.len() < ETHERNET_HEADER {
            return 0;
        }
        let group = frame[0] & 1 == 1;
        let all = if group {
            self.cables
        } else if frame[..5] == PREFIX && frame[5] < PORTS {
            1 << frame[5]
        } else {
            0
        };
        all & !(1 << from)
    }

    /// Decides one frame's fate on one link, and counts it unless it is to be delivered.
    pub fn decide(&mut self, from: u8, to: u8) -> Fate {
        let cable = self.has_cable(to);
        let link = self.link(from, to);
        let fate = link.fate(cable);
        match fate {
            Fate::Deliver | Fate::Ruled => {}
            Fate::Drop => link.dropped_by_cut += 1,
            Fate::NoCable => link.dropped_without_cable += 1,
        }
        fate
    }

    /// Puts a fault's rule on links, in the place of one that it had.
    pub fn set_rule(&mut self, fault: u64, pairs: &[(u8, u8)], rule: LinkRule, now: u64) {
        self.clear_rule(fault);
        let mut links = 0;
        for (from, to) in pairs {
            let on = &mut self.link(*from, *to).rules;
            if let Err(place) = on.binary_search(&fault) {
                on.insert(place, fault);
                links += 1;
            }
        }
        self.rules.set(fault, rule, links, now);
    }

    /// Takes a fault's rule away; what waits for it waits no longer.
    pub fn clear_rule(&mut self, fault: u64) {
        self.rules.clear(fault);
        self.queue.forgive(fault);
        for link in &mut self.links {
            link.rules.retain(|on| *on != fault);
        }
    }

    pub fn rule_counts(&self, fault: u64, now: u64) -> Option<RuleCounts> {
        self.rules.counts(fault, now)
    }

    /// Whether a link has a cable at both ends, and nothing in its way.
    pub fn is_free(&mut self, from: u8, to: u8) -> bool {
        let cables = self.has_cable(from) && self.has_cable(to);
        let link = self.link(from, to);
        cables && !link.cut && link.rules.is_empty()
    }

    /// Has a frame meet the rules of its link, and keeps it where it is to wait.
    pub fn rule(&mut self, from: u8, to: u8, frame: &[u8], now: u64) -> Ruled {
        let cable = self.has_cable(to);
        let link = &mut self.links[usize::from(from) * usize::from(PORTS) + usize::from(to)];
        let mut going = match self.rules.meet(&link.rules, (from, to), frame, now) {
            Verdict::Dropped => {
                link.dropped_by_rule += 1;
                return Ruled::Kept;
            }
            Verdict::Reset(resets) => {
                link.dropped_by_rule += 1;
                return Ruled::Reset(resets);
            }
            Verdict::Goes(going) => going,
        };
        if !cable {
            link.dropped_without_cable += 1;
            return Ruled::Kept;
        }
        link.came += 1;
        let (wait_ns, order) = (going.wait_ns(), link.came);
        let changed = going.changed.take();
        let due_ns = now.saturating_add(wait_ns);
        if wait_ns == 0 {
            let link = (from, to);
            let ticket = Ticket {
                due_ns,
                link,
                order,
                going,
            };
            return Ruled::Now(ticket, changed);
        }
        let late = Late {
            due_ns,
            link: (from, to),
            order,
            frame: changed.unwrap_or_else(|| frame.to_vec()),
            copies: going.copies,
            met: going.met,
        };
        if let Err(late) = self.queue.push(late) {
            link.unasked += 1;
            self.rules.overflowed(&late.met);
        }
        Ruled::Kept
    }

    /// When the next frame that waits is due.
    pub fn next_due(&self) -> Option<u64> {
        self.queue.next_due()
    }

    /// The next frame that is due, and where it goes; those that were cut meanwhile are counted and passed over.
    pub fn due(&mut self, now: u64) -> Option<(u8, Ticket, Vec<u8>)> {
        loop {
            let Late {
                due_ns,
                link,
                order,
                frame,
                copies,
                met,
            } = self.queue.pop(now)?;
            let (from, to) = link;
            let on = &mut self.links[usize::from(from) * usize::from(PORTS) + usize::from(to)];
            if on.cut {
                on.dropped_by_cut += 1;
            } else if self.rules.cut_meanwhile(&on.rules, link, &frame, now) {
                on.dropped_by_rule += 1;
            } else {
                let going = Going {
                    changed: None,
                    copies,
                    met,
                };
                let ticket = Ticket {
                    due_ns,
                    link,
                    order,
                    going,
                };
                return Some((to, ticket, frame));
            }
        }
    }

    /// The first copy of a frame that met rules was delivered, or another.
    pub fn ruled_delivered(&mut self, ticket: &Ticket, bytes: usize, first: bool, now: u64) {
        let (from, to) = ticket.link;
        if !first {
            return self.delivered(from, to, bytes, || now);
        }
        let link = self.link(from, to);
        let overtaken = ticket.order < link.newest;
        link.newest = link.newest.max(ticket.order);
        let late_ns = now.saturating_sub(ticket.due_ns);
        self.rules.delivered(&ticket.going.met, bytes, late_ns, overtaken);
        self.delivered(from, to, bytes, || now);
    }

    /// One copy of a frame that met rules was not taken.
    pub fn ruled_refused(&mut self, ticket: &Ticket) {
        let (from, to) = ticket.link;
        self.refused(from, to);
    }

    /// A frame that was to be delivered was. The clock is asked only where somebody waits for the link's first one.
    pub fn delivered(&mut self, from: u8, to: u8, bytes: usize, now: impl FnOnce() -> u64) {
        let link = self.link(from, to);
        link.passed += 1;
        link.bytes += bytes as u64;
        if let First::Awaited = link.first {
            link.first = First::At(now());
        }
    }

    /// The next frame that a link delivers is its first.
    pub fn mark(&mut self, from: u8, to: u8) {
        self.link(from, to).first = First::Awaited;
    }

    /// When a link delivered its first frame since it was marked.
    pub fn first(&mut self, from: u8, to: u8) -> Option<u64> {
        match self.link(from, to).first {
            First::At(at) => Some(at),
            First::NotAsked | First::Awaited => None,
        }
    }

    /// A frame that was to be delivered was not taken: a fault that nobody asked for.
    pub fn refused(&mut self, from: u8, to: u8) {
        self.link(from, to).unasked += 1;
    }

    /// What went over the links from a port that were used or cut.
    pub fn counters(&self, from: u8) -> Vec<LinkCounter> {
        let used = |to: u8| {
            let link = &self.links[usize::from(from) * usize::from(PORTS) + usize::from(to)];
            let cut = link.cut || link.rules.iter().any(|fault| self.rules.is_cut(*fault));
            let used = link.passed + link.dropped() + link.unasked > 0;
            (used || cut).then_some(LinkCounter {
                to,
                passed: link.passed,
                dropped: link.dropped(),
                bytes: link.bytes,
                unasked: link.unasked,
                cut,
            })
        };
        (0..PORTS).filter_map(used).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: [u8; 6]) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&to);
        frame
    }

    fn to_port(port: u8) -> Vec<u8> {
        frame([2, 0, 10, 9, 0, port])
    }

    fn with_ports(ports: &[u8]) -> Switch {
        let mut switch = Switch::new();
        ports.iter().for_each(|port| switch.plug(*port));
        switch
    }

    #[test]
    fn a_frame_goes_to_its_port_alone() {
        let switch = with_ports(&[0, 1, 2]);
        assert_eq!(switch.destinations(0, &to_port(2)), 1 << 2);
        assert_eq!(switch.destinations(0, &to_port(63)), 1 << 63);
    }

    #[test]
    fn a_broadcast_goes_to_all_other_cables() {
        let switch = with_ports(&[0, 1, 5]);
        assert_eq!(switch.destinations(1, &frame([0xFF; 6])), 1 << 0 | 1 << 5);
    }

    #[test]
    fn a_frame_to_nobody_to_oneself_or_too_short_goes_nowhere() {
        let switch = with_ports(&[0, 1]);
        assert_eq!(switch.destinations(0, &frame([2, 0, 10, 9, 1, 1])), 0);
        assert_eq!(switch.destinations(0, &to_port(64)), 0);
        assert_eq!(switch.destinations(0, &to_port(0)), 0);
        assert_eq!(switch.destinations(0, &to_port(1)[..13]), 0);
        assert_eq!(switch.destinations(0, &[]), 0);
    }

    #[test]
    fn a_cut_is_one_way_and_heals() {
        let mut switch = with_ports(&[0, 1]);
        switch.set_cut(0, 1, true);
        assert_eq!(
            (switch.decide(0, 1), switch.decide(1, 0)),
            (Fate::Drop, Fate::Deliver)
        );
        switch.set_cut(0, 1, false);
        assert_eq!(switch.decide(0, 1), Fate::Deliver);
    }

    #[test]
    fn a_cut_outlives_the_cable() {
        let mut switch = with_ports(&[0, 1]);
        switch.set_cut(0, 1, true);
        switch.unplug(1);
        assert_eq!(switch.decide(0, 1), Fate::Drop);
        switch.plug(1);
        assert_eq!(switch.decide(0, 1), Fate::Drop);
    }

    #[test]
    fn a_port_without_a_cable_takes_nothing() {
        let mut switch = with_ports(&[0, 1]);
        switch.unplug(1);
        assert_eq!(switch.decide(0, 1), Fate::NoCable);
        switch.plug(1);
        assert_eq!(switch.decide(0, 1), Fate::Deliver);
    }

    #[test]
    fn all_is_counted_by_directed_link() {
        let mut switch = with_ports(&[0, 1, 2]);
        assert_eq!(switch.counters(0), []);
        switch.delivered(0, 1, 60, || 0);
        switch.delivered(0, 1, 40, || 0);
        switch.refused(0, 1);
        switch.set_cut(0, 2, true);
        switch.decide(0, 2);
        switch.decide(0, 3);
        let none = LinkCounter {
            to: 0,
            passed: 0,
            dropped: 0,
            bytes: 0,
            unasked: 0,
            cut: false,
        };
        assert_eq!(
            switch.counters(0),
            [
                LinkCounter {
                    to: 1,
                    passed: 2,
                    bytes: 100,
                    unasked: 1,
                    ..none
                },
                LinkCounter {
                    to: 2,
                    dropped: 1,
                    cut: true,
                    ..none
                },
                LinkCounter {
                    to: 3,
                    dropped: 1,
                    ..none
                },
            ]
        );
        assert_eq!(switch.counters(1), []);
    }
}
