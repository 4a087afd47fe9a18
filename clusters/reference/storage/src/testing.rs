//! What the tests share: a folder that goes when the test ends, seeded draws, and batches.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::BatchBuilder;

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
