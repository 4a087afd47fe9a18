//! The keeper: PID 1 of the run's namespaces. One thread and one loop: it makes wire, disks, nodes and harness,
//! handles the harness's requests one at a time, reaps, and ends everything when a part dies.

mod children;
mod clock;
mod disks;
mod limits;
mod links;
mod node;
mod outside;
mod power;
mod stage;

use std::path::PathBuf;
use std::process::{ExitCode, exit};
use std::rc::Rc;

use nix::sys::wait::WaitStatus;
use serde::{Deserialize, Serialize};

use crate::api::{Error, Event};
use crate::packet::Channel;
use crate::proto::FromDisk;
use crate::request::{Answer, Asked, Request, ToHarness};
use crate::spawn::Child;
use crate::sys;
use children::Children;
pub use children::Spoken;
pub use clock::Setting;
use node::Node;

/// Front to keeper.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromFront {
    /// First of all.
    Launch {
        run_dir: PathBuf,
        harness_args: Vec<String>,
        owner: Option<(u32, u32)>,
        /// Whether the control socket comes next, one message.
        door: bool,
        /// How many listeners on the loopback come after it, a message each.
        loopback: usize,
    },
    /// The descriptor beside it.
    Given,
    /// The user wants an end.
    Interrupt { signal: i32 },
}

/// Keeper to front: each its last word.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToFront {
    Exited { code: u8 },
    CannotStart(Error),
    Died { what: String },
}

/// The keeper's own exit status. Nobody but the front sees it, and the front has the keeper's word.
const ENDED: i32 = 70;

/// What the keeper holds.
struct Keeper {
    run_dir: PathBuf,
    owner: Option<(u32, u32)>,
    front: Rc<Channel>,
    wire: Child,
    harness: Child,
    nodes: Vec<Node>,
    children: Children,
    outside: outside::Given,
}

/// The role `__keeper`.
pub fn main() -> ExitCode {
    let front = match Channel::inherited().and_then(|front| sys::die_with_parent(&front).map(|()| front)) {
        Ok(front) => Rc::new(front),
        Err(error) => {
            eprintln!("the keeper is started by `launch`, not by hand: {error}");
            return ExitCode::from(ENDED as u8);
        }
    };
    let Ok(Some(FromFront::Launch {
        run_dir,
        harness_args,
        owner,
        door,
        loopback,
    })) = front.receive()
    else {
        return ExitCode::from(ENDED as u8);
    };
    let Some(outside) = outside::Given::receive(&front, door, loopback) else {
        return ExitCode::from(ENDED as u8);
    };
    match stage::set(front.clone(), run_dir, &harness_args, owner, outside) {
        Ok(mut keeper) => keeper.run(),
        Err(error) => last_word(&front, &ToFront::CannotStart(error)),
    }
}

/// Says it to the front and ends, and all else ends with us.
fn last_word(front: &Channel, word: &ToFront) -> ! {
    // A front that is gone needs no word.
    let _ = front.send(word);
    exit(ENDED)
}

impl Keeper {
    fn run(&mut self) -> ! {
        loop {
            // Rebuilt each round: nodes come and go, and a poll copies the list anyway.
            let inits: Vec<(usize, Rc<Channel>)> = self.inits().collect();
            let disks: Vec<Rc<Channel>> = self.nodes.iter().map(|node| node.disk.channel.clone()).collect();
            let harness = self.harness.channel.clone();
            let all = inits
                .iter()
                .map(|(_, channel)| channel)
                .chain(&disks)
                .chain([&harness]);
            let all: Vec<&Channel> = all.map(|channel| &**channel).collect();
            let ready = self.watch(&all, None);
            let (of_inits, rest) = ready.split_at(inits.len());
            let (of_disks, of_harness) = rest.split_at(disks.len());
            for ((node, channel), _) in inits.iter().zip(of_inits).filter(|(_, ready)| **ready) {
                self.hear_init(*node, channel);
            }
            for (node, _) in of_disks.iter().enumerate().filter(|(_, ready)| **ready) {
                self.hear_disk(node, &disks[node]);
            }
            self.strike();
            if of_harness == [true] {
                self.hear_harness();
                self.strike();
            }
        }
    }

    /// A request, or the end of the harness, which shows as its socket's end a little before its death does.
    fn hear_harness(&mut self) {
        match self.harness.channel.clone().receive::<Asked>() {
            Ok(Some(Asked { id, request })) => {
                let answer = self.handle(request).unwrap_or_else(Answer::Failed);
                self.tell_harness(&ToHarness::Answer { id, answer });
            }
            Ok(None) => self.await_end_of(self.harness.pid, "the harness"),
            Err(error) => self.die(format!("the keeper cannot read what the harness asks: {error}")),
        }
    }

    /// What a node's init says unasked: its program has ended.
    fn hear_init(&mut self, node: usize, channel: &Channel) {
        match channel.receive::<crate::init::FromInit>() {
            Ok(Some(said)) => {
                _ = said
                    .event(self.nodes[node].id())
                    .map(|event| self.tell_harness(&ToHarness::Event(event)))
            }
            Ok(None) => self.await_end_of(self.nodes[node].init_pid(), "a node's init"),
            Err(error) => self.die(format!(
                "the keeper cannot read what {} says: {error}",
                self.nodes[node].init_name()
            )),
        }
    }

