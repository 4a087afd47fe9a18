//! Making a file system on an image that has no name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::device::LoopDevice;
use super::{Kind, Options, RealDisk, State, below, mount};
use crate::api::Error;
use crate::sys;

/// How large the file system is. The image has holes: what is not written takes no room.
const BYTES: u64 = 16 << 30;
/// What ext4 makes in each root, for a repair that nobody does here.
const LOST_AND_FOUND: &str = "lost+found";
/// What is said of a tool that was there.
const FAILED: &str = "ends with";

pub fn make(kind: Kind, folder: &Path, options: Options) -> Result<RealDisk, Error> {
    let refused = |why: io::Error| {
        let next = remedy(kind, &why);
        Error {
            what: format!("making a disk with {} for a node", kind.word()),
            why: why.to_string(),
            next,
            machine: true,
        }
    };
    let image = image(folder).map_err(refused)?;
    let device = LoopDevice::attach(&image, folder).map_err(refused)?;
    format(kind, &device).map_err(refused)?;
    let mount = mount::mount(kind, options, device.path()).map_err(refused)?;
    if kind == Kind::Ext4 {
        let removed = fs::remove_dir(below(&mount).join(LOST_AND_FOUND));
        sys::said(format!("removing {LOST_AND_FOUND}"), removed)
            .and_then(|()| mount::root(&mount)?.sync_all())
            .map_err(refused)?;
    }
    Ok(RealDisk {
        kind,
        options,
        device,
        state: State::Ready(mount),
    })
}

/// A large file of holes, without a name.
fn image(folder: &Path) -> io::Result<File> {
    let image = match unnamed(folder) {
        Err(why) if why.raw_os_error() == Some(libc::EOPNOTSUPP) => named_for_a_moment(folder)?,
        image => sys::said(format!("making a file in {}", folder.display()), image)?,
    };
    sys::said(
        format!("giving the image {} GiB of holes", BYTES >> 30),
        image.set_len(BYTES),
    )?;
    Ok(image)
}

/// A file that never had a name: whoever is killed meanwhile leaves none.
fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_TMPFILE);
    options.open(folder)
}

/// The same where the file system knows no such files. Its name is gone before anything is in it.
fn named_for_a_moment(folder: &Path) -> io::Result<File> {
    // Another disk may be in the making in the same folder.
    let path = folder.join(format!(".disk-{}.img", sys::monotonic_ns()));
    let image = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path);
    let image = sys::said(format!("making {}", path.display()), image)?;
    sys::said("removing the image's name", fs::remove_file(&path))?;
    Ok(image)
}

fn format(kind: Kind, device: &LoopDevice) -> io::Result<()> {
    let arguments: &[&str] = match kind {
        // Holes need no zeroing, and no blocks are kept back for root.
        Kind::Ext4 => &[
            "-q",
            "-F",
            "-m",
            "0",
            "-E",
            "lazy_itable_init=1,lazy_journal_init=1,nodiscard",
        ],
        Kind::Xfs => &["-q", "-f", "-K"],
    };
    let tool = format!("mkfs.{}", kind.word());
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(&tool)
        .args(arguments)
        // Its standard input is the device: mkfs gets a path that needs no name in /dev.
        .arg("/proc/self/fd/0")
        .stdin(Stdio::from(device.duplicate()?))
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .output();
    let output = sys::said(&tool, output)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(io::Error::other(format!(
        "{tool} {FAILED} {}: {words}",
        output.status
    )))
}

/// One line to copy that helps.
fn remedy(kind: Kind, why: &io::Error) -> String {
    let said = why.to_string();
    let root = is_root();
    let missing = why.kind() == io::ErrorKind::NotFound;
    match () {
        () if said.starts_with("mkfs") && !said.contains(FAILED) => {
            let package = match kind {
                Kind::Ext4 => "e2fsprogs",
                Kind::Xfs => "xfsprogs",
            };
            format!("sudo apt-get install -y {package}")
        }
        () if !root => "sudo ackall run ...".into(),
        // Nothing is there, or something else of that name.
        () if said.to_lowercase().contains("loop") && (missing || said.contains("(os error 25)")) => {
            "sudo modprobe loop".into()
        }
        () if said.contains("fsopen") && said.contains("(os error 19)") => {
            format!("sudo modprobe {}", kind.word())
        }
        () if said.contains("(os error 38)") => "run it on Linux 5.8 or later".into(),
        () if why.kind() == io::ErrorKind::PermissionDenied => "docker run --privileged ...".into(),
        () if why.kind() == io::ErrorKind::StorageFull => "ackall run --out A_FOLDER_WITH_ROOM".into(),
        () => "see the kernel's log (dmesg); --disk fuse needs none of it".into(),
    }
}

/// Whether this is the machine's root: an ordinary user is root in a user namespace of its own, too.
fn is_root() -> bool {
    /// What the map of the machine's own user namespace ends with.
    const ALL: &str = "4294967295";
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    nix::unistd::geteuid().is_root() && map.trim_end().ends_with(ALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_own_line() {
        let missing = || io::Error::from_raw_os_error(libc::ENOENT);
        let said = |what: &str, why: io::Error| sys::said::<()>(what, Err(why)).unwrap_err();
        let cases = [
            (said("mkfs.xfs", missing()), "install -y xfsprogs", true),
            (
                said("opening /dev/loop-control", missing()),
                "modprobe loop",
                false,
            ),
            (
                said("fsopen of xfs", io::Error::from_raw_os_error(libc::ENODEV)),
                "modprobe xfs",
                false,
            ),
            (
                said("fsopen of xfs", io::Error::from_raw_os_error(libc::ENOSYS)),
                "Linux 5.8",
                false,
            ),
            (
                said("LOOP_CONFIGURE", io::Error::from_raw_os_error(libc::EPERM)),
                "--privileged",
                false,
            ),
        ];
        let root = is_root();
        for (why, expected, any_user) in cases {
            let line = remedy(Kind::Xfs, &why);
            let expected = if root || any_user { expected } else { "sudo ackall" };
            assert!(line.contains(expected), "{why}: {line}");
            assert_eq!(line.lines().count(), 1);
        }
    }
}
