//! The disk of one node: a process that serves its file system to the node and answers the keeper.
//!
//! A real disk (`real_disk`) serves itself, and has its own answers.
//!
//! The main thread talks to the keeper and holds no lock of the disk while it waits; a thread of the disk serves the
//! mount. What is durable, and what a cut takes, the `disk` crate decides.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use disk::{Disk, DiskPaths, Mode, Policy, Serving, Settings};
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::api::DiskKind;
use crate::packet::Channel;
use crate::proto::{DiskAsk, DiskCrash, DiskLoss, DiskStats, DiskTold, FromDisk, ToDisk};
use crate::real_disk::{self, process::Process as RealDisk};
use crate::sys;

/// How long the mount may take to go once the node is dead: the kernel tears it down with the node's namespace.
const MOUNT_PATIENCE: Duration = Duration::from_secs(1);
/// FUSE devices are kept from here up, where no other file of this process comes to be: the disk keeps half as many
/// open. So the number can be replaced from another thread and never mean anything else.
const DEVICES_FROM: i32 = 900;
/// Interrupts the server's thread in its read; nothing else uses it here.
const WAKE: Signal = Signal::SIGUSR1;
/// Sets the seeds of nodes apart: odd and large, so that no two nodes and neighbouring seeds meet.
const APART: u64 = 0x9E37_79B9_7F4A_7C15;
/// How much room the host of a real disk's image must have, and how often it is looked for: more than a node writes
/// in between.
const LEAST_ROOM: u64 = 256 << 20;
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// What the FUSE library calls its thread.
const SERVER_THREAD: &str = "fuser-0";

