//! Configurations that change while the cluster runs, and the ELR's rule for another min ISR.

use super::*;

/// 0 leads alone, 1 is eligible; min ISR is 2 of three replicas.
fn below_min_isr() -> World {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    world.alter(&[0, 1]).unwrap();
    world.alter(&[0]).unwrap();
    assert_eq!(world.state(), (0, vec![0], vec![1]));
    world
}

fn epochs(world: &World) -> (i32, i32) {
    (world.partition().leader_epoch, world.partition().partition_epoch)
}

#[test]
fn a_min_isr_that_the_isr_reaches_clears_the_elr_in_the_same_batch() {
    for (name, key) in [("t", "1"), ("", "1")] {
        let mut world = below_min_isr();
        if name.is_empty() {
            world.configure("", MIN_INSYNC_REPLICAS, "1");
            assert_eq!(world.state(), (0, vec![0], vec![1]), "the topic has its own");
            world.configure("t", MIN_INSYNC_REPLICAS, "");
        } else {
            world.configure(name, MIN_INSYNC_REPLICAS, key);
        }
        assert_eq!(world.state(), (0, vec![0], vec![]));
        world.replays();
    }
}

#[test]
fn an_elr_stays_where_the_isr_does_not_reach_the_new_min_isr() {
    let mut world = below_min_isr();
    world.fence(1);
    world.fence(0);
    assert_eq!(world.state(), (-1, vec![], vec![0, 1]));
    let before = epochs(&world);
    world.configure("t", MIN_INSYNC_REPLICAS, "1");
    assert_eq!(
        world.state(),
        (-1, vec![], vec![0, 1]),
        "somebody must be left to lead"
    );
    assert_eq!(epochs(&world), before, "nobody leads who must hear of it");
}

#[test]
fn a_raise_moves_the_epoch_so_that_the_leader_hears_of_it_before_it_shrinks_the_isr() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 1);
    let stale = world.proposal(&[0]);
    let (leader_epoch, partition_epoch) = epochs(&world);
    world.configure("t", MIN_INSYNC_REPLICAS, "3");
    assert_eq!(epochs(&world), (leader_epoch, partition_epoch + 1));
    let refused = world.controller.alter_partition(&stale);
    assert_eq!(refused.reply.unwrap(), [Err(ErrorCode::InvalidUpdateVersion)]);
    // What is asked in the new epoch is done by the new rule.
    world.alter(&[0]).unwrap();
    assert_eq!(world.state(), (0, vec![0], vec![1, 2]));
    // More than there are replicas is no raise.
    let before = epochs(&world);
    world.configure("t", MIN_INSYNC_REPLICAS, "9");
    assert_eq!(epochs(&world), before);
    world.replays();
}

#[test]
fn nothing_is_written_for_what_is_so_already() {
    let mut world = below_min_isr();
    let length = world.log.len();
    world.configure("t", MIN_INSYNC_REPLICAS, "2");
    world.configure("t", UNCLEAN_LEADER_ELECTION, "");
    assert_eq!(world.log.len(), length);
}

#[test]
fn unclean_elections_are_held_once_they_are_allowed() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 1);
    world.alter(&[0]).unwrap();
    world.fence(0);
    assert_eq!(world.partition().leader, -1);
    world.configure("t", UNCLEAN_LEADER_ELECTION, "false");
    assert_eq!(world.partition().leader, -1);
    world.configure("t", UNCLEAN_LEADER_ELECTION, "true");
    assert_eq!(world.state(), (1, vec![1], vec![]));
    assert!(world.partition().recovering);
    world.replays();
}

#[test]
fn what_cannot_be_configured_is_refused_and_changes_nothing() {
    let world = below_min_isr();
    let ask = |resource: ConfigResource, changes: &[(&str, Option<&str>)]| {
        let change = |value: Option<&str>| match value {
            Some(value) => ConfigChange::Set(value.into()),
            None => ConfigChange::Delete,
        };
        let changes = changes
            .iter()
            .map(|(key, value)| (key.to_string(), change(*value)));
        let outcome = world.controller.alter_configs(&AlterConfigs {
            resource,
            changes: changes.collect(),
        });
        assert!(outcome.records.is_empty() || outcome.reply.is_ok());
        outcome.reply.map_err(|(code, _)| code)
    };
    let topic = |name: &str| ConfigResource::Topic(name.into());
    let good = (UNCLEAN_LEADER_ELECTION, Some("true"));
    assert_eq!(ask(topic("t"), &[good]), Ok(()));
    for (resource, bad, code) in [
        (
            topic("t"),
            (MIN_INSYNC_REPLICAS, Some("0")),
            ErrorCode::InvalidConfig,
        ),
        (topic("t"), ("retention.ms", Some("1")), ErrorCode::InvalidConfig),
        (topic("t"), ("retention.ms", None), ErrorCode::InvalidConfig),
        (
            topic("other"),
            (MIN_INSYNC_REPLICAS, Some("1")),
            ErrorCode::UnknownTopicOrPartition,
        ),
        (
            ConfigResource::AllBrokers,
            (MIN_INSYNC_REPLICAS, None),
            ErrorCode::InvalidConfig,
        ),
    ] {
        assert_eq!(ask(resource, &[good, bad]), Err(code), "{bad:?}");
    }
}
