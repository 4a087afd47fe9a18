//! A disk mounted for the length of one closure, in a mount namespace of its own: it leaves nothing, however the
//! closure ends. Wants root and `/dev/fuse`.
#![allow(dead_code)] // Each test program uses a part.
use super::Home;
use disk::{Disk, Mode, Settings, Trouble};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs::{self, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub struct Mounted {
    pub home: Home,
    pub disk: Arc<Disk>,
    pub troubles: Arc<Mutex<Vec<Trouble>>>,
}

impl Mounted {
    pub fn new(mode: Mode) -> Mounted {
        Mounted::on(Home::new(), mode)
    }

    pub fn on(home: Home, mode: Mode) -> Mounted {
        let troubles: Arc<Mutex<Vec<Trouble>>> = Arc::default();
        let heard = troubles.clone();
        let report = move |t| heard.lock().unwrap().push(t);
        let settings = Settings {
            mode,
            ..Settings::default()
        };
        let disk = Disk::with(home.paths(), settings, report).unwrap();
        Mounted { home, disk, troubles }
    }

    /// Serves the disk and runs `user` on its mount; returns when the mount is gone.
    pub fn with<T: Send>(&self, user: impl FnOnce(&Path) -> T + Send) -> T {
        let mount_point = self.home.0.join("mount");
        fs::create_dir_all(&mount_point).unwrap();
        let (device, devices) = channel::<OwnedFd>();
        let (served, go) = channel::<()>();
        std::thread::scope(|scope| {
            let user = scope.spawn(move || {
                private_mounts();
                device.send(mount_fuse(&mount_point)).unwrap();
                go.recv().unwrap();
                user(&mount_point)
            });
            // The server stays outside the namespace, so that the mount goes with its user.
            let serving = devices.recv().ok().map(|fd| self.disk.serve(fd).unwrap());
            let _ = served.send(());
            let said = user.join();
            if let Some(serving) = serving {
                let ended = serving.join_within(Duration::from_secs(5));
                ended
                    .expect("the mount is gone within 5 s of its user")
                    .expect("the server ended well");
            }
            said.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// A mount namespace of this thread's own.
pub fn private_mounts() {
    unshare(CloneFlags::CLONE_NEWNS).expect("unshare of the mount namespace: run these tests as root");
    let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).expect("private mounts");
}

fn mount_fuse(mount_point: &Path) -> OwnedFd {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .unwrap_or_else(|e| {
            panic!("/dev/fuse: {e}; load it with `modprobe fuse`, or make it with `mknod /dev/fuse c 10 229`")
        });
    let options = format!(
        "fd={},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other",
        device.as_raw_fd()
    );
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(
        Some("disk"),
        mount_point,
        Some("fuse"),
        flags,
        Some(options.as_str()),
    )
    .expect("mount of FUSE");
    device.into()
}
