//! Pages that a failed sync has given up.
//!
//! On Linux a sync that fails marks the pages clean all the same: they are in the page cache, so reads go on showing
//! them, and nothing will ever write them again, so the next sync succeeds and a loss of power brings the old bytes
//! back. Whoever writes to such a page makes it dirty anew, the whole of it, and the next sync saves it.
use super::Model;
use super::unsynced::{PAGE, Unsynced, read_up_to};
use crate::ranges::Ranges;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// One page.
#[derive(Debug)]
struct Page {
    /// What is durable of it; zeros where nothing is.
    old: Box<[u8]>,
    /// Dirty again: the next sync saves it.
    again: bool,
}

/// What is gone of one file.
#[derive(Debug)]
pub(super) struct Gone {
    pages: BTreeMap<u64, Page>,
    /// Its durable length when the sync failed.
    length: u64,
}

impl Gone {
    fn new(state: &Unsynced) -> Gone {
        Gone {
            pages: BTreeMap::new(),
            length: state.base.length,
        }
    }

    fn take(&mut self, state: &Unsynced) {
        for page in pages(&state.written) {
            match self.pages.get_mut(&page) {
                Some(known) => known.again = false,
                None => {
                    let old = state.durable_page(page).into_boxed_slice();
                    self.pages.insert(page, Page { old, again: false });
                }
            }
        }
    }

    /// `[from, to)` is written anew.
    pub(super) fn touched(&mut self, from: u64, to: u64) {
        if from < to {
            for page in self.pages.range_mut(from / PAGE..to.div_ceil(PAGE)) {
                page.1.again = true;
            }
        }
    }

    /// What is dirty has become durable; whether nothing is left.
    pub(super) fn synced(&mut self) -> bool {
        self.pages.retain(|_, page| !page.again);
        self.pages.is_empty()
    }

    /// Which bytes a cut takes back that leaves `kept` of what was not synced, and is not the durable ones.
    pub(super) fn lost(&self, file: &File, kept: &Ranges) -> io::Result<Ranges> {
        let length = file.metadata()?.len();
        let mut lost = Ranges::default();
        for (from, to, old) in self.stretches(kept, length) {
            let is = read_up_to(file, from, to)?;
            let differs = |(is, old): (&u8, &u8)| is != old;
            let first = is.iter().zip(old).position(&differs);
            let last = is.iter().zip(old).rposition(differs);
            if let (Some(first), Some(last)) = (first, last) {
                lost.add(from + first as u64, from + last as u64 + 1);
            }
            // Beyond the durable length nothing is as it is on the disk, zeros neither.
            lost.add(from.max(self.length), to);
        }
        Ok(lost)
    }

    /// How long the file is without what is lost of it.
    pub(super) fn length_without(&self, lost: &Ranges, length: u64) -> u64 {
        let tail = lost.iter().last().filter(|(_, to)| *to == length);
        tail.map_or(length, |(from, _)| from.max(self.length).min(length))
    }

    /// Puts the durable bytes back.
    pub(super) fn restore(&self, file: &File, kept: &Ranges) -> io::Result<()> {
        let length = file.metadata()?.len();
        let lost = self.lost(file, kept)?;
        for (from, _, old) in self.stretches(kept, length) {
            file.write_all_at(old, from)?;
        }
        file.set_len(self.length_without(&lost, length))
    }

    /// Bytes that are not as they are on the disk, below `length`: from, to and the durable ones.
    fn stretches<'a>(&'a self, kept: &Ranges, length: u64) -> Vec<(u64, u64, &'a [u8])> {
        let mut all = Vec::new();
        for (number, page) in &self.pages {
            let start = number * PAGE;
            let mut bytes = Ranges::of(start, length.min(start + PAGE));
            if page.again {
                bytes = bytes.but(kept);
            }
            for (from, to) in bytes.iter() {
                all.push((
                    from,
                    to,
                    &page.old[(from - start) as usize..(to - start) as usize],
                ));
            }
        }
        all
    }
}

fn pages(written: &Ranges) -> impl Iterator<Item = u64> + '_ {
    let runs = written.iter();
    runs.flat_map(|(from, to)| from / PAGE..to.div_ceil(PAGE))
}

impl Model {
    /// A sync of the file failed: what was written to it and not synced never becomes durable, unless it is written
    /// again. How many bytes that is.
    pub fn lose_pages(&mut self, ino: u64) -> u64 {
        let Some(state) = self.unsynced.get(&ino) else {
            return 0;
        };
        self.gone
            .entry(ino)
            .or_insert_with(|| Gone::new(state))
            .take(state);
        state.written.bytes()
    }
}
