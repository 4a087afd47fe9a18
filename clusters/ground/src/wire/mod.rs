//! The wire: a process that carries every frame of a run from TAP to TAP, and answers the keeper.
//!
//! One thread and one loop, so that what the keeper asks happens between two frames: an answer means that it is in
//! force. What a frame's fate is, [`switch`] decides; what faults do to it, [`rules`]. Frames that wait are woken for
//! by a timer, to the microsecond.

#[cfg(test)]
mod bench;
mod offload;
mod packet_view;
mod queue;
mod random;
#[cfg(test)]
mod rule_tests;
mod rules;
mod switch;

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timer::Expiration;
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::sys::uio::writev;
use nix::unistd::{read, write};

use crate::link_rule::Effect;
use crate::packet::Channel;
use crate::proto::{FromWire, OBSERVER, PORTS, ToWire};
use crate::sys;
use offload::{DONE, HEADER};
use switch::{Fate, Ruled, Switch, Ticket};

/// What epoll calls the control socket; ports are called by their number.
const KEEPER: u64 = u64::MAX;
/// What epoll calls the timer.
const TIMER: u64 = u64::MAX - 1;
/// Frames taken from one port before the others and the keeper have their turn.
const FRAMES_A_TURN: usize = 64;
/// Longer than any frame of a TAP, with its header.
const LONGEST_FRAME: usize = 70_000;

/// The role `__wire`. Ends with the keeper.
pub fn main() -> ExitCode {
    match Wire::new().and_then(Wire::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("the wire has failed, and with it the run: {why}");
            ExitCode::FAILURE
        }
    }
}

struct Wire {
    keeper: Channel,
    epoll: Epoll,
    taps: Vec<Option<OwnedFd>>,
    switch: Switch,
    frame: Vec<u8>,
    timer: TimerFd,
    /// For when the timer is set.
    armed: Option<u64>,
}

impl Wire {
    fn new() -> io::Result<Wire> {
        let keeper = sys::said(
            "this role is started by the keeper, not by hand",
            Channel::inherited(),
        )?;
        sys::die_with_parent(&keeper)?;
        Wire::with(keeper)
    }

