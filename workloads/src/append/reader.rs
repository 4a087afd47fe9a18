//! A reader of one partition: polls from its own position, all the time.

use super::{Counters, Stop};
use crate::context::{Context, WorkloadError};
use crate::session::Session;
use crate::streams::Stream;
use client::calls::TopicRef;
use client::{ErrorCode, Leader, Leaders, Outcome};
use history::LogEnd;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// How long a broker may let a poll wait for something new.
const POLL_WAIT: Duration = Duration::from_millis(250);
/// The pause between polls: what comes in meanwhile is one poll, not many.
const POLL_PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Reader {
    session: Session,
    partition: i32,
    position: i64,
    stream: Stream,
    count: Arc<watch::Sender<Counters>>,
}

impl Reader {
    pub(super) fn new(
        context: &Context,
        leaders: &Arc<Leaders>,
        partition: i32,
        stream: Stream,
        count: Arc<watch::Sender<Counters>>,
    ) -> Reader {
        let session = Session::new(context.clone(), leaders.clone());
        Reader {
            session,
            partition,
            position: 0,
            stream,
            count,
        }
    }

    pub(super) async fn run(mut self, mut stop: Stop) -> Result<(), WorkloadError> {
        loop {
            let Some(found) = stop.unless(self.session.leader(self.partition)).await else {
                return Ok(());
            };
            let pause = match found {
                Some((topic, leader)) if self.poll(&topic, leader).await? => POLL_PAUSE,
                _ => self.stream.back_off(),
            };
            if stop.unless(sleep(pause)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// One poll; true where it was answered without an error.
    async fn poll(&mut self, topic: &TopicRef, leader: Leader) -> Result<bool, WorkloadError> {
        let polled = self
            .session
            .poll(topic, leader, self.partition, self.position, POLL_WAIT, false)
            .await?;
        match polled.outcome {
            Outcome::Ok => {
                self.position = polled.next;
                self.count.send_modify(|count| count.polled(polled.records));
                Ok(true)
            }
            _ if polled.code == Some(ErrorCode::OFFSET_OUT_OF_RANGE) => {
                let start = self
                    .session
                    .list_offset(topic, leader, self.partition, LogEnd::Earliest)
                    .await?;
                if let Some(start) = start {
                    self.position = start;
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }
}
