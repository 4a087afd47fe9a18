//! Replay: records that cannot follow are refused, others build the image; forgetting, and beginning anew.

use super::*;
use records::{BrokerRegistrationChange, PartitionChange, UnregisterBroker};

fn refused(world: &World, record: Record) -> String {
    let mut controller = world.controller.clone();
    let error = controller.replay(99, 99, &record).unwrap_err();
    assert_eq!(error.offset, 99);
    error.to_string()
}

#[test]
fn a_record_that_cannot_follow_is_refused() {
    let mut world = World::new(1, 1);
    world.topic(&[0], 1);
    let unregister = |broker_id, broker_epoch| {
        Record::UnregisterBroker(UnregisterBroker {
            broker_id,
            broker_epoch,
        })
    };
    let epoch = world.epoch(0);
    assert!(refused(&world, unregister(9, 0)).contains("broker 9 is not registered"));
    assert!(refused(&world, unregister(0, epoch + 1)).contains("broker 0 has epoch"));
    let fence = Record::BrokerRegistrationChange(BrokerRegistrationChange {
        broker_id: 0,
        broker_epoch: epoch + 1,
        fenced: 1,
        ..Default::default()
    });
    assert!(refused(&world, fence).contains("broker 0 has epoch"));
    let change = |topic_id, partition_id| {
        Record::PartitionChange(PartitionChange {
            topic_id,
            partition_id,
            ..Default::default()
        })
    };
    assert!(refused(&world, change(Uuid::nil(), 0)).contains("its topic"));
    assert!(refused(&world, change(TOPIC, 1)).contains("its partition"));
    assert!(refused(&world, Record::RemoveTopic(Uuid::nil())).contains("not there"));
    assert!(refused(&world, Record::EndTransaction).contains("not written here"));
    let mut controller = world.controller.clone();
    controller.replay(99, 99, &change(TOPIC, 0)).unwrap();
    controller.replay(100, 100, &unregister(0, epoch)).unwrap();
}

#[test]
fn an_epoch_at_its_end_is_an_error_and_no_panic() {
    let mut world = World::new(1, 1);
    world.topic(&[0], 1);
    let last = Record::Partition(records::Partition {
        topic_id: TOPIC,
        replicas: vec![0],
        isr: vec![0],
        leader_epoch: i32::MAX,
        partition_epoch: i32::MAX - 1,
        ..Default::default()
    });
    world.append(vec![last]);
    let election = PartitionChange {
        topic_id: TOPIC,
        leader: Some(0),
        ..Default::default()
    };
    assert!(refused(&world, Record::PartitionChange(election)).contains("no epoch follows"));
}

#[test]
fn a_removed_topic_takes_its_name_and_its_configuration_along() {
    let mut world = World::new(1, 1);
    world.topic(&[0], 7);
    world.append(vec![Record::RemoveTopic(TOPIC)]);
    let image = world.controller.image();
    assert!(image.topics().is_empty() && image.topic_id("t").is_none());
    assert_eq!(image.topic_config("t", MIN_INSYNC_REPLICAS), None);
    world.topic(&[0], 7);
}

#[test]
fn clearing_takes_both_lists_of_the_topics_that_have_them() {
    for (name, cleared) in [("t", true), ("", true), ("u", false)] {
        let mut world = World::new(1, 1);
        world.topic(&[0], 1);
        world.fence(0);
        let before = world.partition().partition_epoch;
        world.append(vec![Record::ClearElr(name.into())]);
        let partition = world.partition();
        assert_eq!(
            partition.elr.is_empty() && partition.last_known_elr.is_empty(),
            cleared
        );
        assert_eq!(partition.partition_epoch, before + i32::from(cleared));
    }
}

#[test]
fn a_removed_configuration_gives_way_to_the_one_of_all_brokers() {
    let mut world = World::new(1, 1);
    let set = |resource_type, resource: &str, value: Option<&str>| {
        Record::Config(records::Config {
            resource_type,
            resource_name: resource.into(),
            name: MIN_INSYNC_REPLICAS.into(),
            value: value.map(String::from),
        })
    };
    world.append(vec![set(4, "", Some("3")), set(2, "t", Some("2"))]);
    let of = |world: &World| {
        let image = world.controller.image();
        image.topic_config("t", MIN_INSYNC_REPLICAS).map(String::from)
    };
    assert_eq!(of(&world).as_deref(), Some("2"));
    world.append(vec![set(2, "t", None)]);
    assert_eq!(of(&world).as_deref(), Some("3"));
    world.append(vec![set(4, "", None)]);
    assert_eq!(of(&world), None);
}

#[test]
fn resetting_forgets_what_was_never_committed() {
    let mut world = World::new(1, 1);
    let committed = world.log.len();
    world.topic(&[0], 1);
    world.controller.reset();
    assert_eq!(world.controller.image(), &Image::default());
    assert_eq!(world.controller.next_deadline_ms(), None);
    world.log.truncate(committed);
    world.fail_over();
    assert!(world.controller.image().topics().is_empty());
    assert_eq!(world.controller.image().brokers().len(), 1);
}
