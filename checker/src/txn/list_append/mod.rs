//! Transactions of appends to lists and of reads of them (Elle: Kingsbury and Alvaro, 2020).
//!
//! A list shows the order in which its elements were appended, so that the longest list that was read of a key is the
//! order of the key's versions.

mod aborted_read;
mod dirty_update;
mod duplicate_elements;
mod edges;
mod explain;
mod first_places;
mod future_read;
mod incompatible_order;
mod intermediate_read;
mod internal;
mod thin_air_read;
mod versions;

use super::Inference;
use super::anomaly::TxnAnomaly;
use super::cycle::EdgeKind;
use super::found::Instances;
use super::graph::GraphBuilder;
use super::lost_update;
use super::store::Store;
use super::words::Explain;
use versions::Versions;

/// What is found of a history: its data.
pub(super) struct Lists<'a> {
    versions: Versions<'a>,
}

impl<'a> Lists<'a> {
    /// From its transactions.
    pub(super) fn new(store: &'a Store) -> Lists<'a> {
        Lists {
            versions: Versions::new(store),
        }
    }
}

impl Inference for Lists<'_> {
    fn direct(&self) -> Vec<(TxnAnomaly, Instances)> {
        let versions = &self.versions;
        vec![
            (TxnAnomaly::DuplicateElements, duplicate_elements::find(versions)),
            (TxnAnomaly::IncompatibleOrder, incompatible_order::find(versions)),
            (TxnAnomaly::FutureRead, future_read::find(versions)),
            (TxnAnomaly::ThinAirRead, thin_air_read::find(versions)),
            (TxnAnomaly::G1a, aborted_read::find(versions)),
            (TxnAnomaly::G1b, intermediate_read::find(versions)),
            (TxnAnomaly::DirtyUpdate, dirty_update::find(versions)),
            (TxnAnomaly::Internal, internal::find(versions)),
            (TxnAnomaly::LostUpdate, lost_update::find(versions.store)),
        ]
    }

    fn edges(&self, graph: &mut GraphBuilder) {
        edges::add(&self.versions, graph);
    }
}

impl Explain for Lists<'_> {
    fn reason(&self, from: (u32, &str), to: (u32, &str), kind: EdgeKind) -> Option<String> {
        match kind {
            EdgeKind::Ww => explain::overwrote(&self.versions, from, to),
            EdgeKind::Wr => explain::read_from(&self.versions, from, to),
            EdgeKind::Rw => explain::missed(&self.versions, from, to),
            EdgeKind::Process | EdgeKind::Realtime => None,
        }
    }
}
