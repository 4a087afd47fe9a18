//! A process that ends within a limit, or is ended, with all that it said.
//!
//! It ends too when this process is killed: it hangs on a pipe whose other end only we have.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a child, or a lock, is looked at.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A running process; killed where it is dropped.
pub struct Child {
    // Dropped first: it must not outlive the number that it would kill.
    leash: Option<Leash>,
    child: std::process::Child,
    said: File,
}

impl Child {
    /// Starts one. What it says, on both its outputs, goes to a file: here, or to one without a name.
    pub fn start(mut command: Command, said: Option<&Path>) -> io::Result<Child> {
        let said = match said {
            Some(path) => open(path)?,
            None => nameless()?,
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(said.try_clone()?)
            .stderr(said.try_clone()?)
            .spawn()?;
        // Dropped, and so killed, where it cannot be put on a leash.
        let mut child = Child {
            leash: None,
            child,
            said,
        };
        child.leash = Some(Leash::on(child.child.id())?);
        Ok(child)
    }

    /// Has it stop by itself.
    pub fn terminate(&self) -> io::Result<()> {
        // Our own child, not yet waited for: its number is nobody else's.
        let pid = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        Ok(kill(Pid::from_raw(pid), Signal::SIGTERM)?)
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// What it has said.
    pub fn said(&mut self) -> String {
        let mut bytes = Vec::new();
        // Both ends share the file's position, and it is told to append.
        let read = self
            .said
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.said.read_to_end(&mut bytes));
        match read {
            Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(why) => format!("what it said cannot be read: {why}"),
        }
    }

    /// Waits for its end; past the limit it is killed, and has no status. With all that it said.
    pub fn end(mut self, limit: Duration) -> io::Result<(Option<ExitStatus>, String)> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                return Ok((Some(status), self.said()));
            }
            if began.elapsed() >= limit {
                self.child.kill()?;
                self.child.wait()?;
                return Ok((None, self.said()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.leash = None;
        // Both fail only where it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell that kills a process when it reads the end of a pipe.
struct Leash(std::process::Child);

impl Leash {
    fn on(pid: u32) -> io::Result<Leash> {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", "read -r _; kill -9 \"$0\" 2>/dev/null"])
            .arg(pid.to_string());
        let quiet = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        quiet.spawn().map(Leash)
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Before the pipe is closed, so that it kills nobody.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).append(true).read(true).open(path)
}

/// A file that is gone when its last user is.
fn nameless() -> io::Result<File> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!(
        "ackall-said-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let path = std::env::temp_dir().join(name);
    let mut options = File::options();
    let file = options.create_new(true).append(true).read(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder of a test's own.
    pub struct Place(pub PathBuf);

    impl Place {
        /// An empty one.
        pub fn new(name: &str) -> Place {
            let path = std::env::temp_dir().join(format!("ackall-jars-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Place(path)
        }

        /// A shell's script as a command: a file just written cannot always be executed, while others fork.
        pub fn script(&self, text: &str) -> Command {
            let mut command = Command::new("/bin/sh");
            // The name of a script, then its arguments.
            command.args(["-c", text, "script"]);
            command
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_child_that_does_not_end_is_ended() {
        let mut sleeps = Command::new("sleep");
        sleeps.arg("60");
        let child = Child::start(sleeps, None).unwrap();
        assert_eq!(child.end(Duration::from_millis(60)).unwrap().0, None);
    }

    #[test]
    fn one_on_a_leash_is_gone_when_its_owner_is_killed() {
        let mut sleeps = Command::new("sleep");
        sleeps.arg("60");
        let mut child = Child::start(sleeps, None).unwrap();
        // What the kernel does when we are killed.
        drop(child.leash.as_mut().unwrap().0.stdin.take());
        while child.ended().unwrap().is_none() {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    #[test]
    fn one_that_is_told_to_stop_stops_by_itself() {
        let place = Place::new("stops");
        let script = "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done";
        let mut child = Child::start(place.script(script), None).unwrap();
        while child.said() != "up\n" {
            std::thread::sleep(LOOK_EVERY);
        }
        child.terminate().unwrap();
        let (status, said) = child.end(Duration::from_secs(60)).unwrap();
        assert_eq!((status.unwrap().code(), said.as_str()), (Some(3), "up\nbye\n"));
    }

    #[test]
    fn what_it_said_is_whole_while_it_runs_and_after() {
        let place = Place::new("says");
        let script = "echo one; echo two >&2; while [ ! -e go ]; do sleep 0.05; done; echo three";
        let mut command = place.script(script);
        command.current_dir(&place.0);
        let mut child = Child::start(command, Some(&place.0.join("said"))).unwrap();
        while child.said() != "one\ntwo\n" {
            std::thread::sleep(LOOK_EVERY);
        }
        fs::write(place.0.join("go"), "").unwrap();
        let (status, said) = child.end(Duration::from_secs(60)).unwrap();
        assert!(status.unwrap().success());
        assert_eq!(said, "one\ntwo\nthree\n");
    }
}
