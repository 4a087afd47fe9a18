//! The controllers: each quorum voter has one, and one of them is active.

use std::collections::VecDeque;

use controller::{Config, Controller, CreateTopic, ELR_FEATURE, Image, MIN_INSYNC_REPLICAS, Placement};
use raft::{Epoch, Raft};
use records::Record;
use uuid::Uuid;

use super::ClusterSettings;
use super::message::{Origin, Reply, Request};
use crate::quorum::Violation;

/// The topic.
pub(super) const TOPIC: Uuid = Uuid::from_u128(0x70);

/// A metadata record in the quorum's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub(super) record: Record,
    /// The base offset of its batch.
    pub(super) batch: i64,
}

/// One node's controller.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) controller: Controller,
    /// Up to where its image is committed, and checked.
    pub(super) applied: i64,
    pub(super) active: Option<Active>,
    /// A fresh request, or a fresh look at the sessions.
    pub(super) inbox: VecDeque<(Origin, Request)>,
    pub(super) tick: bool,
}

/// What only the active one has.
#[derive(Debug)]
pub(super) struct Active {
    epoch: Epoch,
    /// Images after records that it has replayed and that are not committed yet.
    pub(super) ahead: VecDeque<(i64, Image)>,
    /// Answers, and the offset below which all must be committed first.
    pub(super) answers: Vec<(i64, Origin, Reply)>,
}

impl Node {
    pub(super) fn new(config: Config) -> Self {
        Self {
            controller: Controller::new(config),
            applied: 0,
            active: None,
            inbox: VecDeque::new(),
            tick: false,
        }
    }

    /// Becomes active, or stops being so, as the quorum says. `committed` is the committed log.
    pub(super) fn follow(
        &mut self,
        now_ms: u64,
        raft: &Raft,
        committed: &[Option<Entry>],
    ) -> Result<(), Violation> {
        if self.active.as_ref().map(|active| active.epoch) == raft.active_epoch() {
            return Ok(());
        }
        if self.active.take().is_some() {
            self.controller.reset();
            let known = usize::try_from(self.applied).unwrap_or(0);
            for (offset, entry) in (0..).zip(&committed[..known]) {
                replay(&mut self.controller, offset, entry.as_ref())?;
            }
        }
        self.inbox.clear();
        if let Some(epoch) = raft.active_epoch() {
            self.controller.activate(now_ms);
            self.active = Some(Active {
                epoch,
                ahead: VecDeque::new(),
                answers: Vec::new(),
            });
        }
        Ok(())
    }

    /// The next batch to append, if there is anything to do.
    pub(super) fn next_batch(
        &mut self,
        now_ms: u64,
        end_offset: i64,
        settings: &ClusterSettings,
    ) -> Result<Option<(Epoch, Vec<Entry>)>, Violation> {
        let Some(epoch) = self.active.as_ref().map(|active| active.epoch) else {
            return Ok(None);
        };
        let records = self.next_records(now_ms, end_offset, settings);
        if records.is_empty() {
            return Ok(None);
        }
        let batch: Vec<_> = records
            .into_iter()
            .map(|record| Entry {
                record,
                batch: end_offset,
            })
            .collect();
        for (offset, entry) in (end_offset..).zip(&batch) {
            replay(&mut self.controller, offset, Some(entry))?;
            let image = self.controller.image().clone();
            if let Some(active) = &mut self.active {
                active.ahead.push_back((offset, image));
            }
        }
        Ok(Some((epoch, batch)))
    }

    fn next_records(&mut self, now_ms: u64, end_offset: i64, settings: &ClusterSettings) -> Vec<Record> {
        if self.controller.image().features().is_empty() {
            let level = i16::from(settings.flaw != Some(super::Flaw::NoElr));
            return self
                .controller
                .bootstrap_records([(ELR_FEATURE.to_owned(), level)]);
        }
        while let Some((origin, request)) = self.inbox.pop_front() {
            let (records, reply) = self.answer(now_ms, end_offset, request);
            let all = end_offset + i64::try_from(records.len()).unwrap_or(0);
            if let Some(active) = &mut self.active {
                active.answers.push((all, origin, reply));
            }
            if !records.is_empty() {
                return records;
            }
        }
        if std::mem::take(&mut self.tick) {
            let fenced = self.controller.tick(now_ms);
            if !fenced.is_empty() {
                return fenced;
            }
            return self.create_topic(settings);
        }
        Vec::new()
    }

    fn answer(&mut self, now_ms: u64, end_offset: i64, request: Request) -> (Vec<Record>, Reply) {
        match request {
            Request::Register(register) => {
                let outcome = self.controller.register_broker(now_ms, end_offset, &register);
                (outcome.records, Reply::Registered(outcome.reply))
            }
            Request::Heartbeat(heartbeat) => {
                let outcome = self.controller.heartbeat(now_ms, &heartbeat);
                (outcome.records, Reply::Heartbeat(outcome.reply))
            }
            Request::Alter(partition, alter) => {
                let outcome = self.controller.alter_partition(&alter);
                (outcome.records, Reply::Altered(partition, outcome.reply))
            }
        }
    }

    /// Creates the topic once, as soon as there are brokers enough.
    fn create_topic(&self, settings: &ClusterSettings) -> Vec<Record> {
        let image = self.controller.image();
        let active: Vec<i32> = image
            .brokers()
            .keys()
            .copied()
            .filter(|id| image.is_active(*id))
            .collect();
        if image.topics().contains_key(&TOPIC) || active.len() < settings.replication_factor {
            return Vec::new();
        }
        let replicas = |partition: usize| {
            let turned = active.iter().cycle().skip(partition).copied();
            turned.take(settings.replication_factor).collect()
        };
        let min_isr = (MIN_INSYNC_REPLICAS.to_owned(), settings.min_isr.to_string());
        let request = CreateTopic {
            name: "ledger".to_owned(),
            topic_id: TOPIC,
            placement: Placement::Assigned((0..settings.partitions).map(replicas).collect()),
            configs: [min_isr].into(),
        };
        self.controller.create_topic(&request).records
    }
}

/// Takes in a record; a quorum's own are none of the controller's business.
pub(super) fn replay(
    controller: &mut Controller,
    offset: i64,
    entry: Option<&Entry>,
) -> Result<(), Violation> {
    let Some(entry) = entry else {
        return Ok(());
    };
    controller
        .replay(offset, entry.batch, &entry.record)
        .map_err(|error| Violation::Application(error.to_string()))
}
