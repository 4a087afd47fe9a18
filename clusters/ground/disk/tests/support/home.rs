//! A folder of one test's own, gone when the test ends, however it ends.
#![allow(dead_code)] // Each test program uses a part.
use disk::DiskPaths;
use disk::ledger::Line;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(0);

pub struct Home(pub PathBuf);

impl Home {
    pub fn new() -> Home {
        Home::below(&std::env::temp_dir())
    }

    /// In memory where the machine has a place for that: what is tried thousands of times need not reach a real disk.
    pub fn in_memory() -> Home {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Home::below(memory),
            false => Home::new(),
        }
    }

    pub fn below(folder: &Path) -> Home {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("disk-test-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Home(path)
    }

    pub fn paths(&self) -> DiskPaths {
        DiskPaths::in_home(&self.0)
    }

    pub fn ledger(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.paths().ledger).unwrap_or_default();
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }

    /// What the backing folder holds: none for a folder.
    pub fn tree(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        walk(&self.paths().backing, "", &mut tree);
        tree
    }
}

fn walk(folder: &Path, prefix: &str, tree: &mut BTreeMap<String, Option<Vec<u8>>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), tree);
            tree.insert(path, None);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            tree.insert(path, Some(target.into_os_string().into_encoded_bytes()));
        } else {
            tree.insert(path, Some(fs::read(entry.path()).unwrap()));
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Seeded numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}
