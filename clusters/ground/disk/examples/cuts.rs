//! Random operations cut at random points, as many as asked, each remainder held against what is literally legal:
//! `cargo run --release -p disk --example cuts -- [CUTS] [FIRST SEED] [MODE]`. On the model, or with a mode
//! (`write-through`, `write-back`) through real mounts, as root. Ends with a panic that names the seed where one is not
//! legal.
#[path = "../tests/support/home.rs"]
mod home;
#[path = "../tests/support/legal.rs"]
mod legal;
#[path = "../tests/support/mount.rs"]
mod mount;
#[path = "../tests/support/mounted.rs"]
mod mounted;
#[path = "../tests/support/streams.rs"]
mod streams;

use disk::{Mode, Profile};
use home::{Home, Random};
use std::fmt::Display;
use std::str::FromStr;
use std::time::Instant;

const CUTS: u64 = 10_000;

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |usual| args.next().map_or(usual, |arg| asked(&arg));
    let (cuts, first) = (number(CUTS), number(0));
    let mode: Option<Mode> = args.next().map(|arg| asked(&arg));
    for profile in Profile::ALL {
        let began = Instant::now();
        let mut met = streams::Met::default();
        let mut seed = first;
        while met.cuts < cuts {
            met.add(match mode {
                None => streams::stream(seed, *profile, None),
                Some(mode) => mounted::mounted(seed, *profile, mode),
            });
            seed += 1;
        }
        println!("{}: {met:?}; {:.1?}", profile.word(), began.elapsed());
    }
}

fn asked<T: FromStr<Err: Display>>(arg: &str) -> T {
    arg.parse().unwrap_or_else(|why| {
        eprintln!("cuts: {arg:?}: {why}; usage: cuts [CUTS] [FIRST SEED] [MODE]");
        std::process::exit(64)
    })
}
