//! Changes of names and lengths that a cut could take back.
//!
//! Two notions of durable live side by side. ext4's journal commits everything up to a point: one number. Strictly, a
//! change of names is durable once a folder that it is in was synced, together with what it builds on: earlier changes
//! of the same name or inode, and the making of every *other* folder that it is in. The making of the synced folder
//! itself is its own parent's business: where that is lost, so is what was in it. An entry leaves the journal when
//! it is durable in the strict sense.
use super::nodes::Name;
use crate::draw::Draw;
use crate::{Policy, Profile, Remainder};
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// How to take one change of names back.
#[derive(Debug, Clone)]
pub(super) enum Undo {
    /// A new inode, or a further link to one.
    Created { ino: u64, name: Name, fresh: bool },
    /// Moved to the trash.
    Removed { ino: u64, name: Name, trash: u64 },
    /// Renamed, perhaps over something that is in the trash now.
    Renamed {
        ino: u64,
        from: Name,
        to: Name,
        replaced: Option<(u64, u64)>,
        folder: bool,
    },
}

impl Undo {
    fn slots(&self) -> impl Iterator<Item = &Name> {
        let (one, other) = match self {
            Undo::Created { name, .. } | Undo::Removed { name, .. } => (name, None),
            Undo::Renamed { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(one).chain(other)
    }

    fn is_in(&self, folder: u64) -> bool {
        self.slots().any(|name| name.folder == folder)
    }

    fn inodes(&self) -> impl Iterator<Item = u64> {
        let (one, other) = match self {
            Undo::Created { ino, .. } | Undo::Removed { ino, .. } => (*ino, None),
            Undo::Renamed { ino, replaced, .. } => (*ino, replaced.map(|(other, _)| other)),
        };
        std::iter::once(one).chain(other)
    }

    /// What it moved to the trash: inode and number there.
    pub(super) fn trashed(&self) -> Option<(u64, u64)> {
        match self {
            Undo::Created { .. } => None,
            Undo::Removed { ino, trash, .. } => Some((*ino, *trash)),
            Undo::Renamed { replaced, .. } => *replaced,
        }
    }

    fn moves_a_folder(&self) -> bool {
        matches!(self, Undo::Renamed { folder: true, .. })
    }
}

/// One change of names.
#[derive(Debug)]
struct Entry {
    at: Duration,
    number: u64,
    /// A folder that it is in was synced since; it may still wait for that folder's own name.
    synced: bool,
    undo: Undo,
}

/// One change of a length, other than by a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    at: Duration,
    number: u64,
    pub(super) ino: u64,
    pub(super) generation: u64,
    pub(super) length: u64,
    /// A write grew the file within a block that it had.
    pub(super) by_write: bool,
}

/// The changes that are not durable, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Journal {
    names: VecDeque<Entry>,
    lengths: VecDeque<Length>,
    /// Numbers names and lengths together, from 1.
    numbers: u64,
    /// ext4 has committed all up to this number.
    committed: u64,
}

/// What a cut keeps of the journal.
pub(super) struct Choice {
    /// One for each change of names.
    names: Vec<bool>,
    /// Lengths up to this number.
    lengths: u64,
    /// How far the one journal has come, where there is one.
    until: Option<u64>,
}

impl Choice {
    pub(super) fn keeps(&self, length: &Length) -> bool {
        length.number <= self.lengths
    }

    /// How far the one journal has come, where there is one.
    pub(super) fn until(&self) -> Option<u64> {
        self.until
    }
}

impl Journal {
    /// Changes of names, however durable.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Changes of names that ext4 has not committed.
    pub(super) fn uncommitted(&self) -> usize {
        self.names.len() - self.names.partition_point(|e| e.number <= self.committed)
    }

    pub(super) fn push(&mut self, now: Duration, undo: Undo) {
        self.numbers += 1;
        self.names.push_back(Entry {
            at: now,
            number: self.numbers,
            synced: false,
            undo,
        });
    }

    pub(super) fn push_length(
        &mut self,
        now: Duration,
        (ino, generation): (u64, u64),
        length: u64,
        by_write: bool,
    ) {
        self.numbers += 1;
        self.lengths.push_back(Length {
            at: now,
            number: self.numbers,
            ino,
            generation,
            length,
            by_write,
        });
    }

    pub(super) fn newest(&self) -> u64 {
        self.numbers
    }

