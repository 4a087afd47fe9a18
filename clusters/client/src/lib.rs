//! A client of Kafka's protocol, its table of outcomes, and the observer of the metadata log.
//!
//! What it does: one request at a time on one connection ([`Connection`]), each typed call in a file of its own
//! below [`calls`]; says of every failure whether a byte of the request had left ([`SentBytes`]), and of every
//! error code what it means for an operation ([`outcome`]); finds leaders by asking every broker and believing
//! the highest leader epoch ([`Cluster`], [`Leaders`]); follows `__cluster_metadata` like any consumer and
//! writes what was committed into the history ([`observer`]). It talks to any cluster that speaks the protocol.
//!
//! What it does not: retry, batch, balance, compress, authenticate. Each of these would blur what one attempt
//! did. It opens no door of the reference cluster's own.
//!
//! Invariants:
//! 1. An error with [`SentBytes::No`] means that the kernel took no byte of that request: it had no effect.
//! 2. After any [`Error`] with bytes sent the connection is closed: a late answer cannot be taken for another's.
//! 3. The observer applies a record only where an answer's high watermark covers it, in log order, once; what it did
//!    not see, could not read, or saw vanish again, the history says.
//! 4. Bytes from the network never panic; frames and counts are bounded before memory is asked for.

pub mod batch;
pub mod calls;
mod cluster;
mod connection;
mod error;
mod error_code;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod frame;
mod ids;
mod leaders;
pub mod observer;
pub mod outcome;
mod versions;

pub use cluster::Cluster;
pub use connection::{Connection, Options};
pub use error::{Cause, Error, SentBytes};
pub use error_code::ErrorCode;
pub use ids::{TopicId, topic_id_from_text, topic_id_text};
pub use leaders::{Leader, Leaders, TopicLeaders};
pub use observer::{BrokerView, ClusterView, Observer, ObserverError, ObserverOptions};
pub use outcome::Outcome;
pub use versions::{FeatureRange, ServerVersions, VersionRange};

#[cfg(test)]
mod tests;
