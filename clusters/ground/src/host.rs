//! Questions about the host and this process's standing on it.

use std::io;
use std::path::Path;

/// Whether this process is root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Who this process is: the number of its effective user.
pub fn user_id() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// From now on no terminal is this process's: its closing and its Ctrl-C reach it no more.
///
/// # Errors
/// Where this process leads a group of its own.
pub fn leave_session() -> io::Result<()> {
    crate::sys::said("setsid", nix::unistd::setsid()).map(drop)
}

/// Bytes that an ordinary user may still write on the file system of a folder.
///
/// # Errors
/// Where the folder is not there.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let stat = nix::sys::statvfs::statvfs(folder)?;
    // The types differ between architectures.
    #[allow(clippy::useless_conversion)]
    Ok(u64::from(stat.blocks_available()).saturating_mul(u64::from(stat.fragment_size())))
}
