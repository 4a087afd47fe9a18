//! One fault, in or out: asked, resolved, done, measured; all of it in the history.

use super::boot::{Booted, record};
use crate::error::Error;
use crate::scenario::FaultName;
use history::{Body, DiskLoss, Fault, FaultAction, Kind, NodeEvent, NodeProcess, Process};
use nemesis::crash::Crash;
use nemesis::cut_network::CutNetwork;
use nemesis::power_cut::PowerCut;
use nemesis::{Fault as _, Measured, NotTaken};
use std::collections::BTreeMap;

impl Booted {
    /// Puts a fault in.
    ///
    /// # Errors
    /// 70, where it did not take: a fault that was only asked for proves nothing.
    pub async fn inject(&mut self, name: FaultName, node: i32, asked: &str) -> Result<Measured, Error> {
        let id = self.next_fault;
        self.next_fault += 1;
        let fault = fault(id, name, FaultAction::Inject, node, asked);
        self.nemesis(Kind::Invoke, &fault)?;
        self.expected.set(node, name != FaultName::CutNetwork);
        let done = match name {
            FaultName::CutNetwork => CutNetwork::inject(&self.cluster, node, id).await,
            FaultName::PowerCut => PowerCut::inject(&self.cluster, node, id).await,
            FaultName::Crash => Crash::inject(&self.cluster, node, id).await,
        };
        let measured = self.measured(done, &fault)?;
        if name == FaultName::PowerCut {
            self.lost(node, id, &measured)?;
        }
        self.faults.insert((name, node), id);
        Ok(measured)
    }

    /// Takes a fault out.
    ///
    /// # Errors
    /// 70, where it did not heal.
    pub async fn heal(&mut self, name: FaultName, node: i32, asked: &str) -> Result<Measured, Error> {
        let id = self.faults.remove(&(name, node)).unwrap_or_default();
        let fault = fault(id, name, FaultAction::Heal, node, asked);
        self.nemesis(Kind::Invoke, &fault)?;
        let done = match name {
            FaultName::CutNetwork => CutNetwork::heal(&self.cluster, node).await,
            FaultName::PowerCut => PowerCut::heal(&self.cluster, node).await,
            FaultName::Crash => Crash::heal(&self.cluster, node).await,
        };
        let measured = self.measured(done, &fault)?;
        if name != FaultName::CutNetwork {
            self.started(node)?;
        }
        self.expected.set(node, false);
        Ok(measured)
    }

    /// Takes out whatever is still in.
    ///
    /// # Errors
    /// 70, where one did not heal.
    pub async fn heal_all(&mut self) -> Result<(), Error> {
        while let Some((name, node)) = self.faults.keys().next().copied() {
            self.heal(name, node, "all that is left").await?;
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

fn fault(id: u64, name: FaultName, action: FaultAction, node: i32, asked: &str) -> Fault {
    Fault {
        id,
        name: name.text().into(),
        action,
        asked: asked.into(),
        nodes: vec![node],
        measured: BTreeMap::new(),
        error: None,
    }
}
