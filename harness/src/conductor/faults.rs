//! One fault, in or out: asked, resolved, done, measured; all of it in the history.

use super::boot::{Booted, record};
use crate::error::Error;
use crate::scenario::{Act, asked};
use clusters::{Capability, Port, RoleKind};
use history::{Body, DiskLoss, Fault, FaultAction, Kind, NodeEvent, NodeProcess, Process};
use nemesis::composition::{InForce, ends_programs, may_heal, may_inject};
use nemesis::{Doing, Field, Measured, NotTaken, Order, Program};
use rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a fault may take to be seen, or its heal, where the system is a native program: more than the longest limit
/// that a fault sets itself (a minute, for those that strike few frames), so that a fault's own word on what it missed
/// comes first.
const LIMIT: Duration = Duration::from_secs(75);

/// A fault that is in.
pub struct In {
    /// Which.
    pub fault: &'static dyn nemesis::Fault,
    /// On whom, and what it was told.
    pub order: Order,
    /// In the words of who asked for it.
    pub asked: String,
    /// What was measured when it was put in; nothing where it was not seen to take.
    pub measured: Measured,
}

/// Why a fault was not put in, or not taken out.
pub enum Undone {
    /// A node does not come up again. That is no failure of the fault's, nor of the harness: a step that was not
    /// reached.
    NotStarted(Error),
    /// It did not take, or did not heal.
    Failed(Error),
}

impl Undone {
    /// The error, where nobody goes on after either.
    pub fn into_error(self) -> Error {
        match self {
            Undone::NotStarted(error) | Undone::Failed(error) => error,
        }
    }
}

impl From<Error> for Undone {
    fn from(error: Error) -> Undone {
        Undone::Failed(error)
    }
}

/// Whether an act could be done; if not, why not.
pub enum Acted {
    /// It was.
    Done,
    /// The run's state does not allow it: a step that was not reached.
    Refused(String),
}

impl Booted {
    /// Nodes that have this fault in.
    pub fn having(&self, name: &str) -> BTreeSet<i32> {
        let same = self
            .faults
            .values()
            .filter(|fault| fault.fault.about().name == name);
        same.flat_map(|fault| fault.order.nodes.iter().copied()).collect()
    }

