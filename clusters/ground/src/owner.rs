//! Under sudo, what a run leaves in its folder belongs to the one who asked for it.

use std::fs;
use std::io;
use std::os::unix::fs::{chown, lchown};
use std::path::Path;

use nix::unistd::{Gid, Uid, setfsgid, setfsuid};

use crate::sys;

/// Set by the keeper for the harness, `uid:gid`; never for nodes.
pub const VARIABLE: &str = "ACKALL_OWNER";

/// From now on files that this thread, and threads it starts, make belong to the run's owner, and are opened with
/// the owner's rights. Nothing changes where the run has no owner but the one who runs it.
///
/// Call it first thing in the harness, before other threads.
pub fn act_as_owner() -> io::Result<()> {
    let Some(text) = std::env::var_os(VARIABLE) else {
        return Ok(());
    };
    let text = text.to_string_lossy();
    let (uid, gid) =
        parse(&text).ok_or_else(|| io::Error::other(format!("{VARIABLE}={text} is not uid:gid")))?;
    // The group first: without the user's rights it could not be changed. Both calls return the old id, never an
    // error; a second call that changes nothing tells what is in force.
    setfsgid(Gid::from_raw(gid));
    setfsuid(Uid::from_raw(uid));
    let (now_uid, now_gid) = (setfsuid(Uid::from_raw(uid)), setfsgid(Gid::from_raw(gid)));
    if (now_uid.as_raw(), now_gid.as_raw()) != (uid, gid) {
        return Err(io::Error::other(format!(
            "acting as user {uid}, group {gid} was refused"
        )));
    }
    // A change of user clears it.
    sys::said(
        "PR_SET_PDEATHSIG",
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL),
    )
}

fn parse(text: &str) -> Option<(u32, u32)> {
    let (uid, gid) = text.split_once(':')?;
    Some((uid.parse().ok()?, gid.parse().ok()?))
}

/// Makes a folder and those above it, and gives the new ones to the owner.
pub fn make_folder(path: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        let said = |result| sys::said(format!("making {}", folder.display()), result);
        said(fs::create_dir(folder))?;
        if let Some((uid, gid)) = owner {
            said(chown(folder, Some(uid), Some(gid)))?;
        }
    }
    Ok(())
}

/// Gives all that a run has left to the owner. What the nodes' disks hold belongs to the nodes' users until then.
/// Follows no symlink. Says the first thing that did not work, and goes on.
pub fn give_all(path: &Path, owner: (u32, u32)) -> io::Result<()> {
    let what = format!("giving {} to user {}", path.display(), owner.0);
    let given = sys::said(&what, lchown(path, Some(owner.0), Some(owner.1)));
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return given;
    }
    let entries = match sys::said(&what, fs::read_dir(path)) {
        Ok(entries) => entries,
        Err(error) => return given.and(Err(error)),
    };
    entries
        .flatten()
        .fold(given, |so_far, entry| so_far.and(give_all(&entry.path(), owner)))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_owner_is_two_numbers() {
        assert_eq!(parse("1000:100"), Some((1000, 100)));
        for wrong in ["", "1000", "a:1", "1:", "-1:0", "1:2:3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
