//! What an entry of a history says.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// One line of a history. `B` is what it says: a [`Body`] in the histories of this project's runs, a [`crate::Call`]
/// in those of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<B = Body> {
    /// Place in the history, from 0.
    pub index: u64,
    /// Nanoseconds on the run's clock.
    pub time: u64,
    /// Who did it, or saw it.
    pub process: Process,
    /// Invocation, or how it ended. Observations are [`Kind::Ok`].
    #[serde(rename = "type")]
    pub kind: Kind,
    /// What was done or seen: `f` is its name, `value` the rest.
    #[serde(flatten)]
    pub body: B,
}

/// Who made an entry. A client whose operation ended [`Kind::Info`] never appears again: its successor has a
/// new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// The conductor: steps, stalls, notes.
    Harness,
    /// Faults.
    Nemesis,
    /// Metadata, processes, disks.
    Observer,
    /// A client that a foreign history does not name: its entries cannot be paired.
    Unnamed,
    /// A client of the cluster. A negative number of a foreign history stands as its two's complement.
    #[serde(untagged)]
    Client(u64),
}

/// The state of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It begins.
    Invoke,
    /// It happened.
    Ok,
    /// It certainly did not happen.
    Fail,
    /// It may have happened, or may yet happen at any later time.
    Info,
}

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "f", content = "value", rename_all = "kebab-case")]
pub enum Body {
    /// A client sends one record (one Produce request, one operation).
    Send(Send),
    /// A client fetches records.
    Poll(Poll),
    /// A client asks for an end of a log.
    ListOffsets(ListOffsets),
    /// The summary of the final read of one partition.
    FinalRead(FinalRead),
    /// A fault or its healing.
    Fault(Fault),
    /// A step of the scenario began.
    Step(Step),
    /// The harness itself was late.
    Stall(Stall),
    /// The metadata log: a partition's state after a committed record.
    Partition(PartitionState),
    /// The metadata log: a broker's registration.
    Broker(BrokerState),
    /// The metadata log: a configuration.
    Config(ConfigChange),
    /// The metadata log: a feature level.
    Feature(FeatureLevel),
    /// The metadata log: a topic was removed.
    TopicRemoved(TopicRemoved),
    /// The metadata log: a controller began to lead it (a LeaderChange record).
    QuorumLeader(QuorumLeader),
    /// The metadata log: its voters.
    Voters(Voters),
    /// The metadata log: a stretch of it that was not seen.
    MetadataGap(MetadataGap),
    /// The metadata log: committed records are gone from the active controller's log.
    MetadataDiverged(MetadataDiverged),
    /// The metadata log: a committed record that was passed over.
    MetadataUnread(MetadataUnread),
    /// The quorum's leader and epoch, as an answer showed them.
    Quorum(QuorumState),
    /// A process of a node started or ended.
    Node(NodeProcess),
    /// What a disk lost when its power was cut.
    Disk(DiskLoss),
}

/// A partition: a topic's id (a topic made again under its name is another topic) and a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The topic's name, for people.
    pub topic: Arc<str>,
    /// The topic's id, in Kafka's base64 form; empty where it is not known.
    pub id: Arc<str>,
    /// The partition's number.
    pub partition: i32,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// One record sent. `offset` and what follows are filled at the completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Send {
    /// The partition.
    #[serde(flatten)]
    pub key: Key,
    /// The record's value: unique in its partition, below 2^53.
    #[serde(rename = "record")]
    pub value: u64,
    /// Acks asked for: −1 is all.
    pub acks: i16,
    /// The broker asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<i32>,
    /// The offset given; absent where the answer gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// The error, by Kafka's name, or the client's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One fetch by a consumer (replica id −1). `records` and what follows are filled at the completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Poll {
    /// The partition.
    #[serde(flatten)]
    pub key: Key,
    /// The offset asked for.
    pub from: i64,
    /// The broker asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<i32>,
    /// Whether it belongs to the final phase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// What was read, in the answer's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<Record>,
    /// The answer's high watermark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_watermark: Option<i64>,
    /// The answer's log start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_start: Option<i64>,
    /// The error, by Kafka's name, or the client's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A record as it was read: `[offset, value, leader epoch]`; the value is null where its self-check failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(i64, Option<u64>, i32)", into = "(i64, Option<u64>, i32)")]
pub struct Record {
    /// Its offset.
    pub offset: i64,
    /// Its value; none where the self-check failed.
    pub value: Option<u64>,
    /// The partition leader epoch of its batch.
    pub epoch: i32,
}

impl From<(i64, Option<u64>, i32)> for Record {
    fn from((offset, value, epoch): (i64, Option<u64>, i32)) -> Self {
        Record { offset, value, epoch }
    }
}

