//! Leading a partition: appends, progress, high watermark, ISR.

use controller::{
    AlterPartition, AlterPartitionAnswer, ErrorCode, Partition, PartitionToAlter, effective_min_isr,
};
use raft::Nanos;

use super::app::Cluster;
use super::broker::{Broker, Follower, Following, Leading, Role};
use super::controllers::TOPIC;
use super::log::{Entry, divergence};
use super::message::{Fetch, Fetched, Request};
use super::settings::Flaw;
use crate::quorum::{MILLISECOND, Violation};

/// `replica.lag.time.max.ms`.
const LAG_MAX: Nanos = 120 * MILLISECOND;
/// A proposal without an answer is repeated after so long.
const PROPOSAL_PATIENCE: Nanos = 60 * MILLISECOND;
/// The most records in an answer.
const FETCH_MAX: usize = 20;

impl Cluster {
    /// A new leader epoch gives this replica its part.
    pub(super) fn take_part(&mut self, now: Nanos, node: usize, partition: usize, state: &Partition) {
        let broker = self.broker_mut(node);
        let id = broker.id();
        let role = if state.leader == id {
            Role::Leader(leading(now, id, state, broker.logs[partition].len()))
        } else if state.leader >= 0 && state.replicas.contains(&id) {
            Role::Follower(Following {
                leader: state.leader,
                waiting: None,
            })
        } else {
            Role::None
        };
        let leads = matches!(role, Role::Leader(_));
        if let Some(process) = &mut broker.process {
            let replica = &mut process.replicas[partition];
            replica.leader_epoch = state.leader_epoch;
            replica.partition_epoch = state.partition_epoch;
            replica.role = role;
        }
        if leads {
            self.begun.push((node, partition, state.leader_epoch));
        }
    }

    /// The same leader, but another ISR.
    pub(super) fn refresh(&mut self, node: usize, partition: usize, state: &Partition) {
        if let Some(process) = &mut self.broker_mut(node).process {
            let replica = &mut process.replicas[partition];
            replica.partition_epoch = state.partition_epoch;
            if let Role::Leader(leading) = &mut replica.role {
                leading.isr.clone_from(&state.isr);
                leading.recovering = state.recovering;
                leading.proposed = None;
            }
        }
    }

    /// Checks, for each leadership that began, that nothing acknowledged and covered is missing.
    pub(super) fn check_begun(&mut self) -> Result<(), Violation> {
        for (node, partition, leader_epoch) in std::mem::take(&mut self.begun) {
            let voters = self.settings.quorum.voters;
            let log = &self.brokers[node - voters].logs[partition];
            let promise = self.promises.get(partition);
            if let Some((offset, number)) = promise.and_then(|it| it.lost(leader_epoch, log)) {
                return Err(Violation::Application(format!(
                    "acknowledged record lost: number {number} at offset {offset} of partition \
                     {partition} is not in the log of broker {node}, leader of epoch {leader_epoch}"
                )));
            }
        }
        Ok(())
    }

    /// A client's record, if this broker believes that it leads and may append.
    pub(super) fn produce(&mut self, now: Nanos, node: usize, partition: usize) -> bool {
        let min_isr = self.min_isr();
        let number = self.next_number;
        let broker = self.broker_mut(node);
        let Some((leading, leader_epoch, log, _)) = leader_parts(broker, partition) else {
            return false;
        };
        if leading.isr.len() < min_isr {
            return false;
        }
        let entry = Entry { leader_epoch, number };
        leading.waiting.push((log.len(), entry, now));
        log.push(entry);
        self.next_number += 1;
        self.advance(node, partition);
        true
    }

    pub(super) fn min_isr(&self) -> usize {
        let configured = i32::try_from(self.settings.min_isr).unwrap_or(i32::MAX);
        effective_min_isr(configured, self.settings.replication_factor)
    }

    /// Moves the high watermark, unless too few are in sync, and tells the clients.
    fn advance(&mut self, node: usize, partition: usize) {
        let min_isr = self.min_isr();
        let lax = self.settings.flaw == Some(Flaw::LaxHighWatermark);
        let broker = self.broker_mut(node);
        let id = broker.id();
        let Some((leading, _, log, high_watermark)) = leader_parts(broker, partition) else {
            return;
        };
        if leading.isr.len() < min_isr && !lax {
            return;
        }
        let maximal = leading.maximal_isr();
        let end = |member: &i32| {
            let follower = leading.followers.iter().find(|it| it.id == *member);
            follower.map_or(0, |it| it.end.unwrap_or(0))
        };
        let others = maximal.iter().filter(|member| **member != id).map(end);
        let reached = others.chain([log.len()]).min().unwrap_or(0);
        *high_watermark = (*high_watermark).max(reached);
        let safe = |waiting: &mut (usize, Entry, Nanos)| waiting.0 < *high_watermark;
        let done: Vec<_> = leading.waiting.extract_if(.., safe).collect();
        if maximal.len() >= min_isr || lax {
            for (offset, entry, sent) in done {
                self.promises[partition].acknowledge(sent, offset, entry);
            }
        }
    }

