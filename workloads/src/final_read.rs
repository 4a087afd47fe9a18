//! The final read: after every fault is healed, each partition from its start to its end, on fresh clients.
//!
//! The end is what ListOffsets(latest), asked with the current leader epoch, answers after |ISR| ≥ min ISR: a
//! leader below it cannot raise its high watermark, and what it acknowledged before is invisible, not lost.

use crate::context::{Context, WorkloadError};
use crate::session::{Session, key};
use crate::streams::{Role, Stream};
use client::calls::TopicRef;
use client::{ClusterView, Leader, Leaders, Outcome};
use history::{Body, FinalRead, Key, Kind, LogEnd, PartitionState, Process};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

/// How long a broker may let a poll wait: everything that is to be read is there already.
const POLL_WAIT: Duration = Duration::from_millis(100);

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalReadPlan {
    /// The topic.
    pub topic: String,
    /// How many partitions of it, from 0 on.
    pub partitions: i32,
    /// `min.insync.replicas`; a partition with fewer replicas needs all of them.
    pub min_insync_replicas: i32,
    /// How long settling and reading may take together.
    pub limit: Duration,
}

/// Waits for each partition to settle, and reads it. Gives what was recorded, by partition; a partition that did
/// not settle, or whose end was not reached in time, is not complete and says why.
///
/// # Errors
/// Where the history cannot be written.
pub async fn final_read(
    plan: FinalReadPlan,
    context: Context,
    view: watch::Receiver<ClusterView>,
) -> Result<Vec<FinalRead>, WorkloadError> {
    let deadline = Instant::now() + plan.limit;
    let leaders = Arc::new(Leaders::new(context.cluster.clone(), plan.topic.clone()));
    let mut readers = JoinSet::new();
    for (number, partition) in (0..).zip(0..plan.partitions) {
        let reader = FinalReader {
            plan: plan.clone(),
            context: context.clone(),
            session: Session::new(context.clone(), leaders.clone()),
            stream: Stream::new(context.seed, Role::FinalReader, number),
            partition,
            deadline,
            progress: Progress::default(),
        };
        readers.spawn(reader.run(view.clone()));
    }
    let mut reads = Vec::new();
    while let Some(read) = readers.join_next().await {
        reads.push(read.unwrap_or_else(|why| Err(WorkloadError::Died(why.to_string())))?);
    }
    reads.sort_by_key(|read| read.key.partition);
    Ok(reads)
}

struct FinalReader {
    plan: FinalReadPlan,
    context: Context,
    session: Session,
    stream: Stream,
    partition: i32,
    deadline: Instant,
    progress: Progress,
}

/// How far the read came.
#[derive(Clone, Debug, Default)]
struct Progress {
    id: Arc<str>,
    start: Option<i64>,
    end: Option<i64>,
    /// The next offset to read.
    position: i64,
    /// What went wrong last.
    trouble: Option<String>,
}

impl Progress {
    fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| self.position >= end)
    }
}

impl FinalReader {
    async fn run(mut self, view: watch::Receiver<ClusterView>) -> Result<FinalRead, WorkloadError> {
        let settled = self.settled(view).await;
        let reason = match settled {
            Ok(epoch) => self.read(epoch).await?,
            Err(reason) => Some(reason),
        };
        let Progress { id, start, end, .. } = self.progress;
        let key = Key {
            topic: self.plan.topic.as_str().into(),
            id,
            partition: self.partition,
        };
        let read = FinalRead {
            key,
            start,
            end,
            complete: reason.is_none(),
            reason,
        };
        self.context
            .recorder
            .record(Process::Harness, Kind::Ok, Body::FinalRead(read.clone()))?;
        Ok(read)
    }

