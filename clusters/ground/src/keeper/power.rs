//! Power on and power off.
//!
//! A power cut is silent where a kill is loud: a killed process's kernel closes its connections, a dead machine says
//! nothing. So the order of a cut is: every link of every node to be cut first (that instant is the cut); then the
//! disks, which acknowledge no sync from then on; then SIGKILL to the inits; only when every process is gone, what the
//! disks have left. The processes of a node with a real disk stand still before it is cut, so that what it takes can be
//! told: nobody hears of that, its links are cut already. Power comes back in a new network namespace, in which no old connection can speak.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use disk::{Policy, Profile, Remainder};
use nix::sys::signal::{Signal as UnixSignal, kill};
use nix::unistd::Pid;

use super::children::Silence;
use super::node::{DISK_PATIENCE, Life, SIGNAL_PATIENCE};
use super::{Keeper, refused};
use crate::api::{DiskKind, Error, Namespaces, PowerCut, PoweredOn, Signal};
use crate::init::{Birth, FromInit, ToInit};
use crate::proto::{DiskLoss, FromDisk, ToDisk, ToWire};
use crate::spawn::{self, Child, Role};
use crate::{lacks, net, sys};

/// How long a node's init may take to make its network and mounts; 5 ms are usual.
const BIRTH_PATIENCE: Duration = Duration::from_secs(10);
/// How long the processes of a killed node may take to be gone, before its disk lets go of the mount: a process in a
/// file system's call that nobody answers does not die.
const DEATH_PATIENCE: Duration = Duration::from_secs(1);
/// How long a real disk may take to be mounted, or looked at and cut: it reads what a cut could take.
const REAL_DISK_PATIENCE: Duration = Duration::from_secs(10);
/// How long a disk may take to make what a cut leaves: it rewrites files.
const SETTLE_PATIENCE: Duration = Duration::from_secs(30);

impl Keeper {
    pub(super) fn power_on(&mut self, id: i32) -> Result<PoweredOn, Error> {
        let what = format!("powering node {id} on");
        let at = self.find(id, &what)?;
        if self.nodes[at].life.is_some() {
            return Err(refused(what, "it has power", "power it off first"));
        }
        let args = ["__init"];
        let role = Role {
            args: &args,
            namespaces: spawn::NAMESPACES,
            session: true,
            stdin: false,
            owner: None,
        };
        let init = spawn::spawn(&role).map_err(|error| lacks::cannot_spawn(&error))?;
        let pid = init.pid;
        // Until it lives, its death is no death of the run.
        self.children.expect(pid);
        let born = self.bring_up(at, &init);
        if let Err(error) = born {
            self.abandon(pid);
            return Err(error);
        }
        if self.children.death(pid).is_some() {
            self.children.forget(pid);
            return Err(refused(what, "its init died at once", "see the harness's log"));
        }
        self.children.forget(pid);
        self.nodes[at].life = Some(Life {
            init,
            namespaces: born?,
        });
        Ok(PoweredOn {
            address: net::address(self.nodes[at].port),
            at_ns: sys::monotonic_ns(),
        })
    }

    /// Has the init make the node's own world, and connects that to the wire and to the disk.
    fn bring_up(&mut self, at: usize, init: &Child) -> Result<Namespaces, Error> {
        let spec = self.nodes[at].spec.clone();
        let (id, port) = (spec.id, self.nodes[at].port);
        self.nodes[at].clocks.begin_life(sys::monotonic_ns() as i64);
        let birth = Birth {
            clock: self.nodes[at].clocks.setting(),
            spec,
            port,
            run_dir: self.run_dir.clone(),
        };
        let failed = |why: String| refused(format!("powering node {id} on"), why, "see the harness's log");
        let mount = match birth.spec.disk {
            DiskKind::Fuse | DiskKind::FuseWriteBack => None,
            DiskKind::Ext4 | DiskKind::Xfs => Some(self.mount(at).map_err(failed)?),
        };
        let beside: Vec<_> = mount.iter().map(AsFd::as_fd).collect();
        let answer = match init.channel.send_with(&ToInit::Birth(birth), &beside) {
            Ok(()) => self.await_answer(id, &init.channel, BIRTH_PATIENCE),
            Err(error) => Err(Silence::Broken(error)),
        };
        // The node alone has it from here on: it goes with the node's namespace.
        drop(mount);
        let (ready, descriptors) = answer.map_err(|silence| failed(format!("its init: {silence}")))?;
        let mut namespaces = match ready {
            FromInit::Ready(namespaces) => namespaces,
            FromInit::Unborn(error) => return Err(error),
            other => return Err(failed(format!("its init answered {other:?}"))),
        };
        // In its own eyes it is process 1.
        namespaces.init = init.pid.as_raw();
        let mut descriptors = descriptors.into_iter();
        let tap = descriptors.next();
        let tap = tap.ok_or_else(|| failed("its init sent no network".into()))?;
        match (self.nodes[at].spec.disk.mode(), descriptors.next()) {
            (Some(_), Some(fuse)) => self.serve(at, fuse).map_err(failed)?,
            (Some(_), None) => return Err(failed("its init sent no disk".into())),
            (None, _) => {}
        }
        self.plug(port, tap)?;
        Ok(namespaces)
    }

