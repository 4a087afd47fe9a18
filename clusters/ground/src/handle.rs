//! The harness's handle on the ground: each method asks the keeper one thing and waits for its answer.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use disk::{DiskRule, DiskRuleCounts, DiskSwap, Mended, Policy, Swapped};

use crate::api::*;
use crate::clock_rule::{ClockRule, ClockSeen};
use crate::connection::Connection;
use crate::limit::{Limit, LimitSeen};
use crate::link_rule::{LinkRule, RuleCounts};
use crate::linux::{Door, Entry};
use crate::proto::{DiskAsk, DiskTold};
use crate::request::{Answer, Request};

/// The ground, as the harness holds it. Clones share one connection to the keeper, which handles requests one at a
/// time, in the order they were sent; every wait has a bound.
#[derive(Clone)]
pub struct Ground {
    connection: Arc<Connection>,
    nodes: Arc<Mutex<Vec<i32>>>,
}

impl Ground {
    /// Takes the socket that the keeper left at descriptor 3. Call it once, early in the harness's process. When the
    /// keeper ends, this process ends with it.
    pub fn attach() -> Result<(Ground, Receiver<Event>), Error> {
        let (connection, events) = Connection::open()?;
        Ok((
            Ground {
                connection: Arc::new(connection),
                nodes: Arc::default(),
            },
            events,
        ))
    }

    /// Makes a node's folders and starts its disk; it has no power yet. The address it will have, in all its lives.
    pub fn add_node(&self, spec: NodeSpec) -> Result<Ipv4Addr, Error> {
        let id = spec.id;
        match self.connection.ask(Request::AddNode(spec))? {
            Answer::Address(address) => {
                self.nodes.lock().unwrap_or_else(PoisonError::into_inner).push(id);
                Ok(address)
            }
            other => Err(other.unexpected()),
        }
    }

    /// Powers a node on: namespaces of its own, a network with a cable to the wire, its disk mounted at `home/mount`,
    /// `/proc`, and `/tmp` and `/dev/shm` that are its own, and empty but for the clock shim's folder. No program runs
    /// yet.
    pub fn power_on(&self, node: i32) -> Result<PoweredOn, Error> {
        match self.connection.ask(Request::PowerOn { node })? {
            Answer::PoweredOn(on) => Ok(on),
            other => Err(other.unexpected()),
        }
    }

    /// Starts the node's program, with the clock shim preloaded. An error while one runs.
    pub fn start(&self, node: i32, program: Program) -> Result<Started, Error> {
        match self.connection.ask(Request::Start { node, program })? {
            Answer::Started(started) => Ok(started),
            other => Err(other.unexpected()),
        }
    }

    /// Sends a signal: [`Signal::Terminate`] to the program, the others to every process of the node but its init,
    /// and waits (1 s at most) until those have taken.
    pub fn signal(&self, node: i32, signal: Signal) -> Result<Signalled, Error> {
        match self.connection.ask(Request::Signal { node, signal })? {
            Answer::Signalled(signalled) => Ok(signalled),
            other => Err(other.unexpected()),
        }
    }

    /// Cuts the power of nodes, all links before the first kill. Silent: no frame leaves after the cut. What is left
    /// on the disks the policy says; each draws for itself.
    pub fn power_off(&self, nodes: &[i32], fault: u64, policy: Policy) -> Result<Vec<PowerCut>, Error> {
        match self.connection.ask(Request::PowerOff {
            nodes: nodes.to_vec(),
            fault,
            policy,
        })? {
            Answer::PowerCuts(cuts) => Ok(cuts),
            other => Err(other.unexpected()),
        }
    }

    /// Cuts or heals directed links `(from, to)`, all at one instant, which is returned. A cut outlives a loss of
    /// power of either end.
    pub fn set_cut(&self, pairs: &[(Port, Port)], cut: bool) -> Result<u64, Error> {
        match self.connection.ask(Request::SetCut {
            pairs: pairs.to_vec(),
            cut,
        })? {
            Answer::CutSet { at_ns } => Ok(at_ns),
            other => Err(other.unexpected()),
        }
    }

    /// Puts a fault's rule on directed links, all at one instant, which is returned. A rule that the fault had is
    /// replaced, and counts anew; rules of other faults stay. A rule outlives a loss of power of either end.
    ///
    /// The observer's links take no rule but [`crate::Effect::Silence`].
    pub fn set_rule(&self, fault: u64, links: &[(Port, Port)], rule: LinkRule) -> Result<u64, Error> {
        let pairs = links.to_vec();
        match self.connection.ask(Request::SetRule { fault, pairs, rule })? {
            Answer::RuleSet { at_ns } => Ok(at_ns),
            other => Err(other.unexpected()),
        }
    }

