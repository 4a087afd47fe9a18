//! Where the commands of a cluster by hand meet its harness: a socket in a folder that is its user's alone.
//!
//! The front of a cluster holds a lock beside the socket while it lives, and it outlives all the rest of the cluster. So
//! a lock that can be had says that nothing of a cluster of that name is left, and its socket is stale.

use crate::error::{Error, Status};
use ground::Call;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest name: the path of a socket has 107 bytes.
const NAME_LIMIT: usize = 32;
/// For so long a name that is taken is asked for again: whoever looks which clusters are up holds each lock for a
/// moment, and so does a process that is started meanwhile, until its exec.
const GLANCE: Duration = Duration::from_millis(300);
/// Between two looks whether a cluster is gone.
const LOOK: Duration = Duration::from_millis(2);

/// Where a cluster of one name is met.
#[derive(Clone, Debug)]
pub struct Place {
    folder: PathBuf,
    name: String,
}

/// A name that is this process's until it ends.
pub struct Held {
    place: Place,
    _lock: File,
}

impl Held {
    /// The end: nothing of the cluster is left.
    pub fn release(self) {
        for gone in [
            self.place.socket(),
            self.place.file("log"),
            self.place.file("out"),
        ] {
            // One that was never made is gone as well.
            let _ = fs::remove_file(gone);
        }
    }
}

impl Place {
    /// The place of that name.
    ///
    /// # Errors
    /// Usage, where it is no name; 69, where there is no folder that is the user's alone.
    pub fn of(name: &str) -> Result<Place, Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > NAME_LIMIT || name.starts_with('.') || !name.chars().all(fits) {
            return Err(Error::usage(
                format!("reading --name {name:?}"),
                format!("a name has 1 to {NAME_LIMIT} letters, digits, dashes, underscores and dots"),
                "--name night",
            ));
        }
        Ok(Place {
            folder: folder()?,
            name: name.into(),
        })
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its control socket.
    pub fn socket(&self) -> PathBuf {
        self.file("sock")
    }

    /// A file of its own beside the socket.
    pub fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }

    /// Takes the name, from a cluster that is gone if need be.
    ///
    /// # Errors
    /// Usage, where a cluster of that name is up.
    pub fn hold(&self) -> Result<Held, Error> {
        let began = Instant::now();
        loop {
            match self.try_hold()? {
                Some(held) => return Ok(held),
                None if began.elapsed() < GLANCE => std::thread::sleep(LOOK),
                None => break,
            }
        }
        Err(Error::usage(
            format!("starting the cluster {:?}", self.name),
            "one of that name is up",
            format!("{}, or --name OTHER", self.command("down")),
        ))
    }

    fn try_hold(&self) -> Result<Option<Held>, Error> {
        let path = self.file("lock");
        let failed = |e: io::Error| cannot(format!("locking {}", path.display()), &e);
        let options = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let lock = options.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Held {
                place: self.clone(),
                _lock: lock,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(failed(e)),
        }
    }

    /// Calls the cluster.
    ///
    /// # Errors
    /// Usage, where none of that name is up.
    pub fn call(&self) -> Result<Call, Error> {
        Call::to(&self.socket()).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => self.not_there(),
            _ => cannot(format!("calling the cluster {:?}", self.name), &e),
        })
    }

    /// No cluster of that name is up; there may be others.
    fn not_there(&self) -> Error {
        let others = self.others_up();
        let why = match &others[..] {
            [] => "no cluster is up".to_string(),
            names => format!("none of that name is up; there are {}", names.join(", ")),
        };
        let next = match &others[..] {
            [] => self.command("up"),
            [first, ..] => format!("--name {first}, or {}", self.command("up")),
        };
        Error::usage(format!("finding the cluster {:?}", self.name), why, next)
    }

    fn others_up(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_up = |name: &String| {
            let place = Place {
                folder: self.folder.clone(),
                name: name.clone(),
            };
            matches!(place.try_hold(), Ok(None))
        };
        let names =
            entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".lock")?.to_string()));
        let mut up: Vec<String> = names.filter(is_up).collect();
        up.sort();
        up
    }

    /// Waits until nothing of the cluster is left; how long that took.
    ///
    /// # Errors
    /// 70, where something is left past the limit.
    pub fn await_end(&self, limit: Duration) -> Result<Duration, Error> {
        let began = Instant::now();
        while began.elapsed() < limit {
            if let Some(held) = self.try_hold()? {
                held.release();
                return Ok(began.elapsed());
            }
            std::thread::sleep(LOOK);
        }
        Err(Error::internal(
            format!("ending the cluster {:?}", self.name),
            format!("it was told to end, and has not within {limit:?}"),
            "Ctrl-C in its terminal, twice, ends it at once",
        ))
    }

    /// A command for this cluster, to be typed.
    pub fn command(&self, command: &str) -> String {
        if self.name == super::DEFAULT_NAME {
            format!("ackall {command}")
        } else {
            format!("ackall {command} --name {}", self.name)
        }
    }
}

