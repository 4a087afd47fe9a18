//! Following a partition's leader.

use raft::Nanos;

use super::app::Cluster;
use super::broker::{Process, Role};
use super::log::end_of;
use super::message::{Arrival, Event, Fetch, Fetched, Letter};
use crate::quorum::{MILLISECOND, Post};

/// A fetch without an answer is given up after so long.
const FETCH_PATIENCE: Nanos = 30 * MILLISECOND;

impl Cluster {
    /// Sends a fetch, unless one is under way.
    pub(super) fn fetch(&mut self, now: Nanos, node: usize, partition: usize) {
        let broker = self.broker_mut(node);
        let origin = broker.origin();
        let log = &broker.logs[partition];
        let Some(Process {
            replicas,
            next_fetch,
            epoch: Some(broker_epoch),
            ..
        }) = &mut broker.process
        else {
            return;
        };
        let replica = &mut replicas[partition];
        let Role::Follower(following) = &mut replica.role else {
            return;
        };
        if following.waiting.is_some_and(|(_, until)| now < until) {
            return;
        }
        *next_fetch += 1;
        following.waiting = Some((*next_fetch, now + FETCH_PATIENCE));
        let Ok(leader) = usize::try_from(following.leader) else {
            return;
        };
        let fetch = Fetch {
            partition,
            origin,
            broker_epoch: *broker_epoch,
            leader_epoch: replica.leader_epoch,
            number: *next_fetch,
            offset: log.len(),
            last_epoch: log.last().map(|entry| entry.leader_epoch),
        };
        let event = Event::Arrival(Arrival(Letter::Fetch(leader, fetch)));
        self.posts.push(Post::Message {
            from: node,
            to: leader,
            event,
        });
    }

    /// Takes in an answer, if it is to the fetch under way.
    pub(super) fn on_fetched(&mut self, fetch: &Fetch, fetched: Fetched) {
        let broker = self.broker_mut(fetch.origin.broker);
        let Some(process) = &mut broker.process else {
            return;
        };
        let replica = &mut process.replicas[fetch.partition];
        let Role::Follower(following) = &mut replica.role else {
            return;
        };
        let awaited = following
            .waiting
            .is_some_and(|(number, _)| number == fetch.number);
        if !awaited || replica.leader_epoch != fetch.leader_epoch {
            return;
        }
        following.waiting = None;
        let log = &mut broker.logs[fetch.partition];
        let high_watermark = &mut broker.high_watermarks[fetch.partition];
        match fetched {
            Fetched::Diverging(epoch, end) => {
                let own = epoch.map_or(0, |epoch| end_of(log, epoch).1);
                log.truncate(own.min(end));
                *high_watermark = (*high_watermark).min(log.len());
            }
            Fetched::Records(records, leaders) => {
                log.extend(records);
                *high_watermark = leaders.min(log.len());
            }
        }
    }
}
