//! What the controllers say: each is asked all the time who leads, and a leader for what is committed.

use super::log::Log;
use client::calls::{Fetch, Fetched, QuorumDescription, TopicRef};
use client::observer::METADATA_TOPIC;
use client::{Connection, Error, Options, TopicId};
use ground::sys::monotonic_ns;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Between two questions to one controller.
const PAUSE: Duration = Duration::from_millis(5);
/// How long an exchange may take: one with a controller that was cut off must not outlast its heal for long.
const ATTEMPT: Duration = Duration::from_millis(150);
/// The metadata topic's id, the same in every cluster.
const METADATA_TOPIC_ID: TopicId = TopicId::from_u128(1);
/// How much a fetch asks for.
const FETCH_BYTES: i32 = 1 << 20;

/// A controller's last answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// When it was asked.
    pub asked_ns: u64,
    /// Its epoch.
    pub epoch: i32,
    /// Whom it takes for the leader; −1 is nobody.
    pub leader: i32,
    /// Whether it leads.
    pub leads: bool,
}

/// A leader that was seen active: its high watermark is past a record of its own epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// When it was asked.
    pub asked_ns: u64,
    /// When its answer was there.
    pub at_ns: u64,
    /// Who.
    pub node: i32,
    /// Its epoch.
    pub epoch: i32,
    /// Its high watermark.
    pub high_watermark: i64,
}

/// All that was seen of the quorum.
#[derive(Default)]
pub struct Seen {
    inner: Mutex<Inner>,
}

/// What is behind the lock.
#[derive(Default)]
pub struct Inner {
    /// The committed log so far.
    pub log: Log,
    /// Each controller's last answer.
    pub latest: BTreeMap<i32, Standing>,
    /// The leader of each epoch, by whoever named one first.
    claims: BTreeMap<i32, i32>,
    sightings: Vec<Sighting>,
    wrong: BTreeSet<String>,
}

impl Seen {
    /// A panic under the lock ends the campaign anyway.
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A rule was broken.
    pub fn break_rule(&self, what: String) {
        self.lock().wrong.insert(what);
    }

    /// All rules that were broken, in the log too.
    pub fn wrong(&self) -> Vec<String> {
        let inner = self.lock();
        let all: BTreeSet<&String> = inner.wrong.iter().chain(&inner.log.wrong).collect();
        all.into_iter().cloned().collect()
    }
}

impl Inner {
    /// Forgets sightings; a round needs none from before it.
    pub fn forget_sightings(&mut self) {
        self.sightings.clear();
    }

    /// The first sighting that somebody wants.
    pub fn sighting(&self, wanted: impl Fn(&Sighting) -> bool) -> Option<Sighting> {
        self.sightings.iter().copied().find(|seen| wanted(seen))
    }

    /// The leader that all of these controllers name, in one epoch, in answers to questions since an instant.
    pub fn agreed(&self, controllers: &[i32], since_ns: u64) -> Option<(i32, i32)> {
        let of = |id: &i32| self.latest.get(id).filter(|said| said.asked_ns >= since_ns);
        let first = of(controllers.first()?)?;
        let same = |said: &Standing| (said.leader, said.epoch) == (first.leader, first.epoch);
        let agreed = controllers.iter().all(|id| of(id).is_some_and(same));
        (agreed && first.leader >= 0).then_some((first.leader, first.epoch))
    }

    fn heard(&mut self, node: i32, asked_ns: u64, said: &QuorumDescription) {
        let leads = said.error.is_none() && said.leader == node;
        if said.epoch < 0 {
            return;
        }
        if let Some(before) = self.latest.get(&node)
            && before.epoch > said.epoch
        {
            self.wrong.insert(format!(
                "controller {node} went back from epoch {} to {}",
                before.epoch, said.epoch
            ));
        }
        let standing = Standing {
            asked_ns,
            epoch: said.epoch,
            leader: said.leader,
            leads,
        };
        self.latest.insert(node, standing);
        if said.leader >= 0 {
            self.claim(said.epoch, said.leader);
        }
    }

    fn claim(&mut self, epoch: i32, leader: i32) {
        let first = *self.claims.entry(epoch).or_insert(leader);
        if first != leader {
            self.wrong
                .insert(format!("epoch {epoch} had two leaders: {first} and {leader}"));
        }
    }

    fn fetched(&mut self, node: i32, asked_ns: u64, epoch: i32, fetched: &Fetched) {
        // A leader that was overtaken meanwhile may know less.
        if epoch < self.log.last_epoch || fetched.error.error().is_some() {
            return;
        }
        if let Some(diverging) = fetched.diverging {
            self.wrong.insert(format!(
                "leader {node} of epoch {epoch} does not hold the committed log up to {} of epoch {}: it has epoch {} up to {}",
                self.log.end, self.log.last_epoch, diverging.epoch, diverging.end_offset
            ));
            return;
        }
        self.log.take(&fetched.batches, fetched.high_watermark);
        let named: Vec<(i32, i32)> = self.log.leaders.iter().map(|(e, l)| (*e, *l)).collect();
        for (epoch, leader) in named.into_iter().rev().take(2) {
            self.claim(epoch, leader);
        }
        if self.log.last_epoch == epoch {
            self.sightings.push(Sighting {
                asked_ns,
                at_ns: monotonic_ns(),
                node,
                epoch,
                high_watermark: fetched.high_watermark,
            });
        }
    }
}