    /// A follower's fetch: noted, and answered.
    pub(super) fn on_fetch(&mut self, now: Nanos, node: usize, fetch: &Fetch) -> Option<Fetched> {
        let broker = self.broker_mut(node);
        let process = broker.process.as_ref()?;
        let follower = i32::try_from(fetch.origin.broker).ok()?;
        let known = process.metadata.image().brokers().get(&follower)?.epoch;
        let (leading, leader_epoch, log, high_watermark) = leader_parts(broker, fetch.partition)?;
        // From another epoch, or from a life that the metadata knows to be over.
        if leader_epoch != fetch.leader_epoch || fetch.broker_epoch < known {
            return None;
        }
        if let Some((epoch, end)) = divergence(log, fetch.offset, fetch.last_epoch) {
            return Some(Fetched::Diverging(epoch, end));
        }
        let end = log.len();
        let to = end.min(fetch.offset + FETCH_MAX);
        let records = log.get(fetch.offset..to)?.to_vec();
        if let Some(noted) = leading.followers.iter_mut().find(|it| it.id == follower) {
            noted.end = Some(fetch.offset);
            noted.broker_epoch = fetch.broker_epoch;
            if fetch.offset == end {
                noted.caught_up_at = now;
            }
        }
        let high_watermark = *high_watermark;
        self.advance(node, fetch.partition);
        self.propose(now, node, fetch.partition);
        Some(Fetched::Records(records, high_watermark))
    }

    /// Proposes another ISR where one is due, or the same again where no answer came.
    pub(super) fn propose(&mut self, now: Nanos, node: usize, partition: usize) {
        let broker = self.broker_mut(node);
        let id = broker.id();
        let Some(process) = &broker.process else {
            return;
        };
        let (Some(epoch), Some(controller)) = (process.epoch, process.controller) else {
            return;
        };
        let wanted = match &process.replicas[partition].role {
            Role::Leader(leading) => match &leading.proposed {
                Some((_, at)) if now < at + PROPOSAL_PATIENCE => None,
                Some((proposed, _)) => Some(proposed.clone()),
                None => wanted_isr(now, broker, leading, partition),
            },
            _ => None,
        };
        let Some(new_isr) = wanted else {
            return;
        };
        let partition_epoch = process.replicas[partition].partition_epoch;
        let Some((leading, leader_epoch, _, _)) = leader_parts(broker, partition) else {
            return;
        };
        leading.proposed = Some((new_isr.clone(), now));
        let request = AlterPartition {
            broker_id: id,
            broker_epoch: epoch,
            partitions: vec![PartitionToAlter {
                topic_id: TOPIC,
                partition_id: i32::try_from(partition).unwrap_or(i32::MAX),
                leader_epoch,
                partition_epoch,
                new_isr,
                recovering: false,
            }],
        };
        self.ask_controller(node, controller, Request::Alter(partition, request));
    }

    /// The controller's answer. What was done arrives with the metadata, and so does whatever came
    /// first; only a proposal that did nothing, or that will never do, is withdrawn.
    pub(super) fn on_altered(&mut self, node: usize, partition: usize, answer: AlterPartitionAnswer) {
        let broker = self.broker_mut(node);
        let known = broker
            .process
            .as_ref()
            .map(|it| it.replicas[partition].partition_epoch);
        let withdrawn = answer.iter().flatten().any(|answer| match answer {
            Ok(altered) => Some(altered.partition_epoch) == known,
            Err(error) => *error == ErrorCode::IneligibleReplica,
        });
        if let (true, Some((leading, ..))) = (withdrawn, leader_parts(broker, partition)) {
            leading.proposed = None;
        }
    }
}

fn leading(now: Nanos, id: i32, state: &Partition, start: usize) -> Leading {
    let others = state.replicas.iter().copied().filter(|other| *other != id);
    let follower = |id| Follower {
        id,
        end: None,
        broker_epoch: -1,
        caught_up_at: now,
    };
    Leading {
        start,
        isr: state.isr.clone(),
        proposed: None,
        followers: others.map(follower).collect(),
        waiting: Vec::new(),
        recovering: state.recovering,
    }
}

/// What a leader works on: its view, its epoch, its log and its high watermark.
fn leader_parts(
    broker: &mut Broker,
    partition: usize,
) -> Option<(&mut Leading, i32, &mut Vec<Entry>, &mut usize)> {
    let replica = &mut broker.process.as_mut()?.replicas[partition];
    let Role::Leader(leading) = &mut replica.role else {
        return None;
    };
    let (log, high_watermark) = (
        &mut broker.logs[partition],
        &mut broker.high_watermarks[partition],
    );
    Some((leading, replica.leader_epoch, log, high_watermark))
}

/// The ISR that the followers' progress asks for, where it is another than the committed one.
fn wanted_isr(now: Nanos, broker: &Broker, leading: &Leading, partition: usize) -> Option<Vec<(i32, i64)>> {
    let image = broker.process.as_ref()?.metadata.image();
    let id = broker.id();
    let epoch_of = |member: i32| image.brokers().get(&member).map_or(-1, |it| it.epoch);
    let follower = |member: i32| leading.followers.iter().find(|it| it.id == member);
    let keeps_up =
        |member: &i32| *member == id || follower(*member).is_some_and(|it| now < it.caught_up_at + LAG_MAX);
    let kept: Vec<i32> = leading.isr.iter().copied().filter(keeps_up).collect();
    if kept.len() < leading.isr.len() {
        return Some(
            kept.into_iter()
                .map(|member| (member, epoch_of(member)))
                .collect(),
        );
    }
    let caught_up = |it: &&Follower| {
        let end = it.end.unwrap_or(0);
        it.end.is_some()
            && !leading.isr.contains(&it.id)
            && end >= broker.high_watermarks[partition]
            && end >= leading.start
            && now < it.caught_up_at + LAG_MAX
            && image.is_active(it.id)
            && it.broker_epoch == epoch_of(it.id)
    };
    let mut wanted: Vec<_> = kept
        .into_iter()
        .map(|member| (member, epoch_of(member)))
        .collect();
    let joining = leading.followers.iter().find(caught_up);
    if let Some(joining) = joining {
        wanted.push((joining.id, joining.broker_epoch));
    }
    (joining.is_some() || leading.recovering).then_some(wanted)
}
