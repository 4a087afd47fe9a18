//! What is not there any more after a cut, and the ledger's line of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use disk::ledger::{LostFile, LostName, Mixed};
use serde::{Deserialize, Serialize};

use super::look::{Id, Look, Seen, Slot};
use super::{Cut, Kind};
use crate::sys;

/// A run of bytes that differ goes on over so many that do not: some of what is lost is the same by chance.
const BY_CHANCE: usize = 64;
/// So much of what was kept before a lost range is saved with it, so that records are found that the range cuts
/// through: all of it, up to this bound.
const RUN_UP: u64 = 16 << 20;

/// What is not there any more.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Files that lost bytes, their length or their name.
    pub files: Vec<FileDifference>,
    /// Changes of names that did not happen.
    pub names: Vec<Name>,
}

/// What became of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct FileDifference {
    id: Id,
    /// Its path before.
    pub path: String,
    /// Bytes that are not there any more, `[from, to)`.
    pub ranges: Vec<(u64, u64)>,
    /// Its length before.
    pub had_length: u64,
    /// Its length now; none where it is gone.
    pub left_length: Option<u64>,
}

/// A change of names that did not happen.
#[derive(Debug, PartialEq, Eq)]
pub enum Name {
    /// It is not there any more.
    Created(String),
    /// It is there again.
    Removed(String),
    /// It has its old name again.
    Renamed {
        /// The old one.
        from: String,
        /// The new one.
        to: String,
        /// Whether something else has the new one.
        replaced: bool,
    },
}

/// The ledger's line of a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "cut")]
pub struct RealCut {
    /// When the file system was shut down.
    pub at_ns: u64,
    /// Which fault it was.
    pub fault: u64,
    /// Which file system: it has decided what is left.
    pub disk: String,
    /// Bytes that were there and are not, over all files.
    pub bytes: u64,
    /// Files that lost bytes, a length or their name.
    pub files: Vec<LostFile>,
    /// Changes of names that did not happen.
    pub names: Vec<LostName>,
    /// Files that changed lately and were too large to be read in whole: what they lost is not all in here.
    pub unseen: Vec<String>,
}

