//! What it takes to bring one file back to its durable state.
use super::choice::Left;
use crate::ranges::Ranges;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Granularity of pre-images: the kernel's page.
pub(crate) const PAGE: u64 = 4096;
/// What a file, and each of its ranges, counts against the bound of memory, besides its pre-images.
const FILE_COST: usize = 256;
const RANGE_COST: usize = 64;
/// The latest ends of a growing file that are remembered.
const ENDS: usize = 16;

/// What is durable of a file that is not wholly so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Base {
    /// Bytes before this are the durable ones.
    pub(crate) data: u64,
    /// Its length, at least `data`; zeros between them.
    pub(crate) length: u64,
}

impl Base {
    /// After a change of length.
    pub(crate) fn set(self, length: u64) -> Base {
        Base {
            data: self.data.min(length),
            length,
        }
    }
}

/// A file that is not wholly durable. Pages of the base's data that were changed have their durable bytes in `before`.
#[derive(Debug)]
pub(crate) struct Unsynced {
    /// When it was first changed.
    pub(crate) since: Duration,
    /// Tells this state from an earlier or later one of the same file; ascends with time.
    pub(crate) generation: u64,
    /// What is durable; its data never grow.
    pub(crate) base: Base,
    /// Length now.
    pub(crate) length: u64,
    /// Bytes written since the last sync.
    pub(crate) written: Ranges,
    /// Durable bytes of changed pages; none for zeros.
    before: BTreeMap<u64, Option<Box<[u8]>>>,
    before_bytes: usize,
    /// Blocks before this were there when it was first changed, and still are: to write them anew is no business of
    /// the journal.
    allocated: u64,
    /// Where the file ended after its latest appends, rising, and the change in the journal that each came after.
    ends: VecDeque<(u64, u64)>,
    /// The change that the latest write into new blocks came after.
    latest: u64,
    /// The same, of writes that were no appends.
    scattered: u64,
}

impl Unsynced {
    pub(crate) fn new(since: Duration, generation: u64, length: u64) -> Unsynced {
        Unsynced {
            since,
            generation,
            base: Base { data: length, length },
            length,
            written: Ranges::default(),
            before: BTreeMap::new(),
            before_bytes: 0,
            allocated: length,
            ends: VecDeque::new(),
            latest: 0,
            scattered: 0,
        }
    }

    /// `[from, to)` was written, after the journal's change `number`. Where the file grew within a block that it had,
    /// its new length there: that is a change of the journal by itself, whatever becomes of the bytes.
    pub(crate) fn wrote(&mut self, from: u64, to: u64, number: u64) -> Option<u64> {
        let block = self.length - self.length % PAGE;
        let in_block = self.length < to && from < block + PAGE && block < self.allocated.min(self.length);
        let number = number + u64::from(in_block);
        if from < to && from == self.length {
            if self.ends.len() == ENDS {
                self.ends.pop_front();
            }
            self.ends.push_back((to, number));
        } else {
            // What a page held when the file ended in it is not known any more.
            self.ends
                .retain(|(end, _)| *end + PAGE <= from || *end >= to + PAGE);
            if to > self.allocated.next_multiple_of(PAGE) {
                self.scattered = number;
            }
        }
        if in_block || to > self.allocated.next_multiple_of(PAGE) {
            self.latest = number;
        }
        self.length = self.length.max(to);
        self.written.add(from, to);
        in_block.then(|| to.min(block + PAGE))
    }

    /// The length was set.
    pub(crate) fn cut_to(&mut self, length: u64) {
        self.length = length;
        self.allocated = self.allocated.min(length);
        self.written.cut_off(length);
        self.ends.clear();
    }

    /// Where the file once ended, rising.
    pub(crate) fn ends(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.ends.iter().map(|(end, _)| *end)
    }

    /// How far un-synced bytes may be on the disk whose journal has come as far as `until`: new blocks are in it, too.
    pub(crate) fn reach(&self, until: u64, base: Base) -> u64 {
        if until >= self.latest {
            return self.length;
        }
        if until < self.scattered {
            return base.length.min(self.allocated.next_multiple_of(PAGE));
        }
        let there = self.ends.iter().filter(|(_, number)| *number <= until);
        there.map(|(end, _)| *end).fold(base.length, u64::max)
    }

