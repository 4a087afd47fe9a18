//! The disk as a node sees it: real mounts, real files.
mod support {
    mod home;
    pub mod mount;
    pub use home::*;
}

use disk::ledger::Line;
use disk::{DiskError, Mode, Policy};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, FallocateFlags, RenameFlags, fallocate, renameat2};
use nix::unistd::{Whence, lseek};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};
use support::mount::{Mounted, private_mounts};

fn errno<T>(r: io::Result<T>) -> Errno {
    Errno::from_raw(r.err().and_then(|e| e.raw_os_error()).unwrap_or(0))
}

fn append(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}

/// Each of them in both modes of a mount.
macro_rules! in_both_modes {
    ($($name:ident)*) => {
        mod write_through { $(#[test] fn $name() { super::$name(disk::Mode::WriteThrough) })* }
        mod write_back { $(#[test] fn $name() { super::$name(disk::Mode::WriteBack) })* }
    };
}

in_both_modes! {
    files_behave_as_files
    names_behave_as_names
    attributes_behave_as_attributes
    a_cut_takes_what_was_not_synced
    a_folders_sync_keeps_a_rename
    a_full_host_is_told_and_the_node_sees_it_too
}

fn files_behave_as_files(mode: Mode) {
    let m = Mounted::new(mode);
    m.with(|mnt| {
        let path = mnt.join("f");
        let mut f = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        assert_eq!(
            errno(OpenOptions::new().write(true).create_new(true).open(&path)),
            Errno::EEXIST
        );
        f.write_all(&[7; 3 << 20]).unwrap();
        append(&path).write_all(b"end").unwrap();
        assert_eq!(f.metadata().unwrap().len(), (3 << 20) + 3);
        f.seek(SeekFrom::End(-4)).unwrap();
        let mut tail = Vec::new();
        f.read_to_end(&mut tail).unwrap();
        assert_eq!(tail, [7, b'e', b'n', b'd']);

        f.set_len(5).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [7; 5]);
        drop(File::create(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"");

        f.write_all_at(b"x", 1 << 20).unwrap();
        assert!(f.metadata().unwrap().blocks() < 100, "sparse");
        let (data, hole) = (lseek(&f, 0, Whence::SeekData), lseek(&f, 0, Whence::SeekHole));
        match mode {
            Mode::WriteThrough => assert!(data.unwrap() > 1 << 19 && hole == Ok(0)),
            // Nobody knows the holes while the kernel keeps pages: all of it counts as data.
            Mode::WriteBack => assert_eq!((data, hole), (Ok(0), Ok((1 << 20) + 1))),
        }
        fallocate(&f, FallocateFlags::empty(), 0, 2 << 20).unwrap();
        assert_eq!(f.metadata().unwrap().len(), 2 << 20);
        fallocate(
            &f,
            FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE,
            1 << 20,
            4096,
        )
        .unwrap();
        let mut byte = [9];
        f.read_exact_at(&mut byte, 1 << 20).unwrap();
        assert_eq!(byte, [0]);
        assert_eq!(
            fallocate(&f, FallocateFlags::FALLOC_FL_COLLAPSE_RANGE, 0, 4096),
            Err(Errno::EOPNOTSUPP)
        );
    });
    assert!(m.troubles.lock().unwrap().is_empty());
    assert!(m.disk.stats().bytes_written >= 3 << 20);
}

fn names_behave_as_names(mode: Mode) {
    let m = Mounted::new(mode);
    m.with(|mnt| {
        fs::create_dir_all(mnt.join("a/b/c")).unwrap();
        fs::write(mnt.join("a/f"), b"f").unwrap();
        symlink("f", mnt.join("a/s")).unwrap();
        nix::unistd::mkfifo(&mnt.join("a/p"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut kinds: Vec<(String, bool, bool, bool)> = fs::read_dir(mnt.join("a"))
            .unwrap()
            .map(|e| {
                let e = e.unwrap();
                let t = e.file_type().unwrap();
                (
                    e.file_name().into_string().unwrap(),
                    t.is_dir(),
                    t.is_symlink(),
                    t.is_fifo(),
                )
            })
            .collect();
        kinds.sort();
        let told: Vec<_> = kinds
            .iter()
            .map(|(n, d, s, p)| (n.as_str(), *d, *s, *p))
            .collect();
        assert_eq!(
            told,
            [
                ("b", true, false, false),
                ("f", false, false, false),
                ("p", false, false, true),
                ("s", false, true, false)
            ]
        );
        assert_eq!(fs::read(mnt.join("a/s")).unwrap(), b"f");

        fs::hard_link(mnt.join("a/f"), mnt.join("a/g")).unwrap();
        assert_eq!(fs::metadata(mnt.join("a/f")).unwrap().nlink(), 2);
        fs::remove_file(mnt.join("a/f")).unwrap();
        assert_eq!(fs::metadata(mnt.join("a/g")).unwrap().nlink(), 1);

        let mut open = File::open(mnt.join("a/g")).unwrap();
        fs::rename(mnt.join("a"), mnt.join("z")).unwrap();
        fs::remove_file(mnt.join("z/g")).unwrap();
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), open.metadata().unwrap().nlink()), ("f", 0));

        assert_eq!(errno(fs::remove_dir(mnt.join("z"))), Errno::ENOTEMPTY);
        assert_eq!(errno(fs::rename(mnt.join("z"), mnt.join("z/b/z"))), Errno::EINVAL);
        fs::write(mnt.join("x"), b"x").unwrap();
        fs::write(mnt.join("y"), b"y").unwrap();
        let flagged = |flags| renameat2(AT_FDCWD, &mnt.join("x"), AT_FDCWD, &mnt.join("y"), flags);
        assert_eq!(flagged(RenameFlags::RENAME_NOREPLACE), Err(Errno::EEXIST));
        assert_eq!(flagged(RenameFlags::RENAME_EXCHANGE), Err(Errno::EINVAL));
        flagged(RenameFlags::empty()).unwrap();
        assert_eq!(fs::read(mnt.join("y")).unwrap(), b"x");

        let many = mnt.join("many");
        fs::create_dir(&many).unwrap();
        (0..2000).for_each(|i| drop(File::create(many.join(format!("file-{i}"))).unwrap()));
        assert_eq!(fs::read_dir(&many).unwrap().count(), 2000);
        fs::remove_dir_all(&many).unwrap();
    });
    assert!(m.troubles.lock().unwrap().is_empty());
}

fn attributes_behave_as_attributes(mode: Mode) {
    let m = Mounted::new(mode);
    m.with(|mnt| {
        let path = mnt.join("f");
        fs::write(&path, b"x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_millis(1_234_567_891);
        File::open(&path).unwrap().set_modified(then).unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!((meta.mode() & 0o7777, meta.uid(), meta.gid()), (0o640, 12, 34));
        assert_eq!(meta.modified().unwrap(), then);
        let made = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(mnt.join("g"))
            .unwrap();
        assert_eq!(made.metadata().unwrap().mode() & 0o7777, 0o600);
        let (here, below) = (
            nix::sys::statvfs::statvfs(mnt).unwrap(),
            nix::sys::statvfs::statvfs(&m.home.0).unwrap(),
        );
        assert_eq!(
            here.blocks() * here.fragment_size(),
            below.blocks() * below.fragment_size()
        );
    });
}

fn a_cut_takes_what_was_not_synced(mode: Mode) {
    let m = Mounted::new(mode);
    m.with(|mnt| {
        fs::write(mnt.join("marker"), b"clean").unwrap();
        let mut log = append(&mnt.join("log"));
        log.write_all(b"synced ").unwrap();
        log.sync_data().unwrap();
        log.write_all(b"not synced").unwrap();
        let dsync = OpenOptions::new()
            .custom_flags(nix::libc::O_DSYNC)
            .write(true)
            .create(true)
            .open(mnt.join("d"));
        dsync.unwrap().write_all(b"at once").unwrap();
        fs::write(mnt.join("new"), b"lost").unwrap();
        fs::remove_file(mnt.join("marker")).unwrap();
        m.disk.power_off();
        // Nobody can tell the writer that the power has gone where the kernel keeps what is written.
        let late = match mode {
            Mode::WriteThrough => Errno::EIO,
            Mode::WriteBack => Errno::from_raw(0),
        };
        assert_eq!(errno(log.write_all(b"x")), late);
        assert_eq!(errno(log.sync_all()), Errno::EIO);
        assert_eq!(errno(File::create(mnt.join("later"))), Errno::EIO);
        assert!(matches!(
            m.disk.settle(3, Policy::default()),
            Err(DiskError::StillServing)
        ));
    });
    let loss = m.disk.settle(3, Policy::default()).unwrap();
    // The name `marker` was committed by the first sync, without its bytes; its removal was not.
    let late = match mode {
        Mode::WriteThrough => 0,
        Mode::WriteBack => 1,
    };
    assert_eq!((loss.bytes, loss.files, loss.names), (10 + late + 4 + 5, 3, 2));
    assert!(matches!(&m.home.ledger()[..], [Line::Cut(cut)] if cut.fault == 3));
    m.with(|mnt| {
        let log = match mode {
            // It grew within its block: the length was committed, the bytes were not.
            Mode::WriteThrough => &b"synced \0\0\0\0\0\0\0\0\0\0"[..],
            // The kernel wrote after the cut.
            Mode::WriteBack => b"synced ",
        };
        assert_eq!(fs::read(mnt.join("log")).unwrap(), log);
        assert_eq!(fs::read(mnt.join("d")).unwrap(), b"at once");
        assert_eq!(fs::read(mnt.join("marker")).unwrap(), b"");
        assert_eq!(errno(File::open(mnt.join("new"))), Errno::ENOENT);
        append(&mnt.join("log")).write_all(b"second life").unwrap();
    });
    m.disk.power_off();
    assert!(matches!(
        m.disk.serve(File::open("/dev/null").unwrap().into()),
        Err(DiskError::PowerIsOff)
    ));
    assert_eq!(m.disk.settle(4, Policy::default()).unwrap().bytes, 11);
    let lost = match mode {
        Mode::WriteThrough => "4/log@17",
        Mode::WriteBack => "4/log@7",
    };
    assert_eq!(fs::read(m.home.paths().lost.join(lost)).unwrap(), b"second life");
}

fn a_folders_sync_keeps_a_rename(mode: Mode) {
    let m = Mounted::new(mode);
    m.with(|mnt| {
        for name in ["a", "b"] {
            let mut f = File::create(mnt.join(format!("{name}.tmp"))).unwrap();
            f.write_all(name.as_bytes()).unwrap();
            f.sync_all().unwrap();
        }
        fs::rename(mnt.join("a.tmp"), mnt.join("a")).unwrap();
        File::open(mnt).unwrap().sync_all().unwrap();
        fs::rename(mnt.join("b.tmp"), mnt.join("b")).unwrap();
        m.disk.power_off();
    });
    assert_eq!(m.disk.stats().fsyncs, 3);
    assert_eq!(m.disk.settle(1, Policy::default()).unwrap().names, 1);
    let names: Vec<String> = m.home.tree().into_keys().collect();
    assert_eq!(names, ["a", "b.tmp"]);
}

fn a_full_host_is_told_and_the_node_sees_it_too(mode: Mode) {
    // The backing folder on a small tmpfs, in a namespace around the disk's own.
    let outer = support::Home::new();
    let small = outer.0.join("small");
    fs::create_dir(&small).unwrap();
    std::thread::spawn(move || {
        private_mounts();
        let home = support::Home(small);
        let none = nix::mount::MsFlags::empty();
        nix::mount::mount(Some("small"), &home.0, Some("tmpfs"), none, Some("size=1m")).unwrap();
        let m = Mounted::on(home, mode);
        m.with(|mnt| {
            let mut f = File::create(mnt.join("f")).unwrap();
            let wrote = f.write_all(&vec![1; 2 << 20]);
            let said = match mode {
                Mode::WriteThrough => wrote,
                Mode::WriteBack => wrote.and_then(|()| f.sync_all()),
            };
            assert_eq!(errno(said), Errno::ENOSPC);
        });
        let troubles = m.troubles.lock().unwrap();
        assert!(troubles[0].why.contains("ENOSPC"), "{troubles:?}");
    })
    .join()
    .unwrap();
}

/// Figures, not a check: `cargo test -p disk --test fuse -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn measure() {
    for mode in Mode::ALL {
        let m = Mounted::new(*mode);
        let (through, bare) = (m.with(figures), figures(&m.home.0));
        for ((what, us), (_, bare)) in through.iter().zip(&bare) {
            let mode = mode.word();
            println!("{mode}, {what}: {us:.1} us through the disk, {bare:.1} us on the host");
        }
    }
}

fn figures(folder: &Path) -> Vec<(&'static str, f64)> {
    const N: u32 = 5000;
    let time = |what, mut act: Box<dyn FnMut(u32)>| {
        let start = std::time::Instant::now();
        (0..N).for_each(&mut act);
        (what, start.elapsed().as_secs_f64() * 1e6 / f64::from(N))
    };
    let mut log = append(&folder.join("log"));
    let mut again = log.try_clone().unwrap();
    let synced = log.try_clone().unwrap();
    let over = File::create(folder.join("over")).unwrap();
    over.write_all_at(&[1; 1 << 20], 0).unwrap();
    let f = folder.to_path_buf();
    vec![
        time(
            "append of 1 KiB",
            Box::new(move |_| log.write_all(&[7; 1024]).unwrap()),
        ),
        time(
            "append of 16 KiB",
            Box::new(move |_| again.write_all(&[7; 16 << 10]).unwrap()),
        ),
        time("append of 1 KiB and fdatasync", {
            let mut log = synced.try_clone().unwrap();
            Box::new(move |_| {
                log.write_all(&[7; 1024]).unwrap();
                log.sync_data().unwrap();
            })
        }),
        time("overwrite of 4 KiB, synced each 100th", {
            Box::new(move |i| {
                over.write_all_at(&[7; 4096], u64::from(i % 256) * 4096).unwrap();
                if i % 100 == 0 {
                    over.sync_data().unwrap();
                }
            })
        }),
        time("create, rename and remove", {
            Box::new(move |_| {
                drop(File::create(f.join("t")).unwrap());
                fs::rename(f.join("t"), f.join("u")).unwrap();
                fs::remove_file(f.join("u")).unwrap();
            })
        }),
    ]
}