/// How the campaign connects to a controller: through the observer's device, whose links nobody cuts.
pub fn options() -> Options {
    Options {
        connect_timeout: ATTEMPT,
        request_timeout: ATTEMPT,
        bind_device: Some(ground::OBSERVER_DEVICE.into()),
        ..Options::default()
    }
}

/// A fetch of the metadata log from where a reading ends.
pub async fn fetch(connection: &mut Connection, log_end: (i64, i32), epoch: i32) -> Result<Fetched, Error> {
    let fetch = Fetch {
        topic: TopicRef {
            name: METADATA_TOPIC.into(),
            id: METADATA_TOPIC_ID,
        },
        partition: 0,
        offset: log_end.0,
        current_leader_epoch: epoch,
        last_fetched_epoch: log_end.1,
        known_high_watermark: None,
        max_wait: Duration::ZERO,
        max_bytes: FETCH_BYTES,
    };
    connection.fetch(&fetch).await
}

/// Asks one controller for ever.
pub async fn probe(seen: Arc<Seen>, node: i32, address: SocketAddr) {
    let mut connection = None;
    loop {
        let asked = timeout(ATTEMPT * 2, ask(&seen, node, address, &mut connection)).await;
        if !matches!(asked, Ok(Ok(()))) {
            connection = None;
        }
        sleep(PAUSE).await;
    }
}

async fn ask(
    seen: &Seen,
    node: i32,
    address: SocketAddr,
    connection: &mut Option<Connection>,
) -> Result<(), Error> {
    let open = match connection.take().filter(Connection::is_open) {
        Some(open) => open,
        None => Connection::connect(address, options()).await?,
    };
    let open = connection.insert(open);
    let asked_ns = monotonic_ns();
    let said = open.describe_quorum().await?;
    let from = {
        let mut inner = seen.lock();
        inner.heard(node, asked_ns, &said);
        let leads = said.error.is_none() && said.leader == node && said.epoch >= inner.log.last_epoch;
        leads.then_some((inner.log.end, inner.log.last_epoch))
    };
    if let Some(from) = from {
        let fetched = fetch(open, from, said.epoch).await?;
        seen.lock().fetched(node, asked_ns, said.epoch, &fetched);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::ErrorCode;

    fn said(error: ErrorCode, epoch: i32, leader: i32) -> QuorumDescription {
        QuorumDescription {
            error,
            message: None,
            leader,
            epoch,
            high_watermark: -1,
            voters: vec![],
            observers: vec![],
            nodes: vec![],
        }
    }

    const FOLLOWS: ErrorCode = ErrorCode::NOT_LEADER_OR_FOLLOWER;

    #[test]
    fn one_leader_an_epoch_and_epochs_that_rise_break_no_rule() {
        let seen = Seen::default();
        let mut inner = seen.lock();
        inner.heard(100, 1, &said(ErrorCode::NONE, 1, 100));
        inner.heard(101, 2, &said(FOLLOWS, 1, 100));
        assert_eq!(inner.agreed(&[100, 101], 1), Some((100, 1)));
        assert_eq!(inner.agreed(&[100, 101], 2), None, "one has not answered since");
        inner.heard(101, 3, &said(FOLLOWS, 2, -1));
        assert_eq!(inner.agreed(&[100, 101], 1), None, "they differ");
        inner.heard(101, 4, &said(ErrorCode::NONE, 2, 101));
        drop(inner);
        assert_eq!(seen.wrong(), [""; 0]);
    }

    #[test]
    fn two_leaders_of_an_epoch_and_an_epoch_that_falls_are_told() {
        let seen = Seen::default();
        seen.lock().heard(100, 1, &said(ErrorCode::NONE, 2, 100));
        seen.lock().heard(101, 2, &said(ErrorCode::NONE, 2, 101));
        seen.lock().heard(100, 3, &said(FOLLOWS, 1, -1));
        let wrong = seen.wrong().join("; ");
        assert!(wrong.contains("epoch 2 had two leaders: 100 and 101"), "{wrong}");
        assert!(wrong.contains("went back from epoch 2 to 1"), "{wrong}");
    }

    #[test]
    fn a_leader_without_the_committed_log_is_told_unless_it_was_overtaken() {
        let seen = Seen::default();
        let answer = Fetched {
            error: ErrorCode::NONE,
            high_watermark: 3,
            log_start: 0,
            batches: vec![],
            current_leader: None,
            diverging: Some(client::calls::Diverging {
                epoch: 1,
                end_offset: 3,
            }),
            snapshot: None,
            endpoints: vec![],
        };
        seen.lock().log.last_epoch = 2;
        seen.lock().fetched(100, 1, 1, &answer);
        assert_eq!(seen.wrong(), [""; 0]);
        seen.lock().fetched(100, 1, 3, &answer);
        assert!(seen.wrong()[0].contains("does not hold the committed log"));
    }
}
