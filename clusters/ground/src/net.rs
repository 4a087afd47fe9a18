//! A port: one TAP in the network namespace of whoever calls, with its address, and a fixed ARP entry for every
//! other port. Set up by ioctls; no tool, no netlink.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::proto::{CLIENTS, FIRST_NODE, OBSERVER, PORTS};
use crate::sys::{check, said};

/// The device of the harness's clients.
pub const CLIENTS_DEVICE: &str = "clients";
pub use crate::OBSERVER_DEVICE;
/// A node's device.
pub const NODE_DEVICE: &str = "eth0";

/// 10.9.0.0/16 holds clients, observer and nodes.
const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 0, 0);
/// Ethernet's own: faults are drawn on packets of this length.
const MTU: i32 = 1500;
/// The longest name of a device, with its end.
const NAME: usize = 16;

/// The address of a port.
pub fn address(port: u8) -> Ipv4Addr {
    match port {
        CLIENTS => Ipv4Addr::new(10, 9, 0, 254),
        OBSERVER => Ipv4Addr::new(10, 9, 1, 254),
        node => Ipv4Addr::new(10, 9, 0, node - FIRST_NODE + 1),
    }
}

/// The Ethernet address of a port: locally administered, the port last.
fn hardware(port: u8) -> [u8; 6] {
    [2, 0, 10, 9, 0, port]
}

