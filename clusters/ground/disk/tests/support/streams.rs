//! Random operations on a disk, cut at random points: each remainder is looked up in what is literally legal, and the
//! ledger of each cut is held against what was there before and after.
use super::legal::{Id, Past, Slot, Tree};
use super::{Home, Random};
use disk::ledger::{Cut, Line};
use disk::model::{Limits, Model, ROOT, Writer};
use disk::{Loss, Policy, Profile, Remainder};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
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

/// Where operations are done; paths are from the top. True where it could be done.
pub trait Place {
    fn write(&mut self, now: Duration, path: &str, at: u64, bytes: &[u8], writer: Writer);
    fn set_length(&mut self, now: Duration, path: &str, length: u64);
    fn make(&mut self, now: Duration, path: &str, folder: bool) -> bool;
    fn remove(&mut self, now: Duration, path: &str, folder: bool) -> bool;
    fn rename(&mut self, now: Duration, from: &str, to: &str) -> bool;
    fn link(&mut self, now: Duration, from: &str, to: &str) -> bool;
    fn sync(&mut self, now: Duration, path: &str);
    fn sync_folder(&mut self, now: Duration, path: &str);
    /// It is later; false where that is for a clock on the wall to say.
    fn later(&mut self, now: Duration) -> bool;
}

/// On the model: time is an argument.
pub struct InModel<'a>(pub &'a mut Model);

impl InModel<'_> {
    fn ino(&mut self, path: &str) -> u64 {
        path.split('/')
            .filter(|p| !p.is_empty())
            .fold(ROOT, |at, name| self.0.lookup(at, OsStr::new(name)).unwrap().ino)
    }

    fn slot<'a>(&mut self, path: &'a str) -> (u64, &'a OsStr) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.ino(folder), OsStr::new(name))
    }
}

impl Place for InModel<'_> {
    fn write(&mut self, now: Duration, path: &str, at: u64, bytes: &[u8], writer: Writer) {
        let ino = self.ino(path);
        self.0.write(now, ino, at, bytes, writer).unwrap();
    }

    fn set_length(&mut self, now: Duration, path: &str, length: u64) {
        let ino = self.ino(path);
        self.0.set_length(now, ino, length).unwrap();
    }

    fn make(&mut self, now: Duration, path: &str, folder: bool) -> bool {
        let (parent, name) = self.slot(path);
        let made = match folder {
            true => self.0.mkdir(now, parent, name, 0o755, None),
            false => self.0.create(now, parent, name, 0o644, None),
        };
        made.is_ok()
    }

    fn remove(&mut self, now: Duration, path: &str, folder: bool) -> bool {
        let (parent, name) = self.slot(path);
        let done = match folder {
            true => self.0.rmdir(now, parent, name),
            false => self.0.unlink(now, parent, name),
        };
        done.is_ok()
    }

    fn rename(&mut self, now: Duration, from: &str, to: &str) -> bool {
        let (from, to) = (self.slot(from), self.slot(to));
        self.0.rename(now, from, to, false).is_ok()
    }

    fn link(&mut self, now: Duration, from: &str, to: &str) -> bool {
        let (ino, (parent, name)) = (self.ino(from), self.slot(to));
        self.0.link(now, ino, parent, name).is_ok()
    }

    fn sync(&mut self, now: Duration, path: &str) {
        let ino = self.ino(path);
        self.0.sync(now, ino).unwrap();
    }

    fn sync_folder(&mut self, now: Duration, path: &str) {
        let ino = self.ino(path);
        self.0.sync_folder(now, ino).unwrap();
    }

    fn later(&mut self, now: Duration) -> bool {
        self.0.tick(now);
        true
    }
}

/// Below a folder of whatever file system. Files stay open once they were written to, so that pages that a kernel keeps
/// stay kept.
pub struct InFolder {
    top: PathBuf,
    open: HashMap<u64, File>,
}

impl InFolder {
    pub fn new(top: &Path) -> InFolder {
        InFolder {
            top: top.into(),
            open: HashMap::new(),
        }
    }

    fn file(&mut self, path: &str) -> &File {
        let path = self.top.join(path);
        let ino = fs::symlink_metadata(&path).unwrap().ino();
        self.open
            .entry(ino)
            .or_insert_with(|| File::options().read(true).write(true).open(path).unwrap())
    }
}

