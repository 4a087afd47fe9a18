//! Eligible leader replicas switched on and off, and levels that will not do.

use super::*;

#[test]
fn switched_on_fenced_members_move_to_the_elr_and_min_isr_is_written_down() {
    let mut world = World::new(0, 2);
    world.topic(&[0, 1], 2);
    world.fence(1);
    world.fence(0);
    assert_eq!(world.state(), (-1, vec![0], vec![]));
    world.set_elr(1).unwrap();
    assert_eq!(world.state(), (-1, vec![], vec![0]));
    assert_eq!(
        world.controller.image().topic_config("any", MIN_INSYNC_REPLICAS),
        Some("1")
    );
    world.replays();
    let length = world.log.len();
    world.set_elr(1).unwrap();
    assert_eq!(world.log.len(), length, "it is on already");
    world.beat(0, false).unwrap();
    assert_eq!(world.state(), (0, vec![0], vec![]));
}

#[test]
fn switched_off_no_isr_is_empty_and_no_elr_is_left() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 3);
    world.fence(2);
    assert_eq!(world.state(), (0, vec![0, 1], vec![2]));
    world.set_elr(0).unwrap();
    assert_eq!(world.state(), (0, vec![0, 1], vec![]));
    world.set_elr(1).unwrap();
    world.fence(0);
    world.fence(1);
    assert_eq!(world.state(), (-1, vec![], vec![0, 1]));
    world.set_elr(0).unwrap();
    assert_eq!(world.state(), (-1, vec![1], vec![]), "the one that led last");
    world.beat(0, false).unwrap();
    assert_eq!(world.partition().leader, -1);
    world.beat(1, false).unwrap();
    assert_eq!(world.state(), (1, vec![1], vec![]));
    world.replays();
}

#[test]
fn a_level_that_somebody_does_not_support_or_that_goes_down_unasked_is_refused() {
    let mut world = World::new(0, 1);
    let supported = |max| Feature {
        name: ELR_FEATURE.into(),
        min: 0,
        max,
    };
    let ask = |world: &World, ours: i16, level, direction| {
        let update = FeatureUpdate {
            name: ELR_FEATURE.into(),
            level,
            direction,
        };
        let outcome = world.controller.update_features(&[supported(ours)], &[update]);
        outcome.reply.map_err(|(code, _)| code)
    };
    let refused = Err(ErrorCode::InvalidUpdateVersion);
    assert_eq!(ask(&world, 1, 1, Direction::Up), Ok(()));
    assert_eq!(ask(&world, 0, 1, Direction::Up), refused, "the controller");
    assert_eq!(ask(&world, 2, 2, Direction::Up), refused, "a broker");
    world.set_elr(1).unwrap();
    assert_eq!(ask(&world, 1, 0, Direction::Up), refused);
    assert_eq!(ask(&world, 1, 0, Direction::UpOrDown), Ok(()));
    let twice = FeatureUpdate {
        name: ELR_FEATURE.into(),
        level: 1,
        direction: Direction::Up,
    };
    let outcome = world
        .controller
        .update_features(&[supported(1)], &[twice.clone(), twice]);
    assert_eq!(outcome.reply.unwrap_err().0, ErrorCode::InvalidRequest);
}
