//! The run's folder: its name, the links to the latest, files that appear whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The description of the system under test, as it ran.
pub const SYSTEM: &str = "system.toml";
/// The file with the run's plan.
pub const PLAN: &str = "plan.toml";
/// The file with the run's history.
pub const HISTORY: &str = "history.jsonl";
/// The file with the verdict.
pub const RESULT: &str = "result.json";
/// The file with every instance of every anomaly, one a line.
pub const ANOMALIES: &str = "anomalies.jsonl";
/// The report.
pub const REPORT: &str = "report.html";
/// The verdict as a JUnit test suite.
pub const JUNIT: &str = "junit.xml";
/// The harness's own log.
pub const LOG: &str = "ackall.log";
/// The folder with a folder for each node.
pub const NODES: &str = "nodes";
/// The link to the newest run.
pub const LATEST: &str = "latest";
/// The link to the newest run that did not pass.
pub const LATEST_FAIL: &str = "latest-fail";

/// How many runs of one scenario and seed may start within one second.
const SAME_SECOND_LIMIT: u32 = 1000;

/// Makes `out/<scenario>/<YYYYMMDDThhmmssZ>-<seed>[-n]/` and gives its path.
///
/// # Errors
/// Where a folder cannot be made.
pub fn make_run_dir(out: &Path, scenario: &str, seed: u64, now: SystemTime) -> io::Result<PathBuf> {
    let parent = out.join(scenario);
    fs::create_dir_all(&parent)?;
    let stamp: String = humantime::format_rfc3339_seconds(now)
        .to_string()
        .chars()
        .filter(|c| *c != '-' && *c != ':')
        .collect();
    for n in 1..=SAME_SECOND_LIMIT {
        let suffix = if n == 1 { String::new() } else { format!("-{n}") };
        let path = parent.join(format!("{stamp}-{seed}{suffix}"));
        match fs::create_dir(&path) {
            Ok(()) => return fs::canonicalize(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::other(format!(
        "{SAME_SECOND_LIMIT} runs of {scenario} with seed {seed} began in one second"
    )))
}

/// Writes a file that appears whole or not at all: under a temporary name, synced, renamed.
///
/// # Errors
/// Where the folder takes no file; nothing is left behind then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = path.with_extension("partial");
    let written = write_synced(&aside, bytes).and_then(|()| fs::rename(&aside, path));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&aside);
    })
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Points `latest` (and, where the run did not pass, `latest-fail`) at a run: in its scenario's folder, and in the
/// folder above it. Relative links, replaced by rename; a run elsewhere (`--run-dir`) gets none.
///
/// # Errors
/// Where a link cannot be made.
pub fn link_latest(out: &Path, run: &Path, passed: bool) -> io::Result<()> {
    let out = fs::canonicalize(out)?;
    let Ok(inside) = run.strip_prefix(&out) else {
        return Ok(());
    };
    let (Some(scenario), Some(id)) = (inside.parent(), inside.file_name()) else {
        return Ok(());
    };
    let names: &[&str] = if passed { &[LATEST] } else { &[LATEST, LATEST_FAIL] };
    for name in names {
        replace_link(&out.join(scenario).join(name), Path::new(id))?;
        replace_link(&out.join(name), inside)?;
    }
    Ok(())
}

