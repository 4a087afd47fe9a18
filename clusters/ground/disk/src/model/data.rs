//! Bytes: reading, writing, lengths, syncs.
use super::Model;
use super::journal::Length;
use super::unsynced::{Unsynced, read_up_to};
use crate::backing::errno;
use crate::ranges::Ranges;
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::unistd::{Whence, lseek};
use std::collections::hash_map::Entry as Slot;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// A write call.
    Call,
    /// A write call that asks for durability: O_SYNC or O_DSYNC.
    SyncedCall,
    /// The node's page cache (a shared mapping, written back late).
    PageCache,
}

/// What a change of allocation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocate {
    /// Room, and length where it grows.
    Grow,
    /// Room alone.
    Keep,
    /// Zeros instead of the bytes; the length stays.
    Punch,
    /// Zeros instead of the bytes, and length where it grows.
    Zero,
}

impl Model {
    pub(super) fn file(&mut self, ino: u64) -> Result<Arc<File>, Errno> {
        match self.files.cached(ino) {
            Some(file) => Ok(file),
            None => {
                let path = self.path(ino)?;
                self.files.open(ino, &path)
            }
        }
    }

    /// Counts an open, so that a deleted file stays until it is closed.
    pub fn opened(&mut self, ino: u64) -> Result<(), Errno> {
        self.nodes.get_mut(ino).ok_or(Errno::ESTALE)?.opens += 1;
        Ok(())
    }

    /// Counts a close; a deleted file that nobody has open, and that no journal entry holds, goes.
    pub fn closed(&mut self, ino: u64) {
        if let Some(node) = self.nodes.get_mut(ino) {
            node.opens = node.opens.saturating_sub(1);
        }
        self.clear_orphan(ino);
    }

