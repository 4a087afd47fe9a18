//! The image of the cluster that committed metadata records build, record by record.
//!
//! Epochs follow Kafka's rule: every change of a partition raises its partition epoch by one, and its leader epoch
//! by one where the record names a leader, be it the same.

use super::change::{Change, NewPartition, PartitionChange, Unread};
use crate::ids::{TopicId, topic_id_text};
use history::{
    Body, BrokerChange, BrokerState, ConfigChange, FeatureLevel, Key, LogPlace, PartitionState, QuorumLeader,
    TopicRemoved, Voter, Voters,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known after the records applied so far.
#[derive(Default)]
pub(super) struct Image {
    pub topics: BTreeMap<TopicId, Arc<str>>,
    pub partitions: BTreeMap<(TopicId, i32), PartitionState>,
    pub brokers: BTreeMap<i32, BrokerImage>,
    pub configs: BTreeMap<(i8, String, String), String>,
    pub features: BTreeMap<String, i16>,
    pub voters: Option<Vec<Voter>>,
    /// Records of a metadata transaction that has not ended: they take effect when it does (KIP-868).
    transaction: Option<Transaction>,
}

/// A broker's registration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BrokerImage {
    pub epoch: i64,
    pub incarnation: String,
    pub fenced: bool,
    pub in_controlled_shutdown: bool,
}

struct Transaction {
    /// The offset of its first record, the batch that all of them share.
    begins: i64,
    held: Vec<(Change, LogPlace)>,
}

impl Image {
    /// Applies one record, and says what is to be told of it: where it ends a transaction, all that was in it.
    pub fn apply(&mut self, change: Change, at: LogPlace) -> Vec<Body> {
        match (change, &mut self.transaction) {
            (Change::Begin, open) => {
                let cut = open.replace(Transaction {
                    begins: at.log_offset,
                    held: Vec::new(),
                });
                let dropped = |cut: Transaction| {
                    let why = format!(
                        "a metadata transaction begins inside another, whose {} records never end",
                        cut.held.len()
                    );
                    out_of_place(BEGIN, true, why, at)
                };
                cut.map(dropped).into_iter().collect()
            }
            (Change::Abort, open) => match open.take() {
                Some(_) => Vec::new(),
                None => vec![out_of_place(
                    ABORT,
                    false,
                    "no metadata transaction is open".into(),
                    at,
                )],
            },
            (Change::End, open) => match open.take() {
                Some(transaction) => {
                    let held = transaction.held.into_iter();
                    held.flat_map(|(change, at)| self.take(change, at)).collect()
                }
                // Its records may have been in a stretch that was not seen.
                None => vec![out_of_place(
                    END,
                    true,
                    "no metadata transaction is open".into(),
                    at,
                )],
            },
            // Control records are the log's own, and in no transaction.
            (change @ (Change::Leader { .. } | Change::Voters(_)), _) => self.take(change, at),
            (change, Some(open)) => {
                let batch = open.begins;
                open.held.push((change, LogPlace { batch, ..at }));
                Vec::new()
            }
            (change, None) => self.take(change, at),
        }
    }

    /// Forgets a transaction that is open: part of it was not seen.
    pub fn cut_transaction(&mut self) {
        self.transaction = None;
    }

