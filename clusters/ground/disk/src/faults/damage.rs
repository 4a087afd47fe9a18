//! Damage to what is at rest: which bytes were struck, and how they were before.
//!
//! Only durable bytes are struck: what is not synced yet is written back first, as a kernel may at any time. A byte
//! that is written over later is the writer's; healing puts back the others, exactly. The files are held open
//! meanwhile, so that a rename does not hide them.
use crate::draw::Draw;
use crate::model::Model;
use crate::rule::{
    ALL_PPM, DiskEffect, DiskRule, DiskRuleCounts, MAX_DAMAGED_FILES, Mended, Stripe, is_under,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirEntryExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The most chunks that one rule strikes: each byte of them is remembered.
const MAX_CHUNKS: u64 = 4096;
/// The kernel's.
const PAGE: u64 = 4096;

/// A byte that was struck.
#[derive(Debug, Clone, Copy)]
struct Byte {
    good: u8,
    bad: u8,
    written_over: bool,
}

/// What was done to one file.
#[derive(Debug)]
struct Struck {
    file: File,
    /// Its number in the backing folder.
    backing: u64,
    /// By offset.
    bytes: BTreeMap<u64, Byte>,
    /// What was cut off its end, and how long it is since.
    cut: Option<(u64, Vec<u8>)>,
    /// Something was written beyond the cut.
    overgrown: bool,
}

/// What one rule has struck.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    files: Vec<Struck>,
    chunks: u64,
}

/// A file that may be struck.
struct Target {
    path: PathBuf,
    backing: u64,
    /// Below the mount.
    label: String,
    length: u64,
}

