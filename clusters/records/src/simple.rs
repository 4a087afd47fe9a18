//! Records of one version without tagged fields.

use crate::primitive::{DecodeError, Reader, Writer};
use uuid::Uuid;

/// Id 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnregisterBroker {
    /// The broker.
    pub broker_id: i32,
    /// Its broker epoch.
    pub broker_epoch: i64,
}

impl UnregisterBroker {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        out.i32(self.broker_id);
        out.i64(self.broker_epoch);
        out.no_tags();
        0
    }
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let record = UnregisterBroker {
            broker_id: reader.i32()?,
            broker_epoch: reader.i64()?,
        };
        reader.skip_tags()?;
        Ok(record)
    }
}

/// Id 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The topic's name.
    pub name: String,
    /// Its id.
    pub topic_id: Uuid,
}

impl Topic {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        out.string(&self.name);
        out.uuid(self.topic_id);
        out.no_tags();
        0
    }
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let record = Topic {
            name: reader.string()?,
            topic_id: reader.uuid()?,
        };
        reader.skip_tags()?;
        Ok(record)
    }
}

/// Id 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// 2 a topic, 4 a broker.
    pub resource_type: i8,
    /// The topic's name or the broker's number; empty for all brokers.
    pub resource_name: String,
    /// The key.
    pub name: String,
    /// The value; none removes it.
    pub value: Option<String>,
}

impl Config {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        out.i8(self.resource_type);
        out.string(&self.resource_name);
        out.string(&self.name);
        out.nullable_string(self.value.as_deref());
        out.no_tags();
        0
    }
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let record = Config {
            resource_type: reader.i8()?,
            resource_name: reader.string()?,
            name: reader.string()?,
            value: reader.nullable_string()?,
        };
        reader.skip_tags()?;
        Ok(record)
    }
}

/// Id 12.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureLevel {
    /// The feature.
    pub name: String,
    /// Its finalised level.
    pub level: i16,
}

impl FeatureLevel {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        out.string(&self.name);
        out.i16(self.level);
        out.no_tags();
        0
    }
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let record = FeatureLevel {
            name: reader.string()?,
            level: reader.i16()?,
        };
        reader.skip_tags()?;
        Ok(record)
    }
}

/// Id 15. Every producer id below `next_producer_id` has been given to a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerIds {
    /// The broker that got the block.
    pub broker_id: i32,
    /// Its broker epoch.
    pub broker_epoch: i64,
    /// The first id of the next block.
    pub next_producer_id: i64,
}

impl ProducerIds {
    pub(crate) fn write(&self, out: &mut Writer) -> u32 {
        out.i32(self.broker_id);
        out.i64(self.broker_epoch);
        out.i64(self.next_producer_id);
        out.no_tags();
        0
    }
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let record = ProducerIds {
            broker_id: reader.i32()?,
            broker_epoch: reader.i64()?,
            next_producer_id: reader.i64()?,
        };
        reader.skip_tags()?;
        Ok(record)
    }
}
