//! The forwarder: connections that come in on the host's loopback go on to nodes, as clients of theirs.
//!
//! It is a process of the run, in the run's network; only the sockets that it listens on are the host's. So it needs no
//! right of the host's, and goes with the run. Bytes pass as they are; what a node's silence or a cut link does to a
//! client inside it does to one outside.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt::Linger};
use serde::{Deserialize, Serialize};

use crate::keeper::Spoken;
use crate::packet::Channel;
use crate::sys;

/// Keeper to forwarder, with a listener beside it. Answered `Done`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Serve {
    /// Where its connections go.
    pub to: SocketAddr,
}

/// Forwarder to keeper.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromForwarder {
    /// It is served from now on.
    Done,
    /// It is not.
    Failed { why: String },
}

impl Spoken for FromForwarder {
    fn event(&self, _: i32) -> Option<crate::api::Event> {
        None
    }
}

/// Connections at one time. Each has two threads.
const CONNECTIONS: usize = 1024;
/// A thread here does nothing but copy.
const STACK: usize = 128 << 10;
/// How long a node may take to accept: as long as clients inside usually wait.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How long a node may go on answering a client that sends no more, before its end is taken for lost.
const LAST_ANSWERS: Duration = Duration::from_secs(30);
/// The pause after a connection that could not be taken: descriptors are used up.
const PAUSE: Duration = Duration::from_millis(50);

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// The role `__forward`.
pub fn main() -> ExitCode {
    let keeper = match Channel::inherited().and_then(|keeper| sys::die_with_parent(&keeper).map(|()| keeper))
    {
        Ok(keeper) => keeper,
        Err(error) => {
            eprintln!("the forwarder is started by the keeper, not by hand: {error}");
            return ExitCode::from(70);
        }
    };
    // The life-line: its end is ours.
    while let Ok(Some((Serve { to }, mut listeners))) = keeper.receive_with::<Serve>() {
        let served = match listeners.pop() {
            Some(listener) => named("accept", move || accept(&TcpListener::from(listener), to)),
            None => Err(io::Error::other("no listener came with the order")),
        };
        let answer = match served {
            Ok(()) => FromForwarder::Done,
            Err(error) => FromForwarder::Failed {
                why: error.to_string(),
            },
        };
        if keeper.send(&answer).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn named(name: &str, what: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.into()).stack_size(STACK);
    thread.spawn(what).map(drop)
}

fn accept(listener: &TcpListener, to: SocketAddr) {
    loop {
        let Ok((client, _)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        if OPEN.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            reset(&client);
            continue;
        }
        let joined = named("join", move || {
            join(client, to);
            OPEN.fetch_sub(1, Ordering::Relaxed);
        });
        if joined.is_err() {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            thread::sleep(PAUSE);
        }
    }
}

/// Connects a client to its node, and copies both ways until both have ended, or one is broken.
fn join(client: TcpStream, to: SocketAddr) {
    let Ok(node) = TcpStream::connect_timeout(&to, CONNECT_PATIENCE) else {
        // As a node's own kernel would say it.
        reset(&client);
        return;
    };
    // Without it small answers wait for acknowledgements; they still come.
    let _ = (client.set_nodelay(true), node.set_nodelay(true));
    let (Ok(from_node), Ok(to_client)) = (node.try_clone(), client.try_clone()) else {
        return;
    };
    let (ended, answers) = channel();
    let back = named("answers", move || {
        let whole = copy(&from_node, &to_client);
        // Nobody waits where the node is given up.
        let _ = ended.send(whole);
    });
    if back.is_err() {
        return;
    }
    if copy(&client, &node) {
        // The client sends no more, and may still want answers.
        if answers.recv_timeout(LAST_ANSWERS).unwrap_or_default() {
            return;
        }
    }
    // Wakes the other thread, if it still waits.
    let _ = (node.shutdown(Shutdown::Both), client.shutdown(Shutdown::Both));
}

/// Copies until one side ends, and tells the other; whether it was an end and no break. A break ends both at once.
fn copy(mut from: &TcpStream, mut to: &TcpStream) -> bool {
    match io::copy(&mut from, &mut to) {
        Ok(_) => to.shutdown(Shutdown::Write).is_ok(),
        Err(_) => {
            reset(to);
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            false
        }
    }
}

/// From now on its closing says RST.
fn reset(stream: &TcpStream) {
    let at_once = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // Where it is refused, it is a FIN: as much of an end.
    let _ = setsockopt(stream, Linger, &at_once);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn forwarded(to: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || accept(&listener, to));
        at
    }

    #[test]
    fn bytes_pass_both_ways_and_each_end_is_told() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = forwarded(server.local_addr().unwrap());
        let mut client = TcpStream::connect(at).unwrap();
        let (mut node, _) = server.accept().unwrap();
        client.write_all(b"question").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut got = String::new();
        node.read_to_string(&mut got).unwrap();
        assert_eq!(got, "question");
        // After the client's end the answer still comes.
        node.write_all(b"answer").unwrap();
        drop(node);
        let mut got = String::new();
        client.read_to_string(&mut got).unwrap();
        assert_eq!(got, "answer");
    }

    #[test]
    fn a_node_that_is_not_there_closes_the_connection() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut client = TcpStream::connect(forwarded(gone)).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let read = client.read(&mut [0]);
        let ended = matches!(&read, Ok(0)) || read.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionReset);
        assert!(ended);
    }
}