    /// The number of the newest change that is at least so old.
    pub(super) fn older_than(&self, now: Duration, age: Duration) -> u64 {
        let old = |at: Duration| now.saturating_sub(at) >= age;
        let names = self.names.partition_point(|e| old(e.at));
        let lengths = self.lengths.partition_point(|l| old(l.at));
        let name = names.checked_sub(1).map_or(0, |i| self.names[i].number);
        let length = lengths.checked_sub(1).map_or(0, |i| self.lengths[i].number);
        name.max(length)
    }

    /// ext4 commits all up to `number`; the lengths among it.
    pub(super) fn commit(&mut self, number: u64) -> Vec<Length> {
        self.committed = self.committed.max(number);
        let count = self.lengths.partition_point(|l| l.number <= number);
        self.lengths.drain(..count).collect()
    }

    /// Takes out the oldest `count` changes of names; they are durable in every sense. Those, and the newest number.
    pub(super) fn take_oldest(&mut self, count: usize) -> (Vec<Undo>, u64) {
        let taken: Vec<Entry> = self.names.drain(..count.min(self.names.len())).collect();
        let newest = taken.last().map_or(0, |e| e.number);
        (taken.into_iter().map(|e| e.undo).collect(), newest)
    }

    /// Takes out the oldest change of names, if ext4 has committed it.
    pub(super) fn take_committed(&mut self) -> Option<Undo> {
        let committed = self.names.front().is_some_and(|e| e.number <= self.committed);
        committed
            .then(|| self.names.pop_front())
            .flatten()
            .map(|e| e.undo)
    }

    /// A folder was synced: takes out what is durable by that.
    pub(super) fn sync_folder(&mut self, folder: u64) -> Vec<Undo> {
        // One that was synced and is still here waits for a folder that the sync of another brings with it.
        if !self.names.iter().any(|e| e.undo.is_in(folder)) {
            return Vec::new();
        }
        let mut needed = Needed::default();
        for entry in self.names.iter_mut().rev() {
            if entry.undo.is_in(folder) || needed.has(&entry.undo) {
                entry.synced = true;
                needed.add(&entry.undo, folder);
            }
        }
        let durable = self.closed(|e| e.synced);
        let all = std::mem::take(&mut self.names);
        let mut gone = Vec::new();
        for (entry, durable) in all.into_iter().zip(durable) {
            match durable {
                true => gone.push(entry.undo),
                false => self.names.push_back(entry),
            }
        }
        gone
    }

    /// Of the changes that are wanted, those whose every foundation is wanted, too.
    fn closed(&self, mut wanted: impl FnMut(&Entry) -> bool) -> Vec<bool> {
        let mut missing = Missing::default();
        let keep = |entry: &Entry| {
            let keep = wanted(entry) && missing.allows(&entry.undo);
            if !keep {
                missing.add(&entry.undo);
            }
            keep
        };
        self.names.iter().map(keep).collect()
    }

    /// What a cut keeps.
    pub(super) fn choose(&self, policy: Policy) -> Choice {
        let mut draw = Draw::new(policy.seed, 0);
        match policy.profile {
            Profile::Ext4 => {
                let until = self.until(policy.remainder, &mut draw);
                let names = self.names.iter().map(|e| e.number <= until).collect();
                Choice {
                    names,
                    lengths: until,
                    until: Some(until),
                }
            }
            Profile::PosixStrict => self.choose_strictly(policy.remainder, &mut draw),
        }
    }

    /// The number up to which ext4 committed, by luck or by order.
    fn until(&self, remainder: Remainder, draw: &mut Draw) -> u64 {
        let open = |number: &u64| *number > self.committed;
        let names = self.names.iter().map(|e| e.number).filter(open);
        let mut numbers: Vec<u64> = names.chain(self.lengths.iter().map(|l| l.number)).collect();
        numbers.sort_unstable();
        numbers.insert(0, self.committed);
        let last = numbers.len() - 1;
        let first_name = self.names.iter().map(|e| e.number).find(open);
        match remainder {
            Remainder::OnlySynced => self.committed,
            Remainder::AllButTheTail => numbers[last.saturating_sub(1)],
            Remainder::NamesWithoutData | Remainder::Everything => numbers[last],
            Remainder::DataWithoutNames => first_name.map_or(numbers[last], |number| number - 1),
            Remainder::RandomPages | Remainder::RandomPrefix | Remainder::Torn => {
                numbers[draw.below(numbers.len() as u64) as usize]
            }
        }
    }

