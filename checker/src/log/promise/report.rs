//! The promise, for people and for `result.json`.

use super::Ledger;
use crate::{PartitionPromise, PromiseReport};
use history::{Header, Key, Promise};
use std::collections::BTreeMap;

/// What a promise is called.
fn name(promise: Promise) -> &'static str {
    match promise {
        Promise::Kip966 => "kip-966",
        Promise::NoBytesLost => "no-bytes-lost",
        Promise::Fsync => "fsync",
        Promise::Quorum => "quorum",
    }
}

/// What a promise says.
fn text(promise: Promise) -> &'static str {
    match promise {
        Promise::Kip966 => {
            "a record acknowledged with acks=all survives as long as fewer than min.insync.replicas replicas stop \
             uncleanly between two times at which the partition is whole"
        }
        Promise::NoBytesLost => {
            "a record acknowledged with acks=all survives as long as no replica's disk loses a byte of its partition, \
             however many stop"
        }
        Promise::Fsync => {
            "every append is flushed, so a record acknowledged with acks=all survives any number of power cuts"
        }
        Promise::Quorum => "the metadata quorum keeps what it committed",
    }
}

/// The report.
pub(super) fn report(header: &Header, ledgers: &BTreeMap<Key, Ledger>) -> PromiseReport {
    let is_judged = |key: &Key| header.topics.iter().any(|topic| *topic.name == *key.topic);
    let judged: Vec<(&Key, &Ledger)> = ledgers.iter().filter(|(key, _)| is_judged(key)).collect();
    let mut spent_by = Vec::new();
    let counts = header.promises.contains(&Promise::Kip966);
    for told in judged
        .iter()
        .filter(|_| counts)
        .flat_map(|(_, ledger)| ledger.spent_by())
    {
        if !spent_by.contains(told) {
            spent_by.push(told.clone());
        }
    }
    let partitions = judged.iter().map(|(key, ledger)| PartitionPromise {
        topic: key.topic.to_string(),
        partition: key.partition,
        era: ledger.era(),
        bad: ledger.bad().to_vec(),
    });
    let names: Vec<&str> = header.promises.iter().map(|promise| name(*promise)).collect();
    let texts: Vec<&str> = header.promises.iter().map(|promise| text(*promise)).collect();
    PromiseReport {
        name: names.join(","),
        text: texts.join("; "),
        acks: "all".to_owned(),
        min_isr: header
            .topics
            .iter()
            .map(|topic| topic.min_insync_replicas)
            .min()
            .unwrap_or_default(),
        spent_by,
        partitions: partitions.collect(),
    }
}
