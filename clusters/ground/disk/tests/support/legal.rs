//! What a cut may leave, taken literally: the whole past is kept, and a remainder is legal if some part of that past,
//! done again on what was durable, gives it. Slow, and with no idea in common with the disk's own model.
#![allow(dead_code)] // Each test program uses a part.
use disk::Profile;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

pub type Id = u64;
pub const TOP: Id = 0;
const PAGE: usize = 4096;
const SECTOR: usize = 512;

/// A name: a folder, and what it calls it.
pub type Slot = (Id, String);

/// What a folder tree looks like: none for a folder.
pub type Tree = BTreeMap<String, Option<Vec<u8>>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Make {
        slot: Slot,
        id: Id,
    },
    Link {
        slot: Slot,
        id: Id,
    },
    Unlink {
        slot: Slot,
        id: Id,
    },
    Rmdir {
        slot: Slot,
        id: Id,
    },
    Rename {
        from: Slot,
        to: Slot,
        id: Id,
        over: Option<Id>,
    },
    /// Changes no name, but has its place among them.
    Length {
        id: Id,
    },
}

type Names = BTreeMap<Slot, Id>;

/// One thing that was done to a file's bytes since they were last durable, and all of them after it.
#[derive(Debug, Clone)]
struct Data {
    kind: Kind,
    /// Its place among the changes.
    place: usize,
    after: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Write,
    /// A write that grew the file within the last block that it had: to this length, and that is a change by itself.
    WriteInBlock(usize),
    /// The same, of what may have been written any time since.
    Late(usize),
    /// The length was set: a change by itself, too.
    Length,
}

#[derive(Debug, Clone, Default)]
struct File {
    durable: Vec<u8>,
    since: Vec<Data>,
}

/// One life of a disk: what was durable when it began, and all that was done.
#[derive(Debug, Default)]
pub struct Past {
    durable: Names,
    pub now: Names,
    folders: BTreeSet<Id>,
    /// What each may be on the disk. All that one may be has the same bytes now, seen through the cache.
    files: HashMap<Id, Vec<File>>,
    changes: Vec<(Duration, Change)>,
    /// ext4 has committed so many of them.
    committed: usize,
    /// Folders that were synced, and how many changes there had been.
    syncs: Vec<(usize, Id)>,
    next: Id,
    /// A real file system's past: see "What real ones do" on the page.
    pub real: bool,
    /// An xfs's: what a truncation has cut off within a block may be there again when the file has grown over it.
    pub old_tails: bool,
    /// What was in files in earlier lives, and may still be in their last blocks, past their ends.
    pub stale: HashMap<Id, Vec<Vec<u8>>>,
    /// How many changes there had been when a file or folder was last changed itself.
    touched: HashMap<Id, usize>,
}

impl Past {
    /// Begins with what is in a folder.
    pub fn of(folder: &Path) -> Past {
        let mut past = Past::default();
        past.folders.insert(TOP);
        past.next = 1;
        past.take(folder, TOP, &mut HashMap::new());
        past.durable = past.now.clone();
        past
    }

