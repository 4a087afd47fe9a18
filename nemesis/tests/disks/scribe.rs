//! The nodes' program: one thread a log folder, each appending a page, syncing it, and looking at what it wrote; whoever
//! connects is told what it met. What fails is not tried again: as bad a program as there are.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub const PORT: u16 = 7000;
/// Each a log folder of its own.
pub const FOLDERS: [&str; 2] = ["topic-0", "topic-1"];
/// What is written at a time: a page, so that no page is written twice.
pub const PAGE: u64 = 4096;
/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(5);
/// Pages looked at in a round, from the beginning.
const LOOKED_AT: u64 = 32;

/// What one thread has met since it began.
#[derive(Default)]
struct Met {
    /// Pages written and synced, as far as it was told.
    synced: AtomicU64,
    eio: AtomicU64,
    enospc: AtomicU64,
    unreadable: AtomicU64,
    /// Bytes of the first pages that are not what was written, at the last look.
    bad: AtomicU64,
    /// Looks that were finished.
    looks: AtomicU64,
    /// The slowest round since somebody asked, in microseconds.
    slowest_us: AtomicU64,
}

/// As it is told over TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told {
    pub synced: u64,
    pub eio: u64,
    pub enospc: u64,
    pub unreadable: u64,
    pub bad: u64,
    pub looks: u64,
    pub slowest_us: u64,
}

pub fn format(disk: &Path) -> ExitCode {
    fs::write(disk.join("formatted"), b"yes").unwrap();
    File::open(disk).unwrap().sync_all().unwrap();
    ExitCode::SUCCESS
}

pub fn main(disk: &Path) -> ExitCode {
    if !disk.join("formatted").exists() {
        eprintln!("FATAL: the disk is not formatted");
        return ExitCode::FAILURE;
    }
    let met: Vec<Arc<Met>> = FOLDERS
        .iter()
        .map(|folder| {
            let met: Arc<Met> = Arc::default();
            let (path, ours) = (disk.join(folder), met.clone());
            std::thread::spawn(move || scribble(&path, &ours).unwrap());
            met
        })
        .collect();
    let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    for stream in listener.incoming().flatten() {
        let _ = tell(stream, &met);
    }
    ExitCode::SUCCESS
}

fn tell(mut stream: TcpStream, met: &[Arc<Met>]) -> io::Result<()> {
    for met in met {
        let numbers = [
            met.synced.load(Relaxed),
            met.eio.load(Relaxed),
            met.enospc.load(Relaxed),
            met.unreadable.load(Relaxed),
            met.bad.load(Relaxed),
            met.looks.load(Relaxed),
            met.slowest_us.swap(0, Relaxed),
        ];
        let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
        stream.write_all(format!("{}\n", words.join(" ")).as_bytes())?;
    }
    Ok(())
}

/// Asks a node's program.
pub fn ask(address: std::net::SocketAddr) -> io::Result<Vec<Told>> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_millis(500))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let told = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        match numbers[..] {
            [synced, eio, enospc, unreadable, bad, looks, slowest_us] => Some(Told {
                synced,
                eio,
                enospc,
                unreadable,
                bad,
                looks,
                slowest_us,
            }),
            _ => None,
        }
    };
    let all: Vec<Told> = text.lines().filter_map(told).collect();
    match all.len() == FOLDERS.len() {
        true => Ok(all),
        false => Err(io::Error::other(format!("it said {text:?}"))),
    }
}

/// What a page holds.
pub fn page(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(PAGE as usize / 8)
}

/// How many bytes of a file are not what was written there.
pub fn bad(file: &File, pages: u64) -> io::Result<u64> {
    let mut bad = 0;
    for number in 0..pages {
        let mut is = vec![0; PAGE as usize];
        file.read_exact_at(&mut is, number * PAGE)?;
        bad += is
            .iter()
            .zip(page(number))
            .filter(|(is, was)| **is != *was)
            .count() as u64;
    }
    Ok(bad)
}

fn scribble(folder: &Path, met: &Met) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false);
    let file = file.open(folder.join("0.log"))?;
    file.sync_all()?;
    let mut number = file.metadata()?.len().div_ceil(PAGE);
    loop {
        let began = Instant::now();
        match file.write_all_at(&page(number), number * PAGE) {
            Ok(()) => {
                // Like one that trusts the next sync where this one failed.
                number += 1;
                match file.sync_all() {
                    Ok(()) => _ = met.synced.fetch_add(1, Relaxed),
                    Err(why) => met.error(&why),
                }
            }
            Err(why) => met.error(&why),
        }
        match bad(&file, number.min(LOOKED_AT)) {
            Ok(bad) => {
                met.bad.store(bad, Relaxed);
                met.looks.fetch_add(1, Relaxed);
            }
            Err(_) => _ = met.unreadable.fetch_add(1, Relaxed),
        }
        met.slowest_us
            .fetch_max(began.elapsed().as_micros() as u64, Relaxed);
        std::thread::sleep(PAUSE);
    }
}

impl Met {
    fn error(&self, why: &io::Error) {
        match why.raw_os_error() {
            Some(nix_enospc) if nix_enospc == ENOSPC => self.enospc.fetch_add(1, Relaxed),
            _ => self.eio.fetch_add(1, Relaxed),
        };
    }
}

/// Of Linux.
const ENOSPC: i32 = 28;