    /// The mount of a real disk, for the node's init to move into its namespace.
    fn mount(&mut self, at: usize) -> Result<OwnedFd, String> {
        let (id, channel) = (self.nodes[at].id(), self.nodes[at].disk.channel.clone());
        channel.send(&ToDisk::Mount).map_err(|error| error.to_string())?;
        match self.await_answer(id, &channel, REAL_DISK_PATIENCE) {
            Ok((FromDisk::Done { .. }, mut mount)) if mount.len() == 1 => Ok(mount.remove(0)),
            Ok((FromDisk::Failed { why }, _)) => Err(why),
            Ok((other, _)) => Err(format!("its disk answered {other:?}")),
            Err(silence) => self.die(format!("{} hangs: {silence}", self.nodes[at].disk_name())),
        }
    }

    fn serve(&mut self, at: usize, fuse: OwnedFd) -> Result<(), String> {
        let (id, channel) = (self.nodes[at].id(), self.nodes[at].disk.channel.clone());
        channel
            .send_with(&ToDisk::Serve, &[fuse.as_fd()])
            .map_err(|error| error.to_string())?;
        // The disk alone holds it from here on: its closing must abort the connection.
        drop(fuse);
        match self.await_answer(id, &channel, DISK_PATIENCE) {
            Ok((FromDisk::Done { .. }, _)) => Ok(()),
            Ok((FromDisk::Failed { why }, _)) => Err(why),
            Ok((other, _)) => Err(format!("its disk answered {other:?}")),
            Err(silence) => self.die(format!("{} hangs: {silence}", self.nodes[at].disk_name())),
        }
    }

    /// Ends an init that did not come up.
    fn abandon(&mut self, pid: Pid) {
        if self.children.death(pid).is_none() {
            // Not reaped, so the id is its own.
            let _ = kill(pid, UnixSignal::SIGKILL);
            self.await_deaths(&[pid], DEATH_PATIENCE);
        }
        // One that lives on all the same is reaped when it dies, and belongs to nobody.
        self.children.forget(pid);
    }

    pub(super) fn power_off(
        &mut self,
        ids: &[i32],
        fault: u64,
        policy: Policy,
    ) -> Result<Vec<PowerCut>, Error> {
        let what = format!("cutting the power of nodes {ids:?}");
        let mut places = Vec::with_capacity(ids.len());
        for id in ids {
            let at = self.find(*id, &what)?;
            if self.nodes[at].life.is_none() || places.contains(&at) {
                return Err(refused(
                    what,
                    format!("node {id} has no power, or is named twice"),
                    "power it on first",
                ));
            }
            allows(self.nodes[at].spec.disk, policy).map_err(|why| {
                refused(
                    format!("cutting the power of node {id}"),
                    why,
                    "leave remainder and profile out, or run it with --disk fuse",
                )
            })?;
            places.push(at);
        }
        let ports = places.iter().map(|at| self.nodes[*at].port).collect();
        let cut_at_ns = self.wire_done(&what, &ToWire::Unplug { ports })?;
        for at in &places {
            self.stand_still(*at);
        }
        for at in &places {
            self.disk_off(*at, &ToDisk::PowerOff);
        }
        let dead_at_ns = self.kill_nodes(&places);
        for at in &places {
            self.nodes[*at].life = None;
        }
        let losses = self.settle(&places, fault, policy);
        let cuts = places
            .iter()
            .zip(dead_at_ns)
            .zip(losses)
            .map(|((at, dead_at_ns), loss)| {
                let node = self.nodes[*at].id();
                Ok(PowerCut {
                    node,
                    cut_at_ns,
                    dead_at_ns,
                    loss: loss?,
                })
            });
        cuts.collect()
    }