    fn take(&mut self, folder: &Path, parent: Id, known: &mut HashMap<u64, Id>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let meta = entry.metadata().unwrap();
            let id = *known.entry(meta.ino()).or_insert(self.next);
            self.next = self.next.max(id + 1);
            self.now
                .insert((parent, entry.file_name().into_string().unwrap()), id);
            if meta.is_dir() {
                self.folders.insert(id);
                self.take(&entry.path(), id, known);
            } else {
                let file = File::of(fs::read(entry.path()).unwrap());
                self.files.insert(id, vec![file]);
            }
        }
    }

    pub fn is_folder(&self, id: Id) -> bool {
        self.folders.contains(&id)
    }

    pub fn names(&self) -> usize {
        self.changes
            .iter()
            .filter(|(_, c)| !matches!(c, Change::Length { .. }))
            .count()
    }

    /// Any folder that is not too deep; `below` draws a number below one.
    pub fn any_folder(&self, mut below: impl FnMut(u64) -> u64) -> Id {
        let mut all = vec![TOP];
        let deep = |path: &str| path.matches('/').count() >= 2;
        let paths = self.paths().into_iter();
        all.extend(
            paths
                .filter(|(p, id)| self.is_folder(*id) && !deep(p))
                .map(|(_, id)| id),
        );
        all[below(all.len() as u64) as usize]
    }

    /// A name in any folder, there or not.
    pub fn any_slot(&self, mut below: impl FnMut(u64) -> u64) -> Slot {
        let kind = ["f", "f", "f", "d"][below(4) as usize];
        let name = format!("{kind}{}", below(3));
        (self.any_folder(below), name)
    }

    /// A name that is there.
    pub fn any_there(&self, mut below: impl FnMut(u64) -> u64) -> Option<Slot> {
        let all: Vec<Slot> = self.now.keys().cloned().collect();
        let n = below(all.len() as u64 + u64::from(all.is_empty()));
        all.get(n as usize).cloned()
    }

    /// A file that is there, by a path of its.
    pub fn any_file(&self, mut below: impl FnMut(u64) -> u64) -> Option<(String, Id)> {
        let paths = self.paths().into_iter();
        let files: Vec<_> = paths.filter(|(_, id)| !self.is_folder(*id)).collect();
        if files.is_empty() {
            return None;
        }
        Some(files[below(files.len() as u64) as usize].clone())
    }

    /// Every name there is, with its path.
    pub fn paths(&self) -> BTreeMap<String, Id> {
        paths(&self.now)
    }

    pub fn content(&self, id: Id) -> &[u8] {
        let file = &self.files[&id][0];
        file.since.last().map_or(&file.durable, |d| &d.after)
    }

    pub fn tree(&self) -> Tree {
        let all = self.paths().into_iter();
        all.map(|(path, id)| (path, (!self.is_folder(id)).then(|| self.content(id).to_vec())))
            .collect()
    }

    pub fn write(&mut self, now: Duration, id: Id, at: usize, bytes: &[u8]) {
        let (was, end) = (self.content(id).len(), at + bytes.len());
        let block = was / PAGE * PAGE;
        let place = self.changes.len();
        let mut after = self.content(id).to_vec();
        after.resize(after.len().max(at + bytes.len()), 0);
        after[at..at + bytes.len()].copy_from_slice(bytes);
        // Also by what begins beyond it: its end is filled with zeros then.
        let grows = end > was && was > block;
        let mut any_in_block = false;
        for file in self.files.get_mut(&id).unwrap() {
            let in_block = grows && file.allocated() > block;
            any_in_block |= in_block;
            let kind = match in_block {
                true => Kind::WriteInBlock(end.min(block + PAGE)),
                false => Kind::Write,
            };
            let after = after.clone();
            file.since.push(Data { kind, place, after });
        }
        if any_in_block {
            self.changes.push((now, Change::Length { id }));
        }
        self.touched.insert(id, self.changes.len());
    }

    pub fn set_length(&mut self, now: Duration, id: Id, length: usize) {
        let mut after = self.content(id).to_vec();
        if after.len() == length {
            return;
        }
        after.resize(length, 0);
        let (kind, place) = (Kind::Length, self.changes.len());
        self.changes.push((now, Change::Length { id }));
        for file in self.files.get_mut(&id).unwrap() {
            let after = after.clone();
            file.since.push(Data { kind, place, after });
        }
        self.touched.insert(id, self.changes.len());
    }

    fn change(&mut self, now: Duration, change: Change) -> bool {
        let done = apply(&mut self.now, &change);
        if done {
            let whom = concerned(&change);
            self.changes.push((now, change));
            for id in whom {
                self.touched.insert(id, self.changes.len());
            }
        }
        done
    }

    /// Makes a file or folder; false where that cannot be. So do the others.
    pub fn make(&mut self, now: Duration, slot: Slot, folder: bool) -> bool {
        let id = self.next;
        let done = self.change(now, Change::Make { slot, id });
        if done {
            self.next += 1;
            match folder {
                true => drop(self.folders.insert(id)),
                false => drop(self.files.insert(id, vec![File::default()])),
            }
        }
        done
    }

    pub fn link(&mut self, now: Duration, id: Id, slot: Slot) -> bool {
        self.change(now, Change::Link { slot, id })
    }

    pub fn remove(&mut self, now: Duration, slot: Slot) -> bool {
        let id = self.now[&slot];
        let change = match self.is_folder(id) {
            true => Change::Rmdir { slot, id },
            false => Change::Unlink { slot, id },
        };
        self.change(now, change)
    }

    pub fn rename(&mut self, now: Duration, from: Slot, to: Slot) -> bool {
        let (id, over) = (self.now[&from], self.now.get(&to).copied());
        if over == Some(id) {
            return true;
        }
        if over.is_some_and(|over| self.is_folder(over) != self.is_folder(id)) {
            return false;
        }
        self.change(now, Change::Rename { from, to, id, over })
    }

    pub fn sync(&mut self, id: Id) {
        self.data_durable(id);
        self.commit_for(id);
    }

    /// The journal is committed by the sync of a file or folder. A real one has nothing to commit where that was not
    /// changed since it was last committed: sure is all until its own last change.
    fn commit_for(&mut self, id: Id) {
        let sure = match self.real {
            true => self.touched.get(&id).copied().unwrap_or(0),
            false => self.changes.len(),
        };
        self.committed = self.committed.max(sure);
    }

    /// A write with O_SYNC or O_DSYNC: its own pages, as they are now, and perhaps the whole file: a kernel may write
    /// back what it likes, and that of a FUSE mount asks for the file's sync.
    pub fn sync_pages(&mut self, id: Id, at: usize, bytes: usize) {
        self.commit_for(id);
        let now = self.content(id).to_vec();
        let (from, to) = (
            at / PAGE * PAGE,
            now.len().min((at + bytes).div_ceil(PAGE) * PAGE),
        );
        let files = self.files.get_mut(&id).unwrap();
        files.iter_mut().for_each(|file| file.sync_pages(&now, from, to));
        files.retain(|file| !file.since.is_empty());
        files.push(File::of(now));
    }

    pub fn sync_folder(&mut self, folder: Id) {
        self.commit_for(folder);
        self.syncs.push((self.changes.len(), folder));
    }

    fn data_durable(&mut self, id: Id) {
        let durable = self.content(id).to_vec();
        self.files.insert(id, vec![File::of(durable)]);
    }

    pub fn all_data_durable(&mut self) {
        let all: Vec<Id> = self.files.keys().copied().collect();
        all.into_iter().for_each(|id| self.data_durable(id));
    }

    /// ext4 writes names and lengths back that were changed until then.
    pub fn commit_until(&mut self, then: Duration) {
        let old = self.changes.iter().take_while(|(at, _)| *at <= then).count();
        self.committed = self.committed.max(old);
    }

    /// Whether a cut may leave this.
    pub fn allows(&self, profile: Profile, left: &Tree) -> bool {
        match profile {
            Profile::Ext4 => (self.committed..=self.changes.len()).any(|done| {
                let mut names = self.durable.clone();
                let all = self.changes[..done].iter().all(|(_, c)| apply(&mut names, c));
                assert!(all, "a beginning of the past can always be done again");
                self.is(&names, left, done)
            }),
            _ => self.allows_strictly(&self.durable, 0, &mut vec![], left),
        }
    }

    /// Tries every part of the past, change by change.
    fn allows_strictly(&self, names: &Names, at: usize, done: &mut Vec<bool>, left: &Tree) -> bool {
        let Some((_, change)) = self.changes.get(at) else {
            return self.heeds_syncs(names, done) && self.is_with_any_lengths(names, left);
        };
        let mut more = names.clone();
        let mut allowed = false;
        if apply(&mut more, change) {
            done.push(true);
            allowed = self.allows_strictly(&more, at + 1, done, left);
            done.pop();
        }
        if !allowed && !matches!(change, Change::Length { .. }) {
            done.push(false);
            allowed = self.allows_strictly(names, at + 1, done, left);
            done.pop();
        }
        allowed
    }

    /// A folder that was synced, and is there, has lost no change that was made in it before.
    fn heeds_syncs(&self, names: &Names, done: &[bool]) -> bool {
        let there = |folder: Id| folder == TOP || names.values().any(|id| *id == folder);
        self.syncs
            .iter()
            .filter(|(_, folder)| there(*folder))
            .all(|(before, folder)| {
                let past = self.changes[..*before].iter().zip(done);
                past.filter(|((_, change), _)| is_in(change, *folder))
                    .all(|(_, done)| *done)
            })
    }

    /// Lengths are the files' own here: of each file any beginning of what was not committed.
    fn is_with_any_lengths(&self, names: &Names, left: &Tree) -> bool {
        let ids: BTreeSet<Id> = names.values().copied().collect();
        if !same_names(&paths(names), left, |id| self.is_folder(id)) {
            return false;
        }
        ids.into_iter().filter(|id| !self.is_folder(*id)).all(|id| {
            let of_it = paths(names).into_iter().filter(|(_, other)| *other == id);
            let contents: Vec<Vec<u8>> = of_it.filter_map(|(path, _)| left[&path].clone()).collect();
            (self.committed..=self.changes.len())
                .any(|kept| contents.iter().all(|c| self.file_may_be(id, c, kept, usize::MAX)))
        })
    }

    fn is(&self, names: &Names, left: &Tree, done: usize) -> bool {
        let paths = paths(names);
        same_names(&paths, left, |id| self.is_folder(id))
            && paths.iter().all(|(path, id)| match &left[path] {
                Some(content) if self.real => self.real_file_may_be(*id, content, done),
                Some(content) => self.file_may_be(*id, content, done, done),
                None => true,
            })
    }

    /// `lengths` changes of length were kept; what needs new blocks was written before the change `blocks`.
    fn file_may_be(&self, id: Id, content: &[u8], lengths: usize, blocks: usize) -> bool {
        let mut files = self.files[&id].iter();
        files.any(|file| file.may_be(content, lengths, blocks))
    }
}

