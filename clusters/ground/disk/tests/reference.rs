//! The model against a naive one that keeps full copies of everything, under random operations and cuts.
#[path = "support/home.rs"]
mod support;

use disk::Policy;
use disk::ledger::Line;
use disk::model::{Allocate, Limits, Model, ROOT, Writer};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::time::Duration;
use support::{Home, Random};

type Names = BTreeMap<String, u64>;

/// A file or folder: what is there now, and what would be there after a cut.
#[derive(Clone)]
struct Inode {
    folder: bool,
    now: Vec<u8>,
    durable: Vec<u8>,
    syncs: u64,
    /// Blocks before this were durable, and are still there.
    allocated: usize,
}

enum Change {
    Names(Names),
    Truncated { id: u64, syncs: u64, length: usize },
}

#[derive(Default)]
struct Naive {
    inodes: HashMap<u64, Inode>,
    now: Names,
    durable: Names,
    journal: Vec<(Duration, Change)>,
    next: u64,
}

impl Naive {
    fn log(&mut self, at: Duration) {
        self.journal.push((at, Change::Names(self.now.clone())));
    }

    fn make(&mut self, at: Duration, path: &str, folder: bool) -> bool {
        if self.now.contains_key(path) {
            return false;
        }
        self.next += 1;
        self.inodes.insert(
            self.next,
            Inode {
                folder,
                now: vec![],
                durable: vec![],
                syncs: 0,
                allocated: 0,
            },
        );
        self.now.insert(path.into(), self.next);
        self.log(at);
        true
    }

    fn write(&mut self, at: Duration, id: u64, offset: usize, data: &[u8]) {
        let inode = self.inodes.get_mut(&id).unwrap();
        let (syncs, allocated, bytes) = (inode.syncs, inode.allocated, &mut inode.now);
        let (length, block) = (bytes.len(), bytes.len() / 4096 * 4096);
        if offset + data.len() > length && offset < block + 4096 && block < allocated && block < length {
            let length = (offset + data.len()).min(block + 4096);
            self.journal.push((at, Change::Truncated { id, syncs, length }));
        }
        if bytes.len() < offset + data.len() {
            bytes.resize(offset + data.len(), 0);
        }
        bytes[offset..offset + data.len()].copy_from_slice(data);
    }

    fn truncate(&mut self, at: Duration, id: u64, length: usize) {
        let inode = self.inodes.get_mut(&id).unwrap();
        if inode.now.len() == length {
            return;
        }
        inode.now.resize(length, 0);
        inode.allocated = inode.allocated.min(length);
        let syncs = inode.syncs;
        self.journal.push((at, Change::Truncated { id, syncs, length }));
    }

    fn data_durable(&mut self, id: u64) {
        let inode = self.inodes.get_mut(&id).unwrap();
        inode.durable = inode.now.clone();
        inode.allocated = inode.now.len();
        inode.syncs += 1;
    }

    fn commit(&mut self, until: Duration) {
        let rest = self
            .journal
            .iter()
            .position(|(at, _)| *at > until)
            .unwrap_or(self.journal.len());
        for (_, change) in self.journal.drain(..rest) {
            match change {
                Change::Names(names) => self.durable = names,
                Change::Truncated { id, syncs, length } => {
                    let inode = self.inodes.get_mut(&id).unwrap();
                    if inode.syncs == syncs {
                        inode.durable.resize(length, 0);
                    }
                }
            }
        }
    }

    fn has_children(&self, path: &str) -> bool {
        self.now.keys().any(|k| k.starts_with(&format!("{path}/")))
    }

    fn rename(&mut self, at: Duration, from: &str, to: &str) -> bool {
        let id = self.now[from];
        let folder = self.inodes[&id].folder;
        if let Some(other) = self.now.get(to) {
            if *other == id {
                return true;
            }
            if self.inodes[other].folder != folder || self.has_children(to) {
                return false;
            }
        }
        if to.starts_with(&format!("{from}/")) {
            return false;
        }
        self.now.remove(to);
        let below: Vec<String> = self
            .now
            .keys()
            .filter(|k| *k == from || k.starts_with(&format!("{from}/")))
            .cloned()
            .collect();
        for key in below {
            let id = self.now.remove(&key).unwrap();
            self.now.insert(format!("{to}{}", &key[from.len()..]), id);
        }
        self.log(at);
        true
    }

