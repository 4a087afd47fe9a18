//! A node's own world: host name, network, mounts. Made by its init, inside its namespaces.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, umask};

use super::Birth;
use super::clock::Pages;
use crate::api::{Error, Namespaces};
use crate::lacks::{Mechanism, lacks};
use crate::net::{self, NODE_DEVICE};
use crate::{mounts, real_disk, sys};

/// Where programs put what need not last; the node's own.
const TMP: &str = "/tmp";
/// POSIX shared memory; the node's own.
const SHM: &str = "/dev/shm";

/// What the keeper is handed, and what init remembers.
pub struct World {
    pub tap: OwnedFd,
    /// None where the disk is a real one.
    pub fuse: Option<OwnedFd>,
    pub namespaces: Namespaces,
    pub own_proc: bool,
    pub clock: Pages,
}

/// Makes it; `mount` is that of a real disk.
pub fn make(birth: &Birth, mount: Option<OwnedFd>) -> Result<World, Error> {
    umask(Mode::from_bits_truncate(0o022));
    let name = sys::said("sethostname", nix::unistd::sethostname(&birth.spec.name));
    name.map_err(|why| lacks(Mechanism::Mounts, &why))?;
    let own_proc = mounts::own_proc();
    net::settle_namespace().map_err(|why| lacks(Mechanism::Network, &why))?;
    let tap = net::make_port(NODE_DEVICE, birth.port).map_err(|why| lacks(Mechanism::Tap, &why))?;
    own_folders(birth).map_err(|why| lacks(Mechanism::Mounts, &why))?;
    let clock = Pages::make(&birth.clock).map_err(|why| lacks(Mechanism::Mounts, &why))?;
    let fuse = match mount {
        Some(mount) => {
            let moved = real_disk::move_to(&mount, &birth.spec.home.join("mount"));
            moved.map_err(|why| lacks(Mechanism::Mounts, &why))?;
            None
        }
        None => Some(mount_disk(birth).map_err(|why| lacks(Mechanism::Fuse, &why))?),
    };
    let namespaces = namespaces().map_err(|why| lacks(Mechanism::Mounts, &why))?;
    Ok(World {
        tap,
        fuse,
        namespaces,
        own_proc,
        clock,
    })
}

fn mount_disk(birth: &Birth) -> io::Result<OwnedFd> {
    let fuse = mounts::open_fuse()?;
    mounts::mount_fuse(
        &fuse,
        &format!("disk-{}", birth.spec.name),
        &birth.spec.home.join("mount"),
    )?;
    Ok(fuse)
}

/// `/tmp` and `/dev/shm` are empty, and lost with the power. What the node must still see below `/tmp` is bound
/// back, through descriptors opened before it was covered.
fn own_folders(birth: &Birth) -> io::Result<()> {
    if Path::new(SHM).is_dir() {
        mounts::tmpfs(Path::new(SHM), "1777")?;
    }
    let seen = birth
        .spec
        .visible
        .iter()
        .chain([&birth.run_dir])
        .filter(|path| path.starts_with(TMP));
    let mut kept = Vec::new();
    for path in outermost(seen) {
        let opened = File::options().read(true).custom_flags(libc::O_PATH).open(&path);
        kept.push((sys::said(format!("opening {}", path.display()), opened)?, path));
    }
    mounts::tmpfs(Path::new(TMP), "1777")?;
    for (file, path) in kept {
        if file.metadata()?.is_dir() {
            fs::create_dir_all(&path)?;
        } else {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            File::create(&path)?;
        }
        mounts::bind(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())), &path)?;
    }
    Ok(())
}

/// Without those that lie below another.
fn outermost<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut sorted: Vec<PathBuf> = paths.cloned().collect();
    // A folder sorts before what is in it.
    sorted.sort();
    sorted.dedup_by(|inner, outer| inner.starts_with(outer));
    sorted
}

fn namespaces() -> io::Result<Namespaces> {
    let inode = |name: &str| -> io::Result<u64> {
        let path = format!("/proc/self/ns/{name}");
        sys::said(&path, fs::metadata(&path)).map(|metadata| metadata.ino())
    };
    let (pid, mnt, net, uts) = (inode("pid")?, inode("mnt")?, inode("net")?, inode("uts")?);
    Ok(Namespaces {
        pid,
        mnt,
        net,
        uts,
        net_cookie: net::cookie(),
        init: std::process::id() as i32,
    })
}

#[cfg(test)]
mod tests {
    use super::outermost;
    use std::path::PathBuf;

    #[test]
    fn inner_folders_go_with_outer_ones() {
        let paths: Vec<PathBuf> = ["/tmp/b/c", "/tmp/a", "/tmp/b", "/tmp/b/c/d", "/tmp/bc"]
            .map(PathBuf::from)
            .into();
        let expected: Vec<PathBuf> = ["/tmp/a", "/tmp/b", "/tmp/bc"].map(PathBuf::from).into();
        assert_eq!(outermost(paths.iter()), expected);
    }
}
