//! One file of a log: batches from the offset in its name on.
//!
//! Where a batch lies is found by a sparse index in memory, built while scanning and appending: there
//! are no index files that could disagree with the log.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::batch::{BatchError, BatchHeader, HEADER_BYTES};
use crate::error::{Result, StorageError};
use crate::steps;
use crate::window::Window;

/// An index entry is made for the first batch, and then every so many bytes (Kafka's own default).
const INDEX_INTERVAL_BYTES: u64 = 4096;
/// Digits of the base offset in a segment's name: all that 64 bits may need, and one more.
const NAME_DIGITS: usize = 20;
const NAME_SUFFIX: &str = ".log";

/// A segment.
#[derive(Debug)]
pub(crate) struct Segment {
    base_offset: i64,
    end_offset: i64,
    size: u64,
    index: Vec<(i64, u64)>,
    file: File,
    path: PathBuf,
    dirty: bool,
}

/// Where in a log a scan stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    /// The offset at which the next batch must begin.
    pub(crate) next_offset: i64,
    /// The lowest leader epoch that it may have.
    pub(crate) leader_epoch: i32,
}

/// A batch of a segment, and where it lies.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) position: u64,
    pub(crate) header: BatchHeader,
}

impl Segment {
    /// Makes an empty segment. The caller syncs the folder.
    pub(crate) fn create(folder: &Path, base_offset: i64) -> Result<Self> {
        let path = folder.join(format!("{base_offset:0NAME_DIGITS$}{NAME_SUFFIX}"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path);
        let file = file.map_err(StorageError::io("create", &path))?;
        steps::name_changed(&path);
        Ok(Self::empty(base_offset, path, file))
    }

    /// Opens the segment that begins at `base_offset`, without reading it: [`Segment::scan`] does.
    pub(crate) fn open(path: PathBuf, base_offset: i64) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(StorageError::io("open", &path))?;
        Ok(Self::empty(base_offset, path, file))
    }

    fn empty(base_offset: i64, path: PathBuf, file: File) -> Self {
        Self {
            base_offset,
            end_offset: base_offset,
            size: 0,
            index: Vec::new(),
            file,
            path,
            dirty: true,
        }
    }

