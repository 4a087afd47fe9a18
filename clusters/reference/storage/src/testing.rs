//! What the tests share: a folder that goes when the test ends, seeded draws, and batches.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::BatchBuilder;
use crate::steps::{self, Step};

/// A folder of a test's own, removed with all it holds.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "storage-test-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a folder holds, by name.
pub(crate) type Contents = BTreeMap<String, Vec<u8>>;

/// Everything in `folder`.
pub(crate) fn contents(folder: &Path) -> Contents {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// A folder that holds `contents`.
pub(crate) fn folder_of(contents: &Contents) -> Folder {
    let folder = Folder::new();
    for (name, bytes) in contents {
        fs::write(folder.file(name), bytes).unwrap();
    }
    folder
}

/// What losses of power leave of a folder.
#[derive(Default)]
pub(crate) struct PowerCuts {
    /// After any step of what was done, the last one among them.
    pub(crate) during: BTreeSet<Contents>,
    /// When all was done.
    pub(crate) after: BTreeSet<Contents>,
}

/// Everything that `folder`, durable as it is, may hold if the power goes after any step of `act`: a name
/// that was made, removed or changed since the folder was synced may be as before or as after, each for
/// itself, and a file that was not synced may have lost its content. What a mere end of the process
/// leaves is among it.
pub(crate) fn after_power_cuts<T>(folder: &Path, act: impl FnOnce() -> T) -> (T, PowerCuts) {
    let durable = contents(folder);
    let synced: BTreeSet<Vec<u8>> = durable.values().cloned().collect();
    let state = Rc::new(RefCell::new((durable, synced, PowerCuts::default())));
    let (watched, watcher_state) = (folder.to_owned(), Rc::clone(&state));
    let watcher = move |step, path: &Path| {
        let (durable, synced, left) = &mut *watcher_state.borrow_mut();
        if step == Step::FileSynced {
            synced.insert(fs::read(path).unwrap());
        }
        let current = contents(&watched);
        if step == Step::FolderSynced {
            *durable = current.clone();
        }
        left.after = remainders(durable, &current, synced);
        left.during.extend(left.after.iter().cloned());
    };
    let done = steps::watch(watcher, act);
    let left = std::mem::take(&mut state.borrow_mut().2);
    (done, left)
}

fn remainders(durable: &Contents, current: &Contents, synced: &BTreeSet<Vec<u8>>) -> BTreeSet<Contents> {
    let names: BTreeSet<_> = durable.keys().chain(current.keys()).collect();
    let mut found = BTreeSet::from([Contents::new()]);
    for name in names {
        let mut fates: BTreeSet<Option<&[u8]>> = BTreeSet::new();
        for bytes in [durable.get(name), current.get(name)] {
            fates.insert(bytes.map(Vec::as_slice));
            // What was cut off a synced file is gone or back; what is left of it stays.
            let safe = |bytes: &Vec<u8>| synced.iter().any(|whole| whole.starts_with(bytes));
            if bytes.is_some_and(|bytes| !safe(bytes)) {
                fates.insert(Some(&[]));
            }
        }
        let with = |so_far: &Contents, fate: Option<&[u8]>| {
            let mut next = so_far.clone();
            next.extend(fate.map(|bytes| (name.clone(), bytes.to_vec())));
            next
        };
        found = found
            .iter()
            .flat_map(|so_far| fates.iter().map(move |fate| with(so_far, *fate)))
            .collect();
    }
    found
}

/// SplitMix64: enough for tests, and the same everywhere.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// A batch of `records` records of `value_bytes` each.
pub(crate) fn batch(base_offset: i64, leader_epoch: i32, records: usize, value_bytes: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(base_offset);
    for at in 0..records {
        builder
            .push(
                Some(&(base_offset + at as i64).to_be_bytes()),
                Some(&vec![7; value_bytes]),
                &[],
            )
            .unwrap();
    }
    builder.build(base_offset, leader_epoch).unwrap().to_vec()
}
