//! The append workload: producers send unique records, one request an operation, and readers poll all partitions; where
//! there are readers, a prober of each partition asks for its end, about five times a second.
//!
//! What bounds the history: a producer waits [`AppendPlan::pause`] after an acknowledgement and 20 to 50 ms after
//! anything else. A reader's poll waits at the broker while there is nothing new, so an idle partition costs each
//! reader about four polls a second; empty polls are recorded like all others.

mod counters;
mod prober;
mod producer;
mod reader;

pub use counters::Counters;

use crate::context::{Context, WorkloadError};
use crate::streams::{Role, Stream};
use crate::value;
use client::Leaders;
use client::calls::Acks;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// What to append, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendPlan {
    /// The topic. It must exist, or come to exist: it is not created here.
    pub topic: String,
    /// How many partitions of it, from 0 on.
    pub partitions: i32,
    /// How many producers.
    pub producers: u32,
    /// The least and the largest size of a record's value, in bytes.
    pub record_bytes: (usize, usize),
    /// How many readers of each partition.
    pub readers: u32,
    /// How long a broker may take to acknowledge.
    pub producer_timeout: Duration,
    /// Whose acknowledgement is asked for.
    pub acks: Acks,
    /// How long a producer waits after an acknowledgement.
    pub pause: Duration,
}

impl AppendPlan {
    fn check(&self) -> Result<(), WorkloadError> {
        let (least, largest) = self.record_bytes;
        let wrong = if self.topic.is_empty() {
            "the topic has no name".to_owned()
        } else if self.partitions < 1 {
            format!("{} partitions where at least 1 is needed", self.partitions)
        } else if least < value::MIN_BYTES || least > largest || largest > value::MAX_BYTES {
            format!(
                "records of {least} to {largest} bytes; they may have {} to {}",
                value::MIN_BYTES,
                value::MAX_BYTES
            )
        } else if u64::from(self.producers) > value::MAX_PRODUCERS {
            format!(
                "{} producers, at most {} have values of their own",
                self.producers,
                value::MAX_PRODUCERS
            )
        } else {
            return Ok(());
        };
        Err(WorkloadError::Plan(wrong))
    }
}

/// The workload as it runs. Dropping it stops it too, but then nobody learns of its error.
#[derive(Debug)]
pub struct Append {
    counters: watch::Receiver<Counters>,
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), WorkloadError>>,
}

impl Append {
    /// Starts the clients.
    ///
    /// # Errors
    /// Where the plan is wrong.
    pub fn start(plan: AppendPlan, context: Context) -> Result<Append, WorkloadError> {
        plan.check()?;
        let (count, counters) = watch::channel(Counters::default());
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(run(Arc::new(plan), context, Arc::new(count), stopped));
        Ok(Append { counters, stop, task })
    }

    /// The counters as they grow. Their sender is gone when the workload has ended: waiting then fails.
    pub fn counters(&self) -> watch::Receiver<Counters> {
        self.counters.clone()
    }

    /// Whether it has ended by itself; [`Append::stop`] says why.
    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Begins no further operation and waits for those in flight: each completes, or ends as info at its own
    /// limit.
    ///
    /// # Errors
    /// Where the workload failed, now or before.
    pub async fn stop(self) -> Result<Counters, WorkloadError> {
        // No receiver means that all clients have ended, which is what we want.
        let _ = self.stop.send(true);
        let ended = self
            .task
            .await
            .unwrap_or_else(|why| Err(WorkloadError::Died(why.to_string())));
        ended.map(|()| *self.counters.borrow())
    }
}

/// Starts the clients and waits for all of them; the first error stops the others.
async fn run(
    plan: Arc<AppendPlan>,
    context: Context,
    count: Arc<watch::Sender<Counters>>,
    stopped: watch::Receiver<bool>,
) -> Result<(), WorkloadError> {
    let leaders = Arc::new(Leaders::new(context.cluster.clone(), plan.topic.clone()));
    let (fail, failed) = watch::channel(false);
    let stop = Stop {
        asked: stopped,
        failed,
    };
    let mut clients = JoinSet::new();
    for number in 0..plan.producers {
        let stream = Stream::new(context.seed, Role::Producer, number);
        let count = count.clone();
        let producer = producer::Producer::new(&plan, &context, &leaders, number, stream, count);
        clients.spawn(producer.run(stop.clone()));
    }
    let partitions = 0..plan.partitions;
    let polls = (0..plan.readers).flat_map(|_| partitions.clone());
    for (number, partition) in (0..).zip(polls) {
        let stream = Stream::new(context.seed, Role::Reader, number);
        let reader = reader::Reader::new(&context, &leaders, partition, stream, count.clone());
        clients.spawn(reader.run(stop.clone()));
    }
    for partition in partitions.filter(|_| plan.readers > 0) {
        clients.spawn(prober::Prober::new(&context, &leaders, partition).run(stop.clone()));
    }
    // The tasks hold the counters from here on: the last to end closes the channel.
    drop(count);
    let mut ended = Ok(());
    while let Some(client) = clients.join_next().await {
        let result = client.unwrap_or_else(|why| Err(WorkloadError::Died(why.to_string())));
        if result.is_err() && ended.is_ok() {
            ended = result;
            fail.send_replace(true);
        }
    }
    ended
}

/// When to begin no further operation.
#[derive(Clone)]
struct Stop {
    asked: watch::Receiver<bool>,
    failed: watch::Receiver<bool>,
}

impl Stop {
    fn is_set(&self) -> bool {
        // A handle that was dropped is a stop as well.
        *self.asked.borrow() || self.asked.has_changed().is_err() || *self.failed.borrow()
    }

    /// Waits between operations, or for what comes before one; none where it is time to stop.
    async fn unless<T>(&mut self, wait: impl Future<Output = T>) -> Option<T> {
        if self.is_set() {
            return None;
        }
        tokio::select! {
            done = wait => Some(done),
            _ = self.asked.wait_for(|asked| *asked) => None,
            _ = self.failed.wait_for(|failed| *failed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> AppendPlan {
        AppendPlan {
            topic: "t".into(),
            partitions: 1,
            producers: 1,
            record_bytes: (100, 200),
            readers: 1,
            producer_timeout: Duration::from_secs(1),
            acks: Acks::All,
            pause: Duration::ZERO,
        }
    }

    #[test]
    fn plans_are_checked() {
        assert!(plan().check().is_ok());
        for wrong in [
            AppendPlan {
                topic: String::new(),
                ..plan()
            },
            AppendPlan {
                partitions: 0,
                ..plan()
            },
            AppendPlan {
                record_bytes: (200, 100),
                ..plan()
            },
            AppendPlan {
                record_bytes: (1, 100),
                ..plan()
            },
            AppendPlan {
                record_bytes: (100, 2_000_000),
                ..plan()
            },
            AppendPlan {
                producers: u32::MAX,
                ..plan()
            },
        ] {
            assert!(matches!(wrong.check(), Err(WorkloadError::Plan(_))), "{wrong:?}");
        }
    }
}
