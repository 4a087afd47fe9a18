//! Faults of a disk, on real mounts: each put in and seen to take, healed and seen to be gone.
mod support {
    mod home;
    pub mod mount;
    pub use home::*;
}

use disk::{
    CallKind, Crash, DiskEffect, DiskError, DiskRule, DiskSwap, Errors, Mode, Policy, Remainder, Spread,
    Stripe,
};
use nix::errno::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use support::mount::Mounted;

const MS: u64 = 1_000_000;
const LONG: Duration = Duration::from_secs(5);

fn errno<T>(r: io::Result<T>) -> Errno {
    Errno::from_raw(r.err().and_then(|e| e.raw_os_error()).unwrap_or(0))
}

fn rule(effect: DiskEffect, calls: &[CallKind]) -> DiskRule {
    DiskRule {
        calls: calls.to_vec(),
        ..DiskRule::of(effect)
    }
}

fn create(path: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap()
}

/// Writes it, with data and name synced.
fn synced(path: &Path, bytes: &[u8]) -> File {
    let file = create(path);
    file.write_all_at(bytes, 0).unwrap();
    file.sync_all().unwrap();
    File::open(path.parent().unwrap()).unwrap().sync_all().unwrap();
    file
}

fn calm(m: &Mounted) {
    let troubles = m.troubles.lock().unwrap();
    assert!(
        troubles.is_empty(),
        "what was asked for is no trouble: {troubles:?}"
    );
}

#[test]
fn writes_to_one_folder_fail_so_often_as_asked() {
    let m = Mounted::new(Mode::WriteThrough);
    m.with(|mnt| {
        for folder in ["a", "b"] {
            fs::create_dir(mnt.join(folder)).unwrap();
        }
        let (a, b) = (create(&mnt.join("a/log")), create(&mnt.join("b/log")));
        let fails = DiskRule {
            path: "a".into(),
            skip: 1,
            times: Some(2),
            ..rule(DiskEffect::Fail(Errors::Io), &[CallKind::Write, CallKind::Sync])
        };
        m.disk.set_rule(1, fails).unwrap();
        a.write_all_at(b"passes", 0).unwrap();
        assert_eq!(errno(a.write_all_at(b"fails", 6)), Errno::EIO);
        b.write_all_at(b"other", 0).unwrap();
        b.sync_all().unwrap();
        assert_eq!(errno(a.sync_all()), Errno::EIO);
        a.write_all_at(b" again", 6).unwrap();
        assert_eq!(fs::read(mnt.join("a/log")).unwrap(), b"passes again");
        let counts = m.disk.rule_counts(1).unwrap();
        assert_eq!((counts.met, counts.struck), (4, 2));
        m.disk.clear_rule(1).unwrap();
        assert!(m.disk.rule_counts(1).is_none());

        m.disk
            .set_rule(2, rule(DiskEffect::Fail(Errors::Io), &[CallKind::Write]))
            .unwrap();
        assert_eq!(errno(b.write_all_at(b"x", 0)), Errno::EIO);
        m.disk.clear_rule(2).unwrap();
        b.write_all_at(b"x", 0).unwrap();
    });
    calm(&m);
}

#[test]
fn a_fault_of_single_writes_is_refused_where_the_kernel_keeps_them() {
    let fails = DiskEffect::Fail(Errors::Io);
    let of_writes = rule(fails, &[CallKind::Write]);
    assert_eq!(of_writes.needs(), Some(Mode::WriteThrough));
    let m = Mounted::new(Mode::WriteBack);
    let why = m.disk.set_rule(1, of_writes).unwrap_err().to_string();
    assert!(why.contains("write-through"), "{why}");
    // Of all calls it is felt at the sync.
    m.disk.set_rule(2, rule(fails, &[CallKind::Sync])).unwrap();
    m.with(|mnt| {
        let mut f = create(&mnt.join("f"));
        f.write_all(b"x").unwrap();
        assert_eq!(errno(f.sync_all()), Errno::EIO);
        m.disk.clear_rule(2).unwrap();
        f.sync_all().unwrap();
    });
}

