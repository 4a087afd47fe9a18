//! What a run may have of the host: a control socket, and listeners on its loopback. The front opens both on the host
//! and hands them in; a socket belongs to the network that it was made in, whoever holds it. A call on the control
//! socket can be answered with an [`Entry`] into a node.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::enter::Entry;
use crate::packet::Channel;
use crate::sys::{raw, said};

/// Calls that may wait to be taken.
const BACKLOG: i32 = 64;

/// What a run has of the host.
#[derive(Debug, Default)]
pub struct Outside {
    /// Its control socket.
    pub door: Option<Door>,
    /// Its listeners on the loopback.
    pub loopback: Loopback,
}

/// Listeners on the host's loopback. What comes in waits until the harness says where it goes.
#[derive(Debug, Default)]
pub struct Loopback(pub(crate) Vec<TcpListener>);

impl Loopback {
    /// So many of them, at `first` and the ports after it; where none is said, wherever there is room.
    ///
    /// # Errors
    /// Where a port cannot be had; which one is in its words.
    pub fn bind(first: Option<u16>, count: u16) -> io::Result<Loopback> {
        let bind = |n: u16| {
            let port = first.map_or(Some(0), |first| first.checked_add(n));
            let port = port.ok_or_else(|| io::Error::other("there is no port above 65535"))?;
            said(
                format!("listening on 127.0.0.1:{port}"),
                TcpListener::bind((Ipv4Addr::LOCALHOST, port)),
            )
        };
        (0..count).map(bind).collect::<io::Result<_>>().map(Loopback)
    }

    /// Their ports.
    ///
    /// # Errors
    /// Where the kernel does not say.
    pub fn ports(&self) -> io::Result<Vec<u16>> {
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
        self.0.iter().map(port).collect()
    }
}

/// A control socket's listening end.
#[derive(Debug)]
pub struct Door(OwnedFd);

impl Door {
    /// Opens one at a path, for its owner alone (0600). The folder must be its owner's alone too, and whoever calls this
    /// sees to it that a socket of that name which somebody serves is not replaced.
    ///
    /// # Errors
    /// Where the path is too long, or the folder takes no socket.
    pub fn open(path: &Path) -> io::Result<Door> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = new_socket()?;
        let address = said("its path", UnixAddr::new(path))?;
        said(
            format!("binding {}", path.display()),
            socket::bind(raw(&socket), &address),
        )?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        // In bounds: at most the kernel's own.
        let backlog = said("listen", Backlog::new(BACKLOG))?;
        said("listen", socket::listen(&socket, backlog))?;
        Ok(Door(socket))
    }

    /// Waits for the next call.
    ///
    /// # Errors
    /// Where the kernel refuses: descriptors are used up, for one.
    pub fn accept(&self) -> io::Result<Call> {
        loop {
            match socket::accept4(raw(&self.0), SockFlag::SOCK_CLOEXEC) {
                // SAFETY: the kernel has just made this descriptor for us; nobody else knows it.
                Ok(fd) => return Ok(Call(Channel::from(unsafe { owned(fd) }))),
                Err(Errno::EINTR | Errno::ECONNABORTED) => {}
                Err(error) => return said("accept", Err(error)),
            }
        }
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.0
    }

    pub(crate) fn of(descriptor: OwnedFd) -> Door {
        Door(descriptor)
    }
}

/// # Safety
/// `fd` must be open, and nobody else's.
unsafe fn owned(fd: std::os::fd::RawFd) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the caller's promise.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// One call, at either end: a question and its answers, a packet each.
#[derive(Debug)]
pub struct Call(Channel);

impl Call {
    /// Calls whoever serves the socket at a path.
    ///
    /// # Errors
    /// `NotFound` and `ConnectionRefused` where nobody does.
    pub fn to(path: &Path) -> io::Result<Call> {
        let socket = new_socket()?;
        let address = said("its path", UnixAddr::new(path))?;
        loop {
            match socket::connect(raw(&socket), &address) {
                Ok(()) => return Ok(Call(Channel::from(socket))),
                Err(Errno::EINTR) => {}
                Err(error) => return said(format!("connecting to {}", path.display()), Err(error)),
            }
        }
    }

    /// Sends one message.
    ///
    /// # Errors
    /// Where the other end is gone, or does not read.
    pub fn send<T: Serialize>(&self, message: &T) -> io::Result<()> {
        self.0.send(message)
    }

    /// Sends one message, and with it a way into a node.
    ///
    /// # Errors
    /// As [`Call::send`].
    pub fn send_entry<T: Serialize>(&self, message: &T, entry: &Entry) -> io::Result<()> {
        self.0.send_with(message, &[entry.descriptor()])
    }

    /// Waits for the next message, and what was sent with it; none when the other end is gone.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Option<Entry>)>> {
        let received = self.0.receive_with()?;
        Ok(received.map(|(message, descriptors)| (message, descriptors.into_iter().next().map(Entry::of))))
    }

    /// Like [`Call::receive`], within a time: `TimedOut` when it has passed.
    ///
    /// # Errors
    /// Where it cannot be read, or nothing comes.
    pub fn receive_within<T: DeserializeOwned>(&self, within: Duration) -> io::Result<Option<T>> {
        self.0.receive_within(within)
    }
}

fn new_socket() -> io::Result<OwnedFd> {
    said(
        "socket",
        socket::socket(
            AddressFamily::Unix,
            SockType::SeqPacket,
            SockFlag::SOCK_CLOEXEC,
            None,
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_door_is_its_owners_alone_and_a_stale_one_is_replaced() {
        let path = std::env::temp_dir().join(format!("ackall-door-{}", std::process::id()));
        for _ in 0..2 {
            let door = Door::open(&path).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let call = Call::to(&path).unwrap();
            call.send(&"what").unwrap();
            let taken = door.accept().unwrap();
            assert_eq!(taken.receive::<String>().unwrap().unwrap().0, "what");
            taken.send(&7u8).unwrap();
            drop(taken);
            assert_eq!(
                call.receive_within::<u8>(Duration::from_secs(1)).unwrap(),
                Some(7)
            );
            assert!(call.receive::<u8>().unwrap().is_none(), "the other end is gone");
        }
        assert_eq!(
            Call::to(&path).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(Call::to(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn ports_follow_each_other_where_the_first_is_said() {
        let free = Loopback::bind(None, 2).unwrap();
        let ports = free.ports().unwrap();
        assert!(ports.len() == 2 && ports[0] != ports[1] && !ports.contains(&0));
        let taken = Loopback::bind(Some(ports[0]), 1).unwrap_err();
        assert!(taken.to_string().contains(&ports[0].to_string()), "{taken}");
        assert!(Loopback::bind(Some(65535), 2).is_err());
    }
}