    fn tree(&self, names: &Names, durable: bool) -> BTreeMap<String, Option<Vec<u8>>> {
        let content = |i: &Inode| match (i.folder, durable) {
            (true, _) => None,
            (false, true) => Some(i.durable.clone()),
            (false, false) => Some(i.now.clone()),
        };
        names
            .iter()
            .map(|(k, id)| (k.clone(), content(&self.inodes[id])))
            .collect()
    }

    fn cut(&mut self) {
        self.now = self.durable.clone();
        self.journal.clear();
        for inode in self.inodes.values_mut() {
            inode.now = inode.durable.clone();
            inode.allocated = inode.now.len();
            inode.syncs += 1;
        }
    }
}

/// Both models, side by side.
struct Pair {
    home: Home,
    model: Model,
    naive: Naive,
    random: Random,
    at: Duration,
    sixes: u32,
    /// Open files: the model's number, the naive number.
    open: Vec<(u64, u64)>,
    fault: u64,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let home = Home::in_memory();
        let model = Model::open(home.paths(), Limits::default()).unwrap();
        let at = Duration::from_secs(1000);
        Pair {
            home,
            model,
            naive: Naive::default(),
            random: Random(seed),
            at,
            sixes: 0,
            open: vec![],
            fault: 0,
        }
    }

    fn folder(&mut self, path: &str) -> u64 {
        path.split('/')
            .filter(|p| !p.is_empty())
            .fold(ROOT, |at, p| self.model.lookup(at, OsStr::new(p)).unwrap().ino)
    }

    fn split<'a>(&mut self, path: &'a str) -> (u64, &'a OsStr) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.folder(folder), OsStr::new(name))
    }

    fn any_folder(&mut self) -> String {
        let folders: Vec<String> = self
            .naive
            .now
            .iter()
            .filter(|(k, id)| self.naive.inodes[id].folder && k.matches('/').count() < 2)
            .map(|(k, _)| format!("{k}/"))
            .collect();
        let n = self.random.below(folders.len() as u64 + 1) as usize;
        folders.get(n).cloned().unwrap_or_default()
    }

    fn any_path(&mut self) -> String {
        let kind = if self.random.below(4) == 0 { "d" } else { "f" };
        let n = self.random.below(4);
        format!("{}{kind}{n}", self.any_folder())
    }

    fn any_existing(&mut self) -> Option<String> {
        let n = self.random.below(self.naive.now.len().max(1) as u64) as usize;
        self.naive.now.keys().nth(n).cloned()
    }

    /// A file, by a name or by a descriptor of a file that may have no name any more.
    fn any_file(&mut self) -> Option<(u64, u64)> {
        if !self.open.is_empty() && self.random.below(3) == 0 {
            let n = self.random.below(self.open.len() as u64) as usize;
            return Some(self.open[n]);
        }
        let path = self.any_existing()?;
        let id = self.naive.now[&path];
        if self.naive.inodes[&id].folder {
            return None;
        }
        let (folder, name) = self.split(&path);
        Some((self.model.lookup(folder, name).unwrap().ino, id))
    }

    fn bytes(&mut self) -> Vec<u8> {
        let n = 1 + self.random.below(6000) as usize;
        let fill = self.random.below(255) as u8;
        (0..n).map(|i| fill.wrapping_add(i as u8)).collect()
    }

    fn step(&mut self) {
        self.at += Duration::from_millis(1);
        match self.random.below(100) {
            0..=24 => self.write(),
            25..=31 => self.truncate(),
            32..=45 => self.make(),
            46..=52 => self.remove(),
            53..=60 => self.rename(),
            61..=64 => self.link(),
            65..=74 => self.sync(),
            75..=77 => {
                self.model.sync_folder(self.at, ROOT).unwrap();
                self.naive.commit(self.at);
            }
            78..=81 => self.open_or_close(),
            82..=84 => self.punch(),
            85..=89 => self.wait(),
            90..=97 => self.check_read(),
            _ => self.cut(),
        }
    }

    fn write(&mut self) {
        let Some((ino, id)) = self.any_file() else { return };
        let length = self.naive.inodes[&id].now.len() as u64;
        let offset = match self.random.below(3) {
            0 => self.random.below(20_000),
            _ => length,
        };
        let data = self.bytes();
        let writer = if self.random.below(6) == 0 {
            Writer::SyncedCall
        } else {
            Writer::Call
        };
        self.model.write(self.at, ino, offset, &data, writer).unwrap();
        self.naive.write(self.at, id, offset as usize, &data);
        if writer == Writer::SyncedCall {
            self.naive.data_durable(id);
            self.naive.commit(self.at);
        }
    }

    fn truncate(&mut self) {
        let Some((ino, id)) = self.any_file() else { return };
        let length = self.random.below(20_000);
        self.model.set_length(self.at, ino, length).unwrap();
        self.naive.truncate(self.at, id, length as usize);
    }

    fn punch(&mut self) {
        let Some((ino, id)) = self.any_file() else { return };
        let (offset, length) = (self.random.below(9000), 1 + self.random.below(9000));
        match self.model.allocate(self.at, ino, offset, length, Allocate::Punch) {
            Err(nix::errno::Errno::EOPNOTSUPP) => {}
            done => {
                done.unwrap();
                let now = &mut self.naive.inodes.get_mut(&id).unwrap().now;
                let end = ((offset + length) as usize).min(now.len());
                now[(offset as usize).min(end)..end].fill(0);
            }
        }
    }

    fn make(&mut self) {
        let path = self.any_path();
        let folder = path.rsplit('/').next().unwrap().starts_with('d');
        let (parent, name) = self.split(&path);
        let made = match folder {
            true => self.model.mkdir(self.at, parent, name, 0o755, None),
            false => self.model.create(self.at, parent, name, 0o644, None),
        };
        assert_eq!(
            made.is_ok(),
            self.naive.make(self.at, &path, folder),
            "{path}: {made:?}"
        );
    }

    fn remove(&mut self) {
        let Some(path) = self.any_existing() else { return };
        let folder = self.naive.inodes[&self.naive.now[&path]].folder;
        let (parent, name) = self.split(&path);
        let done = match folder {
            true => self.model.rmdir(self.at, parent, name),
            false => self.model.unlink(self.at, parent, name),
        };
        assert_eq!(done.is_ok(), !self.naive.has_children(&path), "{path}: {done:?}");
        if done.is_ok() {
            self.naive.now.remove(&path);
            self.naive.log(self.at);
        }
    }

    fn rename(&mut self) {
        let (Some(from), to) = (self.any_existing(), self.any_path()) else {
            return;
        };
        if to.starts_with(&format!("{from}/")) {
            return; // The kernel refuses it before asking; the target's folder would be looked for in itself.
        }
        let (a, b) = (self.split(&from), self.split(&to));
        let done = self.model.rename(self.at, a, b, false);
        assert_eq!(
            done.is_ok(),
            self.naive.rename(self.at, &from, &to),
            "{from} to {to}: {done:?}"
        );
    }

    fn link(&mut self) {
        let (Some((ino, id)), to) = (self.any_file(), self.any_path()) else {
            return;
        };
        let named = self.naive.now.values().any(|v| *v == id);
        let (parent, name) = self.split(&to);
        let done = self.model.link(self.at, ino, parent, name);
        assert_eq!(
            done.is_ok(),
            named && !self.naive.now.contains_key(&to),
            "{to}: {done:?}"
        );
        if let Ok(attr) = done {
            self.naive.now.insert(to, id);
            self.naive.log(self.at);
            assert_eq!(
                attr.nlink as usize,
                self.naive.now.values().filter(|v| **v == id).count()
            );
        }
    }

    fn sync(&mut self) {
        let Some((ino, id)) = self.any_file() else { return };
        self.model.sync(self.at, ino).unwrap();
        self.naive.data_durable(id);
        self.naive.commit(self.at);
    }

    fn open_or_close(&mut self) {
        if self.open.len() > 3 {
            let (ino, _) = self.open.remove(0);
            self.model.closed(ino);
        } else if let Some((ino, id)) = self.any_file() {
            self.model.opened(ino).unwrap();
            self.open.push((ino, id));
        }
    }

    /// Six seconds, at most four times before all is written back, so that the data's age is never in doubt.
    fn wait(&mut self) {
        self.sixes += 1;
        let long = self.sixes > 3;
        self.at += Duration::from_secs(if long { 40 } else { 6 });
        self.model.tick(self.at);
        self.naive.commit(self.at - Duration::from_secs(5));
        if long {
            self.sixes = 0;
            let all: Vec<u64> = self.naive.inodes.keys().copied().collect();
            all.into_iter().for_each(|id| self.naive.data_durable(id));
        }
    }

    fn check_read(&mut self) {
        let Some((ino, id)) = self.any_file() else { return };
        let (offset, length) = (
            self.random.below(20_000) as usize,
            self.random.below(30_000) as usize,
        );
        let mut got = vec![0; length];
        let read = self.model.read(ino, offset as u64, &mut got).unwrap();
        got.truncate(read);
        let now = &self.naive.inodes[&id].now;
        let end = (offset + length).min(now.len());
        assert_eq!(got, now[offset.min(end)..end]);
        assert_eq!(self.model.attr(ino).unwrap().meta.len(), now.len() as u64);
    }

    fn cut(&mut self) {
        self.model.power_off(self.at);
        if let Some((ino, id)) = self.any_file() {
            let data = self.bytes();
            assert!(self.model.write(self.at, ino, 0, &data, Writer::Call).is_err());
            assert!(self.model.sync(self.at, ino).is_err());
            self.model
                .write(self.at, ino, 10, &data, Writer::PageCache)
                .unwrap();
            self.naive.write(self.at, id, 10, &data);
        }
        let before = self.naive.tree(&self.naive.now, false);
        assert_eq!(
            self.home.tree(),
            before,
            "the backing folder is the current state"
        );
        self.fault += 1;
        let loss = self.model.settle(self.fault, Policy::default()).unwrap();
        let after = self.naive.tree(&self.naive.durable, true);
        assert_eq!(self.home.tree(), after, "what is left is what was durable");
        self.check_ledger(&loss.line, &before);
        assert_eq!(std::fs::read_dir(self.home.paths().trash).unwrap().count(), 0);
        assert_eq!((self.model.memory(), self.model.unsynced_names()), (0, 0));
        self.naive.cut();
        self.open.clear();
        self.sixes = 0;
    }

    /// Every byte that is not as it was is in the ledger, and was saved as it was.
    fn check_ledger(&self, line: &str, before: &BTreeMap<String, Option<Vec<u8>>>) {
        let Line::Cut(cut) = serde_json::from_str(line).unwrap() else {
            panic!("{line}")
        };
        assert_eq!(cut.fault, self.fault);
        for file in &cut.files {
            let Some(Some(was)) = before.get(&file.path) else {
                continue;
            };
            if cut.files.iter().filter(|f| f.path == file.path).count() > 1 {
                continue; // A removed file that came back, and a later one of its name that went.
            }
            if was.len() as u64 != file.had_length {
                continue; // The removed one alone.
            }
            for ((from, to), saved) in file.ranges.iter().zip(&file.saved) {
                let saved = std::fs::read(self.home.paths().lost.join(saved)).unwrap();
                assert_eq!(saved, was[*from as usize..*to as usize], "{}", file.path);
            }
        }
        for (path, was) in before {
            let Some(was) = was else { continue };
            let id = self.naive.now[path];
            let left: &[u8] = match self.naive.durable.values().any(|v| *v == id) {
                true => &self.naive.inodes[&id].durable,
                false => &[],
            };
            // A file with several names is told by one of them.
            let names = self
                .naive
                .now
                .iter()
                .chain(&self.naive.durable)
                .filter(|(_, v)| **v == id)
                .map(|(k, _)| k);
            let told: Vec<(u64, u64)> = names
                .flat_map(|n| cut.files.iter().filter(move |f| f.path == *n))
                .flat_map(|f| f.ranges.clone())
                .collect();
            for (i, byte) in was.iter().enumerate() {
                let same = left.get(i).copied().unwrap_or(0) == *byte;
                let in_range = told.iter().any(|(a, z)| (*a..*z).contains(&(i as u64)));
                // Zeros nobody wrote (growth by truncation, or a hole) are no bytes to lose; neither are bytes
                // that a truncation took and its undoing brought back.
                assert!(same || in_range || *byte == 0, "{path} byte {i} of {}", was.len());
            }
        }
    }
}

#[test]
fn the_model_agrees_with_full_copies() {
    for seed in 0..200 {
        let mut pair = Pair::new(seed);
        for _ in 0..500 {
            pair.step();
        }
        pair.cut();
    }
}
