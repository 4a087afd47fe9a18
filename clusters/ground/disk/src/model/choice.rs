//! Which un-synced bytes of one file a cut leaves.
//!
//! What is legal, page by page: a page that was written since the last sync holds its old bytes or those it has now.
//! Within the durable length a page may be torn between sectors. Beyond the last block that it had, a file grows only
//! with a page that reached the disk, to that page's end or to where the file ended when it was written; what lies
//! before and did not reach it reads as zeros. New blocks are a matter of the journal, and so come after the names that
//! were changed before the write. A file of which a change of length (other than by a write) is taken back keeps no
//! un-synced byte: real disks may, and this one leaves less than they.
use super::unsynced::{Base, PAGE, Unsynced};
use crate::Remainder;
use crate::draw::Draw;
use crate::ranges::Ranges;

/// The least that a disk writes whole.
const SECTOR: u64 = 512;
/// Pieces of one file that are drawn one by one; a file with more dirty pages is drawn in pieces of several. Each lost
/// piece is a line of the ledger and a file of lost bytes.
const MAX_PIECES: u64 = 256;
/// Pages of one file that are torn at most.
const MAX_TORN: usize = 64;

/// What is left of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    /// Bytes that are as they were at the cut; all others are the durable ones, or zeros.
    pub(super) kept: Ranges,
    /// Its length.
    pub(super) length: u64,
}

impl Left {
    pub(super) fn nothing(base: Base) -> Left {
        Left {
            kept: Ranges::default(),
            length: base.length,
        }
    }

    /// All up to `end`, which is a page's end or where the file once ended.
    fn until(end: u64, base: Base) -> Left {
        Left {
            kept: Ranges::of(0, end),
            length: end.max(base.length),
        }
    }
}

/// Draws what is left, of the bytes before `reach`.
pub(super) fn choose(
    state: &Unsynced,
    base: Base,
    reach: u64,
    remainder: Remainder,
    draw: &mut Draw,
) -> Left {
    let file = Dirty::of(state, base, reach);
    match remainder {
        Remainder::OnlySynced | Remainder::NamesWithoutData => Left::nothing(base),
        Remainder::Everything | Remainder::DataWithoutNames => Left::until(reach, base),
        Remainder::AllButTheTail => file.but_the_tail(),
        Remainder::RandomPages => file.some_pages(draw),
        Remainder::RandomPrefix => file.prefix(draw),
        Remainder::Torn => file.torn(draw),
    }
}

/// A file's dirty pages, in pieces.
struct Dirty<'a> {
    state: &'a Unsynced,
    base: Base,
    reach: u64,
    /// Byte ranges from page to page; the last may end within one.
    pieces: Vec<(u64, u64)>,
}

impl<'a> Dirty<'a> {
    fn of(state: &'a Unsynced, base: Base, reach: u64) -> Dirty<'a> {
        let mut pages = state.dirty_pages();
        pages.cut_off(reach.div_ceil(PAGE));
        let size = pages.bytes().div_ceil(MAX_PIECES).max(1);
        let mut pieces = Vec::new();
        for (from, to) in pages.iter() {
            let mut at = from;
            while at < to {
                let end = to.min(at + size);
                pieces.push((at * PAGE, (end * PAGE).min(reach)));
                at = end;
            }
        }
        Dirty {
            state,
            base,
            reach,
            pieces,
        }
    }

    /// Where the file once ended, beyond what is durable.
    fn ends(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.state
            .ends()
            .filter(|end| *end > self.base.length && *end < self.reach)
    }

    fn but_the_tail(&self) -> Left {
        let last_page = self.pieces.last().map_or(0, |(from, to)| {
            let last = to.saturating_sub(1) / PAGE * PAGE;
            last.max(*from)
        });
        match self.ends().next_back() {
            Some(end) => Left::until(end, self.base),
            None => Left::until(last_page, self.base),
        }
    }

    fn prefix(&self, draw: &mut Draw) -> Left {
        let mut points: Vec<u64> = std::iter::once(0)
            .chain(self.pieces.iter().map(|(_, to)| *to))
            .chain(self.ends())
            .collect();
        points.sort_unstable();
        points.dedup();
        Left::until(points[draw.below(points.len() as u64) as usize], self.base)
    }

    fn some_pages(&self, draw: &mut Draw) -> Left {
        let often = [1, 4, 7][draw.below(3) as usize];
        let mut kept = Ranges::default();
        for (from, to) in &self.pieces {
            if draw.eighths(often) {
                kept.add(*from, *to);
            }
        }
        // Perhaps the last page got there before the file grew to what it is.
        let ends: Vec<u64> = self.ends().collect();
        if !ends.is_empty() && draw.eighths(3) {
            let end = ends[draw.below(ends.len() as u64) as usize];
            kept.cut_off(end);
            kept.add((end - 1) / PAGE * PAGE, end);
        }
        let length = kept.end().max(self.base.length);
        Left { kept, length }
    }

    fn torn(&self, draw: &mut Draw) -> Left {
        let mut left = match draw.eighths(4) {
            true => self.some_pages(draw),
            false => self.prefix(draw),
        };
        let durable = |page: &u64| (page + 1) * PAGE <= self.base.length;
        let mut pages: Vec<u64> = self
            .pieces
            .iter()
            .flat_map(|(from, to)| from / PAGE..to.div_ceil(PAGE))
            .filter(durable)
            .collect();
        for _ in 0..MAX_TORN.min(pages.len().div_ceil(2)) {
            let page = pages.swap_remove(draw.below(pages.len() as u64) as usize);
            left.kept.remove(page * PAGE, (page + 1) * PAGE);
            let sectors = sectors(draw);
            for sector in (0..8).filter(|sector| sectors & (1 << sector) != 0) {
                let from = page * PAGE + sector * SECTOR;
                left.kept.add(from, from + SECTOR);
            }
        }
        left
    }
}

/// Some of the eight sectors of a page, not none and not all: mostly a prefix, as a disk that is written in order.
fn sectors(draw: &mut Draw) -> u8 {
    let prefix = (1u16 << (1 + draw.below(7))) - 1;
    match draw.below(4) {
        0 => 1 + draw.below(254) as u8,
        1 => !(prefix as u8),
        _ => prefix as u8,
    }
}
