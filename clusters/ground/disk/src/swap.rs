//! The disk as a whole: replaced by an empty one, or by a copy of what it held before; and back again.
//!
//! All that was replaced stays in the run's folder, beside the disk, until it is put back or forgotten.
use crate::rule::{DiskSwap, Swapped};
use crate::{DiskError, DiskPaths};
use nix::unistd::{Gid, Uid, chown};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where one fault keeps disks.
struct Kept {
    folder: PathBuf,
    /// A copy.
    image: PathBuf,
    /// What was replaced.
    old: PathBuf,
}

impl Kept {
    fn of(paths: &DiskPaths, fault: u64) -> Kept {
        let folder = paths.images.join(fault.to_string());
        Kept {
            image: folder.join("image"),
            old: folder.join("old"),
            folder,
        }
    }
}

/// Moves folders. Nobody may use the disk meanwhile, but where an image is taken: then nobody may change it.
pub(crate) fn swap(paths: &DiskPaths, fault: u64, swap: DiskSwap) -> Result<Swapped, DiskError> {
    let kept = Kept::of(paths, fault);
    let host = |what: &'static str, path: &Path| {
        let path = path.to_path_buf();
        move |why| DiskError::Host { what, path, why }
    };
    let replaced = || fs::rename(&paths.backing, &kept.old).map_err(host("put aside", &paths.backing));
    if swap != DiskSwap::Forget && swap != DiskSwap::Back {
        fs::create_dir_all(&kept.folder).map_err(host("make", &kept.folder))?;
    }
    let mut before = Swapped::default();
    if swap != DiskSwap::TakeImage && swap != DiskSwap::Forget {
        count(&paths.backing, &mut before).map_err(host("read", &paths.backing))?;
    }
    let now = match swap {
        DiskSwap::TakeImage => {
            copy(&paths.backing, &kept.image).map_err(host("copy the disk to", &kept.image))?;
            &kept.image
        }
        DiskSwap::ToEmpty => {
            let meta = fs::metadata(&paths.backing).map_err(host("read", &paths.backing))?;
            replaced()?;
            fs::create_dir(&paths.backing)
                .and_then(|()| like(&paths.backing, &meta))
                .map_err(host("make", &paths.backing))?;
            &paths.backing
        }
        DiskSwap::ToImage => {
            fs::metadata(&kept.image).map_err(host("find the image", &kept.image))?;
            replaced()?;
            fs::rename(&kept.image, &paths.backing).map_err(host("put in place", &kept.image))?;
            &paths.backing
        }
        DiskSwap::Back => {
            fs::metadata(&kept.old).map_err(host("find the old disk", &kept.old))?;
            fs::remove_dir_all(&paths.backing).map_err(host("remove", &paths.backing))?;
            fs::rename(&kept.old, &paths.backing).map_err(host("put in place", &kept.old))?;
            fs::remove_dir_all(&kept.folder).map_err(host("remove", &kept.folder))?;
            &paths.backing
        }
        DiskSwap::Forget => {
            match fs::remove_dir_all(&kept.folder) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    return Err(host("remove", &kept.folder)(why));
                }
                _ => {}
            }
            &paths.backing
        }
    };
    let mut held = Swapped {
        old_files: before.files,
        old_bytes: before.bytes,
        ..Swapped::default()
    };
    count(now, &mut held).map_err(host("read", now))?;
    Ok(held)
}

fn count(folder: &Path, held: &mut Swapped) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            count(&entry.path(), held)?;
        } else if kind.is_file() {
            held.files += 1;
            held.bytes += entry.metadata()?.len();
        }
    }
    Ok(())
}

/// A copy of a folder and all that is in it, holes included. Of what is neither file, folder nor symlink there is none:
/// it means nothing to another life.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        fs::remove_dir_all(to)?;
    }
    let meta = fs::metadata(from)?;
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            copy_file(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, target)?;
        }
    }
    like(to, &meta)
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    const PIECE: u64 = 1 << 20;
    let (source, target) = (File::open(from)?, File::create(to)?);
    let meta = source.metadata()?;
    target.set_len(meta.len())?;
    for (start, end) in crate::model::extents(&source, 0, meta.len()).iter() {
        let mut at = start;
        while at < end {
            let mut bytes = vec![0; PIECE.min(end - at) as usize];
            source.read_exact_at(&mut bytes, at)?;
            target.write_all_at(&bytes, at)?;
            at += bytes.len() as u64;
        }
    }
    like(to, &meta)?;
    let times = fs::FileTimes::new().set_modified(meta.modified()?);
    target.set_times(times)
}

/// Has the owner and the mode of something else.
fn like(path: &Path, meta: &fs::Metadata) -> io::Result<()> {
    chown(
        path,
        Some(Uid::from_raw(meta.uid())),
        Some(Gid::from_raw(meta.gid())),
    )?;
    fs::set_permissions(path, fs::Permissions::from_mode(meta.mode() & 0o7777))
}
