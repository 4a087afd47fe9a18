//! One client: its process number, its connections, and what it knows of the leaders.

mod read;

use crate::context::Context;
use client::calls::TopicRef;
use client::{Connection, Error, Leader, Leaders, Outcome, topic_id_text};
use history::{Body, Key, Kind, Process};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use tokio::time::Instant;

/// A client that does one operation at a time.
pub(crate) struct Session {
    context: Context,
    leaders: Arc<Leaders>,
    process: u64,
    connections: BTreeMap<i32, Connection>,
    /// When its knowledge of the leaders was last proved wrong.
    stale: Option<Instant>,
}

impl Session {
    pub(crate) fn new(context: Context, leaders: Arc<Leaders>) -> Session {
        let process = context.processes.next();
        Session {
            context,
            leaders,
            process,
            connections: BTreeMap::new(),
            stale: None,
        }
    }

    /// Records for this client's process.
    pub(crate) fn record(&self, kind: Kind, body: Body) -> io::Result<()> {
        self.context
            .recorder
            .record(Process::Client(self.process), kind, body)
            .map(drop)
    }

    /// Who leads a partition, as far as any broker knows; asked anew after a failure.
    pub(crate) async fn leader(&mut self, partition: i32) -> Option<(TopicRef, Leader)> {
        let found = self.leaders.find(partition, self.stale).await;
        if found.is_none() {
            self.stale = Some(Instant::now());
        }
        found
    }

    /// The connection to a leader. Its failure sent no byte of any operation.
    pub(crate) async fn connection(&mut self, leader: Leader) -> Result<&mut Connection, Error> {
        // Taken out and put back, so that one that is closed or goes elsewhere is dropped.
        let known = self.connections.remove(&leader.node);
        let open = known.filter(|known| known.is_open() && known.address() == leader.address);
        let connection = match open {
            Some(open) => open,
            None => self.leaders.cluster().connect(leader.address).await?,
        };
        Ok(self
            .connections
            .entry(leader.node)
            .insert_entry(connection)
            .into_mut())
    }

    /// Draws the consequences of how an operation ended.
    pub(crate) fn ended(&mut self, outcome: Outcome, ends_process: bool) {
        if outcome != Outcome::Ok {
            self.stale = Some(Instant::now());
        }
        if ends_process || outcome == Outcome::Info {
            self.process = self.context.processes.next();
            self.connections.clear();
        }
    }
}

/// The key of a partition of a topic.
pub(crate) fn key(topic: &TopicRef, partition: i32) -> Key {
    Key {
        topic: topic.name.as_str().into(),
        id: topic_id_text(topic.id).into(),
        partition,
    }
}
