//! Each rule of the model, both ways.
#[path = "support/home.rs"]
mod support;

use disk::ledger::{Bound, Line, LostName};
use disk::model::{Limits, Model, ROOT, Writer};
use disk::{DiskError, Loss, Policy};
use nix::errno::Errno;
use std::ffi::OsStr;
use std::time::Duration;
use support::Home;

const START: Duration = Duration::from_secs(100);
const NOT_YET: Duration = Duration::from_millis(1);

struct Bench {
    home: Home,
    model: Model,
}

fn bench() -> Bench {
    with(Limits::default())
}

fn with(limits: Limits) -> Bench {
    let home = Home::new();
    let model = Model::open(home.paths(), limits).unwrap();
    Bench { home, model }
}

impl Bench {
    fn create(&mut self, name: &str) -> u64 {
        self.model
            .create(START, ROOT, OsStr::new(name), 0o644, None)
            .unwrap()
            .ino
    }

    fn write(&mut self, ino: u64, at: u64, bytes: &[u8]) {
        self.model.write(START, ino, at, bytes, Writer::Call).unwrap();
    }

    /// A file whose name and bytes are durable.
    fn durable(&mut self, name: &str, bytes: &[u8]) -> u64 {
        let ino = self.create(name);
        self.write(ino, 0, bytes);
        self.model.sync(START, ino).unwrap();
        ino
    }

    fn cut(&mut self, at: Duration) -> Loss {
        self.model.power_off(at);
        self.model.settle(7, Policy::default()).unwrap()
    }

    fn read(&mut self, file: u64) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; 100];
        let read = self.model.read(file, 0, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    fn content(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.home.paths().backing.join(name)).ok()
    }

    fn lost(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.home.paths().lost.join(path)).unwrap()
    }
}

#[test]
fn a_young_name_goes_and_an_old_one_stays() {
    let mut b = bench();
    b.create("a");
    b.cut(START + Duration::from_secs(5) - NOT_YET);
    assert_eq!(b.content("a"), None);
    b.create("a");
    b.cut(START + Duration::from_secs(5));
    assert_eq!(b.content("a"), Some(vec![]));
}

#[test]
fn young_data_go_and_old_data_stay() {
    let mut b = bench();
    let block = [1; 4096];
    let a = b.durable("a", &block);
    b.write(a, 4096, b"young");
    b.cut(START + Duration::from_secs(30) - NOT_YET);
    assert_eq!(b.content("a").unwrap(), block);
    let a = b.model.lookup(ROOT, OsStr::new("a")).unwrap().ino;
    b.write(a, 4096, b"old");
    b.cut(START + Duration::from_secs(30));
    assert_eq!(b.content("a").unwrap(), [&block[..], b"old"].concat());
}

#[test]
fn growth_within_a_block_follows_the_journal_and_leaves_zeros() {
    let mut b = bench();
    let a = b.durable("a", b"x");
    b.write(a, 1, b"young");
    b.cut(START);
    assert_eq!(b.content("a").unwrap(), b"x");
    let a = b.model.lookup(ROOT, OsStr::new("a")).unwrap().ino;
    b.write(a, 1, b"young");
    b.durable("other", b"");
    let loss = b.cut(START);
    assert_eq!(b.content("a").unwrap(), b"x\0\0\0\0\0");
    assert_eq!((loss.bytes, loss.files), (5, 1));
    assert_eq!(b.lost("7/a@1"), b"young");
    // Beyond the block nothing grows without its data.
    let a = b.model.lookup(ROOT, OsStr::new("a")).unwrap().ino;
    b.write(a, 6, &[2; 9000]);
    b.durable("third", b"");
    b.cut(START);
    assert_eq!(b.content("a").unwrap().len(), 4096);
}

#[test]
fn a_sync_keeps_its_file_and_the_names_of_others_without_their_data() {
    let mut b = bench();
    let (a, c) = (b.create("a"), b.create("c"));
    b.write(a, 0, b"synced");
    b.write(c, 0, b"not synced");
    b.model.sync(START, a).unwrap();
    let loss = b.cut(START);
    assert_eq!(b.content("a").unwrap(), b"synced");
    assert_eq!(b.content("c").unwrap(), b"");
    assert_eq!((loss.bytes, loss.files, loss.names), (10, 1, 0));
}

#[test]
fn a_sync_of_a_folder_keeps_names_and_no_data() {
    let mut b = bench();
    let a = b.create("a");
    b.write(a, 0, b"bytes");
    b.model.sync_folder(START, ROOT).unwrap();
    b.create("later");
    b.cut(START);
    assert_eq!(b.content("a").unwrap(), b"");
    assert_eq!(b.content("later"), None);
}