    fn in_force(&self, but: Option<u64>) -> Vec<InForce<'_>> {
        let others = self.faults.iter().filter(|(id, _)| Some(**id) != but);
        others
            .map(|(_, fault)| InForce {
                about: fault.fault.about(),
                nodes: &fault.order.nodes,
            })
            .collect()
    }

    /// Puts a fault in.
    ///
    /// # Errors
    /// 70, where it did not take: a fault that was only asked for proves nothing; or where a node does not come up.
    pub async fn inject(&mut self, act: &Act, nodes: Vec<i32>) -> Result<Acted, Undone> {
        let nemesis = known(act.name())?;
        let about = nemesis.about();
        if let Err(why) = may_inject(about, &nodes, &self.in_force(None)) {
            return Ok(Acted::Refused(why));
        }
        let params = act
            .params(about)
            .map_err(|why| Error::usage(format!("putting in {}", about.name), why, "say it in the act"))?;
        let asked = asked(&act.target, &params);
        let order = Order {
            id: self.next_fault,
            nodes,
            params,
            seed: self.fault_seeds.next_u64(),
        };
        self.next_fault += 1;
        let fault = fault(&order, about.name, FaultAction::Inject, &asked);
        self.nemesis(Kind::Invoke, &fault)?;
        for node in &order.nodes {
            if ends_programs(about) {
                self.expected.set(*node, true);
            }
        }
        let cluster = self.cluster.clone();
        let done = within(
            cluster.patience(LIMIT),
            nemesis.inject(Field { cluster: &cluster }, &order),
        )
        .await;
        let (id, nodes) = (order.id, order.nodes.clone());
        // In the list already where it did not take: some of it may be in, for whoever can go on to take out.
        let mut one = In {
            fault: nemesis,
            order,
            asked,
            measured: Measured::new(),
        };
        let measured = self.measured(done, &fault);
        one.measured = measured.as_ref().cloned().unwrap_or_default();
        self.faults.insert(id, one);
        measured?;
        if about.program == Program::LosesPower {
            for node in nodes {
                self.lost(node, id)?;
            }
        }
        Ok(Acted::Done)
    }

    /// Takes out the faults of that name whose nodes are all among these.
    ///
    /// # Errors
    /// 70, where one did not heal, or a node does not come up.
    pub async fn heal(&mut self, name: &str, nodes: &[i32]) -> Result<Acted, Undone> {
        let is_meant = |one: &In| {
            one.fault.about().name == name && one.order.nodes.iter().all(|node| nodes.contains(node))
        };
        let ids: Vec<u64> = self
            .faults
            .iter()
            .filter(|(_, one)| is_meant(one))
            .map(|(id, _)| *id)
            .collect();
        if ids.is_empty() {
            let why = format!("{name} is not in on {nodes:?} alone, so there is nothing to heal");
            return Ok(Acted::Refused(why));
        }
        for id in ids {
            if let Err(why) = self.may_heal(id) {
                return Ok(Acted::Refused(why));
            }
            self.heal_one(id).await?;
        }
        Ok(Acted::Done)
    }

    /// Whether a fault may be healed while the others are in.
    ///
    /// # Errors
    /// Why not.
    pub fn may_heal(&self, id: u64) -> Result<(), String> {
        let one = self
            .faults
            .get(&id)
            .ok_or_else(|| format!("fault {id} is not in"))?;
        may_heal(one.fault.about(), &one.order.nodes, &self.in_force(Some(id)))
    }

    /// Takes one out, and gives it with what its heal measured; it stays in the list where it did not heal. Nothing where
    /// it is not in.
    ///
    /// # Errors
    /// 70, where it did not heal, or a node does not come up.
    pub async fn heal_one(&mut self, id: u64) -> Result<Option<In>, Undone> {
        let Some(In {
            fault: nemesis,
            order,
            asked,
            ..
        }) = self.faults.get(&id)
        else {
            return Ok(None);
        };
        let (nemesis, order, asked) = (*nemesis, order.clone(), asked.clone());
        let fault = fault(&order, nemesis.about().name, FaultAction::Heal, &asked);
        self.nemesis(Kind::Invoke, &fault)?;
        let cluster = self.cluster.clone();
        let done = within(
            cluster.patience(LIMIT),
            nemesis.heal(Field { cluster: &cluster }, &order),
        )
        .await;
        let measured = self.measured(done, &fault)?;
        let healed = self.faults.remove(&id).map(|one| In { measured, ..one });
        for node in &order.nodes {
            let ends =
                |other: &InForce<'_>| other.about.program != Program::GoesOn && other.nodes.contains(node);
            self.expected.set(*node, self.in_force(None).iter().any(ends));
        }
        Ok(healed)
    }

    /// Takes out whatever is still in, each as soon as it may be healed, and sees that no link keeps a rule; what was
    /// healed, in that order. That programs run again each heal has measured; one that ended by itself since is the system's
    /// own doing, and the verdict's.
    ///
    /// # Errors
    /// 70, where one did not heal, or something is left; or where a node does not come up, when all else is healed.
    pub async fn heal_all(&mut self) -> Result<Vec<In>, Undone> {
        let (mut healed, mut tried) = (Vec::new(), BTreeSet::new());
        let (mut failed, mut down) = (None, None);
        while let Some(id) = self.next_to_heal(&tried) {
            tried.insert(id);
            // One that does not heal keeps none of the others in.
            match self.heal_one(id).await {
                Ok(one) => healed.extend(one),
                Err(Undone::NotStarted(error)) => _ = down.get_or_insert(error),
                Err(Undone::Failed(error)) => _ = failed.get_or_insert(error),
            }
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        self.see_none_left_over()?;
        match down {
            None => Ok(healed),
            Some(error) => Err(Undone::NotStarted(error)),
        }
    }

    fn see_none_left_over(&self) -> Result<(), Error> {
        let what = "seeing that every fault is healed";
        match self.left_over() {
            Ok(left) if left.is_empty() => Ok(()),
            Ok(left) => Err(Error::internal(
                what,
                left.join("; "),
                "report this, with the run's folder: a heal was measured and left something",
            )),
            Err(why) => Err(Error::internal(what, why, "run it again")),
        }
    }

    /// The fault to heal next of those that were not tried: one that may be healed beside the others, if there is one.
    /// Of links first and of controllers next, since a broker comes up only where it reaches one; then the latest.
    fn next_to_heal(&self, tried: &BTreeSet<u64>) -> Option<u64> {
        let is_controller = |id: &i32| {
            let node = self.cluster.node(*id);
            node.is_ok_and(|node| node.role == RoleKind::Controller)
        };
        let place = |id: &u64, one: &In| {
            let about = one.fault.about();
            let may = may_heal(about, &one.order.nodes, &self.in_force(Some(*id))).is_ok();
            let links = about.needs == Capability::Links;
            (may, links, one.order.nodes.iter().any(is_controller), *id)
        };
        let left = self.faults.iter().filter(|(id, _)| !tried.contains(id));
        left.max_by_key(|(id, one)| place(id, one)).map(|(id, _)| *id)
    }

    fn left_over(&self) -> Result<Vec<String>, clusters::Error> {
        let nodes: Vec<i32> = self.cluster.nodes().iter().map(|node| node.id).collect();
        let ports: Vec<Port> = [Port::Clients]
            .into_iter()
            .chain(nodes.iter().copied().map(Port::Node))
            .collect();
        let links: Vec<(Port, Port)> = ports
            .iter()
            .flat_map(|from| ports.iter().map(|to| (*from, *to)))
            .filter(|(from, to)| from != to)
            .collect();
        let free = self.cluster.free_links(&links)?;
        let kept = links.iter().zip(free).filter(|(_, free)| !free);
        let left = kept
            .map(|((from, to), _)| format!("the link {from:?} to {to:?} is not free"))
            .collect();
        Ok(left)
    }

    fn nemesis(&self, kind: Kind, fault: &Fault) -> Result<(), Error> {
        let written = self
            .recorder
            .record(Process::Nemesis, kind, Body::Fault(fault.clone()));
        written
            .map(|_| ())
            .map_err(|e| Error::internal("writing the history", e, "free some space"))
    }

    fn measured(&self, done: Result<Measured, NotTaken>, fault: &Fault) -> Result<Measured, Undone> {
        match done {
            Ok(measured) => {
                let told = Fault {
                    measured: measured.clone(),
                    ..fault.clone()
                };
                self.nemesis(Kind::Ok, &told)?;
                Ok(measured)
            }
            Err(why) => {
                self.nemesis(
                    Kind::Info,
                    &Fault {
                        error: Some(why.to_string()),
                        ..fault.clone()
                    },
                )?;
                let error = not_taken(fault, &why);
                Err(match why {
                    NotTaken::NotStarted(_) => Undone::NotStarted(error),
                    NotTaken::Cluster(_) | NotTaken::NotSeen(_) => Undone::Failed(error),
                })
            }
        }
    }

    /// What a power cut took: the node's process, and what its disk had not synced.
    fn lost(&self, node: i32, fault: u64) -> Result<(), Error> {
        let start = self.cluster.last_start(node);
        let event = NodeEvent::Killed { signal: None };
        record(
            &self.recorder,
            Process::Observer,
            Body::Node(NodeProcess { node, event, start }),
        )?;
        let lost = self.cluster.lost(node, fault).map_err(|e| {
            Error::internal(
                format!("reading what the power cut took from node {node}"),
                e,
                "run it again",
            )
        })?;
        let loss = DiskLoss {
            node,
            fault,
            bytes: lost.bytes,
            files: lost.files,
            records: lost.records,
        };
        record(&self.recorder, Process::Observer, Body::Disk(loss))
    }
}

