//! What it takes to bring one file back to its durable state.
use crate::ranges::Ranges;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Granularity of pre-images: the kernel's page.
pub(crate) const PAGE: u64 = 4096;
/// What a file, and each of its ranges, counts against the bound of memory, besides its pre-images.
const FILE_COST: usize = 256;
const RANGE_COST: usize = 64;

/// A file that is not wholly durable. Bytes at and after `durable_length` go at a cut; pages before it that were
/// changed have their durable bytes in `before`.
#[derive(Debug)]
pub(crate) struct Unsynced {
    /// When it was first changed.
    pub(crate) since: Duration,
    /// Tells this state from an earlier or later one of the same file; ascends with time.
    pub(crate) generation: u64,
    /// Length of what is durable; never grows.
    pub(crate) durable_length: u64,
    /// Length now.
    pub(crate) length: u64,
    /// Bytes written since the last sync.
    pub(crate) written: Ranges,
    /// Durable bytes of changed pages; none for zeros.
    before: BTreeMap<u64, Option<Box<[u8]>>>,
    before_bytes: usize,
}

impl Unsynced {
    pub(crate) fn new(since: Duration, generation: u64, length: u64) -> Unsynced {
        Unsynced {
            since,
            generation,
            durable_length: length,
            length,
            written: Ranges::default(),
            before: BTreeMap::new(),
            before_bytes: 0,
        }
    }

    /// What this state counts against the bound.
    pub(crate) fn cost(&self) -> usize {
        FILE_COST + self.before_bytes + RANGE_COST * (self.written.len() + self.before.len())
    }

    /// Nothing to go back to: the file is as it was.
    pub(crate) fn is_clean(&self) -> bool {
        self.length == self.durable_length && self.written.is_empty() && self.before.is_empty()
    }

    /// How many bytes [`Self::preserve`] would at most add.
    pub(crate) fn would_add(&self, from: u64, to: u64) -> usize {
        let to = to.min(self.durable_length);
        if from >= to {
            return 0;
        }
        let pages = from / PAGE..to.div_ceil(PAGE);
        let have = self.before.range(pages.clone()).count();
        ((pages.end - pages.start) as usize - have) * PAGE as usize
    }

    /// Keeps the durable bytes of every page of `[from, to)`, before they change.
    pub(crate) fn preserve(&mut self, file: &File, from: u64, to: u64) -> io::Result<()> {
        let to = to.min(self.durable_length);
        if from >= to {
            return Ok(());
        }
        for page in from / PAGE..to.div_ceil(PAGE) {
            if self.before.contains_key(&page) {
                continue;
            }
            let end = self.durable_length.min((page + 1) * PAGE);
            let bytes = read_up_to(file, page * PAGE, end)?;
            let kept = bytes.iter().any(|b| *b != 0).then(|| bytes.into_boxed_slice());
            self.before_bytes += kept.as_ref().map_or(0, |b| b.len());
            self.before.insert(page, kept);
        }
        Ok(())
    }

    /// A truncation to `length` became durable, apart from data.
    pub(crate) fn shrink_durable(&mut self, length: u64) {
        self.durable_length = self.durable_length.min(length);
        let gone = self.before.split_off(&self.durable_length.div_ceil(PAGE));
        self.before_bytes -= gone.values().flatten().map(|b| b.len()).sum::<usize>();
    }

    /// Puts the durable bytes and length back.
    pub(crate) fn restore(&self, file: &File) -> io::Result<()> {
        // The length first: what lies beyond it now, and comes back by growing, must read as zeros where no
        // pre-image says otherwise.
        file.set_len(self.durable_length)?;
        for (page, bytes) in &self.before {
            let from = page * PAGE;
            let room = (self.durable_length.saturating_sub(from)).min(PAGE) as usize;
            match bytes {
                Some(bytes) => file.write_all_at(&bytes[..bytes.len().min(room)], from)?,
                None => file.write_all_at(&[0; PAGE as usize][..room], from)?,
            }
        }
        Ok(())
    }
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
