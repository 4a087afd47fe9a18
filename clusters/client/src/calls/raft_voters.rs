//! AddRaftVoter and RemoveRaftVoter: the voters of the metadata log change, one at a time (KIP-853).

use super::{ANY_VERSION, Listener, text};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TopicId;
use kafka_protocol::messages::add_raft_voter_request::Listener as AddedListener;
use kafka_protocol::messages::{AddRaftVoterRequest, RemoveRaftVoterRequest};
use kafka_protocol::protocol::StrBytes;
use std::time::Duration;

const ADD: &str = "AddRaftVoter";
const REMOVE: &str = "RemoveRaftVoter";
/// How long the server's own REQUEST_TIMED_OUT may take to arrive before the client gives up without it.
const ANSWER_GRACE: Duration = Duration::from_millis(250);

/// A controller that is to vote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddVoter {
    /// The cluster's id, for the server to compare; none is any.
    pub cluster_id: Option<String>,
    /// The controller's id.
    pub node: i32,
    /// Its directory's id.
    pub directory: TopicId,
    /// Where it listens.
    pub listeners: Vec<Listener>,
    /// How long the server may take.
    pub timeout: Duration,
}

/// A controller that is to vote no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveVoter {
    /// The cluster's id, for the server to compare; none is any.
    pub cluster_id: Option<String>,
    /// The controller's id.
    pub node: i32,
    /// Its directory's id.
    pub directory: TopicId,
    /// How long to wait: the request has no limit of its own.
    pub timeout: Duration,
}

/// The answer to either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoterChanged {
    /// NONE where the change is committed.
    pub error: ErrorCode,
    /// What the server adds to the error.
    pub message: Option<String>,
}

impl Connection {
    /// Adds a voter. Only the active controller does.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn add_raft_voter(&mut self, voter: &AddVoter) -> Result<VoterChanged, Error> {
        let version = self.version::<AddRaftVoterRequest>(ADD, ANY_VERSION)?;
        let listeners = voter.listeners.iter().map(|listener| {
            AddedListener::default()
                .with_name(text(&listener.name))
                .with_host(text(&listener.host))
                .with_port(listener.port)
        });
        let request = AddRaftVoterRequest::default()
            .with_cluster_id(voter.cluster_id.as_deref().map(text))
            .with_timeout_ms(i32::try_from(voter.timeout.as_millis()).unwrap_or(i32::MAX))
            .with_voter_id(voter.node)
            .with_voter_directory_id(voter.directory)
            .with_listeners(listeners.collect());
        let limit = voter.timeout + ANSWER_GRACE;
        let answer = self.call(ADD, version, &request, limit).await?;
        Ok(changed(answer.error_code, answer.error_message))
    }

    /// Removes a voter. Only the active controller does.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn remove_raft_voter(&mut self, voter: &RemoveVoter) -> Result<VoterChanged, Error> {
        let version = self.version::<RemoveRaftVoterRequest>(REMOVE, ANY_VERSION)?;
        let request = RemoveRaftVoterRequest::default()
            .with_cluster_id(voter.cluster_id.as_deref().map(text))
            .with_voter_id(voter.node)
            .with_voter_directory_id(voter.directory);
        let answer = self.call(REMOVE, version, &request, voter.timeout).await?;
        Ok(changed(answer.error_code, answer.error_message))
    }
}

fn changed(code: i16, message: Option<StrBytes>) -> VoterChanged {
    VoterChanged {
        error: ErrorCode(code),
        message: message.map(|message| message.to_string()),
    }
}
