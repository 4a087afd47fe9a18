//! Limits of nodes' resources: put on all processes of a node but its init, and on those of each later start, until
//! they are lifted.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::{Keeper, refused};
use crate::api::Error;
use crate::cgroup::Group;
use crate::lacks::{Mechanism, lacks};
use crate::limit::{Limit, LimitSeen};
use crate::sys;

/// A limit in force.
pub struct Limited {
    fault: u64,
    limit: Limit,
    /// None where it is no cgroup's.
    group: Option<Group>,
    /// What descriptors were limited to before, by process.
    before: Vec<(i32, sys::Rlimit)>,
}

impl Keeper {
    /// Puts a limit on a node; how many processes are under it.
    pub(super) fn set_limit(&mut self, id: i32, fault: u64, limit: Limit) -> Result<LimitSeen, Error> {
        let what = format!("limiting node {id}: {limit:?}");
        let at = self.find(id, &what)?;
        if self.nodes[at].limits.iter().any(|other| other.fault == fault) {
            return Err(refused(what, "this fault limits it already", "lift that first"));
        }
        let group = match limit {
            Limit::Descriptors { .. } => None,
            _ => Some(
                Group::make(self.tag(), &format!("{id}-{fault}"), &limit)
                    .map_err(|why| lacks(Mechanism::Cgroup, &why))?,
            ),
        };
        let before = Vec::new();
        self.nodes[at].limits.push(Limited {
            fault,
            limit,
            group,
            before,
        });
        self.apply_limits(at)
            .map_err(|why| refused(what, why.to_string(), "see the harness's log"))?;
        self.limit_seen(id, fault)
    }

    /// Lifts a limit. No error where there is none.
    pub(super) fn clear_limit(&mut self, id: i32, fault: u64) -> Result<(), Error> {
        let what = format!("lifting the limit of node {id}");
        let at = self.find(id, &what)?;
        let Some(place) = self.nodes[at]
            .limits
            .iter()
            .position(|other| other.fault == fault)
        else {
            return Ok(());
        };
        let limited = self.nodes[at].limits.remove(place);
        for (pid, before) in limited.before {
            // One that ended has no limit.
            let _ = sys::set_descriptors(pid, before);
        }
        match limited.group.as_ref().map(Group::remove) {
            Some(Err(why)) => Err(refused(what, why.to_string(), "see the harness's log")),
            _ => Ok(()),
        }
    }

    /// What a limit has met so far.
    pub(super) fn limit_seen(&self, id: i32, fault: u64) -> Result<LimitSeen, Error> {
        let what = format!("asking for the limit of node {id}");
        let at = self.find(id, &what)?;
        let Some(limited) = self.nodes[at].limits.iter().find(|other| other.fault == fault) else {
            return Err(refused(what, "this fault does not limit it", "set a limit first"));
        };
        let failed = |why: io::Error| refused(what.clone(), why.to_string(), "see the harness's log");
        match (&limited.group, limited.limit) {
            (Some(group), _) => group.seen().map_err(failed),
            (None, Limit::Descriptors { count }) => {
                let under = self.processes(at).map_err(failed)?.into_iter();
                let under = under.filter(|pid| sys::descriptors(*pid).is_ok_and(|limit| limit.soft == count));
                Ok(LimitSeen {
                    processes: under.count() as u64,
                    ..LimitSeen::default()
                })
            }
            (None, _) => Ok(LimitSeen::default()),
        }
    }

    /// Puts every process of a node under its limits; those that are already, stay so.
    pub(super) fn apply_limits(&mut self, at: usize) -> io::Result<()> {
        if self.nodes[at].limits.is_empty() {
            return Ok(());
        }
        let pids = self.processes(at)?;
        for limited in &mut self.nodes[at].limits {
            for pid in &pids {
                match (&limited.group, limited.limit) {
                    (Some(group), _) => group.take_in(*pid)?,
                    (None, Limit::Descriptors { count }) => {
                        limit_descriptors(&mut limited.before, *pid, count)?
                    }
                    (None, _) => {}
                }
            }
        }
        Ok(())
    }

    /// The processes of a node but its init, by our numbers: those in its PID namespace.
    fn processes(&self, at: usize) -> io::Result<Vec<i32>> {
        let Some(life) = &self.nodes[at].life else {
            return Ok(Vec::new());
        };
        let of_node = |pid: &i32| {
            let namespace = fs::metadata(format!("/proc/{pid}/ns/pid"));
            *pid != life.init.pid.as_raw()
                && namespace.is_ok_and(|namespace| namespace.ino() == life.namespaces.pid)
        };
        let all = sys::said("reading /proc", fs::read_dir("/proc"))?;
        let pids = all
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Ok(pids.filter(of_node).collect())
    }

    /// What tells this run's cgroups from others': the number of our PID namespace.
    fn tag(&self) -> u64 {
        fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
    }
}

fn limit_descriptors(before: &mut Vec<(i32, sys::Rlimit)>, pid: i32, count: u64) -> io::Result<()> {
    if before.iter().any(|(known, _)| *known == pid) {
        return Ok(());
    }
    // One that ended meanwhile needs no limit.
    let Ok(now) = sys::descriptors(pid) else {
        return Ok(());
    };
    sys::set_descriptors(
        pid,
        sys::Rlimit {
            soft: count.min(now.hard),
            hard: now.hard,
        },
    )?;
    before.push((pid, now));
    Ok(())
}
