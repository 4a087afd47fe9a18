//! What a kernel does unasked, done at once: it writes some pages back, or commits the journal.
use crate::home::Random;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const PAGE: u64 = 4096;

/// What was done, in words.
#[derive(Debug)]
pub enum Nudge {
    Nothing,
    /// Pages of a file were written back.
    WrittenBack(PathBuf, u64, u64),
    /// A file that nobody else knows was changed and synced, and the journal with it.
    Committed,
}

/// Perhaps one of them. `other` is a file on the same file system that the test does not look at.
pub fn nudge(random: &mut Random, folder: &Path, other: &Path) -> Nudge {
    match random.below(10) {
        0..=2 => write_back(random, folder),
        3 => {
            commit(other);
            Nudge::Committed
        }
        _ => Nudge::Nothing,
    }
}

/// The same, more often.
pub fn nudge_often(random: &mut Random, folder: &Path, other: &Path) {
    for _ in 0..random.below(4) {
        match random.below(3) {
            0..=1 => drop(write_back(random, folder)),
            _ => commit(other),
        }
    }
}

/// Has the kernel keep each page of the files there by itself, as it does when memory is scarce: what it keeps in one
/// piece it writes back in one.
pub fn page_by_page(folder: &Path) {
    let mut files = Vec::new();
    find(folder, &mut files);
    for path in files {
        let file = File::open(path).unwrap();
        let advise = |advice| posix_fadvise(&file, 0, 0, advice).unwrap();
        advise(PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        advise(PosixFadviseAdvice::POSIX_FADV_RANDOM);
        for at in (0..file.metadata().unwrap().len()).step_by(PAGE as usize) {
            file.read_at(&mut [0], at).unwrap();
        }
    }
}

pub fn commit(other: &Path) {
    let mut file = File::options().create(true).append(true).open(other).unwrap();
    file.write_all(b".").unwrap();
    file.sync_all().unwrap();
}

fn write_back(random: &mut Random, folder: &Path) -> Nudge {
    let mut files = Vec::new();
    find(folder, &mut files);
    if files.is_empty() {
        return Nudge::Nothing;
    }
    files.sort();
    let path = files.swap_remove(random.below(files.len() as u64) as usize);
    let pages = fs::metadata(&path).unwrap().len().div_ceil(PAGE).max(1);
    let (from, count) = match random.below(3) {
        0 => (0, pages),
        _ => {
            let from = random.below(pages);
            (from, 1 + random.below(pages - from))
        }
    };
    ground::real_disk::write_back(&File::open(&path).unwrap(), from * PAGE, count * PAGE).unwrap();
    Nudge::WrittenBack(path, from, count)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => find(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}