impl From<Record> for (i64, Option<u64>, i32) {
    fn from(r: Record) -> Self {
        (r.offset, r.value, r.epoch)
    }
}

/// One ListOffsets request for one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListOffsets {
    /// The partition.
    #[serde(flatten)]
    pub key: Key,
    /// Which end.
    pub which: LogEnd,
    /// The broker asked.
    pub node: i32,
    /// The leader epoch sent with the question.
    pub epoch: i32,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// The error, by Kafka's name, or the client's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogEnd {
    /// The log start.
    Earliest,
    /// The high watermark (isolation read_uncommitted).
    Latest,
}

/// The final read of one partition, by a fresh client, after the cluster settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinalRead {
    /// The partition.
    #[serde(flatten)]
    pub key: Key,
    /// The log start, where it was learnt.
    pub start: Option<i64>,
    /// The end: ListOffsets(latest) with the current leader epoch, asked after |ISR| ≥ min ISR.
    pub end: Option<i64>,
    /// Whether each offset from `start` to `end` was read, by polls marked `last`.
    pub complete: bool,
    /// Why not, where it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A fault. Its invocation says what was asked and resolved; its `ok` says what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// A number that ties the entries of one fault together, its healing included.
    pub id: u64,
    /// Its name: `power-cut`, `cut-network`, `crash`, `start`, `stop`.
    pub name: String,
    /// What this entry does.
    pub action: FaultAction,
    /// The target as the scenario wrote it.
    pub asked: String,
    /// The nodes it was resolved to.
    pub nodes: Vec<i32>,
    /// What was measured, `quantity_unit` to number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<String, f64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Whether a fault is put in or taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultAction {
    /// It begins.
    Inject,
    /// It ends.
    Heal,
}

/// A step of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, `T0` for one.
    pub name: String,
    /// Begun, or its state was reached.
    pub reached: bool,
    /// What it does, or what was seen.
    pub text: String,
}

/// The harness's own 10 ms ticker was late by more than 100 ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// By how many milliseconds.
    pub late_ms: f64,
}

/// A partition's state after a committed metadata record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionState {
    /// The partition.
    #[serde(flatten)]
    pub key: Key,
    /// Its replicas, in assignment order.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
    /// Eligible leader replicas.
    pub elr: Vec<i32>,
    /// The last known ELR.
    pub last_known_elr: Vec<i32>,
    /// The leader; −1 is none.
    pub leader: i32,
    /// Its epoch.
    pub leader_epoch: i32,
    /// The partition's epoch.
    pub partition_epoch: i32,
    /// Whether the record set LeaderRecoveryState to RECOVERING.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovering: bool,
    /// Whether the record names a leader (a PartitionRecord, or a change with its Leader field).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elects: bool,
    /// Where the record stands.
    #[serde(flatten)]
    pub at: LogPlace,
}

/// The place of a record in the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogPlace {
    /// Its offset.
    pub log_offset: i64,
    /// The base offset of its batch: records of one batch take effect together. Records of a metadata transaction
    /// have the offset at which it begins.
    pub batch: i64,
    /// Whether this is no record but a difference that showed after a stretch which was not seen, or which was
    /// taken back: what came in which order in between is unknown. The place is then that of the last record before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_gap: bool,
}

impl LogPlace {
    /// The place of a record.
    pub fn of(log_offset: i64, batch: i64) -> LogPlace {
        LogPlace {
            log_offset,
            batch,
            in_gap: false,
        }
    }

    /// The place of what shows after the records below an offset were not seen.
    pub fn after_gap(offset: i64) -> LogPlace {
        // An empty log has no last record: its place is the first.
        let log_offset = offset.saturating_sub(1).max(0);
        LogPlace {
            log_offset,
            batch: log_offset,
            in_gap: true,
        }
    }
}

/// A broker's registration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokerState {
    /// The broker.
    pub broker: i32,
    /// Its broker epoch.
    pub epoch: i64,
    /// Its incarnation id; empty where the record has none.
    #[serde(default)]
    pub incarnation: String,
    /// What the record did.
    pub change: BrokerChange,
    /// Where the record stands.
    #[serde(flatten)]
    pub at: LogPlace,
}

/// What a metadata record did to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BrokerChange {
    /// RegisterBrokerRecord.
    Registered,
    /// Fenced.
    Fenced,
    /// Unfenced.
    Unfenced,
    /// In controlled shutdown.
    ControlledShutdown,
    /// UnregisterBrokerRecord.
    Unregistered,
}

