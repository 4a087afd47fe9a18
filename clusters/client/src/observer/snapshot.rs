//! A snapshot of the metadata log, read part by part and verified before anything of it is believed (KIP-630).

use super::control::{self, Control};
use crate::batch::{self, Batch, Content};
use crate::calls::{FetchedSnapshot, SnapshotId};
use bytes::Bytes;

/// The largest snapshot that is read: far above what a test's cluster writes, far below a machine's memory.
const MAX_SNAPSHOT_BYTES: i64 = 256 << 20;

/// A snapshot that is being read.
#[derive(Debug)]
pub(super) struct Download {
    id: SnapshotId,
    size: Option<i64>,
    bytes: Vec<u8>,
}

impl Download {
    pub fn new(id: SnapshotId) -> Download {
        Download {
            id,
            size: None,
            bytes: Vec::new(),
        }
    }

    /// Which one.
    pub fn id(&self) -> SnapshotId {
        self.id
    }

    /// The next byte wanted.
    pub fn position(&self) -> i64 {
        // A vector is never longer than what an i64 can say.
        self.bytes.len() as i64
    }

    /// Takes a part in; gives the verified batches where it was the last.
    pub fn take(&mut self, part: &FetchedSnapshot) -> Result<Option<Vec<Batch>>, String> {
        if part.id != self.id {
            return Err(format!("{:?} was asked for, {:?} came", self.id, part.id));
        }
        if part.position != self.position() {
            return Err(format!(
                "position {} was asked for, {} came",
                self.position(),
                part.position
            ));
        }
        if part.size <= 0 || part.size > MAX_SNAPSHOT_BYTES {
            return Err(format!(
                "a size of {} bytes, at most {MAX_SNAPSHOT_BYTES} are read",
                part.size
            ));
        }
        if *self.size.get_or_insert(part.size) != part.size {
            return Err(format!("its size changed to {} bytes", part.size));
        }
        self.bytes.extend_from_slice(&part.bytes);
        if self.position() > part.size {
            return Err(format!("it is longer than its {} bytes", part.size));
        }
        if part.bytes.is_empty() {
            return Err(format!("it ends at {} of {} bytes", self.position(), part.size));
        }
        if self.position() < part.size {
            return Ok(None);
        }
        verified(std::mem::take(&mut self.bytes).into()).map(Some)
    }
}

/// The batches of a snapshot: whole, each with its checksum, a header before all and a footer after all else.
fn verified(bytes: Bytes) -> Result<Vec<Batch>, String> {
    let batches = batch::decode_exactly(bytes)?;
    let mut marks = Vec::new();
    let mut records = 0_usize;
    for batch in &batches {
        match &batch.content {
            Content::Corrupt(why) => {
                return Err(format!("the batch at {} is corrupt: {why}", batch.base_offset));
            }
            Content::Records(found) => records += found.len(),
            Content::Control(found) => {
                for record in found {
                    if let Ok(mark @ (Control::Header | Control::Footer)) =
                        control::decode(record, batch.leader_epoch)
                    {
                        marks.push((mark, records));
                    }
                    records += 1;
                }
            }
        }
    }
    match marks.as_slice() {
        [(Control::Header, 0), (Control::Footer, last)] if *last + 1 == records => Ok(batches),
        [(Control::Header, 0)] => Err("it has no footer: it was not written to its end".into()),
        [(Control::Header, _), ..] => Err("records stand before its header, or after its footer".into()),
        _ => Err("it has no header".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;
    use crate::fake::{control_batch, metadata_batch, snapshot_bytes};

    const ID: SnapshotId = SnapshotId {
        end_offset: 100,
        epoch: 3,
    };
    const HEADER: i16 = 3;
    const FOOTER: i16 = 4;

    fn noop() -> Bytes {
        Bytes::from_static(&[1, 20, 0, 0])
    }

    fn part(size: i64, position: i64, bytes: &[u8]) -> FetchedSnapshot {
        FetchedSnapshot {
            error: ErrorCode::NONE,
            id: ID,
            size,
            position,
            bytes: Bytes::copy_from_slice(bytes),
            current_leader: None,
            endpoints: Vec::new(),
        }
    }

    #[test]
    fn parts_of_any_size_make_the_whole() {
        let whole = snapshot_bytes(&[noop(), noop()]);
        for step in [1, 7, 64, whole.len()] {
            let mut download = Download::new(ID);
            let mut came = None;
            for (number, bytes) in whole.chunks(step).enumerate() {
                assert!(came.is_none());
                let position = (number * step) as i64;
                came = download.take(&part(whole.len() as i64, position, bytes)).unwrap();
            }
            assert_eq!(came.unwrap().len(), 3);
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let whole = snapshot_bytes(&[noop()]);
        let size = whole.len() as i64;
        let first = part(size, 0, &whole[..10]);
        let refused = |wrong: FetchedSnapshot| {
            let mut download = Download::new(ID);
            assert_eq!(download.take(&first), Ok(None));
            download.take(&wrong).unwrap_err()
        };
        assert!(refused(part(size, 9, &whole[9..])).contains("position 10"));
        assert!(refused(part(size + 1, 10, &whole[10..])).contains("size changed"));
        assert!(refused(part(size, 10, &[])).contains("ends at 10"));
        assert!(refused(part(size, 10, &[&whole[10..], b"x"].concat())).contains("longer"));
        let mut other = part(size, 10, &whole[10..]);
        other.id.epoch = 4;
        assert!(refused(other).contains("epoch: 4"));
        for size in [0, -1, i64::MAX] {
            assert!(Download::new(ID).take(&part(size, 0, b"x")).is_err());
        }
    }

    #[test]
    fn a_snapshot_is_whole_checked_and_marked_at_both_ends() {
        let whole = snapshot_bytes(&[noop()]);
        assert!(verified(whole.clone()).is_ok());
        for at in 0..whole.len() {
            // Whatever is hurt, nothing panics.
            let mut hurt = whole.to_vec();
            hurt[at] ^= 0x10;
            let _ = verified(hurt.into());
        }
        let mut flipped = whole.to_vec();
        *flipped.last_mut().unwrap() ^= 1;
        assert!(verified(flipped.into()).unwrap_err().contains("corrupt"));
        let refused = |batches: &[Bytes]| verified(batches.concat().into()).unwrap_err();
        let mark = |kind| control_batch(&[(kind, Bytes::from_static(&[0, 0, 0]))]);
        let records = || metadata_batch(&[noop()]);
        assert!(refused(&[records(), mark(FOOTER)]).contains("no header"));
        assert!(refused(&[mark(HEADER), records()]).contains("no footer"));
        assert!(refused(&[records(), mark(HEADER), mark(FOOTER)]).contains("before its header"));
        assert!(refused(&[mark(HEADER), mark(FOOTER), records()]).contains("after its footer"));
        assert!(refused(&[]).contains("no header"));
        assert!(verified(whole.slice(..whole.len() - 1)).is_err());
    }
}
