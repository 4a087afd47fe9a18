//! KIP-966: the ELR's rule, and who is elected from it.

use super::*;

/// T0 to T4 of the proposal: 0 is cut, 1 is cut, 2 loses its power, both return, 2 returns without its log's end.
fn last_replica_standing(elr: i16) -> World {
    let mut world = World::new(elr, 3);
    world.topic(&[1, 0, 2], 2);
    assert_eq!(world.state(), (1, vec![0, 1, 2], vec![]));
    world.fence(0);
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
    world.fence(1);
    world.fence(2);
    world
}

#[test]
fn the_last_replica_standing_is_saved_by_the_elr() {
    let mut world = last_replica_standing(1);
    assert_eq!(world.state(), (-1, vec![], vec![1, 2]));
    assert_eq!(world.partition().last_known_elr, [2]);
    world.beat(0, false).unwrap();
    assert_eq!(
        world.state(),
        (-1, vec![], vec![1, 2]),
        "0 has not got all records"
    );
    world.beat(1, false).unwrap();
    assert_eq!(world.state(), (1, vec![1], vec![2]));
    assert!(world.partition().last_known_elr.is_empty());
    world.alter(&[1, 0]).unwrap();
    assert_eq!(world.state(), (1, vec![0, 1], vec![]));
    world.start(2, -1);
    assert_eq!(world.state(), (1, vec![0, 1], vec![]));
    world.alter(&[1, 0, 2]).unwrap();
    assert_eq!(world.state(), (1, vec![0, 1, 2], vec![]));
    world.replays();
}

#[test]
fn without_the_elr_the_last_replica_leads_again_whatever_it_lost() {
    let mut world = last_replica_standing(0);
    assert_eq!(world.state(), (-1, vec![2], vec![]));
    world.beat(0, false).unwrap();
    world.beat(1, false).unwrap();
    assert_eq!(world.state(), (-1, vec![2], vec![]));
    world.start(2, -1);
    assert_eq!(world.state(), (2, vec![2], vec![]));
    world.replays();
}

#[test]
fn an_unclean_registration_leaves_the_elr_and_a_clean_one_stays() {
    for (clean, elr) in [(true, vec![1, 2]), (false, vec![1])] {
        let mut world = last_replica_standing(1);
        let previous = if clean { world.epoch(2) } else { -1 };
        world.register(2, previous).unwrap();
        assert_eq!(world.state(), (-1, vec![], elr));
        let leader = if clean { 2 } else { -1 };
        world.beat(2, false).unwrap();
        assert_eq!(world.partition().leader, leader);
        world.replays();
    }
}

#[test]
fn where_all_is_empty_the_last_known_leader_leads() {
    let mut world = last_replica_standing(1);
    world.register(1, -1).unwrap();
    world.register(2, -1).unwrap();
    assert_eq!(world.state(), (-1, vec![], vec![]));
    world.beat(1, false).unwrap();
    assert_eq!(world.partition().leader, -1, "1 did not lead last");
    world.beat(2, false).unwrap();
    assert_eq!(world.state(), (2, vec![2], vec![]));
    assert!(world.partition().recovering);
    world.alter(&[2]).unwrap();
    assert!(!world.partition().recovering);
}

#[test]
fn four_brokers_with_min_isr_three() {
    let mut world = World::new(1, 4);
    world.topic(&[0, 1, 2, 3], 3);
    world.fence(3);
    assert_eq!(world.state(), (0, vec![0, 1, 2], vec![]));
    world.fence(2);
    assert_eq!(world.state(), (0, vec![0, 1], vec![2]));
    world.fence(1);
    assert_eq!(world.state(), (0, vec![0], vec![1, 2]));
    world.fence(0);
    assert_eq!(world.state(), (-1, vec![], vec![0, 1, 2]));
    world.beat(3, false).unwrap();
    assert_eq!(
        world.state(),
        (-1, vec![], vec![0, 1, 2]),
        "3 left while the ISR was whole"
    );
    world.beat(2, false).unwrap();
    assert_eq!(world.state(), (2, vec![2], vec![0, 1]));
    world.alter(&[2, 3]).unwrap();
    assert_eq!(world.state(), (2, vec![2, 3], vec![0, 1]));
    world.beat(0, false).unwrap();
    world.alter(&[2, 3, 0]).unwrap();
    assert_eq!(world.state(), (2, vec![0, 2, 3], vec![]));
}

