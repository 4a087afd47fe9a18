//! `dirty-leader`: a broker became leader while the promise was in force, although its last unclean stop took
//! records of the partition, an incarnation started after it had registered, and the ISR had not readmitted it
//! since. Inside the promise even if no acknowledged record was lost. Each election is one instance.
//!
//! Not this: a dead broker elected before the controller noticed; one whose stop took nothing, or of which no
//! disk tells what it took.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::Partition;
use crate::log::promise::{DirtyLeader, seconds};
use history::Promise;

/// The anomaly.
pub(super) const NAME: &str = "dirty-leader";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    // It is an accusation of KIP-966's own: no other promise says who may lead.
    let ledger = case
        .promises
        .ledger(&partition.key)
        .filter(|_| case.promises.names(Promise::Kip966));
    let leaders = ledger.into_iter().flat_map(|ledger| ledger.dirty_leaders());
    leaders.map(|leader| finding(partition, leader)).collect()
}

fn finding(partition: &Partition<'_>, leader: &DirtyLeader) -> Finding {
    let text = format!(
        "broker {} became leader of {} in epoch {} ({}): {} at {} had taken {} records of it, and the ISR had not \
         readmitted it since",
        leader.broker,
        partition.key,
        leader.epoch,
        seconds(leader.at),
        leader.what,
        seconds(leader.stopped_at),
        leader.records,
    );
    Finding {
        // The ledger only tells of elections inside the promise.
        span: None,
        follows: None,
        instance: Instance {
            epoch: Some(leader.epoch),
            ..instance(partition, &[leader.index], text)
        },
    }
}
