//! The metadata that must not be lost: topics, created all the time from outside.

use client::calls::{CreateTopic, Layout};
use client::{Connection, Options, TopicId, topic_id_text};
use ground::sys::monotonic_ns;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// How many create at once, so that one is always in flight.
pub const CREATORS: usize = 3;
/// A creator's rest after an acknowledgement: each topic is a folder on a broker, and there are many rounds.
const REST: Duration = Duration::from_millis(30);
/// The rest where a round has had its share already: rounds that take long must not drown the brokers.
const LONG_REST: Duration = Duration::from_millis(300);
/// How many topics a round has as its share.
const SHARE: usize = 40;
/// The pause after a failure.
const PAUSE: Duration = Duration::from_millis(20);
/// How long one attempt may take on the server. Short: an attempt at a lost leader must not hide the next one.
const ATTEMPT: Duration = Duration::from_millis(300);

/// An acknowledged topic.
#[derive(Clone, Debug)]
pub struct Acked {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: TopicId,
    /// Before the request's first byte was sent.
    pub invoked_ns: u64,
    /// After the answer's last byte was read.
    pub acked_ns: u64,
}

/// All that creators did.
pub struct Load {
    acked: Mutex<Vec<Acked>>,
    file: Mutex<File>,
    /// So many topics are created fast.
    share: AtomicUsize,
}

impl Load {
    /// Nothing yet. Each attempt becomes a line of the file.
    pub fn new(file: File) -> Load {
        Load {
            acked: Mutex::default(),
            file: Mutex::new(file),
            share: AtomicUsize::new(0),
        }
    }

    /// A round begins, of which this is the number.
    pub fn begin_round(&self, round: usize) {
        self.share.store((round + 1) * SHARE, Ordering::Relaxed);
    }

    fn rest(&self) -> Duration {
        let acked = self.acked.lock().unwrap_or_else(PoisonError::into_inner).len();
        if acked < self.share.load(Ordering::Relaxed) {
            REST
        } else {
            LONG_REST
        }
    }

    /// The acknowledged topics so far.
    pub fn acked(&self) -> Vec<Acked> {
        self.acked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first acknowledgement of a topic that was asked for after an instant.
    pub fn first_after(&self, since_ns: u64) -> Option<u64> {
        let acked = self.acked.lock().unwrap_or_else(PoisonError::into_inner);
        let later = acked.iter().filter(|acked| acked.invoked_ns >= since_ns);
        later.map(|acked| acked.acked_ns).min()
    }

    /// How many topics were asked for after an instant, and acknowledged.
    pub fn count_after(&self, since_ns: u64) -> usize {
        let acked = self.acked.lock().unwrap_or_else(PoisonError::into_inner);
        acked.iter().filter(|acked| acked.invoked_ns >= since_ns).count()
    }

    fn attempt(&self, name: &str, invoked_ns: u64, result: &Result<TopicId, String>) {
        let acked_ns = monotonic_ns();
        let line = match result {
            Ok(id) => {
                json!({"topic": name, "invoked_ns": invoked_ns, "acked_ns": acked_ns, "id": topic_id_text(*id)})
            }
            Err(why) => {
                json!({"topic": name, "invoked_ns": invoked_ns, "failed_ns": acked_ns, "why": why})
            }
        };
        // Evidence for people: the verdict stands on what is in memory.
        let _ = writeln!(self.file.lock().unwrap_or_else(PoisonError::into_inner), "{line}");
        if let Ok(id) = result {
            let mut acked = self.acked.lock().unwrap_or_else(PoisonError::into_inner);
            acked.push(Acked {
                name: name.into(),
                id: *id,
                invoked_ns,
                acked_ns,
            });
        }
    }
}

/// Creates topics for ever, each name once: an attempt without an answer may have worked.
pub async fn create(load: Arc<Load>, creator: usize, brokers: Vec<SocketAddr>) {
    let options = Options {
        connect_timeout: Duration::from_millis(200),
        request_timeout: Duration::from_millis(200),
        ..Options::default()
    };
    let mut connection: Option<Connection> = None;
    let mut at = creator;
    for n in 0_u64.. {
        let mut open = match connection.take().filter(Connection::is_open) {
            Some(open) => open,
            None => match Connection::connect(brokers[at % brokers.len()], options.clone()).await {
                Ok(open) => open,
                Err(_) => {
                    at += 1;
                    sleep(PAUSE).await;
                    continue;
                }
            },
        };
        let name = format!("t-{creator}-{n}");
        let topic = CreateTopic {
            name: name.clone(),
            layout: Layout::Automatic {
                partitions: 1,
                replication_factor: 1,
            },
            configs: BTreeMap::new(),
            timeout: ATTEMPT,
        };
        let invoked_ns = monotonic_ns();
        let result = match open.create_topic(&topic).await {
            Ok(created) if created.error.is_none() => Ok(created.id),
            Ok(created) => Err(created.error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        load.attempt(&name, invoked_ns, &result);
        connection = Some(open);
        sleep(if result.is_ok() { load.rest() } else { PAUSE }).await;
    }
}
