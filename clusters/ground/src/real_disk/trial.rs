//! Whether this machine can do it, found out by doing it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::{Bounds, Kind, Options, RealDisk, below};
use crate::api::Error;

/// What is done.
const HOW: &str = "an image on a loop device formatted, mounted, cut by the file system's shutdown and mounted again: \
                   what was synced is there, and what was not is gone";

/// Makes a real disk in a folder, cuts its power and looks at what is left. Nothing stays. How it was tried.
///
/// # Errors
/// What this machine lacks, with the line that helps.
pub fn try_real_disk(kind: Kind, folder: &Path) -> Result<&'static str, Error> {
    let mut disk = RealDisk::make(kind, folder, Options::default())?;
    let lacks = |why: io::Error| Error {
        what: format!("cutting the power of {}", kind.word()),
        why: why.to_string(),
        next: "run it on Linux 5.8 or later, with ext4 and xfs as they come".into(),
        machine: true,
    };
    cut_once(&mut disk).map_err(lacks)?;
    Ok(HOW)
}

fn cut_once(disk: &mut RealDisk) -> io::Result<()> {
    let mount = disk.mount()?;
    let top = below(&mount);
    File::create(top.join("synced")).and_then(|mut file| {
        file.write_all(b"x")?;
        file.sync_all()?;
        File::open(&top)?.sync_all()
    })?;
    fs::write(top.join("not-synced"), b"x")?;
    disk.cut(Bounds::default())?;
    if fs::write(top.join("late"), b"x").is_ok() {
        return Err(io::Error::other("it takes writes after it was shut down"));
    }
    drop(mount);
    disk.settle()?;
    let top_again = disk.mount()?;
    let there = |name: &str| below(&top_again).join(name).exists();
    match (there("synced"), there("not-synced")) {
        (true, false) => Ok(()),
        (false, _) => Err(io::Error::other("what was synced is lost")),
        (true, true) => Err(io::Error::other(
            "what was not synced is kept: the shutdown does nothing",
        )),
    }
}