    /// The base offset in a segment's file name; `None` for any other file.
    pub(crate) fn base_offset_of(path: &Path) -> Option<i64> {
        let digits = path.file_name()?.to_str()?.strip_suffix(NAME_SUFFIX)?;
        let only_digits = digits.len() == NAME_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| only_digits)
    }

    pub(crate) fn base_offset(&self) -> i64 {
        self.base_offset
    }

    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Checks every batch in the file, and hands its header to `visit`. Stops at the first that is torn,
    /// damaged or out of place, cuts the file there, and returns how many bytes went, and why.
    pub(crate) fn scan(
        &mut self,
        cursor: &mut Cursor,
        mut visit: impl FnMut(&BatchHeader),
    ) -> Result<Option<(u64, String)>> {
        let length = self
            .file
            .metadata()
            .map_err(StorageError::io("stat", &self.path))?
            .len();
        let mut window = Window::default();
        while self.size < length {
            match self.check_next(&mut window, length, cursor)? {
                Ok(header) => {
                    self.note(&header);
                    cursor.next_offset = header.next_offset();
                    cursor.leader_epoch = header.leader_epoch;
                    visit(&header);
                }
                Err(why) => {
                    let reason = format!("{} at byte {}: {why}", self.path.display(), self.size);
                    self.file
                        .set_len(self.size)
                        .map_err(StorageError::io("truncate", &self.path))?;
                    return Ok(Some((length - self.size, reason)));
                }
            }
        }
        Ok(None)
    }

    /// The next batch of a scan, or why it is none.
    fn check_next(
        &self,
        window: &mut Window,
        length: u64,
        cursor: &Cursor,
    ) -> Result<std::result::Result<BatchHeader, String>> {
        let bytes = window.get(&self.file, self.size, HEADER_BYTES, length);
        let header = match BatchHeader::parse(bytes.map_err(StorageError::io("read", &self.path))?) {
            Ok(header) => header,
            Err(error) => return Ok(Err(error.to_string())),
        };
        // The window holds no more than the file has, so a length that lies asks for no memory.
        let bytes = window.get(&self.file, self.size, header.total_bytes, length);
        if let Err(error) = BatchHeader::validate(bytes.map_err(StorageError::io("read", &self.path))?) {
            return Ok(Err(error.to_string()));
        }
        if header.base_offset != cursor.next_offset {
            return Ok(Err(format!(
                "offset {} follows {}",
                header.base_offset, cursor.next_offset
            )));
        }
        if header.leader_epoch < cursor.leader_epoch {
            return Ok(Err(format!(
                "epoch {} follows {}",
                header.leader_epoch, cursor.leader_epoch
            )));
        }
        Ok(Ok(header))
    }

    /// Appends whole batches. When the disk refuses, the file is as it was, or the error is `Offline`.
    pub(crate) fn append(&mut self, bytes: &[u8], headers: &[BatchHeader]) -> Result<()> {
        self.dirty = true;
        if let Err(error) = self.file.write_all_at(bytes, self.size) {
            return match self.file.set_len(self.size) {
                Ok(()) => Err(StorageError::io("append to", &self.path)(error)),
                Err(undo) => Err(StorageError::Offline {
                    path: self.path.clone(),
                    cause: format!("a write failed ({error}), and cutting it off too ({undo})"),
                }),
            };
        }
        headers.iter().for_each(|header| self.note(header));
        Ok(())
    }

    /// Takes the batch at the segment's end into account.
    fn note(&mut self, header: &BatchHeader) {
        let due = self
            .index
            .last()
            .is_none_or(|(_, position)| self.size - position >= INDEX_INTERVAL_BYTES);
        if due {
            self.index.push((header.base_offset, self.size));
        }
        self.size += header.total_bytes as u64;
        self.end_offset = header.next_offset();
    }

    /// The batch that holds `offset`; `None` when that lies outside the segment.
    pub(crate) fn find(&self, offset: i64) -> Result<Option<Found>> {
        if !(self.base_offset..self.end_offset).contains(&offset) {
            return Ok(None);
        }
        let next = self
            .index
            .partition_point(|(base_offset, _)| *base_offset <= offset);
        let mut position = next.checked_sub(1).map_or(0, |at| self.index[at].1);
        let mut window = Window::default();
        while let Some(header) = self.header_at(position, &mut window)? {
            if header.next_offset() > offset {
                return Ok(Some(Found { position, header }));
            }
            position += header.total_bytes as u64;
        }
        Ok(None)
    }

    /// The header of the batch at `position`; `None` at the segment's end.
    pub(crate) fn header_at(&self, position: u64, window: &mut Window) -> Result<Option<BatchHeader>> {
        if position >= self.size {
            return Ok(None);
        }
        let bytes = window.get(&self.file, position, HEADER_BYTES, self.size);
        let bytes = bytes.map_err(StorageError::io("read", &self.path))?;
        BatchHeader::parse(bytes)
            .map(Some)
            .map_err(|error| self.rotten(error))
    }

    /// At most `length` bytes from `position` on.
    pub(crate) fn bytes_at(&self, position: u64, length: usize) -> Result<Vec<u8>> {
        let there = usize::try_from(self.size.saturating_sub(position)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(there)];
        let read = self.file.read_exact_at(&mut bytes, position);
        read.map_err(StorageError::io("read", &self.path))?;
        Ok(bytes)
    }

    /// Bytes that were right when they were written or scanned, and are not now.
    pub(crate) fn rotten(&self, source: BatchError) -> StorageError {
        StorageError::Rotten {
            path: self.path.clone(),
            source,
        }
    }

    /// Cuts the segment off at `found`, which is one of its batches.
    pub(crate) fn truncate(&mut self, found: &Found) -> Result<()> {
        self.dirty = true;
        self.file
            .set_len(found.position)
            .map_err(StorageError::io("truncate", &self.path))?;
        self.size = found.position;
        self.end_offset = found.header.base_offset;
        self.index.retain(|(_, position)| *position < found.position);
        Ok(())
    }

    /// Syncs the file's data and size, if it was written since the last time.
    pub(crate) fn sync(&mut self) -> Result<()> {
        if self.dirty {
            self.file
                .sync_data()
                .map_err(StorageError::io("sync", &self.path))?;
            self.dirty = false;
            steps::file_synced(&self.path);
        }
        Ok(())
    }

    /// Removes the file. The caller syncs the folder.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).map_err(StorageError::io("remove", &self.path))?;
        steps::name_changed(&self.path);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, batch};

    #[test]
    fn a_name_is_twenty_digits_and_nothing_else() {
        let base_offset = |name: &str| Segment::base_offset_of(Path::new(name));
        assert_eq!(base_offset("/a/00000000000000000042.log"), Some(42));
        for other in [
            "42.log",
            "00000000000000000042",
            "0000000000000000004x.log",
            "99999999999999999999.log",
            ".log",
        ] {
            assert_eq!(base_offset(other), None, "{other}");
        }
    }

    /// The write fails, and so does taking it back: what the file holds is unknown.
    #[test]
    fn a_write_that_cannot_be_taken_back_says_so() {
        let folder = Folder::new();
        let mut segment = Segment::create(folder.path(), 0).unwrap();
        segment.file = File::open(&segment.path).unwrap(); // for reading only
        let bytes = batch(0, 0, 1, 1);
        let header = BatchHeader::validate(&bytes).unwrap();
        assert!(matches!(
            segment.append(&bytes, &[header]),
            Err(StorageError::Offline { .. })
        ));
        assert_eq!((segment.size(), segment.end_offset()), (0, 0));
    }

    #[test]
    fn a_batch_is_found_by_any_of_its_offsets() {
        let folder = Folder::new();
        let mut segment = Segment::create(folder.path(), 0).unwrap();
        for at in 0..300 {
            let bytes = batch(at * 3, 0, 3, 10);
            segment
                .append(&bytes, &[BatchHeader::validate(&bytes).unwrap()])
                .unwrap();
        }
        assert!(segment.index.len() > 5 && segment.index.len() < 50, "sparse");
        for offset in 0..900 {
            assert_eq!(
                segment.find(offset).unwrap().unwrap().header.base_offset,
                offset - offset % 3
            );
        }
        assert!(segment.find(900).unwrap().is_none() && segment.find(-1).unwrap().is_none());
    }
}