impl File {
    fn of(durable: Vec<u8>) -> File {
        let since = Vec::new();
        File { durable, since }
    }

    /// Up to where it has blocks that are durable.
    fn allocated(&self) -> usize {
        let cuts = self.since.iter().filter(|d| d.kind == Kind::Length);
        cuts.fold(self.durable.len(), |least, d| least.min(d.after.len()))
    }

    fn sync_pages(&mut self, now: &[u8], from: usize, to: usize) {
        // Lengths are committed: what was written before the last of them is in what came after it.
        if let Some(last) = self.since.iter().rposition(|d| d.kind == Kind::Length) {
            for set in self.since.drain(..last).filter(|d| d.kind == Kind::Length) {
                self.durable.resize(set.after.len(), 0);
            }
            self.durable.resize(self.since[0].after.len(), 0);
            self.since[0].kind = Kind::Write;
        }
        let olds = self.since.iter_mut().map(|d| &mut d.after);
        for old in olds.chain([&mut self.durable]) {
            old.resize(old.len().max(to), 0);
            old[from..to].copy_from_slice(&now[from..to]);
        }
        // What has not been written yet comes to a file that has these blocks.
        let had = self.durable.len();
        let mut was = had;
        for data in &mut self.since {
            let (end, block) = (data.after.len(), was / PAGE * PAGE);
            if end > was && was > block && had > block {
                data.kind = Kind::Late(end.min(block + PAGE));
            }
            was = was.max(end);
        }
    }