    /// What a disk says unasked: its host has no room, or it has stopped at a call.
    fn hear_disk(&mut self, node: usize, channel: &Channel) {
        match channel.receive::<FromDisk>() {
            Ok(Some(FromDisk::Crashed(crash))) => self.note_crash(self.nodes[node].id(), crash),
            Ok(Some(said)) => {
                _ = said
                    .event(self.nodes[node].id())
                    .map(|event| self.tell_harness(&ToHarness::Event(event)))
            }
            Ok(None) => self.await_end_of(self.nodes[node].disk.pid, "a disk"),
            Err(error) => self.die(format!(
                "the keeper cannot read what {} says: {error}",
                self.nodes[node].disk_name()
            )),
        }
    }

    fn handle(&mut self, request: Request) -> Result<Answer, Error> {
        match request {
            Request::AddNode(spec) => self.add_node(spec).map(Answer::Address),
            Request::PowerOn { node } => self.power_on(node).map(Answer::PoweredOn),
            Request::Start { node, program } => self.start(node, program).map(Answer::Started),
            Request::Signal { node, signal } => self.signal(node, signal).map(Answer::Signalled),
            Request::PowerOff { nodes, fault, policy } => {
                self.power_off(&nodes, fault, policy).map(Answer::PowerCuts)
            }
            Request::SetCut { pairs, cut } => self.set_cut(&pairs, cut).map(|at_ns| Answer::CutSet { at_ns }),
            Request::SetRule { fault, pairs, rule } => self
                .set_rule(fault, &pairs, rule)
                .map(|at_ns| Answer::RuleSet { at_ns }),
            Request::ClearRule { fault } => self.clear_rule(fault).map(|at_ns| Answer::RuleCleared { at_ns }),
            Request::RuleCounts { fault } => self
                .rule_counts(fault)
                .map(|counts| Answer::RuleCounts(Box::new(counts))),
            Request::FreeLinks { pairs } => self.free_links(&pairs).map(Answer::FreeLinks),
            Request::Counters { from } => self.counters(from).map(Answer::Counters),
            Request::Mark { pairs } => self.mark(&pairs).map(|at_ns| Answer::Marked { at_ns }),
            Request::FirstFrames { pairs } => self.first_frames(&pairs).map(Answer::FirstFrames),
            Request::SetClock { node, fault, rule } => self
                .set_clock(node, fault, rule)
                .map(|at_ns| Answer::ClockSet { at_ns }),
            Request::ClearClock { node, fault } => self
                .clear_clock(node, fault)
                .map(|at_ns| Answer::ClockSet { at_ns }),
            Request::ClockSeen { node } => self.clock_seen(node).map(Answer::ClockSeen),
            Request::SetLimit { node, fault, limit } => {
                self.set_limit(node, fault, limit).map(Answer::LimitSeen)
            }
            Request::ClearLimit { node, fault } => {
                self.clear_limit(node, fault).map(|()| Answer::LimitCleared)
            }
            Request::LimitSeen { node, fault } => self.limit_seen(node, fault).map(Answer::LimitSeen),
            Request::Namespaces { node } => self.namespaces(node).map(Answer::Namespaces),
            Request::Forward { listener, to } => self.forward(listener, to).map(|()| Answer::Forwarded),
            Request::DiskFault { node, fault, ask } => {
                self.disk_fault(node, fault, ask).map(Answer::DiskTold)
            }
            Request::DiskStats { node } => self.disk_stats(node).map(Answer::DiskStats),
        }
    }

    fn tell_harness(&self, message: &ToHarness) {
        if let Err(error) = self.harness.channel.send(message) {
            // Gone, which SIGCHLD tells with its status; or hanging, in which case nobody conducts the run.
            if error.kind() == std::io::ErrorKind::TimedOut {
                self.die(format!("the harness hangs: {error}"));
            }
        }
    }

    fn event(&self, event: Event) {
        self.tell_harness(&ToHarness::Event(event));
    }

    /// A part has died: say so, and end everything.
    fn die(&self, what: String) -> ! {
        last_word(&self.front, &ToFront::Died { what })
    }

    fn inits(&self) -> impl Iterator<Item = (usize, Rc<Channel>)> {
        self.nodes
            .iter()
            .enumerate()
            .filter_map(|(at, node)| Some((at, node.life.as_ref()?.init.channel.clone())))
    }
}

/// How a process ended, in words that follow its name.
pub fn how_it_ended(status: WaitStatus) -> String {
    match status {
        WaitStatus::Exited(_, code) => format!("ended with exit status {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("was killed by signal {}", signal as i32),
        other => format!("ended ({other:?})"),
    }
}

/// An error of a request that the ground cannot serve.
fn refused(what: String, why: impl Into<String>, next: &str) -> Error {
    Error {
        what,
        why: why.into(),
        next: next.into(),
        machine: false,
    }
}
