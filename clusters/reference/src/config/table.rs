//! The properties a node knows: name, type, default, and what each means. The names are Kafka's.
//!
//! One table feeds the parser, the refusal of unknown names, and `ackall node properties`.

use serde::Serialize;

use crate::names;

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// Any text.
    String,
    /// Texts, separated by commas.
    List,
    /// `true` or `false`.
    Boolean,
    /// A whole number of 32 bits.
    Int,
    /// A whole number of 64 bits.
    Long,
}

/// A property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// What its value may be.
    #[serde(rename = "type")]
    pub kind: Type,
    /// The value where the file names none; `null`: the file must name one, or none is meaningful.
    pub default: Option<&'static str>,
    /// What it means.
    pub doc: &'static str,
    /// The least value of a number; of no meaning for other types.
    pub least: i64,
}

const fn row(
    name: &'static str,
    kind: Type,
    default: Option<&'static str>,
    least: i64,
    doc: &'static str,
) -> Property {
    Property {
        name,
        kind,
        default,
        doc,
        least,
    }
}

use Type::{Boolean, Int, List, Long};

/// Every property, in the order of their names.
pub const PROPERTIES: &[Property] = &[
    row(
        "advertised.listeners",
        List,
        Some(""),
        0,
        "The listeners that clients are told, each of those that come in by it; empty means the same as listeners.",
    ),
    row(
        "auto.create.topics.enable",
        Boolean,
        Some("false"),
        0,
        "Whether asking for a topic creates it. Only false is supported.",
    ),
    row(
        "broker.heartbeat.interval.ms",
        Int,
        Some("2000"),
        1,
        "How often a broker tells the active controller that it lives.",
    ),
    row(
        "broker.session.timeout.ms",
        Int,
        Some("9000"),
        1,
        "How long after a broker's last heartbeat the active controller fences it.",
    ),
    row(
        "controller.listener.names",
        List,
        Some("CONTROLLER"),
        0,
        "The names of the listeners that controllers serve.",
    ),
    row(
        "controller.quorum.bootstrap.servers",
        List,
        Some(""),
        0,
        "Controllers to ask who the voters are, where these are named in the metadata log and may change (KIP-853): host:port, separated by commas. Without meaning where controller.quorum.voters is set.",
    ),
    row(
        "controller.quorum.election.backoff.max.ms",
        Int,
        Some("1000"),
        0,
        "The longest pause between two elections that a voter starts.",
    ),
    row(
        "controller.quorum.election.timeout.ms",
        Int,
        Some("1000"),
        1,
        "How long an election may take before another is held; each waits up to twice as long, at random.",
    ),
    row(
        "controller.quorum.fetch.timeout.ms",
        Int,
        Some("2000"),
        1,
        "How long a voter goes without a fetch from its leader before it holds an election, and a leader without fetches of a majority (half as long again) before it resigns.",
    ),
    row(
        "controller.quorum.request.timeout.ms",
        Int,
        Some("2000"),
        1,
        "How long a request between nodes may take. Never more than a second, whatever is set.",
    ),
    row(
        "controller.quorum.voters",
        List,
        Some(""),
        0,
        "The controllers, where they never change: id@host:port, separated by commas. Empty where controller.quorum.bootstrap.servers is set instead.",
    ),
    row(
        "controlled.shutdown.max.wait.ms",
        Int,
        Some("5000"),
        0,
        "How long a broker that is told to stop waits for the controller to move its leaderships away.",
    ),
    row(
        "default.replication.factor",
        Int,
        Some("1"),
        1,
        "The replicas of a topic whose creation does not say.",
    ),
    row(
        "inter.broker.listener.name",
        Type::String,
        Some(""),
        0,
        "The listener that brokers use among themselves; empty means PLAINTEXT, or the only one there is.",
    ),
    row(
        "listener.security.protocol.map",
        List,
        Some("CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"),
        0,
        "The protocol of each listener: NAME:PLAINTEXT. No other protocol is supported.",
    ),
    row(
        "listeners",
        List,
        None,
        0,
        "Where the node listens: NAME://host:port, separated by commas.",
    ),
    row(
        "log.dirs",
        List,
        None,
        0,
        "The folder for the node's data. Exactly one.",
    ),
    row(
        "log.flush.interval.messages",
        Long,
        Some("9223372036854775807"),
        1,
        "After how many records a log is synced. With 1, a record counts (for acknowledgements, for the high watermark, as fetched) only once it is synced.",
    ),
    row(
        "log.segment.bytes",
        Int,
        Some("1073741824"),
        1024,
        "The size at which a log begins a new segment file.",
    ),
    row(
        "message.max.bytes",
        Int,
        Some("1048588"),
        61,
        "The largest record batch that is accepted.",
    ),
    row(
        "metadata.log.max.record.bytes.between.snapshots",
        Long,
        Some("20971520"),
        1,
        "After how many bytes of records since the last one a snapshot of the metadata is taken.",
    ),
    row(
        "metadata.log.max.snapshot.interval.ms",
        Long,
        Some("3600000"),
        0,
        "How long after the last snapshot another is taken, if there was a record since; 0: bytes alone decide.",
    ),
    row(
        "metadata.log.segment.bytes",
        Int,
        Some("1073741824"),
        1024,
        "The size at which the metadata log begins a new segment file.",
    ),
    row(
        "min.insync.replicas",
        Int,
        Some("1"),
        1,
        "The least size of the ISR at which acks=all is accepted and the high watermark moves; a topic may set its own.",
    ),
    row("node.id", Int, None, 0, "The number of the node."),
    row(
        "num.partitions",
        Int,
        Some("1"),
        1,
        "The partitions of a topic whose creation does not say.",
    ),
    row(
        "process.roles",
        List,
        None,
        0,
        "What the node is: controller or broker. Both in one process is not supported.",
    ),
    row(
        "replica.fetch.backoff.ms",
        Int,
        Some("1000"),
        0,
        "How long a follower waits after a fetch that failed.",
    ),
    row(
        "replica.fetch.wait.max.ms",
        Int,
        Some("500"),
        0,
        "How long a leader may hold a follower's fetch when there is nothing new.",
    ),
    row(
        "replica.lag.time.max.ms",
        Long,
        Some("30000"),
        1,
        "How long a follower may go without catching up before it leaves the ISR.",
    ),
    row(
        "unclean.leader.election.enable",
        Boolean,
        Some("false"),
        0,
        "Whether a replica outside ISR and ELR may be elected, at the price of records; a topic may set its own.",
    ),
];

/// The property of that name.
pub fn find(name: &str) -> Option<&'static Property> {
    PROPERTIES.iter().find(|property| property.name == name)
}

/// The known name that is nearest to an unknown one.
pub fn nearest(name: &str) -> &'static str {
    let known = PROPERTIES.iter().map(|property| property.name);
    names::nearest(name, known).first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        let mut names: Vec<_> = PROPERTIES.iter().map(|property| property.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PROPERTIES.len());
    }

    #[test]
    fn the_nearest_name_is_found() {
        assert_eq!(nearest("min.insync.replica"), "min.insync.replicas");
        assert_eq!(nearest("node.ids"), "node.id");
    }
}
