//! Junk is refused, in flat memory: `cargo run --release -p history --example junk -- [MEBIBYTES]` (1024 by default).
//!
//! Each reader is given each kind of junk. Printed are the error, the time, and the most memory that the process ever
//! had (where /proc tells), which must stay below a bound that does not depend on the length.

mod endless;

use endless::{Endless, KINDS};
use history::{Format, read_foreign};
use std::io::BufReader;
use std::process::ExitCode;
use std::time::Instant;

const MEBIBYTES: u64 = 1024;
/// Twice the longest form that is read (a buffer is copied as it grows), and what else the program has.
const MOST_MEMORY_KIB: u64 = (2 * 64 + 32) << 10;

fn main() -> ExitCode {
    let mebibytes = std::env::args().nth(1).and_then(|count| count.parse().ok());
    let length = mebibytes.unwrap_or(MEBIBYTES) << 20;
    let mut wrong = 0;
    for format in Format::ALL {
        for kind in &KINDS {
            let began = Instant::now();
            let last = read_foreign(format, BufReader::new(Endless::new(format, kind, length))).last();
            let took = began.elapsed().as_secs_f64();
            let peak = peak_kib();
            let (mark, said) = match last {
                Some(Err(error)) if peak < MOST_MEMORY_KIB => ("refused", error.to_string()),
                Some(Err(error)) => ("TOO MUCH MEMORY", error.to_string()),
                other => ("NOT REFUSED", format!("{other:?}")),
            };
            wrong += u32::from(mark != "refused");
            let said: String = said.chars().take(90).collect();
            println!(
                "{format:20} {:10} {mark} in {took:6.3} s, peak {} MiB: {said}",
                kind.name,
                peak >> 10
            );
        }
    }
    match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The most memory that the process ever had; 0 where /proc does not tell.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
    number.unwrap_or(0)
}
