//! Unclean elections: where they are allowed, and where they are not.

use super::*;

/// 1 alone is in sync and dies; 0 and 2 are there and lack records.
fn alone(elr: i16, unclean: &str) -> World {
    let mut world = World::new(elr, 3);
    world.topic_with(
        "t",
        TOPIC,
        &[1, 2, 0],
        &[(MIN_INSYNC_REPLICAS, "1"), (UNCLEAN_LEADER_ELECTION, unclean)],
    );
    world.alter(&[1]).unwrap();
    world.fence(1);
    world
}

#[test]
fn where_it_is_allowed_the_first_replica_that_lives_leads_and_recovers() {
    for elr in [0, 1] {
        let mut world = alone(elr, "true");
        assert_eq!(world.state(), (2, vec![2], vec![]), "ELR {elr}");
        assert!(world.partition().recovering);
        // Until it says that it recovered nobody joins.
        let mut recovering = world.proposal(&[2, 0]);
        recovering.partitions[0].recovering = true;
        let refused = world.controller.alter_partition(&recovering).reply.unwrap();
        assert_eq!(refused[0], Err(ErrorCode::InvalidRequest));
        recovering.partitions[0].new_isr.truncate(1);
        let still = world.controller.alter_partition(&recovering);
        assert!(still.records.is_empty() && still.reply.unwrap()[0].is_ok());
        world.alter(&[2, 0]).unwrap();
        assert!(!world.partition().recovering);
        world.replays();
    }
}

#[test]
fn where_it_is_not_allowed_nobody_leads_until_the_one_that_has_all_is_back() {
    for (elr, eligible) in [(0, vec![]), (1, vec![1])] {
        let mut world = alone(elr, "false");
        let isr = if elr == 0 { vec![1] } else { vec![] };
        assert_eq!(world.state(), (-1, isr, eligible));
        world.beat(0, false).unwrap();
        assert_eq!(world.partition().leader, -1);
        world.beat(1, false).unwrap();
        assert_eq!(world.state(), (1, vec![1], vec![]));
        assert!(!world.partition().recovering);
    }
}

#[test]
fn the_brokers_setting_holds_where_the_topic_has_none() {
    for allowed in [false, true] {
        let config = Config {
            unclean_leader_election: allowed,
            ..config()
        };
        let mut world = World::with(config, 1, 2);
        world.topic_with("t", TOPIC, &[0, 1], &[]);
        world.alter(&[0]).unwrap();
        world.fence(0);
        assert_eq!(world.partition().leader, if allowed { 1 } else { -1 });
    }
}

#[test]
fn even_where_it_is_allowed_a_member_of_the_elr_goes_before() {
    let mut world = World::new(1, 3);
    world.topic_with(
        "t",
        TOPIC,
        &[0, 1, 2],
        &[(MIN_INSYNC_REPLICAS, "2"), (UNCLEAN_LEADER_ELECTION, "true")],
    );
    world.alter(&[0, 2]).unwrap();
    world.alter(&[0]).unwrap();
    assert_eq!(world.state(), (0, vec![0], vec![2]));
    world.fence(0);
    assert_eq!(
        world.state(),
        (2, vec![2], vec![0]),
        "1 is first in the assignment"
    );
    assert!(!world.partition().recovering);
}

#[test]
fn without_the_elr_an_unclean_restart_of_the_last_member_changes_nothing() {
    let mut world = alone(0, "false");
    let before = world.partition().clone();
    world.register(1, -1).unwrap();
    assert_eq!(*world.partition(), before);
}