#[test]
fn reads_fail_though_the_page_cache_had_it_all() {
    let m = Mounted::new(Mode::WriteThrough);
    m.with(|mnt| {
        let file = synced(&mnt.join("f"), &[7; 10_000]);
        let mut bytes = [0; 100];
        file.read_exact_at(&mut bytes, 5000).unwrap();
        m.disk
            .set_rule(1, rule(DiskEffect::Fail(Errors::Io), &[CallKind::Read]))
            .unwrap();
        assert_eq!(errno(file.read_exact_at(&mut bytes, 5000)), Errno::EIO);
        m.disk.clear_rule(1).unwrap();
        file.read_exact_at(&mut bytes, 5000).unwrap();
        assert_eq!(bytes, [7; 100]);
    });
    calm(&m);
}

#[test]
fn a_sync_fails_once_and_the_pages_are_gone_though_the_next_succeeds() {
    for mode in Mode::ALL {
        let m = Mounted::new(*mode);
        let all = |page: u8, tail: &[u8]| [vec![page; 4096], tail.to_vec()].concat();
        m.with(|mnt| {
            let file = synced(&mnt.join("f"), &all(1, b"old"));
            let other = synced(&mnt.join("other"), b"old");
            let once = DiskRule {
                times: Some(1),
                path: "f".into(),
                ..DiskRule::of(DiskEffect::LosePages)
            };
            m.disk.set_rule(1, once).unwrap();
            file.write_all_at(&[2; 4096], 0).unwrap();
            file.write_all_at(b"new and longer", 4096).unwrap();
            other.write_all_at(b"new", 0).unwrap();
            assert_eq!(errno(file.sync_all()), Errno::EIO);
            file.sync_all().unwrap();
            other.sync_all().unwrap();
            assert_eq!(
                fs::read(mnt.join("f")).unwrap(),
                all(2, b"new and longer"),
                "the cache has it"
            );
            let counts = m.disk.rule_counts(1).unwrap();
            assert_eq!((counts.met, counts.struck, counts.bytes), (2, 1, 4096 + 14));
            m.disk.clear_rule(1).unwrap();
            // Written again, the first page is saved, whole.
            file.write_all_at(b"again", 100).unwrap();
            file.sync_all().unwrap();
            m.disk.power_off();
        });
        let loss = m.disk.settle(9, Remainder::Everything.into()).unwrap();
        let mut expected = all(2, b"old");
        expected[100..105].copy_from_slice(b"again");
        let backing = m.home.paths().backing;
        assert_eq!(fs::read(backing.join("f")).unwrap(), expected);
        assert_eq!(fs::read(backing.join("other")).unwrap(), b"new");
        assert_eq!((loss.bytes, loss.files), (14, 1), "{}", loss.line);
        calm(&m);
    }
}

#[test]
fn what_is_written_again_and_not_synced_goes_back_to_what_was_before_the_failure() {
    for mode in Mode::ALL {
        let m = Mounted::new(*mode);
        m.with(|mnt| {
            let file = synced(&mnt.join("f"), &[1; 6000]);
            m.disk.set_rule(1, DiskRule::of(DiskEffect::LosePages)).unwrap();
            file.write_all_at(&[2; 6000], 0).unwrap();
            assert_eq!(errno(file.sync_all()), Errno::EIO);
            m.disk.clear_rule(1).unwrap();
            file.sync_all().unwrap();
            file.write_all_at(b"late", 10).unwrap();
            m.disk.power_off();
        });
        m.disk.settle(9, Policy::default()).unwrap();
        assert_eq!(fs::read(m.home.paths().backing.join("f")).unwrap(), [1; 6000]);
    }
}

#[test]
fn syncs_lie_until_they_are_healed() {
    for healed in [false, true] {
        let m = Mounted::new(Mode::WriteThrough);
        m.with(|mnt| {
            let file = synced(&mnt.join("f"), b"old");
            m.disk
                .set_rule(1, DiskRule::of(DiskEffect::LieAboutSyncs))
                .unwrap();
            file.write_all_at(b"new", 0).unwrap();
            file.sync_all().unwrap();
            let mut options = OpenOptions::new();
            let dsync = options.write(true).create(true).custom_flags(nix::libc::O_DSYNC);
            dsync
                .open(mnt.join("dsync"))
                .unwrap()
                .write_all_at(b"x", 0)
                .unwrap();
            File::open(mnt).unwrap().sync_all().unwrap();
            // The kernel follows an O_DSYNC write with a sync.
            assert_eq!(m.disk.rule_counts(1).unwrap().struck, 4);
            m.disk.clear_rule(1).unwrap();
            if healed {
                file.sync_all().unwrap();
            }
            m.disk.power_off();
        });
        m.disk.settle(9, Policy::default()).unwrap();
        let backing = m.home.paths().backing;
        let expected: &[u8] = if healed { b"new" } else { b"old" };
        assert_eq!(fs::read(backing.join("f")).unwrap(), expected);
        let dsync = fs::read(backing.join("dsync")).ok();
        assert_eq!(
            dsync.as_deref(),
            healed.then_some(&b""[..]),
            "a name goes with any sync"
        );
    }
}