    /// Kills nodes whole, and waits until each of their processes is gone; when that was.
    fn kill_nodes(&mut self, places: &[usize]) -> Vec<u64> {
        let pids: Vec<Pid> = places.iter().map(|at| self.nodes[*at].init_pid()).collect();
        for pid in &pids {
            self.children.expect(*pid);
            // Not reaped, so the id is its own; one that is dying already is what we want.
            let _ = kill(*pid, UnixSignal::SIGKILL);
        }
        self.await_deaths(&pids, DEATH_PATIENCE);
        for at in places {
            // Someone hangs in a call of the file system: let the kernel fail all of them.
            if self.children.death(self.nodes[*at].init_pid()).is_none() {
                self.disk_off(*at, &ToDisk::Abort);
            }
        }
        self.await_deaths(&pids, DEATH_PATIENCE);
        let mut deaths = Vec::with_capacity(pids.len());
        for (at, pid) in places.iter().zip(pids) {
            let Some(death) = self.children.death(pid) else {
                self.die(format!("node {} does not end on SIGKILL", self.nodes[*at].id()));
            };
            self.children.forget(pid);
            deaths.push(death);
        }
        deaths
    }

    /// Stops every process of a node with a real disk. One that does not stop in time only makes the ledger less exact.
    fn stand_still(&mut self, at: usize) {
        if self.nodes[at].spec.disk.mode().is_some() {
            return;
        }
        let Some(channel) = self.nodes[at].life.as_ref().map(|life| life.init.channel.clone()) else {
            return;
        };
        let id = self.nodes[at].id();
        match self.ask::<FromInit>(id, &channel, &ToInit::Signal(Signal::Stop), SIGNAL_PATIENCE) {
            Ok(FromInit::Signalled(_) | FromInit::Failed { .. }) => {}
            other => self.odd_init(at, other),
        }
    }

    fn await_deaths(&mut self, pids: &[Pid], within: Duration) {
        let deadline = Instant::now() + within;
        while pids.iter().any(|pid| self.children.death(*pid).is_none()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.watch(&[], Some(left));
        }
    }

    fn disk_off(&mut self, at: usize, order: &ToDisk) {
        let patience = match self.nodes[at].spec.disk {
            DiskKind::Fuse | DiskKind::FuseWriteBack => DISK_PATIENCE,
            DiskKind::Ext4 | DiskKind::Xfs => REAL_DISK_PATIENCE,
        };
        match self.ask_disk(at, order, patience) {
            FromDisk::Done { .. } => {}
            other => self.die(format!(
                "{} answers {order:?} with {other:?}",
                self.nodes[at].disk_name()
            )),
        }
    }

    /// What the cut leaves on each disk; all make it at the same time, since most of it is waiting for the kernel to
    /// drop the mounts. One that fails has no power from then on.
    fn settle(&mut self, places: &[usize], fault: u64, policy: Policy) -> Vec<Result<DiskLoss, Error>> {
        for at in places {
            // One that is gone is seen below.
            let settle = ToDisk::Settle { fault, policy };
            let _ = self.nodes[*at].disk.channel.send(&settle);
        }
        places.iter().map(|at| self.settled(*at)).collect()
    }

    fn settled(&mut self, at: usize) -> Result<DiskLoss, Error> {
        let (id, name) = (self.nodes[at].id(), self.nodes[at].disk_name());
        let channel = self.nodes[at].disk.channel.clone();
        match self.await_answer(id, &channel, SETTLE_PATIENCE) {
            Ok((FromDisk::Loss(loss), _)) => Ok(loss),
            Ok((FromDisk::Failed { why }, _)) => Err(refused(
                format!("making what the cut leaves on {name}"),
                why,
                "has the run's folder room?",
            )),
            Ok((other, _)) => self.die(format!("{name} answers {other:?}")),
            Err(silence) => self.die(format!("{name} hangs: {silence}")),
        }
    }
}

/// Whether a disk can leave what a policy asks for: what a real one leaves is its own affair, and any seed is as good.
fn allows(disk: DiskKind, policy: Policy) -> Result<(), String> {
    let Policy {
        remainder, profile, ..
    } = policy;
    if disk.mode().is_some() || (remainder, profile) == (Remainder::default(), Profile::default()) {
        return Ok(());
    }
    Err(format!(
        "remainder {} under profile {} was asked for, and its disk is a real {}, which decides itself what a cut leaves",
        remainder.word(),
        profile.word(),
        disk.word()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_disk_takes_the_default_with_any_seed_and_nothing_else() {
        let policy = Policy {
            seed: 7,
            ..Policy::default()
        };
        assert_eq!(allows(DiskKind::Ext4, policy), Ok(()));
        let others = Remainder::ALL
            .iter()
            .skip(1)
            .map(|remainder| Policy::from(*remainder));
        let strict = Policy {
            profile: Profile::PosixStrict,
            ..Policy::default()
        };
        for policy in others.chain([strict]) {
            assert_eq!(allows(DiskKind::Fuse, policy), Ok(()));
            assert_eq!(allows(DiskKind::FuseWriteBack, policy), Ok(()));
            let why = allows(DiskKind::Xfs, policy).unwrap_err();
            assert!(why.contains("a real xfs"), "{why}");
        }
    }
}