    /// Takes a fault's rule away, at the instant that is returned; what still waits for it waits no longer. No error
    /// where there is none.
    pub fn clear_rule(&self, fault: u64) -> Result<u64, Error> {
        match self.connection.ask(Request::ClearRule { fault })? {
            Answer::RuleCleared { at_ns } => Ok(at_ns),
            other => Err(other.unexpected()),
        }
    }

    /// What a fault's rule has met and done so far. An error where there is none.
    pub fn rule_counts(&self, fault: u64) -> Result<RuleCounts, Error> {
        match self.connection.ask(Request::RuleCounts { fault })? {
            Answer::RuleCounts(counts) => Ok(*counts),
            other => Err(other.unexpected()),
        }
    }

    /// Which of these links have power at both ends, and no rule of any fault; in the order asked.
    pub fn free_links(&self, links: &[(Port, Port)]) -> Result<Vec<bool>, Error> {
        let pairs = links.to_vec();
        match self.connection.ask(Request::FreeLinks { pairs })? {
            Answer::FreeLinks(free) => Ok(free),
            other => Err(other.unexpected()),
        }
    }

    /// Marks directed links: from now on the first frame that each delivers is noted. The instant from which on.
    pub fn mark(&self, pairs: &[(Port, Port)]) -> Result<u64, Error> {
        match self.connection.ask(Request::Mark {
            pairs: pairs.to_vec(),
        })? {
            Answer::Marked { at_ns } => Ok(at_ns),
            other => Err(other.unexpected()),
        }
    }

    /// When each of these links delivered its first frame since it was marked, in the order asked. None where it
    /// has delivered none, or was never marked.
    pub fn first_frames(&self, pairs: &[(Port, Port)]) -> Result<Vec<Option<u64>>, Error> {
        match self.connection.ask(Request::FirstFrames {
            pairs: pairs.to_vec(),
        })? {
            Answer::FirstFrames(at_ns) => Ok(at_ns),
            other => Err(other.unexpected()),
        }
    }

    /// What went over each link that was ever used, or is cut.
    pub fn counters(&self) -> Result<Vec<LinkCount>, Error> {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let ports = [Port::Clients, Port::Observer]
            .into_iter()
            .chain(nodes.into_iter().map(Port::Node));
        let mut all = Vec::new();
        for from in ports {
            match self.connection.ask(Request::Counters { from })? {
                Answer::Counters(links) => all.extend(links),
                other => return Err(other.unexpected()),
            }
        }
        Ok(all)
    }

    /// Puts a fault's rule on a node's clocks, for all its programs, in place of one that the fault had; the instant
    /// from which on a program that asks is shown it. Rules of other faults stay: steps and strobes add, rates
    /// multiply. A rule outlives the node's power. Whether it took is [`Ground::clock_seen`]'s to say.
    pub fn set_clock(&self, node: i32, fault: u64, rule: ClockRule) -> Result<u64, Error> {
        match self.connection.ask(Request::SetClock { node, fault, rule })? {
            Answer::ClockSet { at_ns } => Ok(at_ns),
            other => Err(other.unexpected()),
        }
    }

    /// Takes a fault's rule off a node's clocks, at the instant that is returned. No error where there is none.
    pub fn clear_clock(&self, node: i32, fault: u64) -> Result<u64, Error> {
        match self.connection.ask(Request::ClearClock { node, fault })? {
            Answer::ClockSet { at_ns } => Ok(at_ns),
            other => Err(other.unexpected()),
        }
    }

    /// What the node's processes have said that they are shown; and asks them to say it again, which each does when it
    /// next looks at a clock. So: call it again until what is wanted has been said after the instant that matters.
    pub fn clock_seen(&self, node: i32) -> Result<ClockSeen, Error> {
        match self.connection.ask(Request::ClockSeen { node })? {
            Answer::ClockSeen(seen) => Ok(seen),
            other => Err(other.unexpected()),
        }
    }

    /// Puts a limit on all processes of a node but its init, and on those of its later programs (a moment after their
    /// start); what it has met already. Another fault's limits stay, and the least holds. An error of the machine where
    /// it has no means for it.
    pub fn set_limit(&self, node: i32, fault: u64, limit: Limit) -> Result<LimitSeen, Error> {
        match self.connection.ask(Request::SetLimit { node, fault, limit })? {
            Answer::LimitSeen(seen) => Ok(seen),
            other => Err(other.unexpected()),
        }
    }