impl Place for InFolder {
    fn write(&mut self, _: Duration, path: &str, at: u64, bytes: &[u8], writer: Writer) {
        if writer == Writer::SyncedCall {
            let mut synced = File::options();
            let synced = synced.write(true).custom_flags(nix::libc::O_DSYNC);
            let file = synced.open(self.top.join(path)).unwrap();
            return file.write_all_at(bytes, at).unwrap();
        }
        self.file(path).write_all_at(bytes, at).unwrap();
    }

    fn set_length(&mut self, _: Duration, path: &str, length: u64) {
        self.file(path).set_len(length).unwrap();
    }

    fn make(&mut self, _: Duration, path: &str, folder: bool) -> bool {
        let path = self.top.join(path);
        match folder {
            true => fs::create_dir(path).is_ok(),
            false => File::create_new(path).is_ok(),
        }
    }

    fn remove(&mut self, _: Duration, path: &str, folder: bool) -> bool {
        let path = self.top.join(path);
        match folder {
            true => fs::remove_dir(path).is_ok(),
            false => fs::remove_file(path).is_ok(),
        }
    }

    fn rename(&mut self, _: Duration, from: &str, to: &str) -> bool {
        fs::rename(self.top.join(from), self.top.join(to)).is_ok()
    }

    fn link(&mut self, _: Duration, from: &str, to: &str) -> bool {
        fs::hard_link(self.top.join(from), self.top.join(to)).is_ok()
    }

    fn sync(&mut self, _: Duration, path: &str) {
        self.file(path).sync_all().unwrap();
    }

    fn sync_folder(&mut self, _: Duration, path: &str) {
        File::open(self.top.join(path)).unwrap().sync_all().unwrap();
    }

    fn later(&mut self, _: Duration) -> bool {
        false
    }
}

/// Lives of one disk, one after the other: what is done is drawn, and all of it is remembered.
pub struct Stream {
    seed: u64,
    past: Past,
    random: Random,
    pub now: Duration,
    sixes: u32,
    profile: Profile,
    log: Vec<String>,
}

/// Lives of one stream.
pub const LIVES: u64 = 3;

/// One stream on the model. Panics where anything is not legal.
pub fn stream(seed: u64, profile: Profile, remainder: Option<Remainder>) -> Met {
    let home = Home::in_memory();
    let mut model = Model::open(home.paths(), Limits::default()).unwrap();
    let mut stream = Stream::new(seed, profile, &home.paths().backing);
    let mut met = Met::default();
    for life in 0..LIVES {
        stream.live(&mut InModel(&mut model));
        let policy = stream.policy(remainder);
        model.power_off(stream.now);
        stream.late_page(&mut InModel(&mut model));
        let loss = model.settle(life, policy).unwrap();
        met.add(stream.settled(&home, policy, &loss));
    }
    met
}

impl Stream {
    /// Begins with what is in a folder.
    pub fn new(seed: u64, profile: Profile, top: &Path) -> Stream {
        Stream {
            seed,
            past: Past::of(top),
            random: Random(seed),
            now: Duration::from_secs(1000),
            sixes: 0,
            profile,
            log: vec![],
        }
    }

    /// One life, up to its cut.
    pub fn live(&mut self, place: &mut dyn Place) {
        for _ in 0..5 + self.random.below(25) {
            self.step(place);
        }
        self.now += Duration::from_millis(1);
    }

    /// What the cut shall leave.
    pub fn policy(&mut self, remainder: Option<Remainder>) -> Policy {
        let drawn = Remainder::ALL[self.random.below(Remainder::ALL.len() as u64) as usize];
        Policy {
            remainder: remainder.unwrap_or(drawn),
            profile: self.profile,
            seed: self.random.below(u64::MAX),
        }
    }

    /// Perhaps a late page of a cache, after the cut.
    pub fn late_page(&mut self, place: &mut dyn Place) {
        if self.random.below(4) == 0
            && let Some(file) = self.any_file()
        {
            self.put(place, file, 4096, 4096, Writer::PageCache);
        }
    }

