//! Writes snapshots, on a thread of its own.
//!
//! The scribe takes in every committed batch, and so has a second image of the cluster, of what is
//! committed and nothing else: an active controller's own is ahead of that. The price is the image's memory
//! once more; what is won is that neither building the records nor writing and syncing them holds the node
//! up, on controllers and brokers alike.
//!
//! The last batch is held back until the next one comes, or a snapshot is asked for: a snapshot has the
//! records below its end offset and no others, wherever that offset lies.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc as orders};
use std::thread::JoinHandle;

use controller::Image;
use records::Record;
use storage::control::ControlRecord;
use storage::snapshot::{SnapshotHeader, SnapshotId, SnapshotReader, SnapshotWriter};
use storage::{Records, StorageError};
use tokio::sync::mpsc;

use super::snapshots::for_each_record;
use super::{Answer, Committed, Fatal, Told};

enum Order {
    Replace(Arc<SnapshotReader>),
    Follow(Committed),
    Write(SnapshotId, Vec<ControlRecord>),
}

/// The thread. It ends, and is waited for, when this is dropped, so that nothing is written any more then.
pub struct Scribe {
    orders: Option<orders::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Scribe {
    /// Starts it. What it has written, or why it could not, it tells at `answers`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start(folder: &Path, answers: mpsc::UnboundedSender<Answer>) -> std::io::Result<Self> {
        let (sender, inbox) = orders::channel();
        let mut desk = Desk {
            folder: folder.to_owned(),
            image: Image::default(),
            held: None,
            timestamp: 0,
        };
        let work = move || {
            for order in inbox {
                let done = match order {
                    Order::Replace(reader) => desk.replace(&reader).map(|()| None),
                    Order::Follow(batch) => desk.follow(batch).map(|()| None),
                    Order::Write(id, quorum) => desk.write(id, quorum).map(Some),
                };
                let (told, goes_on) = match done {
                    Ok(None) => continue,
                    Ok(Some(reader)) => (Ok(reader), true),
                    Err(error) => (Err(error), false),
                };
                // The core is gone when the node stops.
                if answers.send(Answer(Told::Snapshot(told))).is_err() || !goes_on {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("snapshots".to_owned())
            .spawn(work)?;
        Ok(Self {
            orders: Some(sender),
            thread: Some(thread),
        })
    }

    /// All that was committed so far is what this snapshot says.
    pub fn replace(&self, reader: Arc<SnapshotReader>) {
        self.order(Order::Replace(reader));
    }

    /// This was committed next.
    pub fn follow(&self, batch: Committed) {
        self.order(Order::Follow(batch));
    }

    /// A snapshot of what lies below `id`'s end offset is wanted, which may lie in the last batch.
    pub fn write(&self, id: SnapshotId, quorum: Vec<ControlRecord>) {
        self.order(Order::Write(id, quorum));
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // A scribe that has ended has said why.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to say that is of use now.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct Desk {
    folder: PathBuf,
    image: Image,
    held: Option<Committed>,
    /// Of the last record that was taken in.
    timestamp: i64,
}

impl Desk {
    fn replace(&mut self, reader: &SnapshotReader) -> Result<(), Fatal> {
        self.held = None;
        self.timestamp = reader.header().last_contained_log_timestamp;
        self.image = Image::default();
        let last = reader.id().end_offset - 1;
        for_each_record(reader, |record| {
            self.image
                .replay(last, last, &record)
                .map_err(|error| error.to_string())
        })
    }

    fn follow(&mut self, batch: Committed) -> Result<(), Fatal> {
        match self.held.replace(batch) {
            Some(before) => self.take_in(&before, i64::MIN, i64::MAX),
            None => Ok(()),
        }
    }

    /// Takes in the records of a batch with offsets from `from` on and below `to`.
    fn take_in(&mut self, batch: &Committed, from: i64, to: i64) -> Result<(), Fatal> {
        self.timestamp = batch.timestamp;
        if batch.is_control {
            return Ok(());
        }
        let broken = |error: &dyn std::fmt::Display| {
            let offset = batch.base_offset;
            Fatal::Quorum(format!("the metadata batch at offset {offset}: {error}"))
        };
        for record in Records::of(&batch.bytes).map_err(|error| broken(&error))? {
            let record = record.map_err(|error| broken(&error))?;
            if !(from..to).contains(&record.offset) {
                continue;
            }
            let decoded = Record::decode(record.value.unwrap_or_default()).map_err(|error| broken(&error))?;
            self.image
                .replay(record.offset, batch.base_offset, &decoded)
                .map_err(|error| broken(&error))?;
        }
        Ok(())
    }

    /// Writes a snapshot, and opens it. None where one that was fetched meanwhile has its name, or has had
    /// it removed as the older one.
    fn write(&mut self, id: SnapshotId, quorum: Vec<ControlRecord>) -> Result<Option<SnapshotReader>, Fatal> {
        let held = self.held.take();
        if let Some(batch) = &held {
            self.take_in(batch, i64::MIN, id.end_offset)?;
        }
        let written = self.write_file(id, quorum)?;
        if let Some(batch) = &held {
            self.take_in(batch, id.end_offset, i64::MAX)?;
        }
        if !written {
            return Ok(None);
        }
        match SnapshotReader::open(&self.folder, id) {
            Ok(reader) => Ok(Some(reader)),
            Err(StorageError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn write_file(&self, id: SnapshotId, quorum: Vec<ControlRecord>) -> Result<bool, Fatal> {
        let header = SnapshotHeader {
            last_contained_log_timestamp: self.timestamp,
            quorum,
        };
        let mut writer = match SnapshotWriter::create(&self.folder, id, &header, self.timestamp) {
            Ok(writer) => writer,
            Err(StorageError::SnapshotExists { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        for record in self.image.records() {
            writer.append(&record.encode())?;
        }
        writer.finish()?;
        Ok(true)
    }
}