    /// Lifts a fault's limit. No error where there is none.
    pub fn clear_limit(&self, node: i32, fault: u64) -> Result<(), Error> {
        match self.connection.ask(Request::ClearLimit { node, fault })? {
            Answer::LimitCleared => Ok(()),
            other => Err(other.unexpected()),
        }
    }

    /// What a fault's limit has met so far. An error where there is none.
    pub fn limit_seen(&self, node: i32, fault: u64) -> Result<LimitSeen, Error> {
        match self.connection.ask(Request::LimitSeen { node, fault })? {
            Answer::LimitSeen(seen) => Ok(seen),
            other => Err(other.unexpected()),
        }
    }

    /// The namespaces of a node that has power.
    pub fn namespaces(&self, node: i32) -> Result<Namespaces, Error> {
        match self.connection.ask(Request::Namespaces { node })? {
            Answer::Namespaces(namespaces) => Ok(namespaces),
            other => Err(other.unexpected()),
        }
    }

    /// The run's control socket, where the front has handed one in. Once: whoever has it serves it.
    pub fn door(&self) -> Result<Door, Error> {
        self.connection.door()
    }

    /// From now on what comes in by a listener that the front has handed in, counted from 0, goes to this address of a
    /// node, as a client's connection.
    pub fn forward(&self, listener: usize, to: SocketAddr) -> Result<(), Error> {
        match self.connection.ask(Request::Forward { listener, to })? {
            Answer::Forwarded => Ok(()),
            other => Err(other.unexpected()),
        }
    }

    /// A way into a node that has power, for somebody outside: a command that runs in its namespaces, and ends with it.
    pub fn entry(&self, node: i32) -> Result<Entry, Error> {
        let failed = |why: String| Error {
            what: format!("opening a way into node {node}"),
            why,
            next: "try again".into(),
            machine: false,
        };
        let before = self.namespaces(node)?;
        let entry = Entry::into_node(before.init).map_err(|error| failed(error.to_string()))?;
        // While it is the node's init now, its number was that of no other process then.
        if self.namespaces(node)? == before {
            Ok(entry)
        } else {
            Err(failed("it lost its power meanwhile".into()))
        }
    }

    /// Puts a fault's rule in force on a node's disk, in place of one that the fault had; since when. Rules of other faults
    /// stay. A rule outlives the node's power. Damage to what is at rest is done on return. An error where the disk is a
    /// real one.
    pub fn set_disk_rule(&self, node: i32, fault: u64, rule: DiskRule) -> Result<u64, Error> {
        match self.disk_fault(node, fault, DiskAsk::SetRule(rule))? {
            DiskTold::Set { at_ns } => Ok(at_ns),
            other => Err(Answer::DiskTold(other).unexpected()),
        }
    }

    /// Takes a fault's rule off a node's disk: who waits by it waits no longer, and what it damaged is mended. No error
    /// where there is none.
    pub fn clear_disk_rule(&self, node: i32, fault: u64) -> Result<Mended, Error> {
        match self.disk_fault(node, fault, DiskAsk::ClearRule)? {
            DiskTold::Cleared(mended) => Ok(mended),
            other => Err(Answer::DiskTold(other).unexpected()),
        }
    }

    /// What a fault's rule on a node's disk has met and done so far. An error where there is none.
    pub fn disk_rule_counts(&self, node: i32, fault: u64) -> Result<DiskRuleCounts, Error> {
        match self.disk_fault(node, fault, DiskAsk::Counts)? {
            DiskTold::Counts(counts) => Ok(counts),
            other => Err(Answer::DiskTold(other).unexpected()),
        }
    }

    /// Copies a node's disk, or puts another in its place, which wants the node without power.
    pub fn swap_disk(&self, node: i32, fault: u64, swap: DiskSwap) -> Result<Swapped, Error> {
        match self.disk_fault(node, fault, DiskAsk::Swap(swap))? {
            DiskTold::Swapped(swapped) => Ok(swapped),
            other => Err(Answer::DiskTold(other).unexpected()),
        }
    }

    fn disk_fault(&self, node: i32, fault: u64, ask: DiskAsk) -> Result<DiskTold, Error> {
        match self.connection.ask(Request::DiskFault { node, fault, ask })? {
            Answer::DiskTold(told) => Ok(told),
            other => Err(other.unexpected()),
        }
    }

    /// What a node's disk holds.
    pub fn disk_stats(&self, node: i32) -> Result<crate::proto::DiskStats, Error> {
        match self.connection.ask(Request::DiskStats { node })? {
            Answer::DiskStats(stats) => Ok(stats),
            other => Err(other.unexpected()),
        }
    }
}
