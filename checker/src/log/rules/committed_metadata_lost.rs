//! `committed-metadata-lost`: records of the metadata log that were committed are not in the log of a later active
//! controller. Inside the promise of the quorum, where a scenario names it. Each time that a log is found so is one
//! instance.
//!
//! Not this: records that were appended and never committed, which a later leader may replace.

use crate::{Anomaly, Instance};
use history::{Body, History, Promise};

/// The anomaly.
const NAME: &str = "committed-metadata-lost";

/// Looks for it. It is about no partition, and nothing excuses it but a quorum that lost its disks.
pub(crate) fn find(history: &History, quorum_void: Option<u64>) -> Option<Anomaly> {
    let gone = history.entries.iter().filter_map(|entry| {
        let Body::MetadataDiverged(gone) = &entry.body else {
            return None;
        };
        let text = format!(
            "the metadata log was committed up to offset {} (epoch {}); controller {}, leader of epoch {}, has other \
             records or none from offset {} on (its epoch {} ends at {})",
            gone.trusted_offset,
            gone.trusted_epoch,
            gone.leader,
            gone.quorum_epoch,
            gone.from,
            gone.leader_epoch,
            gone.leader_offset
        );
        Some(Instance {
            operations: vec![entry.index],
            offset: Some(gone.from),
            epoch: Some(gone.quorum_epoch),
            lost_at: Some(entry.time),
            text,
            ..Instance::default()
        })
    });
    let instances: Vec<Instance> = gone.collect();
    let first = instances.iter().filter_map(|instance| instance.lost_at).min()?;
    Some(Anomaly {
        name: NAME.to_owned(),
        inside_promise: history.header.promises.contains(&Promise::Quorum)
            && quorum_void.is_none_or(|void| void > first),
        count: instances.len() as u64,
        follows: None,
        instances,
    })
}
