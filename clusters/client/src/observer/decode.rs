//! Reading metadata records, as far as the observer tells of them.
//!
//! A record is a frame version, its type and its version as unsigned variable-length numbers, then its fields in
//! Kafka's flexible form. Only fields up to the last one told of are read; tagged ones by their tags. Types of
//! which nothing is told are not read at all, so that a newer cluster's are no error.

use super::change::{Change, NewPartition, PartitionChange};
use crate::ids::TopicId;
use bytes::Buf;

/// The only frame version there is.
const FRAME_VERSION: u64 = 1;
/// LeaderRecoveryState: the leader was elected uncleanly and has yet to recover.
const RECOVERING: i8 = 1;
/// PartitionChangeRecord's leader where it is not changed; left out, it is the same.
const NO_LEADER_CHANGE: i32 = -2;

/// Reads one record.
pub(super) fn decode(record: &[u8]) -> Result<Change, String> {
    let mut fields = Fields(record);
    let frame = fields.varint()?;
    if frame != FRAME_VERSION {
        return Err(format!("frame version {frame}, only {FRAME_VERSION} is known"));
    }
    let (kind, version) = (fields.varint()?, fields.varint()?);
    body(kind, version, &mut fields).map_err(|why| format!("type {kind} version {version}: {why}"))
}

fn body(kind: u64, version: u64, fields: &mut Fields) -> Result<Change, String> {
    let newest = match kind {
        0 => 4,
        3 | 5 => 2,
        17 => 3,
        1 | 2 | 4 | 7 | 8 | 9 | 12 | 23 | 24 | 25 | 28 => 0,
        _ => return Ok(Change::Other),
    };
    if version > newest {
        return Err(format!("only versions up to {newest} are known"));
    }
    Ok(match kind {
        0 => register(version, fields)?,
        1 => Change::Unregister {
            broker: fields.int32()?,
            epoch: fields.int64()?,
        },
        2 => {
            let name = fields.string()?;
            Change::Topic {
                name,
                id: fields.uuid()?,
            }
        }
        3 => Change::Partition(partition(version, fields)?),
        4 => Change::Config {
            resource_type: fields.int8()?,
            resource: fields.string()?,
            name: fields.string()?,
            value: fields.nullable_string()?,
        },
        5 => Change::PartitionChange(partition_change(fields)?),
        7 => fencing(true, fields)?,
        8 => fencing(false, fields)?,
        9 => Change::RemoveTopic { id: fields.uuid()? },
        12 => Change::Feature {
            name: fields.string()?,
            level: fields.int16()?,
        },
        17 => registration(fields)?,
        23 => Change::Begin,
        24 => Change::End,
        25 => Change::Abort,
        28 => Change::ClearElr {
            topic: fields.string()?,
        },
        _ => Change::Other,
    })
}

fn register(version: u64, fields: &mut Fields) -> Result<Change, String> {
    let broker = fields.int32()?;
    if version >= 2 {
        // IsMigratingZkBroker.
        fields.bool()?;
    }
    let incarnation = fields.uuid()?;
    let epoch = fields.int64()?;
    // EndPoints: name, host, port, security protocol.
    fields.each(|fields| {
        fields.string()?;
        fields.string()?;
        fields.skip(2 + 2)?;
        fields.tags(|_, _| Ok(()))
    })?;
    // Features: name, lowest and highest level.
    fields.each(|fields| {
        fields.string()?;
        fields.skip(2 + 2)?;
        fields.tags(|_, _| Ok(()))
    })?;
    // Rack.
    fields.nullable_string()?;
    let fenced = fields.bool()?;
    let in_controlled_shutdown = version >= 1 && fields.bool()?;
    Ok(Change::Register {
        broker,
        epoch,
        incarnation,
        fenced,
        in_controlled_shutdown,
    })
}

