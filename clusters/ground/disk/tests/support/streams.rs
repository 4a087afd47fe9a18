//! Random operations on a disk, cut at random points: each remainder is looked up in what is literally legal, and the
//! ledger of each cut is held against what was there before and after.
use super::legal::{Id, Past, Slot, TOP, Tree};
use super::{Home, Random};
use disk::ledger::{Cut, Line};
use disk::model::{Limits, Model, ROOT, Writer};
use disk::{Policy, Profile, Remainder};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// Changes of names of one life, where every part of them is tried.
const STRICT_NAMES: usize = 9;

/// What streams came to, so that a test can say that they met what they should.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Met {
    pub cuts: u64,
    /// Bytes were lost, and others kept.
    pub both: u64,
    pub lost_bytes: u64,
    pub kept_bytes: u64,
    pub lost_names: u64,
    pub kept_names: u64,
    /// Nothing at all was lost, though something was not synced.
    pub all_kept: u64,
    /// The remainder is legal for posix-strict and not for ext4.
    pub strict_only: u64,
    pub torn_runs: u64,
}

impl Met {
    pub fn add(&mut self, other: Met) {
        self.cuts += other.cuts;
        self.both += other.both;
        self.lost_bytes += other.lost_bytes;
        self.kept_bytes += other.kept_bytes;
        self.lost_names += other.lost_names;
        self.kept_names += other.kept_names;
        self.all_kept += other.all_kept;
        self.strict_only += other.strict_only;
        self.torn_runs += other.torn_runs;
    }
}

struct Stream {
    home: Home,
    model: Model,
    past: Past,
    random: Random,
    now: Duration,
    sixes: u32,
    profile: Profile,
    log: Vec<String>,
}

/// One stream: some lives of one disk, each ended by a cut. Panics where anything is not legal.
pub fn stream(seed: u64, profile: Profile, remainder: Option<Remainder>) -> Met {
    let home = Home::in_memory();
    let model = Model::open(home.paths(), Limits::default()).unwrap();
    let past = Past::of(&home.paths().backing);
    let mut stream = Stream {
        home,
        model,
        past,
        random: Random(seed),
        now: Duration::from_secs(1000),
        sixes: 0,
        profile,
        log: vec![],
    };
    let mut met = Met::default();
    for life in 0..3 {
        for _ in 0..5 + stream.random.below(25) {
            stream.step();
        }
        let drawn = Remainder::ALL[stream.random.below(Remainder::ALL.len() as u64) as usize];
        let policy = Policy {
            remainder: remainder.unwrap_or(drawn),
            profile,
            seed: stream.random.below(u64::MAX),
        };
        met.add(stream.cut(seed, life, policy));
    }
    met
}

impl Stream {
    fn step(&mut self) {
        self.now += Duration::from_millis(1);
        match self.random.below(100) {
            0..=34 => self.write(),
            35..=42 => self.set_length(),
            43..=57 => self.make(),
            58..=64 => self.remove(),
            65..=72 => self.rename(),
            73..=76 => self.link(),
            77..=84 => self.sync(),
            85..=92 => self.sync_folder(),
            93..=96 => self.wait(),
            _ => self.append_in_bits(),
        }
    }

    /// The model's number of a path, and of a folder by the reference's number.
    fn ino(&mut self, path: &str) -> u64 {
        path.split('/').filter(|p| !p.is_empty()).fold(ROOT, |at, name| {
            self.model.lookup(at, OsStr::new(name)).unwrap().ino
        })
    }

    fn folder_ino(&mut self, folder: Id) -> u64 {
        let paths = self.past.paths();
        let path = paths.iter().find(|(_, id)| **id == folder);
        let path = path.map_or_else(String::new, |(path, _)| path.clone());
        self.ino(&path)
    }

    fn any_folder(&mut self) -> Id {
        let mut all = vec![TOP];
        let deep = |path: &str| path.matches('/').count() >= 2;
        let past = &self.past;
        let paths = past.paths().into_iter();
        all.extend(
            paths
                .filter(|(p, id)| past.is_folder(*id) && !deep(p))
                .map(|(_, id)| id),
        );
        all[self.random.below(all.len() as u64) as usize]
    }

