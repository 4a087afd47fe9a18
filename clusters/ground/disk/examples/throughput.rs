//! What the disk costs, beside the folder below it: `cargo run --release -p disk --example throughput -- [FOLDER]
//! [MIB] [ROUNDS]`, as root. Writing and one sync, and reading back cold (after a remount, and the backing file dropped
//! from the cache), in blocks of 1 MiB and 4 KiB; small appends, each synced; a cut and the way back to the first
//! answer. Medians; the folder itself and both modes of the disk in turn, round by round, so that a busy machine is
//! busy for all of them.
#[cfg(target_os = "linux")]
#[path = "../tests/support/home.rs"]
mod home;
#[cfg(target_os = "linux")]
#[path = "../tests/support/mount.rs"]
mod mount;

#[cfg(target_os = "linux")]
use home::Home;

#[cfg(target_os = "linux")]
fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| "/tmp".into());
    let mut number = |usual: u64| match args.next().map(|arg| arg.parse()) {
        None => usual,
        Some(Ok(number)) if number > 0 => number,
        Some(_) => {
            eprintln!("throughput: a number above 0 is wanted; usage: throughput [FOLDER] [MIB] [ROUNDS]");
            std::process::exit(64)
        }
    };
    let (mib, rounds) = (number(1024), number(5));
    if !std::path::Path::new(&folder).is_dir() {
        eprintln!("throughput: {folder} is no folder; usage: throughput [FOLDER] [MIB] [ROUNDS]");
        std::process::exit(64);
    }
    let home = Home::below(std::path::Path::new(&folder));
    if let Err(why) = costs::all(&home, mib << 20, rounds) {
        eprintln!(
            "throughput: in {folder}: {why}; has it room for {} MiB, and are you root?",
            2 * mib
        );
        std::process::exit(74);
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("throughput: the disk needs Linux");
    std::process::exit(64);
}

#[cfg(target_os = "linux")]
mod costs {
    use super::home::Home;
    use super::mount::Mounted;
    use disk::{Mode, Policy};
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    use std::fs::{self, File, OpenOptions};
    use std::io::{self, Read, Write};
    use std::path::Path;
    use std::time::{Duration, Instant};

    /// The goals of the disk's costs: shares of the folder below, and how much a sync may cost more.
    const GOALS: [(usize, f64); 2] = [(1 << 20, 0.7), (4 << 10, 0.6)];
    const SYNC_GOAL: f64 = 100.0;
    const CUT_GOAL: f64 = 100.0;
    /// Appends, each synced.
    const SYNCS: usize = 2000;
    const CUTS: usize = 20;

    pub fn all(home: &Home, bytes: u64, rounds: u64) -> io::Result<()> {
        println!(
            "{} MiB, medians of {rounds}, in {}",
            bytes >> 20,
            home.0.display()
        );
        for (block, goal) in GOALS {
            streams(home, bytes, block, goal, rounds)?;
        }
        syncs(home)?;
        for mode in Mode::ALL {
            cuts(home, *mode)?;
        }
        Ok(())
    }

    /// Where the bytes go: the folder itself, or a disk on it.
    #[derive(Clone, Copy, PartialEq)]
    enum Place {
        Bare,
        Disk(Mode),
    }

    const PLACES: [Place; 3] = [
        Place::Bare,
        Place::Disk(Mode::WriteThrough),
        Place::Disk(Mode::WriteBack),
    ];