    /// See [`Past::file_may_be`].
    fn may_be(&self, content: &[u8], lengths: usize, blocks: usize) -> bool {
        let mut base = self.durable.clone();
        // Growth within a block may come by itself, or with its bytes: that length or those before it.
        let mut ends = BTreeSet::from([base.len()]);
        let mut had = base.len();
        let mut versions: Vec<Version> = Vec::new();
        let grown = |base: &[u8], end: usize| {
            let mut grown = base.to_vec();
            grown.resize(end, 0);
            grown
        };
        for data in &self.since {
            let kept = data.place < lengths;
            match data.kind {
                // Taken back, with all that was done after it.
                Kind::Length if !kept => break,
                Kind::Length => {
                    versions.clear();
                    base.resize(data.after.len(), 0);
                    ends = BTreeSet::from([base.len()]);
                    had = had.min(base.len());
                }
                Kind::WriteInBlock(length) if kept && length > base.len() => drop(ends.insert(length)),
                Kind::Late(length) if length > base.len() => drop(ends.insert(length)),
                Kind::WriteInBlock(_) | Kind::Late(_) | Kind::Write => {}
            }
            let in_time = match data.kind {
                Kind::WriteInBlock(_) => data.place < blocks,
                Kind::Write | Kind::Late(_) | Kind::Length => data.place <= blocks,
            };
            let bytes = &data.after;
            versions.push(Version { bytes, in_time });
        }
        ends.iter().any(|end| {
            let base = grown(&base, *end);
            length_may_be(content, &base, &versions)
                && (0..content.len().div_ceil(PAGE))
                    .all(|page| page_may_be(content, &base, had, &versions, page))
        })
    }
}

