//! A wire between datagram sockets, which stand for TAPs: they keep frames whole, and refuse when full.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use super::Wire;
use super::offload::{DONE, HEADER};
use crate::link_rule::{LinkRule, RuleCounts};
use crate::packet::Channel;
use crate::proto::{FromWire, LinkCounter, ToWire};

/// So many frames a socket takes in any case before somebody reads.
pub const ROOM: usize = 8;

pub struct Bench {
    keeper: Channel,
    pub nodes: Vec<UnixDatagram>,
    thread: Option<std::thread::JoinHandle<io::Result<()>>>,
}

impl Bench {
    pub fn new(ports: u8) -> Bench {
        let (keeper, theirs) = Channel::pair().unwrap();
        let thread = std::thread::spawn(move || Wire::with(theirs)?.run());
        let mut bench = Bench {
            keeper,
            nodes: vec![],
            thread: Some(thread),
        };
        for port in 0..ports {
            let node = bench.plug(port);
            bench.nodes.push(node);
        }
        bench
    }

    pub fn plug(&self, port: u8) -> UnixDatagram {
        let (node, tap) = UnixDatagram::pair().unwrap();
        tap.set_nonblocking(true).unwrap();
        node.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        self.keeper
            .send_with(&ToWire::Plug { port }, &[tap.as_fd()])
            .unwrap();
        drop(tap);
        assert!(matches!(self.answer(), FromWire::Done { .. }));
        node
    }

    fn answer(&self) -> FromWire {
        self.keeper
            .receive_within(Duration::from_secs(5))
            .unwrap()
            .unwrap()
    }

    pub fn ask(&self, message: ToWire) -> FromWire {
        self.keeper.send(&message).unwrap();
        self.answer()
    }

    pub fn send(&self, from: u8, to: u8, mark: u8) {
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&[2, 0, 10, 9, 0, to]);
        frame[20] = mark;
        self.put(from, &frame);
    }

    /// Has a port send a frame with which nothing is left to do.
    pub fn put(&self, from: u8, frame: &[u8]) {
        let buffer = [&DONE[..], frame].concat();
        self.nodes[usize::from(from)].send(&buffer).unwrap();
    }

    pub fn mark(&self, at: u8) -> u8 {
        let mut buffer = [0; 100];
        let length = self.nodes[usize::from(at)].recv(&mut buffer).unwrap();
        assert_eq!(length, HEADER + 60);
        buffer[HEADER + 20]
    }

    pub fn counters(&self, from: u8) -> Vec<LinkCounter> {
        match self.ask(ToWire::Counters { from }) {
            FromWire::Counters { links } => links,
            other => panic!("{other:?}"),
        }
    }

    /// What is counted of a link that was used or cut.
    pub fn link(&self, from: u8, to: u8) -> LinkCounter {
        let links = self.counters(from);
        links.into_iter().find(|link| link.to == to).unwrap()
    }

    pub fn set_rule(&self, fault: u64, pairs: &[(u8, u8)], rule: LinkRule) {
        let pairs = pairs.to_vec();
        let answer = self.ask(ToWire::SetRule { fault, pairs, rule });
        assert!(matches!(answer, FromWire::Done { .. }), "{answer:?}");
    }

    pub fn clear_rule(&self, fault: u64) {
        let answer = self.ask(ToWire::ClearRule { fault });
        assert!(matches!(answer, FromWire::Done { .. }), "{answer:?}");
    }

    pub fn rule_counts(&self, fault: u64) -> RuleCounts {
        match self.ask(ToWire::RuleCounts { fault }) {
            FromWire::RuleCounts(counts) => counts,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a rule's counts say so.
    pub fn await_rule(&self, fault: u64, reached: impl Fn(&RuleCounts) -> bool) -> RuleCounts {
        for _ in 0..5000 {
            let counts = self.rule_counts(fault);
            if reached(&counts) {
                return counts;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{:?}", self.rule_counts(fault));
    }

    /// Sends frames, a few at a time, and gives what arrives at once.
    pub fn exchange(&self, from: u8, to: u8, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut arrived = Vec::new();
        for few in frames.chunks(ROOM / 2) {
            for frame in few {
                self.put(from, frame);
            }
            self.await_turn(from, to);
            arrived.extend(self.arrived(to));
        }
        arrived
    }

    /// Waits until the wire has taken all that a port has sent: it takes them in order, so one more to a third port
    /// arrives when they are done with.
    fn await_turn(&self, from: u8, to: u8) {
        const MARK: u8 = 77;
        let third = (0..).find(|port| ![from, to].contains(port)).unwrap_or(0);
        self.send(from, third, MARK);
        assert_eq!(self.mark(third), MARK);
    }

    /// What has arrived at a port and was not read yet.
    pub fn arrived(&self, at: u8) -> Vec<Vec<u8>> {
        let node = &self.nodes[usize::from(at)];
        node.set_nonblocking(true).unwrap();
        let next = || {
            let mut frame = vec![0; 70_000];
            let length = node.recv(&mut frame).ok()?;
            frame.truncate(length);
            Some(frame.split_off(HEADER))
        };
        let all = std::iter::from_fn(next).collect();
        node.set_nonblocking(false).unwrap();
        all
    }

    /// Waits until the link's counters say so.
    pub fn await_count(&self, from: u8, to: u8, reached: impl Fn(&LinkCounter) -> bool) {
        for _ in 0..5000 {
            if self
                .counters(from)
                .iter()
                .any(|link| link.to == to && reached(link))
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{:?}", self.counters(from));
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // The end of the keeper is the wire's.
        let (other, _) = Channel::pair().unwrap();
        self.keeper = other;
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}
