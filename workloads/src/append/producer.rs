//! A producer: one record, one request, one operation.

use super::{AppendPlan, Counters, Stop};
use crate::context::{Context, WorkloadError};
use crate::session::{Session, key};
use crate::streams::Stream;
use crate::value;
use client::calls::{Produce, Produced, TopicRef};
use client::{Error, Leader, Leaders, Outcome, outcome};
use history::{Body, Kind, Send};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::time::sleep;

pub(super) struct Producer {
    plan: Arc<AppendPlan>,
    session: Session,
    number: u32,
    sequence: u64,
    stream: Stream,
    count: Arc<watch::Sender<Counters>>,
}

impl Producer {
    pub(super) fn new(
        plan: &Arc<AppendPlan>,
        context: &Context,
        leaders: &Arc<Leaders>,
        number: u32,
        stream: Stream,
        count: Arc<watch::Sender<Counters>>,
    ) -> Producer {
        let session = Session::new(context.clone(), leaders.clone());
        Producer {
            plan: plan.clone(),
            session,
            number,
            sequence: 0,
            stream,
            count,
        }
    }

    pub(super) async fn run(mut self, mut stop: Stop) -> Result<(), WorkloadError> {
        loop {
            let last = u64::try_from(self.plan.partitions - 1).unwrap_or(0);
            // Below 2^31, for so the plan has it.
            let partition = self.stream.within(0..=last) as i32;
            let Some(found) = stop.unless(self.session.leader(partition)).await else {
                return Ok(());
            };
            let pause = match found {
                Some((topic, leader)) => match self.send(topic, leader, partition).await? {
                    Outcome::Ok => self.plan.pause,
                    Outcome::Fail | Outcome::Info => self.stream.back_off(),
                },
                None => self.stream.back_off(),
            };
            if stop.unless(sleep(pause)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// One operation, from its invocation to its completion.
    async fn send(
        &mut self,
        topic: TopicRef,
        leader: Leader,
        partition: i32,
    ) -> Result<Outcome, WorkloadError> {
        let value = value::value(self.number.into(), self.sequence)
            .ok_or_else(|| WorkloadError::Plan(format!("producer {} has used up its values", self.number)))?;
        self.sequence += 1;
        let mut send = Send {
            key: key(&topic, partition),
            value,
            acks: self.plan.acks.number(),
            node: Some(leader.node),
            offset: None,
            error: None,
        };
        let request = self.request(topic, partition, value);
        self.session.record(Kind::Invoke, Body::Send(send.clone()))?;
        let answer = self.attempt(leader, &request).await;
        let (ended, ends_process) = complete(&mut send, answer);
        self.session.record(ended.kind(), Body::Send(send))?;
        self.session.ended(ended, ends_process);
        self.count.send_modify(|count| count.sent(self.plan.acks, ended));
        Ok(ended)
    }

    fn request(&mut self, topic: TopicRef, partition: i32, value: u64) -> Produce {
        let (least, largest) = self.plan.record_bytes;
        let bytes = self.stream.within(least as u64..=largest as u64) as usize;
        // A clock before 1970 is not worth failing for: the timestamp is for people.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Produce {
            topic,
            partition,
            acks: self.plan.acks,
            timeout: self.plan.producer_timeout,
            timestamp_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
            value: value::payload(value, bytes),
        }
    }

    async fn attempt(&mut self, leader: Leader, request: &Produce) -> Result<Produced, Error> {
        self.session.connection(leader).await?.produce(request).await
    }
}

/// Fills in how it ended; also whether the client must end with it.
fn complete(send: &mut Send, answer: Result<Produced, Error>) -> (Outcome, bool) {
    match answer {
        Ok(produced) => {
            send.offset = produced.offset;
            send.error = produced.error.error().map(|error| error.to_string());
            let row = outcome::row_of(produced.error);
            (row.outcome, row.ends_process)
        }
        Err(error) => {
            send.error = Some(error.to_string());
            (outcome::of_error(&error), false)
        }
    }
}