    impl Place {
        fn word(self) -> &'static str {
            match self {
                Place::Bare => "the folder itself",
                Place::Disk(mode) => mode.word(),
            }
        }
    }

    /// What one stream took.
    #[derive(Clone, Copy)]
    struct Took {
        wall: Duration,
        /// Of this process: the writer's or reader's, and the server's; not that of the kernel's own threads.
        processor: f64,
    }

    impl Took {
        fn by(act: impl FnOnce() -> io::Result<()>) -> io::Result<Took> {
            let (before, began) = (processor()?, Instant::now());
            act()?;
            Ok(Took {
                wall: began.elapsed(),
                processor: processor()? - before,
            })
        }
    }

    fn processor() -> io::Result<f64> {
        let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF)?;
        let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
    }

    fn streams(home: &Home, bytes: u64, block: usize, goal: f64, rounds: u64) -> io::Result<()> {
        let (mut wrote, mut read) = (vec![Vec::new(); 3], vec![Vec::new(); 3]);
        for round in 0..rounds {
            for (i, place) in PLACES.into_iter().enumerate() {
                let (w, r) = once(home, place, bytes, block, round)?;
                wrote[i].push(w);
                read[i].push(r);
            }
        }
        let gib = bytes as f64 / f64::from(1 << 30);
        for (what, took) in [("written and synced", wrote), ("read back cold", read)] {
            let rate = |all: &[Took]| median(all.iter().map(|t| gib / t.wall.as_secs_f64()).collect());
            let bare = rate(&took[0]);
            for (place, all) in PLACES.into_iter().zip(&took) {
                let (rate, cost) = (rate(all), median(all.iter().map(|t| t.processor / gib).collect()));
                print!(
                    "{} KiB blocks, {what}, {}: {rate:.2} GiB/s, {cost:.2} s of a processor each GiB",
                    block >> 10,
                    place.word()
                );
                match place {
                    Place::Bare => println!(),
                    Place::Disk(_) => println!(", {:.2} of the folder (goal {goal})", rate / bare),
                }
            }
        }
        Ok(())
    }

    fn once(home: &Home, place: Place, bytes: u64, block: usize, round: u64) -> io::Result<(Took, Took)> {
        let own = Home::below(&home.0);
        match place {
            Place::Bare => {
                let file = own.0.join("f");
                let wrote = write(&file, bytes, block, round)?;
                drop_cached(&file)?;
                Ok((wrote, read(&file, bytes, block, round)?))
            }
            Place::Disk(mode) => {
                let m = Mounted::on(own, mode);
                let wrote = m.with(|mnt| write(&mnt.join("f"), bytes, block, round))?;
                drop_cached(&m.home.paths().backing.join("f"))?;
                Ok((wrote, m.with(|mnt| read(&mnt.join("f"), bytes, block, round))?))
            }
        }
    }

    fn write(path: &Path, bytes: u64, block: usize, round: u64) -> io::Result<Took> {
        let part = vec![1 + round as u8; block];
        Took::by(|| {
            let mut file = File::create(path)?;
            for _ in 0..bytes / block as u64 {
                file.write_all(&part)?;
            }
            file.sync_all()
        })
    }

    fn read(path: &Path, bytes: u64, block: usize, round: u64) -> io::Result<Took> {
        let mut part = vec![0; block];
        let mut file = File::open(path)?;
        Took::by(|| {
            for _ in 0..bytes / block as u64 {
                file.read_exact(&mut part)?;
                if part[0] != 1 + round as u8 || part[block - 1] != 1 + round as u8 {
                    return Err(io::Error::other("what was read is not what was written"));
                }
            }
            Ok(())
        })
    }

    fn drop_cached(path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        file.sync_all()?;
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        Ok(())
    }

    fn syncs(home: &Home) -> io::Result<()> {
        let mut bare = 0.0;
        for place in PLACES {
            let own = Home::below(&home.0);
            let us = match place {
                Place::Bare => appends(&own.0)?,
                Place::Disk(mode) => Mounted::on(own, mode).with(appends)?,
            };
            print!("an append of 1 KiB and its fsync, {}: {us:.1} us", place.word());
            match place {
                Place::Bare => {
                    bare = us;
                    println!();
                }
                Place::Disk(_) => println!(", {:+.1} over the folder (goal +{SYNC_GOAL})", us - bare),
            }
        }
        Ok(())
    }

    fn appends(folder: &Path) -> io::Result<f64> {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(folder.join("log"))?;
        let mut each = Vec::with_capacity(SYNCS);
        for _ in 0..SYNCS {
            let began = Instant::now();
            file.write_all(&[7; 1024])?;
            file.sync_all()?;
            each.push(began.elapsed().as_secs_f64() * 1e6);
        }
        Ok(median(each))
    }

    /// From the cut to the first answer of the next mount: a hundred files, 64 MiB of un-synced appends.
    fn cuts(home: &Home, mode: Mode) -> io::Result<()> {
        let m = Mounted::on(Home::below(&home.0), mode);
        let (mut whole, mut settling) = (Vec::new(), Vec::new());
        for fault in 0..CUTS as u64 {
            let cut = m.with(|mnt| -> io::Result<Instant> {
                for n in 0..100 {
                    fs::write(mnt.join(format!("{fault}-{n}")), [7; 4096])?;
                }
                let mut log = File::create(mnt.join("log"))?;
                log.sync_all()?;
                (0..64).try_for_each(|_| log.write_all(&vec![7; 1 << 20]))?;
                let now = Instant::now();
                m.disk.power_off();
                Ok(now)
            })?;
            let gone = Instant::now();
            let loss = m
                .disk
                .settle(fault, Policy::default())
                .map_err(io::Error::other)?;
            if loss.bytes < 64 << 20 {
                return Err(io::Error::other("the cut took less than was not synced"));
            }
            settling.push(gone.elapsed().as_secs_f64() * 1e3);
            m.with(|mnt| fs::read_dir(mnt).map(Iterator::count))?;
            whole.push(cut.elapsed().as_secs_f64() * 1e3);
            let _ = fs::remove_dir_all(m.home.paths().lost);
            fs::create_dir_all(m.home.paths().lost)?;
        }
        println!(
            "a cut of 64 MiB not synced, {}: to the next mount's first answer {:.1} ms (goal {CUT_GOAL}), of it {:.1} ms \
             saving what was lost",
            mode.word(),
            median(whole),
            median(settling)
        );
        Ok(())
    }

    fn median(mut all: Vec<f64>) -> f64 {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }
}
