//! The promise ledger: which loss is a bug, and which the system never promised to prevent.
//!
//! Fed by the history's entries in their order: committed metadata records, ends and starts of processes, what
//! disks lost. One [`Ledger`] a partition keeps the account of KIP-966: the dirty replicas, the budget, the times
//! in which nothing is promised. [`Promises`] asks it, and the simpler promises, about spans of time.
//!
//! **Order.** A metadata record is seen after it was committed, a fault takes effect after it was asked. Where a
//! record is seen after a fault was asked, either may have come first. An unclean stop counts from the asking, so
//! the record counts as the later one: replicas that it removes are removed while dirty, and a partition that
//! it makes whole is whole later. Both excuse more than the other order.
//!
//! What is not here: brokers' answers about their configuration are not in the history, so the window that a raise of
//! `min.insync.replicas` opens never shuts (nothing acknowledged after a raise is covered).

mod brokers;
mod feed;
mod ledger;
mod report;
mod settings;

pub(crate) use ledger::{DirtyLeader, Ledger};
pub(crate) use settings::MinIsr;

use crate::PromiseReport;
use crate::log::facts::Names;
use crate::log::faults::Faults;
use crate::log::metadata::Metadata;
use history::{DiskLoss, History, Key, Promise};
use std::collections::BTreeMap;

/// How a record, or an accusation, stands in time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    /// The invocation of the operation that wrote or first showed it.
    pub since: u64,
    /// The broker that answered that operation.
    pub node: Option<i32>,
    /// When it was acknowledged or first shown.
    pub known: u64,
    /// When it was seen to be wrong.
    pub until: u64,
    /// When the committed leader was last asked for what it then showed of the record, where it did: what spent the
    /// promise before that has not hurt the record.
    pub reread: Option<u64>,
    /// Whether it was shown and never acknowledged with acks=all.
    pub shown_only: bool,
}

/// The promises of a run, and their ledgers.
pub(crate) struct Promises<'a> {
    history: &'a History,
    ledgers: BTreeMap<Key, Ledger>,
    /// When each partition, by topic name and number, first lost a byte on some disk.
    byte_lost: BTreeMap<(&'a str, i32), u64>,
    /// When a disk first lost power without a ledger telling what went.
    untold_loss: Option<u64>,
    /// When the metadata quorum lost what it had synced.
    quorum_lost: Option<u64>,
}

impl<'a> Promises<'a> {
    /// Keeps the ledgers of a history.
    pub fn of(
        history: &'a History,
        names: &'a Names,
        faults: &'a Faults<'a>,
        metadata: &Metadata<'_>,
    ) -> Promises<'a> {
        let feed = feed::Feed::run(history, names, faults, metadata);
        let mut byte_lost = BTreeMap::new();
        for (loss, asked) in &feed.losses {
            for records in &loss.records {
                let first = byte_lost
                    .entry((&*records.topic, records.partition))
                    .or_insert(*asked);
                *first = (*first).min(*asked);
            }
        }
        Promises {
            history,
            ledgers: feed.ledgers,
            byte_lost,
            untold_loss: feed.untold_loss,
            quorum_lost: feed.quorum_lost.map(|(at, _)| at),
        }
    }

    /// The ledger of a partition; none where the history has no metadata of it.
    pub fn ledger(&self, key: &Key) -> Option<&Ledger> {
        self.ledgers.get(key)
    }

    /// Whether a scenario named this promise.
    pub fn names(&self, promise: Promise) -> bool {
        self.history.header.promises.contains(&promise)
    }

    /// Whether a promise that the scenario names covers a span of a partition.
    pub fn covers(&self, key: &Key, span: &Span) -> bool {
        self.history.header.promises.iter().any(|promise| match promise {
            Promise::Kip966 => self.ledger(key).is_some_and(|ledger| ledger.covers(span)),
            // Of what was merely shown a leader may know nothing that wrote nothing in its epoch.
            Promise::NoBytesLost => {
                let of_ledger = self
                    .ledger(key)
                    .is_none_or(|ledger| ledger.covers_without_losses(span));
                !span.shown_only && of_ledger && self.no_byte_lost(key, span.until)
            }
            Promise::Fsync => self.ledger(key).is_none_or(|ledger| ledger.covers_flushed(span)),
            // It speaks of metadata, not of records.
            Promise::Quorum => false,
        })
    }

    fn no_byte_lost(&self, key: &Key, until: u64) -> bool {
        let lost = self.byte_lost.get(&(&*key.topic, key.partition));
        lost.into_iter().chain(&self.untold_loss).all(|at| *at > until)
    }

    /// When the metadata quorum lost what it had synced; nothing is promised from then on.
    pub fn quorum_void(&self) -> Option<u64> {
        self.quorum_lost
    }

    /// For people and `result.json`.
    pub fn report(&self) -> PromiseReport {
        report::report(&self.history.header, &self.ledgers)
    }
}

/// A disk's loss, and when the fault that took it was asked.
type Loss<'a> = (&'a DiskLoss, u64);

/// Seconds on the run's clock, as people read them.
pub(crate) fn seconds(time: u64) -> String {
    format!("{}.{:03} s", time / 1_000_000_000, time / 1_000_000 % 1_000)
}
