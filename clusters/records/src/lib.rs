//! The codec of Kafka's metadata records.
//!
//! What it does: one record to and from its bytes, bit for bit as Kafka has them: a frame (frame version, record id,
//! record version, each an unsigned varint) and a flexible body with tagged fields. What it does not: batches,
//! files, meaning. A format, shared as a format only.
//!
//! Invariants:
//! 1. Bytes that are no record are an error, never a panic; unknown tagged fields are skipped.
//! 2. A record of an unknown id, or of a version above those known here, is kept as [`Record::Unknown`].
//! 3. The lowest version is written that can say what the record says. For partitions and their changes: version 2
//!    where an ELR field is there, else version 1 where log folders are, else version 0. Kafka goes by the
//!    metadata.version instead (version 2 from 4.0-IV1 on, the ELR there or not) and reads all of them alike. A
//!    writer must therefore leave the ELR fields empty below 4.0-IV1.
//! 4. The bytes are those of Kafka's own codec (4.3.1), which its tests compare for each record and version, but
//!    for cordoned log folders (versions 4 and 3 of a registration and its change), which are passed over.

mod broker;
mod partition;
mod primitive;
mod simple;

pub use broker::{BrokerRegistrationChange, EndPoint, Feature, RegisterBroker, RegisterController};
pub use partition::{Partition, PartitionChange};
pub use primitive::DecodeError;
pub use simple::{Config, FeatureLevel, ProducerIds, Topic, UnregisterBroker};

use primitive::{Reader, Tags, Writer};
use uuid::Uuid;

/// The frame's version.
const FRAME_VERSION: u32 = 1;

/// A metadata record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Id 0: a broker registered.
    RegisterBroker(RegisterBroker),
    /// Id 1: a registration was removed.
    UnregisterBroker(UnregisterBroker),
    /// Id 2: a topic was made.
    Topic(Topic),
    /// Id 3: a partition was made.
    Partition(Partition),
    /// Id 4: a configuration was set, or removed.
    Config(Config),
    /// Id 5: a partition changed.
    PartitionChange(PartitionChange),
    /// Id 7: a broker was fenced, as clusters before 3.3 said it.
    FenceBroker {
        /// The broker.
        broker_id: i32,
        /// Its epoch.
        broker_epoch: i64,
    },
    /// Id 8: a broker was unfenced, as clusters before 3.3 said it.
    UnfenceBroker {
        /// The broker.
        broker_id: i32,
        /// Its epoch.
        broker_epoch: i64,
    },
    /// Id 9: a topic was removed.
    RemoveTopic(Uuid),
    /// Id 12: a feature's finalised level.
    FeatureLevel(FeatureLevel),
    /// Id 15: a block of producer ids was handed out.
    ProducerIds(ProducerIds),
    /// Id 17: a registration changed.
    BrokerRegistrationChange(BrokerRegistrationChange),
    /// Id 20: nothing.
    NoOp,
    /// Id 23: what follows takes effect at the transaction's end.
    BeginTransaction {
        /// What the transaction is for.
        name: Option<String>,
    },
    /// Id 24: the transaction takes effect.
    EndTransaction,
    /// Id 25: the transaction does not take effect.
    AbortTransaction {
        /// Why not.
        reason: Option<String>,
    },
    /// Id 27: a controller registered.
    RegisterController(RegisterController),
    /// Id 28: ELR and last known ELR of a topic (of all, where the name is empty) are cleared.
    ClearElr(String),
    /// A record that this codec does not know.
    Unknown {
        /// Its id.
        id: u32,
        /// Its version.
        version: u32,
        /// Its body.
        body: Vec<u8>,
    },
}

