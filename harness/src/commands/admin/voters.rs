//! `ackall admin quorum add-voter` and `remove-voter`: one change at a time, made by the active controller.

use super::args::{AddVoterArgs, RemoveVoterArgs};
use super::describe::endpoint_text;
use super::new_voter::{self, NewVoter};
use super::target::{Answered, Target};
use crate::error::{Error, Status};
use client::calls::{AddVoter, RemoveVoter, VoterChanged};
use client::{ErrorCode, SentBytes, TopicId, topic_id_text};
use std::time::Duration;
use tokio::time::Instant;

/// The pause before the active controller is looked for again.
const PAUSE: Duration = Duration::from_millis(100);

/// What is to change.
enum Change {
    Add(NewVoter),
    Remove { node: i32, directory: TopicId },
}

/// Has a controller vote.
pub async fn add(args: &AddVoterArgs) -> Result<(), Error> {
    let target = Target::of(&args.target)?;
    let voter = NewVoter::of(args)?;
    let said = format!(
        "node {} (folder {}, {}) votes",
        voter.node,
        topic_id_text(voter.directory),
        voter
            .listeners
            .iter()
            .map(endpoint_text)
            .collect::<Vec<_>>()
            .join(",")
    );
    change(&target, &Change::Add(voter)).await?;
    say!("{said}");
    Ok(())
}

/// Has a controller vote no more.
pub async fn remove(args: &RemoveVoterArgs) -> Result<(), Error> {
    let target = Target::of(&args.target)?;
    let directory = new_voter::directory("--directory-id", &args.directory_id)?;
    let node = args.id;
    change(&target, &Change::Remove { node, directory }).await?;
    say!("node {node} (folder {}) votes no more", args.directory_id);
    Ok(())
}

async fn change(target: &Target, change: &Change) -> Result<(), Error> {
    let deadline = Instant::now() + target.timeout();
    let what = change.what();
    loop {
        let mut found = target.active_controller(&what).await?;
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        match change.ask(&mut found, left).await {
            Ok(answer) if answer.error.is_none() => return Ok(()),
            // It was not the active controller any more: nothing was done.
            Ok(answer) if moved(answer.error) && Instant::now() + PAUSE < deadline => {
                tokio::time::sleep(PAUSE).await;
            }
            Ok(answer) => return Err(change.refused(&answer)),
            Err(error) => return Err(change.unanswered(&error)),
        }
    }
}

/// Whether the answer is that of a controller that is not active.
fn moved(error: ErrorCode) -> bool {
    /// Kafka's number for it.
    const NOT_CONTROLLER: ErrorCode = ErrorCode(41);
    [ErrorCode::NOT_LEADER_OR_FOLLOWER, NOT_CONTROLLER].contains(&error)
}

impl Change {
    fn what(&self) -> String {
        match self {
            Change::Add(voter) => format!("having node {} vote", voter.node),
            Change::Remove { node, .. } => format!("having node {node} vote no more"),
        }
    }

    async fn ask(&self, found: &mut Answered, timeout: Duration) -> Result<VoterChanged, client::Error> {
        match self {
            Change::Add(voter) => {
                let request = AddVoter {
                    // Of the new voter's own folder, where that was read: a stranger's is refused.
                    cluster_id: voter.cluster_id.clone(),
                    node: voter.node,
                    directory: voter.directory,
                    listeners: voter.listeners.clone(),
                    timeout,
                };
                found.connection.add_raft_voter(&request).await
            }
            Change::Remove { node, directory } => {
                let request = RemoveVoter {
                    cluster_id: Some(found.cluster_id.clone()),
                    node: *node,
                    directory: *directory,
                    timeout,
                };
                found.connection.remove_raft_voter(&request).await
            }
        }
    }

    fn refused(&self, answer: &VoterChanged) -> Error {
        /// Kafka's numbers.
        const DUPLICATE_VOTER: ErrorCode = ErrorCode(126);
        const INCONSISTENT_CLUSTER_ID: ErrorCode = ErrorCode(104);
        let (status, next) = match answer.error {
            ErrorCode::VOTER_NOT_FOUND => (Status::Fail, "`describe` shows each voter's id and folder"),
            DUPLICATE_VOTER => (
                Status::Fail,
                "`describe` shows who votes; remove the voter of that id first, if its folder is gone",
            ),
            INCONSISTENT_CLUSTER_ID => (
                Status::Fail,
                "the new voter's folder is that of another cluster: format an empty one",
            ),
            ErrorCode::UNSUPPORTED_VERSION => (
                Status::Fail,
                "voters change only where they are named in the log (kraft.version 1)",
            ),
            ErrorCode::REQUEST_TIMED_OUT => (
                Status::Unknown,
                "`describe` shows who votes; the new voter must run and have caught up, and one change is made at a time",
            ),
            _ => (Status::Fail, "`describe` shows how the quorum stands"),
        };
        let message = answer.message.as_deref().unwrap_or_default();
        let between = if message.is_empty() { "" } else { ": " };
        Error::new(
            status,
            self.what(),
            format!("the cluster answered {}{between}{message}", answer.error),
            next,
        )
    }

    fn unanswered(&self, error: &client::Error) -> Error {
        let status = match error.sent {
            SentBytes::No => Status::Fail,
            SentBytes::Yes => Status::Unknown,
        };
        Error::new(status, self.what(), error, "`describe` shows who votes now")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_three_lines_and_a_timeout_leaves_it_open() {
        let change = Change::Remove {
            node: 7,
            directory: TopicId::from_u128(1),
        };
        let answer = |error, message: Option<&str>| VoterChanged {
            error,
            message: message.map(str::to_owned),
        };
        let refused = change.refused(&answer(ErrorCode::VOTER_NOT_FOUND, Some("no such voter")));
        assert_eq!(refused.status, Status::Fail);
        assert_eq!(refused.to_string().lines().count(), 3);
        assert!(
            refused.why.ends_with("VOTER_NOT_FOUND: no such voter"),
            "{refused}"
        );
        let open = change.refused(&answer(ErrorCode::REQUEST_TIMED_OUT, None));
        assert_eq!(open.status, Status::Unknown);
        assert!(moved(ErrorCode::NOT_LEADER_OR_FOLLOWER) && !moved(ErrorCode::VOTER_NOT_FOUND));
    }
}
