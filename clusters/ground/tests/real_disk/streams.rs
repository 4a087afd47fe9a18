//! Random operations on a real file system, cut at random points: each remainder is looked up in what is legal.
use crate::bench::Bench;
use crate::home::Random;
use crate::legal::{Id, Past, Slot, Tree};
use crate::nudge::{Nudge, nudge};
use disk::Profile;
use ground::real_disk::{Kind, Options};
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Changes of no age: all of it happens within a second.
const NOW: Duration = Duration::ZERO;
/// Lives of one file system.
const LIVES: u64 = 10;

/// What streams came to, so that a test can say that they met what they should.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Met {
    pub cuts: u64,
    /// All that was not synced was lost, and something was.
    pub all_lost: u64,
    /// Something was lost, and something that nobody had synced was kept.
    pub both: u64,
    /// Nothing was lost, though something was not synced.
    pub all_kept: u64,
    /// Bytes that an earlier cut had taken were there again, past the old end of a file.
    pub stale: u64,
}

struct Stream {
    bench: Bench,
    past: Past,
    random: Random,
    /// What was there when the last sync ended, or the life began.
    synced: Tree,
    /// What was in each file in all lives, by inode.
    history: HashMap<u64, Vec<Vec<u8>>>,
    /// Bytes that a write with O_DSYNC made durable: of its own and no others is that promised.
    owed: Vec<(u64, Id, usize, Vec<u8>)>,
    /// What was there when the life began.
    base: Tree,
    log: Vec<String>,
}

/// One stream: lives of one file system, each ended by a cut. The first remainder that is not legal, in words.
pub fn stream(kind: Kind, seed: u64, lives: u64, met: &mut Met) -> Result<(), String> {
    let options = Options {
        no_auto_da_alloc: seed % 2 == 1,
    };
    let bench = Bench::made(kind, options);
    fs::create_dir(bench.top().join("top")).unwrap();
    bench.settle();
    let past = past(kind, &bench.top().join("top"));
    let mut stream = Stream {
        bench,
        past,
        random: Random(seed),
        synced: Tree::new(),
        base: Tree::new(),
        history: HashMap::new(),
        owed: vec![],
        log: vec![],
    };
    for life in 0..lives {
        for _ in 0..3 + stream.random.below(20) {
            stream.step();
            let (top, other) = (stream.top(), stream.bench.top().join("other"));
            match nudge(&mut stream.random, &top, &other) {
                Nudge::Nothing => {}
                Nudge::WrittenBack(path, from, count) => {
                    let path = path.strip_prefix(&top).unwrap().display().to_string();
                    let id = stream.past.paths()[&path];
                    stream
                        .log
                        .push(format!("{id}: pages {from}+{count} written back"));
                }
                Nudge::Committed => stream.log.push("the journal committed".into()),
            }
        }
        stream.cut(seed, life, met)?;
    }
    Ok(())
}

