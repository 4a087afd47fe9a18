//! Shared mappings: their pages reach the disk late, written by the kernel and not by a call.
#![allow(unsafe_code)] // mmap has no safe form.
mod support {
    mod home;
    pub mod mount;
    pub use home::*;
}

use disk::{Mode, Policy};
use nix::sys::mman::{MapFlags, MsFlags, ProtFlags, mmap, msync, munmap};
use std::ffi::c_void;
use std::fs::{self, File, OpenOptions};
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::path::Path;
use std::ptr::NonNull;
use support::mount::Mounted;

const LENGTH: usize = 4 * 4096;

struct Mapping(NonNull<c_void>);

impl Mapping {
    fn of(file: &File) -> Mapping {
        let length = NonZeroUsize::new(LENGTH).unwrap();
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the file is LENGTH long and stays so.
        Mapping(unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, file.as_fd(), 0) }.unwrap())
    }

    fn fill(&self, page: usize, byte: u8) {
        assert!(page * 4096 < LENGTH);
        // SAFETY: within the mapping, which only this thread uses.
        unsafe { self.0.cast::<u8>().add(page * 4096).write_bytes(byte, 4096) }
    }

    fn sync(&self) {
        // SAFETY: exactly the mapping.
        unsafe { msync(self.0, LENGTH, MsFlags::MS_SYNC) }.unwrap();
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping, which nobody uses any more.
        unsafe { munmap(self.0, LENGTH) }.unwrap();
    }
}

/// Each of them in both modes of a mount.
macro_rules! in_both_modes {
    ($($name:ident)*) => {
        mod write_through { $(#[test] fn $name() { super::$name(disk::Mode::WriteThrough) })* }
        mod write_back { $(#[test] fn $name() { super::$name(disk::Mode::WriteBack) })* }
    };
}

in_both_modes! {
    a_synced_mapping_stays_and_a_late_page_goes_into_the_ledger
    a_mapping_and_calls_see_each_other
}

fn durable_file(mnt: &Path) -> File {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(mnt.join("index"))
        .unwrap();
    file.set_len(LENGTH as u64).unwrap();
    file.sync_all().unwrap();
    file
}

fn a_synced_mapping_stays_and_a_late_page_goes_into_the_ledger(mode: Mode) {
    let m = Mounted::new(mode);
    m.with(|mnt| {
        let mapping = Mapping::of(&durable_file(mnt));
        mapping.fill(0, 1);
        mapping.sync();
        mapping.fill(1, 2);
        m.disk.power_off();
        // The page is dirty in the kernel only, and is written now that the power is off.
        drop(mapping);
    });
    let loss = m.disk.settle(9, Policy::default()).unwrap();
    assert_eq!((loss.bytes, loss.files), (4096, 1));
    assert_eq!(
        fs::read(m.home.paths().lost.join("9/index@4096")).unwrap(),
        [2; 4096]
    );
    let left = fs::read(m.home.paths().backing.join("index")).unwrap();
    assert_eq!(
        (left.len(), &left[..4096], &left[4096..8192]),
        (LENGTH, &[1; 4096][..], &[0; 4096][..])
    );
}

fn a_mapping_and_calls_see_each_other(mode: Mode) {
    let m = Mounted::new(mode);
    m.with(|mnt| {
        let file = durable_file(mnt);
        let mapping = Mapping::of(&file);
        mapping.fill(2, 5);
        assert_eq!(fs::read(mnt.join("index")).unwrap()[2 * 4096], 5);
        std::os::unix::fs::FileExt::write_all_at(&file, &[6; 10], 2 * 4096).unwrap();
        // SAFETY: within the mapping.
        assert_eq!(unsafe { mapping.0.cast::<u8>().add(2 * 4096).read_volatile() }, 6);
    });
    assert_eq!(
        fs::read(m.home.paths().backing.join("index")).unwrap()[2 * 4096 + 10],
        5
    );
}