impl Damage {
    /// Does what a rule asks for to what is at rest; none where it asks for nothing of the kind.
    pub(crate) fn done(model: &mut Model, fault: u64, rule: &DiskRule) -> io::Result<Option<Damage>> {
        let mut draw = Draw::new(rule.seed, fault);
        match rule.effect {
            DiskEffect::Flip {
                chunk_bytes,
                share_ppm,
                bits,
                stripe,
            } => {
                let targets = targets(model, rule)?;
                let chunks = chosen(&targets, chunk_bytes, share_ppm, stripe, &mut draw);
                flip(model, &targets, chunks, (chunk_bytes, bits), &mut draw).map(Some)
            }
            DiskEffect::CutOff { bytes, files, stripe } => {
                let mut targets = targets(model, rule)?;
                targets.retain(|target| target.length > 0 && stripe.has(number_of(&target.label)));
                cut_off(model, targets, bytes, files, &mut draw).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// As far as the rule's counts tell of it.
    pub(crate) fn counts(&self) -> DiskRuleCounts {
        let bytes = |file: &Struck| {
            let cut = file.cut.as_ref().map_or(0, |(_, tail)| tail.len());
            (file.bytes.len() + cut) as u64
        };
        DiskRuleCounts {
            struck: self.chunks,
            bytes: self.files.iter().map(bytes).sum(),
            files: self.files.len() as u64,
            ..DiskRuleCounts::default()
        }
    }

    /// The nodes that were struck, as far as they were met.
    pub(crate) fn nodes(&self, model: &Model) -> Vec<u64> {
        let files = self.files.iter();
        files.filter_map(|file| model.node_of(file.backing)).collect()
    }

    /// `[from, to)` of a backing file is written over. Of pages that come from a cache, with `late` bytes, that is what
    /// lies between the first and the last byte of a page that is not as it was: the rest came along.
    pub(crate) fn written_over(&mut self, backing: u64, (from, to): (u64, u64), late: Option<&[u8]>) {
        for file in self.files.iter_mut().filter(|file| file.backing == backing) {
            let ranges = match late {
                Some(bytes) => changed(&file.file, from, bytes),
                None => vec![(from, to)],
            };
            for (from, to) in ranges.into_iter().filter(|(from, to)| from < to) {
                for byte in file.bytes.range_mut(from..to) {
                    byte.1.written_over = true;
                }
            }
            if let Some((length, _)) = &file.cut {
                file.overgrown |= to > *length;
            }
        }
    }

    /// After a cut: what was written over and lost is damaged again.
    pub(crate) fn look_again(&mut self) {
        for file in &mut self.files {
            for (at, byte) in file.bytes.iter_mut().filter(|(_, byte)| byte.written_over) {
                byte.written_over = !holds(&file.file, *at, byte.bad);
            }
            if let Some((length, _)) = &file.cut {
                file.overgrown &= file.file.metadata().is_ok_and(|meta| meta.len() != *length);
            }
        }
    }

    /// Puts back what was not written over.
    pub(crate) fn mend(&self, model: &mut Model) -> io::Result<Mended> {
        let mut mended = Mended::default();
        for file in &self.files {
            let node = model.node_of(file.backing);
            for (at, byte) in &file.bytes {
                if let Some(node) = node {
                    model.mend_before(node, *at, byte.bad, byte.good);
                }
                if byte.written_over || !holds(&file.file, *at, byte.bad) {
                    mended.let_be += 1;
                } else {
                    file.file.write_all_at(&[byte.good], *at)?;
                    mended.bytes += 1;
                }
            }
            if let Some((length, tail)) = &file.cut {
                if !file.overgrown && file.file.metadata()?.len() == *length {
                    file.file.write_all_at(tail, *length)?;
                    mended.bytes += tail.len() as u64;
                } else {
                    mended.let_be += tail.len() as u64;
                }
            }
        }
        Ok(mended)
    }
}

/// What of these bytes is not as it is in the file, page by page.
fn changed(file: &File, from: u64, bytes: &[u8]) -> Vec<(u64, u64)> {
    let page = |(number, new): (usize, &[u8])| {
        let start = from + number as u64 * PAGE;
        let mut is = vec![0; new.len()];
        if file.read_exact_at(&mut is, start).is_err() {
            // It grows.
            return Some((start, start + new.len() as u64));
        }
        let differs = |(is, new): (&u8, &u8)| is != new;
        let first = is.iter().zip(new).position(differs)?;
        let last = is.iter().zip(new).rposition(differs)?;
        Some((start + first as u64, start + last as u64 + 1))
    };
    // Late writes begin with a page.
    bytes.chunks(PAGE as usize).enumerate().filter_map(page).collect()
}

fn holds(file: &File, at: u64, wanted: u8) -> bool {
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).is_ok() && byte[0] == wanted
}

/// The files that a rule names, by their paths.
fn targets(model: &Model, rule: &DiskRule) -> io::Result<Vec<Target>> {
    let mut found = Vec::new();
    walk(&model.paths().backing, "", &mut |path, label, entry| {
        if is_under(&rule.path, label) {
            found.push(Target {
                path: path.to_path_buf(),
                backing: entry.ino(),
                label: label.into(),
                length: entry.metadata()?.len(),
            });
        }
        Ok(())
    })?;
    found.sort_by(|a, b| a.label.cmp(&b.label));
    Ok(found)
}

type Visitor<'a> = &'a mut dyn FnMut(&Path, &str, &fs::DirEntry) -> io::Result<()>;

fn walk(folder: &Path, below: &str, visit: Visitor<'_>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let label = format!("{below}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{label}/"), visit)?;
        } else if kind.is_file() {
            visit(&entry.path(), &label, &entry)?;
        }
    }
    Ok(())
}

/// A number of a path, the same on every node (Fowler, Noll and Vo's hash).
fn number_of(path: &str) -> u64 {
    let mixed = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    // Its low bits alone are not mixed well.
    path.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mixed) >> 20
}

/// Which chunks are struck: by file, in number.
fn chosen(
    targets: &[Target],
    chunk: u32,
    share_ppm: u32,
    stripe: Stripe,
    draw: &mut Draw,
) -> BTreeMap<usize, BTreeSet<u64>> {
    let of = u64::from(stripe.of.max(1));
    // Of `count` chunks those that are `index` and every `of`-th after it.
    let ours = |target: &Target| {
        let count = target.length.div_ceil(u64::from(chunk));
        count.saturating_sub(u64::from(stripe.index)).div_ceil(of)
    };
    let total: u64 = targets.iter().map(ours).sum();
    let share = u128::from(total) * u128::from(share_ppm) / u128::from(ALL_PPM);
    let wanted = (share as u64).max(1).min(total).min(MAX_CHUNKS);
    let mut picked = BTreeSet::new();
    while (picked.len() as u64) < wanted {
        // Floyd's: as many draws as chunks, and each set as likely.
        let at = total - wanted + picked.len() as u64;
        let one = draw.below(at + 1);
        if !picked.insert(one) {
            picked.insert(at);
        }
    }
    let mut chosen: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    let mut before = 0;
    for (file, target) in targets.iter().enumerate() {
        let count = ours(target);
        let numbers: BTreeSet<u64> = picked
            .range(before..before + count)
            .map(|one| (one - before) * of + u64::from(stripe.index))
            .collect();
        before += count;
        if !numbers.is_empty() && chosen.len() < MAX_DAMAGED_FILES as usize {
            chosen.insert(file, numbers);
        }
    }
    chosen
}

