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
    PreferredLeaderNotAvailable = 80,
    EligibleLeadersNotAvailable = 83,
    ElectionNotNeeded = 84,
    NoReassignmentInProgress = 85,
    InvalidUpdateVersion = 95,
    UnknownTopicId = 100,
    DuplicateBrokerRegistration = 101,
    BrokerIdNotRegistered = 102,
    InconsistentClusterId = 104,
    IneligibleReplica = 107,
    NewLeaderElected = 108,
}

/// Why an administrator's wish is not done: the error, and a sentence.
pub type Refused = (ErrorCode, String);

impl ErrorCode {
    /// The protocol's number.
    pub fn code(self) -> i16 {
        self as i16
    }
}
