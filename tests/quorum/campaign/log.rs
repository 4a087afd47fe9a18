//! The committed metadata log, as an observer reads it.

use client::batch::{Batch, Content};
use client::{TopicId, topic_id_text};
use records::Record;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What was read of the log so far.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The offset after the last record.
    pub end: i64,
    /// The epoch of the last batch.
    pub last_epoch: i32,
    /// Each batch: first offset, last offset, epoch, and what it holds in one number.
    batches: Vec<(i64, i64, i32, u64)>,
    /// Topics and their ids.
    pub topics: BTreeMap<String, TopicId>,
    /// The leader of each epoch, by its LeaderChange record.
    pub leaders: BTreeMap<i32, i32>,
    /// Rules that the log breaks.
    pub wrong: Vec<String>,
}

impl Log {
    /// Takes in the committed ones of some batches, as far as they are new.
    pub fn take(&mut self, batches: &[Batch], high_watermark: i64) {
        for batch in batches {
            if batch.last_offset >= self.end && batch.last_offset < high_watermark {
                self.take_one(batch);
            }
        }
    }

    fn take_one(&mut self, batch: &Batch) {
        if batch.base_offset != self.end {
            self.wrong.push(format!(
                "the log goes from offset {} to {}",
                self.end, batch.base_offset
            ));
        }
        if batch.leader_epoch < self.last_epoch {
            self.wrong.push(format!(
                "the log goes back from epoch {} to {} at offset {}",
                self.last_epoch, batch.leader_epoch, batch.base_offset
            ));
        }
        let mut hasher = DefaultHasher::new();
        match &batch.content {
            Content::Records(records) => {
                records.hash(&mut hasher);
                for (offset, value) in records {
                    self.take_record(*offset, value.as_deref().unwrap_or_default());
                }
            }
            Content::Control(records) => {
                for record in records {
                    (record.offset, &record.key, &record.value).hash(&mut hasher);
                    if let Some(leader) = record.new_leader() {
                        self.take_leader(batch.leader_epoch, leader);
                    }
                }
            }
            Content::Corrupt(why) => self
                .wrong
                .push(format!("the batch at {} is corrupt: {why}", batch.base_offset)),
        }
        self.batches.push((
            batch.base_offset,
            batch.last_offset,
            batch.leader_epoch,
            hasher.finish(),
        ));
        self.end = batch.last_offset + 1;
        self.last_epoch = batch.leader_epoch;
    }

    fn take_leader(&mut self, epoch: i32, leader: i32) {
        if let Some(first) = self.leaders.insert(epoch, leader) {
            self.wrong.push(format!(
                "the log begins epoch {epoch} twice: under {first}, then under {leader}"
            ));
        }
    }

    fn take_record(&mut self, offset: i64, value: &[u8]) {
        match Record::decode(value) {
            Ok(Record::Topic(topic)) => {
                if let Some(first) = self.topics.insert(topic.name.clone(), topic.topic_id) {
                    self.wrong.push(format!(
                        "topic {} is in the log twice: {}, then {}",
                        topic.name,
                        topic_id_text(first),
                        topic_id_text(topic.topic_id)
                    ));
                }
            }
            // Nobody removes topics here.
            Ok(Record::RemoveTopic(id)) => self.topics.retain(|_, known| *known != id),
            Ok(_) => {}
            Err(why) => self
                .wrong
                .push(format!("the record at {offset} cannot be read: {why}")),
        }
    }

    /// Where another reading of the log departs from this one, which it must hold whole.
    pub fn departs(&self, later: &Log) -> Option<String> {
        let differs = self
            .batches
            .iter()
            .zip(&later.batches)
            .find(|(first, second)| first != second);
        match differs {
            Some((first, second)) => Some(format!(
                "what was committed at offset {} in epoch {} is another batch now, of offset {} in epoch {}",
                first.0, first.2, second.0, second.2
            )),
            None if later.batches.len() < self.batches.len() => Some(format!(
                "the committed log ended at {}, and ends at {} now",
                self.end, later.end
            )),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::batch::ControlRecord;

    fn leader_change(offset: i64, epoch: i32, leader: i32) -> Batch {
        let record = ControlRecord {
            offset,
            key: vec![0, 0, 0, 2].into(),
            value: [vec![0, 0], leader.to_be_bytes().to_vec()].concat().into(),
        };
        Batch {
            base_offset: offset,
            last_offset: offset,
            leader_epoch: epoch,
            content: Content::Control(vec![record]),
        }
    }

    fn topic(offset: i64, epoch: i32, name: &str, id: u128) -> Batch {
        let record = Record::Topic(records::Topic {
            name: name.into(),
            topic_id: TopicId::from_u128(id),
        });
        Batch {
            base_offset: offset,
            last_offset: offset,
            leader_epoch: epoch,
            content: Content::Records(vec![(offset, Some(record.encode().into()))]),
        }
    }

    fn read(batches: &[Batch]) -> Log {
        let mut log = Log::default();
        log.take(batches, i64::MAX);
        log
    }

    #[test]
    fn a_whole_log_breaks_no_rule_and_only_what_is_committed_is_taken() {
        let batches = [
            leader_change(0, 1, 100),
            topic(1, 1, "a", 7),
            leader_change(2, 3, 101),
        ];
        let mut log = Log::default();
        log.take(&batches, 2);
        assert_eq!((log.end, log.last_epoch, log.topics.len()), (2, 1, 1));
        log.take(&batches, 3);
        assert_eq!((log.end, log.last_epoch), (3, 3));
        assert_eq!(log.leaders, BTreeMap::from([(1, 100), (3, 101)]));
        assert_eq!(log.wrong, [""; 0]);
        assert_eq!(log.departs(&read(&batches)), None);
    }

    #[test]
    fn rules_that_a_log_breaks_are_told() {
        let broken = |batches: &[Batch], words: &str| {
            let wrong = read(batches).wrong.join("; ");
            assert!(wrong.contains(words), "{wrong}");
        };
        broken(
            &[leader_change(0, 1, 100), leader_change(1, 1, 101)],
            "begins epoch 1 twice: under 100, then under 101",
        );
        broken(
            &[leader_change(0, 3, 100), topic(1, 2, "a", 7)],
            "goes back from epoch 3 to 2",
        );
        broken(
            &[leader_change(0, 1, 100), topic(2, 1, "a", 7)],
            "goes from offset 1 to 2",
        );
        broken(&[topic(0, 1, "a", 7), topic(1, 1, "a", 8)], "in the log twice");
    }

    #[test]
    fn a_committed_batch_that_is_another_one_or_gone_is_told() {
        let first = read(&[leader_change(0, 1, 100), topic(1, 1, "a", 7)]);
        let other = read(&[leader_change(0, 1, 100), topic(1, 2, "a", 8)]);
        assert!(first.departs(&other).unwrap().contains("offset 1"));
        let shorter = read(&[leader_change(0, 1, 100)]);
        assert!(first.departs(&shorter).unwrap().contains("ended at 2"));
    }
}
