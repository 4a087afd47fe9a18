//! The harness's end of its socket to the keeper. A reader thread hands answers to those who wait for them, and
//! events to the one who listens.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::api::{Error, Event};
use crate::packet::Channel;
use crate::request::{Answer, Asked, Request, ToHarness};

/// How long an answer may take. Longer than any bound of the keeper's, so that its own error is seen first; a power
/// cut of every node is the longest.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);

/// The exit status of a harness whose keeper has gone: it can do nothing any more, and nobody reads its status.
const KEEPER_GONE: i32 = 70;

type Waiting = Arc<Mutex<HashMap<u64, SyncSender<Answer>>>>;

pub struct Connection {
    channel: Arc<Channel>,
    waiting: Waiting,
    /// The next request's id. Held while sending, so that ids are sent in order.
    next: Mutex<u64>,
}

impl Connection {
    pub fn open() -> Result<(Connection, Receiver<Event>), Error> {
        let channel = Arc::new(Channel::inherited().map_err(|error| not_a_harness(&error))?);
        let waiting = Waiting::default();
        let (events, receiver) = channel_pair();
        let reader = (channel.clone(), waiting.clone());
        std::thread::Builder::new()
            .name("ground".into())
            .spawn(move || read(&reader.0, &reader.1, &events))
            .map_err(|error| not_a_harness(&error))?;
        Ok((
            Connection {
                channel,
                waiting,
                next: Mutex::new(0),
            },
            receiver,
        ))
    }

    pub fn ask(&self, request: Request) -> Result<Answer, Error> {
        let (sender, answer) = sync_channel(1);
        let what = format!("asking the keeper for {request:?}");
        let id = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let id = *next;
            *next += 1;
            self.waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(id, sender);
            self.channel
                .send(&Asked { id, request })
                .map_err(|error| keeper_hangs(&what, &error))?;
            id
        };
        let answer = answer.recv_timeout(ANSWER_PATIENCE).map_err(|error| {
            self.waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&id);
            keeper_hangs(&what, &error)
        })?;
        Ok(answer)
    }
}

fn channel_pair() -> (Sender<Event>, Receiver<Event>) {
    channel()
}

/// Reads until the keeper is gone, and ends the process then: the socket is the life-line.
fn read(channel: &Channel, waiting: &Waiting, events: &Sender<Event>) {
    loop {
        match channel.receive::<ToHarness>() {
            Ok(Some(ToHarness::Answer { id, answer })) => {
                let waits = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                // Who waited too long is gone; so is its answer.
                let _ = waits.map(|waits| waits.try_send(answer));
            }
            // A harness that does not listen to events misses them.
            Ok(Some(ToHarness::Event(event))) => _ = events.send(event),
            Ok(None) => std::process::exit(KEEPER_GONE),
            Err(error) => {
                eprintln!("the harness cannot read what the keeper says: {error}");
                std::process::exit(KEEPER_GONE)
            }
        }
    }
}

fn not_a_harness(error: &std::io::Error) -> Error {
    Error {
        what: "attaching to the ground".into(),
        why: error.to_string(),
        next: "the harness's process is started by the keeper, not by hand".into(),
        machine: false,
    }
}

fn keeper_hangs(what: &str, error: &dyn std::error::Error) -> Error {
    Error {
        what: what.into(),
        why: format!("the keeper does not answer: {error}"),
        next: "the run cannot go on; is the machine overloaded, or the keeper stopped?".into(),
        machine: false,
    }
}
