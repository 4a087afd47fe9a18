//! A mount namespace of a test's own, in which parts of the machine are hidden, closed or made anew.

use super::{Folder, Run, clean, executable, is_root, skipped, spawn};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// An ordinary user as good as any.
pub const NOBODY: &str = "65534";

/// What a shell script in a mount namespace of its own says and leaves. `$ACKALL` is the executable, `$HERE` a folder.
pub struct Private {
    /// Its folder.
    pub folder: Folder,
    root: bool,
}

impl Private {
    /// None where the machine has no way to it: said.
    pub fn new(name: &str) -> Option<Private> {
        let folder = Folder::new(name);
        let root = is_root();
        let private = Private { folder, root };
        let tried = private.shell("mount -t tmpfs none \"$HERE\"").output();
        match tried {
            Ok(output) if output.status.success() => Some(private),
            Ok(output) => {
                skipped("private-mounts", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(e) => {
                skipped("private-mounts", &format!("unshare, of util-linux: {e}"));
                None
            }
        }
    }

    /// The same, where only root can arrange it.
    pub fn of_root(name: &str) -> Option<Private> {
        if !is_root() {
            skipped("root", "device nodes with other rights are root's to make");
            return None;
        }
        Private::new(name)
    }

    /// A shell that runs a script there.
    pub fn shell(&self, script: &str) -> Command {
        // To be reached by any user.
        let copy = self.folder.0.join("ackall");
        if !copy.exists() {
            fs::copy(executable(), &copy).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let here = self.folder.0.join("here");
        fs::create_dir_all(&here).unwrap();
        let mut command = clean(Command::new("unshare"));
        command.arg("--mount");
        if !self.root {
            command.args(["--user", "--map-root-user"]);
        }
        command
            .args(["--", "sh", "-euc", script])
            .env("ACKALL", &copy)
            .env("HERE", &here);
        command.current_dir(&self.folder.0);
        command
    }

    /// Runs a script there, and waits for it.
    pub fn run(&self, script: &str) -> Run {
        spawn(self.shell(script), &self.folder.0, "shell").wait()
    }
}

/// Device nodes of our own in the place of the machine's, with these rights.
pub fn devices(fuse: &str, tun: &str) -> String {
    format!(
        "mkdir -p \"$HERE/dev\"
         mount -t tmpfs -o mode=755 none \"$HERE/dev\"
         mknod -m {fuse} \"$HERE/dev/fuse\" c 10 229
         mknod -m {tun} \"$HERE/dev/tun\" c 10 200
         mount --bind \"$HERE/dev/fuse\" /dev/fuse
         mount --bind \"$HERE/dev/tun\" /dev/net/tun
         mkdir -p \"$HERE/runs\"; chown {NOBODY}:{NOBODY} \"$HERE/runs\"
         as_nobody() {{ exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups -- \"$@\"; }}\n"
    )
}

/// Whether `as_nobody` can work; said where not.
pub fn setpriv_is_there() -> bool {
    let there = Command::new("setpriv")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok();
    if !there {
        skipped("setpriv", "setpriv, of util-linux, is not installed");
    }
    there
}