    /// Fills `into`; less of it at the end of the file only. How much.
    pub fn read(&mut self, ino: u64, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        offset.checked_add(into.len() as u64).ok_or(Errno::EINVAL)?;
        let file = self.file(ino)?;
        let mut done = 0;
        while done < into.len() {
            match file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(errno(e)),
            }
        }
        Ok(done)
    }

    /// Writes all of `data`.
    pub fn write(
        &mut self,
        now: Duration,
        ino: u64,
        offset: u64,
        data: &[u8],
        writer: Writer,
    ) -> Result<(), Errno> {
        if writer != Writer::PageCache {
            self.powered()?;
        }
        self.tick(now);
        let (offset, data) = match writer {
            Writer::PageCache => self.changed(ino, offset, data)?,
            Writer::Call | Writer::SyncedCall => (offset, data),
        };
        if data.is_empty() {
            return Ok(());
        }
        let end = offset.checked_add(data.len() as u64).ok_or(Errno::EFBIG)?;
        let number = self.journal.newest();
        let grown = self.change(now, ino, (offset, end), |file, u| {
            let wrote = file.write_all_at(data, offset);
            // A failed write may have got part of the way.
            let end = if wrote.is_ok() {
                end
            } else {
                end.min(file.metadata().map_or(end, |m| m.len()))
            };
            let length = u.wrote(offset, end, number);
            wrote.map_err(errno)?;
            Ok(length.map(|length| (u.generation, length)))
        })?;
        if let Some((generation, length)) = grown {
            self.journal.push_length(now, (ino, generation), length, true);
        }
        if writer == Writer::SyncedCall {
            self.sync_file(ino);
        }
        self.enforce(now);
        Ok(())
    }

    /// What a page of the node's cache changes. It is written whole, though it may be no more than an append to it that
    /// is new: only what changes counts as un-synced, or a cut would be said to take what it leaves as it was.
    fn changed<'a>(&mut self, ino: u64, offset: u64, data: &'a [u8]) -> Result<(u64, &'a [u8]), Errno> {
        let file = self.file(ino)?;
        let length = match self.unsynced.get(&ino) {
            Some(state) => state.length,
            None => file.metadata().map_err(errno)?.len(),
        };
        let overlap = length.saturating_sub(offset).min(data.len() as u64);
        if overlap == 0 {
            return Ok((offset, data));
        }
        let there = read_up_to(&file, offset, offset + overlap).map_err(errno)?;
        let same = |(a, b): &(&u8, &u8)| a == b;
        let head = data.iter().zip(&there).take_while(same).count();
        let tail = match overlap == data.len() as u64 {
            true => data[head..]
                .iter()
                .rev()
                .zip(there[head..].iter().rev())
                .take_while(same)
                .count(),
            false => 0,
        };
        Ok((offset + head as u64, &data[head..data.len() - tail]))
    }

    /// Sets the length.
    pub fn set_length(&mut self, now: Duration, ino: u64, length: u64) -> Result<(), Errno> {
        self.powered()?;
        self.tick(now);
        let was = self.file(ino)?.metadata().map_err(errno)?.len();
        if length == was {
            return Ok(());
        }
        let generation = self.change(now, ino, (length, u64::MAX), |file, u| {
            file.set_len(length).map_err(errno)?;
            u.cut_to(length);
            Ok(u.generation)
        })?;
        self.journal.push_length(now, (ino, generation), length, false);
        self.enforce(now);
        Ok(())
    }

    /// Allocates or clears room.
    pub fn allocate(
        &mut self,
        now: Duration,
        ino: u64,
        offset: u64,
        length: u64,
        how: Allocate,
    ) -> Result<(), Errno> {
        self.powered()?;
        self.tick(now);
        let end = offset
            .checked_add(length)
            .filter(|e| *e <= i64::MAX as u64)
            .ok_or(Errno::EFBIG)?;
        let clears = matches!(how, Allocate::Punch | Allocate::Zero);
        let touched = if clears { (offset, end) } else { (0, 0) };
        let number = self.journal.newest();
        let grown = self.change(now, ino, touched, |file, u| {
            let flags = match how {
                Allocate::Grow => FallocateFlags::empty(),
                Allocate::Keep => FallocateFlags::FALLOC_FL_KEEP_SIZE,
                Allocate::Punch => FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE,
                Allocate::Zero => FallocateFlags::FALLOC_FL_ZERO_RANGE,
            };
            // Offsets were checked against i64 above.
            fallocate(&**file, flags, offset as i64, length as i64)?;
            let was = u.length;
            if matches!(how, Allocate::Grow | Allocate::Zero) {
                u.length = u.length.max(end);
            }
            if clears {
                // Within the length: nothing grows by it.
                u.wrote(offset.min(u.length), end.min(u.length), number);
            }
            Ok((u.length > was).then_some((u.generation, u.length)))
        })?;
        if let Some((generation, length)) = grown {
            self.journal.push_length(now, (ino, generation), length, false);
        }
        self.enforce(now);
        Ok(())
    }

    /// SEEK_DATA or SEEK_HOLE.
    pub fn seek(&mut self, ino: u64, offset: i64, whence: Whence) -> Result<i64, Errno> {
        let file = self.file(ino)?;
        lseek(&*file, offset, whence)
    }

    /// fsync or fdatasync of a file.
    pub fn sync(&mut self, now: Duration, ino: u64) -> Result<(), Errno> {
        self.powered()?;
        self.tick(now);
        self.sync_file(ino);
        Ok(())
    }

    /// fsync of a folder.
    pub fn sync_folder(&mut self, now: Duration, folder: u64) -> Result<(), Errno> {
        self.powered()?;
        self.tick(now);
        self.commit(self.journal.newest());
        let durable = self.journal.sync_folder(folder);
        self.let_all_go(durable);
        Ok(())
    }

    fn sync_file(&mut self, ino: u64) {
        self.data_durable(ino);
        self.commit(self.journal.newest());
    }

    /// Runs one change of a file's bytes in `touched`, with its durable state kept and its cost counted. Where
    /// keeping would by itself break the bound, the file is written back instead.
    fn change<T>(
        &mut self,
        now: Duration,
        ino: u64,
        touched: (u64, u64),
        act: impl FnOnce(&Arc<File>, &mut Unsynced) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let file = self.file(ino)?;
        let state = match self.unsynced.entry(ino) {
            Slot::Occupied(slot) => slot.into_mut(),
            Slot::Vacant(slot) => {
                let length = file.metadata().map_err(errno)?.len();
                self.generations += 1;
                self.oldest.insert(self.generations, ino);
                let state = slot.insert(Unsynced::new(now, self.generations, length));
                self.memory += state.cost();
                state
            }
        };
        let was = state.cost();
        let (from, to) = touched;
        if let Some(gone) = self.gone.get_mut(&ino) {
            gone.touched(from, to);
        }
        let too_much = self.off_since.is_none() && was + state.would_add(from, to) > self.limits.memory;
        let kept = if too_much {
            Ok(())
        } else {
            state.preserve(&file, from, to).map_err(errno)
        };
        let done = kept.and_then(|()| act(&file, state));
        self.memory = self.memory - was + state.cost();
        if too_much {
            self.force(now, ino);
        } else if state.is_clean() {
            self.data_durable(ino);
        }
        done
    }

    /// A durable change of length: see the journal.
    pub(super) fn commit_length(&mut self, change: Length) {
        let Length {
            ino,
            generation,
            length,
            ..
        } = change;
        let Some(state) = self.unsynced.get_mut(&ino).filter(|u| u.generation == generation) else {
            return;
        };
        let was = state.cost();
        state.commit_length(length);
        self.memory = self.memory - was + state.cost();
        if state.is_clean() {
            self.data_durable(ino);
        }
    }
}

/// Bytes of a file that are not holes, within `[from, to)`.
pub(crate) fn extents(file: &File, from: u64, to: u64) -> Ranges {
    let mut found = Ranges::default();
    let mut at = from;
    while at < to {
        let Ok(data) = lseek(file, at as i64, Whence::SeekData) else {
            break;
        };
        let data = data as u64;
        if data >= to {
            break;
        }
        let hole = lseek(file, data as i64, Whence::SeekHole).map_or(to, |h| (h as u64).min(to));
        found.add(data, hole);
        at = hole.max(data + 1);
    }
    found
}

/// Copies `[from, to)` to `into`, within the kernel where it can.
pub(super) fn save(mut file: &File, from: u64, to: u64, mut into: &File) -> std::io::Result<()> {
    // All else is read and written at offsets of its own.
    file.seek(SeekFrom::Start(from))?;
    let copied = std::io::copy(&mut file.take(to - from), &mut into)?;
    // What is missing of it is a hole at the end, and reads as zeros.
    into.set_len(copied.max(to - from))
}