#[test]
fn a_synced_write_is_durable_at_once() {
    let mut b = bench();
    let a = b.create("a");
    b.model.write(START, a, 0, b"kept", Writer::SyncedCall).unwrap();
    b.model.write(START, a, 4, b"lost", Writer::Call).unwrap();
    b.cut(START);
    assert_eq!(b.content("a").unwrap(), b"kept");
}

#[test]
fn an_overwrite_goes_back_page_by_page() {
    let mut b = bench();
    let old = vec![1u8; 10_000];
    let a = b.durable("a", &old);
    b.write(a, 4090, &[2; 20]);
    b.write(a, 9_990, &[3; 20]);
    let loss = b.cut(START);
    assert_eq!(b.content("a").unwrap(), old);
    assert_eq!(loss.bytes, 40);
    assert_eq!(b.lost("7/a@4090"), [2; 20]);
    assert_eq!(b.lost("7/a@9990"), [3; 20]);
}

#[test]
fn a_truncation_is_taken_back_unless_the_journal_committed_it() {
    let mut b = bench();
    let old = vec![1u8; 10_000];
    let a = b.durable("a", &old);
    b.model.set_length(START, a, 5_000).unwrap();
    b.write(a, 5_000, &[9; 100]);
    b.cut(START);
    assert_eq!(b.content("a").unwrap(), old);
    let a = b.model.lookup(ROOT, OsStr::new("a")).unwrap().ino;
    b.model.set_length(START, a, 5_000).unwrap();
    b.write(a, 5_000, &[9; 100]);
    b.durable("other", b"");
    b.cut(START);
    // What was appended stood in a block that was there: its length is in the journal, too.
    assert_eq!(b.content("a").unwrap(), [&old[..5_000], &[0; 100]].concat());
}

/// The sync of the folder that it went to left its making to the top's; that of the folder that it came from does not.
#[test]
fn a_rename_is_safe_once_the_folder_that_it_left_was_synced_after_the_other() {
    let mut b = bench();
    let mut folder = |name: &str| {
        b.model
            .mkdir(START, ROOT, OsStr::new(name), 0o755, None)
            .unwrap()
            .ino
    };
    let (from, to) = (folder("from"), folder("to"));
    b.model.create(START, from, OsStr::new("f"), 0o644, None).unwrap();
    let (old, new) = ((from, OsStr::new("f")), (to, OsStr::new("f")));
    b.model.rename(START, old, new, false).unwrap();
    b.model.sync_folder(START, to).unwrap();
    b.model.sync_folder(START, from).unwrap();
    b.model.power_off(START);
    let strict = Policy {
        profile: disk::Profile::PosixStrict,
        ..Policy::default()
    };
    b.model.settle(7, strict).unwrap();
    assert_eq!(b.content("to/f"), Some(vec![]));
}

/// New blocks come after the names before them; those of an earlier life are none of them.
#[test]
fn new_blocks_may_stay_though_the_life_before_lost_a_name() {
    let mut b = bench();
    b.durable("a", &[1; 4096]);
    b.create("lost");
    b.cut(START);
    assert_eq!(b.content("lost"), None);
    let a = b.model.lookup(ROOT, OsStr::new("a")).unwrap().ino;
    b.write(a, 4096, &[2; 4096]);
    b.model.power_off(START);
    b.model.settle(8, disk::Remainder::Everything.into()).unwrap();
    assert_eq!(b.content("a").unwrap().len(), 8192);
}

#[test]
fn a_replacing_rename_is_taken_back_or_kept() {
    let mut b = bench();
    b.durable("a", b"old");
    let new = b.durable("new", b"new");
    let (from, to) = ((ROOT, OsStr::new("new")), (ROOT, OsStr::new("a")));
    b.model.rename(START, from, to, false).unwrap();
    let loss = b.cut(START);
    assert_eq!(
        (b.content("a").unwrap(), b.content("new").unwrap()),
        (b"old".to_vec(), b"new".to_vec())
    );
    assert_eq!(loss.names, 1);
    b.model.rename(START, from, to, false).unwrap();
    let _ = new;
    b.model.sync_folder(START, ROOT).unwrap();
    b.cut(START);
    assert_eq!(
        (b.content("a").unwrap(), b.content("new")),
        (b"new".to_vec(), None)
    );
}

#[test]
fn a_rename_that_may_not_replace_does_not() {
    let mut b = bench();
    b.durable("a", b"a");
    b.durable("b", b"b");
    let done = b
        .model
        .rename(START, (ROOT, OsStr::new("a")), (ROOT, OsStr::new("b")), true);
    assert_eq!(done, Err(Errno::EEXIST));
    b.model
        .rename(START, (ROOT, OsStr::new("a")), (ROOT, OsStr::new("c")), true)
        .unwrap();
    assert_eq!(b.content("c").unwrap(), b"a");
}