    fn with(keeper: Channel) -> io::Result<Wire> {
        let epoll = sys::said("epoll", Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC))?;
        sys::said(
            "epoll on the control socket",
            epoll.add(&keeper, EpollEvent::new(EpollFlags::EPOLLIN, KEEPER)),
        )?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = sys::said("timerfd", TimerFd::new(ClockId::CLOCK_MONOTONIC, flags))?;
        sys::said(
            "epoll on the timer",
            epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER)),
        )?;
        let taps = (0..PORTS).map(|_| None).collect();
        Ok(Wire {
            keeper,
            epoll,
            taps,
            switch: Switch::new(),
            frame: vec![0; LONGEST_FRAME],
            timer,
            armed: None,
        })
    }

    fn run(mut self) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); PORTS as usize + 2];
        loop {
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => sys::said("epoll_wait", other)?,
            };
            let ready = &events[..ready];
            // The keeper first: a cut waits for no frame that is still to be read.
            if ready.iter().any(|event| event.data() == KEEPER) && !self.answer()? {
                return Ok(());
            }
            self.let_late_go();
            for event in ready.iter().filter(|event| event.data() < TIMER) {
                self.carry(event.data() as u8);
            }
            self.let_late_go();
            self.arm()?;
        }
    }

    /// Answers one message; false when the keeper is gone.
    fn answer(&mut self) -> io::Result<bool> {
        let Some((message, descriptors)) = self.keeper.receive_with::<ToWire>()? else {
            return Ok(false);
        };
        let answer = match self.obey(message, descriptors) {
            Ok(answer) => answer,
            Err(why) => FromWire::Failed { why },
        };
        match self.keeper.send(&answer) {
            Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            sent => sent.map(|()| true),
        }
    }

    fn obey(&mut self, message: ToWire, descriptors: Vec<OwnedFd>) -> Result<FromWire, String> {
        match message {
            ToWire::Plug { port } => {
                known(port)?;
                let tap = descriptors
                    .into_iter()
                    .next()
                    .ok_or("plugging in without a TAP beside the message")?;
                self.plug(port, tap)?;
            }
            ToWire::Unplug { ports } => {
                ports.iter().try_for_each(|port| known(*port))?;
                ports.into_iter().for_each(|port| self.unplug(port));
            }
            ToWire::SetCut { pairs, cut } => {
                all_known(&pairs)?;
                pairs
                    .into_iter()
                    .for_each(|(from, to)| self.switch.set_cut(from, to, cut));
            }
            ToWire::SetRule { fault, pairs, rule } => {
                all_known(&pairs)?;
                rule.check()?;
                let observers = |(from, to): &(u8, u8)| *from == OBSERVER || *to == OBSERVER;
                if rule.effect != Effect::Silence && pairs.iter().any(observers) {
                    return Err("no fault but a stopped machine touches the observer's links".into());
                }
                self.switch.set_rule(fault, &pairs, rule, sys::monotonic_ns());
            }
            ToWire::ClearRule { fault } => {
                self.switch.clear_rule(fault);
                self.let_late_go();
            }
            ToWire::RuleCounts { fault } => {
                let counts = self.switch.rule_counts(fault, sys::monotonic_ns());
                let none = || format!("fault {fault} has no rule on any link");
                return Ok(FromWire::RuleCounts(counts.ok_or_else(none)?));
            }
            ToWire::Free { pairs } => {
                all_known(&pairs)?;
                let free = pairs.into_iter().map(|(from, to)| self.switch.is_free(from, to));
                return Ok(FromWire::Free { free: free.collect() });
            }
            ToWire::Counters { from } => {
                known(from)?;
                return Ok(FromWire::Counters {
                    links: self.switch.counters(from),
                });
            }
            ToWire::Mark { pairs } => {
                all_known(&pairs)?;
                pairs
                    .into_iter()
                    .for_each(|(from, to)| self.switch.mark(from, to));
            }
            ToWire::FirstFrames { pairs } => {
                all_known(&pairs)?;
                let first = pairs.into_iter().map(|(from, to)| self.switch.first(from, to));
                return Ok(FromWire::FirstFrames {
                    at_ns: first.collect(),
                });
            }
        }
        Ok(FromWire::Done {
            at_ns: sys::monotonic_ns(),
        })
    }

    fn plug(&mut self, port: u8, tap: OwnedFd) -> Result<(), String> {
        self.unplug(port);
        let event = EpollEvent::new(EpollFlags::EPOLLIN, u64::from(port));
        self.epoll
            .add(&tap, event)
            .map_err(|why| format!("epoll on the TAP of port {port}: {why}"))?;
        self.taps[usize::from(port)] = Some(tap);
        self.switch.plug(port);
        Ok(())
    }

    fn unplug(&mut self, port: u8) {
        self.switch.unplug(port);
        if let Some(tap) = self.taps[usize::from(port)].take() {
            // By hand, since a copy of the descriptor elsewhere would keep it registered. It may be out already.
            let _ = self.epoll.delete(&tap);
        }
    }

    /// Carries what is waiting at a port.
    fn carry(&mut self, from: u8) {
        for _ in 0..FRAMES_A_TURN {
            let Some(tap) = &self.taps[usize::from(from)] else {
                return;
            };
            match read(tap, &mut self.frame) {
                Ok(length) => self.forward(from, length),
                Err(Errno::EAGAIN) => return,
                Err(Errno::EINTR) => {}
                Err(_) => {
                    // Its device is gone, and would wake us for ever. What is sent to it is refused, and counted.
                    let _ = self.epoll.delete(tap);
                    return;
                }
            }
        }
    }

    /// Delivers what has waited long enough.
    fn let_late_go(&mut self) {
        while self.switch.next_due().is_some() {
            let Some((to, ticket, frame)) = self.switch.due(sys::monotonic_ns()) else {
                return;
            };
            deliver(&mut self.switch, &self.taps, to, &ticket, &frame);
        }
    }

    /// Sets the timer for the next frame that waits. One that rings for nothing is reset, or it would ring on.
    fn arm(&mut self) -> io::Result<()> {
        let due = self.switch.next_due();
        let rings = self.armed.is_some_and(|at| at <= sys::monotonic_ns());
        if due == self.armed && !rings {
            return Ok(());
        }
        let set = match due {
            None => self.timer.unset(),
            Some(at) => {
                let at = TimeSpec::from_duration(std::time::Duration::from_nanos(at));
                let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
                self.timer.set(Expiration::OneShot(at), flags)
            }
        };
        sys::said("setting the timer", set)?;
        self.armed = due;
        Ok(())
    }

    fn forward(&mut self, from: u8, length: usize) {
        let buffer = &self.frame[..length];
        if !offload::is_frame(buffer) {
            return;
        }
        let mut left = self.switch.destinations(from, &buffer[HEADER..]);
        while left != 0 {
            // At most 63, since a bit is set.
            let to = left.trailing_zeros() as u8;
            left &= left - 1;
            match self.switch.decide(from, to) {
                Fate::Deliver => {}
                Fate::Ruled => {
                    let (switch, taps) = (&mut self.switch, &self.taps);
                    offload::packets(buffer, |packet| rule(switch, taps, (from, to), packet));
                    continue;
                }
                Fate::Drop | Fate::NoCable => continue,
            }
            match self.taps[usize::from(to)].as_ref().map(|tap| put(tap, buffer)) {
                Some(Ok(sent)) if sent == length => {
                    self.switch
                        .delivered(from, to, length - HEADER, sys::monotonic_ns)
                }
                _ => self.switch.refused(from, to),
            }
        }
    }
}