fn partition(version: u64, fields: &mut Fields) -> Result<NewPartition, String> {
    let mut new = NewPartition {
        partition: fields.int32()?,
        topic: fields.uuid()?,
        replicas: fields.nodes()?,
        isr: fields.nodes()?,
        ..NewPartition::default()
    };
    // RemovingReplicas and AddingReplicas.
    fields.nodes()?;
    fields.nodes()?;
    (new.leader, new.leader_epoch, new.partition_epoch) = (fields.int32()?, fields.int32()?, fields.int32()?);
    if version >= 1 {
        // Directories.
        fields.each(|fields| fields.skip(16))?;
    }
    fields.tags(|tag, fields| {
        match tag {
            0 => new.recovering = fields.int8()? == RECOVERING,
            1 => new.elr = fields.nodes()?,
            2 => new.last_known_elr = fields.nodes()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(new)
}

fn partition_change(fields: &mut Fields) -> Result<PartitionChange, String> {
    let mut change = PartitionChange {
        partition: fields.int32()?,
        topic: fields.uuid()?,
        ..PartitionChange::default()
    };
    fields.tags(|tag, fields| {
        match tag {
            0 => change.isr = fields.nullable_nodes()?,
            1 => change.leader = Some(fields.int32()?).filter(|leader| *leader != NO_LEADER_CHANGE),
            2 => change.replicas = fields.nullable_nodes()?,
            5 => change.recovering = fields.int8()? == RECOVERING,
            6 => change.elr = fields.nullable_nodes()?,
            7 => change.last_known_elr = fields.nullable_nodes()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(change)
}

fn fencing(fenced: bool, fields: &mut Fields) -> Result<Change, String> {
    let (broker, epoch) = (fields.int32()?, fields.int64()?);
    Ok(Change::Registration {
        broker,
        epoch,
        fenced: Some(fenced),
        in_controlled_shutdown: false,
    })
}

fn registration(fields: &mut Fields) -> Result<Change, String> {
    let (broker, epoch) = (fields.int32()?, fields.int64()?);
    let (mut fenced, mut in_controlled_shutdown) = (None, false);
    fields.tags(|tag, fields| {
        match tag {
            0 => {
                fenced = match fields.int8()? {
                    1 => Some(true),
                    -1 => Some(false),
                    _ => None,
                }
            }
            1 => in_controlled_shutdown = fields.int8()? == 1,
            _ => {}
        }
        Ok(())
    })?;
    Ok(Change::Registration {
        broker,
        epoch,
        fenced,
        in_controlled_shutdown,
    })
}

/// Fields in Kafka's flexible form. Nothing is believed of a length but what the bytes bear out.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| format!("{count} bytes expected where {} are left", self.0.len()))?;
        self.0 = rest;
        Ok(taken)
    }

    fn skip(&mut self, count: usize) -> Result<(), String> {
        self.bytes(count).map(drop)
    }

    fn int8(&mut self) -> Result<i8, String> {
        self.bytes(1).map(|mut bytes| bytes.get_i8())
    }

    fn bool(&mut self) -> Result<bool, String> {
        self.int8().map(|byte| byte != 0)
    }

    fn int16(&mut self) -> Result<i16, String> {
        self.bytes(2).map(|mut bytes| bytes.get_i16())
    }

    fn int32(&mut self) -> Result<i32, String> {
        self.bytes(4).map(|mut bytes| bytes.get_i32())
    }

    fn int64(&mut self) -> Result<i64, String> {
        self.bytes(8).map(|mut bytes| bytes.get_i64())
    }

    fn uuid(&mut self) -> Result<TopicId, String> {
        self.bytes(16)
            .map(|mut bytes| TopicId::from_u128(bytes.get_u128()))
    }

    /// An unsigned variable-length number; Kafka's are at most 32 bits wide.
    fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.bytes(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number is longer than five bytes".into())
    }

    /// A length, which goes over the wire plus one; none is null.
    fn length(&mut self) -> Result<Option<usize>, String> {
        // Five bytes of seven bits fit a usize on every system this builds for but 16-bit ones.
        Ok(self.varint()?.checked_sub(1).map(|length| length as usize))
    }

    fn nullable_string(&mut self) -> Result<Option<String>, String> {
        let Some(length) = self.length()? else {
            return Ok(None);
        };
        let text = self.bytes(length)?;
        String::from_utf8(text.to_vec())
            .map(Some)
            .map_err(|_| "a text is not UTF-8".into())
    }

    fn string(&mut self) -> Result<String, String> {
        self.nullable_string()?.ok_or_else(|| "a text is null".into())
    }

    fn nullable_nodes(&mut self) -> Result<Option<Vec<i32>>, String> {
        let Some(length) = self.length()? else {
            return Ok(None);
        };
        let mut nodes = self.bytes(length.saturating_mul(4))?;
        let mut ids = Vec::with_capacity(length);
        while nodes.has_remaining() {
            ids.push(nodes.get_i32());
        }
        Ok(Some(ids))
    }

    fn nodes(&mut self) -> Result<Vec<i32>, String> {
        self.nullable_nodes().map(Option::unwrap_or_default)
    }

    /// Reads each element of an array; null has none.
    fn each(&mut self, mut read: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        for _ in 0..self.length()?.unwrap_or(0) {
            read(self)?;
        }
        Ok(())
    }

    /// Hands each tagged field, by its tag, to who may know it.
    fn tags(&mut self, mut read: impl FnMut(u64, &mut Self) -> Result<(), String>) -> Result<(), String> {
        for _ in 0..self.varint()? {
            let tag = self.varint()?;
            let size = self.varint()? as usize;
            read(tag, &mut Fields(self.bytes(size)?))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame: type, version, body.
    fn record(kind: u8, version: u8, body: &[&[u8]]) -> Vec<u8> {
        [&[1, kind, version], body.concat().as_slice()].concat()
    }

    const ID: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5];

    fn change_record() -> Vec<u8> {
        // Partition 1: ISR [2], leader 2, RECOVERING, ELR [], and a tag of a later version.
        record(
            5,
            2,
            &[
                &[0, 0, 0, 1],
                &ID,
                &[5],
                &[0, 5, 2, 0, 0, 0, 2],
                &[1, 4, 0, 0, 0, 2],
                &[5, 1, 1],
                &[6, 1, 1],
                &[9, 2, 7, 7],
            ],
        )
    }

    #[test]
    fn a_change_names_what_it_changes_and_no_more() {
        let expected = PartitionChange {
            topic: TopicId::from_u128(5),
            partition: 1,
            isr: Some(vec![2]),
            leader: Some(2),
            recovering: true,
            elr: Some(vec![]),
            ..PartitionChange::default()
        };
        assert_eq!(decode(&change_record()), Ok(Change::PartitionChange(expected)));
        let nothing = record(5, 2, &[&[0, 0, 0, 1], &ID, &[1], &[1, 4, 0xff, 0xff, 0xff, 0xfe]]);
        let Ok(Change::PartitionChange(change)) = decode(&nothing) else {
            panic!()
        };
        assert_eq!(change.leader, None, "-2 is no change");
    }

    #[test]
    fn a_partition_of_each_version_is_read() {
        let fixed: &[&[u8]] = &[&[0, 0, 0, 3], &ID, &[2, 0, 0, 0, 1], &[2, 0, 0, 0, 1], &[1], &[1]];
        let epochs: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9];
        let directories: &[u8] = &[&[2], ID.as_slice()].concat();
        let tags: &[u8] = &[2, 1, 5, 2, 0, 0, 0, 7, 2, 5, 2, 0, 0, 0, 8];
        let old = decode(&record(3, 0, &[&fixed.concat(), epochs, &[0]]));
        let new = decode(&record(3, 2, &[&fixed.concat(), epochs, directories, tags]));
        let (Ok(Change::Partition(old)), Ok(Change::Partition(new))) = (old, new) else {
            panic!()
        };
        assert_eq!(
            (old.partition, old.leader, old.leader_epoch, old.partition_epoch),
            (3, 1, 4, 9)
        );
        assert_eq!(
            (new.elr.as_slice(), new.last_known_elr.as_slice()),
            ([7].as_slice(), [8].as_slice())
        );
        assert_eq!(
            NewPartition {
                elr: vec![],
                last_known_elr: vec![],
                ..new
            },
            old
        );
    }

    #[test]
    fn unknown_types_are_let_pass_and_unknown_versions_are_not() {
        assert_eq!(decode(&[1, 99, 0, 42]), Ok(Change::Other));
        assert!(
            decode(&record(5, 3, &[]))
                .unwrap_err()
                .contains("type 5 version 3")
        );
        assert!(decode(&[0, 5, 2]).unwrap_err().contains("frame version"));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = change_record();
        for at in 0..whole.len() {
            assert!(decode(&whole[..at]).is_err(), "cut at {at}");
            for flip in [1, 0x7f, 0x80, 0xff] {
                let mut hurt = whole.clone();
                hurt[at] ^= flip;
                let _ = decode(&hurt);
            }
        }
    }
}