    fn step(&mut self, place: &mut dyn Place) {
        self.now += Duration::from_millis(1);
        match self.random.below(100) {
            0..=34 => self.write(place),
            35..=42 => self.set_length(place),
            43..=57 => self.make(place),
            58..=64 => self.remove(place),
            65..=72 => self.rename(place),
            73..=76 => self.link(place),
            77..=84 => self.sync(place),
            85..=92 => self.sync_folder(place),
            93..=96 => self.wait(place),
            _ => self.append_in_bits(place),
        }
    }

    fn path(&self, (folder, name): &Slot) -> String {
        match self.folder(*folder) {
            top if top.is_empty() => name.clone(),
            folder => format!("{folder}/{name}"),
        }
    }

    fn folder(&self, folder: Id) -> String {
        let paths = self.past.paths().into_iter();
        let mut found = paths.filter(|(_, id)| *id == folder);
        found.next().map_or_else(String::new, |(path, _)| path)
    }

    fn any_folder(&mut self) -> Id {
        self.past.any_folder(|n| self.random.below(n))
    }

    fn any_slot(&mut self) -> Slot {
        self.past.any_slot(|n| self.random.below(n))
    }

    fn any_there(&mut self) -> Option<Slot> {
        self.past.any_there(|n| self.random.below(n))
    }

    fn any_file(&mut self) -> Option<(String, Id)> {
        self.past.any_file(|n| self.random.below(n))
    }

    fn may_change_names(&self) -> bool {
        self.profile == Profile::Ext4 || self.past.names() < STRICT_NAMES
    }

    fn put(
        &mut self,
        place: &mut dyn Place,
        (path, id): (String, Id),
        at: usize,
        length: usize,
        writer: Writer,
    ) {
        let fill = 1 + self.random.below(254) as u8;
        let bytes: Vec<u8> = (0..length).map(|i| fill.wrapping_add((i / 7) as u8)).collect();
        self.log.push(format!("{id}: {length} bytes at {at}, {writer:?}"));
        place.write(self.now, &path, at as u64, &bytes, writer);
        self.past.write(self.now, id, at, &bytes);
        if writer == Writer::SyncedCall {
            self.past.sync_pages(id, at, length);
        }
    }

