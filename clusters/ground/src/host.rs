//! Two questions about the host.

use std::io;
use std::path::Path;

/// Whether this process is root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
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