#[test]
fn a_full_disk_reads_and_writes_over_and_removals_make_room() {
    let m = Mounted::new(Mode::WriteThrough);
    m.with(|mnt| {
        synced(&mnt.join("big"), &[1; 5000]);
        let file = create(&mnt.join("f"));
        m.disk
            .set_rule(1, DiskRule::of(DiskEffect::Full { room_bytes: 1000 }))
            .unwrap();
        file.write_all_at(&[2; 900], 0).unwrap();
        assert_eq!(errno(file.write_all_at(&[2; 200], 900)), Errno::ENOSPC);
        file.write_all_at(&[3; 900], 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(fs::read(mnt.join("big")).unwrap(), [1; 5000]);
        assert!(create(&mnt.join("empty")).metadata().unwrap().len() == 0);
        let free = nix::sys::statvfs::statvfs(mnt).unwrap();
        assert_eq!(free.blocks_available(), 0);
        fs::remove_file(mnt.join("big")).unwrap();
        file.write_all_at(&[2; 200], 900).unwrap();
        file.set_len(100).unwrap();
        let counts = m.disk.rule_counts(1).unwrap();
        assert_eq!(
            (counts.struck, counts.room_bytes),
            (1, 1000 - 900 + 5000 - 200 + 1000)
        );
        fs::rename(mnt.join("f"), mnt.join("empty")).unwrap();
        m.disk.clear_rule(1).unwrap();
        create(&mnt.join("empty")).write_all_at(&[2; 200_000], 0).unwrap();
        assert!(nix::sys::statvfs::statvfs(mnt).unwrap().blocks_available() > 0);
    });
    calm(&m);
}

#[test]
fn slow_calls_wait_as_asked_and_others_do_not() {
    let m = Mounted::new(Mode::WriteThrough);
    m.with(|mnt| {
        let file = create(&mnt.join("slow"));
        create(&mnt.join("fast")).write_all_at(&[1; 100], 0).unwrap();
        let slow = DiskRule {
            path: "slow".into(),
            ..rule(
                DiskEffect::Slow(Spread::Fixed { ns: 30 * MS }),
                &[CallKind::Write, CallKind::Sync],
            )
        };
        m.disk.set_rule(1, slow).unwrap();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|n| {
                    let path = mnt.join("slow");
                    scope.spawn(move || {
                        let began = Instant::now();
                        create(&path).write_all_at(&[n; 10], u64::from(n) * 4096).unwrap();
                        began.elapsed()
                    })
                })
                .collect();
            let began = Instant::now();
            let mut most = Duration::ZERO;
            while began.elapsed() < Duration::from_millis(20) {
                let one = Instant::now();
                create(&mnt.join("fast")).write_all_at(&[2; 100], 0).unwrap();
                most = most.max(one.elapsed());
            }
            assert!(most < Duration::from_millis(15), "{most:?}");
            for writer in writers {
                let took = writer.join().unwrap();
                assert!(took >= Duration::from_millis(30), "{took:?}");
            }
        });
        let counts = m.disk.rule_counts(1).unwrap();
        assert_eq!((counts.struck, counts.answered, counts.waiting), (4, 4, 0));
        let mean = counts.waited_ns as f64 / counts.answered as f64 / MS as f64;
        assert!((30.0..40.0).contains(&mean), "{mean}");
        // Healing lets go who waits.
        let minute = rule(
            DiskEffect::Slow(Spread::Fixed { ns: 60_000 * MS }),
            &[CallKind::Sync],
        );
        m.disk.set_rule(1, minute).unwrap();
        std::thread::scope(|scope| {
            let sync = scope.spawn(|| file.sync_all());
            await_waiting(&m, 1);
            m.disk.clear_rule(1).unwrap();
            sync.join().unwrap().unwrap();
        });
        let began = Instant::now();
        file.sync_all().unwrap();
        assert!(began.elapsed() < Duration::from_millis(20));
    });
    calm(&m);
}

