//! Reading, as operations of the history: polls, and questions for an end of a log.

use super::{Session, key};
use crate::value;
use client::batch::{Batch, Content};
use client::calls::{Fetch, Fetched, ListedOffset, OffsetQuestion, TopicRef};
use client::{Error, ErrorCode, Leader, Outcome, outcome};
use history::{Body, Kind, ListOffsets, LogEnd, Poll, Record};
use std::io;
use std::time::Duration;

/// How much a poll asks for.
const POLL_BYTES: i32 = 1 << 20;
/// How many offsets of a corrupt batch are told: more than any batch of ours holds, and few enough to write.
const MAX_CORRUPT_OFFSETS: i64 = 1000;

/// How a poll ended.
pub(crate) struct Polled {
    pub(crate) outcome: Outcome,
    /// The error of the answer.
    pub(crate) code: Option<ErrorCode>,
    /// What went wrong, for people.
    pub(crate) error: Option<String>,
    /// How many records it showed.
    pub(crate) records: usize,
    /// Where the next one starts.
    pub(crate) next: i64,
}

impl Session {
    /// One poll, from its invocation to its completion.
    pub(crate) async fn poll(
        &mut self,
        topic: &TopicRef,
        leader: Leader,
        partition: i32,
        from: i64,
        wait: Duration,
        last: bool,
    ) -> io::Result<Polled> {
        let mut poll = Poll {
            key: key(topic, partition),
            from,
            node: Some(leader.node),
            last,
            records: Vec::new(),
            high_watermark: None,
            log_start: None,
            error: None,
        };
        let fetch = Fetch {
            topic: topic.clone(),
            partition,
            offset: from,
            current_leader_epoch: leader.epoch,
            last_fetched_epoch: -1,
            known_high_watermark: None,
            max_wait: wait,
            max_bytes: POLL_BYTES,
        };
        self.record(Kind::Invoke, Body::Poll(poll.clone()))?;
        let answer = self.fetch(leader, &fetch).await;
        let polled = complete_poll(&mut poll, answer);
        self.record(polled.outcome.kind(), Body::Poll(poll))?;
        self.ended(polled.outcome, false);
        Ok(polled)
    }

    async fn fetch(&mut self, leader: Leader, fetch: &Fetch) -> Result<Fetched, Error> {
        self.connection(leader).await?.fetch(fetch).await
    }

    /// One question for an end of a log, from its invocation to its completion; none where there is no answer,
    /// or an error in it.
    pub(crate) async fn list_offset(
        &mut self,
        topic: &TopicRef,
        leader: Leader,
        partition: i32,
        which: LogEnd,
    ) -> io::Result<Option<i64>> {
        let mut asked = ListOffsets {
            key: key(topic, partition),
            which,
            node: leader.node,
            epoch: leader.epoch,
            offset: None,
            error: None,
        };
        let question = OffsetQuestion {
            topic: topic.name.clone(),
            partition,
            current_leader_epoch: leader.epoch,
            which,
        };
        self.record(Kind::Invoke, Body::ListOffsets(asked.clone()))?;
        let answer = self.ask(leader, &question).await;
        let ended = complete_question(&mut asked, answer);
        let offset = asked.offset;
        self.record(ended.kind(), Body::ListOffsets(asked))?;
        self.ended(ended, false);
        Ok(offset)
    }

    async fn ask(&mut self, leader: Leader, question: &OffsetQuestion) -> Result<ListedOffset, Error> {
        self.connection(leader).await?.list_offset(question).await
    }
}

/// A read that was answered with an error certainly did not happen: reading leaves no trace to appear later.
fn refused(code: ErrorCode) -> Outcome {
    if code.is_none() {
        Outcome::Ok
    } else {
        Outcome::Fail
    }
}

fn complete_poll(poll: &mut Poll, answer: Result<Fetched, Error>) -> Polled {
    let from = poll.from;
    let failed = |outcome, code, error: String| Polled {
        outcome,
        code,
        error: Some(error),
        records: 0,
        next: from,
    };
    let polled = match answer {
        Err(error) => failed(outcome::of_error(&error), None, error.to_string()),
        Ok(fetched) => {
            poll.high_watermark = (fetched.high_watermark >= 0).then_some(fetched.high_watermark);
            poll.log_start = (fetched.log_start >= 0).then_some(fetched.log_start);
            match refused(fetched.error) {
                Outcome::Ok => {
                    poll.records = records(&fetched.batches, from);
                    let last = fetched
                        .batches
                        .last()
                        .map_or(from, |batch| batch.last_offset.saturating_add(1));
                    Polled {
                        outcome: Outcome::Ok,
                        code: None,
                        error: None,
                        records: poll.records.len(),
                        next: last.max(from),
                    }
                }
                outcome => failed(outcome, Some(fetched.error), fetched.error.to_string()),
            }
        }
    };
    poll.error.clone_from(&polled.error);
    polled
}

/// The records from an offset on. A fetch is answered with whole batches, whose first may begin before it.
fn records(batches: &[Batch], from: i64) -> Vec<Record> {
    let mut records = Vec::new();
    for batch in batches {
        let epoch = batch.leader_epoch;
        match &batch.content {
            Content::Control(_) => {}
            Content::Corrupt(_) => {
                let last = batch
                    .last_offset
                    .min(batch.base_offset.saturating_add(MAX_CORRUPT_OFFSETS));
                records.extend((batch.base_offset..=last).map(|offset| Record {
                    offset,
                    value: None,
                    epoch,
                }));
            }
            Content::Records(read) => records.extend(read.iter().map(|(offset, payload)| Record {
                offset: *offset,
                value: payload.as_deref().and_then(value::parse),
                epoch,
            })),
        }
    }
    records.retain(|record| record.offset >= from);
    records
}

fn complete_question(asked: &mut ListOffsets, answer: Result<ListedOffset, Error>) -> Outcome {
    match answer {
        Ok(listed) if listed.error.is_none() => {
            asked.offset = Some(listed.offset);
            Outcome::Ok
        }
        Ok(listed) => {
            asked.error = Some(listed.error.to_string());
            Outcome::Fail
        }
        Err(error) => {
            asked.error = Some(error.to_string());
            outcome::of_error(&error)
        }
    }
}
