//! The table of outcomes: what the answer to one attempt says about the operation.
//!
//! Fail is a promise: the record is not in the log and never will be. So a code is fail only where every server
//! that follows the protocol gives it before it appends; all else, and whatever is not listed, is info.

use crate::error::{Error, SentBytes};
use crate::error_code::ErrorCode;
use history::Kind;

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It happened.
    Ok,
    /// It certainly did not happen.
    Fail,
    /// It may have happened, or may yet happen.
    Info,
}

impl Outcome {
    /// The kind of the history's entry that completes the operation.
    pub fn kind(self) -> Kind {
        match self {
            Outcome::Ok => Kind::Ok,
            Outcome::Fail => Kind::Fail,
            Outcome::Info => Kind::Info,
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The answer.
    pub code: ErrorCode,
    /// What it means for the attempt.
    pub outcome: Outcome,
    /// Whether the client that got it must end: a new one takes a new process number.
    pub ends_process: bool,
    /// Why.
    pub reason: &'static str,
}

const fn row(code: ErrorCode, outcome: Outcome, reason: &'static str) -> Row {
    Row {
        code,
        outcome,
        ends_process: matches!(outcome, Outcome::Info),
        reason,
    }
}

const fn last(code: ErrorCode, reason: &'static str) -> Row {
    Row {
        code,
        outcome: Outcome::Fail,
        ends_process: true,
        reason,
    }
}

/// The table.
pub const ROWS: &[Row] = &[
    row(
        ErrorCode::NONE,
        Outcome::Ok,
        "acknowledged; without a base offset the offset is unknown",
    ),
    row(
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        Outcome::Info,
        "also answered to a produce that waits in purgatory when its leader is deposed, after the append",
    ),
    row(
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        Outcome::Info,
        "also answered when the replica is removed while the produce waits for its followers",
    ),
    row(
        ErrorCode::UNKNOWN_TOPIC_ID,
        Outcome::Info,
        "as UNKNOWN_TOPIC_OR_PARTITION, by topic id",
    ),
    row(
        ErrorCode::KAFKA_STORAGE_ERROR,
        Outcome::Info,
        "the write failed at an unknown point: bytes may be in the log",
    ),
    row(
        ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Outcome::Info,
        "appended, but the ISR shrank below min ISR before it was acknowledged; it may be replicated later",
    ),
    row(
        ErrorCode::REQUEST_TIMED_OUT,
        Outcome::Info,
        "appended, and not replicated in time; it may be later",
    ),
    row(
        ErrorCode::UNKNOWN_SERVER_ERROR,
        Outcome::Info,
        "the server does not say how far it came",
    ),
    row(
        ErrorCode::DUPLICATE_SEQUENCE_NUMBER,
        Outcome::Info,
        "a batch with this sequence was appended before: by which attempt is not said",
    ),
    row(
        ErrorCode::NOT_ENOUGH_REPLICAS,
        Outcome::Fail,
        "checked before the append: |ISR| < min ISR, nothing was written",
    ),
    row(
        ErrorCode::MESSAGE_TOO_LARGE,
        Outcome::Fail,
        "checked before the append",
    ),
    row(
        ErrorCode::RECORD_LIST_TOO_LARGE,
        Outcome::Fail,
        "checked before the append",
    ),
    row(
        ErrorCode::CORRUPT_MESSAGE,
        Outcome::Fail,
        "the batch's checksum is verified before the append",
    ),
    row(
        ErrorCode::INVALID_RECORD,
        Outcome::Fail,
        "records are validated before the append",
    ),
    last(
        ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        "authorisation comes before the append",
    ),
    last(
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
        "authorisation comes before the append",
    ),
    last(
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "authorisation comes before the append",
    ),
    last(
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        "the sequence is checked before the append",
    ),
    last(
        ErrorCode::PRODUCER_FENCED,
        "the producer epoch is checked before the append",
    ),
    last(
        ErrorCode::INVALID_PRODUCER_EPOCH,
        "the producer epoch is checked before the append",
    ),
];

/// The row of a code; a code without one is info.
pub fn row_of(code: ErrorCode) -> Row {
    let unlisted = row(
        code,
        Outcome::Info,
        "not listed: nothing is known of when it is answered",
    );
    ROWS.iter()
        .find(|row| row.code == code)
        .copied()
        .unwrap_or(unlisted)
}

/// What an answer's code means for one attempt.
pub fn of_code(code: ErrorCode) -> Outcome {
    row_of(code).outcome
}

/// What an attempt without an answer means: fail where no byte of it left, else info.
pub fn of_error(error: &Error) -> Outcome {
    match error.sent {
        SentBytes::No => Outcome::Fail,
        SentBytes::Yes => Outcome::Info,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_specifications() {
        for code in [6, 3, 100, 56, 20, 7, -1, 46] {
            assert_eq!(of_code(ErrorCode(code)), Outcome::Info, "{}", ErrorCode(code));
        }
        for code in [19, 10, 18, 2, 87, 29, 31, 53, 45, 90, 47] {
            assert_eq!(of_code(ErrorCode(code)), Outcome::Fail, "{}", ErrorCode(code));
        }
        assert_eq!(of_code(ErrorCode::NONE), Outcome::Ok);
        assert_eq!(ROWS.len(), 20, "a new row needs its line here");
    }

    #[test]
    fn what_is_not_listed_is_info() {
        for code in (-5..200)
            .map(ErrorCode)
            .filter(|code| ROWS.iter().all(|row| row.code != *code))
        {
            assert_eq!(of_code(code), Outcome::Info, "{code}");
        }
    }

    #[test]
    fn no_code_has_two_rows() {
        for (at, row) in ROWS.iter().enumerate() {
            assert!(
                ROWS[at + 1..].iter().all(|other| other.code != row.code),
                "{}",
                row.code
            );
        }
    }

    #[test]
    fn bytes_sent_decide_between_fail_and_info() {
        let error = |sent| Error {
            address: ([127, 0, 0, 1], 1).into(),
            call: "Produce",
            sent,
            cause: crate::Cause::Closed,
        };
        assert_eq!(of_error(&error(SentBytes::No)), Outcome::Fail);
        assert_eq!(of_error(&error(SentBytes::Yes)), Outcome::Info);
    }
}