    fn any_slot(&mut self) -> Slot {
        let kind = ["f", "f", "f", "d"][self.random.below(4) as usize];
        let name = format!("{kind}{}", self.random.below(3));
        (self.any_folder(), name)
    }

    fn any_there(&mut self) -> Option<Slot> {
        let all: Vec<Slot> = self.past.now.keys().cloned().collect();
        let n = self.random.below(all.len() as u64 + u64::from(all.is_empty()));
        all.get(n as usize).cloned()
    }

    fn any_file(&mut self) -> Option<(u64, Id)> {
        let paths: Vec<(String, Id)> = self.past.paths().into_iter().collect();
        let files: Vec<_> = paths.iter().filter(|(_, id)| !self.past.is_folder(*id)).collect();
        if files.is_empty() {
            return None;
        }
        let (path, id) = files[self.random.below(files.len() as u64) as usize];
        Some((self.ino(path), *id))
    }

    fn may_change_names(&self) -> bool {
        self.profile == Profile::Ext4 || self.past.names() < STRICT_NAMES
    }

    fn put(&mut self, (ino, id): (u64, Id), at: usize, length: usize, writer: Writer) {
        let fill = 1 + self.random.below(254) as u8;
        let bytes: Vec<u8> = (0..length).map(|i| fill.wrapping_add((i / 7) as u8)).collect();
        self.log.push(format!("{id}: {length} bytes at {at}, {writer:?}"));
        self.model
            .write(self.now, ino, at as u64, &bytes, writer)
            .unwrap();
        self.past.write(self.now, id, at, &bytes);
        if writer == Writer::SyncedCall {
            self.past.sync(id);
        }
    }

    fn write(&mut self) {
        let Some(file) = self.any_file() else {
            return self.make();
        };
        let length = self.past.content(file.1).len();
        let at = match self.random.below(3) {
            0 => self.random.below(14_000) as usize,
            _ => length,
        };
        let size = match self.random.below(3) {
            0 => 1 + self.random.below(300) as usize,
            _ => 1 + self.random.below(9_000) as usize,
        };
        let writer = match self.random.below(12) {
            0 => Writer::SyncedCall,
            _ => Writer::Call,
        };
        self.put(file, at, size, writer);
    }

    fn append_in_bits(&mut self) {
        let Some(file) = self.any_file() else { return };
        for _ in 0..6 {
            let at = self.past.content(file.1).len();
            let size = 1 + self.random.below(700) as usize;
            self.put(file, at, size, Writer::Call);
        }
    }

    fn set_length(&mut self) {
        let Some((ino, id)) = self.any_file() else { return };
        let length = self.random.below(16_000);
        self.log.push(format!("{id}: length {length}"));
        self.model.set_length(self.now, ino, length).unwrap();
        self.past.set_length(self.now, id, length as usize);
    }

    fn make(&mut self) {
        let slot = self.any_slot();
        if !self.may_change_names() {
            return;
        }
        let parent = self.folder_ino(slot.0);
        let name = OsStr::new(&slot.1);
        let folder = slot.1.starts_with('d');
        let made = match folder {
            true => self.model.mkdir(self.now, parent, name, 0o755, None),
            false => self.model.create(self.now, parent, name, 0o644, None),
        };
        self.log.push(format!("make {slot:?}: {}", made.is_ok()));
        assert_eq!(made.is_ok(), self.past.make(self.now, slot, folder), "{made:?}");
    }

    fn remove(&mut self) {
        let Some(slot) = self.any_there() else { return };
        if !self.may_change_names() {
            return;
        }
        let parent = self.folder_ino(slot.0);
        let name = OsStr::new(&slot.1);
        let done = match self.past.is_folder(self.past.now[&slot]) {
            true => self.model.rmdir(self.now, parent, name),
            false => self.model.unlink(self.now, parent, name),
        };
        self.log.push(format!("remove {slot:?}: {done:?}"));
        assert_eq!(done.is_ok(), self.past.remove(self.now, slot), "{done:?}");
    }

