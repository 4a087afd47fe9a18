//! The tries themselves, in a process that has new namespaces. Each uses what it tries: some systems let a call
//! succeed and then deny what it was for.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use nix::mount::{MsFlags, mount};

use super::{available, unavailable};
use crate::api::Probe;
use crate::lacks::{Mechanism, lacks};
use crate::packet::Channel;
use crate::{mounts, net, spawn, sys};

/// How long the kernel may take to its first request on a new FUSE connection; it sends it while mounting.
const HANDSHAKE: Duration = Duration::from_secs(2);
/// FUSE_INIT, the number of the first request, at byte 4 of it.
const FUSE_INIT: [u8; 4] = 26u32.to_ne_bytes();

/// The argument that asks for the mechanisms of faults.
pub const FAULTS: &str = "faults";

/// The role `__probe`, or `__probe faults`.
pub fn main() -> ExitCode {
    let all = if std::env::args().any(|arg| arg == FAULTS) {
        super::faults::all
    } else {
        all
    };
    let said = Channel::inherited().and_then(|parent| {
        sys::die_with_parent(&parent)?;
        parent.send(&all())
    });
    match said {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the probe is started by `doctor`, not by hand: {error}");
            ExitCode::from(70)
        }
    }
}

type Try = fn() -> io::Result<()>;

fn all() -> Vec<Probe> {
    let tries: [(Mechanism, &str, Try); 5] = [
        (
            Mechanism::Mounts,
            "private mounts, a tmpfs over /tmp, a /proc of its own",
            mounts_work,
        ),
        (
            Mechanism::Network,
            "its settings written, lo up",
            net::settle_namespace,
        ),
        (Mechanism::Tap, "a TAP made, addressed and up", tap_works),
        (
            Mechanism::Fuse,
            "a file system mounted on /tmp, and the kernel's handshake read",
            fuse_works,
        ),
        (
            Mechanism::Nested,
            "clone with every namespace again, as each node has them",
            nested_works,
        ),
    ];
    tries
        .into_iter()
        .map(|(mechanism, how, work)| probe(mechanism, how, work()))
        .collect()
}

fn probe(mechanism: Mechanism, how: &str, worked: io::Result<()>) -> Probe {
    match worked {
        Ok(()) => available(mechanism, how),
        Err(why) => unavailable(mechanism.name(), how, &lacks(mechanism, &why)),
    }
}

fn mounts_work() -> io::Result<()> {
    let nothing: Option<&str> = None;
    let private = mount(
        nothing,
        "/",
        nothing,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        nothing,
    );
    sys::said("making the mounts of / private", private)?;
    mounts::tmpfs(Path::new("/tmp"), "1777")?;
    // A run goes on without it.
    mounts::own_proc();
    sys::said("sethostname", nix::unistd::sethostname("ackall"))
}

fn tap_works() -> io::Result<()> {
    net::make_port(net::NODE_DEVICE, crate::proto::FIRST_NODE).map(drop)
}

fn fuse_works() -> io::Result<()> {
    let device = mounts::open_fuse()?;
    mounts::mount_fuse(&device, "probe", Path::new("/tmp"))?;
    if !sys::readable(&[device.as_fd()], Some(HANDSHAKE))?[0] {
        return Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the kernel sends no FUSE request",
        ));
    }
    // The kernel refuses a reader whose buffer could not hold the longest request.
    let mut request = vec![0; 1 << 18];
    let length = sys::said(
        "reading /dev/fuse",
        std::fs::File::from(device).read(&mut request),
    )?;
    if length >= 8 && request[4..8] == FUSE_INIT {
        Ok(())
    } else {
        Err(io::Error::other("the first FUSE request is not a handshake"))
    }
}

fn nested_works() -> io::Result<()> {
    spawn::try_clone(spawn::NAMESPACES)
}