/// Has a packet meet the rules of its link.
fn rule(switch: &mut Switch, taps: &[Option<OwnedFd>], (from, to): (u8, u8), packet: &[u8]) {
    match switch.rule(from, to, packet, sys::monotonic_ns()) {
        Ruled::Kept => {}
        Ruled::Now(ticket, changed) => {
            deliver(switch, taps, to, &ticket, changed.as_deref().unwrap_or(packet));
        }
        Ruled::Reset([to_receiver, to_sender]) => {
            // Forged, and on no link: a port that does not take it goes on with its connection, which the next draw
            // may end.
            for (port, reset) in [(to, to_receiver), (from, to_sender)] {
                let _ = taps[usize::from(port)].as_ref().map(|tap| put_done(tap, &reset));
            }
        }
    }
}

/// Delivers all copies of a packet that met rules.
fn deliver(switch: &mut Switch, taps: &[Option<OwnedFd>], to: u8, ticket: &Ticket, packet: &[u8]) {
    for copy in 0..ticket.copies() {
        match taps[usize::from(to)].as_ref().map(|tap| put_done(tap, packet)) {
            Some(Ok(sent)) if sent == HEADER + packet.len() => {
                switch.ruled_delivered(ticket, packet.len(), copy == 0, sys::monotonic_ns());
            }
            _ => switch.ruled_refused(ticket),
        }
    }
}