fn opened(model: &mut Model, target: &Target) -> io::Result<File> {
    if let Some(node) = model.node_of(target.backing) {
        model.write_back(node);
    }
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(nix::libc::O_NOFOLLOW)
        .open(&target.path)
}

fn flip(
    model: &mut Model,
    targets: &[Target],
    chunks: BTreeMap<usize, BTreeSet<u64>>,
    (chunk, bits): (u32, u32),
    draw: &mut Draw,
) -> io::Result<Damage> {
    let mut damage = Damage::default();
    for (at, numbers) in chunks {
        let target = &targets[at];
        let mut struck = Struck {
            file: opened(model, target)?,
            backing: target.backing,
            bytes: BTreeMap::new(),
            cut: None,
            overgrown: false,
        };
        for number in numbers {
            let from = number * u64::from(chunk);
            let length = u64::from(chunk).min(target.length - from);
            let mut flipped = BTreeSet::new();
            while flipped.len() < u64::from(bits).min(length * 8) as usize {
                flipped.insert(draw.below(length * 8));
            }
            for bit in flipped {
                let at = from + bit / 8;
                let mut is = [0];
                struck.file.read_exact_at(&mut is, at)?;
                let bad = is[0] ^ (1 << (bit % 8));
                struck.file.write_all_at(&[bad], at)?;
                let first = Byte {
                    good: is[0],
                    bad,
                    written_over: false,
                };
                struck.bytes.entry(at).or_insert(first).bad = bad;
            }
            damage.chunks += 1;
        }
        damage.files.push(struck);
    }
    Ok(damage)
}

fn cut_off(
    model: &mut Model,
    mut targets: Vec<Target>,
    bytes: u64,
    files: u32,
    draw: &mut Draw,
) -> io::Result<Damage> {
    let mut damage = Damage::default();
    while damage.files.len() < files as usize && !targets.is_empty() {
        let target = targets.swap_remove(draw.below(targets.len() as u64) as usize);
        let file = opened(model, &target)?;
        let length = target.length.saturating_sub(bytes);
        let mut tail = vec![0; (target.length - length) as usize];
        file.read_exact_at(&mut tail, length)?;
        file.set_len(length)?;
        damage.chunks += 1;
        damage.files.push(Struck {
            file,
            backing: target.backing,
            bytes: BTreeMap::new(),
            cut: Some((length, tail)),
            overgrown: false,
        });
    }
    Ok(damage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(lengths: &[u64]) -> Vec<Target> {
        let of = |(at, length): (usize, &u64)| Target {
            path: PathBuf::new(),
            backing: at as u64,
            label: at.to_string(),
            length: *length,
        };
        lengths.iter().enumerate().map(of).collect()
    }

    #[test]
    fn stripes_share_all_chunks_out_and_none_twice() {
        let targets = files(&[1000, 0, 64, 65, 3]);
        let mut seen = BTreeSet::new();
        for index in 0..3 {
            let stripe = Stripe { index, of: 3 };
            let chunks = chosen(&targets, 64, ALL_PPM, stripe, &mut Draw::new(1, 2));
            for (file, numbers) in chunks {
                for number in numbers {
                    assert_eq!(number % 3, u64::from(index));
                    assert!(number * 64 < targets[file].length);
                    assert!(seen.insert((file, number)), "twice");
                }
            }
        }
        assert_eq!(seen.len(), 16 + 1 + 2 + 1);
    }

    #[test]
    fn a_share_is_drawn_and_one_at_least() {
        let targets = files(&[64_000]);
        let count = |share_ppm, seed| {
            let chunks = chosen(&targets, 64, share_ppm, Stripe::ALL, &mut Draw::new(seed, 0));
            chunks.values().map(BTreeSet::len).sum::<usize>()
        };
        assert_eq!(count(100_000, 1), 100);
        assert_eq!(count(1, 1), 1);
        assert!(chosen(&files(&[0]), 64, 1, Stripe::ALL, &mut Draw::new(1, 1)).is_empty());
        let one = |seed| chosen(&targets, 64, 1, Stripe::ALL, &mut Draw::new(seed, 0));
        assert_eq!(one(5), one(5));
        assert_ne!(one(5), one(6));
    }
}