    fn rename(&mut self) {
        let (Some(from), to) = (self.any_there(), self.any_slot()) else {
            return;
        };
        let moved = self.past.now[&from];
        if !self.may_change_names() || self.past.is_folder(moved) != to.1.starts_with('d') {
            return;
        }
        let (a, b) = (self.folder_ino(from.0), self.folder_ino(to.0));
        let done = self
            .model
            .rename(self.now, (a, OsStr::new(&from.1)), (b, OsStr::new(&to.1)), false);
        self.log.push(format!("rename {from:?} to {to:?}: {done:?}"));
        assert_eq!(done.is_ok(), self.past.rename(self.now, from, to), "{done:?}");
    }

    fn link(&mut self) {
        let Some((ino, id)) = self.any_file() else { return };
        let slot = (self.any_folder(), format!("f{}", self.random.below(3)));
        if !self.may_change_names() {
            return;
        }
        let parent = self.folder_ino(slot.0);
        let done = self.model.link(self.now, ino, parent, OsStr::new(&slot.1));
        self.log.push(format!("link {id} as {slot:?}: {}", done.is_ok()));
        assert_eq!(done.is_ok(), self.past.link(self.now, id, slot), "{done:?}");
    }

    fn sync(&mut self) {
        let Some((ino, id)) = self.any_file() else { return };
        self.log.push(format!("{id}: sync"));
        self.model.sync(self.now, ino).unwrap();
        self.past.sync(id);
    }

    fn sync_folder(&mut self) {
        let folder = self.any_folder();
        let ino = self.folder_ino(folder);
        self.log.push(format!("sync folder {folder}"));
        self.model.sync_folder(self.now, ino).unwrap();
        self.past.sync_folder(folder);
    }

    /// Six seconds, at most three times before all is written back, so that the data's age is never in doubt.
    fn wait(&mut self) {
        self.sixes += 1;
        let long = self.sixes > 3;
        self.now += Duration::from_secs(if long { 40 } else { 6 });
        self.log.push(format!("now {:?}", self.now));
        self.model.tick(self.now);
        self.past.commit_until(self.now - Duration::from_secs(5));
        if long {
            self.sixes = 0;
            self.past.all_data_durable();
        }
    }

    fn cut(&mut self, seed: u64, life: u64, policy: Policy) -> Met {
        self.now += Duration::from_millis(1);
        self.model.power_off(self.now);
        if self.random.below(4) == 0
            && let Some(file) = self.any_file()
        {
            // A late page of the cache.
            self.put(file, 4096, 4096, Writer::PageCache);
        }
        let before = self.past.tree();
        let loss = self.model.settle(life, policy).unwrap();
        let left = self.home.tree();
        let said = || format!("seed {seed}, life {life}, {policy:?}: {:#?}", self.log);
        if !self.past.allows(policy.profile, &left) {
            panic!("not legal: {}\nleft: {}", said(), lengths(&left));
        }
        let Line::Cut(cut) = serde_json::from_str(&loss.line).unwrap() else {
            panic!("{}", loss.line)
        };
        self.check_ledger(&cut, &before, &left, &said);
        check_policy(policy, &cut, &before, &left, &said);
        let unsynced = cut.bytes + cut.kept_bytes + (cut.names.len() + cut.kept_names.len()) as u64;
        let met = Met {
            cuts: 1,
            both: u64::from(cut.bytes > 0 && cut.kept_bytes > 0),
            lost_bytes: cut.bytes,
            kept_bytes: cut.kept_bytes,
            lost_names: cut.names.len() as u64,
            kept_names: cut.kept_names.len() as u64,
            all_kept: u64::from(unsynced > 0 && left == before),
            strict_only: u64::from(
                policy.profile != Profile::Ext4 && !self.past.allows(Profile::Ext4, &left),
            ),
            torn_runs: cut.files.iter().map(|f| f.mixed.len() as u64).sum(),
        };
        self.past = Past::of(&self.home.paths().backing);
        self.sixes = 0;
        self.log = vec![format!("a new life with {}", lengths(&left))];
        met
    }

