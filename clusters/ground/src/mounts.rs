//! Mounts that more than one role makes.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use nix::mount::{MsFlags, mount};

use crate::sys::said;

/// The `/proc` of our own PID namespace; whether it is. A container engine that has mounted over parts of the outer
/// one has it refused: the outer one then stays, whose `self` is right all the same.
pub fn own_proc() -> bool {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>).is_ok()
}

/// An empty folder in memory over `target`.
pub fn tmpfs(target: &Path, mode: &str) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let options = format!("mode={mode}");
    said(
        format!("mounting a tmpfs on {}", target.display()),
        mount(
            Some("tmpfs"),
            target,
            Some("tmpfs"),
            flags,
            Some(options.as_str()),
        ),
    )
}

/// Opens a new FUSE connection. Its user namespace must be the one it is mounted in.
pub fn open_fuse() -> io::Result<OwnedFd> {
    said(
        "opening /dev/fuse",
        File::options().read(true).write(true).open("/dev/fuse"),
    )
    .map(OwnedFd::from)
}

/// Mounts an open FUSE connection; the kernel checks permissions, and every user of the node may come in.
pub fn mount_fuse(device: &OwnedFd, source: &str, target: &Path) -> io::Result<()> {
    let descriptor = device.as_raw_fd();
    let options =
        format!("fd={descriptor},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    said(
        format!("mounting FUSE on {}", target.display()),
        mount(Some(source), target, Some("fuse"), flags, Some(options.as_str())),
    )
}

/// Lets `source` be seen at `target` too.
pub fn bind(source: &Path, target: &Path) -> io::Result<()> {
    said(
        format!("binding {} on {}", source.display(), target.display()),
        mount(
            Some(source),
            target,
            None::<&str>,
            MsFlags::MS_BIND | MsFlags::MS_REC,
            None::<&str>,
        ),
    )
}