impl Past {
    /// All that a file was in this life.
    pub fn versions(&self, id: Id) -> Vec<Vec<u8>> {
        let file = &self.files[&id][0];
        let after = file.since.iter().map(|data| data.after.clone());
        [file.durable.clone()].into_iter().chain(after).collect()
    }

    /// What a real file system may leave of a file, where so many changes were kept: more than ours leaves. A page may
    /// be any that it ever was; growth within a block may go with the journal or with the bytes; and of a change of
    /// length that was taken back some of what came after may be there, where the blocks were there before.
    fn real_file_may_be(&self, id: Id, content: &[u8], done: usize) -> bool {
        let file = &self.files[&id][0];
        let mut base = file.durable.clone();
        let (mut had, mut length) = (base.len(), base.len());
        let block = base.len().next_multiple_of(PAGE);
        let mut stale: Vec<Vec<u8>> = self.stale.get(&id).cloned().unwrap_or_default();
        for old in &mut stale {
            old.truncate(block);
            old.splice(..base.len().min(old.len()), base.iter().copied().take(old.len()));
        }
        let mut lengths: Vec<(usize, usize)> = vec![(length, length)];
        let mut versions: Vec<RealVersion> = Vec::new();
        let mut pages_to = usize::MAX;
        for data in &file.since {
            let (after, in_time) = (&data.after, data.place <= done);
            match data.kind {
                Kind::Length if data.place < done => {
                    let zeros_from = match self.old_tails {
                        true => after.len().next_multiple_of(PAGE),
                        false => after.len(),
                    };
                    versions
                        .iter_mut()
                        .for_each(|v| v.zeros_from = v.zeros_from.min(zeros_from));
                    if self.old_tails {
                        stale.push(base.clone());
                    }
                    stale.iter_mut().for_each(|old| old.truncate(zeros_from));
                    base.resize(after.len(), 0);
                    had = had.min(base.len());
                    lengths = vec![(base.len(), base.len())];
                }
                Kind::Length => pages_to = pages_to.min(length.min(after.len()).next_multiple_of(PAGE)),
                Kind::Write | Kind::WriteInBlock(_) | Kind::Late(_) if in_time && pages_to == usize::MAX => {
                    lengths.push((length.min(after.len()), after.len()));
                    // Its blocks may be there by now; what is written later is written in place.
                    had = had.max(after.len());
                }
                Kind::Write | Kind::WriteInBlock(_) | Kind::Late(_) => {}
            }
            length = after.len();
            versions.push(RealVersion {
                bytes: after,
                in_time,
                pages_to,
                zeros_from: usize::MAX,
            });
        }
        // To where a write ended, or to the end of a page on the way there.
        let ends = |from: usize, to: usize| {
            content.len() == to
                || (from < content.len() && content.len() < to && content.len().is_multiple_of(PAGE))
        };
        lengths.iter().any(|(from, to)| ends(*from, *to))
            && (0..content.len().div_ceil(PAGE)).all(|page| {
                let (from, to) = (page * PAGE, content.len().min((page + 1) * PAGE));
                let may = versions
                    .iter()
                    .filter(|v| from < v.pages_to && (from < had || v.in_time));
                let is = |byte: &dyn Fn(usize) -> u8| (from..to).all(|i| byte(i) == content[i]);
                is(&|i| base.get(i).copied().unwrap_or(0))
                    || stale
                        .iter()
                        .any(|old| from < had && is(&|i| old.get(i).copied().unwrap_or(0)))
                    || may.into_iter().any(|v| is(&|i| v.byte(i)))
            })
    }
}

