//! AlterPartition: each reason to refuse, in order.

use super::*;

#[test]
fn a_proposal_is_checked_in_order() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    let refused = |world: &World, change: &dyn Fn(&mut AlterPartition)| {
        let mut request = world.proposal(&[0, 1]);
        change(&mut request);
        match world.controller.alter_partition(&request).reply {
            Ok(answers) => answers[0].clone().err(),
            Err(error) => Some(error),
        }
    };
    assert_eq!(refused(&world, &|_| ()), None);
    use ErrorCode::*;
    assert_eq!(refused(&world, &|r| r.broker_epoch += 1), Some(StaleBrokerEpoch));
    assert_eq!(
        refused(&world, &|r| r.partitions[0].topic_id = Uuid::nil()),
        Some(UnknownTopicId)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].partition_id = 4),
        Some(UnknownTopicOrPartition)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].leader_epoch += 1),
        Some(NotController)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].partition_epoch += 1),
        Some(NotController)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].leader_epoch -= 1),
        Some(FencedLeaderEpoch)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].partition_epoch -= 1),
        Some(InvalidUpdateVersion)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].new_isr = vec![(1, -1)]),
        Some(InvalidRequest)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].new_isr.push((0, -1))),
        Some(InvalidRequest)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].new_isr.push((9, -1))),
        Some(InvalidRequest)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].recovering = true),
        Some(InvalidRequest)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].new_isr[1].1 += 1),
        Some(IneligibleReplica)
    );
    let other = world.epoch(1);
    assert_eq!(
        refused(&world, &|r| (r.broker_id, r.broker_epoch) = (1, other)),
        Some(InvalidRequest)
    );
    world.fence(1);
    assert_eq!(refused(&world, &|_| ()), Some(IneligibleReplica));
}

#[test]
fn a_member_that_shuts_down_may_not_join_nor_may_a_second_proposal_for_one_partition() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    world.topic_with("u", Uuid::from_u128(78), &[1, 0], &[]);
    let mut twice = world.proposal(&[0, 1]);
    twice.partitions.push(twice.partitions[0].clone());
    let outcome = world.controller.alter_partition(&twice);
    let answers = outcome.reply.unwrap();
    assert!(answers[0].is_ok());
    assert_eq!(answers[1], Err(ErrorCode::InvalidRequest));
    assert_eq!(outcome.records.len(), 1);
    world.alter(&[0, 2]).unwrap();
    world.beat(1, true).unwrap();
    assert_eq!(world.alter(&[0, 1, 2]), Err(ErrorCode::IneligibleReplica));
}

#[test]
fn what_changes_nothing_gives_no_record() {
    let mut world = World::new(1, 2);
    world.topic(&[0, 1], 2);
    let before = world.log.len();
    let altered = world.alter(&[0, 1]).unwrap();
    assert_eq!((world.log.len(), altered.partition_epoch), (before, 0));
    world.alter(&[0]).unwrap();
    assert_eq!(world.log.len(), before + 1);
}

#[test]
fn one_that_is_refused_does_not_hold_back_the_others() {
    let mut world = World::new(1, 2);
    world.topic(&[0, 1], 2);
    world.topic_with("u", Uuid::from_u128(78), &[0, 1], &[]);
    let mut both = world.proposal(&[1]);
    both.partitions
        .extend(world.proposal_of(Uuid::from_u128(78), &[0]).partitions);
    let outcome = world.controller.alter_partition(&both);
    let answers = outcome.reply.unwrap();
    assert_eq!(answers[0], Err(ErrorCode::InvalidRequest));
    assert_eq!(answers[1].as_ref().unwrap().isr, [0]);
    assert_eq!(outcome.records.len(), 1);
}
