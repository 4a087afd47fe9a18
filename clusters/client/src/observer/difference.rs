//! How one image differs from another, as entries of the history.
//!
//! Where a stretch of the log was not seen, or was taken back, this is all that can be told of it: what is otherwise
//! now, and not what happened in between, nor in which order. Removals come first, then features and settings, then
//! brokers, then partitions.

use super::image::{BrokerImage, Image, broker_body, fencing, registered};
use crate::ids::topic_id_text;
use history::{
    Body, BrokerChange, ConfigChange, FeatureLevel, LogPlace, PartitionState, TopicRemoved, Voters,
};

/// The entries that lead from one image to the other.
pub(super) fn difference(old: &Image, new: &Image, at: LogPlace) -> Vec<Body> {
    let mut told = removals(old, new, at);
    told.extend(voters(old, new, at));
    told.extend(features(old, new, at));
    told.extend(configs(old, new, at));
    for (broker, now) in &new.brokers {
        told.extend(registration(*broker, old.brokers.get(broker), now, at));
    }
    for (key, now) in &new.partitions {
        told.extend(partition(old.partitions.get(key), now, at));
    }
    told
}

fn removals(old: &Image, new: &Image, at: LogPlace) -> Vec<Body> {
    let topics = old.topics.keys().filter(|id| !new.topics.contains_key(id));
    let topics = topics.map(|id| {
        Body::TopicRemoved(TopicRemoved {
            id: topic_id_text(*id).into(),
            at,
        })
    });
    let brokers = old.brokers.iter().filter(|(id, _)| !new.brokers.contains_key(id));
    let brokers = brokers.map(|(id, known)| broker_body(*id, known, BrokerChange::Unregistered, at));
    topics.chain(brokers).collect()
}

fn voters(old: &Image, new: &Image, at: LogPlace) -> Option<Body> {
    // A log that was taken back may have none where there were some.
    (old.voters != new.voters).then(|| {
        Body::Voters(Voters {
            voters: new.voters.clone().unwrap_or_default(),
            at,
        })
    })
}

fn features(old: &Image, new: &Image, at: LogPlace) -> Vec<Body> {
    let names = old.features.keys().chain(new.features.keys());
    let names: std::collections::BTreeSet<&String> = names.collect();
    // A level that no record sets is 0.
    let level = |image: &Image, name| image.features.get(name).copied().unwrap_or(0);
    let changed = names
        .into_iter()
        .filter(|name| old.features.get(*name) != new.features.get(*name));
    let told = changed.map(|name| {
        Body::Feature(FeatureLevel {
            name: name.clone(),
            level: level(new, name),
            at,
        })
    });
    told.collect()
}

fn configs(old: &Image, new: &Image, at: LogPlace) -> Vec<Body> {
    let removed = old.configs.keys().filter(|key| !new.configs.contains_key(key));
    let set = new
        .configs
        .iter()
        .filter(|(key, value)| old.configs.get(key) != Some(value));
    let removed = removed.map(|key| (key, None));
    let set = set.map(|(key, value)| (key, Some(value.clone())));
    let told = removed
        .chain(set)
        .map(|((resource_type, resource, name), value)| {
            Body::Config(ConfigChange {
                resource_type: *resource_type,
                resource: resource.clone(),
                name: name.clone(),
                value,
                at,
            })
        });
    told.collect()
}

fn registration(broker: i32, old: Option<&BrokerImage>, new: &BrokerImage, at: LogPlace) -> Vec<Body> {
    let same = |old: &&BrokerImage| {
        // A controlled shutdown ends only with the registration.
        (old.epoch, &old.incarnation) == (new.epoch, &new.incarnation)
            && (!old.in_controlled_shutdown || new.in_controlled_shutdown)
    };
    let Some(old) = old.filter(same) else {
        return registered(broker, new, at);
    };
    let fenced = (old.fenced != new.fenced).then(|| fencing(new.fenced));
    let leaving = (old.in_controlled_shutdown != new.in_controlled_shutdown)
        .then_some(BrokerChange::ControlledShutdown);
    let changes = fenced.into_iter().chain(leaving);
    changes
        .map(|change| broker_body(broker, new, change, at))
        .collect()
}

fn partition(old: Option<&PartitionState>, new: &PartitionState, at: LogPlace) -> Option<Body> {
    let elects = old.is_none_or(|old| old.leader_epoch != new.leader_epoch);
    let told = PartitionState {
        elects,
        at,
        ..new.clone()
    };
    // Where and how a state came about is no part of it.
    let same = |old: &PartitionState| {
        let old = PartitionState {
            elects,
            recovering: new.recovering,
            at,
            ..old.clone()
        };
        old == told
    };
    (!old.is_some_and(same)).then_some(Body::Partition(told))
}

