//! The observer, against controllers that do what a test tells them to.

mod divergence;
mod leaders;
mod records;
mod snapshots;

use super::PATIENT;
use crate::fake::{Fake, Log, Reaction, control_batch, metadata_batch};
use crate::observer::METADATA_TOPIC;
use crate::{ClusterView, Observer, ObserverError, ObserverOptions, TopicId};
use bytes::Bytes;
use history::{Body, BrokerChange, Entry, Header, Kind, Process, Recorder};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::time::timeout;

const FETCH: i16 = 1;
const TOPIC: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5];

/// A history in memory, which takes so many bytes and no more.
#[derive(Clone)]
struct Paper(Arc<Mutex<Vec<u8>>>, usize);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut paper = self.0.lock().unwrap();
        if paper.len() + bytes.len() > self.1 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        paper.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An observer of some controllers, and what it wrote.
struct Watch {
    observer: Observer,
    paper: Paper,
}

impl Watch {
    fn start(fakes: &[Fake]) -> Watch {
        Watch::with_room(fakes, usize::MAX)
    }

    fn with_room(fakes: &[Fake], room: usize) -> Watch {
        let paper = Paper(Arc::default(), room);
        let header = Header {
            schema: history::SCHEMA,
            ackall_version: "0".into(),
            started_at: "2026-01-01T00:00:00Z".into(),
            scenario: "test".into(),
            seed: 0,
            system: "fake".into(),
            promises: Vec::new(),
            requirements: Vec::new(),
            topics: Vec::new(),
            features: BTreeMap::new(),
            server: None,
        };
        let recorder = Recorder::new(paper.clone(), &header, Instant::now()).unwrap();
        let controllers = (101..).zip(fakes.iter().map(Fake::address)).collect();
        let options = ObserverOptions {
            controllers,
            bind_device: None,
        };
        Watch {
            observer: Observer::start(options, Arc::new(recorder)),
            paper,
        }
    }

    async fn until(&self, seen: impl FnMut(&ClusterView) -> bool) -> ClusterView {
        let mut view = self.observer.view();
        let seen = timeout(PATIENT, view.wait_for(seen))
            .await
            .expect("it is never seen");
        seen.expect("the observer ended").clone()
    }

    /// Waits for its end by itself.
    async fn end(self) -> ObserverError {
        let mut view = self.observer.view();
        timeout(PATIENT, view.wait_for(|_| false))
            .await
            .expect("it goes on")
            .unwrap_err();
        self.observer.stop().await.unwrap_err()
    }

    fn entries(&self) -> Vec<Entry> {
        let paper = self.paper.0.lock().unwrap();
        let entries = history::read(&paper[..]).unwrap().entries;
        assert!(
            entries
                .iter()
                .all(|entry| entry.process == Process::Observer && entry.kind == Kind::Ok)
        );
        entries
    }

    /// What of the metadata log the history tells, an entry each; `~` marks those whose order is not known.
    fn told(&self) -> Vec<String> {
        let entries = self.entries().into_iter();
        entries.filter_map(|entry| told(entry.body)).collect()
    }

    /// Offsets and batches of the metadata log, in the history's order.
    fn places(&self) -> Vec<(i64, i64)> {
        let places = self.entries().into_iter().filter_map(|entry| match entry.body {
            Body::Partition(state) => Some(state.at),
            Body::Broker(state) => Some(state.at),
            Body::Feature(feature) => Some(feature.at),
            Body::Config(change) => Some(change.at),
            Body::TopicRemoved(removed) => Some(removed.at),
            _ => None,
        });
        places.map(|at| (at.log_offset, at.batch)).collect()
    }
}

fn told(body: Body) -> Option<String> {
    let place = |at: history::LogPlace| format!("@{}{}", at.log_offset, if at.in_gap { "~" } else { "" });
    Some(match body {
        Body::Feature(feature) => format!("{}={}{}", feature.name, feature.level, place(feature.at)),
        Body::Broker(state) => format!("broker {} {:?}{}", state.broker, state.change, place(state.at)),
        Body::Partition(state) => format!("isr {:?}{}", state.isr, place(state.at)),
        Body::TopicRemoved(removed) => format!("topic gone{}", place(removed.at)),
        Body::QuorumLeader(leader) => {
            format!("leader {} {}{}", leader.leader, leader.epoch, place(leader.at))
        }
        Body::Voters(voters) => format!("{} voters{}", voters.voters.len(), place(voters.at)),
        Body::MetadataGap(gap) => format!("gap {}..{} {:?}", gap.from, gap.to, gap.cause),
        Body::MetadataDiverged(gone) => format!(
            "diverged from {}: {}/{} here, {}/{} at {} in {}",
            gone.from,
            gone.trusted_offset,
            gone.trusted_epoch,
            gone.leader_offset,
            gone.leader_epoch,
            gone.leader,
            gone.quorum_epoch
        ),
        Body::MetadataUnread(unread) => {
            let hides = if unread.hides { "hides" } else { "note" };
            format!("{hides} {:?}{}", unread.record_type, place(unread.at))
        }
        Body::Config(_) | Body::Quorum(_) => return None,
        other => panic!("{other:?}"),
    })
}

