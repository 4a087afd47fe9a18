//! What a cut takes and what is told of it; and that nothing is left behind.
use crate::bench::Bench;
use disk::ledger::LostName;
use ground::real_disk::{Bounds, Kind, Options, RealCut};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;

fn both(test: fn(Kind, Bench)) {
    for kind in Kind::ALL {
        if let Some(bench) = Bench::new(kind, Options::default()) {
            test(kind, bench);
        }
    }
}

fn told(bench: &mut Bench, kind: Kind, fault: u64) -> RealCut {
    let cut = bench.cut();
    cut.save(kind, fault, &bench.folder.join("lost")).unwrap()
}

#[test]
fn what_was_synced_stays_and_the_rest_is_told_and_saved() {
    both(|kind, mut bench| {
        let top = bench.top();
        fs::create_dir(top.join("t-0")).unwrap();
        fs::write(top.join("t-0/0.log"), [1; 5000]).unwrap();
        fs::write(top.join("marker"), "clean").unwrap();
        bench.settle();
        let log = File::options().append(true).open(top.join("t-0/0.log")).unwrap();
        (&log).write_all(&[2; 3000]).unwrap();
        log.sync_all().unwrap();
        (&log).write_all(&[3; 9000]).unwrap();
        fs::remove_file(top.join("marker")).unwrap();
        fs::write(top.join("new"), "new").unwrap();
        drop(log);
        let cut = told(&mut bench, kind, 7);
        assert_eq!(
            (cut.fault, cut.disk.as_str(), cut.unseen.len()),
            (7, kind.word(), 0)
        );
        let left = fs::read(bench.top().join("t-0/0.log")).unwrap();
        assert_eq!(left[..8000], [[1; 5000].as_slice(), &[2; 3000]].concat());
        let log = cut.files.iter().find(|file| file.path == "t-0/0.log").unwrap();
        let lost = *log.ranges.last().unwrap();
        assert_eq!((log.had_length, lost), (17_000, (8000, 17_000)));
        assert_eq!(log.left_length, Some(left.len() as u64));
        let saved = |place: &str| fs::read(bench.folder.join("lost").join(place)).unwrap();
        assert_eq!(saved("7/t-0/0.log@8000"), [3; 9000]);
        // The run it stands in, for records that it cuts through.
        assert_eq!((log.mixed[0].from, log.mixed[0].to), (0, 17_000));
        assert_eq!(saved(&log.mixed[0].saved).len(), 17_000);
        assert_eq!(saved("7/new@0"), b"new");
        let names = [
            LostName::Created { path: "new".into() },
            LostName::Removed {
                path: "marker".into(),
            },
        ];
        assert_eq!(cut.names, names);
        assert_eq!(cut.bytes, 9003);
        assert_eq!(fs::read(bench.top().join("marker")).unwrap(), b"clean");
    });
}

#[test]
fn renames_and_overwrites_that_did_not_happen_are_told() {
    both(|kind, mut bench| {
        let top = bench.top();
        fs::write(top.join("file"), "old").unwrap();
        fs::write(top.join("index"), [1; 10_000]).unwrap();
        fs::create_dir(top.join("folder")).unwrap();
        fs::write(top.join("folder/in"), "x").unwrap();
        fs::write(top.join("file.tmp"), "new").unwrap();
        bench.settle();
        fs::rename(top.join("file.tmp"), top.join("file")).unwrap();
        fs::rename(top.join("folder"), top.join("moved")).unwrap();
        let index = File::options().write(true).open(top.join("index")).unwrap();
        index.write_all_at(&[2; 100], 5000).unwrap();
        drop(index);
        let cut = told(&mut bench, kind, 8);
        let renamed = |from: &str, to: &str, replaced| LostName::Renamed {
            from: from.into(),
            to: to.into(),
            replaced,
        };
        assert_eq!(
            cut.names,
            [
                renamed("file.tmp", "file", true),
                renamed("folder", "moved", false)
            ]
        );
        let index = cut.files.iter().find(|file| file.path == "index").unwrap();
        assert_eq!(index.ranges, [(5000, 5100)]);
        assert_eq!((index.had_length, index.left_length), (10_000, Some(10_000)));
        let saved = fs::read(bench.folder.join("lost/8/index@5000")).unwrap();
        assert_eq!(saved, [2; 100]);
        assert_eq!((cut.files.len(), cut.bytes), (1, 100));
    });
}

#[test]
fn a_cut_that_takes_nothing_says_so() {
    both(|kind, mut bench| {
        fs::write(bench.top().join("file"), "kept").unwrap();
        bench.settle();
        let cut = told(&mut bench, kind, 9);
        assert_eq!((cut.bytes, cut.files.len(), cut.names.len()), (0, 0, 0));
        assert_eq!(fs::read(bench.top().join("file")).unwrap(), b"kept");
    });
}

#[test]
fn what_is_past_a_bound_is_said_to_be_unseen() {
    both(|_, mut bench| {
        fs::write(bench.top().join("small"), [1; 1000]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(bench.top().join("large"), [1; 9000]).unwrap();
        let bounds = Bounds {
            bytes: 5000,
            ..Bounds::default()
        };
        bench.disk.cut(bounds).unwrap();
        let folder = bench.folder.clone();
        let kind = bench.disk.kind();
        let mut bench = bench.without_mount();
        let cut = bench
            .disk
            .settle()
            .unwrap()
            .save(kind, 1, &folder.join("lost"))
            .unwrap();
        assert_eq!(cut.unseen, ["large", "small"]);
        let large = cut.files.iter().find(|file| file.path == "large").unwrap();
        assert_eq!(large.ranges, [(4000, 9000)]);
    });
}

#[test]
fn what_cannot_be_is_refused() {
    both(|_, mut bench| {
        assert!(
            bench
                .disk
                .settle()
                .unwrap_err()
                .to_string()
                .contains("the cut comes before")
        );
        bench.disk.cut(Bounds::default()).unwrap();
        assert!(
            bench
                .disk
                .cut(Bounds::default())
                .unwrap_err()
                .to_string()
                .contains("the power is off")
        );
        assert!(
            bench
                .disk
                .mount()
                .unwrap_err()
                .to_string()
                .contains("settle comes first")
        );
        bench = bench.without_mount();
        bench.disk.settle().unwrap();
    });
}

#[test]
fn no_device_and_no_file_is_left() {
    both(|_, mut bench| {
        fs::write(bench.top().join("file"), "x").unwrap();
        bench.cut();
        let folder = bench.folder.clone();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "the image has no name");
        let ours = bench.image();
        assert!(
            backing_files().contains(&ours),
            "{ours} is not in {:?}",
            backing_files()
        );
        drop(bench);
        assert!(!backing_files().contains(&ours), "{ours} is left");
    });
}

/// What each loop device of the machine is attached to.
fn backing_files() -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    devices
        .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok())
        .collect()
}

impl Bench {
    /// The path of its image, as the kernel tells it.
    fn image(&self) -> String {
        let folder = self.folder.to_str().unwrap();
        let all = backing_files();
        let ours = all.iter().find(|file| file.starts_with(&format!("{folder}/")));
        ours.unwrap_or_else(|| panic!("none of {folder} in {all:?}"))
            .clone()
    }
}
