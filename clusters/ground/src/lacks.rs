//! What a machine may lack, why, and one line to copy that helps. Judged by use: the errors come from trying.

use std::fs;
use std::io;

use crate::api::Error;
use crate::spawn::{SpawnError, Step};

/// What the ground uses of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    Namespaces,
    UserMap,
    Mounts,
    Network,
    Tap,
    Fuse,
    Nested,
    Cgroup,
}

impl Mechanism {
    /// Its name in `doctor`'s table.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Namespaces => "namespaces",
            Mechanism::UserMap => "user namespace",
            Mechanism::Mounts => "mounts",
            Mechanism::Network => "network namespace",
            Mechanism::Tap => "TAP device",
            Mechanism::Fuse => "FUSE",
            Mechanism::Nested => "nested namespaces",
            Mechanism::Cgroup => "cgroup",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Mechanism::Namespaces => "making namespaces for the run",
            Mechanism::UserMap => "mapping this user into a user namespace of its own",
            Mechanism::Mounts => "mounting inside the run's own mount namespace",
            Mechanism::Network => "setting up the run's own network namespace",
            Mechanism::Tap => "making a TAP device with /dev/net/tun",
            Mechanism::Fuse => "mounting a file system with /dev/fuse",
            Mechanism::Nested => "making namespaces for a node, inside the run's",
            Mechanism::Cgroup => "making a cgroup for a node's processes",
        }
    }
}

/// The error of a machine that lacks `mechanism`, as `why` shows.
pub fn lacks(mechanism: Mechanism, why: &io::Error) -> Error {
    let machine = Machine::read();
    let next = remedy(mechanism, cause(why), &machine);
    Error {
        what: mechanism.what().into(),
        why: format!("{why}{}", machine.hint(mechanism)),
        next,
        machine: true,
    }
}

/// The error of a keeper that could not be started.
pub fn cannot_spawn(error: &SpawnError) -> Error {
    match error.step {
        Step::Clone => lacks(Mechanism::Namespaces, &error.why),
        Step::UserMap => lacks(Mechanism::UserMap, &error.why),
        Step::Prepare | Step::Setup | Step::Exec => Error {
            what: "starting the keeper".into(),
            why: error.to_string(),
            next: "is /proc mounted, and are processes and descriptors left (ulimit -u, ulimit -n)?".into(),
            machine: true,
        },
    }
}

/// The kinds of refusal that have different remedies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    UsedUp,
    Refused,
    Missing,
    Other,
}

fn cause(why: &io::Error) -> Cause {
    match why.kind() {
        io::ErrorKind::StorageFull => Cause::UsedUp,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Cause::Refused,
        io::ErrorKind::NotFound => Cause::Missing,
        // ENODEV and ENXIO (the driver is not there) have no kind of their own, and an error that says what was
        // tried has its number in its text only.
        _ if ["(os error 19)", "(os error 6)"]
            .iter()
            .any(|number| why.to_string().contains(number)) =>
        {
            Cause::Missing
        }
        _ => Cause::Other,
    }
}

/// What the remedies depend on.
struct Machine {
    root: bool,
    /// A filter of system calls is on, as in containers.
    seccomp: bool,
    unprivileged_userns_clone: Option<String>,
    apparmor_restricts: bool,
    max_user_namespaces: Option<String>,
}

impl Machine {
    fn read() -> Machine {
        let text = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_string());
        let status = text("/proc/self/status").unwrap_or_default();
        Machine {
            root: nix::unistd::geteuid().is_root(),
            seccomp: status
                .lines()
                .any(|line| line.starts_with("Seccomp:") && line.ends_with('2')),
            unprivileged_userns_clone: text("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref()
                == Some("1"),
            max_user_namespaces: text("/proc/sys/user/max_user_namespaces"),
        }
    }

    /// What the settings of this machine add to the kernel's bare word.
    fn hint(&self, mechanism: Mechanism) -> String {
        let mut hints = Vec::new();
        if !matches!(mechanism, Mechanism::Tap | Mechanism::Fuse | Mechanism::Cgroup) {
            if self.unprivileged_userns_clone.as_deref() == Some("0") && !self.root {
                hints.push("kernel.unprivileged_userns_clone is 0".to_string());
            }
            if self.apparmor_restricts && !self.root {
                hints.push("kernel.apparmor_restrict_unprivileged_userns is 1".to_string());
            }
            if let Some(most) = self.max_user_namespaces.as_ref().filter(|_| !self.root) {
                hints.push(format!("user.max_user_namespaces is {most}"));
            }
        }
        if self.seccomp {
            hints.push("a seccomp filter is on, as in a container".to_string());
        }
        if hints.is_empty() {
            String::new()
        } else {
            format!(" ({})", hints.join(", "))
        }
    }
}