    fn take(&mut self, change: Change, at: LogPlace) -> Vec<Body> {
        match change {
            Change::Topic { id, name } => {
                self.topics.insert(id, name.into());
                Vec::new()
            }
            Change::Partition(partition) => vec![self.partition(partition, at)],
            Change::PartitionChange(change) => vec![self.partition_change(change, at)],
            Change::ClearElr { topic } => self.clear_elr(&topic, at),
            Change::RemoveTopic { id } => vec![self.remove_topic(id, at)],
            Change::Register {
                broker,
                epoch,
                incarnation,
                fenced,
                in_controlled_shutdown,
            } => {
                let new = BrokerImage {
                    epoch,
                    incarnation: topic_id_text(incarnation),
                    fenced,
                    in_controlled_shutdown,
                };
                let told = registered(broker, &new, at);
                self.brokers.insert(broker, new);
                told
            }
            Change::Registration {
                broker,
                epoch,
                fenced,
                in_controlled_shutdown,
            } => self.registration(broker, epoch, fenced, in_controlled_shutdown, at),
            Change::Unregister { broker, epoch } => {
                let known = self.brokers.remove(&broker).unwrap_or_default();
                vec![broker_body(
                    broker,
                    &BrokerImage { epoch, ..known },
                    BrokerChange::Unregistered,
                    at,
                )]
            }
            Change::Config {
                resource_type,
                resource,
                name,
                value,
            } => {
                let key = (resource_type, resource.clone(), name.clone());
                match &value {
                    Some(value) => self.configs.insert(key, value.clone()),
                    None => self.configs.remove(&key),
                };
                vec![Body::Config(ConfigChange {
                    resource_type,
                    resource,
                    name,
                    value,
                    at,
                })]
            }
            Change::Feature { name, level } => {
                self.features.insert(name.clone(), level);
                vec![Body::Feature(FeatureLevel { name, level, at })]
            }
            Change::Leader {
                leader,
                epoch,
                voters,
            } => vec![Body::QuorumLeader(QuorumLeader {
                leader,
                epoch,
                voters,
                at,
            })],
            Change::Voters(voters) => {
                self.voters = Some(voters.clone());
                vec![Body::Voters(Voters { voters, at })]
            }
            Change::Begin | Change::End | Change::Abort | Change::Other => Vec::new(),
        }
    }

    fn registration(
        &mut self,
        broker: i32,
        epoch: i64,
        fenced: Option<bool>,
        in_controlled_shutdown: bool,
        at: LogPlace,
    ) -> Vec<Body> {
        let known = self.brokers.entry(broker).or_default();
        known.epoch = epoch;
        known.fenced = fenced.unwrap_or(known.fenced);
        known.in_controlled_shutdown |= in_controlled_shutdown;
        let leaving = in_controlled_shutdown.then_some(BrokerChange::ControlledShutdown);
        let changes = fenced.map(fencing).into_iter().chain(leaving);
        changes
            .map(|change| broker_body(broker, known, change, at))
            .collect()
    }

    fn partition(&mut self, new: NewPartition, at: LogPlace) -> Body {
        let id = new.topic;
        let Some(topic) = self.topics.get(&id) else {
            let why = format!("no TopicRecord has id {}", topic_id_text(id));
            return out_of_place(PARTITION, true, why, at);
        };
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
        Body::Partition(state)
    }

