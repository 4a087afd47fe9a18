//! Raw frames at the clients' end of the wire: what came there, and a question that only a living machine answers.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

const DEVICE: &std::ffi::CStr = c"clients";
/// The clients' own addresses on the wire.
const OUR_HARDWARE: [u8; 6] = [2, 0, 10, 9, 0, 0];
const OURS: [u8; 4] = [10, 9, 0, 254];
const ETHERNET: usize = 14;
const ARP: [u8; 2] = [0x08, 0x06];
const IPV4: [u8; 2] = [0x08, 0x00];
const TCP: u8 = 6;
const FIN: u8 = 1;
const RST: u8 = 4;

/// A socket that is given every frame.
pub struct Raw(OwnedFd);

impl Raw {
    pub fn open() -> io::Result<Raw> {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: no memory is passed.
        let fd = unsafe {
            libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                protocol.into(),
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: opened just now, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: a sockaddr_ll is plain numbers, for which zero is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        // SAFETY: a text that ends in zero.
        address.sll_ifindex = unsafe { libc::if_nametoindex(DEVICE.as_ptr()) } as i32;
        let length = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: an address of that length.
        let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
        match bound {
            0 => Ok(Raw(socket)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The frames that came from an address in that time.
    pub fn hear(&self, from: Ipv4Addr, time: Duration) -> Vec<Heard> {
        let (until, mut heard) = (Instant::now() + time, Vec::new());
        while Instant::now() < until {
            let mut frame = [0; 2048];
            match nix::unistd::read(&self.0, &mut frame) {
                Ok(length) => heard.extend(Heard::of(&frame[..length], from)),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        heard
    }

    /// Asks who has an address, of that machine itself.
    pub fn who_has(&self, address: Ipv4Addr) {
        let theirs = hardware(address);
        let mut frame = Vec::new();
        frame.extend(theirs);
        frame.extend(OUR_HARDWARE);
        frame.extend(ARP);
        // Ethernet, IPv4, a question.
        frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(OUR_HARDWARE);
        frame.extend(OURS);
        frame.extend([0; 6]);
        frame.extend(address.octets());
        nix::unistd::write(&self.0, &frame).unwrap();
    }
}

/// The wire's ports are counted in both addresses of a node.
fn hardware(address: Ipv4Addr) -> [u8; 6] {
    [2, 0, 10, 9, 0, address.octets()[3] + 1]
}

/// A frame that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// An ARP message.
    Arp,
    /// A TCP segment to that port of ours.
    Segment {
        /// Our port.
        to: u16,
        /// Whether it ends the connection.
        ends: bool,
    },
    /// Anything else.
    Other,
}

impl Heard {
    fn of(frame: &[u8], from: Ipv4Addr) -> Option<Heard> {
        let (head, body) = frame.split_at_checked(ETHERNET)?;
        if head[6..12] != hardware(from) {
            return None;
        }
        if head[12..14] == ARP {
            return Some(Heard::Arp);
        }
        if head[12..14] != IPV4 || *body.get(9)? != TCP {
            return Some(Heard::Other);
        }
        let segment = body.get(usize::from(body[0] & 15) * 4..)?;
        Some(Heard::Segment {
            to: u16::from_be_bytes([*segment.get(2)?, *segment.get(3)?]),
            ends: segment.get(13)? & (FIN | RST) != 0,
        })
    }
}
