//! Messages between the processes of a run: one JSON value a packet over a SOCK_SEQPACKET pair, with descriptors
//! beside it where a message needs them. The kernel keeps packets whole and in order, so there is no framing;
//! an empty packet is never sent, so that a length of zero means that the other end is gone.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    self, AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sys;

/// The most descriptors one message carries: a node's init hands over its TAP, and its FUSE device.
pub const MAX_DESCRIPTORS: usize = 2;

/// How long a sender waits for a receiver that does not read. The other end has a thread or a loop that always
/// reads, so more than this means that it hangs.
pub const SEND_PATIENCE: Duration = Duration::from_secs(1);

/// One end of a packet socket.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Channel {
    fn from(fd: OwnedFd) -> Channel {
        Channel(fd)
    }
}

impl Channel {
    /// Both ends of a new socket, close-on-exec.
    pub fn pair() -> io::Result<(Channel, Channel)> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let (a, b) = sys::said(
            "socketpair",
            socket::socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags),
        )?;
        Ok((Channel(a), Channel(b)))
    }

    /// The end that this process was given as descriptor 3. Call it once.
    pub fn inherited() -> io::Result<Channel> {
        sys::inherited_control().map(Channel)
    }

    /// Sends one message. Waits at most [`SEND_PATIENCE`] where the other end does not read.
    pub fn send<T: Serialize>(&self, message: &T) -> io::Result<()> {
        self.send_with(message, &[])
    }

    /// Sends one message and copies of at most [`MAX_DESCRIPTORS`] descriptors.
    pub fn send_with<T: Serialize>(&self, message: &T, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        let raw: Vec<RawFd> = descriptors.iter().map(sys::raw).collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let control = if raw.is_empty() { &rights[..0] } else { &rights[..] };
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        loop {
            match socket::sendmsg::<UnixAddr>(sys::raw(self), &[IoSlice::new(&text)], control, flags, None) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => self.await_room()?,
                Err(error) => return sys::said(format!("sending {} bytes", text.len()), Err(error)),
            }
        }
    }

    fn await_room(&self) -> io::Result<()> {
        if sys::writable(self, SEND_PATIENCE)? {
            Ok(())
        } else {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the other end has stopped reading",
            ))
        }
    }

    /// Waits for the next message; `None` when the other end is gone.
    pub fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        Ok(self.receive_with()?.map(|(message, _)| message))
    }

    /// Waits for the next message and the descriptors beside it (close-on-exec); `None` when the other end is gone.
    pub fn receive_with<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let Some(length) = self.next_length()? else {
            return Ok(None);
        };
        let mut text = vec![0; length];
        let mut space = nix::cmsg_space!([RawFd; MAX_DESCRIPTORS]);
        let (read, descriptors) = {
            let mut parts = [IoSliceMut::new(&mut text)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let got = loop {
                match socket::recvmsg::<UnixAddr>(sys::raw(self), &mut parts, Some(&mut space), flags) {
                    Err(Errno::EINTR) => continue,
                    other => break sys::said("recvmsg", other)?,
                }
            };
            (got.bytes, owned(sys::said("control message", got.cmsgs())?))
        };
        Ok(Some((serde_json::from_slice(&text[..read])?, descriptors)))
    }

    /// The length of the next packet, which stays in the socket; `None` at the end.
    fn next_length(&self) -> io::Result<Option<usize>> {
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_TRUNC;
        loop {
            match socket::recv(sys::raw(self), &mut [], flags) {
                Ok(0) | Err(Errno::ECONNRESET) => return Ok(None),
                Ok(length) => return Ok(Some(length)),
                Err(Errno::EINTR) => {}
                Err(error) => return sys::said("recv", Err(error)),
            }
        }
    }

    /// Like [`Self::receive`], within a time: an error of kind `TimedOut` when it has passed.
    pub fn receive_within<T: DeserializeOwned>(&self, within: Duration) -> io::Result<Option<T>> {
        if sys::readable(&[self.as_fd()], Some(within))?[0] {
            self.receive()
        } else {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer within {within:?}"),
            ))
        }
    }
}

fn owned(messages: impl Iterator<Item = ControlMessageOwned>) -> Vec<OwnedFd> {
    let rights = messages.filter_map(|message| match message {
        ControlMessageOwned::ScmRights(raw) => Some(raw),
        _ => None,
    });
    // SAFETY: the kernel has just put these descriptors into this process for this message; nobody else knows them.
    rights
        .flatten()
        .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn messages_stay_whole_and_in_order() {
        let (a, b) = Channel::pair().unwrap();
        a.send(&"one").unwrap();
        a.send(&vec!["x"; 30_000]).unwrap();
        assert_eq!(b.receive::<String>().unwrap().unwrap(), "one");
        assert_eq!(b.receive::<Vec<String>>().unwrap().unwrap().len(), 30_000);
    }

    #[test]
    fn a_descriptor_arrives_and_works() {
        let (a, b) = Channel::pair().unwrap();
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        a.send_with(&7u8, &[writer.as_fd()]).unwrap();
        writer.write_all(b"1").unwrap();
        drop(writer);
        let (number, mut got) = b.receive_with::<u8>().unwrap().unwrap();
        assert_eq!((number, got.len()), (7, 1));
        let mut copy = std::fs::File::from(got.remove(0));
        copy.write_all(b"2").unwrap();
        drop(copy);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "12");
    }

    #[test]
    fn the_end_is_seen() {
        let (a, b) = Channel::pair().unwrap();
        a.send(&1u8).unwrap();
        drop(a);
        assert_eq!(b.receive::<u8>().unwrap(), Some(1));
        assert_eq!(b.receive::<u8>().unwrap(), None);
        assert!(b.send(&1u8).is_err());
    }

    #[test]
    fn waits_are_bounded() {
        let (a, b) = Channel::pair().unwrap();
        let late = b.receive_within::<u8>(Duration::from_millis(5)).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        a.send(&1u8).unwrap();
        assert_eq!(b.receive_within::<u8>(Duration::from_millis(5)).unwrap(), Some(1));
    }

    #[test]
    fn garbage_is_an_error() {
        let (a, b) = Channel::pair().unwrap();
        a.send(&"text").unwrap();
        assert!(b.receive::<u8>().is_err());
    }
}
