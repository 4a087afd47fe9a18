//! What is on a file system now, within bounds: all names and lengths, and the bytes that a cut could take.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sys;

/// How much of a file is read at once.
const PIECE: u64 = 1 << 20;

/// What a look may cost.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Files that changed within this time are read: the kernel writes data back after 30 s, and looks for them every
    /// 5 s, so what is older is on the disk.
    pub recent: Duration,
    /// Bytes that are read, over all files, and kept until the cut is settled. Of the file that exceeds it the end is
    /// read, which is what is lost most often.
    pub bytes: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            recent: Duration::from_secs(120),
            bytes: 256 << 20,
        }
    }
}

/// The longest handle of both file systems: a number of 64 bits, a generation of 32.
const HANDLE: usize = 16;

/// An inode's number and generation: a number is given out again.
pub type Id = [u8; HANDLE];
/// A name: the folder it is in, and what it is called there.
pub type Slot = (Id, Vec<u8>);

/// `struct file_handle`.
#[repr(C)]
struct Handle {
    length: u32,
    kind: i32,
    bytes: Id,
}

/// A file system's names and files.
#[derive(Debug, Default)]
pub struct Look {
    /// Every name, and what it stands for.
    pub names: BTreeMap<Slot, Id>,
    /// A path of each, from the top.
    pub paths: HashMap<Id, PathBuf>,
    /// Every file.
    pub files: HashMap<Id, Seen>,
    /// The top.
    pub top: Id,
    /// Paths of files that changed lately and were not read, or not all of them.
    pub unseen: Vec<PathBuf>,
}

/// A file.
#[derive(Debug, Default)]
pub struct Seen {
    /// How long it is.
    pub length: u64,
    /// Its bytes as far as they were read, by where they begin: no holes, and not what is past a bound.
    pub pieces: Vec<(u64, Vec<u8>)>,
}

impl Look {
    /// Looks at a mount, from its top.
    pub fn at(top: &Path, bounds: Bounds) -> io::Result<Look> {
        let mut look = Look::names_of(top)?;
        let since = SystemTime::now().checked_sub(bounds.recent).unwrap_or(UNIX_EPOCH);
        let mut recent: Vec<(SystemTime, Id)> = Vec::new();
        for id in look.files.keys() {
            let metadata = fs::symlink_metadata(top.join(&look.paths[id]))?;
            let changed = changed(&metadata);
            if changed >= since {
                recent.push((changed, *id));
            }
        }
        // The newest first: where the bound is met, the older ones are likelier to be on the disk.
        recent.sort_by(|a, b| b.cmp(a));
        let mut left = bounds.bytes;
        for (_, id) in recent {
            let path = look.paths[&id].clone();
            let length = look.files[&id].length;
            let file = File::open(top.join(&path))?;
            let from = length.saturating_sub(left);
            let pieces = pieces(&file, from, length)?;
            left -= pieces
                .iter()
                .map(|(_, bytes)| bytes.len() as u64)
                .sum::<u64>()
                .min(left);
            if from > 0 {
                look.unseen.push(path);
            }
            if let Some(seen) = look.files.get_mut(&id) {
                seen.pieces = pieces;
            }
        }
        look.unseen.sort();
        Ok(look)
    }

    /// All names and lengths.
    pub fn names_of(top: &Path) -> io::Result<Look> {
        let mut look = Look {
            // Not the link that leads there.
            top: identity(&top.join("."))?.0,
            ..Look::default()
        };
        look.take(top, Path::new(""), look.top)?;
        Ok(look)
    }

    fn take(&mut self, top: &Path, folder: &Path, id: Id) -> io::Result<()> {
        for entry in fs::read_dir(top.join(folder))? {
            let name = entry?.file_name();
            let path = folder.join(&name);
            let (child, metadata) = identity(&top.join(&path))?;
            self.names.insert((id, name.into_encoded_bytes()), child);
            self.paths.entry(child).or_insert_with(|| path.clone());
            if metadata.is_dir() {
                self.take(top, &path, child)?;
            } else if metadata.is_file() {
                let length = metadata.len();
                let pieces = Vec::new();
                self.files.insert(child, Seen { length, pieces });
            }
        }
        Ok(())
    }

    /// The path of a name.
    pub fn path(&self, slot: &Slot) -> String {
        let folder = if slot.0 == self.top {
            Path::new("")
        } else {
            self.paths.get(&slot.0).map_or(Path::new("?"), PathBuf::as_path)
        };
        let name = String::from_utf8_lossy(&slot.1);
        folder.join(&*name).to_string_lossy().into_owned()
    }
}

/// What the file system calls it when it must not take it for another, and what it is.
fn identity(path: &Path) -> io::Result<(Id, Metadata)> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let mut handle = Handle {
        length: HANDLE as u32,
        kind: 0,
        bytes: [0; HANDLE],
    };
    let mut mount = 0;
    // SAFETY: the name is a valid C string; the handle says how many bytes it has room for; `mount` is filled.
    let told = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            name.as_ptr(),
            &raw mut handle,
            &raw mut mount,
            0,
        )
    };
    sys::said(format!("name_to_handle_at {}", path.display()), sys::check(told))?;
    let metadata = sys::said(path.display().to_string(), fs::symlink_metadata(path))?;
    Ok((handle.bytes, metadata))
}

/// When its bytes or anything else of it changed last.
fn changed(metadata: &Metadata) -> SystemTime {
    let inode = u64::try_from(metadata.ctime()).unwrap_or(0);
    let inode = UNIX_EPOCH + Duration::new(inode, metadata.ctime_nsec() as u32);
    metadata.modified().map_or(inode, |bytes| bytes.max(inode))
}

/// What a file holds in a range, without its holes.
fn pieces(file: &File, from: u64, to: u64) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut at = from;
    while at < to {
        let Some(data) = seek(file, at, libc::SEEK_DATA)? else {
            break;
        };
        let end = seek(file, data, libc::SEEK_HOLE)?.unwrap_or(to).min(to);
        let mut bytes = Vec::new();
        at = data;
        while at < end {
            let mut piece = vec![0; PIECE.min(end - at) as usize];
            let read = file.read_at(&mut piece, at)?;
            if read == 0 {
                break;
            }
            bytes.extend_from_slice(&piece[..read]);
            at += read as u64;
        }
        found.push((data, bytes));
        // A file that is shorter than it was a moment ago ends here.
        at = at.max(end);
    }
    Ok(found)
}

/// Where data or a hole begins, from a place on; none where the file ends before.
fn seek(file: &File, from: u64, what: libc::c_int) -> io::Result<Option<u64>> {
    // SAFETY: the call takes a descriptor and numbers.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, what) };
    match sys::check(found) {
        Ok(place) => Ok(Some(place as u64)),
        Err(nix::errno::Errno::ENXIO) => Ok(None),
        Err(why) => sys::said("lseek", Err(why)),
    }
}