    /// Numbers of the pages that are not as they are on the disk.
    pub(crate) fn dirty_pages(&self) -> Ranges {
        let mut pages = Ranges::default();
        for (from, to) in self.written.iter() {
            pages.add(from / PAGE, to.div_ceil(PAGE));
        }
        for page in self.before.keys() {
            pages.add(*page, page + 1);
        }
        pages.cut_off(self.length.div_ceil(PAGE));
        pages
    }

    /// What this state counts against the bound.
    pub(crate) fn cost(&self) -> usize {
        FILE_COST + self.before_bytes + RANGE_COST * (self.written.len() + self.before.len())
    }

    /// Nothing to go back to: the file is as it was. One that has grown into a hole is not: its blocks are still to be.
    pub(crate) fn is_clean(&self) -> bool {
        self.length == self.base.data
            && self.base.data == self.base.length
            && self.written.is_empty()
            && self.before.is_empty()
    }

    /// How many bytes [`Self::preserve`] would at most add.
    pub(crate) fn would_add(&self, from: u64, to: u64) -> usize {
        let to = to.min(self.base.data);
        if from >= to {
            return 0;
        }
        let pages = from / PAGE..to.div_ceil(PAGE);
        let have = self.before.range(pages.clone()).count();
        ((pages.end - pages.start) as usize - have) * PAGE as usize
    }

    /// Keeps the durable bytes of every page of `[from, to)`, before they change.
    pub(crate) fn preserve(&mut self, file: &File, from: u64, to: u64) -> io::Result<()> {
        let to = to.min(self.base.data);
        if from >= to {
            return Ok(());
        }
        for page in from / PAGE..to.div_ceil(PAGE) {
            if self.before.contains_key(&page) {
                continue;
            }
            let end = self.base.data.min((page + 1) * PAGE);
            let bytes = read_up_to(file, page * PAGE, end)?;
            let kept = bytes.iter().any(|b| *b != 0).then(|| bytes.into_boxed_slice());
            self.before_bytes += kept.as_ref().map_or(0, |b| b.len());
            self.before.insert(page, kept);
        }
        Ok(())
    }

    /// A page as it is on the disk; zeros where nothing is.
    pub(crate) fn durable_page(&self, page: u64) -> Vec<u8> {
        let mut bytes = self
            .before
            .get(&page)
            .and_then(Option::as_deref)
            .map_or_else(Vec::new, <[u8]>::to_vec);
        bytes.resize(PAGE as usize, 0);
        bytes
    }

    /// A durable byte that was written over is another.
    pub(crate) fn mend_before(&mut self, at: u64, bad: u8, good: u8) {
        if let Some(Some(bytes)) = self.before.get_mut(&(at / PAGE))
            && let Some(byte) = bytes.get_mut((at % PAGE) as usize)
            && *byte == bad
        {
            *byte = good;
        }
    }

    /// A change of length became durable, apart from data.
    pub(crate) fn commit_length(&mut self, length: u64) {
        self.base = self.base.set(length);
        let gone = self.before.split_off(&self.base.data.div_ceil(PAGE));
        self.before_bytes -= gone.values().flatten().map(|b| b.len()).sum::<usize>();
    }

    /// Puts durable bytes and length back, but for what is left.
    pub(crate) fn restore(&self, file: &File, base: Base, left: &Left) -> io::Result<()> {
        // The length first: what lies beyond it now, and comes back by growing, must read as zeros where nothing
        // else says otherwise.
        file.set_len(base.data.max(left.kept.end()).min(self.length))?;
        file.set_len(left.length)?;
        for (page, bytes) in &self.before {
            let start = page * PAGE;
            let mut old = Ranges::of(start, base.data.min(start + PAGE));
            for (from, to) in left.kept.within(start, start + PAGE).iter() {
                old.remove(from, to);
            }
            for (from, to) in old.iter() {
                let part = (from - start) as usize..(to - start) as usize;
                match bytes {
                    Some(bytes) => file.write_all_at(&bytes[part], from)?,
                    None => zero(file, from, to)?,
                }
            }
        }
        let grown = self.written.within(base.data, left.length).but(&left.kept);
        grown.iter().try_for_each(|(from, to)| zero(file, from, to))
    }
}

fn zero(file: &File, from: u64, to: u64) -> io::Result<()> {
    const ZEROS: &[u8] = &[0; 64 << 10];
    let mut at = from;
    while at < to {
        let size = (to - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..size as usize], at)?;
        at += size;
    }
    Ok(())
}

/// The bytes of `[from, to)`; zeros where the file is shorter.
pub(crate) fn read_up_to(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; (to - from) as usize];
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], from + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(bytes)
}
