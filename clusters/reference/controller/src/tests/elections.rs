//! Elections that are asked for.

use super::*;

#[test]
fn the_preferred_replica_leads_again_where_it_is_in_sync() {
    let mut world = World::new(1, 3);
    world.topic(&[1, 0, 2], 2);
    assert_eq!(
        world.elect(Election::Preferred, "t"),
        Err(ErrorCode::ElectionNotNeeded)
    );
    world.fence(1);
    assert_eq!(
        world.elect(Election::Preferred, "t"),
        Err(ErrorCode::PreferredLeaderNotAvailable)
    );
    world.beat(1, false).unwrap();
    assert_eq!(
        world.elect(Election::Preferred, "t"),
        Err(ErrorCode::PreferredLeaderNotAvailable),
        "it is there, and not in sync"
    );
    world.alter(&[0, 2, 1]).unwrap();
    let epoch = world.partition().leader_epoch;
    world.elect(Election::Preferred, "t").unwrap();
    assert_eq!(world.state(), (1, vec![0, 1, 2], vec![]));
    assert_eq!(world.partition().leader_epoch, epoch + 1);
    assert_eq!(
        world.elect(Election::Preferred, "u"),
        Err(ErrorCode::UnknownTopicOrPartition)
    );
    world.replays();
}

#[test]
fn an_unclean_election_takes_who_lacks_records_where_nobody_else_is_left() {
    for elr in [0, 1] {
        let mut world = World::new(elr, 3);
        world.topic(&[1, 0, 2], 1);
        assert_eq!(
            world.elect(Election::Unclean, "t"),
            Err(ErrorCode::ElectionNotNeeded)
        );
        world.alter(&[1]).unwrap();
        world.fence(1);
        assert_eq!(world.partition().leader, -1);
        world.elect(Election::Unclean, "t").unwrap();
        assert_eq!(world.state(), (0, vec![0], vec![]));
        assert!(world.partition().recovering);
        world.replays();
    }
}

#[test]
fn an_unclean_election_needs_somebody_alive() {
    let mut world = World::new(1, 2);
    world.topic(&[1, 0], 1);
    world.fence(0);
    world.fence(1);
    assert_eq!(
        world.elect(Election::Unclean, "t"),
        Err(ErrorCode::EligibleLeadersNotAvailable)
    );
}
