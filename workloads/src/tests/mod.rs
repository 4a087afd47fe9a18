//! Tests against fake brokers: what each operation's entries say.

mod append;
mod final_read;

use crate::{Context, Processes};
use client::fake::Fake;
use client::{Cluster, Options, TopicId};
use history::{Body, Entry, Header, History, Kind, Process, Recorder};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Long enough for anything on a busy machine.
const PATIENT: Duration = Duration::from_secs(20);
const TOPIC: &str = "orders";

/// A file in memory that everybody may look into, and that may be full.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<(Vec<u8>, Option<usize>)>>);

impl Paper {
    /// Takes so many bytes more, then says that the disk is full.
    fn fill_after(&self, bytes: usize) {
        let mut paper = self.0.lock().unwrap();
        paper.1 = Some(paper.0.len() + bytes);
    }

    fn history(&self) -> History {
        history::read(&self.0.lock().unwrap().0[..]).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut paper = self.0.lock().unwrap();
        if paper.1.is_some_and(|room| paper.0.len() + bytes.len() > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        paper.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A fake broker that leads, a history, and all that a workload needs.
struct Bench {
    fake: Fake,
    paper: Paper,
    context: Context,
}

impl Bench {
    async fn new(partitions: i32) -> Bench {
        let fake = Fake::start(1).await.unwrap();
        fake.change(|state| {
            for partition in 0..partitions {
                let log = state.log(TOPIC, partition);
                (log.id, log.leader, log.leader_epoch) = (TopicId::from_u128(77), 1, 3);
                log.isr = vec![1, 2];
            }
        });
        let paper = Paper::default();
        let recorder = Recorder::new(paper.clone(), &header(), Instant::now()).unwrap();
        let options = Options {
            connect_timeout: PATIENT,
            request_timeout: PATIENT,
            ..Options::default()
        };
        let brokers = [(1, fake.address())].into();
        let context = Context {
            cluster: Arc::new(Cluster::new(brokers, options).with_lookup(PATIENT, PATIENT)),
            recorder: Arc::new(recorder),
            processes: Processes::new(),
            seed: 5,
        };
        Bench { fake, paper, context }
    }

    fn entries(&self) -> Vec<Entry> {
        self.paper.history().entries
    }
}

fn header() -> Header {
    Header {
        schema: history::SCHEMA,
        ackall_version: "0".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        scenario: "test".into(),
        seed: 5,
        system: "fake".into(),
        promises: Vec::new(),
        requirements: Vec::new(),
        topics: Vec::new(),
        features: Default::default(),
        server: None,
    }
}

/// Each client's entries: an invocation, then its completion, never two open at once.
fn assert_well_formed(entries: &[Entry]) {
    let mut open: std::collections::BTreeMap<Process, &Entry> = Default::default();
    let mut ended: std::collections::BTreeSet<Process> = Default::default();
    for entry in entries
        .iter()
        .filter(|entry| matches!(entry.process, Process::Client(_)))
    {
        assert!(
            !ended.contains(&entry.process),
            "{:?} goes on after an info",
            entry.process
        );
        match entry.kind {
            Kind::Invoke => assert!(open.insert(entry.process, entry).is_none(), "two open operations"),
            kind => {
                let begun = open
                    .remove(&entry.process)
                    .expect("a completion without an invocation");
                let same = std::mem::discriminant(&begun.body) == std::mem::discriminant(&entry.body);
                assert!(same, "{begun:?} completed by {entry:?}");
                if kind == Kind::Info {
                    ended.insert(entry.process);
                }
            }
        }
    }
    assert!(open.is_empty(), "operations without a completion: {open:?}");
}

fn sends(entries: &[Entry], kind: Kind) -> Vec<(Process, history::Send)> {
    let sends = entries
        .iter()
        .filter(|entry| entry.kind == kind)
        .filter_map(|entry| match &entry.body {
            Body::Send(send) => Some((entry.process, send.clone())),
            _ => None,
        });
    sends.collect()
}

fn polls(entries: &[Entry], kind: Kind) -> Vec<history::Poll> {
    let polls = entries
        .iter()
        .filter(|entry| entry.kind == kind)
        .filter_map(|entry| match &entry.body {
            Body::Poll(poll) => Some(poll.clone()),
            _ => None,
        });
    polls.collect()
}
