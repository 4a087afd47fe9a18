//! The node's program: answers lines over TCP, and keeps its disk busy if asked.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

pub const PORT: u16 = 7000;

pub fn main() -> ExitCode {
    println!("up");
    let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || serve(stream));
    }
    ExitCode::SUCCESS
}

/// One request a line: echo X | write FILE sync|data|no TEXT | map FILE | remove FILE | read FILE | call ADDRESS |
/// hold ADDRESS | see | busy
fn serve(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let answer = match words[..] {
            ["echo", text] => text.to_string(),
            ["write", file, sync, text] => said(write(file, sync, text).map(|()| "ok".into())),
            ["map", file] => said(map(file).map(|()| "ok".into())),
            ["remove", file] => said(fs::remove_file(file).map(|()| "ok".into())),
            ["hold", address] => said(hold(address).map(|()| "ok".into())),
            ["read", file] => said(fs::read_to_string(file)),
            ["call", address] => said(call(address)),
            ["see"] => see(),
            ["busy"] => {
                std::thread::spawn(busy);
                "ok".into()
            }
            _ => "?".into(),
        };
        writer.write_all(format!("{answer}\n").as_bytes())?;
    }
    Ok(())
}

fn said(result: io::Result<String>) -> String {
    result.unwrap_or_else(|error| error.to_string())
}

/// A connection to another node's program, a word and its answer.
fn call(address: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((address, PORT))?;
    stream.write_all(b"echo hello\n")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim_end().to_string())
}

/// A connection that is kept; its end is written down.
fn hold(address: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect((address, PORT))?;
    std::thread::spawn(move || {
        let end = io::copy(&mut stream, &mut io::sink());
        fs::write("heard", format!("{end:?}"))
    });
    Ok(())
}

/// Synced with its name, with its data alone, or not at all.
fn write(file: &str, sync: &str, text: &str) -> io::Result<()> {
    let mut file = File::create(file)?;
    file.write_all(text.as_bytes())?;
    match sync {
        "sync" => {
            file.sync_all()?;
            File::open(".")?.sync_all()
        }
        "data" => file.sync_all(),
        _ => Ok(()),
    }
}

/// A synced file of two pages, into the second of which something is written through a mapping that nobody syncs.
fn map(file: &str) -> io::Result<()> {
    const PAGE: usize = 4096;
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(file)?;
    file.set_len(2 * PAGE as u64)?;
    file.sync_all()?;
    File::open(".")?.sync_all()?;
    // SAFETY: a new mapping at an address of the kernel's choice, which stays until the process ends; the file is as long
    // and stays so.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(
            std::ptr::null_mut(),
            2 * PAGE,
            access,
            libc::MAP_SHARED,
            std::os::fd::AsRawFd::as_raw_fd(&file),
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let second = at.cast::<u8>().add(PAGE);
        second.copy_from(b"late".as_ptr(), 4);
    }
    Ok(())
}

/// What a node sees of the world, as words without spaces: pid, host, open descriptors, what is in /tmp, processes.
fn see() -> String {
    let names = |folder: &str| -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let open: Vec<String> = names("/proc/self/fd")
        .iter()
        .filter_map(|fd| fs::read_link(format!("/proc/self/fd/{fd}")).ok())
        .map(|path| {
            path.to_string_lossy()
                .split(':')
                .next()
                .unwrap_or_default()
                .to_string()
        })
        .collect();
    let processes = names("/proc")
        .iter()
        .filter(|name| name.parse::<u32>().is_ok())
        .count();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let score = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    format!(
        "host={} open={open:?} tmp={} processes={processes} oom={}",
        host.trim(),
        names("/tmp")
            .iter()
            .filter(|name| *name != ".ackall-clock")
            .count(),
        score.trim()
    )
}

fn busy() -> io::Result<()> {
    for round in 0.. {
        write(
            &format!("busy{}", round % 10),
            if round % 3 == 0 { "sync" } else { "no" },
            &"x".repeat(20_000),
        )?;
    }
    Ok(())
}
