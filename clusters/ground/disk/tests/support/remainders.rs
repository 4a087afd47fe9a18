//! Remainders of power cuts by name: scripts of file operations, and what a cut may or must never leave of them. They
//! know paths alone, so that they run on any file system whose power can be cut: see `docs/durability.md`.
//!
//! To run one: do `before` on a folder and make it durable; do `script`; cut; ask `is` of what is left.
#![allow(dead_code)] // Each test program uses a part.
use disk::Profile;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub const PAGE: usize = 4096;
pub const SECTOR: usize = 512;

/// One file operation; paths are relative.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// So many bytes of one value at an offset; the file is made if it is not there.
    Write(&'static str, usize, u8, usize),
    /// The same at its end.
    Append(&'static str, u8, usize),
    /// The same with O_DSYNC.
    AppendSynced(&'static str, u8, usize),
    SetLength(&'static str, usize),
    Sync(&'static str),
    /// The empty path is the top.
    SyncFolder(&'static str),
    MakeFolder(&'static str),
    Remove(&'static str),
    Rename(&'static str, &'static str),
    Link(&'static str, &'static str),
    /// Seconds. What needs it is too slow for a clock on the wall, and runs where time is an argument.
    Wait(u64),
}

/// Whether a remainder must come about for some seed, or for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Must {
    /// Some seed leaves it.
    BeReached,
    /// No seed leaves it.
    NeverBe,
}

pub struct Case {
    pub name: &'static str,
    pub must: Must,
    /// Under which profile; under both where there is none.
    pub profile: Option<Profile>,
    pub before: &'static [Op],
    pub script: &'static [Op],
    /// Whether this is the remainder.
    pub is: fn(&Left) -> bool,
}

impl Case {
    pub fn profiles(&self) -> Vec<Profile> {
        match self.profile {
            Some(one) => vec![one],
            None => Profile::ALL.to_vec(),
        }
    }

    pub fn waits(&self) -> bool {
        self.script.iter().any(|op| matches!(op, Op::Wait(_)))
    }
}

/// What is left.
pub struct Left(pub PathBuf);

impl Left {
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.0.join(path)).ok()
    }

    fn has(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    fn length(&self, path: &str) -> Option<usize> {
        self.bytes(path).map(|b| b.len())
    }

    /// Whether it is so many bytes of one value.
    fn is(&self, path: &str, value: u8, length: usize) -> bool {
        self.bytes(path).is_some_and(|b| b == vec![value; length])
    }
}

/// Does one operation in a folder. Files are opened for each, so that nothing but the file system remembers.
pub fn act(folder: &Path, op: Op) -> std::io::Result<()> {
    let at = |path: &str| folder.join(path);
    let open = |path: &str| {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(at(path))
    };
    match op {
        Op::Write(path, offset, value, length) => {
            open(path)?.write_all_at(&vec![value; length], offset as u64)
        }
        Op::Append(path, value, length) => {
            let file = open(path)?;
            let end = file.metadata()?.len();
            file.write_all_at(&vec![value; length], end)
        }
        Op::AppendSynced(path, value, length) => {
            let mut how = OpenOptions::new();
            how.write(true).custom_flags(nix::libc::O_DSYNC);
            let file = how.open(at(path))?;
            let end = file.metadata()?.len();
            file.write_all_at(&vec![value; length], end)
        }
        Op::SetLength(path, length) => open(path)?.set_len(length as u64),
        Op::Sync(path) | Op::SyncFolder(path) => File::open(at(path))?.sync_all(),
        Op::MakeFolder(path) => fs::create_dir(at(path)),
        Op::Remove(path) => fs::remove_file(at(path)),
        Op::Rename(from, to) => fs::rename(at(from), at(to)),
        Op::Link(from, to) => fs::hard_link(at(from), at(to)),
        Op::Wait(seconds) => {
            std::thread::sleep(std::time::Duration::from_secs(seconds));
            Ok(())
        }
    }
}

use Must::{BeReached, NeverBe};
use Op::*;

const EXT4: Option<Profile> = Some(Profile::Ext4);
const STRICT: Option<Profile> = Some(Profile::PosixStrict);
const ANY: Option<Profile> = None;

/// A log that ends in durable bytes.
const LOG: &[Op] = &[Write("log", 0, 1, 100)];
/// Three durable pages.
const PAGES: &[Op] = &[Write("index", 0, 1, 3 * PAGE)];

pub const CASES: &[Case] = &[
    Case {
        name: "an_append_is_gone",
        must: BeReached,
        profile: ANY,
        before: LOG,
        script: &[Append("log", 2, 50)],
        is: |left| left.is("log", 1, 100),
    },
    Case {
        name: "appends_are_there_up_to_the_end_of_one",
        must: BeReached,
        profile: ANY,
        before: LOG,
        script: &[Append("log", 2, 50), Append("log", 3, 50), Append("log", 4, 50)],
        is: |left| left.length("log") == Some(200),
    },
    Case {
        name: "a_long_append_is_torn_at_a_page",
        must: BeReached,
        profile: ANY,
        before: &[Write("log", 0, 1, PAGE)],
        script: &[Append("log", 2, 3 * PAGE)],
        is: |left| left.length("log") == Some(3 * PAGE),
    },
    Case {
        name: "an_appended_page_is_zeros_and_a_later_one_is_there",
        must: BeReached,
        profile: ANY,
        before: &[Write("log", 0, 1, PAGE)],
        script: &[Append("log", 2, 2 * PAGE)],
        is: |left| {
            left.bytes("log")
                .is_some_and(|b| b.len() == 3 * PAGE && b[PAGE] == 0 && b[2 * PAGE] == 2)
        },
    },
    Case {
        name: "a_later_page_is_new_and_an_earlier_one_old",
        must: BeReached,
        profile: ANY,
        before: PAGES,
        script: &[Write("index", 0, 2, 2 * PAGE)],
        is: |left| {
            left.bytes("index")
                .is_some_and(|b| b[..PAGE] == [1; PAGE] && b[PAGE..2 * PAGE] == [2; PAGE])
        },
    },
    Case {
        name: "an_overwritten_page_is_torn_between_sectors",
        must: BeReached,
        profile: ANY,
        before: PAGES,
        script: &[Write("index", 0, 2, PAGE)],
        is: |left| left.bytes("index").is_some_and(|b| b[0] == 2 && b[PAGE - 1] == 1),
    },
    Case {
        name: "one_file_is_new_and_one_written_before_it_is_old",
        must: BeReached,
        profile: ANY,
        before: &[Write("log", 0, 1, PAGE), Write("index", 0, 1, PAGE)],
        script: &[Append("log", 2, 100), Append("index", 2, 100)],
        is: |left| left.length("log") == Some(PAGE) && left.length("index") == Some(PAGE + 100),
    },
    Case {
        name: "a_file_has_grown_within_its_block_and_ends_in_zeros",
        must: BeReached,
        profile: ANY,
        before: &[Write("log", 0, 1, 100), Write("other", 0, 1, 1)],
        script: &[Append("log", 2, 50), Append("other", 2, 1), Sync("other")],
        is: |left| {
            left.bytes("log")
                .is_some_and(|b| b.len() == 150 && b[100..] == [0; 50])
        },
    },
    Case {
        name: "a_new_file_is_there_and_empty",
        must: BeReached,
        profile: ANY,
        before: LOG,
        script: &[Append("new", 2, 100), Append("log", 2, 10), Sync("log")],
        is: |left| left.length("new") == Some(0),
    },
    Case {
        name: "data_are_there_and_a_new_file_is_not",
        must: BeReached,
        profile: ANY,
        before: LOG,
        script: &[Append("log", 2, 100), Append("new", 2, 100)],
        is: |left| !left.has("new") && left.length("log") == Some(200),
    },
    Case {
        name: "a_preallocated_file_is_all_zeros",
        must: BeReached,
        profile: ANY,
        before: &[Write("index", 0, 1, 0)],
        script: &[SetLength("index", 2 * PAGE), Write("index", 0, 2, 100)],
        is: |left| left.is("index", 0, 2 * PAGE),
    },
    Case {
        name: "a_truncation_is_undone",
        must: BeReached,
        profile: ANY,
        before: PAGES,
        script: &[SetLength("index", 10)],
        is: |left| left.is("index", 1, 3 * PAGE),
    },
    Case {
        name: "a_truncation_is_there_and_what_was_appended_after_it_is_not",
        must: BeReached,
        profile: ANY,
        before: PAGES,
        script: &[SetLength("index", PAGE), Append("index", 2, 100)],
        is: |left| left.is("index", 1, PAGE),
    },
    Case {
        name: "a_replacing_rename_is_undone",
        must: BeReached,
        profile: ANY,
        before: &[Write("file", 0, 1, 10), Write("file.tmp", 0, 2, 10)],
        script: &[Rename("file.tmp", "file")],
        is: |left| left.is("file", 1, 10) && left.is("file.tmp", 2, 10),
    },
    Case {
        name: "a_file_renamed_over_another_without_a_sync_is_empty",
        must: BeReached,
        profile: ANY,
        before: &[Write("file", 0, 1, 10)],
        script: &[Append("file.tmp", 2, 10), Rename("file.tmp", "file")],
        is: |left| left.length("file") == Some(0) && !left.has("file.tmp"),
    },
    Case {
        name: "a_removed_file_is_back",
        must: BeReached,
        profile: ANY,
        before: LOG,
        script: &[Remove("log")],
        is: |left| left.is("log", 1, 100),
    },
    Case {
        name: "the_earlier_of_two_new_files_is_there_alone",
        must: BeReached,
        profile: ANY,
        before: &[],
        script: &[Write("one", 0, 1, 0), Write("two", 0, 1, 0)],
        is: |left| left.has("one") && !left.has("two"),
    },
    Case {
        name: "all_of_it_is_there",
        must: BeReached,
        profile: ANY,
        before: LOG,
        script: &[Append("log", 2, 9000), Append("new", 3, 5), Remove("log")],
        is: |left| !left.has("log") && left.is("new", 3, 5),
    },
    Case {
        name: "a_further_name_is_missing",
        must: BeReached,
        profile: ANY,
        before: LOG,
        script: &[Append("log", 2, 10), Link("log", "also")],
        is: |left| left.length("log") == Some(110) && !left.has("also"),
    },
    Case {
        name: "an_hour_old_removal_is_undone",
        must: BeReached,
        profile: STRICT,
        before: &[Write("clean-marker", 0, 1, 1), Write("log", 0, 1, 1)],
        script: &[
            Remove("clean-marker"),
            Append("log", 2, 10),
            Sync("log"),
            Wait(3600),
        ],
        is: |left| left.has("clean-marker") && left.length("log") == Some(11),
    },
    Case {
        name: "a_removal_is_undone_though_another_file_was_synced",
        must: BeReached,
        profile: STRICT,
        before: &[Write("clean-marker", 0, 1, 1), Write("log", 0, 1, 1)],
        script: &[Remove("clean-marker"), Append("log", 2, 10), Sync("log")],
        is: |left| left.has("clean-marker"),
    },
    Case {
        name: "the_later_of_two_new_files_is_there_alone",
        must: BeReached,
        profile: STRICT,
        before: &[],
        script: &[Write("one", 0, 1, 0), Write("two", 0, 1, 0)],
        is: |left| !left.has("one") && left.has("two"),
    },
    Case {
        name: "a_synced_file_has_no_name",
        must: BeReached,
        profile: STRICT,
        before: &[],
        script: &[Append("new", 2, 100), Sync("new")],
        is: |left| !left.has("new"),
    },
    Case {
        name: "a_synced_folder_is_gone_with_what_is_in_it",
        must: BeReached,
        profile: STRICT,
        before: &[],
        script: &[
            MakeFolder("d"),
            Append("d/new", 2, 9),
            Sync("d/new"),
            SyncFolder("d"),
        ],
        is: |left| !left.has("d"),
    },
    Case {
        name: "synced_bytes_are_lost",
        must: NeverBe,
        profile: ANY,
        before: LOG,
        script: &[Append("log", 2, 5000), Sync("log"), Append("log", 3, 5000)],
        is: |left| {
            let kept = |b: Vec<u8>| b.len() >= 5100 && b[..100] == [1; 100] && b[100..5100] == [2; 5000];
            !left.bytes("log").is_some_and(kept)
        },
    },
    Case {
        name: "bytes_of_a_synced_write_are_lost",
        must: NeverBe,
        profile: ANY,
        before: LOG,
        script: &[AppendSynced("log", 2, 50), Append("log", 3, 50)],
        is: |left| left.length("log").is_none_or(|length| length < 150),
    },
    Case {
        name: "a_synced_new_file_is_missing",
        must: NeverBe,
        profile: EXT4,
        before: &[],
        script: &[MakeFolder("d"), Append("d/new", 2, 100), Sync("d/new")],
        is: |left| !left.is("d/new", 2, 100),
    },
    Case {
        name: "a_new_file_is_missing_though_it_and_its_folder_were_synced",
        must: NeverBe,
        profile: ANY,
        before: &[],
        script: &[
            Append("new", 2, 100),
            Sync("new"),
            SyncFolder(""),
            Append("other", 2, 9),
        ],
        is: |left| !left.is("new", 2, 100),
    },
    Case {
        name: "a_later_new_file_is_there_and_an_earlier_one_is_not",
        must: NeverBe,
        profile: EXT4,
        before: &[],
        script: &[
            Write("one", 0, 1, 0),
            Write("two", 0, 1, 0),
            Write("three", 0, 1, 0),
        ],
        is: |left| (left.has("two") && !left.has("one")) || (left.has("three") && !left.has("two")),
    },
    Case {
        name: "a_file_has_new_blocks_and_a_name_from_before_is_missing",
        must: NeverBe,
        profile: EXT4,
        before: &[Write("log", 0, 1, PAGE)],
        script: &[Write("new", 0, 1, 0), Append("log", 2, PAGE)],
        is: |left| !left.has("new") && left.length("log") > Some(PAGE),
    },
    Case {
        name: "a_removed_file_is_back_though_another_was_synced",
        must: NeverBe,
        profile: EXT4,
        before: &[Write("clean-marker", 0, 1, 1), Write("log", 0, 1, 1)],
        script: &[Remove("clean-marker"), Append("log", 2, 10), Sync("log")],
        is: |left| left.has("clean-marker"),
    },
    Case {
        name: "a_removed_file_is_back_though_its_folder_was_synced",
        must: NeverBe,
        profile: ANY,
        before: &[Write("clean-marker", 0, 1, 1)],
        script: &[Remove("clean-marker"), SyncFolder(""), Append("log", 2, 10)],
        is: |left| left.has("clean-marker"),
    },
    Case {
        name: "a_rename_is_undone_though_its_folder_was_synced",
        must: NeverBe,
        profile: ANY,
        before: &[Write("a", 0, 1, 10), Write("b", 0, 2, 10)],
        script: &[Rename("b", "a"), SyncFolder(""), Append("b", 3, 10)],
        is: |left| !left.is("a", 2, 10),
    },
    Case {
        name: "a_renamed_file_has_no_name",
        must: NeverBe,
        profile: ANY,
        before: &[MakeFolder("d"), Write("a", 0, 1, 10)],
        script: &[Rename("a", "d/b"), Rename("d/b", "c")],
        is: |left| !left.has("a") && !left.has("d/b") && !left.has("c"),
    },
    Case {
        name: "a_renamed_file_has_both_names",
        must: NeverBe,
        profile: ANY,
        before: &[MakeFolder("d"), Write("a", 0, 1, 10)],
        script: &[Rename("a", "d/a")],
        is: |left| left.has("a") && left.has("d/a"),
    },
    Case {
        name: "a_replaced_file_is_neither_the_old_nor_the_synced_new_one",
        must: NeverBe,
        profile: ANY,
        before: &[Write("file", 0, 1, 5000)],
        script: &[
            Append("file.tmp", 2, 9000),
            Sync("file.tmp"),
            Rename("file.tmp", "file"),
        ],
        is: |left| !left.is("file", 1, 5000) && !left.is("file", 2, 9000),
    },
    Case {
        name: "a_file_holds_what_was_never_in_it",
        must: NeverBe,
        profile: ANY,
        before: PAGES,
        script: &[Write("index", 100, 2, 6000), Append("index", 3, 2 * PAGE)],
        is: |left| {
            let there = left.bytes("index").unwrap_or_default();
            let may = |i: usize, b: u8| match i {
                100..6100 => b == 1 || b == 2,
                i if i < 3 * PAGE => b == 1,
                _ => b == 0 || b == 3,
            };
            there.len() < 3 * PAGE || !there.iter().enumerate().all(|(i, b)| may(i, *b))
        },
    },
    Case {
        name: "a_file_is_longer_than_it_ever_was",
        must: NeverBe,
        profile: ANY,
        before: LOG,
        script: &[Append("log", 2, 50), Append("log", 2, 5000)],
        is: |left| left.length("log") > Some(5150),
    },
    Case {
        name: "a_page_is_torn_within_a_sector",
        must: NeverBe,
        profile: ANY,
        before: PAGES,
        script: &[Write("index", 0, 2, PAGE)],
        is: |left| {
            let there = left.bytes("index").unwrap_or_default();
            let torn = |sector: &[u8]| sector.iter().any(|b| *b != sector[0]);
            there.chunks(SECTOR).any(torn)
        },
    },
    Case {
        name: "old_bytes_are_back_after_a_synced_truncation",
        must: NeverBe,
        profile: ANY,
        before: PAGES,
        script: &[
            SetLength("index", 10),
            Sync("index"),
            Write("index", PAGE, 2, 100),
        ],
        is: |left| {
            let there = left.bytes("index").unwrap_or_default();
            there.len() < 10 || there[10..].contains(&1)
        },
    },
    Case {
        name: "new_bytes_stand_among_those_of_a_truncation_undone",
        must: NeverBe,
        profile: ANY,
        before: PAGES,
        script: &[SetLength("index", 0), Append("index", 2, 2 * PAGE)],
        is: |left| {
            left.bytes("index")
                .is_some_and(|b| b.contains(&1) && b.contains(&2))
        },
    },
    Case {
        name: "a_name_is_lost_that_is_six_seconds_old",
        must: NeverBe,
        profile: EXT4,
        before: &[],
        script: &[Append("new", 2, 10), Wait(6)],
        is: |left| !left.has("new"),
    },
    Case {
        name: "bytes_are_lost_that_are_half_a_minute_old",
        must: NeverBe,
        profile: EXT4,
        before: LOG,
        script: &[Append("log", 2, 10), Wait(31), Append("log", 3, 10)],
        is: |left| left.length("log").is_none_or(|length| length < 110),
    },
];

/// Hands the names of all [`CASES`] to a macro, which makes a test of each.
macro_rules! names {
    ($each:ident) => {
        $each! {
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
    };
}
pub(crate) use names;