/// Controllers 101 and on, all with one view of who leads.
async fn controllers(count: usize) -> Vec<Fake> {
    let mut fakes = Vec::new();
    for node in 101..101 + count as i32 {
        let fake = Fake::start(node).await.unwrap();
        fake.change(|state| {
            let log = state.log(METADATA_TOPIC, 0);
            (log.id, log.is_metadata) = (TopicId::from_u128(1), true);
        });
        fakes.push(fake);
    }
    lead(&fakes, 101, 4);
    fakes
}

fn lead(fakes: &[Fake], leader: i32, epoch: i32) {
    for fake in fakes {
        fake.change(|state| {
            state.quorum = (leader, epoch);
            let log = state.log(METADATA_TOPIC, 0);
            (log.leader, log.leader_epoch) = (leader, epoch);
        });
    }
}

fn log<T>(fake: &Fake, change: impl FnOnce(&mut Log) -> T) -> T {
    fake.change(|state| change(state.log(METADATA_TOPIC, 0)))
}

fn append(log: &mut Log, records: &[Bytes]) {
    log.append(&metadata_batch(records), records.len() as i64);
}

fn append_control(log: &mut Log, records: &[(i16, Bytes)]) {
    log.append(&control_batch(records), records.len() as i64);
}

/// How often a controller was asked something.
fn asked(fake: &Fake, call: i16) -> usize {
    fake.change(|state| state.asked.iter().filter(|asked| **asked == call).count())
}

async fn until_true(what: &str, mut is_true: impl FnMut() -> bool) {
    timeout(PATIENT, async {
        while !is_true() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("never: {what}"));
}

fn record(parts: &[&[u8]]) -> Bytes {
    parts.concat().into()
}

fn topic() -> Bytes {
    record(&[&[1, 2, 0, 7], b"orders", &TOPIC, &[0]])
}

/// Partition 0 on brokers 1 and 2, led by 1.
fn partition() -> Bytes {
    let two = [3, 0, 0, 0, 1, 0, 0, 0, 2];
    let epochs = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    record(&[&[1, 3, 0, 0, 0, 0, 0], &TOPIC, &two, &two, &[1, 1], &epochs, &[0]])
}

/// ISR [2], ELR [1]; its leader 2 where it is elected.
fn shrink(elects: bool) -> Bytes {
    let isr = [0, 5, 2, 0, 0, 0, 2];
    let leader: &[u8] = if elects { &[1, 4, 0, 0, 0, 2] } else { &[] };
    let elr = [6, 5, 2, 0, 0, 0, 1];
    record(&[
        &[1, 5, 2, 0, 0, 0, 0],
        &TOPIC,
        &[2 + u8::from(elects)],
        &isr,
        leader,
        &elr,
    ])
}

fn broker() -> Bytes {
    let fields = [
        [1, 0, 0, 0, 0, 0, 1].as_slice(),
        &TOPIC,
        &[0, 0, 0, 0, 0, 0, 0, 9],
        &[1, 1, 0, 1, 0],
    ];
    record(&fields)
}

fn unfence() -> Bytes {
    record(&[
        &[1, 17, 0, 0, 0, 0, 1],
        &[0, 0, 0, 0, 0, 0, 0, 9],
        &[1, 0, 1, 0xff],
    ])
}

fn feature(level: u8) -> Bytes {
    record(&[&[1, 12, 0, 4], b"elr", &[0, level, 0]])
}

#[tokio::test]
async fn what_is_committed_is_told_in_log_order_and_seen() {
    let fakes = controllers(3).await;
    log(&fakes[0], |log| {
        append(log, &[feature(1), broker(), unfence()]);
        append(log, &[topic(), partition()]);
        append(log, &[shrink(true)]);
    });
    let watch = Watch::start(&fakes);
    let view = watch.until(|view| view.isr_is("orders", 0, &[2])).await;
    let state = view.partition("orders", 0).unwrap();
    assert_eq!(
        (state.leader, state.leader_epoch, state.partition_epoch),
        (2, 1, 1)
    );
    assert!(view.elr_is("orders", 0, &[1]) && state.elects);
    assert_eq!(
        (
            view.features["elr"],
            view.brokers[&1].fenced,
            view.brokers[&1].epoch
        ),
        (1, false, 9)
    );
    assert_eq!((view.quorum.leader, view.quorum.epoch, view.applied), (101, 4, 6));
    assert_eq!(watch.places(), [(0, 0), (1, 0), (2, 0), (4, 3), (5, 5)]);
    let brokers = watch.entries().into_iter().filter_map(|entry| match entry.body {
        Body::Broker(state) => Some(state.change),
        _ => None,
    });
    assert_eq!(
        brokers.collect::<Vec<_>>(),
        [BrokerChange::Registered, BrokerChange::Unfenced]
    );
    watch.observer.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_not_committed_is_held_back_until_the_high_watermark_covers_it() {
    let fakes = controllers(1).await;
    log(&fakes[0], |log| {
        append(log, &[topic(), partition()]);
        append(log, &[shrink(false), feature(2)]);
        // Inside the second batch: a batch is committed when its last record is.
        log.high_watermark = Some(3);
    });
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 2).await;
    // Several more answers bring the uncommitted batch again.
    let before = asked(&fakes[0], FETCH);
    until_true("it asks again", || asked(&fakes[0], FETCH) >= before + 3).await;
    assert_eq!(watch.places(), [(1, 0)]);
    log(&fakes[0], |log| log.high_watermark = None);
    let view = watch.until(|view| view.applied == 4).await;
    assert!(view.isr_is("orders", 0, &[2]));
    assert_eq!(watch.places(), [(1, 0), (2, 2), (3, 2)], "each once");
}

#[tokio::test]
async fn an_uncommitted_tail_that_a_new_leader_replaces_is_never_told() {
    let fakes = controllers(2).await;
    for fake in &fakes {
        log(fake, |log| append(log, &[feature(1)]));
    }
    log(&fakes[0], |log| {
        append(log, &[feature(7)]);
        log.high_watermark = Some(1);
    });
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 1).await;
    lead(&fakes, 102, 5);
    log(&fakes[1], |log| append(log, &[feature(2)]));
    // A refusal's hint may lead to the new leader before it is asked whether it leads.
    let view = watch
        .until(|view| view.applied == 2 && view.quorum.epoch == 5)
        .await;
    assert_eq!((view.features["elr"], view.quorum.leader), (2, 102));
    let levels = watch.entries().into_iter().filter_map(|entry| match entry.body {
        Body::Feature(feature) => Some(feature.level),
        _ => None,
    });
    assert_eq!(levels.collect::<Vec<_>>(), [1, 2], "level 7 was never committed");
}

