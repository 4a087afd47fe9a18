//! Transactions of writes to registers and of reads of them (Elle: Kingsbury and Alvaro, 2020).
//!
//! A register shows one version at a time, so that the order of versions is what is assumed of it; see `versions`.

mod aborted_read;
mod cyclic_versions;
mod edges;
mod explain;
mod future_read;
mod intermediate_read;
mod internal;
mod thin_air_read;
mod touches;
mod versions;

use super::Inference;
use super::anomaly::TxnAnomaly;
use super::cycle::EdgeKind;
use super::found::Instances;
use super::graph::GraphBuilder;
use super::lost_update;
use super::store::Store;
use super::words::Explain;
use crate::Options;
use versions::Versions;

/// What is assumed of keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assumptions {
    /// Within a transaction, what is written follows on what was read before.
    writes_follow_reads: bool,
    /// Each process sees a key's versions in their order.
    sequential_keys: bool,
    /// A key's versions are in the order of real time.
    linearizable_keys: bool,
}

impl Assumptions {
    /// Those that are asked for.
    pub(super) fn of(options: &Options) -> Assumptions {
        Assumptions {
            writes_follow_reads: options.wfr_keys.unwrap_or(true),
            sequential_keys: options.sequential_keys,
            linearizable_keys: options.linearizable_keys && !options.no_real_time,
        }
    }
}

/// What is found of a history: its data.
pub(super) struct Registers<'a> {
    versions: Versions<'a>,
}

impl<'a> Registers<'a> {
    /// From its transactions.
    pub(super) fn new(store: &'a Store, assumptions: Assumptions) -> Registers<'a> {
        Registers {
            versions: Versions::new(store, &assumptions),
        }
    }
}

impl Inference for Registers<'_> {
    fn direct(&self) -> Vec<(TxnAnomaly, Instances)> {
        let store = self.versions.store;
        vec![
            (TxnAnomaly::CyclicVersions, cyclic_versions::find(&self.versions)),
            (TxnAnomaly::FutureRead, future_read::find(store)),
            (TxnAnomaly::ThinAirRead, thin_air_read::find(store)),
            (TxnAnomaly::G1a, aborted_read::find(store)),
            (TxnAnomaly::G1b, intermediate_read::find(store)),
            (TxnAnomaly::Internal, internal::find(store)),
            (TxnAnomaly::LostUpdate, lost_update::find(store)),
        ]
    }

    fn edges(&self, graph: &mut GraphBuilder) {
        edges::add(&self.versions, graph);
    }
}

impl Explain for Registers<'_> {
    fn reason(&self, from: (u32, &str), to: (u32, &str), kind: EdgeKind) -> Option<String> {
        explain::reason(&self.versions, from, to, kind)
    }
}
