//! A real disk for the length of a test, and whether this machine can have one.
use ground::real_disk::{Bounds, Cut, Kind, Options, RealDisk, below};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A disk that has power.
pub struct Bench {
    pub disk: RealDisk,
    mount: Option<OwnedFd>,
    pub folder: PathBuf,
}

impl Bench {
    /// None where this machine cannot have one, which is said.
    pub fn new(kind: Kind, options: Options) -> Option<Bench> {
        allowed(kind).then(|| Bench::made(kind, options))
    }

    /// Without asking whether it can be.
    pub fn made(kind: Kind, options: Options) -> Bench {
        let folder = folder();
        let mut disk = RealDisk::make(kind, &folder, options).unwrap();
        let mount = Some(disk.mount().unwrap());
        Bench { disk, mount, folder }
    }

    /// The top of its file system.
    pub fn top(&self) -> PathBuf {
        below(self.mount.as_ref().unwrap())
    }

    /// Cuts the power and gives it back: what the cut came to.
    pub fn cut(&mut self) -> Cut {
        self.disk.cut(Bounds::default()).unwrap();
        self.mount = None;
        let cut = self.disk.settle().unwrap();
        self.mount = Some(self.disk.mount().unwrap());
        cut
    }

    /// Lets go of the mount, as a node that is dead has.
    pub fn without_mount(mut self) -> Bench {
        self.mount = None;
        self
    }

    /// All that was done until now is on the disk.
    pub fn settle(&self) {
        let top = std::fs::File::open(self.top()).unwrap();
        nix::unistd::syncfs(&top).unwrap();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    // In memory where the machine has a place for that: a sync of the image need not reach a real disk.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() {
        memory.into()
    } else {
        std::env::temp_dir()
    };
    let folder = parent.join(format!("real-disk-test-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Whether this machine can have one; said where it cannot, and an error where `ACKALL_REQUIRE` names root.
fn allowed(kind: Kind) -> bool {
    static TRIED: [OnceLock<Option<String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let place = usize::from(kind == Kind::Xfs);
    let reason = TRIED[place].get_or_init(|| {
        let folder = folder();
        let tried = ground::real_disk::try_real_disk(kind, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        tried.err().map(|lacks| lacks.to_string())
    });
    let Some(reason) = reason else { return true };
    let required = std::env::var("ACKALL_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|word| word == "root"),
        "root is required: {reason}"
    );
    use std::io::Write;
    // Past the test harness's capture, so that it is seen when all is well too.
    let _ = writeln!(std::io::stderr(), "SKIPPED root: {}: {reason}", kind.word());
    false
}
