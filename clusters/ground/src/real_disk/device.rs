//! A loop device that clears itself when nobody has it any more.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use crate::sys;

/// Numbers of the kernel's interface, `linux/loop.h`.
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// The major number of loop devices.
const MAJOR: u64 = 7;
/// How often another may take the device that was free a moment ago.
const RACES: u32 = 64;
/// What the statistics of block devices count in, whatever the device's own sectors.
const SECTOR: u64 = 512;

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// A loop device of ours, held by its descriptor.
pub struct LoopDevice {
    file: File,
    number: u32,
    /// What had been written and flushed when it became ours: the numbers go on over its lives.
    before: (u64, u64),
}

impl LoopDevice {
    /// Attaches a file. Another may take the device that the kernel called free: then the next one is tried. A device
    /// without a node is given one in `folder` for a moment.
    pub fn attach(image: &File, folder: &Path) -> io::Result<LoopDevice> {
        let control = sys::said(
            "opening /dev/loop-control",
            File::options().read(true).write(true).open("/dev/loop-control"),
        )?;
        for _ in 0..RACES {
            // SAFETY: the ioctl takes no argument.
            let free = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            let number = sys::said("LOOP_CTL_GET_FREE", sys::check(free.into()))? as u32;
            let file = open(number, folder)?;
            match configure(&file, image) {
                Ok(()) => {
                    let mut device = LoopDevice {
                        file,
                        number,
                        before: (0, 0),
                    };
                    device.before = device.written()?;
                    return Ok(device);
                }
                Err(nix::errno::Errno::EBUSY) => {}
                Err(why) => return sys::said(format!("LOOP_CONFIGURE of loop device {number}"), Err(why)),
            }
        }
        Err(io::Error::other(format!(
            "{RACES} loop devices that were free were taken before we had them"
        )))
    }

    /// Its path, good whatever becomes of its name.
    pub fn path(&self) -> PathBuf {
        super::below(&self.file)
    }

    /// Another descriptor of it.
    pub fn duplicate(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Whether no file system has it: those take it for themselves alone.
    pub fn is_free(&self) -> io::Result<bool> {
        let alone = File::options()
            .read(true)
            .custom_flags(libc::O_EXCL)
            .open(self.path());
        match alone {
            Ok(_) => Ok(true),
            Err(why) if why.raw_os_error() == Some(libc::EBUSY) => Ok(false),
            Err(why) => sys::said("opening the loop device alone", Err(why)),
        }
    }

    /// Bytes written and flushes since it became ours.
    pub fn written(&self) -> io::Result<(u64, u64)> {
        /// Where they stand among the fields.
        const WRITTEN: usize = 6;
        const FLUSHES: usize = 15;
        let path = format!("/sys/block/loop{}/stat", self.number);
        let text = sys::said(&path, fs::read_to_string(&path))?;
        let field = |place: usize| -> u64 {
            let word = text.split_whitespace().nth(place);
            word.and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        let now = (field(WRITTEN) * SECTOR, field(FLUSHES));
        Ok((
            now.0.saturating_sub(self.before.0),
            now.1.saturating_sub(self.before.1),
        ))
    }
}

fn open(number: u32, folder: &Path) -> io::Result<File> {
    let read_write = |path: &Path| File::options().read(true).write(true).open(path);
    let named = PathBuf::from(format!("/dev/loop{number}"));
    let device = makedev(MAJOR, number.into());
    match read_write(&named) {
        Ok(file) if is_device(&file, device) => return Ok(file),
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            return sys::said(format!("opening {}", named.display()), Err(why));
        }
        _ => {}
    }
    let made = folder.join(format!(".loop{number}"));
    let mode = Mode::from_bits_truncate(0o600);
    sys::said(
        format!("making a node for loop device {number}, which has none in /dev"),
        mknod(&made, SFlag::S_IFBLK, mode, device),
    )?;
    let opened = read_write(&made);
    let removed = fs::remove_file(&made);
    let file = sys::said(format!("opening loop device {number}"), opened)?;
    removed.map(|()| file)
}

fn is_device(file: &File, device: u64) -> bool {
    file.metadata()
        .is_ok_and(|metadata| metadata.file_type().is_block_device() && metadata.rdev() == device)
}

fn configure(device: &File, image: &File) -> nix::Result<()> {
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    // A descriptor is never negative.
    config.fd = image.as_raw_fd() as u32;
    config.info.flags = LO_FLAGS_AUTOCLEAR;
    // SAFETY: the ioctl reads one LoopConfig at the address, which is valid.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &config) };
    sys::check(result.into()).map(drop)
}
