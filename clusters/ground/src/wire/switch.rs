//! The switch, without descriptors: which ports a frame goes to, its fate on each link, and what is counted.
//!
//! A frame's fate is decided in one place, [`Link::fate`]. Whatever a link may do to a frame belongs there.

use crate::proto::{LinkCounter, PORTS};

/// What a port's Ethernet address begins with; the port follows.
const PREFIX: [u8; 5] = [2, 0, 10, 9, 0];
/// Destination, source and type: less is no Ethernet frame.
const ETHERNET_HEADER: usize = 14;

/// What becomes of a frame on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is delivered.
    Deliver,
    /// It is dropped, because that was asked for.
    Drop,
    /// There is no cable at the other end: nothing to deliver it to.
    NoCable,
}

/// One directed link: what is asked of it, and what went over it.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    cut: bool,
    passed: u64,
    bytes: u64,
    dropped_by_cut: u64,
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
        match (self.cut, cable) {
            (true, _) => Fate::Drop,
            (false, false) => Fate::NoCable,
            (false, true) => Fate::Deliver,
        }
    }

    fn is_new(&self) -> bool {
        let Link {
            cut,
            passed,
            bytes: _,
            dropped_by_cut,
            dropped_without_cable,
            unasked,
            first: _,
        } = *self;
        !cut && passed + dropped_by_cut + dropped_without_cable + unasked == 0
    }
}

/// All links and cables.
pub struct Switch {
    links: Vec<Link>,
    /// One bit a port.
    cables: u64,
}

impl Switch {
    pub fn new() -> Switch {
        Switch {
            links: vec![Link::default(); usize::from(PORTS) * usize::from(PORTS)],
            cables: 0,
        }
    }

    pub fn plug(&mut self, port: u8) {
        self.cables |= 1 << port;
    }

    pub fn unplug(&mut self, port: u8) {
        self.cables &= !(1 << port);
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
            Fate::Deliver => {}
            Fate::Drop => link.dropped_by_cut += 1,
            Fate::NoCable => link.dropped_without_cable += 1,
        }
        fate
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
    pub fn counters(&mut self, from: u8) -> Vec<LinkCounter> {
        let used = |to: u8| {
            let link = *self.link(from, to);
            (!link.is_new()).then_some(LinkCounter {
                to,
                passed: link.passed,
                dropped: link.dropped_by_cut + link.dropped_without_cable,
                bytes: link.bytes,
                unasked: link.unasked,
                cut: link.cut,
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
