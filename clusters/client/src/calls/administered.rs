//! How an administrator's wish ended, where the answer tells no more than that.

use crate::error_code::ErrorCode;
use kafka_protocol::protocol::StrBytes;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Administered {
    /// NONE where it is done, and committed.
    pub error: ErrorCode,
    /// What the server adds to the error.
    pub message: Option<String>,
}

impl Administered {
    pub(super) fn new(code: i16, message: Option<StrBytes>) -> Administered {
        Administered {
            error: ErrorCode(code),
            message: message.map(|message| message.to_string()),
        }
    }
}
