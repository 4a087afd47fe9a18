//! Random operations, cut at random points: no remainder that the documented model forbids, and each policy reaches
//! what it is there for. Ten thousand of them: `cargo run --release -p disk --example cuts`.
mod support {
    mod home;
    mod legal;
    pub mod mount;
    pub mod mounted;
    pub mod streams;
    pub use home::*;
}

use disk::{Mode, Profile, Remainder};
use std::time::{Duration, Instant};
use support::mounted::mounted;
use support::streams::{Met, stream};

/// Streams stop here, however slow the machine is; a slow one checks fewer.
const BOUND: Duration = Duration::from_secs(4);
/// The least that makes a check.
const LEAST: u64 = 60;

fn streams(profile: Profile, seeds: u64, one: impl Fn(u64) -> Met) -> Met {
    let began = Instant::now();
    let mut met = Met::default();
    for seed in 0..seeds {
        if seed >= LEAST && began.elapsed() > BOUND {
            break;
        }
        met.add(one(seed));
    }
    println!("{}: {met:?} in {:?}", profile.word(), began.elapsed());
    met
}

fn met_all(met: Met) {
    assert!(met.both > 0 && met.torn_runs > 0, "{met:?}");
    assert!(met.lost_names > 0 && met.kept_names > 0, "{met:?}");
    assert!(met.all_kept > 0, "{met:?}");
}

#[test]
fn ext4_leaves_nothing_that_it_forbids() {
    let met = streams(Profile::Ext4, 1000, |seed| stream(seed, Profile::Ext4, None));
    met_all(met);
    assert_eq!(met.strict_only, 0);
}

#[test]
fn posix_strict_leaves_nothing_that_it_forbids_and_what_ext4_would() {
    let met = streams(Profile::PosixStrict, 1000, |seed| {
        stream(seed, Profile::PosixStrict, None)
    });
    met_all(met);
    assert!(met.strict_only > 0, "{met:?}");
}

/// Through real mounts, in both modes.
fn mounts(mode: Mode) {
    for profile in Profile::ALL {
        let met = streams(*profile, LEAST, |seed| mounted(seed, *profile, mode));
        assert!(
            met.both > 0 && met.lost_names > 0 && met.kept_names > 0,
            "{met:?}"
        );
    }
}

#[test]
fn mounts_leave_nothing_that_is_forbidden() {
    mounts(Mode::WriteThrough);
}

#[test]
fn mounts_with_the_kernels_cache_leave_nothing_that_is_forbidden() {
    mounts(Mode::WriteBack);
}

#[test]
fn each_policy_leaves_what_its_name_says() {
    for remainder in Remainder::ALL {
        let mut met = Met::default();
        for seed in 0..20 {
            met.add(stream(seed, Profile::Ext4, Some(*remainder)));
        }
        let (lost, kept) = (met.lost_bytes > 0, met.kept_bytes > 0);
        let (names_lost, names_kept) = (met.lost_names > 0, met.kept_names > 0);
        let expected = match remainder {
            Remainder::OnlySynced => (true, false, true, false),
            Remainder::Everything => (false, true, false, true),
            Remainder::NamesWithoutData => (true, false, false, true),
            Remainder::DataWithoutNames => (true, true, true, false),
            _ => (true, true, true, true),
        };
        assert_eq!(
            (lost, kept, names_lost, names_kept),
            expected,
            "{remainder:?}: {met:?}"
        );
    }
}

#[test]
fn a_seed_repeats_its_remainders() {
    for profile in Profile::ALL {
        assert_eq!(stream(5, *profile, None), stream(5, *profile, None));
    }
}
