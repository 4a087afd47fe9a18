//! The remainders of `docs/durability.md` on real file systems, one test each: those that must never be are looked for
//! in vain, and those that must be reached are met where a real one does reach them.
use crate::bench::Bench;
use crate::home::Random;
use crate::nudge::{commit, nudge_often, page_by_page};
use crate::remainders::{CASES, Case, Left, Must, act};
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

each! {
    an_append_is_gone
    appends_are_there_up_to_the_end_of_one
    a_long_append_is_torn_at_a_page
    an_appended_page_is_zeros_and_a_later_one_is_there
    a_later_page_is_new_and_an_earlier_one_old
    an_overwritten_page_is_torn_between_sectors
    one_file_is_new_and_one_written_before_it_is_old
    a_file_has_grown_within_its_block_and_ends_in_zeros
    a_new_file_is_there_and_empty
    data_are_there_and_a_new_file_is_not
    a_preallocated_file_is_all_zeros
    a_truncation_is_undone
    a_truncation_is_there_and_what_was_appended_after_it_is_not
    a_replacing_rename_is_undone
    a_file_renamed_over_another_without_a_sync_is_empty
    a_removed_file_is_back
    the_earlier_of_two_new_files_is_there_alone
    all_of_it_is_there
    a_further_name_is_missing
    an_hour_old_removal_is_undone
    a_removal_is_undone_though_another_file_was_synced
    the_later_of_two_new_files_is_there_alone
    a_synced_file_has_no_name
    a_synced_folder_is_gone_with_what_is_in_it
    synced_bytes_are_lost
    bytes_of_a_synced_write_are_lost
    a_synced_new_file_is_missing
    a_new_file_is_missing_though_it_and_its_folder_were_synced
    a_later_new_file_is_there_and_an_earlier_one_is_not
    a_file_has_new_blocks_and_a_name_from_before_is_missing
    a_removed_file_is_back_though_another_was_synced
    a_removed_file_is_back_though_its_folder_was_synced
    a_rename_is_undone_though_its_folder_was_synced
    a_renamed_file_has_no_name
    a_renamed_file_has_both_names
    a_replaced_file_is_neither_the_old_nor_the_synced_new_one
    a_file_holds_what_was_never_in_it
    a_file_is_longer_than_it_ever_was
    a_page_is_torn_within_a_sector
    old_bytes_are_back_after_a_synced_truncation
    new_bytes_stand_among_those_of_a_truncation_undone
    a_name_is_lost_that_is_six_seconds_old
    bytes_are_lost_that_are_half_a_minute_old
}

#[test]
fn each_is_tested() {
    assert_eq!(NAMED.len(), CASES.len());
    assert!(CASES.iter().all(|case| NAMED.contains(&case.name)));
}