    /// Waits for a leader and |ISR| ≥ min ISR; gives the leader epoch, or why not.
    async fn settled(&self, mut view: watch::Receiver<ClusterView>) -> Result<i32, String> {
        let state = |view: &ClusterView| view.partition(&self.plan.topic, self.partition).cloned();
        let wanted = self.plan.min_insync_replicas;
        let waiting = view.wait_for(|view| state(view).is_some_and(|state| is_settled(&state, wanted)));
        let seen = match timeout_at(self.deadline, waiting).await {
            Ok(Ok(view)) => {
                return state(&view)
                    .map(|state| state.leader_epoch)
                    .ok_or_else(String::new);
            }
            Ok(Err(_)) => "the observer ended before the partition settled".to_owned(),
            Err(_) => format!("it did not settle within {:?}", self.plan.limit),
        };
        Err(match state(&view.borrow()) {
            Some(state) => format!(
                "{seen}: leader {}, ISR {:?}, ELR {:?}, min ISR {wanted}",
                state.leader, state.isr, state.elr
            ),
            None => format!("{seen}: the metadata log has no such partition"),
        })
    }

    /// Reads from start to end; gives why it did not come to the end, if so.
    async fn read(&mut self, epoch: i32) -> Result<Option<String>, WorkloadError> {
        while !self.progress.is_complete() {
            if Instant::now() >= self.deadline {
                return Ok(Some(self.unfinished()));
            }
            if !self.step(epoch).await? {
                sleep(self.stream.back_off()).await;
            }
        }
        Ok(None)
    }

    fn unfinished(&self) -> String {
        let Progress {
            end,
            position,
            trouble,
            ..
        } = &self.progress;
        let far = match end {
            Some(end) => format!("at offset {position} of {end}"),
            None => "its ends were not learnt".to_owned(),
        };
        let trouble = trouble.as_deref().unwrap_or("no error was answered");
        format!(
            "the read was not done after {:?}: {far}; last: {trouble}",
            self.plan.limit
        )
    }

    /// One operation; false where it failed.
    async fn step(&mut self, epoch: i32) -> Result<bool, WorkloadError> {
        let Some((topic, leader)) = self.session.leader(self.partition).await else {
            return Ok(self.failed("no broker names a leader"));
        };
        if leader.epoch < epoch {
            self.session.ended(Outcome::Fail, false);
            return Ok(self.failed(&format!(
                "brokers know leader epoch {} where {epoch} began",
                leader.epoch
            )));
        }
        self.progress.id = key(&topic, self.partition).id;
        if self.progress.end.is_none() {
            return self.ends(&topic, leader).await;
        }
        self.poll(&topic, leader).await
    }

    async fn ends(&mut self, topic: &TopicRef, leader: Leader) -> Result<bool, WorkloadError> {
        for which in [LogEnd::Earliest, LogEnd::Latest] {
            let Some(offset) = self
                .session
                .list_offset(topic, leader, self.partition, which)
                .await?
            else {
                return Ok(self.failed("an end of the log was asked for in vain"));
            };
            match which {
                LogEnd::Earliest => (self.progress.start, self.progress.position) = (Some(offset), offset),
                LogEnd::Latest => self.progress.end = Some(offset),
            }
        }
        Ok(true)
    }

    async fn poll(&mut self, topic: &TopicRef, leader: Leader) -> Result<bool, WorkloadError> {
        let from = self.progress.position;
        let polled = self
            .session
            .poll(topic, leader, self.partition, from, POLL_WAIT, true)
            .await?;
        self.progress.position = polled.next;
        match polled.error {
            None if polled.next > from => Ok(true),
            None => Ok(self.failed(&format!(
                "the poll from offset {from} was answered without a record"
            ))),
            Some(error) => Ok(self.failed(&error)),
        }
    }

    fn failed(&mut self, why: &str) -> bool {
        self.progress.trouble = Some(why.to_owned());
        false
    }
}

fn is_settled(state: &PartitionState, min_insync_replicas: i32) -> bool {
    let wanted = usize::try_from(min_insync_replicas)
        .unwrap_or(0)
        .min(state.replicas.len());
    state.leader >= 0 && state.isr.len() >= wanted
}
