//! What real file systems leave and ours never does: found by random streams, each with the script that shows it. The
//! page `docs/durability.md` names them under "What real ones do".
use crate::bench::Bench;
use crate::nudge::{commit, page_by_page};
use ground::real_disk::{Kind, Options, write_back};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

const PAGE: usize = 4096;

/// A file system, and a file on it.
struct Script(Bench);

impl Script {
    fn path(&self, name: &str) -> PathBuf {
        self.0.top().join(name)
    }

    /// So many bytes of one value at an offset.
    fn write(&self, name: &str, at: usize, value: u8, length: usize) {
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.path(name));
        file.unwrap()
            .write_all_at(&vec![value; length], at as u64)
            .unwrap();
    }

    /// The same with O_DSYNC.
    fn write_synced(&self, name: &str, at: usize, value: u8, length: usize) {
        let mut how = File::options();
        let file = how
            .write(true)
            .custom_flags(libc::O_DSYNC)
            .open(self.path(name))
            .unwrap();
        file.write_all_at(&vec![value; length], at as u64).unwrap();
    }

    fn set_length(&self, name: &str, length: usize) {
        File::options()
            .write(true)
            .open(self.path(name))
            .unwrap()
            .set_len(length as u64)
            .unwrap();
    }

    /// What the kernel does unasked: so many pages are written back.
    fn written_back(&self, name: &str, page: usize, pages: usize) {
        let file = File::open(self.path(name)).unwrap();
        write_back(&file, (page * PAGE) as u64, (pages * PAGE) as u64).unwrap();
    }

    /// The journal is committed by the sync of another file, which was changed.
    fn committed(&self) {
        commit(&self.path("other"));
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }
}

/// Runs a script on one kind of file system, where this machine can have it.
fn on(kind: Kind, script: impl FnOnce(Script)) {
    if let Some(bench) = Bench::new(kind, Options::default()) {
        script(Script(bench));
    }
}

#[test]
fn a_sync_of_what_was_not_changed_commits_nothing() {
    for kind in Kind::ALL {
        on(kind, |mut s| {
            s.write("clean-marker", 0, 1, 1);
            s.write("log", 0, 1, 100);
            s.0.settle();
            fs::remove_file(s.path("clean-marker")).unwrap();
            File::open(s.path("log")).unwrap().sync_all().unwrap();
            s.0.cut();
            assert!(s.path("clean-marker").exists(), "{kind:?}");
        });
    }
}

#[test]
fn a_synced_write_in_place_commits_nothing() {
    for kind in Kind::ALL {
        on(kind, |mut s| {
            s.write("clean-marker", 0, 1, 1);
            s.write("log", 0, 1, 100);
            s.0.settle();
            fs::remove_file(s.path("clean-marker")).unwrap();
            s.write_synced("log", 0, 2, 50);
            s.0.cut();
            assert!(s.path("clean-marker").exists(), "{kind:?}");
            assert_eq!(s.bytes("log")[..50], [2; 50]);
        });
    }
}

#[test]
fn a_synced_write_leaves_earlier_bytes_of_its_file_unsynced() {
    for kind in Kind::ALL {
        on(kind, |mut s| {
            s.write("log", 0, 1, PAGE);
            s.0.settle();
            s.write("log", PAGE, 2, PAGE);
            s.write_synced("log", 2 * PAGE, 3, PAGE);
            s.0.cut();
            let left = s.bytes("log");
            assert_eq!(left.len(), 3 * PAGE, "{kind:?}");
            assert_eq!(left[PAGE..2 * PAGE], [0; PAGE], "{kind:?}");
            assert_eq!(left[2 * PAGE..], [3; PAGE], "{kind:?}");
        });
    }
}

#[test]
fn bytes_that_a_cut_took_are_there_again_after_the_next() {
    on(Kind::Ext4, |mut s| {
        s.write("log", 0, 1, 100);
        s.0.settle();
        s.write("log", 100, 2, 50);
        s.written_back("log", 0, 1);
        s.0.cut();
        assert_eq!(s.bytes("log"), [1; 100]);
        s.write("log", 100, 3, 50);
        s.committed();
        s.0.cut();
        assert_eq!(s.bytes("log"), [[1; 100].as_slice(), &[2; 50]].concat());
    });
    // There a length waits for its bytes; a later page can take it past them.
    on(Kind::Xfs, |mut s| {
        s.write("log", 0, 1, 100);
        s.0.settle();
        s.write("log", 100, 2, 50);
        s.written_back("log", 0, 1);
        s.0.cut();
        assert_eq!(s.bytes("log"), [1; 100]);
        s.write("log", 100, 3, 50);
        s.write("log", PAGE, 4, PAGE);
        s.written_back("log", 1, 1);
        s.committed();
        s.0.cut();
        let left = s.bytes("log");
        assert_eq!((left.len(), &left[100..150]), (2 * PAGE, [2; 50].as_slice()));
    });
}

#[test]
fn a_file_grows_within_a_block_that_was_written_back_and_never_synced() {
    on(Kind::Ext4, |mut s| {
        s.write("log", 0, 1, PAGE);
        s.0.settle();
        s.write("log", PAGE, 2, 100);
        s.written_back("log", 1, 1);
        s.write("log", PAGE + 100, 3, 100);
        s.committed();
        s.0.cut();
        let expected = [[1; PAGE].as_slice(), &[2; 100], &[0; 100]].concat();
        assert_eq!(s.bytes("log"), expected);
    });
}

#[test]
fn what_a_committed_truncation_cut_off_is_there_again_when_the_file_has_grown_over_it() {
    // ext4 writes the rest of the block before it commits the truncation.
    for (kind, rest) in [(Kind::Xfs, 1), (Kind::Ext4, 0)] {
        on(kind, |mut s| {
            s.write("index", 0, 1, 2 * PAGE);
            s.0.settle();
            page_by_page(&s.0.top());
            s.set_length("index", 10);
            s.committed();
            s.write("index", PAGE, 2, PAGE);
            s.written_back("index", 1, 1);
            s.committed();
            s.0.cut();
            let left = s.bytes("index");
            assert_eq!((left.len(), left[9], left[PAGE]), (2 * PAGE, 1, 2), "{kind:?}");
            assert!(
                left[10..PAGE].iter().all(|byte| *byte == rest),
                "{kind:?}: {}",
                left[10]
            );
        });
    }
}
