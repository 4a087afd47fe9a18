//! The nodes' program: it talks to every peer all the time, keeps its disk busy a little, and does on request what a
//! limit would show.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Where requests are heard.
pub const REQUESTS: u16 = 7001;
/// Longer than a packet.
const WORD: usize = 3_000;
/// The words in the file.
const WORDS: usize = 300;
/// Between two words.
const PAUSE: Duration = Duration::from_millis(15);
/// A connection on which so long nothing is heard is given up.
const PATIENCE: Duration = Duration::from_millis(400);
/// How long `burn` burns.
const BURN: Duration = Duration::from_millis(500);

/// `peers` are `id@address:port` with commas; `own` is this node's address, `disk` the folder of its disk.
pub fn main(peers: &str, own: &str, disk: &str) -> ExitCode {
    let addresses = peers
        .split(',')
        .filter_map(|peer| peer.split_once('@')?.1.parse().ok());
    for peer in addresses.filter(|peer: &SocketAddr| peer.to_string() != own) {
        std::thread::spawn(move || {
            loop {
                // Whatever went wrong: again.
                let _ = talk(peer);
                std::thread::sleep(PAUSE);
            }
        });
    }
    let file = Path::new(disk).join("words-0/0.log");
    std::thread::spawn(move || {
        loop {
            // A disk that fails is tried again, from the file's beginning.
            let _ = keep_busy(&file);
            std::thread::sleep(PAUSE);
        }
    });
    std::thread::spawn(|| serve(REQUESTS, answer));
    let port = own
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .unwrap_or(0);
    serve(port, listen);
    ExitCode::SUCCESS
}

fn serve(port: u16, with: fn(TcpStream) -> io::Result<()>) {
    let listener = TcpListener::bind(("0.0.0.0", port)).unwrap();
    loop {
        // Where there are no descriptors left, there will be again.
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(PAUSE);
            continue;
        };
        std::thread::spawn(move || with(stream));
    }
}

fn talk(peer: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&peer, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut word = [7; WORD];
    loop {
        // A clock that is set is seen by who looks at it.
        std::hint::black_box(Instant::now());
        stream.write_all(&word)?;
        stream.read_exact(&mut word)?;
        std::thread::sleep(PAUSE);
    }
}

/// Writes, syncs and reads what it wrote, word for word through a file that is whole from the beginning; and lets another
/// grow beside it.
fn keep_busy(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    // Truncated never: a write that fails leaves what was there.
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.write_all_at(&[7; WORD * WORDS], 0)?;
    let mut grows = File::options()
        .append(true)
        .create(true)
        .open(path.with_extension("growing"))?;
    let mut word = [7; WORD];
    for at in (0..WORDS).map(|at| (at * WORD) as u64).cycle() {
        if at == 0 {
            grows.set_len(0)?;
        }
        grows.write_all(&word)?;
        file.write_all_at(&word, at)?;
        file.sync_data()?;
        File::open(path)?.read_exact_at(&mut word, at)?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn listen(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(10 * PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut word = [0; WORD];
    loop {
        stream.read_exact(&mut word)?;
        stream.write_all(&word)?;
    }
}

/// One request a line, each answered by a number: `burn`, milliseconds of processor that it got; `eat MIB`, MiB that
/// it got; `open N`, files that it could open.
fn answer(stream: TcpStream) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let (word, number) = line.split_once(' ').unwrap_or((&line, "0"));
        let number: usize = number.parse().unwrap_or(0);
        let said = match word {
            "burn" => burn(),
            "eat" => {
                let mut eaten = vec![0u8; number << 20];
                // Each page for itself, or the kernel gives none.
                for page in eaten.chunks_mut(4096) {
                    page[0] = 1;
                }
                std::hint::black_box(&eaten).len() >> 20
            }
            "open" => {
                let opened: Vec<File> = (0..number).map_while(|_| File::open("/dev/null").ok()).collect();
                opened.len()
            }
            _ => 0,
        };
        writeln!(writer, "{said}")?;
    }
    Ok(())
}

fn burn() -> usize {
    let ran = || {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        stat.split(' ')
            .next()
            .and_then(|ns| ns.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let (before, began) = (ran(), Instant::now());
    while began.elapsed() < BURN {
        std::hint::spin_loop();
    }
    ((ran() - before) / 1_000_000) as usize
}