    fn choose_strictly(&self, remainder: Remainder, draw: &mut Draw) -> Choice {
        let newest = self.names.back().map_or(0, |e| e.number);
        let often = [1, 4, 7][draw.below(3) as usize];
        let wanted = |e: &Entry| {
            e.synced
                || match remainder {
                    Remainder::OnlySynced | Remainder::DataWithoutNames => false,
                    Remainder::AllButTheTail => e.number != newest,
                    Remainder::NamesWithoutData | Remainder::Everything => true,
                    Remainder::RandomPages | Remainder::RandomPrefix | Remainder::Torn => draw.eighths(often),
                }
        };
        let names = self.closed(wanted);
        // Lengths are the files' own, and no name keeps them back.
        let all = self.lengths.back().map_or(0, |l| l.number);
        let lengths = match remainder {
            Remainder::OnlySynced => 0,
            Remainder::RandomPages | Remainder::RandomPrefix | Remainder::Torn => {
                let count = draw.below(self.lengths.len() as u64 + 1) as usize;
                count.checked_sub(1).map_or(0, |i| self.lengths[i].number)
            }
            _ => all,
        };
        Choice {
            names,
            lengths,
            until: None,
        }
    }

    /// What a choice takes back, the latest first.
    pub(super) fn undone(&self, choice: &Choice) -> Vec<Undo> {
        let pairs = self.names.iter().zip(&choice.names).rev();
        pairs
            .filter(|(_, kept)| !**kept)
            .map(|(e, _)| e.undo.clone())
            .collect()
    }

    /// What a choice keeps though nobody synced it, the oldest first.
    pub(super) fn kept(&self, choice: &Choice, profile: Profile) -> Vec<Undo> {
        let unsynced = |e: &Entry| match profile {
            Profile::Ext4 => e.number > self.committed,
            Profile::PosixStrict => !e.synced,
        };
        let pairs = self.names.iter().zip(&choice.names);
        pairs
            .filter(|(e, kept)| **kept && unsynced(e))
            .map(|(e, _)| e.undo.clone())
            .collect()
    }

    /// Changes of lengths, the oldest first.
    pub(super) fn lengths(&self) -> impl Iterator<Item = &Length> {
        self.lengths.iter()
    }

    /// A cut was made: what is left is what is durable.
    pub(super) fn clear(&mut self) {
        self.committed = self.numbers;
        self.names.clear();
        self.lengths.clear();
    }
}

/// What synced changes build on; filled from the newest to the oldest.
#[derive(Default)]
struct Needed {
    slots: HashSet<Name>,
    inodes: HashSet<u64>,
    removed: HashSet<u64>,
    a_folder_moved: bool,
}

impl Needed {
    fn has(&self, undo: &Undo) -> bool {
        undo.slots()
            .any(|name| self.slots.contains(name) || self.removed.contains(&name.folder))
            || undo.inodes().any(|ino| self.inodes.contains(&ino))
            // Two folders must not come to be in each other.
            || (self.a_folder_moved && undo.moves_a_folder())
    }

    fn add(&mut self, undo: &Undo, synced: u64) {
        let others = undo.slots().map(|name| name.folder).filter(|f| *f != synced);
        self.inodes.extend(others.chain(undo.inodes()));
        self.slots.extend(undo.slots().cloned());
        self.removed.extend(undo.trashed().map(|(ino, _)| ino));
        self.a_folder_moved |= undo.moves_a_folder();
    }
}

/// What changes that are taken back leave no ground for; filled from the oldest to the newest.
#[derive(Default)]
struct Missing {
    slots: HashSet<Name>,
    inodes: HashSet<u64>,
    made: HashSet<u64>,
    changed: HashSet<u64>,
    a_folder_moved: bool,
}

impl Missing {
    fn allows(&self, undo: &Undo) -> bool {
        !(undo
            .slots()
            .any(|name| self.slots.contains(name) || self.made.contains(&name.folder))
            || undo.inodes().any(|ino| self.inodes.contains(&ino))
            || undo.trashed().is_some_and(|(ino, _)| self.changed.contains(&ino))
            || (self.a_folder_moved && undo.moves_a_folder()))
    }

    fn add(&mut self, undo: &Undo) {
        if let Undo::Created { ino, fresh: true, .. } = undo {
            self.made.insert(*ino);
        }
        self.inodes.extend(undo.inodes());
        self.slots.extend(undo.slots().cloned());
        self.changed.extend(undo.slots().map(|name| name.folder));
        self.a_folder_moved |= undo.moves_a_folder();
    }
}