/// What a file once was on a real file system.
struct RealVersion<'a> {
    bytes: &'a [u8],
    /// Whether its new blocks may be on the disk.
    in_time: bool,
    /// A change of length before it was taken back: of the blocks from here on it has others than those that are there.
    pages_to: usize,
    /// A later truncation cut it here.
    zeros_from: usize,
}

impl RealVersion<'_> {
    fn byte(&self, i: usize) -> u8 {
        match i < self.zeros_from {
            true => self.bytes.get(i).copied().unwrap_or(0),
            false => 0,
        }
    }
}

/// Whom a change of names changes: what has the name, the folders, and what was replaced.
fn concerned(change: &Change) -> Vec<Id> {
    match change {
        Change::Length { id } => vec![*id],
        Change::Make { slot, id }
        | Change::Link { slot, id }
        | Change::Unlink { slot, id }
        | Change::Rmdir { slot, id } => vec![*id, slot.0],
        Change::Rename { from, to, id, over } => [*id, from.0, to.0].into_iter().chain(*over).collect(),
    }
}

/// What a file once was, and whether its new blocks may be on the disk.
struct Version<'a> {
    bytes: &'a [u8],
    in_time: bool,
}

fn length_may_be(content: &[u8], base: &[u8], versions: &[Version]) -> bool {
    let length = content.len();
    if length == base.len() {
        return true;
    }
    let last = length.saturating_sub(1) / PAGE * PAGE;
    versions.iter().filter(|v| v.in_time).any(|v| {
        length > base.len()
            && length == v.bytes.len().min(last + PAGE)
            && content[last..] == v.bytes[last..length]
    })
}

fn page_may_be(content: &[u8], base: &[u8], had: usize, versions: &[Version], page: usize) -> bool {
    let (from, to) = (page * PAGE, content.len().min((page + 1) * PAGE));
    let is = |a: usize, z: usize| {
        let same = |v: &[u8]| (a..z).all(|i| v.get(i).copied().unwrap_or(0) == content[i]);
        let in_place = from < had;
        let mut may = versions.iter().filter(|v| in_place || v.in_time);
        same(base) || may.any(|v| same(v.bytes))
    };
    // Whatever was there before the last write may have been written back by then.
    let earlier = versions.iter().rev().skip(1).map(|v| v.bytes.len());
    if (page + 1) * PAGE <= earlier.fold(base.len(), usize::max) {
        (from..to).step_by(SECTOR).all(|a| is(a, to.min(a + SECTOR)))
    } else {
        is(from, to)
    }
}

/// Does one change the very way it was done; false where that cannot be.
fn apply(names: &mut Names, change: &Change) -> bool {
    let there = |names: &Names, id: Id| id == TOP || names.values().any(|other| *other == id);
    let empty = |names: &Names, id: Id| names.keys().all(|(folder, _)| *folder != id);
    match change {
        Change::Length { .. } => true,
        Change::Make { slot, id } => {
            there(names, slot.0) && !names.contains_key(slot) && names.insert(slot.clone(), *id).is_none()
        }
        Change::Link { slot, id } => {
            there(names, slot.0)
                && there(names, *id)
                && !names.contains_key(slot)
                && names.insert(slot.clone(), *id).is_none()
        }
        Change::Unlink { slot, id } => names.get(slot) == Some(id) && names.remove(slot).is_some(),
        Change::Rmdir { slot, id } => {
            names.get(slot) == Some(id) && empty(names, *id) && names.remove(slot).is_some()
        }
        Change::Rename { from, to, id, over } => {
            let can = there(names, to.0)
                && names.get(from) == Some(id)
                && names.get(to).copied() == *over
                && over.is_none_or(|over| empty(names, over))
                && !is_below(names, to.0, *id);
            if can {
                names.remove(from);
                names.insert(to.clone(), *id);
            }
            can
        }
    }
}

/// Whether a folder is another, or in it.
fn is_below(names: &Names, mut folder: Id, above: Id) -> bool {
    while folder != TOP {
        if folder == above {
            return true;
        }
        let Some((slot, _)) = names.iter().find(|(_, id)| **id == folder) else {
            return false;
        };
        folder = slot.0;
    }
    false
}