/// The role `__disk`. Ends with the keeper.
pub fn main() -> ExitCode {
    match Channel::inherited().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("a disk has failed, and with it the run: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(keeper: Channel) -> io::Result<()> {
    sys::die_with_parent(&keeper)?;
    let mut process = DiskProcess::new(keeper)?;
    while process.answer()? {}
    Ok(())
}

struct DiskProcess {
    keeper: Arc<Channel>,
    /// Whose it is.
    node: i32,
    disk: Option<Arc<Disk>>,
    /// In its place.
    real: Option<RealDisk>,
    serving: Option<(Serving, RawFd)>,
}

impl DiskProcess {
    fn new(keeper: Channel) -> io::Result<DiskProcess> {
        let wake = SigAction::new(SigHandler::Handler(awake), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler does nothing.
        sys::said("sigaction", unsafe { sigaction(WAKE, &wake) })?;
        Ok(DiskProcess {
            keeper: Arc::new(keeper),
            node: 0,
            disk: None,
            real: None,
            serving: None,
        })
    }

    /// Answers one message; false when the keeper is gone.
    fn answer(&mut self) -> io::Result<bool> {
        let Some((message, descriptors)) = self.keeper.receive_with::<ToDisk>()? else {
            return Ok(false);
        };
        let done = match &mut self.real {
            Some(real) => real.obey(message),
            None => self.obey(message, descriptors).map(|answer| (answer, None)),
        };
        let (answer, beside) = done.unwrap_or_else(|why| (FromDisk::Failed { why }, None));
        let beside: Vec<BorrowedFd> = beside.iter().map(AsFd::as_fd).collect();
        match self.keeper.send_with(&answer, &beside) {
            Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            sent => sent.map(|()| true),
        }
    }

    fn obey(&mut self, message: ToDisk, descriptors: Vec<OwnedFd>) -> Result<FromDisk, String> {
        match message {
            ToDisk::Open { node, home, disk } => {
                let kind = match disk {
                    DiskKind::Fuse | DiskKind::FuseWriteBack => None,
                    DiskKind::Ext4 => Some(real_disk::Kind::Ext4),
                    DiskKind::Xfs => Some(real_disk::Kind::Xfs),
                };
                match kind.map(|kind| RealDisk::open(kind, home.clone())) {
                    None => self.open(node, DiskPaths::in_home(home), disk.mode().unwrap_or_default())?,
                    Some(Ok(real)) => {
                        self.real = Some(real);
                        self.watch_room(home);
                    }
                    Some(Err(error)) => return Ok(FromDisk::Lacks(error)),
                }
            }
            ToDisk::Mount => return Err("it is a disk of ours, which its node's init mounts".into()),
            ToDisk::Serve => self.serve(descriptors)?,
            ToDisk::PowerOff => self.disk()?.power_off(),
            ToDisk::Abort => self.abort()?,
            ToDisk::Settle { fault, policy } => return self.settle(fault, policy).map(FromDisk::Loss),
            ToDisk::Stats => return self.stats().map(FromDisk::Stats),
            ToDisk::Fault { fault, ask } => return self.fault(fault, ask).map(FromDisk::Told),
            ToDisk::LetGo => self.disk()?.let_go(),
        }
        Ok(FromDisk::Done {
            at_ns: sys::monotonic_ns(),
        })
    }

    /// A real disk's image has holes, and its host none that says so: when room runs short there the run is told, once,
    /// before the node's writes fail through no fault of its own.
    fn watch_room(&self, home: std::path::PathBuf) {
        let keeper = self.keeper.clone();
        std::thread::spawn(move || {
            loop {
                if let Some(why) = short_of_room(&home, LEAST_ROOM) {
                    // A keeper that is gone ends us as well.
                    let _ = keeper.send(&FromDisk::Full { why });
                    return;
                }
                std::thread::sleep(LOOK_AGAIN);
            }
        });
    }

    fn disk(&self) -> Result<&Arc<Disk>, String> {
        self.disk
            .as_ref()
            .ok_or_else(|| "the disk is not open; open it first".into())
    }

    fn open(&mut self, node: i32, paths: DiskPaths, mode: Mode) -> Result<(), String> {
        if self.disk.is_some() {
            return Err("the disk is open already".into());
        }
        let (keeper, told) = (self.keeper.clone(), AtomicBool::new(false));
        let report = move |trouble: disk::Trouble| {
            // Once is enough: the run ends. A keeper that is gone ends us as well.
            if !told.swap(true, Ordering::Relaxed) {
                let _ = keeper.send(&FromDisk::Full {
                    why: trouble.to_string(),
                });
            }
        };
        let settings = Settings {
            mode,
            ..Settings::default()
        };
        let opened = Disk::with(paths, settings, report).map_err(|why| why.to_string())?;
        let keeper = self.keeper.clone();
        opened.on_crash(move |crashed| {
            // A keeper that is gone ends us as well.
            let _ = keeper.send(&FromDisk::Crashed(DiskCrash {
                fault: crashed.fault,
                how: crashed.how,
                at_ns: crashed.at_ns,
                call: crashed.call,
                path: crashed.path,
            }));
        });
        self.disk = Some(opened);
        self.node = node;
        Ok(())
    }

    fn serve(&mut self, descriptors: Vec<OwnedFd>) -> Result<(), String> {
        let device = descriptors
            .into_iter()
            .next()
            .ok_or("serving without a FUSE device beside the message")?;
        self.await_end(Duration::ZERO)?;
        let device = out_of_the_way(device).map_err(|why| format!("moving the FUSE device up: {why}"))?;
        let number = device.as_raw_fd();
        let serving = self.disk()?.serve(device).map_err(|why| why.to_string())?;
        self.serving = Some((serving, number));
        Ok(())
    }

    /// Waits for the session's end.
    fn await_end(&mut self, limit: Duration) -> Result<(), String> {
        let Some((serving, _)) = &self.serving else {
            return Ok(());
        };
        match serving.join_within(limit) {
            // How it ended does not matter: the kernel has dropped the mount, or been made to.
            Some(_) => {
                self.serving = None;
                Ok(())
            }
            None => Err(format!(
                "the disk is still mounted after {limit:?}; is a process of the node still there?"
            )),
        }
    }

    /// Puts an empty file in the device's place and wakes its reader: with the last reference the kernel ends the
    /// connection, and fails all that waits on it.
    fn abort(&mut self) -> Result<(), String> {
        if !self.disk()?.is_off() {
            return Err("an abort with the power on would lose what no cut took; cut the power first".into());
        }
        if self.await_end(Duration::ZERO).is_ok() {
            return Ok(());
        }
        let Some((_, device)) = self.serving else {
            return Ok(());
        };
        let nothing = File::open("/dev/null").map_err(|why| format!("/dev/null: {why}"))?;
        // SAFETY: `device` is the session's own descriptor, open until it ends; nobody else has that number.
        let put = sys::check(unsafe { libc::dup3(nothing.as_raw_fd(), device, libc::O_CLOEXEC) } as i64);
        put.map_err(|why| format!("closing the FUSE device: {why}"))?;
        let deadline = Instant::now() + MOUNT_PATIENCE;
        loop {
            wake_server();
            match self.await_end(Duration::from_millis(5)) {
                Err(why) if Instant::now() > deadline => return Err(why),
                Err(_) => {}
                Ok(()) => return Ok(()),
            }
        }
    }

    fn settle(&mut self, fault: u64, mut policy: Policy) -> Result<DiskLoss, String> {
        self.await_end(MOUNT_PATIENCE)?;
        // Disks that lose their power together draw apart.
        policy.seed ^= (self.node as u64).wrapping_mul(APART);
        let loss = self
            .disk()?
            .settle(fault, policy)
            .map_err(|why| why.to_string())?;
        // Whose records they were, the harness reads from the lost bytes; the disk knows files alone.
        Ok(DiskLoss {
            bytes: loss.bytes,
            files: loss.files,
            kept_unsynced: loss.kept_bytes,
        })
    }

    fn fault(&self, fault: u64, ask: DiskAsk) -> Result<DiskTold, String> {
        let disk = self.disk()?;
        let failed = |why: disk::DiskError| why.to_string();
        Ok(match ask {
            DiskAsk::SetRule(mut rule) => {
                // Disks that are struck together draw apart; bytes and files are shared out by stripes instead.
                rule.seed ^= (self.node as u64).wrapping_mul(APART);
                disk.set_rule(fault, rule).map_err(failed)?;
                DiskTold::Set {
                    at_ns: sys::monotonic_ns(),
                }
            }
            DiskAsk::ClearRule => DiskTold::Cleared(disk.clear_rule(fault).map_err(failed)?),
            DiskAsk::Counts => DiskTold::Counts(
                disk.rule_counts(fault)
                    .ok_or_else(|| format!("fault {fault} has no rule there"))?,
            ),
            DiskAsk::Swap(swap) => DiskTold::Swapped(disk.swap(fault, swap).map_err(failed)?),
        })
    }

    fn stats(&self) -> Result<DiskStats, String> {
        let stats = self.disk()?.stats();
        Ok(DiskStats {
            written: stats.bytes_written,
            syncs: stats.fsyncs,
            unsynced: stats.unsynced_bytes,
        })
    }
}

/// Why a folder has too little room, if so. One that cannot be asked has enough.
fn short_of_room(folder: &std::path::Path, least: u64) -> Option<String> {
    let free = crate::host::free_bytes(folder).ok()?;
    (free < least).then(|| {
        let folder = folder.display();
        format!(
            "{} MiB are free in {folder}, below {} MiB",
            free >> 20,
            least >> 20
        )
    })
}

extern "C" fn awake(_: libc::c_int) {}

fn out_of_the_way(device: OwnedFd) -> nix::Result<OwnedFd> {
    let moved = fcntl(&device, FcntlArg::F_DUPFD_CLOEXEC(DEVICES_FROM))?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(moved) })
}