    fn check_ledger(&self, cut: &Cut, before: &Tree, left: &Tree, said: &dyn Fn() -> String) {
        let saved = |place: &str| std::fs::read(self.home.paths().lost.join(place)).unwrap();
        let names = |path: &str| cut.files.iter().filter(|f| f.path == path).count();
        for file in &cut.files {
            let Some(Some(was)) = before.get(&file.path) else {
                continue; // Removed before the cut.
            };
            if names(&file.path) > 1 || was.len() as u64 != file.had_length {
                continue; // A removed file that came back, and a later one of its name that went.
            }
            for ((from, to), place) in file.ranges.iter().zip(&file.saved) {
                assert_eq!(saved(place), was[*from as usize..*to as usize], "{}", said());
            }
            for mixed in &file.mixed {
                assert_eq!(
                    saved(&mixed.saved),
                    was[mixed.from as usize..mixed.to as usize],
                    "{}",
                    said()
                );
            }
        }
        // Whatever changed under an inode that is still there is named.
        let backing = self.home.paths().backing;
        for (path, was) in before {
            let (Some(was), Some(Some(is))) = (was, left.get(path)) else {
                continue;
            };
            let told =
                |ranges: &[(u64, u64)], i: usize| ranges.iter().any(|(a, z)| (*a..*z).contains(&(i as u64)));
            let links = std::fs::metadata(backing.join(path)).unwrap().nlink();
            let one_name = links == 1 && names(path) <= 1 && !touches(cut, path);
            if !one_name {
                continue;
            }
            let lost = cut.files.iter().find(|f| f.path == *path);
            for (i, byte) in was.iter().enumerate() {
                let same = is.get(i).copied().unwrap_or(0) == *byte;
                let in_lost = lost.is_some_and(|f| told(&f.ranges, i));
                assert!(same || in_lost || *byte == 0, "{path} byte {i}: {}", said());
            }
            let kept = cut.kept_files.iter().find(|f| f.path == *path);
            for (from, to) in kept.iter().flat_map(|f| &f.ranges) {
                let range = *from as usize..*to as usize;
                assert_eq!(is.get(range.clone()), was.get(range), "{path}: {}", said());
            }
        }
    }
}

/// Whether a change of names, lost or kept, is about this path or what is above it.
fn touches(cut: &Cut, path: &str) -> bool {
    use disk::ledger::LostName::*;
    let about = |name: &str| path == name || path.starts_with(&format!("{name}/"));
    cut.names.iter().chain(&cut.kept_names).any(|n| match n {
        Created { path } | Removed { path } => about(path),
        Renamed { from, to, .. } => about(from) || about(to),
    })
}

fn check_policy(policy: Policy, cut: &Cut, before: &Tree, left: &Tree, said: &dyn Fn() -> String) {
    let names = (cut.names.len(), cut.kept_names.len());
    match policy.remainder {
        Remainder::OnlySynced => assert_eq!((cut.kept_bytes, names.1), (0, 0), "{}", said()),
        Remainder::Everything => {
            assert_eq!(before, left, "{}", said());
            assert_eq!((cut.bytes, names.0), (0, 0), "{}", said());
        }
        Remainder::NamesWithoutData => assert_eq!((cut.kept_bytes, names.0), (0, 0), "{}", said()),
        Remainder::DataWithoutNames => assert_eq!(names.1, 0, "{}", said()),
        Remainder::AllButTheTail if policy.profile == Profile::Ext4 => {
            assert!(names.0 <= 1, "{}", said());
        }
        _ => {}
    }
}

fn lengths(tree: &Tree) -> String {
    let of = |(path, content): (&String, &Option<Vec<u8>>)| match content {
        Some(content) => format!("{path}: {}", content.len()),
        None => format!("{path}/"),
    };
    tree.iter().map(of).collect::<Vec<_>>().join(", ")
}
