//! The front, as a process that the tests can kill.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use ground::{Ended, Launch, launch};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};

/// Exit statuses of a front that has no harness's to pass on.
pub const LACKS: u8 = 69;
pub const DIED: u8 = 70;
pub const INTERRUPTED: u8 = 130;

/// Nobody, an ordinary user as good as any.
pub const USER: u32 = 65534;

pub fn main(run_dir: &str, scenario: &str) -> ExitCode {
    ground::sys::set_name("ackall-front");
    let owner = std::env::var("GROUND_TEST_OWNER")
        .ok()
        .map(|id| id.parse().unwrap())
        .map(|id| (id, id));
    let ended = launch(Launch {
        run_dir: run_dir.into(),
        harness_args: vec![scenario.into()],
        owner,
    });
    println!("{ended:?}");
    ExitCode::from(match ended {
        Ok(Ended::Exited(code)) => code,
        Ok(Ended::Died { .. }) => DIED,
        Ok(Ended::Interrupted { .. }) => INTERRUPTED,
        Err(_) => LACKS,
    })
}

/// The same as an ordinary user, with devices that are open to them (as most distributions have it) or closed.
pub fn as_user(run_dir: &str, scenario: &str, mode: u32) -> ExitCode {
    make_devices(
        &Path::new(run_dir).join("devices"),
        Mode::from_bits_truncate(mode),
    );
    let (user, group) = (Uid::from_raw(USER), Gid::from_raw(USER));
    setgroups(&[]).unwrap();
    setresgid(group, group, group).unwrap();
    setresuid(user, user, user).unwrap();
    // After a change of user /proc/self is root's until the next exec.
    let error = Command::new("/proc/self/exe")
        .args(["__front", run_dir, scenario])
        .exec();
    panic!("{error}");
}

/// What doctor says, and a launch, where network namespaces are used up: a limit of each user namespace.
pub fn without_namespaces(run_dir: &str) -> ExitCode {
    unshare(CloneFlags::CLONE_NEWUSER).unwrap();
    fs::write("/proc/self/setgroups", "deny").unwrap();
    fs::write("/proc/self/uid_map", "0 0 1").unwrap();
    fs::write("/proc/self/gid_map", "0 0 1").unwrap();
    fs::write("/proc/sys/user/max_net_namespaces", "0").unwrap();
    for probe in ground::doctor::probe(Path::new(run_dir)) {
        println!(
            "{} {} [{}] {}",
            probe.name, probe.available, probe.why_not, probe.remedy
        );
    }
    main(run_dir, "polite")
}

/// Where no tool makes file systems: nothing is in the folders that are searched.
pub fn without_mkfs(run_dir: &str) -> ExitCode {
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    let nothing: Option<&str> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(nothing, "/", nothing, private, nothing).unwrap();
    let empty = Path::new(run_dir).join("empty");
    for folder in [
        "/usr/sbin",
        "/sbin",
        "/usr/bin",
        "/bin",
        "/usr/local/bin",
        "/usr/local/sbin",
    ] {
        if Path::new(folder).is_dir() {
            mount(Some(&empty), folder, nothing, MsFlags::MS_BIND, nothing).unwrap();
        }
    }
    main(run_dir, "real-refused")
}

/// In a mount namespace of our own.
fn make_devices(folder: &Path, open: Mode) {
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    let nothing: Option<&str> = None;
    mount(
        nothing,
        "/",
        nothing,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        nothing,
    )
    .unwrap();
    fs::create_dir_all(folder).unwrap();
    mount(Some("tmpfs"), folder, Some("tmpfs"), MsFlags::empty(), nothing).unwrap();
    for (device, minor) in [("/dev/fuse", 229), ("/dev/net/tun", 200)] {
        let made = folder.join(minor.to_string());
        nix::sys::stat::umask(Mode::empty());
        mknod(&made, SFlag::S_IFCHR, open, makedev(10, minor)).unwrap();
        mount(Some(&made), device, nothing, MsFlags::MS_BIND, nothing).unwrap();
    }
    nix::sys::stat::umask(Mode::from_bits_truncate(0o022));
}