#[cfg(test)]
mod tests {
    use super::super::change::{Change, NewPartition, PartitionChange};
    use super::*;
    use crate::ids::TopicId;
    use history::Voter;

    const ID: TopicId = TopicId::from_u128(5);

    fn image(changes: &[Change]) -> Image {
        let mut image = Image::default();
        for (offset, change) in (0..).zip(changes) {
            image.apply(change.clone(), LogPlace::of(offset, offset));
        }
        image
    }

    fn basis() -> Vec<Change> {
        let register = Change::Register {
            broker: 1,
            epoch: 9,
            incarnation: ID,
            fenced: false,
            in_controlled_shutdown: false,
        };
        let topic = Change::Topic {
            id: ID,
            name: "orders".into(),
        };
        let partition = Change::Partition(NewPartition {
            topic: ID,
            replicas: vec![1, 2],
            isr: vec![1, 2],
            leader: 1,
            ..NewPartition::default()
        });
        vec![register, topic, partition, feature(1), config(Some("2"))]
    }

    fn feature(level: i16) -> Change {
        Change::Feature {
            name: "elr".into(),
            level,
        }
    }

    fn config(value: Option<&str>) -> Change {
        Change::Config {
            resource_type: 2,
            resource: "orders".into(),
            name: "min.insync.replicas".into(),
            value: value.map(str::to_owned),
        }
    }

    /// The basis and more, against the basis: what is told.
    fn told(more: &[Change]) -> Vec<Body> {
        let at = LogPlace::after_gap(50);
        let told = difference(&image(&basis()), &image(&[basis(), more.to_vec()].concat()), at);
        assert!(
            told.iter()
                .all(|body| format!("{body:?}").contains("in_gap: true"))
        );
        told
    }

    #[test]
    fn the_same_is_not_told_and_all_of_it_is_where_there_was_nothing() {
        assert_eq!(told(&[]), []);
        // The same state, come about otherwise.
        assert_eq!(told(&[Change::Other, feature(2), feature(1)]), []);
        let at = LogPlace::after_gap(50);
        let all = difference(&Image::default(), &image(&basis()), at);
        assert_eq!(
            all.len(),
            5,
            "registered, unfenced, partition, feature, setting: {all:?}"
        );
        let gone = difference(&image(&basis()), &Image::default(), at);
        assert!(
            matches!(
                &gone[..],
                [
                    Body::TopicRemoved(_),
                    Body::Broker(_),
                    Body::Feature(FeatureLevel { level: 0, .. }),
                    Body::Config(ConfigChange { value: None, .. })
                ]
            ),
            "{gone:?}"
        );
    }

    #[test]
    fn partitions_tell_where_they_are_and_whether_there_was_an_election() {
        let change = |leader| {
            Change::PartitionChange(PartitionChange {
                topic: ID,
                isr: Some(vec![2]),
                leader,
                ..PartitionChange::default()
            })
        };
        for (leader, elects) in [(None, false), (Some(2), true)] {
            let told = told(&[change(leader)]);
            let [Body::Partition(state)] = &told[..] else {
                panic!("{told:?}")
            };
            assert_eq!((state.elects, state.isr.as_slice()), (elects, [2].as_slice()));
            assert_eq!((state.at.log_offset, state.partition_epoch), (49, 1));
        }
    }

    #[test]
    fn brokers_tell_the_least_that_leads_there() {
        let registration = |fenced, in_controlled_shutdown| Change::Registration {
            broker: 1,
            epoch: 9,
            fenced,
            in_controlled_shutdown,
        };
        let register = |epoch| Change::Register {
            broker: 1,
            epoch,
            incarnation: ID,
            fenced: true,
            in_controlled_shutdown: false,
        };
        for (more, changes) in [
            (vec![registration(Some(true), false)], vec![BrokerChange::Fenced]),
            (
                vec![registration(Some(true), true)],
                vec![BrokerChange::Fenced, BrokerChange::ControlledShutdown],
            ),
            (vec![register(30)], vec![BrokerChange::Registered]),
        ] {
            let told = told(&more).into_iter().map(|body| match body {
                Body::Broker(state) => state.change,
                other => panic!("{other:?}"),
            });
            assert_eq!(told.collect::<Vec<_>>(), changes);
        }
    }

    #[test]
    fn settings_features_and_voters_tell_their_new_values() {
        let voter = Voter {
            node: 1,
            directory: String::new(),
            endpoints: Vec::new(),
        };
        assert!(matches!(&told(&[feature(2)])[..], [Body::Feature(level)] if level.level == 2));
        assert!(matches!(&told(&[config(None)])[..], [Body::Config(change)] if change.value.is_none()));
        let voters = told(&[Change::Voters(vec![voter])]);
        assert!(matches!(&voters[..], [Body::Voters(voters)] if voters.voters.len() == 1));
    }
}