/// Settings of the network namespace that we are in; before its devices are made, since they take the defaults.
pub fn settle_namespace() -> io::Result<()> {
    // Clients and observer share a namespace and a subnet, so the way back of a packet is not the way it came.
    // The kernel takes the stricter of `all` and the device's own.
    for which in ["all", "default"] {
        need(&format!("conf/{which}/rp_filter"), "0")?;
        wish(&format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
    // With the kernel's 120 s, TCP may notice only two minutes after a heal that the link is back.
    wish("/proc/sys/net/ipv4/tcp_rto_max_ms", "1000");
    // A connection without an owner keeps its network namespace alive: two minutes by default.
    wish("/proc/sys/net/ipv4/tcp_orphan_retries", "1");
    wish("/proc/sys/net/ipv4/tcp_fin_timeout", "1");
    Sockets::new()?.up("lo")
}

/// A setting that must be: an error unless it holds that value after all.
fn need(name: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/ipv4/{name}");
    match fs::write(&path, value) {
        Ok(()) => Ok(()),
        Err(_) if fs::read_to_string(&path).is_ok_and(|is| is.trim() == value) => Ok(()),
        Err(error) => said(format!("writing {value} to {path}"), Err(error)),
    }
}

/// A setting that this kernel may not have, or only outside a container.
fn wish(path: &str, value: &str) {
    let _ = fs::write(path, value);
}

/// The number of the network namespace that we are in, which no other will have while this kernel runs.
pub fn cookie() -> Option<u64> {
    let socket = Sockets::new().ok()?;
    let (mut cookie, mut length) = (0u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: SO_NETNS_COOKIE fills 8 bytes, which `cookie` has and `length` says.
    let done = unsafe {
        let value = (&raw mut cookie).cast();
        libc::getsockopt(
            socket.0.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            value,
            &mut length,
        )
    };
    (done == 0).then_some(cookie)
}

/// Makes a port's device. The descriptor is the wire's end of its cable; the device goes with its last copy.
pub fn make_port(device: &str, port: u8) -> io::Result<OwnedFd> {
    let tap = open_tap(device)?;
    let sockets = Sockets::new()?;
    let mut ethernet = libc::ARPHRD_ETHER.to_ne_bytes().to_vec();
    ethernet.extend(hardware(port));
    sockets.set("SIOCSIFHWADDR", libc::SIOCSIFHWADDR, device, &ethernet)?;
    sockets.set("SIOCSIFMTU", libc::SIOCSIFMTU, device, &MTU.to_ne_bytes())?;
    sockets.set("SIOCSIFADDR", libc::SIOCSIFADDR, device, &inet(address(port)))?;
    sockets.set("SIOCSIFNETMASK", libc::SIOCSIFNETMASK, device, &inet(NETMASK))?;
    sockets.up(device)?;
    for other in (0..PORTS).filter(|other| *other != port) {
        sockets.neighbour(device, other)?;
    }
    Ok(tap)
}

/// What a TAP takes over from its kernel (`TUN_F_CSUM`, `TUN_F_TSO4` of linux/if_tun.h): checksums, and the cutting of
/// TCP segments over IPv4. Frames are longer and fewer by that; the wire does what is left to do where it matters.
const OFFLOADS: libc::c_ulong = 0x01 | 0x02;

/// Opens a new TAP in the network namespace that we are in. Before each frame stands a `struct virtio_net_hdr`.
pub fn open_tap(device: &str) -> io::Result<OwnedFd> {
    let path = c"/dev/net/tun";
    // SAFETY: a plain open of a valid C string.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC) };
    let fd = said("opening /dev/net/tun", check(fd.into()))? as i32;
    // SAFETY: just opened, and nobody else's.
    let tap = unsafe { OwnedFd::from_raw_fd(fd) };
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    let mut request = IfReq::new(device, &(flags as i16).to_ne_bytes());
    // SAFETY: TUNSETIFF reads and writes a struct ifreq, which `IfReq` has the layout and size of.
    let done = unsafe { libc::ioctl(tap.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    said(format!("TUNSETIFF {device}"), check(done.into()))?;
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    let done = unsafe { libc::ioctl(tap.as_raw_fd(), libc::TUNSETOFFLOAD, OFFLOADS) };
    said(format!("TUNSETOFFLOAD {device}"), check(done.into()))?;
    Ok(tap)
}

/// `struct ifreq`: the name, and a union of 24 bytes.
#[repr(C)]
struct IfReq {
    name: [u8; NAME],
    data: [u8; 24],
}

impl IfReq {
    /// `device` is one of ours, shorter than [`NAME`]; `data` at most 24 bytes.
    fn new(device: &str, data: &[u8]) -> IfReq {
        let mut request = IfReq {
            name: [0; NAME],
            data: [0; 24],
        };
        request.name[..device.len()].copy_from_slice(device.as_bytes());
        request.data[..data.len()].copy_from_slice(data);
        request
    }
}

/// `struct arpreq`.
#[repr(C)]
struct ArpReq {
    protocol: [u8; 16],
    hardware: [u8; 16],
    flags: libc::c_int,
    netmask: [u8; 16],
    device: [u8; NAME],
}

/// The entry is complete, and never ages.
const COMPLETE_AND_PERMANENT: libc::c_int = 0x02 | 0x04;

/// A socket to ask the interfaces' ioctls of.
struct Sockets(OwnedFd);

impl Sockets {
    fn new() -> io::Result<Sockets> {
        said(
            "socket",
            socket(
                AddressFamily::Inet,
                SockType::Datagram,
                SockFlag::SOCK_CLOEXEC,
                None,
            ),
        )
        .map(Sockets)
    }

    fn set(&self, what: &str, request: u64, device: &str, data: &[u8]) -> io::Result<()> {
        let mut ifreq = IfReq::new(device, data);
        // SAFETY: each SIOCSIF... request reads a struct ifreq, which `IfReq` has the layout and size of.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), request as libc::Ioctl, &raw mut ifreq) };
        said(format!("{what} {device}"), check(done.into())).map(|_| ())
    }

    fn up(&self, device: &str) -> io::Result<()> {
        let flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        self.set("SIOCSIFFLAGS", libc::SIOCSIFFLAGS, device, &flags.to_ne_bytes())
    }

    /// A fixed entry: nobody ever needs to ask, and a cut never turns into "no route to host".
    fn neighbour(&self, device: &str, port: u8) -> io::Result<()> {
        let mut request = ArpReq {
            protocol: inet(address(port)),
            hardware: [0; 16],
            flags: COMPLETE_AND_PERMANENT,
            netmask: [0; 16],
            device: [0; NAME],
        };
        request.hardware[..2].copy_from_slice(&libc::ARPHRD_ETHER.to_ne_bytes());
        request.hardware[2..8].copy_from_slice(&hardware(port));
        request.device[..device.len()].copy_from_slice(device.as_bytes());
        // SAFETY: SIOCSARP reads a struct arpreq, which `ArpReq` has the layout and size of.
        let done = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SIOCSARP as libc::Ioctl,
                &raw mut request,
            )
        };
        said(format!("SIOCSARP {device}, port {port}"), check(done.into())).map(|_| ())
    }
}

/// `struct sockaddr_in` without a port.
fn inet(address: Ipv4Addr) -> [u8; 16] {
    let mut sockaddr = [0; 16];
    sockaddr[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    sockaddr[4..8].copy_from_slice(&address.octets());
    sockaddr
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_port_has_an_address_of_its_own() {
        let all: HashSet<Ipv4Addr> = (0..PORTS).map(address).collect();
        assert_eq!(all.len(), usize::from(PORTS));
        assert_eq!(address(FIRST_NODE), Ipv4Addr::new(10, 9, 0, 1));
        assert_eq!(address(PORTS - 1), Ipv4Addr::new(10, 9, 0, 62));
    }

    #[test]
    fn requests_have_the_kernels_layout() {
        assert_eq!(size_of::<IfReq>(), size_of::<libc::ifreq>());
        assert_eq!(size_of::<ArpReq>(), size_of::<libc::arpreq>());
    }
}