fn is_in(change: &Change, folder: Id) -> bool {
    match change {
        Change::Length { .. } => false,
        Change::Make { slot, .. }
        | Change::Link { slot, .. }
        | Change::Unlink { slot, .. }
        | Change::Rmdir { slot, .. } => slot.0 == folder,
        Change::Rename { from, to, .. } => from.0 == folder || to.0 == folder,
    }
}

fn paths(names: &Names) -> BTreeMap<String, Id> {
    let mut found = BTreeMap::new();
    let mut open = vec![(TOP, String::new())];
    while let Some((folder, prefix)) = open.pop() {
        for ((_, name), id) in names.iter().filter(|((f, _), _)| *f == folder) {
            let path = format!("{prefix}{name}");
            found.insert(path.clone(), *id);
            open.push((*id, format!("{path}/")));
        }
    }
    found
}

fn same_names(paths: &BTreeMap<String, Id>, left: &Tree, is_folder: impl Fn(Id) -> bool) -> bool {
    paths.len() == left.len()
        && paths.iter().all(|(path, id)| {
            left.get(path)
                .is_some_and(|content| content.is_none() == is_folder(*id))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(files: &[(&str, &[u8])]) -> Past {
        let mut past = Past {
            next: 1,
            ..Past::default()
        };
        past.folders.insert(TOP);
        for (name, bytes) in files {
            let id = past.next;
            past.next += 1;
            past.now.insert((TOP, name.to_string()), id);
            past.files.insert(id, vec![File::of(bytes.to_vec())]);
        }
        past.durable = past.now.clone();
        past
    }

    fn tree(files: &[(&str, &[u8])]) -> Tree {
        let all = files.iter();
        all.map(|(name, bytes)| (name.to_string(), Some(bytes.to_vec())))
            .collect()
    }

    /// The reference has to refuse, or it checks nothing.
    #[test]
    fn what_is_not_legal_is_refused() {
        let slot = |name: &str| (TOP, name.to_string());
        let mut p = past(&[("a", b"old"), ("m", b"")]);
        p.write(Duration::ZERO, 1, 3, b"tail");
        p.make(Duration::ZERO, slot("n"), false);
        p.remove(Duration::ZERO, slot("m"));
        let legal: [&[(&str, &[u8])]; 5] = [
            &[("a", b"old"), ("m", b"")],
            &[("a", b"oldtail"), ("m", b"")],
            &[("a", b"oldtail"), ("m", b""), ("n", b"")],
            &[("a", b"oldtail"), ("n", b"")],
            &[("a", b"old\0\0\0\0"), ("n", b"")],
        ];
        for left in legal {
            assert!(p.allows(Profile::Ext4, &tree(left)), "{left:?}");
            assert!(p.allows(Profile::PosixStrict, &tree(left)), "{left:?}");
        }
        let illegal: [&[(&str, &[u8])]; 5] = [
            &[("a", b"oldta"), ("m", b"")],
            &[("a", b"oldtaiX"), ("m", b"")],
            &[("a", b"old\0"), ("m", b"")],
            &[("a", b""), ("m", b"")],
            &[("m", b"")],
        ];
        for left in illegal {
            assert!(!p.allows(Profile::Ext4, &tree(left)), "{left:?}");
            assert!(!p.allows(Profile::PosixStrict, &tree(left)), "{left:?}");
        }
        // The file grew within its block: with its bytes only, where the kernel had not written them yet.
        let name_first = tree(&[("a", b"old"), ("m", b""), ("n", b"")]);
        assert!(p.allows(Profile::Ext4, &name_first) && p.allows(Profile::PosixStrict, &name_first));
        // The later change without the earlier one: not in one journal.
        let later = tree(&[("a", b"old")]);
        assert!(!p.allows(Profile::Ext4, &later) && p.allows(Profile::PosixStrict, &later));
        // A file's sync commits names for ext4 alone, a folder's for both.
        let before = tree(legal[1]);
        p.sync(1);
        assert!(!p.allows(Profile::Ext4, &before) && p.allows(Profile::PosixStrict, &before));
        p.sync_folder(TOP);
        assert!(!p.allows(Profile::PosixStrict, &before));
        assert!(p.allows(Profile::PosixStrict, &tree(legal[3])));
    }

    /// What a real one may leave is more, and not everything.
    #[test]
    fn of_a_real_one_too_what_is_not_legal_is_refused() {
        let old = [1; PAGE + 100];
        let mut p = past(&[("a", &old), ("m", b"")]);
        p.real = true;
        p.write(Duration::ZERO, 1, PAGE + 100, &[2; 50]);
        p.make(Duration::ZERO, (TOP, "n".into()), false);
        p.set_length(Duration::ZERO, 1, 10);
        let a = |tail: &[u8]| [&old[..], tail].concat();
        let with = |bytes: &[u8], n: bool| {
            let all = [("a", bytes), ("m", b"".as_slice()), ("n", b"")];
            tree(&all[..if n { 3 } else { 2 }])
        };
        let legal = [
            with(&old, false),
            with(&a(&[2; 50]), false),
            with(&a(&[0; 50]), false),
            with(&old, true),
            with(&[1; 10], true),
            // Of a truncation that was taken back, the rest of its block.
            with(&[&[1; 10][..], &[0; PAGE - 10], &old[PAGE..]].concat(), true),
        ];
        for (i, left) in legal.iter().enumerate() {
            assert!(p.allows(Profile::Ext4, left), "{i}");
        }
        let illegal = [
            with(&a(&[3; 50]), false),
            with(&a(&[2; 51]), false),
            with(&a(&[2; 49]), false),
            with(&[1; 10], false),
            with(&old[..PAGE], false),
            tree(&[("m", b""), ("n", b"")]),
            tree(&[("a", &old), ("n", b"")]),
        ];
        for (i, left) in illegal.iter().enumerate() {
            assert!(!p.allows(Profile::Ext4, left), "{i}");
        }
        // A sync of what was not changed commits nothing; of what was, all until then.
        p.sync(2);
        assert!(p.allows(Profile::Ext4, &legal[0]));
        p.sync_folder(TOP);
        assert!(!p.allows(Profile::Ext4, &legal[0]) && p.allows(Profile::Ext4, &legal[3]));
        p.sync(1);
        assert!(!p.allows(Profile::Ext4, &legal[3]) && p.allows(Profile::Ext4, &legal[4]));
        // Bytes of an earlier life, in the last block and no further.
        let mut p = past(&[("a", &old)]);
        p.real = true;
        p.write(Duration::ZERO, 1, PAGE + 100, &[2; 50]);
        assert!(!p.allows(Profile::Ext4, &tree(&[("a", &a(&[9; 50]))])));
        p.stale.insert(1, vec![vec![9; 3 * PAGE]]);
        assert!(p.allows(Profile::Ext4, &tree(&[("a", &a(&[9; 50]))])));
        assert!(!p.allows(Profile::Ext4, &tree(&[("a", &[9; PAGE + 150])])));
    }

    #[test]
    fn new_blocks_come_after_the_names_before_them() {
        let page = [1; PAGE];
        let mut p = past(&[("a", &page)]);
        p.make(Duration::ZERO, (TOP, "n".into()), false);
        p.write(Duration::ZERO, 1, PAGE, b"new block");
        let grown = [&page[..], b"new block"].concat();
        let alone = tree(&[("a", &grown)]);
        assert!(!p.allows(Profile::Ext4, &alone) && p.allows(Profile::PosixStrict, &alone));
        let both = tree(&[("a", &grown), ("n", b"")]);
        assert!(p.allows(Profile::Ext4, &both) && p.allows(Profile::PosixStrict, &both));
    }

    #[test]
    fn torn_is_legal_between_sectors_of_a_durable_page_only() {
        let mut p = past(&[("a", &[1; PAGE])]);
        p.write(Duration::ZERO, 1, 0, &[2; 2 * PAGE]);
        let with = |sector: usize, length: usize| {
            let mut bytes = vec![1; PAGE];
            bytes[sector..sector + SECTOR].fill(2);
            bytes.resize(length, 2);
            tree(&[("a", &bytes)])
        };
        assert!(p.allows(Profile::Ext4, &with(SECTOR, PAGE)));
        assert!(p.allows(Profile::Ext4, &with(SECTOR, 2 * PAGE)));
        assert!(!p.allows(Profile::Ext4, &with(SECTOR + 1, PAGE)));
        assert!(!p.allows(Profile::Ext4, &with(SECTOR, PAGE + SECTOR)));
    }
}