#[tokio::test]
async fn a_later_leader_is_followed_although_the_old_one_still_talks() {
    let fakes = controllers(2).await;
    for fake in &fakes {
        log(fake, |log| append(log, &[feature(1)]));
    }
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 1).await;
    // Only the second controller learns of its own election; the first stays as it was.
    lead(&fakes[1..], 102, 5);
    log(&fakes[1], |log| append(log, &[feature(2)]));
    watch.until(|view| view.applied == 2).await;
}

#[tokio::test]
async fn two_leaders_of_one_epoch_are_both_told() {
    let fakes = controllers(2).await;
    let watch = Watch::start(&fakes);
    watch.until(|view| view.quorum.leader == 101).await;
    lead(&fakes[1..], 102, 4);
    timeout(PATIENT, async {
        while watch.entries().len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the second is not told");
    let leaders = watch.entries().into_iter().map(|entry| match entry.body {
        Body::Quorum(quorum) => (quorum.leader, quorum.epoch),
        other => panic!("{other:?}"),
    });
    assert_eq!(leaders.collect::<Vec<_>>(), [(101, 4), (102, 4)]);
}

#[tokio::test]
async fn failures_are_gone_past_and_no_record_is_told_twice() {
    let fakes = controllers(1).await;
    log(&fakes[0], |log| append(log, &[feature(1)]));
    fakes[0].change(|state| {
        let failures = [
            Reaction::Disconnect,
            Reaction::Refuse(6),
            Reaction::Silence,
            Reaction::Garbage,
        ];
        state.react(FETCH, failures);
    });
    let watch = Watch::start(&fakes);
    watch.until(|view| view.trouble.is_some()).await;
    watch
        .until(|view| view.applied == 1 && view.trouble.is_none())
        .await;
    log(&fakes[0], |log| append(log, &[feature(2)]));
    watch.until(|view| view.applied == 2).await;
    assert_eq!(watch.places(), [(0, 0), (1, 1)]);
}

#[tokio::test]
async fn it_goes_on_trying_until_it_is_stopped() {
    let fakes = controllers(1).await;
    lead(&fakes, -1, 4);
    let watch = Watch::start(&fakes);
    watch.until(|view| view.trouble.is_some()).await;
    assert!(!watch.observer.has_ended());
    timeout(PATIENT, watch.observer.stop())
        .await
        .expect("it does not stop")
        .unwrap();
}

#[tokio::test]
async fn a_full_disk_ends_it() {
    let fakes = controllers(1).await;
    log(&fakes[0], |log| append(log, &[feature(1)]));
    let error = Watch::with_room(&fakes, 300).end().await;
    assert!(matches!(error, ObserverError::Recorder(_)), "{error}");
}