#[test]
fn an_unlink_is_taken_back_or_kept() {
    let mut b = bench();
    b.durable("a", b"marker");
    b.model.unlink(START, ROOT, OsStr::new("a")).unwrap();
    b.cut(START);
    assert_eq!(b.content("a").unwrap(), b"marker");
    b.model.unlink(START, ROOT, OsStr::new("a")).unwrap();
    b.cut(START + Duration::from_secs(5));
    assert_eq!(b.content("a"), None);
}

#[test]
fn the_bytes_of_a_file_whose_name_goes_are_saved() {
    let mut b = bench();
    let folder = b
        .model
        .mkdir(START, ROOT, OsStr::new("t-0"), 0o755, None)
        .unwrap()
        .ino;
    b.model.sync_folder(START, ROOT).unwrap();
    let log = b
        .model
        .create(START, folder, OsStr::new("0.log"), 0o644, None)
        .unwrap()
        .ino;
    b.model.set_length(START, log, 1 << 20).unwrap();
    b.write(log, 0, b"batch");
    let loss = b.cut(START);
    let Line::Cut(cut) = &b.home.ledger()[0] else {
        panic!()
    };
    assert_eq!(cut.files[0].path, "t-0/0.log");
    assert_eq!(
        (cut.files[0].had_length, cut.files[0].left_length),
        (1 << 20, None)
    );
    assert_eq!(
        cut.names,
        [LostName::Created {
            path: "t-0/0.log".into()
        }]
    );
    assert_eq!(&b.lost("7/t-0/0.log@0")[..5], b"batch");
    // Holes are no bytes to lose; the host allocates by blocks.
    assert!(loss.bytes < 1 << 20, "{}", loss.bytes);
}

#[test]
fn late_pages_of_the_cache_are_unsynced_and_all_else_is_refused() {
    let mut b = bench();
    let a = b.durable("a", &[1; 4096]);
    b.model.power_off(START);
    b.model.write(START, a, 0, &[2; 4096], Writer::PageCache).unwrap();
    let refused = [
        b.model.write(START, a, 0, b"x", Writer::Call),
        b.model.sync(START, a),
        b.model.sync_folder(START, ROOT),
        b.model.set_length(START, a, 0),
        b.model.unlink(START, ROOT, OsStr::new("a")),
    ];
    assert_eq!(refused, [Err(Errno::EIO); 5]);
    // However late: the power is off, nothing is written back by age any more.
    b.model.tick(START + Duration::from_secs(3600));
    let loss = b.model.settle(7, Policy::default()).unwrap();
    assert_eq!((loss.bytes, b.content("a").unwrap()), (4096, vec![1; 4096]));
    assert_eq!(b.lost("7/a@0"), [2; 4096]);
    let a = b.model.lookup(ROOT, OsStr::new("a")).unwrap().ino;
    b.write(a, 0, b"power is on again");
}

#[test]
fn of_a_page_of_the_cache_only_what_changes_counts() {
    let mut b = bench();
    let a = b.durable("a", &[1; 5000]);
    let mut page = vec![1; 4096];
    // All of it as it was: nothing to lose.
    b.model.write(START, a, 0, &page, Writer::PageCache).unwrap();
    assert_eq!((b.model.unsynced_bytes(), b.model.memory()), (0, 0));
    page[100..200].fill(2);
    b.model.write(START, a, 0, &page, Writer::PageCache).unwrap();
    assert_eq!(b.model.unsynced_bytes(), 100);
    // The page that an append stands in.
    let mut last = vec![1; 5000 - 4096];
    last.extend([3; 50]);
    b.model.write(START, a, 4096, &last, Writer::PageCache).unwrap();
    assert_eq!(b.model.unsynced_bytes(), 150);
    let loss = b.cut(START);
    assert_eq!((loss.bytes, b.content("a").unwrap()), (150, vec![1; 5000]));
    assert_eq!(
        (b.lost("7/a@100"), b.lost("7/a@5000")),
        (vec![2; 100], vec![3; 50])
    );
}

#[test]
fn settling_wants_the_power_off() {
    let mut b = bench();
    assert!(matches!(
        b.model.settle(1, Policy::default()),
        Err(DiskError::PowerIsOn)
    ));
}

