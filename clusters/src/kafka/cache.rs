//! The cache: where it is, whose it is, and who may change it now.

use super::Absent;
use super::child::LOOK_EVERY;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Names the cache's folder.
pub const CACHE: &str = "ACKALL_KAFKA_CACHE";

/// The folder of the cache: [`CACHE`], else `ackall/kafka` in `XDG_CACHE_HOME`, else in `.cache` of the home: under
/// sudo the home of whoever called it, so that jars are fetched once for both.
///
/// # Errors
/// Where nothing names one.
pub fn cache() -> Result<PathBuf, Absent> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let folder = cache_of(&|name| std::env::var_os(name), &passwd).ok_or(Absent::NoCache)?;
    // Nodes are started elsewhere than in this process's folder.
    Ok(std::path::absolute(&folder).unwrap_or(folder))
}

fn cache_of(variable: &dyn Fn(&str) -> Option<OsString>, passwd: &str) -> Option<PathBuf> {
    let set = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(cache) = set(CACHE) {
        return Some(cache);
    }
    let caller = set("SUDO_UID").and_then(|uid| home_of(passwd, uid.to_str()?));
    let caches = match caller {
        Some(home) => home.join(".cache"),
        // The standard has it that a relative one does not count.
        None => set("XDG_CACHE_HOME")
            .filter(|folder| folder.is_absolute())
            .or_else(|| Some(set("HOME")?.join(".cache")))?,
    };
    Some(caches.join("ackall").join("kafka"))
}

/// A user's home, as the file of users has it.
fn home_of(passwd: &str, uid: &str) -> Option<PathBuf> {
    let home = passwd.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        (fields.next()? == uid).then(|| fields.nth(2)).flatten()
    })?;
    Path::new(home).is_dir().then(|| home.into())
}

/// The right to change the cache, as long as it lives.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
    cache: PathBuf,
}

/// Makes the cache's folder, and waits until nobody else changes it.
///
/// # Errors
/// Where it cannot be written, or (`None`) the wait was too long.
pub fn turn(cache: &Path, limit: Duration) -> Result<Turn, Option<Absent>> {
    let began = Instant::now();
    make(cache).map_err(|why| Some(refused(cache, &why)))?;
    let path = cache.join("lock");
    // Not truncated, so that a lock in a folder that may only be read says so by its name.
    let lock = File::options().create(true).append(true).open(&path);
    let lock = lock.map_err(|why| Some(refused(&path, &why)))?;
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if began.elapsed() < limit => std::thread::sleep(LOOK_EVERY),
            Err(TryLockError::WouldBlock) => return Err(None),
            Err(TryLockError::Error(why)) => return Err(Some(refused(&path, &why))),
        }
    }
    let turn = Turn {
        _lock: lock,
        cache: cache.to_owned(),
    };
    turn.hand_over(&path);
    Ok(turn)
}

impl Turn {
    /// Gives what was just made to whoever owns the cache: root fetches for the user who called it by sudo.
    pub fn hand_over(&self, made: &Path) {
        if let Ok(owner) = fs::symlink_metadata(&self.cache) {
            give(made, owner.uid(), owner.gid());
        }
    }
}

/// A folder and its parents; those that were not there belong to whoever owns the one that was.
fn make(folder: &Path) -> io::Result<()> {
    let there = folder.ancestors().find(|ancestor| ancestor.is_dir());
    let owner = there.and_then(|there| fs::metadata(there).ok());
    fs::create_dir_all(folder)?;
    let new = folder.ancestors().take_while(|ancestor| Some(*ancestor) != there);
    if let Some(owner) = owner {
        new.for_each(|new| give_one(new, owner.uid(), owner.gid()));
    }
    Ok(())
}

fn give(path: &Path, uid: u32, gid: u32) {
    give_one(path, uid, gid);
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if is_folder && let Ok(entries) = fs::read_dir(path) {
        entries.flatten().for_each(|entry| give(&entry.path(), uid, gid));
    }
}

fn give_one(path: &Path, uid: u32, gid: u32) {
    let theirs = fs::symlink_metadata(path).is_ok_and(|found| found.uid() == uid);
    if !theirs {
        // Whoever may not give can have made it for himself only.
        let _ = std::os::unix::fs::lchown(path, Some(uid), Some(gid));
    }
}

/// The error of a cache that cannot be written.
pub fn refused(path: &Path, why: &io::Error) -> Absent {
    Absent::Cache {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::child::tests::Place;
    use super::*;

    const USERS: &str =
        "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann,,,:/:/bin/sh\nold:x:7:7::/gone:/bin/sh\n";

    fn cache_with(set: &[(&str, &str)]) -> Option<PathBuf> {
        let variable = |name: &str| {
            let found = set.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from(found.1))
        };
        cache_of(&variable, USERS)
    }

    #[test]
    fn the_nearest_word_for_the_cache_is_taken() {
        let home = ("HOME", "/h");
        let own = Some(PathBuf::from("/h/.cache/ackall/kafka"));
        assert_eq!(cache_with(&[home]), own);
        assert_eq!(cache_with(&[home, ("XDG_CACHE_HOME", "relative")]), own);
        assert_eq!(cache_with(&[home, (CACHE, "")]), own);
        assert_eq!(
            cache_with(&[home, ("XDG_CACHE_HOME", "/x")]),
            Some("/x/ackall/kafka".into())
        );
        assert_eq!(cache_with(&[(CACHE, "/k"), home]), Some("/k".into()));
        assert_eq!(cache_with(&[]), None);
    }

    #[test]
    fn under_sudo_it_is_the_cache_of_whoever_called() {
        let (home, xdg) = (("HOME", "/root"), ("XDG_CACHE_HOME", "/root/x"));
        let of_ann = Some(PathBuf::from("/.cache/ackall/kafka"));
        assert_eq!(cache_with(&[home, xdg, ("SUDO_UID", "1000")]), of_ann);
        // No such user, or one without a home: root's own.
        for nobody in ["4", "7", ""] {
            let found = cache_with(&[home, ("SUDO_UID", nobody)]);
            assert_eq!(found, Some("/root/.cache/ackall/kafka".into()), "{nobody}");
        }
    }

    #[test]
    fn a_turn_is_waited_for_so_long_and_no_longer() {
        let place = Place::new("turn");
        let cache = place.0.join("a/b");
        let held = turn(&cache, Duration::ZERO).unwrap();
        assert!(matches!(turn(&cache, Duration::from_millis(60)), Err(None)));
        drop(held);
        turn(&cache, Duration::ZERO).unwrap();
        fs::write(place.0.join("file"), "").unwrap();
        let inside_a_file = turn(&place.0.join("file"), Duration::ZERO).unwrap_err();
        assert!(
            matches!(inside_a_file, Some(Absent::Cache { .. })),
            "{inside_a_file:?}"
        );
    }
}