    fn partition_change(&mut self, change: PartitionChange, at: LogPlace) -> Body {
        let (id, number) = (change.topic, change.partition);
        let Some(state) = self.partitions.get_mut(&(id, number)) else {
            let why = format!(
                "no PartitionRecord made partition {number} of {}",
                topic_id_text(id)
            );
            return out_of_place(PARTITION_CHANGE, true, why, at);
        };
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
        Body::Partition(state.clone())
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
}

/// The types of records that may stand where they cannot.
const PARTITION: u32 = 3;
const PARTITION_CHANGE: u32 = 5;
const BEGIN: u32 = 23;
const END: u32 = 24;
const ABORT: u32 = 25;

/// A record that was read, but cannot follow those before it.
fn out_of_place(record_type: u32, hides: bool, why: String, at: LogPlace) -> Body {
    let unread = Unread {
        record_type: Some(record_type),
        version: None,
        hides,
        why,
    };
    unread.body(at)
}

/// A registration is told as fenced; where it is not, a further entry of its own tells so.
pub(super) fn registered(broker: i32, new: &BrokerImage, at: LogPlace) -> Vec<Body> {
    let unfenced = (!new.fenced).then_some(BrokerChange::Unfenced);
    let leaving = new
        .in_controlled_shutdown
        .then_some(BrokerChange::ControlledShutdown);
    let changes = [Some(BrokerChange::Registered), unfenced, leaving];
    let told = changes.into_iter().flatten();
    told.map(|change| broker_body(broker, new, change, at)).collect()
}

pub(super) fn fencing(fenced: bool) -> BrokerChange {
    if fenced {
        BrokerChange::Fenced
    } else {
        BrokerChange::Unfenced
    }
}

pub(super) fn broker_body(broker: i32, known: &BrokerImage, change: BrokerChange, at: LogPlace) -> Body {
    Body::Broker(BrokerState {
        broker,
        epoch: known.epoch,
        incarnation: known.incarnation.clone(),
        change,
        at,
    })
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
            .flat_map(|(offset, change)| image.apply(change, at(offset)));
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
        let made = states(vec![
            Change::Other,
            Change::Begin,
            topic(),
            partition(),
            Change::End,
        ]);
        assert_eq!(made[0].at.log_offset, 3, "each keeps its own place");
        assert_eq!(made[0].at.batch, 1, "and all take effect together");
        assert!(states(vec![Change::Begin, topic(), partition()]).is_empty());
        assert!(states(vec![Change::Begin, topic(), partition(), Change::Abort]).is_empty());
        let after = states(vec![Change::Begin, Change::Abort, topic(), partition()]);
        assert_eq!(after.len(), 1, "what follows an aborted one counts");
    }

    /// What was passed over: type, and whether it may hide something.
    fn passed_over(told: &[Body]) -> Vec<(u32, bool)> {
        let unread = told.iter().filter_map(|body| match body {
            Body::MetadataUnread(unread) => Some((unread.record_type.unwrap(), unread.hides)),
            _ => None,
        });
        unread.collect()
    }

    #[test]
    fn transactions_out_of_order_are_said() {
        let mut image = Image::default();
        assert_eq!(passed_over(&image.apply(Change::End, at(0))), [(24, true)]);
        assert_eq!(passed_over(&image.apply(Change::Abort, at(1))), [(25, false)]);
        assert!(image.apply(Change::Begin, at(2)).is_empty());
        image.apply(topic(), at(3));
        assert_eq!(passed_over(&image.apply(Change::Begin, at(4))), [(23, true)]);
        assert!(image.apply(Change::End, at(5)).is_empty() && image.topics.is_empty());
        image.apply(Change::Begin, at(6));
        image.cut_transaction();
        image.apply(topic(), at(7));
        assert_eq!(image.topics.len(), 1);
    }

    #[test]
    fn control_records_are_in_no_transaction() {
        let mut image = Image::default();
        image.apply(Change::Begin, at(0));
        assert_eq!(image.apply(Change::Voters(Vec::new()), at(1)).len(), 1);
        let leader = Change::Leader {
            leader: 1,
            epoch: 2,
            voters: vec![1],
        };
        assert_eq!(image.apply(leader, at(2)).len(), 1);
        assert!(image.apply(topic(), at(3)).is_empty());
    }

    #[test]
    fn records_that_cannot_follow_are_passed_over_and_said() {
        let mut image = Image::default();
        assert_eq!(passed_over(&image.apply(partition(), at(0))), [(3, true)]);
        assert!(image.apply(topic(), at(1)).is_empty());
        let orphan = change(PartitionChange::default());
        assert_eq!(passed_over(&image.apply(orphan.clone(), at(2))), [(5, true)]);
        assert!(passed_over(&image.apply(partition(), at(3))).is_empty());
        image.apply(Change::RemoveTopic { id: ID }, at(4));
        assert_eq!(
            passed_over(&image.apply(orphan, at(5))),
            [(5, true)],
            "the topic is gone"
        );
    }

    #[test]
    fn a_brokers_life_is_told_with_its_incarnation() {
        let mut image = Image::default();
        let mut told = |change| {
            let bodies = image.apply(change, at(1));
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