fn await_waiting(m: &Mounted, fault: u64) {
    let began = Instant::now();
    while m.disk.rule_counts(fault).unwrap().waiting == 0 {
        assert!(began.elapsed() < LONG, "nobody waits");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn syncs_are_struck_where_the_kernel_keeps_what_is_written() {
    let m = Mounted::new(Mode::WriteBack);
    m.with(|mnt| {
        let file = synced(&mnt.join("f"), b"old");
        m.disk
            .set_rule(1, rule(DiskEffect::Fail(Errors::Io), &[CallKind::Sync]))
            .unwrap();
        file.write_all_at(b"new", 0).unwrap();
        assert_eq!(errno(file.sync_all()), Errno::EIO);
        m.disk.clear_rule(1).unwrap();
        file.sync_all().unwrap();
        let slow = DiskEffect::Slow(Spread::Fixed { ns: 20 * MS });
        m.disk.set_rule(3, rule(slow, &[CallKind::Sync])).unwrap();
        let began = Instant::now();
        file.sync_all().unwrap();
        assert!(began.elapsed() >= Duration::from_millis(20));
        m.disk.clear_rule(3).unwrap();
    });
    calm(&m);
}

#[test]
fn what_hangs_in_the_page_cache_is_taken_in_as_unsynced_by_a_cut() {
    let m = Mounted::new(Mode::WriteBack);
    m.with(|mnt| {
        let file = synced(&mnt.join("f"), b"old");
        m.disk.set_rule(1, DiskRule::of(DiskEffect::Hang)).unwrap();
        std::thread::scope(|scope| {
            let file = &file;
            let sync = scope.spawn(move || {
                file.write_all_at(b"new", 0).unwrap();
                file.sync_all()
            });
            await_waiting(&m, 1);
            m.disk.power_off();
            assert_eq!(errno(sync.join().unwrap()), Errno::EIO);
        });
    });
    let loss = m.disk.settle(9, Policy::default()).unwrap();
    assert_eq!(loss.bytes, 3, "{}", loss.line);
    assert_eq!(fs::read(m.home.paths().backing.join("f")).unwrap(), b"old");
    calm(&m);
}

#[test]
fn what_hangs_goes_on_when_it_is_healed_and_is_answered_by_a_cut() {
    let m = Mounted::new(Mode::WriteThrough);
    m.with(|mnt| {
        let file = synced(&mnt.join("f"), b"old");
        for cut in [false, true] {
            m.disk.set_rule(1, DiskRule::of(DiskEffect::Hang)).unwrap();
            std::thread::scope(|scope| {
                let (path, file) = (mnt.join("f"), &file);
                let calls = [
                    scope.spawn(move || file.write_all_at(b"new", 0)),
                    scope.spawn(move || file.sync_all()),
                    scope.spawn(move || fs::rename(&path, path.with_extension(if cut { "2" } else { "1" }))),
                ];
                await_waiting(&m, 1);
                std::thread::sleep(Duration::from_millis(20));
                assert!(calls.iter().all(|call| !call.is_finished()));
                let began = Instant::now();
                if cut {
                    m.disk.power_off();
                } else {
                    m.disk.clear_rule(1).unwrap();
                    assert!(m.disk.rule_counts(1).is_none());
                }
                for call in calls {
                    let done = call.join().unwrap();
                    assert_eq!(done.is_err(), cut, "{done:?}");
                }
                assert!(began.elapsed() < Duration::from_secs(1));
            });
            if !cut {
                fs::rename(mnt.join("f.1"), mnt.join("f")).unwrap();
            }
        }
    });
    m.disk.settle(9, Policy::default()).unwrap();
    // The rule outlives the cut.
    assert!(m.disk.rule_counts(1).is_some());
    m.disk.clear_rule(1).unwrap();
    calm(&m);
}

#[test]
fn the_power_goes_before_or_after_the_very_call() {
    for (after, left) in [(false, "old"), (true, "3")] {
        let m = Mounted::new(Mode::WriteThrough);
        let (said, heard) = channel();
        let heard = Mutex::new(heard);
        m.disk.on_crash(move |crashed| said.send(crashed).unwrap());
        m.with(|mnt| {
            let file = synced(&mnt.join("f"), b"old");
            let how = Crash::Power(Policy::default());
            let rule = DiskRule {
                skip: 1,
                ..rule(DiskEffect::Crash { after, how }, &[CallKind::Sync])
            };
            m.disk.set_rule(5, rule).unwrap();
            file.set_len(1).unwrap();
            file.write_all_at(b"2", 0).unwrap();
            create(&mnt.join("other")).sync_all().unwrap();
            assert!(heard.lock().unwrap().try_recv().is_err(), "one passes");
            std::thread::scope(|scope| {
                let crash = scope.spawn(|| {
                    file.write_all_at(b"3", 0).unwrap();
                    // Whoever is answered has seen it done.
                    let synced = file.sync_all();
                    (synced, file.write_all_at(b"4", 0))
                });
                let crashed = heard.lock().unwrap().recv_timeout(LONG).unwrap();
                assert_eq!(
                    (crashed.fault, crashed.call, crashed.path.as_str()),
                    (5, CallKind::Sync, "f")
                );
                std::thread::sleep(Duration::from_millis(20));
                assert!(m.disk.is_off() && !crash.is_finished(), "all stands still");
                m.disk.power_off();
                let (synced, next) = crash.join().unwrap();
                assert_eq!((synced.is_ok(), errno(next)), (after, Errno::EIO));
            });
            let counts = m.disk.rule_counts(5).unwrap();
            assert!(counts.crashed_at_ns.is_some() && counts.struck == 1);
        });
        m.disk.settle(5, Policy::default()).unwrap();
        let is = fs::read_to_string(m.home.paths().backing.join("f")).unwrap();
        assert_eq!(is.len(), if after { 1 } else { is.len() });
        if after {
            assert_eq!(is, left);
        } else {
            // The sync of the other file committed the length, and the byte was not synced.
            assert_eq!(is, "o");
        }
        calm(&m);
    }
}

fn flips(share_ppm: u32, index: u32, of: u32) -> DiskRule {
    DiskRule {
        path: "logs/*.log".into(),
        ..DiskRule::of(DiskEffect::Flip {
            chunk_bytes: 512,
            share_ppm,
            bits: 1,
            stripe: Stripe { index, of },
        })
    }
}

/// Offsets of bytes that are not as they were.
fn differing(path: &Path, was: &[u8]) -> Vec<usize> {
    let is = fs::read(path).unwrap();
    assert_eq!(is.len(), was.len());
    (0..is.len()).filter(|at| is[*at] != was[*at]).collect()
}

#[test]
fn bits_flip_on_disjoint_stripes_are_seen_by_readers_and_come_back() {
    for mode in Mode::ALL {
        let m = Mounted::new(*mode);
        let was: Vec<u8> = (0..20_000u32).map(|n| (n % 251) as u8).collect();
        m.with(|mnt| {
            fs::create_dir(mnt.join("logs")).unwrap();
            let path = mnt.join("logs/0.log");
            // Not synced: it is written back first.
            let file = create(&path);
            file.write_all_at(&was, 0).unwrap();
            fs::write(mnt.join("logs/other"), &was).unwrap();
            assert!(differing(&path, &was).is_empty(), "and it is in the page cache");
            let mut struck = Vec::new();
            for index in 0..2 {
                m.disk
                    .set_rule(u64::from(index), flips(1_000_000, index, 2))
                    .unwrap();
                let new: Vec<usize> = differing(&path, &was);
                let counts = m.disk.rule_counts(u64::from(index)).unwrap();
                assert_eq!((counts.struck, counts.bytes, counts.files), (20, 20, 1));
                assert_eq!(new.len(), 20);
                assert!(new.iter().all(|at| at / 512 % 2 == index as usize), "{new:?}");
                struck.extend(new);
                let mended = m.disk.clear_rule(u64::from(index)).unwrap();
                assert_eq!((mended.bytes, mended.let_be), (20, 0));
                assert!(differing(&path, &was).is_empty());
            }
            assert!(differing(&mnt.join("logs/other"), &was).is_empty());

            // What is written over stays the writer's, and a renamed file is found.
            m.disk.set_rule(7, flips(1_000_000, 0, 1)).unwrap();
            file.write_all_at(&vec![9; 10_000], 0).unwrap();
            // The kernel may keep it until then.
            file.sync_all().unwrap();
            fs::rename(&path, mnt.join("moved")).unwrap();
            let mended = m.disk.clear_rule(7).unwrap();
            assert_eq!((mended.bytes, mended.let_be), (20, 20));
            let now = [vec![9; 10_000], was[10_000..].to_vec()].concat();
            assert!(differing(&mnt.join("moved"), &now).is_empty());
            fs::rename(mnt.join("moved"), &path).unwrap();
        });
        calm(&m);
    }
}

#[test]
fn damage_outlives_a_cut_and_what_was_written_over_and_lost_is_mended_too() {
    for mode in Mode::ALL {
        let m = Mounted::new(*mode);
        let was = vec![5; 4096];
        m.with(|mnt| {
            fs::create_dir(mnt.join("logs")).unwrap();
            let file = synced(&mnt.join("logs/0.log"), &was);
            File::open(mnt.join("logs")).unwrap().sync_all().unwrap();
            File::open(mnt).unwrap().sync_all().unwrap();
            m.disk.set_rule(1, flips(1_000_000, 0, 1)).unwrap();
            file.write_all_at(&[6; 4096], 0).unwrap();
            m.disk.power_off();
        });
        m.disk.settle(2, Policy::default()).unwrap();
        let path = m.home.paths().backing.join("logs/0.log");
        assert_eq!(differing(&path, &was).len(), 8);
        assert_eq!(m.disk.clear_rule(1).unwrap().bytes, 8);
        assert!(differing(&path, &was).is_empty());
    }
}

#[test]
fn ends_are_cut_off_and_come_back_unless_they_were_grown_over() {
    let m = Mounted::new(Mode::WriteThrough);
    let cut = |files| DiskRule {
        path: "*.log".into(),
        ..DiskRule::of(DiskEffect::CutOff {
            bytes: 64,
            files,
            stripe: Stripe::ALL,
        })
    };
    m.with(|mnt| {
        for name in ["a.log", "b.log", "c.txt"] {
            synced(&mnt.join(name), &[1; 100]);
        }
        let lengths = || ["a.log", "b.log", "c.txt"].map(|name| fs::read(mnt.join(name)).unwrap().len());
        m.disk.set_rule(1, cut(1)).unwrap();
        let mut cut_now = lengths();
        cut_now.sort_unstable();
        assert_eq!(cut_now, [36, 100, 100]);
        assert_eq!(m.disk.clear_rule(1).unwrap().bytes, 64);
        assert_eq!(lengths(), [100; 3]);

        m.disk.set_rule(1, cut(5)).unwrap();
        assert_eq!(lengths(), [36, 36, 100]);
        create(&mnt.join("a.log")).write_all_at(b"grown", 36).unwrap();
        let mended = m.disk.clear_rule(1).unwrap();
        assert_eq!((mended.bytes, mended.let_be), (64, 64));
        assert_eq!(lengths(), [41, 100, 100]);
    });
    calm(&m);
}

#[test]
fn a_disk_is_replaced_rolled_back_and_put_back() {
    let m = Mounted::new(Mode::WriteThrough);
    let seen = |at: &Path| {
        let mut names: Vec<String> = fs::read_dir(at)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    m.with(|mnt| {
        fs::create_dir(mnt.join("d")).unwrap();
        synced(&mnt.join("d/first"), b"1");
        let image = m.disk.swap(1, DiskSwap::TakeImage).unwrap();
        assert_eq!((image.files, image.bytes), (1, 1));
        synced(&mnt.join("d/second"), b"22");
        let refused = m.disk.swap(1, DiskSwap::ToImage);
        assert!(matches!(refused, Err(DiskError::StillServing)));
    });
    m.disk.swap(1, DiskSwap::ToImage).unwrap();
    m.with(|mnt| assert_eq!(seen(&mnt.join("d")), ["first"]));
    m.disk.swap(1, DiskSwap::Back).unwrap();
    m.with(|mnt| assert_eq!(seen(&mnt.join("d")), ["first", "second"]));

    assert_eq!(m.disk.swap(2, DiskSwap::ToEmpty).unwrap().files, 0);
    m.with(|mnt| {
        assert!(seen(mnt).is_empty());
        synced(&mnt.join("new"), b"n");
    });
    assert!(m.home.paths().images.join("2/old/d/first").exists());
    m.disk.swap(2, DiskSwap::Forget).unwrap();
    assert!(!m.home.paths().images.join("2").exists());
    m.with(|mnt| assert_eq!(seen(mnt), ["new"]));
    m.disk.swap(3, DiskSwap::Forget).unwrap();
}