/// Interrupts the reads of the server's threads. One that is not reading takes no harm.
fn wake_server() {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return;
    };
    for thread in threads.flatten() {
        let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        let id = thread
            .file_name()
            .to_str()
            .and_then(|id| id.parse::<libc::pid_t>().ok());
        if let (SERVER_THREAD, Some(id)) = (name.trim(), id) {
            // SAFETY: a signal to a thread of this process, handled by `awake`.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id, WAKE as libc::c_int) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::path::{Path, PathBuf};
    use std::thread::JoinHandle;

    struct Bench {
        keeper: Option<Channel>,
        home: PathBuf,
        thread: Option<JoinHandle<io::Result<()>>>,
    }

    impl Bench {
        fn new(name: &str) -> Bench {
            let home = std::env::temp_dir().join(format!("ground-disk-{name}-{}", std::process::id()));
            std::fs::create_dir_all(home.join("mount")).unwrap();
            let (keeper, theirs) = Channel::pair().unwrap();
            let thread = std::thread::spawn(move || {
                let mut process = DiskProcess::new(theirs)?;
                while process.answer()? {}
                Ok(())
            });
            Bench {
                keeper: Some(keeper),
                home,
                thread: Some(thread),
            }
        }

        fn keeper(&self) -> &Channel {
            self.keeper.as_ref().unwrap()
        }

        fn ask(&self, message: ToDisk) -> FromDisk {
            self.keeper().send(&message).unwrap();
            self.keeper()
                .receive_within(Duration::from_secs(5))
                .unwrap()
                .unwrap()
        }

        fn done(&self, message: ToDisk) {
            let answer = self.ask(message);
            assert!(matches!(answer, FromDisk::Done { .. }), "{answer:?}");
        }

        fn refused(&self, message: ToDisk) -> String {
            match self.ask(message) {
                FromDisk::Failed { why } => why,
                other => panic!("{other:?}"),
            }
        }

        fn open(&self) {
            self.open_as(DiskKind::Fuse);
        }

        fn open_as(&self, disk: DiskKind) {
            self.done(ToDisk::Open {
                disk,
                node: 1,
                home: self.home.clone(),
            });
        }

        /// Mounts and serves, for the length of `user`, in a mount namespace of a thread's own.
        fn mounted<T: Send>(&self, user: impl FnOnce(&Path) -> T + Send) -> T {
            std::thread::scope(|scope| {
                let user = scope.spawn(|| {
                    unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace: run this test as root");
                    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
                    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).unwrap();
                    let device = File::options().read(true).write(true).open("/dev/fuse");
                    let device = device.expect("/dev/fuse: `modprobe fuse`, or `mknod /dev/fuse c 10 229`");
                    let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
                    let at = self.home.join("mount");
                    mount(
                        Some("disk"),
                        &at,
                        Some("fuse"),
                        MsFlags::empty(),
                        Some(options.as_str()),
                    )
                    .unwrap();
                    self.keeper()
                        .send_with(&ToDisk::Serve, &[device.as_fd()])
                        .unwrap();
                    drop(device);
                    let answer: FromDisk = self.keeper().receive().unwrap().unwrap();
                    assert!(matches!(answer, FromDisk::Done { .. }), "{answer:?}");
                    user(&at)
                });
                user.join().unwrap()
            })
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            self.keeper = None;
            let ended = self.thread.take().unwrap().join();
            let _ = std::fs::remove_dir_all(&self.home);
            if !std::thread::panicking() {
                ended.unwrap().unwrap();
            }
        }
    }

    fn settle(fault: u64) -> ToDisk {
        let policy = Policy::default();
        ToDisk::Settle { fault, policy }
    }

    #[test]
    fn too_little_room_is_told_and_enough_is_not() {
        let folder = std::env::temp_dir();
        assert_eq!(short_of_room(&folder, 0), None);
        assert!(short_of_room(&folder, u64::MAX).unwrap().contains("are free in"));
        assert_eq!(short_of_room(&folder.join("not-there"), u64::MAX), None);
    }

    #[test]
    fn a_disk_is_opened_once_and_first() {
        let bench = Bench::new("order");
        assert!(bench.refused(ToDisk::Stats).contains("not open"));
        bench.open();
        bench.refused(ToDisk::Open {
            disk: DiskKind::Fuse,
            node: 1,
            home: bench.home.clone(),
        });
        bench.refused(ToDisk::Serve);
        assert!(bench.refused(settle(1)).contains("power is on"));
        bench.refused(ToDisk::Abort);
        bench.done(ToDisk::PowerOff);
        assert_eq!(bench.ask(settle(1)), FromDisk::Loss(DiskLoss::default()));
        assert_eq!(bench.ask(ToDisk::Stats), FromDisk::Stats(DiskStats::default()));
    }

    #[test]
    fn a_node_writes_loses_and_comes_back() {
        let bench = Bench::new("life");
        bench.open();
        bench.mounted(|at| {
            std::fs::write(at.join("kept"), b"kept").unwrap();
            File::open(at.join("kept")).unwrap().sync_all().unwrap();
            std::fs::write(at.join("lost"), b"lost!").unwrap();
            bench.done(ToDisk::PowerOff);
            assert!(bench.refused(settle(4)).contains("still mounted"));
        });
        let FromDisk::Loss(loss) = bench.ask(settle(4)) else {
            panic!()
        };
        assert_eq!((loss.bytes, loss.files), (5, 1));
        assert_eq!(
            bench.ask(ToDisk::Stats),
            FromDisk::Stats(DiskStats {
                written: 9,
                syncs: 1,
                unsynced: 0
            })
        );
        bench.mounted(|at| {
            assert_eq!(std::fs::read(at.join("kept")).unwrap(), b"kept");
            assert!(!at.join("lost").exists());
        });
    }

    #[test]
    fn what_the_nodes_kernel_had_kept_is_in_the_loss() {
        let bench = Bench::new("cached");
        bench.open_as(DiskKind::FuseWriteBack);
        bench.mounted(|at| {
            let mut log = File::create(at.join("log")).unwrap();
            log.write_all(b"kept").unwrap();
            log.sync_all().unwrap();
            log.write_all(b"lost!").unwrap();
            let FromDisk::Stats(stats) = bench.ask(ToDisk::Stats) else {
                panic!()
            };
            // Nobody but the kernel has it.
            assert_eq!((stats.written, stats.unsynced), (4, 0));
            bench.done(ToDisk::PowerOff);
            log.write_all(b" late").unwrap();
        });
        let FromDisk::Loss(loss) = bench.ask(settle(6)) else {
            panic!()
        };
        assert_eq!((loss.bytes, loss.files), (10, 1));
        let left = std::fs::read(bench.home.join("disk/log")).unwrap();
        assert_eq!(left, b"kept");
    }

    #[test]
    fn an_abort_ends_a_mount_that_is_still_there() {
        let bench = Bench::new("abort");
        bench.open();
        bench.mounted(|at| {
            std::fs::write(at.join("lost"), b"lost").unwrap();
            bench.done(ToDisk::PowerOff);
            bench.done(ToDisk::Abort);
            let error = std::fs::metadata(at.join("other")).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOTCONN));
            let FromDisk::Loss(loss) = bench.ask(settle(5)) else {
                panic!()
            };
            assert_eq!((loss.bytes, loss.files), (4, 1));
        });
    }
}