    fn write(&mut self, place: &mut dyn Place) {
        let Some(file) = self.any_file() else {
            return self.make(place);
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
        self.put(place, file, at, size, writer);
    }

    fn append_in_bits(&mut self, place: &mut dyn Place) {
        let Some(file) = self.any_file() else { return };
        for _ in 0..6 {
            let at = self.past.content(file.1).len();
            let size = 1 + self.random.below(700) as usize;
            self.put(place, file.clone(), at, size, Writer::Call);
        }
    }

    fn set_length(&mut self, place: &mut dyn Place) {
        let Some((path, id)) = self.any_file() else { return };
        let length = self.random.below(16_000);
        self.log.push(format!("{id}: length {length}"));
        place.set_length(self.now, &path, length);
        self.past.set_length(self.now, id, length as usize);
    }

    fn make(&mut self, place: &mut dyn Place) {
        let slot = self.any_slot();
        if !self.may_change_names() {
            return;
        }
        let folder = slot.1.starts_with('d');
        let made = place.make(self.now, &self.path(&slot), folder);
        self.log.push(format!("make {slot:?}: {made}"));
        assert_eq!(made, self.past.make(self.now, slot, folder), "{:#?}", self.log);
    }

    fn remove(&mut self, place: &mut dyn Place) {
        let Some(slot) = self.any_there() else { return };
        if !self.may_change_names() {
            return;
        }
        let folder = self.past.is_folder(self.past.now[&slot]);
        let done = place.remove(self.now, &self.path(&slot), folder);
        self.log.push(format!("remove {slot:?}: {done}"));
        assert_eq!(done, self.past.remove(self.now, slot), "{:#?}", self.log);
    }

    fn rename(&mut self, place: &mut dyn Place) {
        let (Some(from), to) = (self.any_there(), self.any_slot()) else {
            return;
        };
        let moved = self.past.now[&from];
        if !self.may_change_names() || self.past.is_folder(moved) != to.1.starts_with('d') {
            return;
        }
        let done = place.rename(self.now, &self.path(&from), &self.path(&to));
        self.log.push(format!("rename {from:?} to {to:?}: {done}"));
        assert_eq!(done, self.past.rename(self.now, from, to), "{:#?}", self.log);
    }

    fn link(&mut self, place: &mut dyn Place) {
        let Some((path, id)) = self.any_file() else { return };
        let slot = (self.any_folder(), format!("f{}", self.random.below(3)));
        if !self.may_change_names() {
            return;
        }
        let done = place.link(self.now, &path, &self.path(&slot));
        self.log.push(format!("link {id} as {slot:?}: {done}"));
        assert_eq!(done, self.past.link(self.now, id, slot), "{:#?}", self.log);
    }

    fn sync(&mut self, place: &mut dyn Place) {
        let Some((path, id)) = self.any_file() else { return };
        self.log.push(format!("{id}: sync"));
        place.sync(self.now, &path);
        self.past.sync(id);
    }

    fn sync_folder(&mut self, place: &mut dyn Place) {
        let folder = self.any_folder();
        self.log.push(format!("sync folder {folder}"));
        place.sync_folder(self.now, &self.folder(folder));
        self.past.sync_folder(folder);
    }

    /// Six seconds, at most three times before all is written back, so that the data's age is never in doubt.
    fn wait(&mut self, place: &mut dyn Place) {
        let long = self.sixes == 3;
        let then = self.now + Duration::from_secs(if long { 40 } else { 6 });
        if !place.later(then) {
            return;
        }
        self.now = then;
        self.sixes += 1;
        self.log.push(format!("now {:?}", self.now));
        self.past.commit_until(self.now - Duration::from_secs(5));
        if long {
            self.sixes = 0;
            self.past.all_data_durable();
        }
    }

    /// What the cut has left, whoever made it: no state that the profile forbids. A new life begins.
    pub fn is_legal(&mut self, left: &Tree, said: &dyn std::fmt::Debug) {
        if !self.past.allows(self.profile, left) {
            panic!(
                "not legal: seed {}, {said:?}: {:#?}\nleft: {}",
                self.seed,
                self.log,
                lengths(left)
            );
        }
        self.sixes = 0;
        self.log = vec![format!("a new life with {}", lengths(left))];
    }

    /// The same of a disk of ours, and its ledger.
    pub fn settled(&mut self, home: &Home, policy: Policy, loss: &Loss) -> Met {
        let (before, left) = (self.past.tree(), home.tree());
        let Line::Cut(cut) = serde_json::from_str(&loss.line).unwrap() else {
            panic!("{}", loss.line)
        };
        let (seed, log) = (self.seed, self.log.clone());
        self.is_legal(&left, &policy);
        let said = || format!("seed {seed}, {policy:?}: {log:#?}");
        check_ledger(home, &cut, &before, &left, &said);
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
        self.past = Past::of(&home.paths().backing);
        met
    }
}

fn check_ledger(home: &Home, cut: &Cut, before: &Tree, left: &Tree, said: &dyn Fn() -> String) {
    let saved = |place: &str| fs::read(home.paths().lost.join(place)).unwrap();
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
    let backing = home.paths().backing;
    for (path, was) in before {
        let (Some(was), Some(Some(is))) = (was, left.get(path)) else {
            continue;
        };
        let told =
            |ranges: &[(u64, u64)], i: usize| ranges.iter().any(|(a, z)| (*a..*z).contains(&(i as u64)));
        let links = fs::metadata(backing.join(path)).unwrap().nlink();
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
            let differ = first_difference(before, left);
            assert_eq!(differ, None, "{}", said());
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

/// Where two trees differ: a path, the lengths there, and the first byte.
fn first_difference(a: &Tree, b: &Tree) -> Option<String> {
    let path = a
        .keys()
        .chain(b.keys())
        .find(|path| a.get(*path) != b.get(*path))?;
    let of = |tree: &Tree| tree.get(path).cloned().flatten().unwrap_or_default();
    let (a, b) = (of(a), of(b));
    let byte = a.iter().zip(&b).position(|(a, b)| a != b);
    Some(format!(
        "{path}: {} and {} bytes, from byte {byte:?}",
        a.len(),
        b.len()
    ))
}

fn lengths(tree: &Tree) -> String {
    let of = |(path, content): (&String, &Option<Vec<u8>>)| match content {
        Some(content) => format!("{path}: {}", content.len()),
        None => format!("{path}/"),
    };
    tree.iter().map(of).collect::<Vec<_>>().join(", ")
}