impl Record {
    /// The record's bytes, frame and body.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Writer::default();
        let (id, version) = self.write(&mut body);
        let mut framed = Writer::default();
        framed.uvarint(FRAME_VERSION);
        framed.uvarint(id);
        framed.uvarint(version);
        framed.raw(&body.into_bytes());
        framed.into_bytes()
    }

    /// Writes the body; gives id and version.
    fn write(&self, out: &mut Writer) -> (u32, u32) {
        match self {
            Record::RegisterBroker(record) => (0, record.write(out)),
            Record::UnregisterBroker(record) => (1, record.write(out)),
            Record::Topic(record) => (2, record.write(out)),
            Record::Partition(record) => (3, record.write(out)),
            Record::Config(record) => (4, record.write(out)),
            Record::PartitionChange(record) => (5, record.write(out)),
            Record::FenceBroker {
                broker_id,
                broker_epoch,
            } => {
                fencing(*broker_id, *broker_epoch, out);
                (7, 0)
            }
            Record::UnfenceBroker {
                broker_id,
                broker_epoch,
            } => {
                fencing(*broker_id, *broker_epoch, out);
                (8, 0)
            }
            Record::RemoveTopic(id) => {
                out.uuid(*id);
                out.no_tags();
                (9, 0)
            }
            Record::FeatureLevel(record) => (12, record.write(out)),
            Record::ProducerIds(record) => (15, record.write(out)),
            Record::BrokerRegistrationChange(record) => (17, record.write(out)),
            Record::NoOp => {
                out.no_tags();
                (20, 0)
            }
            Record::BeginTransaction { name } => {
                remark(name.as_deref(), out);
                (23, 0)
            }
            Record::EndTransaction => {
                out.no_tags();
                (24, 0)
            }
            Record::AbortTransaction { reason } => {
                remark(reason.as_deref(), out);
                (25, 0)
            }
            Record::RegisterController(record) => (27, record.write(out)),
            Record::ClearElr(topic) => {
                out.string(topic);
                out.no_tags();
                (28, 0)
            }
            Record::Unknown { id, version, body } => {
                out.raw(body);
                (*id, *version)
            }
        }
    }

    /// Reads one record.
    ///
    /// # Errors
    /// Where the bytes end early, have another frame, or more than a record.
    pub fn decode(bytes: &[u8]) -> Result<Record, DecodeError> {
        let mut reader = Reader::new(bytes);
        let frame = reader.uvarint()?;
        if frame != FRAME_VERSION {
            return Err(DecodeError::new(format!(
                "frame version {frame}, {FRAME_VERSION} is known"
            )));
        }
        let id = reader.uvarint()?;
        let version = reader.uvarint()?;
        let Some(record) = Record::read(id, version, &mut reader)? else {
            return Ok(Record::Unknown {
                id,
                version,
                body: reader.rest().to_vec(),
            });
        };
        match reader.rest().len() {
            0 => Ok(record),
            more => Err(DecodeError::new(format!(
                "{more} bytes follow the record of id {id}"
            ))),
        }
    }

    /// Reads a body; none where id or version is unknown.
    fn read(id: u32, version: u32, reader: &mut Reader<'_>) -> Result<Option<Record>, DecodeError> {
        Ok(Some(match (id, version) {
            (0, 0..=4) => Record::RegisterBroker(RegisterBroker::read(version, reader)?),
            (1, 0) => Record::UnregisterBroker(UnregisterBroker::read(reader)?),
            (2, 0) => Record::Topic(Topic::read(reader)?),
            (3, 0..=2) => Record::Partition(Partition::read(version, reader)?),
            (4, 0) => Record::Config(Config::read(reader)?),
            (5, 0..=2) => Record::PartitionChange(PartitionChange::read(reader)?),
            (7, 0) => {
                let (broker_id, broker_epoch) = read_fencing(reader)?;
                Record::FenceBroker {
                    broker_id,
                    broker_epoch,
                }
            }
            (8, 0) => {
                let (broker_id, broker_epoch) = read_fencing(reader)?;
                Record::UnfenceBroker {
                    broker_id,
                    broker_epoch,
                }
            }
            (9, 0) => {
                let id = reader.uuid()?;
                reader.skip_tags()?;
                Record::RemoveTopic(id)
            }
            (12, 0) => Record::FeatureLevel(FeatureLevel::read(reader)?),
            (15, 0) => Record::ProducerIds(ProducerIds::read(reader)?),
            (17, 0..=3) => Record::BrokerRegistrationChange(BrokerRegistrationChange::read(reader)?),
            (20, 0) => {
                reader.skip_tags()?;
                Record::NoOp
            }
            (23, 0) => Record::BeginTransaction {
                name: read_remark(reader)?,
            },
            (24, 0) => {
                reader.skip_tags()?;
                Record::EndTransaction
            }
            (25, 0) => Record::AbortTransaction {
                reason: read_remark(reader)?,
            },
            (27, 0) => Record::RegisterController(RegisterController::read(reader)?),
            (28, 0) => {
                let topic = reader.string()?;
                reader.skip_tags()?;
                Record::ClearElr(topic)
            }
            _ => return Ok(None),
        }))
    }
}

fn fencing(broker_id: i32, broker_epoch: i64, out: &mut Writer) {
    out.i32(broker_id);
    out.i64(broker_epoch);
    out.no_tags();
}

fn read_fencing(reader: &mut Reader<'_>) -> Result<(i32, i64), DecodeError> {
    let read = (reader.i32()?, reader.i64()?);
    reader.skip_tags()?;
    Ok(read)
}

/// A body that is one tagged field, a nullable string, left out where it is null.
fn remark(text: Option<&str>, out: &mut Writer) {
    let mut tags = Tags::default();
    if let Some(text) = text {
        tags.put(0, |out| out.string(text));
    }
    out.tags(tags);
}

fn read_remark(reader: &mut Reader<'_>) -> Result<Option<String>, DecodeError> {
    let mut text = None;
    reader.tags(|tag, reader| {
        if tag == 0 {
            text = reader.nullable_string()?;
        }
        Ok(())
    })?;
    Ok(text)
}

#[cfg(test)]
mod tests;
