//! The image of the cluster that committed metadata records build, record by record.
//!
//! Epochs follow Kafka's rule: every change of a partition raises its partition epoch by one, and its leader epoch
//! by one where the record names a leader, be it the same.

use super::change::{Change, NewPartition, PartitionChange};
use crate::ids::{TopicId, topic_id_text};
use history::{
    Body, BrokerChange, BrokerState, ConfigChange, FeatureLevel, Key, LogPlace, PartitionState, TopicRemoved,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known after the records applied so far.
#[derive(Default)]
pub(super) struct Image {
    topics: BTreeMap<TopicId, Arc<str>>,
    partitions: BTreeMap<(TopicId, i32), PartitionState>,
    incarnations: BTreeMap<i32, String>,
    /// Records of a metadata transaction that has not ended: they take effect when it does.
    transaction: Option<Vec<(Change, LogPlace)>>,
}

impl Image {
    /// Applies one record, and says what is to be told of it: where it ends a transaction, all that was in it.
    pub(super) fn apply(&mut self, change: Change, at: LogPlace) -> Result<Vec<Body>, String> {
        match (change, &mut self.transaction) {
            (Change::Begin, open) => *open = Some(Vec::new()),
            (Change::Abort, open) => *open = None,
            (Change::End, open) => {
                let mut told = Vec::new();
                for (change, at) in open.take().unwrap_or_default() {
                    told.extend(self.take(change, at)?);
                }
                return Ok(told);
            }
            (change, Some(held)) => held.push((change, at)),
            (change, None) => return self.take(change, at),
        }
        Ok(Vec::new())
    }

    fn take(&mut self, change: Change, at: LogPlace) -> Result<Vec<Body>, String> {
        let told = match change {
            Change::Topic { id, name } => {
                self.topics.insert(id, name.into());
                Vec::new()
            }
            Change::Partition(partition) => vec![self.partition(partition, at)?],
            Change::PartitionChange(change) => vec![self.partition_change(change, at)?],
            Change::ClearElr { topic } => self.clear_elr(&topic, at),
            Change::RemoveTopic { id } => vec![self.remove_topic(id, at)],
            Change::Register {
                broker,
                epoch,
                incarnation,
                fenced,
                in_controlled_shutdown,
            } => {
                // Told as fenced; where the record says otherwise, a further entry of its own tells so.
                self.incarnations.insert(broker, topic_id_text(incarnation));
                let unfenced = (!fenced).then_some(BrokerChange::Unfenced);
                let leaving = in_controlled_shutdown.then_some(BrokerChange::ControlledShutdown);
                self.broker(
                    broker,
                    epoch,
                    [Some(BrokerChange::Registered), unfenced, leaving],
                    at,
                )
            }
            Change::Registration {
                broker,
                epoch,
                fenced,
                in_controlled_shutdown,
            } => {
                let fencing = fenced.map(|fenced| {
                    if fenced {
                        BrokerChange::Fenced
                    } else {
                        BrokerChange::Unfenced
                    }
                });
                let leaving = in_controlled_shutdown.then_some(BrokerChange::ControlledShutdown);
                self.broker(broker, epoch, [fencing, leaving], at)
            }
            Change::Unregister { broker, epoch } => {
                let told = self.broker(broker, epoch, [Some(BrokerChange::Unregistered)], at);
                self.incarnations.remove(&broker);
                told
            }
            Change::Config {
                resource_type,
                resource,
                name,
                value,
            } => {
                vec![Body::Config(ConfigChange {
                    resource_type,
                    resource,
                    name,
                    value,
                    at,
                })]
            }
            Change::Feature { name, level } => vec![Body::Feature(FeatureLevel { name, level, at })],
            Change::Begin | Change::End | Change::Abort | Change::Other => Vec::new(),
        };
        Ok(told)
    }

    fn partition(&mut self, new: NewPartition, at: LogPlace) -> Result<Body, String> {
        let id = new.topic;
        let topic = self
            .topics
            .get(&id)
            .ok_or_else(|| format!("no TopicRecord has id {}", topic_id_text(id)))?;
        let state = PartitionState {
            key: Key {
                topic: topic.clone(),
                id: topic_id_text(id).into(),
                partition: new.partition,
            },
            replicas: new.replicas,
            isr: new.isr,
            elr: new.elr,
            last_known_elr: new.last_known_elr,
            leader: new.leader,
            leader_epoch: new.leader_epoch,
            partition_epoch: new.partition_epoch,
            recovering: new.recovering,
            elects: true,
            at,
        };
        self.partitions.insert((id, new.partition), state.clone());
        Ok(Body::Partition(state))
    }

    fn partition_change(&mut self, change: PartitionChange, at: LogPlace) -> Result<Body, String> {
        let (id, number) = (change.topic, change.partition);
        let state = self.partitions.get_mut(&(id, number)).ok_or_else(|| {
            format!(
                "no PartitionRecord made partition {number} of {}",
                topic_id_text(id)
            )
        })?;
        replace(&mut state.replicas, change.replicas);
        replace(&mut state.isr, change.isr);
        replace(&mut state.elr, change.elr);
        replace(&mut state.last_known_elr, change.last_known_elr);
        state.elects = change.leader.is_some();
        if let Some(leader) = change.leader {
            state.leader = leader;
            state.leader_epoch = state.leader_epoch.wrapping_add(1);
        }
        state.partition_epoch = state.partition_epoch.wrapping_add(1);
        state.recovering = change.recovering;
        state.at = at;
        Ok(Body::Partition(state.clone()))
    }

    /// Wipes both lists of a topic's partitions, of all topics' where the name is empty; a partition without
    /// either stays as it was, its epoch included.
    fn clear_elr(&mut self, topic: &str, at: LogPlace) -> Vec<Body> {
        let named = self
            .partitions
            .values_mut()
            .filter(|state| topic.is_empty() || *state.key.topic == *topic);
        let with_elr = named.filter(|state| !state.elr.is_empty() || !state.last_known_elr.is_empty());
        let cleared = with_elr.map(|state| {
            state.elr.clear();
            state.last_known_elr.clear();
            state.partition_epoch = state.partition_epoch.wrapping_add(1);
            (state.elects, state.recovering) = (false, false);
            state.at = at;
            Body::Partition(state.clone())
        });
        cleared.collect()
    }

    fn remove_topic(&mut self, id: TopicId, at: LogPlace) -> Body {
        self.topics.remove(&id);
        self.partitions.retain(|(topic, _), _| *topic != id);
        Body::TopicRemoved(TopicRemoved {
            id: topic_id_text(id).into(),
            at,
        })
    }

    fn broker<const N: usize>(
        &self,
        broker: i32,
        epoch: i64,
        changes: [Option<BrokerChange>; N],
        at: LogPlace,
    ) -> Vec<Body> {
        let incarnation = self.incarnations.get(&broker).cloned().unwrap_or_default();
        let told = changes.into_iter().flatten().map(|change| {
            Body::Broker(BrokerState {
                broker,
                epoch,
                incarnation: incarnation.clone(),
                change,
                at,
            })
        });
        told.collect()
    }
}

fn replace(list: &mut Vec<i32>, new: Option<Vec<i32>>) {
    if let Some(new) = new {
        *list = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: TopicId = TopicId::from_u128(5);

    fn at(log_offset: i64) -> LogPlace {
        LogPlace::of(log_offset, 0)
    }

    fn topic() -> Change {
        Change::Topic {
            id: ID,
            name: "orders".into(),
        }
    }

    fn partition() -> Change {
        Change::Partition(NewPartition {
            topic: ID,
            replicas: vec![0, 1, 2],
            isr: vec![0, 1, 2],
            leader: 0,
            ..NewPartition::default()
        })
    }

    fn change(change: PartitionChange) -> Change {
        Change::PartitionChange(PartitionChange { topic: ID, ..change })
    }

    /// The partition's states after each record that tells one.
    fn states(changes: Vec<Change>) -> Vec<PartitionState> {
        let mut image = Image::default();
        let told = (0..)
            .zip(changes)
            .flat_map(|(offset, change)| image.apply(change, at(offset)).unwrap());
        told.filter_map(|body| match body {
            Body::Partition(state) => Some(state),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn epochs_rise_as_kafka_counts_them() {
        let told = states(vec![
            topic(),
            partition(),
            change(PartitionChange {
                isr: Some(vec![0]),
                elr: Some(vec![1]),
                ..PartitionChange::default()
            }),
            change(PartitionChange {
                leader: Some(0),
                ..PartitionChange::default()
            }),
            change(PartitionChange {
                leader: Some(-1),
                isr: Some(vec![]),
                ..PartitionChange::default()
            }),
        ]);
        let epochs: Vec<_> = told
            .iter()
            .map(|state| (state.leader_epoch, state.partition_epoch))
            .collect();
        assert_eq!(epochs, [(0, 0), (0, 1), (1, 2), (2, 3)]);
        let elects: Vec<_> = told.iter().map(|state| state.elects).collect();
        assert_eq!(
            elects,
            [true, false, true, true],
            "a leader named again is an election too"
        );
        assert_eq!(
            (&told[3].elr, &told[3].isr, told[3].leader),
            (&vec![1], &vec![], -1),
            "null is unchanged"
        );
        assert_eq!(told[3].at.log_offset, 4);
    }

    #[test]
    fn recovering_is_told_of_the_record_that_sets_it_only() {
        let told = states(vec![
            topic(),
            partition(),
            change(PartitionChange {
                leader: Some(2),
                recovering: true,
                ..PartitionChange::default()
            }),
            change(PartitionChange {
                isr: Some(vec![2, 1]),
                ..PartitionChange::default()
            }),
        ]);
        assert_eq!(
            told.iter().map(|state| state.recovering).collect::<Vec<_>>(),
            [false, true, false]
        );
    }

    #[test]
    fn clearing_elr_touches_only_partitions_that_have_one() {
        let clear = |topic: &str| Change::ClearElr { topic: topic.into() };
        let shrunk = change(PartitionChange {
            isr: Some(vec![0]),
            elr: Some(vec![1]),
            ..PartitionChange::default()
        });
        assert_eq!(states(vec![topic(), partition(), clear("")]).len(), 1);
        assert_eq!(
            states(vec![topic(), partition(), shrunk.clone(), clear("other")]).len(),
            2
        );
        for name in ["", "orders"] {
            let told = states(vec![topic(), partition(), shrunk.clone(), clear(name)]);
            assert_eq!(
                (told[2].elr.len(), told[2].partition_epoch, told[2].leader_epoch),
                (0, 2, 0)
            );
        }
    }

    #[test]
    fn a_transaction_takes_effect_when_it_ends_or_not_at_all() {
        let made = states(vec![Change::Begin, topic(), partition(), Change::End]);
        assert_eq!(made[0].at.log_offset, 2, "each keeps its own place");
        assert!(states(vec![Change::Begin, topic(), partition()]).is_empty());
        assert!(states(vec![Change::Begin, topic(), partition(), Change::Abort]).is_empty());
    }

    #[test]
    fn records_that_cannot_follow_are_refused() {
        let mut image = Image::default();
        assert!(
            image
                .apply(partition(), at(0))
                .unwrap_err()
                .contains("no TopicRecord")
        );
        image.apply(topic(), at(1)).unwrap();
        let orphan = change(PartitionChange::default());
        assert!(
            image
                .apply(orphan.clone(), at(2))
                .unwrap_err()
                .contains("no PartitionRecord")
        );
        image.apply(partition(), at(3)).unwrap();
        image.apply(Change::RemoveTopic { id: ID }, at(4)).unwrap();
        assert!(image.apply(orphan, at(5)).is_err(), "the topic is gone");
    }

    #[test]
    fn a_brokers_life_is_told_with_its_incarnation() {
        let mut image = Image::default();
        let mut told = |change| {
            let bodies = image.apply(change, at(1)).unwrap();
            let changes = bodies.into_iter().map(|body| match body {
                Body::Broker(state) => (state.change, state.incarnation),
                other => panic!("{other:?}"),
            });
            changes.collect::<Vec<_>>()
        };
        let name = topic_id_text(ID);
        let register = |fenced| Change::Register {
            broker: 1,
            epoch: 9,
            incarnation: ID,
            fenced,
            in_controlled_shutdown: false,
        };
        let registration = |fenced, in_controlled_shutdown| Change::Registration {
            broker: 1,
            epoch: 9,
            fenced,
            in_controlled_shutdown,
        };
        assert_eq!(told(register(true)), [(BrokerChange::Registered, name.clone())]);
        assert_eq!(
            told(registration(Some(false), false)),
            [(BrokerChange::Unfenced, name.clone())]
        );
        assert_eq!(
            told(registration(None, true)),
            [(BrokerChange::ControlledShutdown, name.clone())]
        );
        assert_eq!(
            told(registration(Some(true), false)),
            [(BrokerChange::Fenced, name.clone())]
        );
        assert_eq!(told(registration(None, false)), []);
        assert_eq!(told(register(false)).len(), 2);
        let gone = Change::Unregister { broker: 1, epoch: 9 };
        assert_eq!(told(gone), [(BrokerChange::Unregistered, name)]);
    }
}