fn ino(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

fn past(kind: Kind, top: &Path) -> Past {
    let mut past = Past::of(top);
    past.real = true;
    past.old_tails = kind == Kind::Xfs;
    past
}

impl Stream {
    fn top(&self) -> PathBuf {
        self.bench.top().join("top")
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..=34 => self.write(),
            35..=42 => self.set_length(),
            43..=57 => self.make(),
            58..=64 => self.remove(),
            65..=72 => self.rename(),
            73..=76 => self.link(),
            77..=84 => self.sync(),
            85..=92 => self.sync_folder(),
            _ => self.append_in_bits(),
        }
    }

    fn folder(&self, id: Id) -> PathBuf {
        let paths = self.past.paths();
        let path = paths.iter().find(|(_, other)| **other == id);
        path.map_or_else(|| self.top(), |(path, _)| self.top().join(path))
    }

    fn path(&self, slot: &Slot) -> PathBuf {
        self.folder(slot.0).join(&slot.1)
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

    fn any_file(&mut self) -> Option<(PathBuf, Id)> {
        let (path, id) = self.past.any_file(|n| self.random.below(n))?;
        Some((self.top().join(path), id))
    }

    fn put(&mut self, (path, id): (PathBuf, Id), at: usize, length: usize, synced: bool) {
        let fill = 1 + self.random.below(254) as u8;
        let bytes: Vec<u8> = (0..length).map(|i| fill.wrapping_add((i / 7) as u8)).collect();
        self.log
            .push(format!("{id}: {length} bytes at {at}, synced: {synced}"));
        let flags = if synced { libc::O_DSYNC } else { 0 };
        let file = File::options()
            .write(true)
            .custom_flags(flags)
            .open(&path)
            .unwrap();
        file.write_all_at(&bytes, at as u64).unwrap();
        self.past.write(NOW, id, at, &bytes);
        self.forget(id);
        if synced {
            // No names come with it: where neither blocks nor the length are new, the journal is left alone.
            self.owed.push((ino(&path), id, at, bytes));
        }
    }

    /// What is owed of a file is not looked for once it was changed again.
    fn forget(&mut self, id: Id) {
        self.owed.retain(|(_, other, _, _)| *other != id);
    }

    fn note_sync(&mut self) {
        self.synced = self.past.tree();
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
        let synced = self.random.below(12) == 0;
        self.put(file, at, size, synced);
    }

    fn append_in_bits(&mut self) {
        let Some(file) = self.any_file() else { return };
        for _ in 0..6 {
            let at = self.past.content(file.1).len();
            let size = 1 + self.random.below(700) as usize;
            self.put(file.clone(), at, size, false);
        }
    }

    fn set_length(&mut self) {
        let Some((path, id)) = self.any_file() else { return };
        let length = self.random.below(16_000);
        self.log.push(format!("{id}: length {length}"));
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(length).unwrap();
        self.past.set_length(NOW, id, length as usize);
        self.forget(id);
    }

    fn make(&mut self) {
        let slot = self.any_slot();
        let path = self.path(&slot);
        let folder = slot.1.starts_with('d');
        let made = match folder {
            true => fs::create_dir(path),
            false => File::create_new(path).map(drop),
        };
        self.log.push(format!("make {slot:?}: {}", made.is_ok()));
        assert_eq!(made.is_ok(), self.past.make(NOW, slot, folder), "{made:?}");
    }

    fn remove(&mut self) {
        let Some(slot) = self.any_there() else { return };
        let path = self.path(&slot);
        let done = match self.past.is_folder(self.past.now[&slot]) {
            true => fs::remove_dir(path),
            false => fs::remove_file(path),
        };
        self.log.push(format!("remove {slot:?}: {}", done.is_ok()));
        assert_eq!(done.is_ok(), self.past.remove(NOW, slot), "{done:?}");
    }

    fn rename(&mut self) {
        let (Some(from), to) = (self.any_there(), self.any_slot()) else {
            return;
        };
        let moved = self.past.now[&from];
        if self.past.is_folder(moved) != to.1.starts_with('d') {
            return;
        }
        let done = fs::rename(self.path(&from), self.path(&to));
        self.log
            .push(format!("rename {from:?} to {to:?}: {}", done.is_ok()));
        assert_eq!(done.is_ok(), self.past.rename(NOW, from, to), "{done:?}");
    }

    fn link(&mut self) {
        let Some((path, id)) = self.any_file() else { return };
        let slot = (self.any_folder(), format!("f{}", self.random.below(3)));
        let done = fs::hard_link(path, self.path(&slot));
        self.log.push(format!("link {id} as {slot:?}: {}", done.is_ok()));
        assert_eq!(done.is_ok(), self.past.link(NOW, id, slot), "{done:?}");
    }

    fn sync(&mut self) {
        let Some((path, id)) = self.any_file() else { return };
        self.log.push(format!("{id}: sync"));
        File::open(path).unwrap().sync_all().unwrap();
        self.past.sync(id);
        self.note_sync();
    }

    fn sync_folder(&mut self) {
        let folder = self.any_folder();
        self.log.push(format!("sync folder {folder}"));
        File::open(self.folder(folder)).unwrap().sync_all().unwrap();
        self.past.sync_folder(folder);
        self.note_sync();
    }

    fn cut(&mut self, seed: u64, life: u64, met: &mut Met) -> Result<(), String> {
        let before = self.past.tree();
        for (path, id) in self.past.paths() {
            if !self.past.is_folder(id) {
                let versions = self.history.entry(ino(&self.top().join(path))).or_default();
                versions.extend(self.past.versions(id));
                versions.sort();
                versions.dedup();
            }
        }
        self.bench.cut();
        let left = tree(&self.top());
        let stale = std::mem::take(&mut self.past.stale);
        let clean = self.past.allows(Profile::Ext4, &left);
        self.past.stale = stale;
        if !clean && !self.past.allows(Profile::Ext4, &left) {
            return Err(format!(
                "seed {seed}, life {life}: {:#?}\nleft: {}\n{}",
                self.log,
                lengths(&left),
                differences(&self.base, &before, &left)
            ));
        }
        // By inode: at its name now another file may be.
        let inodes: HashMap<u64, &Vec<u8>> = left
            .iter()
            .filter_map(|(path, is)| Some((ino(&self.top().join(path)), is.as_ref()?)))
            .collect();
        for (inode, id, at, bytes) in &self.owed {
            // The inode of a removed one is given out again.
            let has_name = self.past.now.values().any(|other| other == id);
            let Some(is) = inodes.get(inode).filter(|_| has_name) else {
                continue;
            };
            if is.get(*at..at + bytes.len()) != Some(bytes) {
                return Err(format!(
                    "seed {seed}, life {life}: {id} lost bytes of O_DSYNC: {:#?}",
                    self.log
                ));
            }
        }
        met.stale += u64::from(!clean);
        met.cuts += 1;
        met.all_kept += u64::from(left == before && before != self.synced);
        met.all_lost += u64::from(left == self.synced && before != self.synced);
        met.both += u64::from(left != before && left != self.synced);
        self.past = past(self.bench.disk.kind(), &self.top());
        for (path, id) in self.past.paths() {
            let stale = self.history.get(&ino(&self.top().join(path)));
            self.past.stale.extend(stale.map(|stale| (id, stale.clone())));
        }
        self.owed.clear();
        self.synced = left.clone();
        self.base = left;
        self.log = vec![format!("a new life with {}", lengths(&self.synced))];
        Ok(())
    }
}

fn tree(top: &Path) -> Tree {
    fn walk(folder: &Path, prefix: &str, tree: &mut Tree) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let content = match entry.file_type().unwrap().is_dir() {
                true => {
                    walk(&entry.path(), &format!("{path}/"), tree);
                    None
                }
                false => Some(fs::read(entry.path()).unwrap()),
            };
            tree.insert(path, content);
        }
    }
    let mut found = Tree::new();
    walk(top, "", &mut found);
    found
}

