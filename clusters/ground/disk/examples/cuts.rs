//! Random operations cut at random points, as many as asked, each remainder held against what is literally legal:
//! `cargo run --release -p disk --example cuts -- [CUTS] [FIRST SEED]`. Ends with a panic that names the seed where one
//! is not.
#[path = "../tests/support/home.rs"]
mod home;
#[path = "../tests/support/legal.rs"]
mod legal;
#[path = "../tests/support/streams.rs"]
mod streams;

use disk::Profile;
use home::{Home, Random};
use std::time::Instant;

const CUTS: u64 = 10_000;

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| match arg.parse::<u64>() {
        Ok(number) => number,
        Err(why) => {
            eprintln!("cuts: {arg:?} is not a number ({why}); usage: cuts [CUTS] [FIRST SEED]");
            std::process::exit(64)
        }
    });
    let (cuts, first) = (args.next().unwrap_or(CUTS), args.next().unwrap_or(0));
    for profile in Profile::ALL {
        let began = Instant::now();
        let mut met = streams::Met::default();
        let mut seed = first;
        while met.cuts < cuts {
            met.add(streams::stream(seed, *profile, None));
            seed += 1;
        }
        println!("{}: {met:?}; {:.1?}", profile.word(), began.elapsed());
    }
}
