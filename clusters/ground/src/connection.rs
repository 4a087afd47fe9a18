//! The harness's end of its socket to the keeper. A reader thread hands answers to those who wait for them, and
//! events to the one who listens.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::api::{Error, Event};
use crate::outside::Door;
use crate::packet::Channel;
use crate::request::{Answer, Asked, Request, ToHarness};

/// How long an answer may take. Longer than any bound of the keeper's, so that its own error is seen first; a power
/// cut of every node is the longest.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);

/// The exit status of a harness whose keeper has gone: it can do nothing any more, and nobody reads its status.
const KEEPER_GONE: i32 = 70;

/// How long the control socket may take to come: it is the keeper's first word.
const DOOR_PATIENCE: Duration = Duration::from_secs(10);

type Waiting = Arc<Mutex<HashMap<u64, SyncSender<Answer>>>>;

pub struct Connection {
    channel: Arc<Channel>,
    waiting: Waiting,
    /// The next request's id. Held while sending, so that ids are sent in order.
    next: Mutex<u64>,
    door: Mutex<Receiver<Door>>,
}

impl Connection {
    pub fn open() -> Result<(Connection, Receiver<Event>), Error> {
        let channel = Arc::new(Channel::inherited().map_err(|error| not_a_harness(&error))?);
        let waiting = Waiting::default();
        let (events, receiver) = mpsc::channel();
        let (door, doors) = mpsc::channel();
        let reader = (channel.clone(), waiting.clone());
        std::thread::Builder::new()
            .name("ground".into())
            .spawn(move || read(&reader.0, &reader.1, &events, &door))
            .map_err(|error| not_a_harness(&error))?;
        Ok((
            Connection {
                channel,
                waiting,
                next: Mutex::new(0),
                door: Mutex::new(doors),
            },
            receiver,
        ))
    }

    pub fn ask(&self, request: Request) -> Result<Answer, Error> {
        let (sender, answer) = sync_channel(1);
        let what = format!("asking the keeper for {request:?}");
        let id = self
            .send(request, sender)
            .map_err(|error| keeper_hangs(&what, &error))?;
        answer.recv_timeout(ANSWER_PATIENCE).map_err(|error| {
            lock(&self.waiting).remove(&id);
            keeper_hangs(&what, &error)
        })
    }

    /// The control socket, once.
    pub fn door(&self) -> Result<Door, Error> {
        lock(&self.door).recv_timeout(DOOR_PATIENCE).map_err(|_| Error {
            what: "taking the run's control socket".into(),
            why: "the front has handed none in".into(),
            next: "launch the run with one".into(),
            machine: false,
        })
    }

    fn send(&self, request: Request, sender: SyncSender<Answer>) -> io::Result<u64> {
        let mut next = lock(&self.next);
        let id = *next;
        *next += 1;
        lock(&self.waiting).insert(id, sender);
        match self.channel.send(&Asked { id, request }) {
            Ok(()) => Ok(id),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(KEEPER_GONE),
            Err(error) => {
                lock(&self.waiting).remove(&id);
                Err(error)
            }
        }
    }
}

/// A panic of another thread leaves these maps whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads until the keeper is gone, and ends the process then: the socket is the life-line.
fn read(channel: &Channel, waiting: &Waiting, events: &Sender<Event>, door: &Sender<Door>) {
    loop {
        let received = channel.receive_with::<ToHarness>();
        let (message, mut beside) = match received {
            Ok(Some(received)) => received,
            Ok(None) => std::process::exit(KEEPER_GONE),
            Err(error) => {
                eprintln!("the harness cannot read what the keeper says: {error}");
                std::process::exit(KEEPER_GONE)
            }
        };
        match message {
            ToHarness::Answer { id, answer } => {
                let waits = lock(waiting).remove(&id);
                // Who waited too long is gone; so is its answer.
                let _ = waits.map(|waits| waits.try_send(answer));
            }
            // A harness that does not listen to events misses them.
            ToHarness::Event(event) => _ = events.send(event),
            // Nobody waits for it where the harness serves none.
            ToHarness::Door => _ = beside.pop().map(|fd| door.send(Door::of(fd))),
        }
    }
}

fn not_a_harness(error: &io::Error) -> Error {
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
