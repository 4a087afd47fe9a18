//! Reassignments: begun, ended, cancelled, replaced.

use super::*;

/// Replicas, those that come, those that go.
fn assignment(world: &World) -> (Vec<i32>, Vec<i32>, Vec<i32>) {
    let partition = world.partition();
    (
        partition.replicas.clone(),
        partition.adding_replicas.clone(),
        partition.removing_replicas.clone(),
    )
}

#[test]
fn replicas_come_catch_up_and_the_others_go_with_their_leadership() {
    let mut world = World::new(1, 4);
    world.topic(&[0, 1], 2);
    world.reassign("t", Some(&[2, 3])).unwrap();
    assert_eq!(assignment(&world), (vec![2, 3, 0, 1], vec![2, 3], vec![0, 1]));
    assert_eq!(world.state(), (0, vec![0, 1], vec![]));
    world.alter(&[0, 1, 2]).unwrap();
    assert_eq!(assignment(&world).1, [2, 3], "one is not in sync yet");
    let epoch = world.partition().leader_epoch;
    let answer = world.alter(&[0, 1, 2, 3]);
    assert_eq!(answer, Err(ErrorCode::NewLeaderElected));
    assert_eq!(assignment(&world), (vec![2, 3], vec![], vec![]));
    assert_eq!(world.state(), (2, vec![2, 3], vec![]));
    assert_eq!(world.partition().leader_epoch, epoch + 1);
    world.replays();
}

#[test]
fn a_leader_that_stays_gets_a_new_epoch_when_a_replica_goes() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    let epoch = world.partition().leader_epoch;
    world.reassign("t", Some(&[1, 0])).unwrap();
    assert_eq!(
        assignment(&world),
        (vec![1, 0], vec![], vec![]),
        "nobody comes: it ends at once"
    );
    assert_eq!(world.state(), (0, vec![0, 1], vec![]));
    assert_eq!(world.partition().leader_epoch, epoch + 1);
    let length = world.log.len();
    world.reassign("t", Some(&[1, 0])).unwrap();
    assert_eq!(world.log.len(), length, "it is so already");
    world.reassign("t", Some(&[1, 0, 2])).unwrap();
    assert_eq!(
        world.partition().leader_epoch,
        epoch + 1,
        "who comes needs no new epoch"
    );
    world.replays();
}

#[test]
fn it_does_not_end_where_too_few_would_stay_in_sync() {
    let mut world = World::new(1, 4);
    world.topic(&[0, 1, 2], 2);
    world.alter(&[0, 1]).unwrap();
    world.reassign("t", Some(&[2, 3])).unwrap();
    world.alter(&[0, 1, 3]).unwrap();
    assert_eq!(assignment(&world).2, [0, 1], "3 alone would stay in sync");
    assert_eq!(world.alter(&[0, 1, 3, 2]), Err(ErrorCode::NewLeaderElected));
    assert_eq!(world.state(), (2, vec![2, 3], vec![]));
}

#[test]
fn it_is_cancelled() {
    let mut world = World::new(1, 4);
    world.topic(&[0, 1], 2);
    assert_eq!(
        world.reassign("t", None),
        Err(ErrorCode::NoReassignmentInProgress)
    );
    world.reassign("t", Some(&[0, 2, 3])).unwrap();
    world.alter(&[0, 1, 2]).unwrap();
    world.reassign("t", None).unwrap();
    assert_eq!(assignment(&world), (vec![0, 1], vec![], vec![]));
    assert_eq!(world.state(), (0, vec![0, 1], vec![]));
    world.replays();
}

#[test]
fn it_is_not_cancelled_where_that_would_take_the_last_who_are_in_sync() {
    let mut world = World::new(1, 4);
    world.topic(&[0, 1], 2);
    world.reassign("t", Some(&[2, 3])).unwrap();
    world.alter(&[0, 1, 2]).unwrap();
    // 1 and 0 leave; without 2 and the ELR's others too few would be left.
    world.set_elr(0).unwrap();
    world.fence(1);
    world.fence(0);
    assert_eq!(world.state(), (2, vec![2], vec![]));
    assert_eq!(
        world.reassign("t", None),
        Err(ErrorCode::InvalidReplicaAssignment)
    );
    assert_eq!(world.state(), (2, vec![2], vec![]));
}

#[test]
fn a_reassignment_replaces_another() {
    let mut world = World::new(1, 4);
    world.topic(&[0, 1], 1);
    world.reassign("t", Some(&[2, 1])).unwrap();
    world.alter(&[0, 1]).unwrap();
    world.reassign("t", Some(&[3, 1])).unwrap();
    assert_eq!(assignment(&world), (vec![3, 1, 0], vec![3], vec![0]));
    world.reassign("t", None).unwrap();
    assert_eq!(assignment(&world), (vec![1, 0], vec![], vec![]));
}

#[test]
fn what_cannot_be_assigned_is_refused() {
    let mut world = World::new(1, 2);
    world.topic(&[0, 1], 1);
    for bad in [&[][..], &[0, 0], &[0, 7]] {
        assert_eq!(
            world.reassign("t", Some(bad)),
            Err(ErrorCode::InvalidReplicaAssignment),
            "{bad:?}"
        );
    }
    assert_eq!(
        world.reassign("u", Some(&[0])),
        Err(ErrorCode::UnknownTopicOrPartition)
    );
    let resize = Reassign {
        topic: "t".into(),
        partition_id: 0,
        replicas: Some(vec![0]),
        may_resize: false,
    };
    let refused = world.controller.reassign(&resize).reply.unwrap_err();
    assert_eq!(refused.0, ErrorCode::InvalidReplicationFactor);
}

#[test]
fn log_folders_go_with_their_replicas() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1], 1);
    let known = Record::PartitionChange(records::PartitionChange {
        topic_id: TOPIC,
        partition_id: 0,
        directories: Some(vec![Uuid::from_u128(1), Uuid::from_u128(2)]),
        ..Default::default()
    });
    world.append(vec![known]);
    world.reassign("t", Some(&[2, 1])).unwrap();
    let folders: Vec<u128> = world.partition().directories.iter().map(Uuid::as_u128).collect();
    assert_eq!(folders, [0, 2, 1]);
}
