//! The remainders of `docs/durability.md` on real file systems, one test each: those that must never be are looked for
//! in vain, and those that must be reached are met where a real one does reach them.
use crate::bench::Bench;
use crate::home::Random;
use crate::nudge::{commit, nudge_often, page_by_page};
use crate::remainders::{CASES, Case, Left, Must, act, names};
use disk::Profile;
use ground::real_disk::{Kind, Options};
use std::fs;

/// Tries of what must never be: over all cases some 200 cuts.
const NEVER: u64 = 6;
/// Tries of what a real one reaches; the first few do.
const REACH: u64 = 60;
/// Tries of what it was not seen to reach.
const NOT_SEEN: u64 = 4;

/// What our disk reaches and a real one was not seen to, in hundreds of tries: ours leaves more.
const NOT_ON_EXT4: &[&str] = &[
    // The kernel keeps what one call wrote in pieces of many pages, and writes each back in one.
    "a_long_append_is_torn_at_a_page",
    // The shutdown comes between two requests to the device, never within one.
    "an_overwritten_page_is_torn_between_sectors",
];
const NOT_ON_XFS: &[&str] = &[
    "a_long_append_is_torn_at_a_page",
    "an_overwritten_page_is_torn_between_sectors",
    // A length changes only when the bytes are down.
    "a_file_has_grown_within_its_block_and_ends_in_zeros",
];

/// Under which try the remainder came about.
fn met(kind: Kind, case: &Case, tries: u64) -> Option<u64> {
    // Of every other try ext4 keeps its habits.
    let mut benches = [false, true].map(|no_auto_da_alloc| Bench::made(kind, Options { no_auto_da_alloc }));
    (0..tries).find(|n| tried(&mut benches[(n % 2) as usize], case, *n))
}

fn tried(bench: &mut Bench, case: &Case, n: u64) -> bool {
    let mut random = Random(n);
    let folder = format!("try-{n}");
    let top = bench.top().join(&folder);
    fs::create_dir(&top).unwrap();
    case.before.iter().for_each(|op| act(&top, *op).unwrap());
    bench.settle();
    page_by_page(&top);
    for op in case.script {
        act(&top, *op).unwrap_or_else(|e| panic!("{op:?}: {e}"));
        nudge_often(&mut random, &top, &bench.top().join("other"));
    }
    bench.cut();
    let left = Left(bench.top().join(&folder));
    let is = (case.is)(&left);
    // The next try has a journal of its own.
    commit(&bench.top().join("other"));
    is
}

fn check(kind: Kind, name: &str) {
    let case = CASES.iter().find(|case| case.name == name).unwrap();
    if case.waits() || Bench::new(kind, Options::default()).is_none() {
        return;
    }
    let not_seen = match kind {
        Kind::Ext4 => NOT_ON_EXT4,
        Kind::Xfs => NOT_ON_XFS,
    };
    // Both have one journal, in order.
    let must = match case.profile {
        Some(Profile::PosixStrict) => Must::NeverBe,
        _ => case.must,
    };
    let word = kind.word();
    match must {
        Must::NeverBe => assert_eq!(met(kind, case, NEVER), None, "{name} on {word}: it came about"),
        Must::BeReached if not_seen.contains(&name) => {
            if let Some(n) = met(kind, case, NOT_SEEN) {
                println!("{name} on {word}: in try {n}, though the page says that it was not seen");
            }
        }
        Must::BeReached => {
            let met = met(kind, case, REACH);
            assert!(met.is_some(), "{name} on {word}: not in {REACH} tries");
            println!("{name} on {word}: in try {}", met.unwrap());
        }
    }
}

macro_rules! each {
    ($($name:ident)*) => {
        const NAMED: &[&str] = &[$(stringify!($name)),*];
        mod ext4 { $(#[test] fn $name() { super::check(super::Kind::Ext4, stringify!($name)) })* }
        mod xfs { $(#[test] fn $name() { super::check(super::Kind::Xfs, stringify!($name)) })* }
    };
}

names!(each);

#[test]
fn each_is_tested() {
    assert_eq!(NAMED.len(), CASES.len());
    assert!(CASES.iter().all(|case| NAMED.contains(&case.name)));
}
