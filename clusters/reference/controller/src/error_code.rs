//! The errors that the controller answers, with Kafka's names and numbers.

/// An error of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are Kafka's own
pub enum ErrorCode {
    UnknownTopicOrPartition = 3,
    InvalidTopic = 17,
    UnsupportedVersion = 35,
    TopicAlreadyExists = 36,
    InvalidPartitions = 37,
    InvalidReplicationFactor = 38,
    InvalidReplicaAssignment = 39,
    InvalidConfig = 40,
    NotController = 41,
    InvalidRequest = 42,
    FencedLeaderEpoch = 74,
    StaleBrokerEpoch = 77,
    InvalidUpdateVersion = 95,
    UnknownTopicId = 100,
    DuplicateBrokerRegistration = 101,
    BrokerIdNotRegistered = 102,
    InconsistentClusterId = 104,
    IneligibleReplica = 107,
}

impl ErrorCode {
    /// The protocol's number.
    pub fn code(self) -> i16 {
        self as i16
    }
}
