//! The time and the memory of a check, and what the process holds, as the operating system says.

use crate::cli::CheckArgs;
use crate::error::Error;
use results::check::{Choice, From};
use std::fs;
use std::time::Duration;

/// What a check may take.
pub struct Limits {
    /// The time.
    pub time: Duration,
    /// The memory of the process, in bytes.
    pub memory: u64,
}

/// The least memory that a check can be given: what the program itself takes, with some room.
const LEAST_MEMORY: u64 = 32 << 20;
/// From this share of the memory on, searches are told that it is spent, so that they end by themselves.
const WARN: (u64, u64) = (9, 10);

impl Limits {
    /// As the command line says them.
    ///
    /// # Errors
    /// Usage, where one is no limit.
    pub fn parse(args: &CheckArgs) -> Result<Limits, Error> {
        let time =
            humantime::parse_duration(&args.budget).map_err(|e| wrong("--budget", &args.budget, &e))?;
        if time.is_zero() {
            return Err(wrong(
                "--budget",
                &args.budget,
                &"nothing can be decided in no time",
            ));
        }
        let memory = size(&args.memory).map_err(|why| wrong("--memory", &args.memory, &why))?;
        if memory < LEAST_MEMORY {
            let why = format!(
                "the program itself takes some: {} MiB is the least",
                LEAST_MEMORY >> 20
            );
            return Err(wrong("--memory", &args.memory, &why));
        }
        Ok(Limits { time, memory })
    }

    /// The memory from which on searches are told to end.
    pub fn warn_bytes(&self) -> u64 {
        self.memory / WARN.1 * WARN.0
    }

    /// How long after the time is over a check may still wind itself up.
    pub fn grace(&self) -> Duration {
        const LEAST: Duration = Duration::from_millis(500);
        const MOST: Duration = Duration::from_secs(5);
        (self.time / 10).clamp(LEAST, MOST)
    }

    /// The limits, as choices that were made.
    pub fn choices(&self, args: &CheckArgs) -> [Choice; 2] {
        let choice = |name, value: &str, usual: &str| Choice {
            name,
            value: value.into(),
            from: if value == usual {
                From::Default
            } else {
                From::CommandLine
            },
        };
        [
            choice("budget", &args.budget, "60s"),
            choice("memory", &args.memory, "2GiB"),
        ]
    }
}

fn wrong(flag: &str, said: &str, why: &dyn std::fmt::Display) -> Error {
    let example = if flag == "--budget" {
        "60s, or 5m"
    } else {
        "2GiB, or 512MiB"
    };
    Error::usage(
        format!("reading {flag} {said}"),
        why,
        format!("{flag} {example}, for instance"),
    )
}

/// A size: a whole number and its unit.
fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    let (unit, shift) = unit.ok_or("a number and one of B, KiB, MiB, GiB and TiB were expected")?;
    let number = text.strip_suffix(unit).unwrap_or_default().trim();
    let number: u64 = number
        .parse()
        .map_err(|_| format!("{number:?} is no whole number"))?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "no machine has so much".to_string())
}

/// What the process holds now, in bytes; none where the system does not say.
pub fn held_bytes() -> Option<u64> {
    status("VmRSS:")
}

/// The most that the process held at once, in bytes; none where the system does not say.
pub fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

fn status(field: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.trim().strip_suffix("kB"))?;
    kib.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_with_units() {
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(size("512 MiB"), Ok(512 << 20));
        assert_eq!(size("0B"), Ok(0));
        for bad in ["", "2", "2GB", "-1MiB", "1.5GiB", "99999999999TiB", "MiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_process_holds_is_known() {
        let (held, peak) = (held_bytes().unwrap(), peak_bytes().unwrap());
        assert!(held > 1 << 20 && peak >= held, "{held} {peak}");
    }
}
