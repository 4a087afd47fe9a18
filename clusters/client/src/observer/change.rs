//! What the observer takes from a metadata record: the facts it tells of, whatever codec they came through.

use crate::ids::TopicId;
use history::{Body, LogPlace, MetadataUnread, Voter};

/// One record. Names and meanings are those of Kafka's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// TopicRecord.
    Topic { id: TopicId, name: String },
    /// PartitionRecord.
    Partition(NewPartition),
    /// PartitionChangeRecord.
    PartitionChange(PartitionChange),
    /// ClearElrRecord; an empty name is all topics.
    ClearElr { topic: String },
    /// RemoveTopicRecord.
    RemoveTopic { id: TopicId },
    /// RegisterBrokerRecord.
    Register {
        broker: i32,
        epoch: i64,
        incarnation: TopicId,
        fenced: bool,
        in_controlled_shutdown: bool,
    },
    /// BrokerRegistrationChangeRecord: some is a change, to true or false.
    Registration {
        broker: i32,
        epoch: i64,
        fenced: Option<bool>,
        in_controlled_shutdown: bool,
    },
    /// UnregisterBrokerRecord.
    Unregister { broker: i32, epoch: i64 },
    /// ConfigRecord.
    Config {
        resource_type: i8,
        resource: String,
        name: String,
        value: Option<String>,
    },
    /// FeatureLevelRecord.
    Feature { name: String, level: i16 },
    /// BeginTransactionRecord.
    Begin,
    /// EndTransactionRecord.
    End,
    /// AbortTransactionRecord.
    Abort,
    /// LeaderChange, a control record: the batch's epoch begins.
    Leader {
        leader: i32,
        epoch: i32,
        voters: Vec<i32>,
    },
    /// Voters, a control record.
    Voters(Vec<Voter>),
    /// A record of which nothing is told.
    Other,
}

/// A record that could not be understood: what of it may still be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    pub record_type: Option<u32>,
    pub version: Option<u32>,
    /// Whether it may have changed what is told of.
    pub hides: bool,
    pub why: String,
}

impl Unread {
    pub fn body(self, at: LogPlace) -> Body {
        Body::MetadataUnread(MetadataUnread {
            record_type: self.record_type,
            version: self.version,
            hides: self.hides,
            why: self.why,
            at,
        })
    }
}

/// A PartitionRecord.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NewPartition {
    pub topic: TopicId,
    pub partition: i32,
    pub replicas: Vec<i32>,
    pub isr: Vec<i32>,
    pub elr: Vec<i32>,
    pub last_known_elr: Vec<i32>,
    pub leader: i32,
    pub leader_epoch: i32,
    pub partition_epoch: i32,
    pub recovering: bool,
}

/// A PartitionChangeRecord: none is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PartitionChange {
    pub topic: TopicId,
    pub partition: i32,
    pub replicas: Option<Vec<i32>>,
    pub isr: Option<Vec<i32>>,
    pub elr: Option<Vec<i32>>,
    pub last_known_elr: Option<Vec<i32>>,
    pub leader: Option<i32>,
    /// Whether the record sets LeaderRecoveryState to RECOVERING.
    pub recovering: bool,
}