/// Writes a frame behind its own header.
fn put(tap: impl AsFd, buffer: &[u8]) -> Result<usize, Errno> {
    loop {
        match write(&tap, buffer) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// Writes a packet with which nothing is left to do.
fn put_done(tap: impl AsFd, packet: &[u8]) -> Result<usize, Errno> {
    let parts = [IoSlice::new(&DONE), IoSlice::new(packet)];
    loop {
        match writev(&tap, &parts) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

fn all_known(pairs: &[(u8, u8)]) -> Result<(), String> {
    pairs
        .iter()
        .try_for_each(|(from, to)| known(*from).and(known(*to)))
}

fn known(port: u8) -> Result<(), String> {
    if port < PORTS {
        Ok(())
    } else {
        Err(format!("there is no port {port}: ports are 0 to {}", PORTS - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::bench::Bench;
    use super::*;
    use crate::proto::LinkCounter;

    #[test]
    fn frames_arrive_and_are_counted() {
        let bench = Bench::new(3);
        bench.send(0, 1, 7);
        assert_eq!(bench.mark(1), 7);
        bench.send(1, 0, 8);
        assert_eq!(bench.mark(0), 8);
        let link = LinkCounter {
            to: 1,
            passed: 1,
            dropped: 0,
            bytes: 60,
            unasked: 0,
            cut: false,
        };
        assert_eq!(bench.counters(0), [link]);
        assert_eq!(bench.counters(2), []);
    }

    #[test]
    fn a_cut_stops_one_way_and_a_heal_lets_pass() {
        let bench = Bench::new(2);
        bench.ask(ToWire::SetCut {
            pairs: vec![(0, 1)],
            cut: true,
        });
        bench.send(0, 1, 1);
        bench.await_count(0, 1, |link| link.dropped == 1 && link.cut);
        bench.send(1, 0, 2);
        assert_eq!(bench.mark(0), 2);
        bench.ask(ToWire::SetCut {
            pairs: vec![(0, 1)],
            cut: false,
        });
        bench.send(0, 1, 3);
        assert_eq!(bench.mark(1), 3);
    }

    #[test]
    fn after_an_unplug_nothing_comes_in_or_out_until_a_new_cable() {
        let mut bench = Bench::new(2);
        bench.ask(ToWire::Unplug { ports: vec![1] });
        bench.send(0, 1, 1);
        bench.await_count(0, 1, |link| link.dropped == 1);
        assert!(
            bench.nodes[1].send(&[0; 70]).is_err(),
            "the cable's other end is closed"
        );
        assert!(matches!(
            bench.ask(ToWire::Unplug { ports: vec![1] }),
            FromWire::Done { .. }
        ));
        bench.nodes[1] = bench.plug(1);
        bench.send(0, 1, 2);
        assert_eq!(bench.mark(1), 2);
    }

    #[test]
    fn the_first_frame_after_a_mark_is_timed_and_no_later_one() {
        let bench = Bench::new(2);
        let first = || match bench.ask(ToWire::FirstFrames {
            pairs: vec![(0, 1), (1, 0)],
        }) {
            FromWire::FirstFrames { at_ns } => at_ns,
            other => panic!("{other:?}"),
        };
        bench.send(0, 1, 1);
        assert_eq!(bench.mark(1), 1);
        assert_eq!(first(), [None, None], "nobody has marked the link");
        let cut = |cut| ToWire::SetCut {
            pairs: vec![(0, 1)],
            cut,
        };
        bench.ask(cut(true));
        let FromWire::Done { at_ns: marked } = bench.ask(ToWire::Mark { pairs: vec![(0, 1)] }) else {
            panic!()
        };
        bench.send(0, 1, 2);
        bench.await_count(0, 1, |link| link.dropped == 1);
        assert_eq!(first(), [None, None], "what is dropped is not delivered");
        bench.ask(cut(false));
        bench.send(0, 1, 3);
        assert_eq!(bench.mark(1), 3);
        bench.await_count(0, 1, |link| link.passed == 2);
        let at = first();
        assert!(at[0].is_some_and(|at| at > marked) && at[1].is_none(), "{at:?}");
        bench.send(0, 1, 4);
        assert_eq!(bench.mark(1), 4);
        bench.await_count(0, 1, |link| link.passed == 3);
        assert_eq!(first(), at);
    }

    #[test]
    fn what_a_port_does_not_take_is_unasked_loss() {
        let bench = Bench::new(2);
        // Nobody reads: the socket that stands for a device fills.
        const FRAMES: u64 = 5000;
        for _ in 0..FRAMES {
            bench.send(0, 1, 0);
        }
        bench.await_count(0, 1, |link| {
            link.unasked > 0 && link.unasked + link.passed == FRAMES
        });
    }

    #[test]
    fn nonsense_is_refused_and_changes_nothing() {
        let bench = Bench::new(1);
        let refused = |message| matches!(bench.ask(message), FromWire::Failed { .. });
        assert!(refused(ToWire::Plug { port: 2 }));
        assert!(refused(ToWire::Unplug {
            ports: vec![0, PORTS]
        }));
        assert!(refused(ToWire::SetCut {
            pairs: vec![(0, 1), (PORTS, 0)],
            cut: true
        }));
        assert!(refused(ToWire::Counters { from: 255 }));
        assert!(refused(ToWire::Mark {
            pairs: vec![(0, PORTS)]
        }));
        assert!(refused(ToWire::FirstFrames {
            pairs: vec![(PORTS, 0)]
        }));
        assert_eq!(bench.counters(0), []);
    }
}
