//! Faults of disks: what is asked of them, and what becomes of a node whose disk has stopped at a call.

use std::time::{Duration, Instant};

use disk::Crash;

use super::children::Silence;
use super::node::{DISK_PATIENCE, SIGNAL_PATIENCE};
use super::{Keeper, refused};
use crate::api::{Error, Event, Signal};
use crate::init::{FromInit, ToInit};
use crate::packet::Channel;
use crate::proto::{DiskAsk, DiskCrash, DiskTold, FromDisk, ToDisk};

/// How long a disk may take to change what is at rest, or to have the node's kernel forget its pages.
const FAULT_PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to be copied or replaced: as much as a laptop writes in that time.
const SWAP_PATIENCE: Duration = Duration::from_secs(60);
/// How long a node's processes may take to die of SIGKILL before its disk lets go of their calls; 1 ms is usual.
const LET_GO_AFTER: Duration = Duration::from_millis(5);

impl Keeper {
    pub(super) fn disk_fault(&mut self, id: i32, fault: u64, ask: DiskAsk) -> Result<DiskTold, Error> {
        let what = match &ask {
            DiskAsk::SetRule(_) => format!("putting fault {fault} in on the disk of node {id}"),
            DiskAsk::ClearRule => format!("taking fault {fault} off the disk of node {id}"),
            DiskAsk::Counts => format!("asking the disk of node {id} what fault {fault} has done"),
            DiskAsk::Swap(_) => format!("replacing the disk of node {id}"),
        };
        let at = self.find(id, &what)?;
        let kind = self.nodes[at].spec.disk;
        if kind.mode().is_none() {
            return Err(refused(
                what,
                format!(
                    "its disk is a real {}, whose calls nobody but the kernel sees",
                    kind.word()
                ),
                "run it with --disk fuse, or cut the node's power instead",
            ));
        }
        let patience = match &ask {
            DiskAsk::Swap(_) => SWAP_PATIENCE,
            DiskAsk::SetRule(_) | DiskAsk::ClearRule => FAULT_PATIENCE,
            DiskAsk::Counts => DISK_PATIENCE,
        };
        match self.ask_disk(at, &ToDisk::Fault { fault, ask }, patience) {
            FromDisk::Told(told) => Ok(told),
            FromDisk::Failed { why } => Err(refused(
                what,
                why,
                "correct the fault; is there room in the run's folder, and the node without power where its disk is replaced?",
            )),
            other => self.die(format!("{} answers {other:?}", self.nodes[at].disk_name())),
        }
    }

    /// SIGKILL to a node's processes. Those in a call that the disk does not answer die only when it does.
    pub(super) fn kill(&mut self, at: usize, channel: &Channel) -> Result<FromInit, Silence> {
        let id = self.nodes[at].id();
        if let Err(error) = channel.send(&ToInit::Signal(Signal::Kill)) {
            return Err(self.broken(error));
        }
        let deadline = Instant::now() + SIGNAL_PATIENCE;
        loop {
            match self.await_answer(id, channel, LET_GO_AFTER) {
                Err(Silence::Late(_)) if Instant::now() < deadline => self.let_go(at),
                other => return other.map(|(answer, _)| answer),
            }
        }
    }

    fn let_go(&mut self, at: usize) {
        if self.nodes[at].spec.disk.mode().is_none() {
            return;
        }
        match self.ask_disk(at, &ToDisk::LetGo, DISK_PATIENCE) {
            FromDisk::Done { .. } => {}
            other => self.die(format!("{} answers {other:?}", self.nodes[at].disk_name())),
        }
    }

    /// Remembers that a node is to be struck, until what is under way is done.
    pub(super) fn note_crash(&mut self, id: i32, crash: DiskCrash) {
        if let Some(node) = self.nodes.iter_mut().find(|node| node.id() == id) {
            node.crash = Some(crash);
        }
    }

    /// Strikes the nodes whose disks have stopped at a call.
    pub(super) fn strike(&mut self) {
        for at in 0..self.nodes.len() {
            if let Some(crash) = self.nodes[at].crash.take() {
                self.strike_one(at, crash);
            }
        }
    }

    fn strike_one(&mut self, at: usize, crash: DiskCrash) {
        let id = self.nodes[at].id();
        if self.nodes[at].life.is_none() {
            // Somebody cut its power while this was on its way.
            return;
        }
        let cut = match crash.how {
            Crash::Power(policy) => match self.power_off(&[id], crash.fault, policy) {
                Ok(mut cuts) => cuts.pop(),
                Err(error) => self.die(format!("node {id} was to lose its power at a call: {error}")),
            },
            Crash::Kill => {
                if let Err(error) = self.signal(id, Signal::Kill) {
                    eprintln!("node {id} was to be killed at a call: {error}");
                }
                self.let_go(at);
                None
            }
        };
        self.event(Event::DiskCrashed {
            node: id,
            fault: crash.fault,
            start: self.nodes[at].starts,
            call: crash.call,
            path: crash.path,
            at_ns: crash.at_ns,
            cut,
        });
    }
}