/// A fault that is not done within its limit has not taken.
async fn within(limit: Duration, doing: Doing<'_>) -> Result<Measured, NotTaken> {
    match tokio::time::timeout(limit, doing).await {
        Ok(done) => done,
        Err(_) => Err(NotTaken::NotSeen(format!("it was not seen within {limit:?}"))),
    }
}

fn not_taken(fault: &Fault, why: &NotTaken) -> Error {
    let what = match fault.action {
        FaultAction::Inject => "putting in",
        FaultAction::Heal => "healing",
    };
    Error::internal(
        format!("{what} {} on node {:?}", fault.name, fault.nodes),
        why,
        "run it again; `ackall doctor` tries what the fault needs",
    )
}

fn known(name: &str) -> Result<&'static dyn nemesis::Fault, Error> {
    nemesis::find(name).ok_or_else(|| {
        Error::usage(
            format!("finding the fault {name:?}"),
            "there is none of that name",
            "`ackall explain` lists them",
        )
    })
}

fn fault(order: &Order, name: &str, action: FaultAction, asked: &str) -> Fault {
    Fault {
        id: order.id,
        name: name.into(),
        action,
        asked: asked.into(),
        nodes: order.nodes.clone(),
        measured: BTreeMap::new(),
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use nemesis::Params;

    #[test]
    fn a_fault_that_does_not_take_is_status_70_with_the_reason() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let never: Doing<'_> = Box::pin(std::future::pending());
        let why = runtime
            .block_on(within(Duration::from_millis(5), never))
            .unwrap_err();
        let order = Order {
            id: 1,
            nodes: vec![2],
            params: Params::check(&[], &BTreeMap::new()).unwrap(),
            seed: 0,
        };
        let error = not_taken(&fault(&order, "delay", FaultAction::Inject, "leader"), &why);
        assert_eq!(error.status, Status::Internal);
        assert!(
            error.to_string().contains("putting in delay on node [2]"),
            "{error}"
        );
        assert!(error.why.contains("not seen within 5ms"), "{error}");
        let at_once: Doing<'_> = Box::pin(std::future::ready(Ok(Measured::new())));
        assert!(
            runtime
                .block_on(within(Duration::from_millis(5), at_once))
                .is_ok()
        );
    }
}
