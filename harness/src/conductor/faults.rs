//! One fault, in or out: asked, resolved, done, measured; all of it in the history.

use super::boot::{Booted, record};
use crate::error::Error;
use history::{Body, DiskLoss, Fault, FaultAction, Kind, NodeEvent, NodeProcess, Process};
use nemesis::{Field, Measured, NotTaken, Order, Params, Program};
use std::collections::BTreeMap;

impl Booted {
    /// Puts a fault in.
    ///
    /// # Errors
    /// 70, where it did not take: a fault that was only asked for proves nothing.
    pub async fn inject(&mut self, name: &str, node: i32, asked: &str) -> Result<Measured, Error> {
        let nemesis = known(name)?;
        let about = nemesis.about();
        let order = Order {
            id: self.next_fault,
            nodes: vec![node],
            params: Params::check(about.params, &BTreeMap::new())
                .map_err(|why| Error::usage(format!("putting in {name}"), why, "say it in the act"))?,
            seed: self.next_fault,
        };
        self.next_fault += 1;
        let fault = fault(&order, name, FaultAction::Inject, asked);
        self.nemesis(Kind::Invoke, &fault)?;
        self.expected.set(node, about.program != Program::GoesOn);
        let cluster = &self.cluster;
        let done = nemesis.inject(Field { cluster }, &order).await;
        let measured = self.measured(done, &fault)?;
        if about.program == Program::LosesPower {
            self.lost(node, order.id, &measured)?;
        }
        self.faults.insert(order.id, (nemesis, order));
        Ok(measured)
    }

    /// Takes a fault out.
    ///
    /// # Errors
    /// 70, where it did not heal, or is not in.
    pub async fn heal(&mut self, name: &str, node: i32, asked: &str) -> Result<Measured, Error> {
        let is_meant = |(nemesis, order): &(&dyn nemesis::Fault, Order)| {
            nemesis.about().name == name && order.nodes.contains(&node)
        };
        let id = self.faults.iter().find(|(_, fault)| is_meant(fault));
        let Some(id) = id.map(|(id, _)| *id) else {
            return Err(Error::internal(
                format!("healing {name} on node {node}"),
                "it is not in",
                "put it in before, in the scenario",
            ));
        };
        self.heal_one(id, asked).await
    }

    async fn heal_one(&mut self, id: u64, asked: &str) -> Result<Measured, Error> {
        let Some((nemesis, order)) = self.faults.remove(&id) else {
            return Ok(Measured::new());
        };
        let fault = fault(&order, nemesis.about().name, FaultAction::Heal, asked);
        self.nemesis(Kind::Invoke, &fault)?;
        let cluster = &self.cluster;
        let done = nemesis.heal(Field { cluster }, &order).await;
        let measured = self.measured(done, &fault)?;
        for node in &order.nodes {
            if nemesis.about().program != Program::GoesOn {
                self.started(*node)?;
            }
            self.expected.set(*node, false);
        }
        Ok(measured)
    }

    /// Takes out whatever is still in.
    ///
    /// # Errors
    /// 70, where one did not heal.
    pub async fn heal_all(&mut self) -> Result<(), Error> {
        while let Some(id) = self.faults.keys().next().copied() {
            self.heal_one(id, "all that is left").await?;
        }
        Ok(())
    }

    fn nemesis(&self, kind: Kind, fault: &Fault) -> Result<(), Error> {
        let written = self
            .recorder
            .record(Process::Nemesis, kind, Body::Fault(fault.clone()));
        written
            .map(|_| ())
            .map_err(|e| Error::internal("writing the history", e, "free some space"))
    }

    fn measured(&self, done: Result<Measured, NotTaken>, fault: &Fault) -> Result<Measured, Error> {
        match done {
            Ok(measured) => {
                self.nemesis(
                    Kind::Ok,
                    &Fault {
                        measured: measured.clone(),
                        ..fault.clone()
                    },
                )?;
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
                let what = match fault.action {
                    FaultAction::Inject => "putting in",
                    FaultAction::Heal => "healing",
                };
                Err(Error::internal(
                    format!("{what} {} on node {:?}", fault.name, fault.nodes),
                    why,
                    "run it again; `ackall doctor` tries what the fault needs",
                ))
            }
        }
    }

    /// What a power cut took: the node's process, and what its disk had not synced.
    fn lost(&self, node: i32, fault: u64, measured: &Measured) -> Result<(), Error> {
        let start = self.cluster.last_start(node);
        let event = NodeEvent::Killed { signal: None };
        record(
            &self.recorder,
            Process::Observer,
            Body::Node(NodeProcess { node, event, start }),
        )?;
        let records = self.cluster.lost(node, fault).map_err(|e| {
            Error::internal(
                format!("reading what the power cut took from node {node}"),
                e,
                "run it again",
            )
        })?;
        let count = |name: &str| measured.get(name).copied().unwrap_or_default() as u64;
        let loss = DiskLoss {
            node,
            fault,
            bytes: count("lost_bytes"),
            files: count("lost_files"),
            records,
        };
        record(&self.recorder, Process::Observer, Body::Disk(loss))
    }

    /// Notes the newest start of a node's program.
    fn started(&self, node: i32) -> Result<(), Error> {
        let start = self.cluster.last_start(node);
        record(
            &self.recorder,
            Process::Observer,
            Body::Node(NodeProcess {
                node,
                event: NodeEvent::Started,
                start,
            }),
        )
    }
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
