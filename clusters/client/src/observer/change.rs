//! What the observer takes from a metadata record: the facts it tells of, whatever codec they came through.

use crate::ids::TopicId;

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
    /// A record of which nothing is told.
    Other,
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