#[test]
fn the_effective_min_isr_is_never_above_the_partitions_own_replicas() {
    assert_eq!(effective_min_isr(2, 3), 2);
    assert_eq!(effective_min_isr(3, 2), 2);
    let mut world = World::new(1, 2);
    world.topic(&[0, 1], 3);
    world.fence(1);
    assert_eq!(world.state(), (0, vec![0], vec![1]));
    world.beat(1, false).unwrap();
    world.alter(&[0, 1]).unwrap();
    assert_eq!(world.state(), (0, vec![0, 1], vec![]), "two of two are enough");
}

#[test]
fn where_the_min_isr_is_held_no_elr_is_kept() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 1);
    world.fence(2);
    world.fence(1);
    assert_eq!(world.state(), (0, vec![0], vec![]));
    world.fence(0);
    assert_eq!(world.state(), (-1, vec![], vec![0]));
}

#[test]
fn a_min_isr_that_was_lowered_while_nobody_was_in_sync_leaves_no_elr_beside_a_large_enough_isr() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 3);
    for id in [2, 1, 0] {
        world.fence(id);
    }
    assert_eq!(world.state(), (-1, vec![], vec![0, 1, 2]));
    let lowered = Record::Config(records::Config {
        resource_type: 2,
        resource_name: "t".into(),
        name: MIN_INSYNC_REPLICAS.into(),
        value: Some("1".into()),
    });
    world.append(vec![lowered]);
    world.beat(1, false).unwrap();
    assert_eq!(world.state(), (1, vec![1], vec![]));
}

#[test]
fn the_elr_changes_alone_only_by_an_unclean_registration_and_no_epoch_of_a_leader_grows() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 3);
    world.fence(2);
    assert_eq!(world.state(), (0, vec![0, 1], vec![2]));
    let (leader_epoch, partition_epoch) = (world.partition().leader_epoch, world.partition().partition_epoch);
    world.register(2, -1).unwrap();
    assert_eq!(world.state(), (0, vec![0, 1], vec![]));
    assert_eq!(world.partition().leader_epoch, leader_epoch);
    assert_eq!(world.partition().partition_epoch, partition_epoch + 1);
}

#[test]
fn the_cluster_wide_min_isr_holds_where_a_topic_sets_none() {
    let mut world = World::new(1, 2);
    let cluster_wide = Record::Config(records::Config {
        resource_type: 4,
        resource_name: String::new(),
        name: MIN_INSYNC_REPLICAS.into(),
        value: Some("2".into()),
    });
    world.append(vec![cluster_wide]);
    world.topic_with("t", TOPIC, &[0, 1], &[]);
    world.topic_with("u", Uuid::from_u128(78), &[0, 1], &[(MIN_INSYNC_REPLICAS, "1")]);
    world.fence(1);
    assert_eq!(world.partition().elr, [1]);
    assert!(world.partition_of(Uuid::from_u128(78)).elr.is_empty());
}

#[test]
fn a_member_of_the_isr_goes_before_one_of_the_elr() {
    let mut world = World::new(1, 3);
    world.topic(&[2, 0, 1], 3);
    world.fence(2);
    world.beat(2, false).unwrap();
    assert_eq!(world.state(), (0, vec![0, 1], vec![2]), "2 is back, and lags");
    world.fence(0);
    assert_eq!(
        world.state(),
        (1, vec![1], vec![0, 2]),
        "2 is first in the assignment"
    );
    world.fence(1);
    assert_eq!(world.state(), (2, vec![2], vec![0, 1]));
}