fn cannot(what: String, why: &io::Error) -> Error {
    Error::new(
        Status::Unavailable,
        what,
        why,
        "XDG_RUNTIME_DIR names a folder of yours for sockets",
    )
}

/// The folder of this user's sockets: in XDG_RUNTIME_DIR where that is the user's own, else in /tmp.
fn folder() -> Result<PathBuf, Error> {
    let user = ground::user_id();
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let is_own = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == user);
    let folder = match given.filter(|path| path.is_absolute()).filter(is_own) {
        Some(runtime) => runtime.join("ackall"),
        None => PathBuf::from(format!("/tmp/ackall-{user}")),
    };
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            return Err(cannot(format!("making the folder {}", folder.display()), &e));
        }
        _ => {}
    }
    check(&folder, user)?;
    Ok(folder)
}

/// Refuses a folder in which somebody else could put a socket.
fn check(folder: &Path, user: u32) -> Result<(), Error> {
    const OTHERS: u32 = 0o077;
    let what = format!("using the folder {} for control sockets", folder.display());
    let found = fs::symlink_metadata(folder).map_err(|e| cannot(what.clone(), &e))?;
    if found.is_dir() && found.uid() == user && found.mode() & OTHERS == 0 {
        return Ok(());
    }
    Err(cannot(
        what,
        &io::Error::other(format!(
            "it must be a folder of user {user}'s alone; it is user {}'s, mode {:o}",
            found.uid(),
            found.mode() & 0o7777
        )),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    /// A place called "night", in a folder of that test's own.
    fn place(test: &str) -> (Place, PathBuf) {
        let folder = std::env::temp_dir().join(format!("ackall-place-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        let place = Place {
            folder: folder.clone(),
            name: "night".into(),
        };
        (place, folder)
    }

    #[test]
    fn a_name_is_held_once_and_taken_over_from_the_dead() {
        let (place, folder) = place("held");
        let held = place.hold().map_err(|e| e.to_string()).unwrap();
        let refused = place.hold().err().unwrap();
        assert_eq!(refused.status, Status::Usage);
        assert!(refused.next.contains("ackall down --name night"), "{refused}");
        fs::write(place.socket(), "").unwrap();
        // As a death does.
        drop(held);
        let held = place.hold().map_err(|e| e.to_string()).unwrap();
        held.release();
        assert!(!place.socket().exists());
        assert!(place.await_end(Duration::from_secs(1)).is_ok());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_name_that_nobody_has_is_told_with_those_that_are_up() {
        let (place, folder) = place("told");
        let nobody = place.call().unwrap_err();
        assert!(
            nobody.why.contains("no cluster is up") && nobody.status == Status::Usage,
            "{nobody}"
        );
        let _held = place.hold().map_err(|e| e.to_string()).unwrap();
        let other = Place {
            name: "nigth".into(),
            ..place
        };
        assert!(other.call().unwrap_err().why.contains("there are night"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn names_are_short_and_plain() {
        for bad in ["", ".", "../x", "a b", "a/b", &"x".repeat(33)] {
            assert_eq!(Place::of(bad).unwrap_err().status, Status::Usage, "{bad:?}");
        }
    }

    #[test]
    fn a_folder_that_others_can_use_is_refused() {
        let (_, folder) = place("open");
        let user = ground::user_id();
        assert!(check(&folder, user).is_ok());
        assert!(check(&folder, user + 1).is_err());
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert!(check(&folder, user).is_err());
        let link = folder.join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        assert!(check(&link, user).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