const CONTAINER: &str = "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
                         --security-opt systempaths=unconfined --device /dev/fuse --device /dev/net/tun ...";
const ROOT_CONTAINER: &str = "docker run --privileged ...";

fn remedy(mechanism: Mechanism, cause: Cause, machine: &Machine) -> String {
    let line = match (mechanism, cause) {
        (Mechanism::Cgroup, Cause::Missing) => {
            "sudo mkdir -p /sys/fs/cgroup/cpu && sudo mount -t cgroup -o cpu,memory none /sys/fs/cgroup/cpu"
        }
        (Mechanism::Cgroup, _) if !machine.root => "sudo ackall run ...",
        (Mechanism::Tap, Cause::Missing) => "sudo modprobe tun",
        (Mechanism::Fuse, Cause::Missing) => "sudo modprobe fuse",
        (_, _) if machine.seccomp && machine.root => ROOT_CONTAINER,
        (_, _) if machine.seccomp => CONTAINER,
        (Mechanism::Tap, _) => "sudo chmod 0666 /dev/net/tun",
        (Mechanism::Fuse, _) => "sudo chmod 0666 /dev/fuse",
        (_, Cause::UsedUp) => {
            "sudo sysctl -w user.max_user_namespaces=15000 user.max_pid_namespaces=15000 \
             user.max_mnt_namespaces=15000 user.max_net_namespaces=15000 user.max_uts_namespaces=15000 \
             user.max_ipc_namespaces=15000"
        }
        (_, _) if machine.root => ROOT_CONTAINER,
        (_, _) if machine.unprivileged_userns_clone.as_deref() == Some("0") => {
            "sudo sysctl -w kernel.unprivileged_userns_clone=1"
        }
        (_, _) if machine.apparmor_restricts => {
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        }
        (_, _) => "sudo ackall ... (as root, outside a chroot)",
    };
    line.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            root: false,
            seccomp: false,
            unprivileged_userns_clone: None,
            apparmor_restricts: false,
            max_user_namespaces: Some("15000".into()),
        }
    }

    #[test]
    fn each_refusal_has_its_own_remedy() {
        let remedies = [
            (
                Mechanism::Namespaces,
                Cause::UsedUp,
                machine(),
                "max_user_namespaces",
            ),
            (
                Mechanism::Namespaces,
                Cause::Refused,
                Machine {
                    unprivileged_userns_clone: Some("0".into()),
                    ..machine()
                },
                "unprivileged_userns_clone=1",
            ),
            (
                Mechanism::Mounts,
                Cause::Refused,
                Machine {
                    apparmor_restricts: true,
                    ..machine()
                },
                "apparmor_restrict_unprivileged_userns=0",
            ),
            (
                Mechanism::Namespaces,
                Cause::Refused,
                Machine {
                    seccomp: true,
                    ..machine()
                },
                "seccomp=unconfined",
            ),
            (
                Mechanism::Namespaces,
                Cause::Refused,
                Machine {
                    root: true,
                    ..machine()
                },
                "--privileged",
            ),
            (Mechanism::Fuse, Cause::Refused, machine(), "chmod 0666 /dev/fuse"),
            (Mechanism::Fuse, Cause::Missing, machine(), "modprobe fuse"),
            (
                Mechanism::Tap,
                Cause::Refused,
                machine(),
                "chmod 0666 /dev/net/tun",
            ),
            (Mechanism::Tap, Cause::Missing, machine(), "modprobe tun"),
        ];
        for (mechanism, cause, machine, expected) in remedies {
            let said = remedy(mechanism, cause, &machine);
            assert!(said.contains(expected), "{mechanism:?} {cause:?}: {said}");
            assert_eq!(said.lines().count(), 1);
        }
    }

    #[test]
    fn causes_are_told_apart() {
        use nix::errno::Errno;
        let of = |errno: Errno| cause(&crate::sys::said::<()>("opening", Err(errno)).unwrap_err());
        assert_eq!(of(Errno::ENOSPC), Cause::UsedUp);
        assert_eq!(of(Errno::EPERM), Cause::Refused);
        assert_eq!(of(Errno::EACCES), Cause::Refused);
        assert_eq!(of(Errno::ENOENT), Cause::Missing);
        assert_eq!(of(Errno::ENODEV), Cause::Missing);
        assert_eq!(of(Errno::EINVAL), Cause::Other);
    }
}
