//! Why a request got no answer, and whether it may have had an effect all the same.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Whether any byte of a request was handed to the kernel before it failed. It decides fail or info.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SentBytes {
    /// None: the request had no effect.
    No,
    /// At least one: the request may have an effect, now or later.
    Yes,
}

/// A request that got no answer it could use.
#[derive(Debug, thiserror::Error)]
#[error("{call} to {address}: {cause} ({sent})")]
pub struct Error {
    /// Whom it was for.
    pub address: SocketAddr,
    /// Which call, by Kafka's name: `Produce`; `connect` for the connection itself.
    pub call: &'static str,
    /// Whether a byte of this request left.
    pub sent: SentBytes,
    /// Why it failed.
    pub cause: Cause,
}

impl fmt::Display for SentBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SentBytes::No => "no byte of it left",
            SentBytes::Yes => "bytes of it had left: it may still take effect",
        })
    }
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The socket could not be made, bound to its device, or connected.
    #[error("no connection: {0}; is the node up, and reachable from here?")]
    Refused(#[source] io::Error),
    /// No answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The connection broke.
    #[error("disconnected: {0}")]
    Disconnected(#[source] io::Error),
    /// An earlier request on this connection failed; a new connection is needed.
    #[error("the connection was closed after an earlier failure; connect anew")]
    Closed,
    /// The server and this client share no version of the call.
    #[error("the server offers versions {theirs}, this client needs {ours}")]
    Unsupported {
        /// What the server offers.
        theirs: String,
        /// What the caller can use.
        ours: String,
    },
    /// The request cannot be written in the version agreed on.
    #[error("the request cannot be encoded: {0}")]
    Encode(String),
    /// The answer is not what the protocol says.
    #[error("the answer cannot be understood: {0}")]
    Malformed(String),
}