fn lengths(tree: &Tree) -> String {
    let of = |(path, content): (&String, &Option<Vec<u8>>)| match content {
        Some(content) => format!("{path}: {}", content.len()),
        None => format!("{path}/"),
    };
    tree.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// What each file is made of: runs of bytes that are those at the end, those at the life's beginning, zeros, or others.
fn differences(base: &Tree, before: &Tree, left: &Tree) -> String {
    let content = |tree: &Tree, path: &String| tree.get(path).cloned().flatten().unwrap_or_default();
    let mut all = Vec::new();
    for (path, is) in left.iter().filter_map(|(path, is)| Some((path, is.as_ref()?))) {
        let (was, base) = (content(before, path), content(base, path));
        let kind = |i: usize| match is[i] {
            byte if was.get(i) == Some(&byte) => "now",
            byte if base.get(i) == Some(&byte) => "old",
            0 => "zeros",
            _ => "other",
        };
        let mut runs = Vec::new();
        let mut at = 0;
        while at < is.len() {
            let (from, of) = (at, kind(at));
            while at < is.len() && kind(at) == of {
                at += 1;
            }
            if at - from > 8 {
                runs.push(format!("{of} {from}..{at}"));
            }
        }
        all.push(format!(
            "{path}: was {}, is {}: {}",
            was.len(),
            is.len(),
            runs.join(", ")
        ));
    }
    all.join("\n")
}

/// How many cuts each test makes, however slow the machine is: more by the variable.
const LEAST: u64 = 20;
const BOUND: Duration = Duration::from_secs(8);
const USUAL: u64 = 60;
/// Names a number of cuts, 200 for one.
const CUTS: &str = "ACKALL_REAL_CUTS";

fn check(kind: Kind) {
    if Bench::new(kind, Options::default()).is_none() {
        return;
    }
    let asked = std::env::var(CUTS).ok().and_then(|text| text.parse().ok());
    let (began, mut met) = (Instant::now(), Met::default());
    let mut illegal = Vec::new();
    let first = std::env::var("ACKALL_REAL_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    for seed in first.unwrap_or(0).. {
        let enough = match asked {
            Some(cuts) => met.cuts >= cuts,
            None => met.cuts >= USUAL || (met.cuts >= LEAST && began.elapsed() > BOUND),
        };
        if enough {
            break;
        }
        if let Err(why) = stream(kind, seed, LIVES, &mut met) {
            illegal.push(why);
            if illegal.len() > 5 {
                break;
            }
        }
    }
    println!("{}: {met:?} in {:.1?}", kind.word(), began.elapsed());
    assert!(
        illegal.is_empty(),
        "{} not legal: {}",
        illegal.len(),
        illegal.join("\n\n")
    );
    assert!(met.all_lost > 0 && met.both > 0, "{met:?}");
}

#[test]
fn ext4_leaves_nothing_that_the_model_forbids() {
    check(Kind::Ext4);
}

#[test]
fn xfs_leaves_nothing_that_the_model_forbids() {
    check(Kind::Xfs);
}
