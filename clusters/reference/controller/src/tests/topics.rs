//! Topics: what is refused, and where replicas go.

use super::*;

#[test]
fn topics_are_checked() {
    let mut world = World::new(1, 3);
    let create = |world: &World, change: &dyn Fn(&mut CreateTopic)| {
        let mut request = CreateTopic {
            name: "t".into(),
            topic_id: TOPIC,
            placement: Placement::Automatic {
                partitions: 4,
                replication_factor: 2,
                shift: 5,
            },
            configs: BTreeMap::new(),
        };
        change(&mut request);
        world.controller.create_topic(&request)
    };
    let outcome = create(&world, &|_| ());
    assert_eq!(outcome.reply.as_ref().unwrap().partitions, 4);
    use ErrorCode::*;
    let assigned = |replicas: &[&[i32]]| Placement::Assigned(replicas.iter().map(|r| r.to_vec()).collect());
    for (change, code) in [
        (&|r: &mut CreateTopic| r.name = String::from("a/b"), InvalidTopic),
        (&|r| r.placement = assigned(&[]), InvalidReplicaAssignment),
        (&|r| r.placement = assigned(&[&[0, 0]]), InvalidReplicaAssignment),
        (&|r| r.placement = assigned(&[&[0, 9]]), InvalidReplicaAssignment),
        (
            &|r| r.placement = assigned(&[&[0, 1], &[0]]),
            InvalidReplicaAssignment,
        ),
        (
            &|r| r.configs = BTreeMap::from([("x".into(), "1".into())]),
            InvalidConfig,
        ),
        (
            &|r| r.configs = BTreeMap::from([(MIN_INSYNC_REPLICAS.into(), "0".into())]),
            InvalidConfig,
        ),
    ] as [(&dyn Fn(&mut CreateTopic), ErrorCode); 7]
    {
        assert_eq!(create(&world, change).reply.unwrap_err().0, code);
    }
    let automatic = |partitions, replication_factor| Placement::Automatic {
        partitions,
        replication_factor,
        shift: 0,
    };
    assert_eq!(
        create(&world, &|r| r.placement = automatic(0, 1))
            .reply
            .unwrap_err()
            .0,
        InvalidPartitions
    );
    assert_eq!(
        create(&world, &|r| r.placement = automatic(1, 4))
            .reply
            .unwrap_err()
            .0,
        InvalidReplicationFactor
    );
    world.append(outcome.records);
    assert_eq!(create(&world, &|_| ()).reply.unwrap_err().0, TopicAlreadyExists);
    world.fence(0);
    let fenced = create(&world, &|r| {
        (r.name, r.placement) = ("u".into(), assigned(&[&[0]]))
    });
    assert_eq!(fenced.reply.unwrap_err().0, InvalidReplicaAssignment);
}

#[test]
fn replicas_go_round_the_unfenced_brokers_from_the_shift_on() {
    let mut world = World::new(1, 4);
    world.fence(1);
    let request = CreateTopic {
        name: "t".into(),
        topic_id: TOPIC,
        placement: Placement::Automatic {
            partitions: 4,
            replication_factor: 2,
            shift: 7,
        },
        configs: BTreeMap::new(),
    };
    let outcome = world.controller.create_topic(&request);
    world.append(outcome.records);
    let replicas = |partition| {
        let image = world.controller.image();
        image.partition(TOPIC, partition).unwrap().replicas.clone()
    };
    assert_eq!(replicas(0), [2, 3]);
    assert_eq!(replicas(1), [3, 0]);
    assert_eq!(replicas(2), [0, 2]);
    assert_eq!(replicas(3), [2, 3]);
    world.replays();
}

#[test]
fn fenced_replicas_of_an_assignment_are_not_in_sync_and_do_not_lead() {
    let mut world = World::new(1, 3);
    world.fence(0);
    world.topic(&[0, 1, 2], 2);
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
}

#[test]
fn a_topic_is_deleted_and_made_again_with_another_id() {
    let mut world = World::new(1, 2);
    world.topic(&[0, 1], 2);
    let outcome = world.controller.delete_topic(TOPIC);
    world.decide(outcome).unwrap();
    assert_eq!(world.controller.image().topic_id("t"), None);
    assert_eq!(
        world.controller.image().topic_config("t", MIN_INSYNC_REPLICAS),
        None
    );
    assert_eq!(
        world.controller.delete_topic(TOPIC).reply,
        Err(ErrorCode::UnknownTopicId)
    );
    let other = Uuid::from_u128(78);
    world.topic_with("t", other, &[1, 0], &[]);
    assert_eq!(world.controller.image().topic_id("t"), Some(other));
    assert_eq!(world.partition_of(other).leader, 1);
    world.replays();
}

#[test]
fn a_topic_grows() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1], 2);
    let grow = |count, assignment: Option<Vec<Vec<i32>>>| CreatePartitions {
        topic: "t".into(),
        count,
        assignment,
        shift: 2,
    };
    for (bad, code) in [
        (grow(1, None), ErrorCode::InvalidPartitions),
        (grow(2, Some(vec![])), ErrorCode::InvalidReplicaAssignment),
        (grow(2, Some(vec![vec![0]])), ErrorCode::InvalidReplicaAssignment),
        (
            grow(2, Some(vec![vec![0, 9]])),
            ErrorCode::InvalidReplicaAssignment,
        ),
    ] {
        let outcome = world.controller.create_partitions(&bad);
        assert_eq!(world.decide(outcome).unwrap_err().0, code);
    }
    let outcome = world
        .controller
        .create_partitions(&grow(2, Some(vec![vec![2, 1]])));
    world.decide(outcome).unwrap();
    let outcome = world.controller.create_partitions(&grow(4, None));
    world.decide(outcome).unwrap();
    let partitions = &world.controller.image().topics()[&TOPIC].partitions;
    let replicas: Vec<_> = partitions.values().map(|p| p.replicas.clone()).collect();
    assert_eq!(replicas, [[0, 1], [2, 1], [2, 0], [0, 1]]);
    assert!(
        partitions
            .values()
            .all(|p| p.isr == p.replicas && p.leader == p.replicas[0])
    );
    world.replays();
}
