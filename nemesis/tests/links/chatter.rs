//! The nodes' program: each talks to every peer all the time, a long word and its echo.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

/// Longer than a packet.
const WORD: usize = 3_000;
/// What each word is made of.
const LETTER: u8 = 7;
/// What a node says of a word that is not.
pub const FLIPPED: &str = "a flipped bit has reached the program";
/// Between two words.
const PAUSE: Duration = Duration::from_millis(15);
/// A connection on which so long nothing is heard is given up.
const PATIENCE: Duration = Duration::from_millis(400);

/// `peers` are `id@address:port` with commas, as a cluster's voters are named; `own` is this node's address.
pub fn main(peers: &str, own: &str) -> ExitCode {
    let addresses = peers
        .split(',')
        .filter_map(|peer| peer.split_once('@')?.1.parse().ok());
    let others: Vec<SocketAddr> = addresses
        .filter(|peer: &SocketAddr| peer.to_string() != own)
        .collect();
    let port = own
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .unwrap_or(0u16);
    for peer in others {
        std::thread::spawn(move || {
            loop {
                // Whatever went wrong: again.
                let _ = talk(peer);
                std::thread::sleep(PAUSE);
            }
        });
    }
    let listener = TcpListener::bind(("0.0.0.0", port)).unwrap();
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || listen(stream));
    }
    ExitCode::SUCCESS
}

fn talk(peer: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&peer, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut word = [LETTER; WORD];
    loop {
        stream.write_all(&word)?;
        stream.read_exact(&mut word)?;
        check(&mut word);
        std::thread::sleep(PAUSE);
    }
}

fn listen(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(10 * PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut word = [0; WORD];
    loop {
        stream.read_exact(&mut word)?;
        check(&mut word);
        stream.write_all(&word)?;
    }
}

/// Says when a word is not what was sent, and mends it.
fn check(word: &mut [u8]) {
    if word.iter().any(|letter| *letter != LETTER) {
        eprintln!("{FLIPPED}");
        word.fill(LETTER);
    }
}