#[test]
fn appends_that_nobody_syncs_cost_no_memory() {
    let mut b = bench();
    let a = b.create("a");
    for i in 0..1000 {
        b.write(a, i * 10_000, &[7; 10_000]);
    }
    assert!(b.model.memory() < 1000, "{}", b.model.memory());
    assert_eq!(b.model.unsynced_bytes(), 10_000_000);
}

#[test]
fn above_the_bound_of_memory_the_oldest_is_written_back() {
    let mut b = with(Limits {
        memory: 64 << 10,
        names: 100,
        ..Limits::default()
    });
    let old = b.durable("old", &[1; 40 << 10]);
    let young = b.durable("young", &[1; 40 << 10]);
    b.write(old, 0, &[2; 30 << 10]);
    assert_eq!(b.model.forced(), 0);
    b.write(young, 0, &[2; 40 << 10]);
    assert_eq!(b.model.forced(), 1);
    let Line::WrittenBack(forced) = &b.home.ledger()[0] else {
        panic!()
    };
    assert_eq!(
        (forced.why, forced.path.as_deref(), forced.amount),
        (Bound::Memory, Some("old"), 30 << 10)
    );
    b.cut(START);
    assert_eq!(b.content("old").unwrap()[0], 2);
    assert_eq!(b.content("young").unwrap(), vec![1; 40 << 10]);
}

#[test]
fn a_change_that_alone_breaks_the_bound_is_written_back_at_once() {
    let mut b = with(Limits {
        memory: 64 << 10,
        names: 100,
        ..Limits::default()
    });
    let a = b.durable("a", &[1; 200 << 10]);
    b.model.set_length(START, a, 10).unwrap();
    assert_eq!((b.model.forced(), b.model.memory()), (1, 0));
    b.cut(START);
    assert_eq!(b.content("a").unwrap(), [1; 10]);
}

#[test]
fn above_the_bound_of_names_the_older_half_is_written_back() {
    let mut b = with(Limits {
        memory: 64 << 10,
        names: 10,
        ..Limits::default()
    });
    for i in 0..11 {
        b.create(&format!("f{i}"));
    }
    assert_eq!((b.model.forced(), b.model.unsynced_names()), (1, 5));
    b.cut(START);
    assert!(b.content("f5").is_some() && b.content("f6").is_none());
}

#[test]
fn a_deleted_open_file_lives_until_it_is_closed() {
    let mut b = bench();
    let a = b.durable("a", b"bytes");
    b.model.opened(a).unwrap();
    b.model.unlink(START, ROOT, OsStr::new("a")).unwrap();
    b.model.sync_folder(START, ROOT).unwrap();
    assert_eq!(b.read(a).unwrap(), b"bytes");
    assert_eq!(b.model.attr(a).unwrap().nlink, 0);
    let trash = b.home.paths().trash;
    assert_eq!(std::fs::read_dir(&trash).unwrap().count(), 1);
    b.model.closed(a);
    assert_eq!(std::fs::read_dir(&trash).unwrap().count(), 0);
    assert_eq!(b.read(a), Err(Errno::ESTALE));
}

#[test]
fn a_file_with_a_name_the_disk_has_not_met_is_not_taken_for_gone() {
    let home = Home::new();
    let paths = home.paths();
    std::fs::create_dir_all(&paths.backing).unwrap();
    std::fs::write(paths.backing.join("a"), b"x").unwrap();
    std::fs::hard_link(paths.backing.join("a"), paths.backing.join("b")).unwrap();
    let model = Model::open(paths, Limits::default()).unwrap();
    let mut b = Bench { home, model };
    let a = b.model.lookup(ROOT, OsStr::new("a")).unwrap();
    assert_eq!(a.nlink, 2);
    b.model.unlink(START, ROOT, OsStr::new("a")).unwrap();
    b.model.sync_folder(START, ROOT).unwrap();
    b.write(a.ino, 1, b"y");
    assert_eq!(b.cut(START).bytes, 1);
    assert_eq!(b.content("b").unwrap(), b"x");
    let again = b.model.lookup(ROOT, OsStr::new("b")).unwrap();
    assert_eq!(again.nlink, 1);
}

