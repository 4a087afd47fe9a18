//! Mounts that belong to a descriptor and to no namespace (Linux 5.2), and the end of a file system's power.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use super::{Kind, Options};
use crate::sys;

/// Numbers of the kernel's interface, `linux/mount.h` and `linux/fs.h`.
const FSOPEN_CLOEXEC: libc::c_uint = 1;
const FSCONFIG_SET_FLAG: libc::c_uint = 0;
const FSCONFIG_SET_STRING: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
const FSMOUNT_CLOEXEC: libc::c_uint = 1;
const MOUNT_ATTR_NOSUID_NODEV: libc::c_uint = 2 | 4;
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
/// `_IOR('X', 125, __u32)`, of ext4 and xfs alike.
const FS_IOC_SHUTDOWN: libc::c_ulong = 0x8004_587d;
/// Without flushing the log: what a loss of power leaves.
const NO_LOG_FLUSH: u32 = 2;
/// The longest word of the kernel on a mount that is read.
const WORD: usize = 1024;

/// Mounts the file system of a device.
pub fn mount(kind: Kind, options: Options, device: PathBuf) -> io::Result<OwnedFd> {
    let context = open(kind)?;
    configure(&context, kind, options, &device).map_err(|why| explained(why, &context, kind))?;
    // SAFETY: the call takes a descriptor and two numbers.
    let mount = unsafe {
        libc::syscall(
            libc::SYS_fsmount,
            context.as_raw_fd(),
            FSMOUNT_CLOEXEC,
            MOUNT_ATTR_NOSUID_NODEV,
        )
    };
    let mount = sys::said("fsmount", sys::check(mount))?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(mount as i32) })
}

fn open(kind: Kind) -> io::Result<OwnedFd> {
    let name = match kind {
        Kind::Ext4 => c"ext4",
        Kind::Xfs => c"xfs",
    };
    // SAFETY: the name is a valid C string.
    let context = unsafe { libc::syscall(libc::SYS_fsopen, name.as_ptr(), FSOPEN_CLOEXEC) };
    let context = sys::said(format!("fsopen of {}", kind.word()), sys::check(context))?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(context as i32) })
}

fn configure(context: &OwnedFd, kind: Kind, options: Options, device: &Path) -> io::Result<()> {
    let source = CString::new(device.as_os_str().as_bytes())?;
    set(context, FSCONFIG_SET_STRING, Some(c"source"), Some(&source))?;
    if kind == Kind::Ext4 {
        // Tables of inodes that were never written are holes of the image, and read as the zeros they should be.
        set(context, FSCONFIG_SET_FLAG, Some(c"noinit_itable"), None)?;
        if options.no_auto_da_alloc {
            set(context, FSCONFIG_SET_FLAG, Some(c"noauto_da_alloc"), None)?;
        }
    }
    set(context, FSCONFIG_CMD_CREATE, None, None)
}

fn set(context: &OwnedFd, command: libc::c_uint, key: Option<&CStr>, value: Option<&CStr>) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: the texts are valid C strings, or none where the command takes none.
    let result = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            command,
            pointer(key),
            pointer(value),
            0,
        )
    };
    let what = key.map_or("mounting it".into(), |key| {
        format!("setting {}", key.to_string_lossy())
    });
    sys::said(what, sys::check(result)).map(drop)
}

/// With what the kernel says of it, where it says anything.
fn explained(why: io::Error, context: &OwnedFd, kind: Kind) -> io::Error {
    let mut word = [0; WORD];
    let said = context
        .try_clone()
        .and_then(|context| File::from(context).read(&mut word))
        .map(|length| String::from_utf8_lossy(&word[..length]).trim().to_string())
        .unwrap_or_default();
    io::Error::new(
        why.kind(),
        format!("{}: {why} {said}", kind.word()).trim_end().to_string(),
    )
}

/// The root of a mount, open for more than paths.
pub fn root(mount: &OwnedFd) -> io::Result<File> {
    sys::said("opening the root of the mount", File::open(super::below(mount)))
}

/// Moves a mount that is in no namespace onto a folder of ours.
pub fn move_to(mount: &OwnedFd, target: &Path) -> io::Result<()> {
    let path = CString::new(target.as_os_str().as_bytes())?;
    // SAFETY: both paths are valid C strings.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    sys::said(
        format!("moving the mount to {}", target.display()),
        sys::check(result),
    )
    .map(drop)
}

/// Ends a file system as a loss of power would: nothing more reaches its device.
pub fn shut_down(root: &File) -> io::Result<()> {
    // SAFETY: the ioctl reads one u32 at the address, which is valid.
    let result = unsafe { libc::ioctl(root.as_raw_fd(), FS_IOC_SHUTDOWN as _, &NO_LOG_FLUSH) };
    sys::said("FS_IOC_SHUTDOWN", sys::check(result.into())).map(drop)
}