/// Holds what was there against what is.
pub fn difference(before: &Look, top: &Path) -> io::Result<Difference> {
    let after = Look::names_of(top)?;
    let mut files = Vec::new();
    for (id, seen) in &before.files {
        let path = before.paths[id].to_string_lossy().into_owned();
        let left_length = after.files.get(id).map(|seen| seen.length);
        let ranges = match after.paths.get(id) {
            Some(now) if left_length.is_some() => changed(seen, &File::open(top.join(now))?)?,
            _ => seen
                .pieces
                .iter()
                .map(|(at, bytes)| (*at, at + bytes.len() as u64))
                .collect(),
        };
        let had_length = seen.length;
        if !ranges.is_empty() || left_length != Some(had_length) {
            files.push(FileDifference {
                id: *id,
                path,
                ranges,
                had_length,
                left_length,
            });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Difference {
        files,
        names: names(before, &after),
    })
}

/// The bytes of a file that are others now, or past its end.
fn changed(seen: &Seen, now: &File) -> io::Result<Vec<(u64, u64)>> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (at, bytes) in &seen.pieces {
        let mut is = vec![0; bytes.len()];
        let mut read = 0;
        while read < is.len() {
            match now.read_at(&mut is[read..], at + read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        let differs = |place: usize| place >= read || is[place] != bytes[place];
        let mut place = 0;
        // Most of it is the same: looked at by pages.
        while place < bytes.len() {
            let page = (place + 4096).min(bytes.len());
            if page <= read && is[place..page] == bytes[place..page] {
                place = page;
                continue;
            }
            for byte in (place..page).filter(|byte| differs(*byte)) {
                let byte = at + byte as u64;
                match ranges.last_mut() {
                    Some((_, to)) if byte < *to + BY_CHANCE as u64 => *to = byte + 1,
                    _ => ranges.push((byte, byte + 1)),
                }
            }
            place = page;
        }
    }
    Ok(ranges)
}

fn names(before: &Look, after: &Look) -> Vec<Name> {
    let by_id = |names: &BTreeMap<Slot, Id>, other: &BTreeMap<Slot, Id>| {
        let mut found: HashMap<Id, Vec<Slot>> = HashMap::new();
        for (slot, id) in names.iter().filter(|(slot, id)| other.get(*slot) != Some(*id)) {
            found.entry(*id).or_default().push(slot.clone());
        }
        found
    };
    let gone = by_id(&before.names, &after.names);
    let mut back = by_id(&after.names, &before.names);
    let mut changes = Vec::new();
    for (id, slots) in &gone {
        for slot in slots {
            match back.get_mut(id).and_then(Vec::pop) {
                Some(old) => changes.push(Name::Renamed {
                    from: after.path(&old),
                    to: before.path(slot),
                    replaced: after.names.contains_key(slot),
                }),
                None => changes.push(Name::Created(before.path(slot))),
            }
        }
    }
    // What a rename had replaced is told with the rename.
    let renamed: BTreeSet<String> = changes
        .iter()
        .filter_map(|change| match change {
            Name::Renamed { to, .. } => Some(to.clone()),
            _ => None,
        })
        .collect();
    let back = back.values().flatten().map(|slot| after.path(slot));
    changes.extend(back.filter(|path| !renamed.contains(path)).map(Name::Removed));
    changes.sort_by(|a, b| format!("{a:?}").cmp(&format!("{b:?}")));
    changes
}

pub fn save(cut: Cut, kind: Kind, fault: u64, lost: &Path) -> io::Result<RealCut> {
    let folder = lost.join(fault.to_string());
    match fs::remove_dir_all(&folder) {
        // An earlier attempt's.
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            return sys::said(format!("clearing {}", folder.display()), Err(why));
        }
        _ => {}
    }
    let mut files = Vec::new();
    for file in cut.difference.files {
        let seen = &cut.before.files[&file.id];
        let keep = |label: &str, from: u64, to: u64| {
            let saved = format!("{fault}/{label}@{from}");
            let path = lost.join(&saved);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let written = fs::write(&path, bytes(seen, from, to));
            sys::said(format!("saving lost bytes in {}", path.display()), written).map(|()| saved)
        };
        let saved: io::Result<Vec<String>> = file
            .ranges
            .iter()
            .map(|(from, to)| keep(&file.path, *from, *to))
            .collect();
        let mut mixed = Vec::new();
        if let Some((from, to)) = run(&file.ranges, seen) {
            let saved = keep(&format!("{}.whole", file.path), from, to)?;
            mixed.push(Mixed { from, to, saved });
        }
        files.push(LostFile {
            path: file.path,
            saved: saved?,
            ranges: file.ranges,
            mixed,
            had_length: file.had_length,
            left_length: file.left_length,
        });
    }
    let ranges = files.iter().flat_map(|file| &file.ranges);
    Ok(RealCut {
        at_ns: cut.at_ns,
        fault,
        disk: kind.word().into(),
        bytes: ranges.map(|(from, to)| to - from).sum(),
        files,
        names: cut.difference.names.into_iter().map(told).collect(),
        unseen: cut
            .before
            .unseen
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
    })
}

fn told(name: Name) -> LostName {
    match name {
        Name::Created(path) => LostName::Created { path },
        Name::Removed(path) => LostName::Removed { path },
        Name::Renamed { from, to, replaced } => LostName::Renamed { from, to, replaced },
    }
}

/// The run of bytes that lost ranges stand in, where some of it was kept: from a place where the file was read on, at
/// best from its beginning, where no record is cut through.
fn run(ranges: &[(u64, u64)], seen: &Seen) -> Option<(u64, u64)> {
    let (first, last) = (ranges.first()?.0, ranges.last()?.1);
    let read_from = seen.pieces.iter().map(|(at, _)| *at).find(|at| *at <= first)?;
    let from = read_from.max(first.saturating_sub(RUN_UP));
    let all_lost = ranges.len() == 1 && from == first;
    (!all_lost).then_some((from, last))
}

/// A range of what was read; holes are zeros.
fn bytes(seen: &Seen, from: u64, to: u64) -> Vec<u8> {
    let mut bytes = vec![0; (to - from) as usize];
    for (at, piece) in &seen.pieces {
        let (start, end) = ((*at).max(from), (at + piece.len() as u64).min(to));
        if start < end {
            let read = &piece[(start - at) as usize..(end - at) as usize];
            bytes[(start - from) as usize..(end - from) as usize].copy_from_slice(read);
        }
    }
    bytes
}