#[test]
fn folders_removed_and_renamed_come_back_with_what_was_in_them() {
    let mut b = bench();
    let d = b
        .model
        .mkdir(START, ROOT, OsStr::new("d"), 0o750, None)
        .unwrap()
        .ino;
    let f = b
        .model
        .create(START, d, OsStr::new("f"), 0o600, None)
        .unwrap()
        .ino;
    b.write(f, 0, b"in d");
    b.model.sync(START, f).unwrap();
    b.model
        .rename(START, (ROOT, OsStr::new("d")), (ROOT, OsStr::new("e")), false)
        .unwrap();
    assert_eq!(b.read(f).unwrap(), b"in d");
    assert_eq!(b.model.rmdir(START, ROOT, OsStr::new("e")), Err(Errno::ENOTEMPTY));
    b.model.unlink(START, d, OsStr::new("f")).unwrap();
    b.model.rmdir(START, ROOT, OsStr::new("e")).unwrap();
    assert_eq!(
        b.model
            .create(START, d, OsStr::new("g"), 0o600, None)
            .unwrap_err(),
        Errno::ENOENT
    );
    let loss = b.cut(START);
    assert_eq!((b.content("d/f").unwrap(), loss.names), (b"in d".to_vec(), 3));
}

#[test]
fn names_that_are_no_names_are_refused() {
    let mut b = bench();
    for name in ["", ".", "..", "a/b"] {
        assert_eq!(b.model.lookup(ROOT, OsStr::new(name)).unwrap_err(), Errno::EINVAL);
    }
    assert_eq!(b.read(99), Err(Errno::ESTALE));
}

#[test]
fn a_truncation_that_a_write_back_overtook_takes_nothing_later() {
    // Room for one file without pre-images: a truncation, and a second file, force write-backs.
    let mut b = with(Limits {
        memory: 330,
        names: 100,
        ..Limits::default()
    });
    let a = b.durable("a", &[1; 8192]);
    b.model.set_length(START, a, 100).unwrap();
    b.write(a, 100, &[2; 8092]);
    let other = b.create("other");
    b.write(other, 0, b"forces a");
    b.write(a, 8192, b"not synced");
    b.cut(START + Duration::from_secs(5));
    assert_eq!(b.content("a").unwrap().len(), 8192);
}

#[test]
fn above_the_bound_of_removed_files_the_journal_is_committed_early() {
    let mut b = with(Limits {
        trash: 1 << 20,
        removed: 2 << 20,
        ..Limits::default()
    });
    // All within one second: by age nothing is committed yet.
    for n in 0..40 {
        let name = format!("{n}");
        b.durable(&name, &[7; 64 << 10]);
    }
    for n in 0..32 {
        b.model.unlink(START, ROOT, OsStr::new(&format!("{n}"))).unwrap();
    }
    assert_eq!((b.model.trash_bytes(), b.model.forced()), (2 << 20, 0));
    b.model.unlink(START, ROOT, OsStr::new("32")).unwrap();
    assert!(b.model.trash_bytes() <= 1 << 20 && b.model.forced() == 1);
    b.model.unlink(START, ROOT, OsStr::new("33")).unwrap();
    b.cut(START);
    assert_eq!(b.content("32"), None);
    assert!(b.content("33").is_some());
}

/// A day of appends that nobody syncs, old segments removed as it goes and no folder ever synced.
#[test]
fn a_day_of_unsynced_appends_stays_within_the_bounds() {
    let limits = Limits {
        memory: 64 << 10,
        names: 100,
        trash: 1 << 20,
        removed: 2 << 20,
    };
    let mut b = with(limits);
    let segment = |n: u32| format!("{n}.log");
    let mut highest = (0, 0);
    for n in 0..1000_u32 {
        let now = START + Duration::from_secs(u64::from(n) * 86);
        let name = segment(n);
        let attr = b.model.create(now, ROOT, OsStr::new(&name), 0o644, None).unwrap();
        for at in 0..16 {
            let bytes = [7; 4096];
            b.model
                .write(now, attr.ino, at * 4096, &bytes, Writer::Call)
                .unwrap();
        }
        b.model.forget(attr.ino, 1);
        if n >= 3 {
            b.model.unlink(now, ROOT, OsStr::new(&segment(n - 3))).unwrap();
        }
        highest.0 = highest.0.max(b.model.memory());
        highest.1 = highest.1.max(b.model.trash_bytes());
    }
    assert!(highest.0 < limits.memory, "{highest:?}");
    assert!(highest.1 <= limits.trash + (64 << 10), "{highest:?}");
    let host: u64 = std::fs::read_dir(b.home.paths().trash).unwrap().count() as u64;
    assert!(host <= limits.trash / (64 << 10) + 1, "{host}");
    assert!(
        b.home
            .ledger()
            .iter()
            .any(|line| matches!(line, Line::WrittenBack(w) if w.why == Bound::Trash))
    );
    // What was let go does not come back, however strict the profile.
    b.model.power_off(START + Duration::from_secs(86_400));
    let strict = Policy {
        profile: disk::Profile::PosixStrict,
        ..Policy::default()
    };
    b.model.settle(1, strict).unwrap();
    assert_eq!(b.content("0.log"), None);
}
