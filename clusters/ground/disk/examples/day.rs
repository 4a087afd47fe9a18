//! A day's worth of appends that nobody syncs, through a mount of the disk, old segments removed as it goes: what the
//! disk's process needs stays flat. `cargo run --release -p disk --example day -- [GIB] [FOLDER] [MODE]`, as root;
//! wants room for 1 GiB there. Server and writer are one process, and the writer's is one buffer of it. Ends with
//! status 1 where the memory is not flat.
#[cfg(target_os = "linux")]
#[path = "../tests/support/home.rs"]
mod home;
#[cfg(target_os = "linux")]
#[path = "../tests/support/mount.rs"]
mod mount;

#[cfg(target_os = "linux")]
use home::Home;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match day::Asked::of(std::env::args().skip(1)).and_then(day::run) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("day: {why}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("day: the disk needs Linux");
}

#[cfg(target_os = "linux")]
mod day {
    use super::home::Home;
    use super::mount::Mounted;
    use disk::{Limits, Mode};
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    const SEGMENT: u64 = 64 << 20;
    /// Segments that are there at a time.
    const KEPT: u64 = 4;
    const WRITE: usize = 1 << 20;
    /// How much more than in its first quarter the process may ever hold: what the allocator rounds.
    const SLACK: u64 = 4 << 20;
    /// What it may hold in all: one request's buffer, and what goes back.
    const MOST: u64 = 128 << 20;

    pub struct Asked {
        gib: u64,
        folder: PathBuf,
        mode: Mode,
    }

    impl Asked {
        pub fn of(mut args: impl Iterator<Item = String>) -> Result<Asked, String> {
            let usage = "usage: day [GIB] [FOLDER] [MODE]";
            let gib = args.next().map_or(Ok(100), |arg| arg.parse());
            let gib = gib.map_err(|why| format!("how many GiB? {why}; {usage}"))?;
            let folder = args.next().unwrap_or_else(|| "/dev/shm".into()).into();
            let mode = args.next().map_or(Ok(Mode::default()), |arg| arg.parse());
            let mode = mode.map_err(|why| format!("{why}; {usage}"))?;
            match gib {
                0 => Err(format!("at least 1 GiB is wanted; {usage}")),
                _ => Ok(Asked { gib, folder, mode }),
            }
        }
    }

    /// The most that this process held, and what the disk kept to go back.
    #[derive(Debug, Default, Clone, Copy)]
    struct Held {
        process: u64,
        kept: u64,
        waiting: u64,
    }

    impl Held {
        fn most(self, other: Held) -> Held {
            Held {
                process: self.process.max(other.process),
                kept: self.kept.max(other.kept),
                waiting: self.waiting.max(other.waiting),
            }
        }
    }

    pub fn run(asked: Asked) -> Result<(), String> {
        let home = Home::below(&asked.folder);
        let place = home.0.clone();
        let m = Mounted::on(home, asked.mode);
        let segments = asked.gib * (1 << 30) / SEGMENT;
        let look = || Held {
            process: resident(),
            kept: m.disk.stats().memory,
            waiting: room(&place.join("trash")),
        };
        let began = Instant::now();
        let (first, all) = m
            .with(|mnt| stream(mnt, segments, look))
            .map_err(|why| format!("in {}: {why}; has it room for 1 GiB?", place.display()))?;
        let took = began.elapsed().as_secs_f64();
        let (stats, mib) = (m.disk.stats(), |bytes: u64| bytes as f64 / f64::from(1 << 20));
        println!(
            "{} GiB in {took:.1} s, {:.2} GiB/s, {}; forced write-backs {}",
            asked.gib,
            asked.gib as f64 / took,
            asked.mode.word(),
            stats.forced
        );
        println!(
            "the process held {:.1} MiB at most in the first quarter, {:.1} in all; kept to go back {} bytes at most; \
             removed files on the host {:.0} MiB at most",
            mib(first.process),
            mib(all.process),
            all.kept,
            mib(all.waiting)
        );
        if stats.bytes_written < segments * SEGMENT {
            return Err("less was written through the disk than was meant to".into());
        }
        let room = Limits::default().removed + 2 * SEGMENT;
        if all.waiting > room {
            let waiting = mib(all.waiting);
            return Err(format!(
                "removed files took {waiting:.0} MiB of the host: more than the bound"
            ));
        }
        match all.process <= (first.process + SLACK).min(MOST) {
            true => Ok(()),
            false => Err(format!(
                "the memory is not flat: {:.1} MiB became {:.1}",
                mib(first.process),
                mib(all.process)
            )),
        }
    }

    /// The most held in the first quarter, and in all.
    fn stream(mnt: &Path, segments: u64, look: impl Fn() -> Held) -> std::io::Result<(Held, Held)> {
        let part = vec![7; WRITE];
        let (mut first, mut all) = (Held::default(), Held::default());
        for n in 0..segments {
            let mut file = File::create(mnt.join(format!("{n}.log")))?;
            for _ in 0..SEGMENT / WRITE as u64 {
                file.write_all(&part)?;
            }
            all = all.most(look());
            if n <= segments / 4 {
                first = all;
            }
            if let Some(old) = n.checked_sub(KEPT) {
                fs::remove_file(mnt.join(format!("{old}.log")))?;
            }
        }
        Ok((first, all))
    }

    /// The most memory that this process has held. The writer is in it, with one buffer.
    fn resident() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.map_or(u64::MAX, |kib| kib << 10)
    }

    fn room(folder: &Path) -> u64 {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files
            .filter_map(|f| f.metadata().ok())
            .map(|meta| meta.len())
            .sum()
    }
}