/// Systems without symbolic links for everyone go without: a run is found by its name there.
#[cfg(not(unix))]
fn replace_link(_link: &Path, _target: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn replace_link(link: &Path, target: &Path) -> io::Result<()> {
    // Two runs may end at once: each renames a link of its own.
    let aside = link.with_extension(format!("partial-{}", std::process::id()));
    let _ = fs::remove_file(&aside);
    std::os::unix::fs::symlink(target, &aside)?;
    fs::rename(&aside, link)
}

/// Finds a run: a path, `scenario/id`, a unique prefix of an id, `latest`, `latest-fail`.
///
/// # Errors
/// A sentence that says why none was found.
pub fn find_run(out: &Path, name: &str) -> Result<PathBuf, String> {
    for path in [PathBuf::from(name), out.join(name)] {
        if path.join(HISTORY).is_file() {
            return fs::canonicalize(&path).map_err(|e| format!("{}: {e}", path.display()));
        }
    }
    let mut found = Vec::new();
    for scenario in subfolders(out) {
        for run in subfolders(&scenario) {
            let id = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let full = format!(
                "{}/{id}",
                scenario.file_name().unwrap_or_default().to_string_lossy()
            );
            if id.starts_with(name) || full.starts_with(name) {
                found.push(run);
            }
        }
    }
    match found.as_slice() {
        [run] => fs::canonicalize(run).map_err(|e| format!("{}: {e}", run.display())),
        [] => Err(format!("no run in {} is named {name}", out.display())),
        many => Err(format!(
            "{} runs in {} begin with {name}",
            many.len(),
            out.display()
        )),
    }
}

/// Real folders in a folder, by name; links are left out, so that `latest` is not a run of its own.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut folders: Vec<_> = entries
        .flatten()
        .filter(is_dir)
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Temporary(PathBuf);
    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
    fn temporary(name: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("ackall-store-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Temporary(path)
    }

    #[test]
    fn two_runs_of_one_second_get_two_folders_and_are_found() {
        let out = temporary("two");
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let a = make_run_dir(&out.0, "calm", 7, now).unwrap();
        let b = make_run_dir(&out.0, "calm", 7, now).unwrap();
        assert!(a.ends_with("calm/20231114T221320Z-7"), "{}", a.display());
        assert!(b.ends_with("calm/20231114T221320Z-7-2"), "{}", b.display());
        write_whole(&b.join(HISTORY), b"{}\n").unwrap();
        link_latest(&out.0, &b, false).unwrap();
        link_latest(&out.0, &b, true).unwrap();
        for name in [
            "latest",
            "latest-fail",
            "calm/latest",
            "calm/20231114T221320Z-7-2",
            "20231114T221320Z-7-",
        ] {
            assert_eq!(find_run(&out.0, name).unwrap(), b, "{name}");
        }
        assert!(find_run(&out.0, "2023").unwrap_err().starts_with("2 runs"));
        assert!(find_run(&out.0, "x").unwrap_err().starts_with("no run"));
    }

    #[test]
    fn a_file_appears_whole() {
        let out = temporary("whole");
        let path = out.0.join(RESULT);
        write_whole(&path, b"1").unwrap();
        write_whole(&path, b"22").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"22");
        assert_eq!(fs::read_dir(&out.0).unwrap().count(), 1);
    }
    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let out = temporary("in-the-way");
        let path = out.0.join(RESULT);
        fs::create_dir_all(path.join("in the way")).unwrap();
        assert!(write_whole(&path, b"1").is_err());
        assert_eq!(fs::read_dir(&out.0).unwrap().count(), 1);
        assert!(write_whole(&out.0.join("nowhere").join(RESULT), b"1").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_relative_and_a_run_elsewhere_gets_none() {
        let (out, elsewhere) = (temporary("links"), temporary("elsewhere"));
        let run = make_run_dir(&out.0, "calm", 1, SystemTime::UNIX_EPOCH).unwrap();
        link_latest(&out.0, &run, true).unwrap();
        assert_eq!(
            fs::read_link(out.0.join(LATEST)).unwrap(),
            Path::new("calm/19700101T000000Z-1")
        );
        assert_eq!(
            fs::read_link(out.0.join("calm").join(LATEST)).unwrap(),
            Path::new("19700101T000000Z-1")
        );
        assert!(!out.0.join(LATEST_FAIL).exists(), "it passed");
        link_latest(&out.0, &fs::canonicalize(&elsewhere.0).unwrap(), false).unwrap();
        assert!(
            !out.0.join(LATEST_FAIL).exists(),
            "it is not in the folder of runs"
        );
        assert_eq!(fs::read_dir(&elsewhere.0).unwrap().count(), 0);
    }
}
