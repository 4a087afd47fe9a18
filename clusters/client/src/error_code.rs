//! Kafka's error codes by Kafka's own names.

use kafka_protocol::ResponseError;
use std::fmt;

/// An error code of an answer. Displays as Kafka's own name for it: `NOT_ENOUGH_REPLICAS`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(pub i16);

/// The codes that this harness acts on, by their protocol numbers.
impl ErrorCode {
    /// No error.
    pub const NONE: ErrorCode = ErrorCode(0);
    /// -1.
    pub const UNKNOWN_SERVER_ERROR: ErrorCode = ErrorCode(-1);
    /// 1.
    pub const OFFSET_OUT_OF_RANGE: ErrorCode = ErrorCode(1);
    /// 2.
    pub const CORRUPT_MESSAGE: ErrorCode = ErrorCode(2);
    /// 3.
    pub const UNKNOWN_TOPIC_OR_PARTITION: ErrorCode = ErrorCode(3);
    /// 5.
    pub const LEADER_NOT_AVAILABLE: ErrorCode = ErrorCode(5);
    /// 6.
    pub const NOT_LEADER_OR_FOLLOWER: ErrorCode = ErrorCode(6);
    /// 7.
    pub const REQUEST_TIMED_OUT: ErrorCode = ErrorCode(7);
    /// 10.
    pub const MESSAGE_TOO_LARGE: ErrorCode = ErrorCode(10);
    /// 18.
    pub const RECORD_LIST_TOO_LARGE: ErrorCode = ErrorCode(18);
    /// 19.
    pub const NOT_ENOUGH_REPLICAS: ErrorCode = ErrorCode(19);
    /// 20.
    pub const NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode = ErrorCode(20);
    /// 29.
    pub const TOPIC_AUTHORIZATION_FAILED: ErrorCode = ErrorCode(29);
    /// 31.
    pub const CLUSTER_AUTHORIZATION_FAILED: ErrorCode = ErrorCode(31);
    /// 35.
    pub const UNSUPPORTED_VERSION: ErrorCode = ErrorCode(35);
    /// 36.
    pub const TOPIC_ALREADY_EXISTS: ErrorCode = ErrorCode(36);
    /// 42.
    pub const INVALID_REQUEST: ErrorCode = ErrorCode(42);
    /// 45.
    pub const OUT_OF_ORDER_SEQUENCE_NUMBER: ErrorCode = ErrorCode(45);
    /// 46.
    pub const DUPLICATE_SEQUENCE_NUMBER: ErrorCode = ErrorCode(46);
    /// 47.
    pub const INVALID_PRODUCER_EPOCH: ErrorCode = ErrorCode(47);
    /// 53.
    pub const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ErrorCode = ErrorCode(53);
    /// 56.
    pub const KAFKA_STORAGE_ERROR: ErrorCode = ErrorCode(56);
    /// 74.
    pub const FENCED_LEADER_EPOCH: ErrorCode = ErrorCode(74);
    /// 75.
    pub const UNKNOWN_LEADER_EPOCH: ErrorCode = ErrorCode(75);
    /// 78.
    pub const OFFSET_NOT_AVAILABLE: ErrorCode = ErrorCode(78);
    /// 87.
    pub const INVALID_RECORD: ErrorCode = ErrorCode(87);
    /// 90.
    pub const PRODUCER_FENCED: ErrorCode = ErrorCode(90);
    /// 98.
    pub const SNAPSHOT_NOT_FOUND: ErrorCode = ErrorCode(98);
    /// 99.
    pub const POSITION_OUT_OF_RANGE: ErrorCode = ErrorCode(99);
    /// 100.
    pub const UNKNOWN_TOPIC_ID: ErrorCode = ErrorCode(100);
    /// 127.
    pub const VOTER_NOT_FOUND: ErrorCode = ErrorCode(127);

    /// Whether it says that nothing went wrong.
    pub fn is_none(self) -> bool {
        self == ErrorCode::NONE
    }

    /// The code, unless it is NONE.
    pub fn error(self) -> Option<ErrorCode> {
        (!self.is_none()).then_some(self)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ResponseError::try_from_code(self.0) {
            None => f.write_str("NONE"),
            Some(ResponseError::Unknown(code)) => write!(f, "UNLISTED_{code}"),
            // The crate spells Kafka's names in camel case.
            Some(known) => f.write_str(&screaming(&format!("{known:?}"))),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn screaming(camel: &str) -> String {
    let mut name = String::with_capacity(camel.len() + 8);
    for (at, letter) in camel.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kafkas_own() {
        for (code, name) in [
            (0, "NONE"),
            (-1, "UNKNOWN_SERVER_ERROR"),
            (3, "UNKNOWN_TOPIC_OR_PARTITION"),
            (6, "NOT_LEADER_OR_FOLLOWER"),
            (7, "REQUEST_TIMED_OUT"),
            (19, "NOT_ENOUGH_REPLICAS"),
            (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
            (100, "UNKNOWN_TOPIC_ID"),
            (999, "UNLISTED_999"),
        ] {
            assert_eq!(ErrorCode(code).to_string(), name);
        }
    }
}
