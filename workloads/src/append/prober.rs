//! A prober of one partition: asks now and then where the log ends, with the leader epoch that it knows. What is
//! answered belongs to that epoch exactly, which an answer to a poll does not tell.

use super::Stop;
use crate::context::{Context, WorkloadError};
use crate::session::Session;
use client::Leaders;
use history::LogEnd;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The pause before each question: short beside an election, and few entries beside those of producers.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Prober {
    session: Session,
    partition: i32,
}

impl Prober {
    pub(super) fn new(context: &Context, leaders: &Arc<Leaders>, partition: i32) -> Prober {
        let session = Session::new(context.clone(), leaders.clone());
        Prober { session, partition }
    }

    pub(super) async fn run(mut self, mut stop: Stop) -> Result<(), WorkloadError> {
        while stop.unless(sleep(PAUSE)).await.is_some() {
            let Some(found) = stop.unless(self.session.leader(self.partition)).await else {
                break;
            };
            if let Some((topic, leader)) = found {
                let which = LogEnd::Latest;
                self.session
                    .list_offset(&topic, leader, self.partition, which)
                    .await?;
            }
        }
        Ok(())
    }
}