/// A ConfigRecord.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// 2 topic, 4 broker.
    pub resource_type: i8,
    /// The topic or broker; empty for all.
    pub resource: String,
    /// The key.
    pub name: String,
    /// Its value; none removes it.
    pub value: Option<String>,
    /// Where the record stands.
    #[serde(flatten)]
    pub at: LogPlace,
}

/// A FeatureLevelRecord.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureLevel {
    /// The feature.
    pub name: String,
    /// Its finalised level.
    pub level: i16,
    /// Where the record stands.
    #[serde(flatten)]
    pub at: LogPlace,
}

/// A RemoveTopicRecord.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicRemoved {
    /// The topic's id.
    pub id: Arc<str>,
    /// Where the record stands.
    #[serde(flatten)]
    pub at: LogPlace,
}

/// A LeaderChange record: the first of its leader's epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumLeader {
    /// The controller.
    pub leader: i32,
    /// The epoch that begins.
    pub epoch: i32,
    /// The voters' ids, as the leader knew them.
    pub voters: Vec<i32>,
    /// Where the record stands.
    #[serde(flatten)]
    pub at: LogPlace,
}

/// A Voters record (KIP-853).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voters {
    /// All voters from here on.
    pub voters: Vec<Voter>,
    /// Where the record stands.
    #[serde(flatten)]
    pub at: LogPlace,
}

/// A voter: KIP-853 knows it by its id and its directory's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voter {
    /// Its id.
    pub node: i32,
    /// Its directory's id, in Kafka's base64 form; empty where it has none.
    pub directory: String,
    /// Where it listens: `NAME://host:port`.
    pub endpoints: Vec<String>,
}

/// A stretch of the metadata log that the observer did not see. Entries with `in_gap` that follow it, before any
/// without, tell how the state after it differs from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataGap {
    /// The first offset that was not seen.
    pub from: i64,
    /// The offset after the last one.
    pub to: i64,
    /// Why.
    pub cause: GapCause,
}

/// Why a stretch of the metadata log was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapCause {
    /// The log begins later: a snapshot was read instead.
    Snapshot,
    /// The log itself skips these offsets.
    Hole,
}

/// Records that were committed, and told of, are not in the active controller's log. Entries with `in_gap` that
/// follow it, before any without, tell how the state without them differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataDiverged {
    /// The active controller.
    pub leader: i32,
    /// The quorum's epoch.
    pub quorum_epoch: i32,
    /// The offset after the last record that was told of.
    pub trusted_offset: i64,
    /// That record's epoch.
    pub trusted_epoch: i32,
    /// The end of `leader_epoch` in the controller's log.
    pub leader_offset: i64,
    /// The greatest epoch in the controller's log that is not above `trusted_epoch`.
    pub leader_epoch: i32,
    /// The records from here on are gone.
    pub from: i64,
}

/// A committed record that was passed over, since it could not be understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataUnread {
    /// Its type's number; none where the bytes do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_type: Option<u32>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Whether it may have changed what the history tells of. Of a type that never does, only the first is noted.
    pub hides: bool,
    /// What is wrong with it.
    pub why: String,
    /// Where the record stands.
    #[serde(flatten)]
    pub at: LogPlace,
}

/// The quorum, as an answer showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumState {
    /// The active controller; −1 is none.
    pub leader: i32,
    /// The quorum's epoch.
    pub epoch: i32,
    /// The high watermark of the metadata log.
    pub high_watermark: i64,
}

/// A process of a node started or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeProcess {
    /// The node.
    pub node: i32,
    /// What happened.
    pub event: NodeEvent,
    /// Its number among the node's starts, from 1.
    pub start: u32,
}

/// What happened to a node's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum NodeEvent {
    /// It was started.
    Started,
    /// A controlled stop (SIGTERM) was asked.
    StopAsked,
    /// It ended by itself, or after SIGTERM, with an exit status.
    Exited {
        /// The exit status.
        status: i32,
    },
    /// A signal, or a loss of power, ended it.
    Killed {
        /// The signal; none for a loss of power.
        signal: Option<i32>,
    },
}

/// What one disk lost in one power cut. Named by partition where a lost byte belonged to one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskLoss {
    /// The node.
    pub node: i32,
    /// The fault that took it.
    pub fault: u64,
    /// Bytes lost in all.
    pub bytes: u64,
    /// Files that lost bytes, or their names.
    pub files: u64,
    /// Records of partitions that went, as the lost batches' headers tell.
    pub records: Vec<LostRecords>,
}

/// A run of lost records of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRecords {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The first offset lost.
    pub from: i64,
    /// The offset after the last one lost.
    pub to: i64,
}
