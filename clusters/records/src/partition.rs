//! Partitions: as they are made, and as they change.

use crate::primitive::{DecodeError, Reader, Tags, Writer};
use uuid::Uuid;

/// Id 3. Version 1 has directories, version 2 the eligible leader replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Its number.
    pub partition_id: i32,
    /// The topic.
    pub topic_id: Uuid,
    /// In assignment order.
    pub replicas: Vec<i32>,
    /// In-sync replicas.
    pub isr: Vec<i32>,
    /// Leaving, in a reassignment.
    pub removing_replicas: Vec<i32>,
    /// Joining, in a reassignment.
    pub adding_replicas: Vec<i32>,
    /// The leader; −1 is none.
    pub leader: i32,
    /// 0 recovered, 1 recovering.
    pub leader_recovery_state: i8,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// The partition's epoch.
    pub partition_epoch: i32,
    /// A log folder's id for each replica.
    pub directories: Vec<Uuid>,
    /// Eligible leader replicas; written where not empty.
    pub eligible_leader_replicas: Vec<i32>,
    /// The last known ELR; written where not empty.
    pub last_known_elr: Vec<i32>,
}

impl Partition {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        let with_elr = !self.eligible_leader_replicas.is_empty() || !self.last_known_elr.is_empty();
        let version = if with_elr {
            2
        } else {
            u32::from(!self.directories.is_empty())
        };
        out.i32(self.partition_id);
        out.uuid(self.topic_id);
        for list in [
            &self.replicas,
            &self.isr,
            &self.removing_replicas,
            &self.adding_replicas,
        ] {
            out.i32s(list);
        }
        out.i32(self.leader);
        out.i32(self.leader_epoch);
        out.i32(self.partition_epoch);
        if version >= 1 {
            out.uuids(&self.directories);
        }
        let mut tags = Tags::default();
        if self.leader_recovery_state != 0 {
            tags.put(0, |out| out.i8(self.leader_recovery_state));
        }
        if !self.eligible_leader_replicas.is_empty() {
            tags.put(1, |out| out.i32s(&self.eligible_leader_replicas));
        }
        if !self.last_known_elr.is_empty() {
            tags.put(2, |out| out.i32s(&self.last_known_elr));
        }
        out.tags(tags);
        version
    }

    pub(crate) fn read(version: u32, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut record = Partition {
            partition_id: reader.i32()?,
            topic_id: reader.uuid()?,
            replicas: reader.i32s()?,
            isr: reader.i32s()?,
            removing_replicas: reader.i32s()?,
            adding_replicas: reader.i32s()?,
            leader: reader.i32()?,
            leader_epoch: reader.i32()?,
            partition_epoch: reader.i32()?,
            directories: if version >= 1 { reader.uuids()? } else { Vec::new() },
            ..Partition::default()
        };
        reader.tags(|tag, reader| {
            match tag {
                0 => record.leader_recovery_state = reader.i8()?,
                1 => {
                    record.eligible_leader_replicas = reader.nullable_array(Reader::i32)?.unwrap_or_default()
                }
                2 => record.last_known_elr = reader.nullable_array(Reader::i32)?.unwrap_or_default(),
                _ => {}
            }
            Ok(())
        })?;
        Ok(record)
    }
}

/// Id 5. A field that is none is unchanged; each change adds one to the partition's epoch, and one to the leader's
/// epoch where `leader` is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionChange {
    /// The partition.
    pub partition_id: i32,
    /// The topic.
    pub topic_id: Uuid,
    /// The new ISR.
    pub isr: Option<Vec<i32>>,
    /// The new leader; −1 is none.
    pub leader: Option<i32>,
    /// The new replicas.
    pub replicas: Option<Vec<i32>>,
    /// Leaving.
    pub removing_replicas: Option<Vec<i32>>,
    /// Joining.
    pub adding_replicas: Option<Vec<i32>>,
    /// 0 recovered, 1 recovering.
    pub leader_recovery_state: Option<i8>,
    /// The new eligible leader replicas.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// The new last known ELR.
    pub last_known_elr: Option<Vec<i32>>,
    /// The new log folders.
    pub directories: Option<Vec<Uuid>>,
}

/// "No change" in the leader's field.
const LEADER_UNCHANGED: i32 = -2;
/// "No change" in the recovery state's field.
const STATE_UNCHANGED: i8 = -1;

impl PartitionChange {
    /// Whether it changes nothing.
    pub fn is_no_op(&self) -> bool {
        let empty = PartitionChange {
            partition_id: self.partition_id,
            topic_id: self.topic_id,
            ..Default::default()
        };
        *self == empty
    }

    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        let with_elr = self.eligible_leader_replicas.is_some() || self.last_known_elr.is_some();
        let version = if with_elr {
            2
        } else {
            u32::from(self.directories.is_some())
        };
        out.i32(self.partition_id);
        out.uuid(self.topic_id);
        let mut tags = Tags::default();
        let list = |tags: &mut Tags, tag: u32, value: &Option<Vec<i32>>| {
            if let Some(value) = value {
                tags.put(tag, |out| out.i32s(value));
            }
        };
        list(&mut tags, 0, &self.isr);
        if let Some(leader) = self.leader {
            tags.put(1, |out| out.i32(leader));
        }
        list(&mut tags, 2, &self.replicas);
        list(&mut tags, 3, &self.removing_replicas);
        list(&mut tags, 4, &self.adding_replicas);
        if let Some(state) = self.leader_recovery_state {
            tags.put(5, |out| out.i8(state));
        }
        list(&mut tags, 6, &self.eligible_leader_replicas);
        list(&mut tags, 7, &self.last_known_elr);
        if let Some(directories) = &self.directories {
            tags.put(8, |out| out.uuids(directories));
        }
        out.tags(tags);
        version
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut record = PartitionChange {
            partition_id: reader.i32()?,
            topic_id: reader.uuid()?,
            ..Default::default()
        };
        reader.tags(|tag, reader| {
            match tag {
                0 => record.isr = reader.nullable_array(Reader::i32)?,
                1 => record.leader = Some(reader.i32()?).filter(|leader| *leader != LEADER_UNCHANGED),
                2 => record.replicas = reader.nullable_array(Reader::i32)?,
                3 => record.removing_replicas = reader.nullable_array(Reader::i32)?,
                4 => record.adding_replicas = reader.nullable_array(Reader::i32)?,
                5 => {
                    record.leader_recovery_state =
                        Some(reader.i8()?).filter(|state| *state != STATE_UNCHANGED)
                }
                6 => record.eligible_leader_replicas = reader.nullable_array(Reader::i32)?,
                7 => record.last_known_elr = reader.nullable_array(Reader::i32)?,
                8 => record.directories = reader.nullable_array(Reader::uuid)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(record)
    }
}
