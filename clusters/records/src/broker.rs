//! Registrations of brokers and controllers.

use crate::primitive::{DecodeError, Reader, Tags, Writer};
use uuid::Uuid;

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndPoint {
    /// The listener's name.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// 0 is PLAINTEXT.
    pub security_protocol: i16,
}

impl EndPoint {
    fn write(&self, out: &mut Writer) {
        out.string(&self.name);
        out.string(&self.host);
        out.u16(self.port);
        out.i16(self.security_protocol);
        out.no_tags();
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let end_point = EndPoint {
            name: reader.string()?,
            host: reader.string()?,
            port: reader.u16()?,
            security_protocol: reader.i16()?,
        };
        reader.skip_tags()?;
        Ok(end_point)
    }
}

/// Levels of a feature that a node supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The feature.
    pub name: String,
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
}

impl Feature {
    fn write(&self, out: &mut Writer) {
        out.string(&self.name);
        out.i16(self.min);
        out.i16(self.max);
        out.no_tags();
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let feature = Feature {
            name: reader.string()?,
            min: reader.i16()?,
            max: reader.i16()?,
        };
        reader.skip_tags()?;
        Ok(feature)
    }
}

/// Id 0. Version 1 has the controlled shutdown, 2 ZooKeeper's migration, 3 log folders, 4 cordoned ones (read, and
/// passed over).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterBroker {
    /// The broker.
    pub broker_id: i32,
    /// Whether it migrates from ZooKeeper.
    pub is_migrating_zk_broker: bool,
    /// One for each start of its process.
    pub incarnation_id: Uuid,
    /// The broker's epoch: the offset of this record's batch.
    pub broker_epoch: i64,
    /// Where it listens.
    pub end_points: Vec<EndPoint>,
    /// What it supports.
    pub features: Vec<Feature>,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is fenced.
    pub fenced: bool,
    /// Whether it is in controlled shutdown.
    pub in_controlled_shutdown: bool,
    /// Its log folders' ids.
    pub log_dirs: Vec<Uuid>,
}

impl RegisterBroker {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        let version = match (self.log_dirs.is_empty(), self.is_migrating_zk_broker) {
            (false, _) => 3,
            (true, true) => 2,
            (true, false) => 1,
        };
        out.i32(self.broker_id);
        if version >= 2 {
            out.bool(self.is_migrating_zk_broker);
        }
        out.uuid(self.incarnation_id);
        out.i64(self.broker_epoch);
        out.array(&self.end_points, |out, end_point| end_point.write(out));
        out.array(&self.features, |out, feature| feature.write(out));
        out.nullable_string(self.rack.as_deref());
        out.bool(self.fenced);
        out.bool(self.in_controlled_shutdown);
        let mut tags = Tags::default();
        if !self.log_dirs.is_empty() {
            tags.put(0, |out| out.uuids(&self.log_dirs));
        }
        out.tags(tags);
        version
    }

    pub(crate) fn read(version: u32, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut record = RegisterBroker {
            broker_id: reader.i32()?,
            is_migrating_zk_broker: if version >= 2 { reader.bool()? } else { false },
            incarnation_id: reader.uuid()?,
            broker_epoch: reader.i64()?,
            end_points: reader.array(EndPoint::read)?,
            features: reader.array(Feature::read)?,
            rack: reader.nullable_string()?,
            fenced: reader.bool()?,
            in_controlled_shutdown: if version >= 1 { reader.bool()? } else { false },
            log_dirs: Vec::new(),
        };
        reader.tags(|tag, reader| {
            if tag == 0 {
                record.log_dirs = reader.uuids()?;
            }
            Ok(())
        })?;
        Ok(record)
    }
}

/// Id 17. Version 1 has the controlled shutdown, 2 log folders, 3 cordoned ones (read, and passed over).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerRegistrationChange {
    /// The broker.
    pub broker_id: i32,
    /// Its epoch.
    pub broker_epoch: i64,
    /// 1 fences, −1 unfences, 0 changes nothing.
    pub fenced: i8,
    /// 1 begins a controlled shutdown, 0 changes nothing.
    pub in_controlled_shutdown: i8,
    /// The log folders' ids, where they changed.
    pub log_dirs: Vec<Uuid>,
}

impl BrokerRegistrationChange {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        let version = match (self.log_dirs.is_empty(), self.in_controlled_shutdown) {
            (false, _) => 2,
            (true, 0) => 0,
            (true, _) => 1,
        };
        out.i32(self.broker_id);
        out.i64(self.broker_epoch);
        let mut tags = Tags::default();
        if self.fenced != 0 {
            tags.put(0, |out| out.i8(self.fenced));
        }
        if self.in_controlled_shutdown != 0 {
            tags.put(1, |out| out.i8(self.in_controlled_shutdown));
        }
        if !self.log_dirs.is_empty() {
            tags.put(2, |out| out.uuids(&self.log_dirs));
        }
        out.tags(tags);
        version
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut record = BrokerRegistrationChange {
            broker_id: reader.i32()?,
            broker_epoch: reader.i64()?,
            ..Default::default()
        };
        reader.tags(|tag, reader| {
            match tag {
                0 => record.fenced = reader.i8()?,
                1 => record.in_controlled_shutdown = reader.i8()?,
                2 => record.log_dirs = reader.uuids()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(record)
    }
}

/// Id 27.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterController {
    /// The controller.
    pub controller_id: i32,
    /// One for each start of its process.
    pub incarnation_id: Uuid,
    /// Whether it is ready for ZooKeeper's migration.
    pub zk_migration_ready: bool,
    /// Where it listens.
    pub end_points: Vec<EndPoint>,
    /// What it supports.
    pub features: Vec<Feature>,
}

impl RegisterController {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        out.i32(self.controller_id);
        out.uuid(self.incarnation_id);
        out.bool(self.zk_migration_ready);
        out.array(&self.end_points, |out, end_point| end_point.write(out));
        out.array(&self.features, |out, feature| feature.write(out));
        out.no_tags();
        0
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let record = RegisterController {
            controller_id: reader.i32()?,
            incarnation_id: reader.uuid()?,
            zk_migration_ready: reader.bool()?,
            end_points: reader.array(EndPoint::read)?,
            features: reader.array(Feature::read)?,
        };
        reader.skip_tags()?;
        Ok(record)
    }
}
