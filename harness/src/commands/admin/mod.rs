//! `ackall admin`: what an operator asks of a running cluster, the reference cluster or Apache Kafka alike.
//!
//! What it does: speaks Kafka's protocol through the client, as Kafka's own tools do. What it does not: know
//! how any cluster keeps its files, but for the two of a controller that is to vote, its configuration and its
//! `meta.properties`, which every Kafka has.
//!
//! Exit status: 0 done; 1 refused, or nobody answered and nothing was changed; 2 a change may or may not have
//! been made: `describe` shows which; 64 a wrong command line or file.

mod args;
mod describe;
mod new_voter;
mod target;
mod voters;

pub use args::{AdminArgs, QuorumAction};

use crate::error::{Error, Status};

/// Does what was asked.
pub fn admin(args: &AdminArgs) -> Result<Status, Error> {
    let AdminArgs::Quorum { action } = args;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::internal("starting", e, "free descriptors or memory"))?;
    runtime.block_on(async {
        match action {
            QuorumAction::Describe { target, json } => describe::describe(target, *json).await,
            QuorumAction::AddVoter(args) => voters::add(args).await,
            QuorumAction::RemoveVoter(args) => voters::remove(args).await,
        }
    })?;
    Ok(Status::Pass)
}
